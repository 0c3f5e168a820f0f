//! Sets of modes, by their numbers.

use smallvec::SmallVec;

/// A set of modes: a bit for each number. No number of an expression is too large for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Modes(SmallVec<[u64; 2]>);

impl Modes {
    pub(super) fn insert(&mut self, mode: usize) {
        let (word, bit) = (mode / 64, mode % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0.iter_mut().skip(word).take(1).for_each(|word| *word |= 1 << bit);
    }

    pub(super) fn contains(&self, mode: usize) -> bool {
        self.0.get(mode / 64).is_some_and(|word| word >> (mode % 64) & 1 == 1)
    }

    pub(super) fn union(&self, other: &Modes) -> Modes {
        let words = self.0.len().max(other.0.len());
        let word = |of: &Modes, k: usize| of.0.get(k).copied().unwrap_or(0);
        Modes((0..words).map(|k| word(self, k) | word(other, k)).collect())
    }

    pub(super) fn intersection(&self, other: &Modes) -> Modes {
        Modes(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    /// Whether a mode is in both.
    pub(super) fn meets(&self, other: &Modes) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// The number of modes.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |(k, word): (usize, &u64)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(k * 64 + bit)
            })
        };
        self.0.iter().enumerate().flat_map(bits)
    }

    /// The number of elements of a tensor of these modes, as far as it can be counted.
    pub(super) fn size(&self, extents: &[usize]) -> u128 {
        let extent = |mode| extents.get(mode).copied().unwrap_or(1) as u128;
        self.iter().fold(1, |size: u128, mode| size.saturating_mul(extent(mode)))
    }
}

impl FromIterator<usize> for Modes {
    fn from_iter<I: IntoIterator<Item = usize>>(modes: I) -> Self {
        let mut all = Modes::default();
        modes.into_iter().for_each(|mode| all.insert(mode));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let (a, b): (Modes, Modes) = ([0, 63, 64, 200].into_iter().collect(), [63, 65].into_iter().collect());
        assert_eq!(a.iter().collect::<Vec<_>>(), [0, 63, 64, 200]);
        assert_eq!(a.union(&b).iter().collect::<Vec<_>>(), [0, 63, 64, 65, 200]);
        assert_eq!((a.intersection(&b).iter().collect::<Vec<_>>(), a.len()), (vec![63], 4));
        assert!(a.contains(200) && !a.contains(201) && a.meets(&b) && !b.meets(&[64].into_iter().collect()));
        assert_eq!(b.size(&[usize::MAX; 66]), usize::MAX as u128 * usize::MAX as u128);
    }
}
