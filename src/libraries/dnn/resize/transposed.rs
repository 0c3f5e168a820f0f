//! What an old element gives to the new ones, turned around: which of these an old one takes back.

use super::weights::Taps;
use crate::core::error::{Error, Result};
use crate::core::room::{collected, with_capacity};

/// An old element, a new one, and the weight of the one in the other.
type Entry = (usize, usize, f64);

impl Taps {
    /// The weights turned around, as steps one after the other: the last one has the `n` old elements. One step is enough where these
    /// take about as many elements each. Where some take many, for instance those of a small window that was made large, their elements
    /// are summed in parts before. No steps: nothing is taken.
    pub(super) fn transposed(&self, n: usize) -> Result<Vec<Taps>> {
        let mut entries = self.entries(n)?;
        let mut steps = Vec::new();
        if entries.is_empty() {
            return Ok(steps);
        }
        loop {
            let (most, own) = longest(&entries);
            if most.saturating_mul(n) <= 4 * entries.len().max(n) {
                steps.push(rows(&entries, n, most, |(element, ..)| *element)?);
                return Ok(steps);
            }
            // At least 2, so that the longest list becomes half as long, and about twice the mean length.
            let part = 2 * entries.len().div_ceil(own.max(1));
            let mut numbers = with_capacity(entries.len())?;
            let (mut row, mut count, mut before) = (0, 0, None);
            for (element, ..) in &entries {
                let goes_on = before == Some(*element) && count < part;
                row += usize::from(before.is_some() && !goes_on);
                count = if goes_on { count + 1 } else { 1 };
                before = Some(*element);
                numbers.push(row);
            }
            let mut number = numbers.iter();
            steps.push(rows(&entries, row + 1, part, |_| number.next().copied().unwrap_or(0))?);
            let mut sums: Vec<Entry> = with_capacity(row + 1)?;
            for ((element, ..), row) in entries.iter().zip(&numbers) {
                if sums.last().is_none_or(|(_, last, _)| last != row) {
                    sums.push((*element, *row, 1.0));
                }
            }
            entries = sums;
        }
    }

    /// All weights but zeros, by old element and then by new one; several of one pair become their sum.
    fn entries(&self, n: usize) -> Result<Vec<Entry>> {
        let all = self.indices.iter().zip(&self.weights).enumerate().filter_map(|(k, (index, weight))| {
            let o = k / self.each.max(1);
            let beyond = self.outside.get(o).copied().unwrap_or(false);
            let i = usize::try_from(*index).ok().filter(|i| *i < n)?;
            (!beyond && *weight != 0.0).then_some((i, o, *weight))
        });
        let mut entries: Vec<Entry> = with_capacity(self.weights.len())?;
        entries.extend(all);
        // Stable: those of a pair are added in their order.
        entries.sort_by_key(|(i, o, _)| (*i, *o));
        entries.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        Ok(entries)
    }
}

/// The length of the longest list of an element, and how many have one.
fn longest(entries: &[Entry]) -> (usize, usize) {
    let (mut most, mut own, mut count) = (0, 0, 0);
    let mut before = None;
    for (element, ..) in entries {
        count = if before == Some(*element) { count + 1 } else { 1 };
        own += usize::from(count == 1);
        before = Some(*element);
        most = most.max(count);
    }
    (most, own)
}

/// Lists of the same length, filled up with zeros.
fn rows(entries: &[Entry], m: usize, each: usize, mut row: impl FnMut(&Entry) -> usize) -> Result<Taps> {
    let len = m.checked_mul(each).filter(|len| *len <= isize::MAX as usize / 8);
    let len = len.ok_or_else(|| Error::invalid("elements", format!("{m} of {each} each")))?;
    let (mut indices, mut weights) =
        (collected(std::iter::repeat_n(0i64, len))?, collected(std::iter::repeat_n(0f64, len))?);
    let (mut before, mut k) = (None, 0);
    for entry in entries {
        let (row, (_, o, weight)) = (row(entry), *entry);
        k = if before == Some(row) { k + 1 } else { 0 };
        before = Some(row);
        let place = row * each + k;
        if let (Some(index), Some(own)) = (indices.get_mut(place), weights.get_mut(place)) {
            (*index, *own) = (o as i64, weight);
        }
    }
    Ok(Taps { each, indices, weights, outside: collected(std::iter::repeat_n(false, m))? })
}

#[cfg(test)]
mod tests {
    use super::super::weights::{Coordinates, Interpolation, Resize};
    use super::*;

    /// The sums of steps one after the other.
    fn sums(steps: &[Taps], x: &[f64]) -> Vec<f64> {
        let mut x = x.to_vec();
        for taps in steps {
            let lists = taps.indices.chunks(taps.each).zip(taps.weights.chunks(taps.each));
            let own = |(indices, weights): (&[i64], &[f64])| {
                indices.iter().zip(weights).map(|(index, weight)| x[*index as usize] * weight).sum()
            };
            x = lists.map(own).collect();
        }
        x
    }

    #[test]
    fn the_turned_weights_are_the_transpose() {
        let all = [Interpolation::Linear, Interpolation::Cubic(-0.75)];
        let coordinates = [Coordinates::HalfPixel, Coordinates::AlignCorners, Coordinates::Crop(0.45, 0.47)];
        for (n, m, scale) in [(7, 3, 3.0 / 7.0), (3, 10, 10.0 / 3.0), (1000, 224, 0.224), (5, 4000, 1.0), (1, 9, 9.0)] {
            for (interpolation, coordinates) in all.iter().flat_map(|i| coordinates.iter().map(move |c| (*i, *c))) {
                for antialias in [false, true] {
                    let resize = Resize::new(interpolation).coordinates(coordinates).antialias(antialias);
                    let taps = resize.taps(n, m, scale).unwrap();
                    let dy: Vec<f64> = (0..m).map(|k| ((k * 37) % 11) as f64 - 5.0).collect();
                    let mut want = vec![0f64; n];
                    for (k, (index, weight)) in taps.indices.iter().zip(&taps.weights).enumerate() {
                        want[*index as usize] += weight * dy[k / taps.each];
                    }
                    let steps = taps.transposed(n).unwrap();
                    let all: usize = steps.iter().map(|step| step.weights.len()).sum();
                    assert!(all <= 12 * taps.weights.len().max(n), "{all} for {n} and {m}");
                    for (got, want) in sums(&steps, &dy).iter().zip(&want) {
                        assert!((got - want).abs() <= 1e-9 * (1.0 + want.abs()), "{got}, not {want}");
                    }
                }
            }
        }
    }
}
