//! A part of a transform: the library calls that do it with its layout, if there are any, and the copies that change
//! its layout so that there are.

use super::super::geometry::{Axis, Loop};
use super::super::spec::Kind;
use super::steps::{Dim, Layouts, Many, Number, Precision, StepMemory, overflow};
use crate::core::error::Result;
use smallvec::SmallVec;

/// A transform, or a part of one.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) inverse: bool,
    pub(super) precision: Precision,
    pub(super) axes: SmallVec<[Axis; 8]>,
    pub(super) loops: SmallVec<[Loop; 9]>,
    pub(super) from: StepMemory,
    pub(super) to: StepMemory,
    /// For each side: its address is aligned as the library requires.
    pub(super) aligned: [bool; 2],
    pub(super) destroys: bool,
    pub(super) hermitian: bool,
    pub(super) conj_in: bool,
    pub(super) conj_out: bool,
    pub(super) scale: f64,
}

/// The most library calls for one part whose loops do not form a single batch. With more, the part is copied to packed
/// memory.
const MOST_CALLS: usize = 8;

impl Part {
    pub(super) fn input(&self) -> Number {
        Number { precision: self.precision, complex: self.kind != Kind::R2c }
    }

    pub(super) fn output(&self) -> Number {
        Number { precision: self.precision, complex: self.kind != Kind::C2r }
    }

    /// What the library reads along an axis.
    pub(super) fn needed(&self, index: usize) -> usize {
        let n = self.axes.get(index).map_or(1, |axis| axis.n);
        if self.kind == Kind::C2r && index + 1 == self.axes.len() { n / 2 + 1 } else { n }
    }

    /// The input has all elements that are needed: there is nothing to pad.
    pub(super) fn is_full(&self) -> bool {
        self.axes.iter().enumerate().all(|(i, axis)| axis.read >= self.needed(i))
    }

    /// The part with its input in packed memory, the dimensions of the copy of the input to there, and the numbers of
    /// that memory.
    pub(super) fn gathered(&self, scratch: usize) -> Result<(Part, SmallVec<[Dim; 9]>, usize)> {
        let (mut part, mut dims) = (self.clone(), SmallVec::new());
        let mut step = 1usize;
        let mut place = |count: usize, inside: usize, from: usize| -> Result<usize> {
            dims.push(Dim { count, inside, from, to: step });
            let to = step;
            step = step.checked_mul(count).ok_or_else(overflow)?;
            Ok(to)
        };
        for i in (0..self.axes.len()).rev() {
            let count = self.needed(i);
            if let Some(axis) = part.axes.get_mut(i) {
                axis.from = place(count, axis.read.min(count), axis.from)?;
                axis.read = count;
            }
        }
        // The loop with the smallest strides is the innermost here too.
        part.loops.sort_by_key(|l| std::cmp::Reverse((l.to, l.from)));
        for l in part.loops.iter_mut().rev() {
            l.from = place(l.count, l.count, l.from)?;
        }
        (part.from, part.destroys, part.conj_in) = (StepMemory::Scratch(scratch), true, false);
        let [_, to] = part.aligned;
        part.aligned = [true, to];
        Ok((part, dims, step))
    }

    /// The part with its output in packed memory, the dimensions of the copy from there to the output, and the numbers
    /// of that memory.
    pub(super) fn scattered(&self, scratch: usize) -> Result<(Part, SmallVec<[Dim; 9]>, usize)> {
        let (mut part, mut dims) = (self.clone(), SmallVec::new());
        let mut step = 1usize;
        let mut place = |count: usize, to: usize| -> Result<usize> {
            dims.push(Dim { count, inside: count, from: step, to });
            let from = step;
            step = step.checked_mul(count).ok_or_else(overflow)?;
            Ok(from)
        };
        for axis in part.axes.iter_mut().rev() {
            axis.to = place(axis.written, axis.to)?;
        }
        part.loops.sort_by_key(|l| std::cmp::Reverse((l.from, l.to)));
        for l in part.loops.iter_mut().rev() {
            l.to = place(l.count, l.to)?;
        }
        (part.to, part.scale, part.conj_out) = (StepMemory::Scratch(scratch), 1.0, false);
        let [from, _] = part.aligned;
        part.aligned = [from, true];
        Ok((part, dims, step))
    }

    /// The output as the dimensions of a copy onto itself.
    pub(super) fn outcome(&self) -> SmallVec<[Dim; 9]> {
        let axes = self.axes.iter().map(|axis| (axis.written, axis.to));
        let loops = self.loops.iter().map(|l| (l.count, l.to));
        axes.chain(loops).map(|(count, to)| Dim { count, inside: count, from: to, to }).collect()
    }

    /// The library calls that do this part with its layout, if there are any: their plan, and the offsets where they
    /// begin.
    pub(super) fn calls(&self) -> Option<(Layouts, Vec<(usize, usize)>)> {
        let writes_input = self.kind == Kind::C2r && !self.destroys;
        // If the input is not the spectrum of a real array, the library's results differ from NumPy's.
        let unsure = self.kind == Kind::C2r && self.axes.len() > 1 && !self.hermitian;
        if unsure || self.conj_in || !self.is_full() || writes_input || self.aligned != [true; 2] {
            return None;
        }
        let mut axes = self.axes.clone();
        match self.kind {
            Kind::C2c => {
                axes.retain(|axis| axis.n > 1);
                axes.sort_by_key(|axis| std::cmp::Reverse((axis.to, axis.from)));
            }
            _ => {
                let last = axes.pop()?;
                axes.retain(|axis| axis.n > 1);
                axes.sort_by_key(|axis| std::cmp::Reverse((axis.to, axis.from)));
                axes.push(last);
            }
        }
        if axes.is_empty() || axes.len() > 3 || axes.last().is_none_or(|axis| axis.n == 1) {
            return None;
        }
        let mut loops: SmallVec<[Loop; 9]> = self.loops.iter().copied().filter(|l| l.count > 1).collect();
        loops.sort_by_key(|l| std::cmp::Reverse((l.to, l.from)));
        let mut merged: SmallVec<[Loop; 9]> = SmallVec::new();
        for l in loops {
            match merged.last_mut() {
                Some(slow)
                    if l.from.checked_mul(l.count) == Some(slow.from) && l.to.checked_mul(l.count) == Some(slow.to) =>
                {
                    *slow = Loop { count: slow.count.checked_mul(l.count)?, ..l };
                }
                _ => merged.push(l),
            }
        }
        // The longest loop is the batch of one call.
        let longest = (0..merged.len()).max_by_key(|i| merged.get(*i).map(|l| l.count));
        let batch = longest.map_or(Loop { count: 1, from: 0, to: 0 }, |i| merged.remove(i));
        let calls = merged.iter().try_fold(1usize, |all, l| all.checked_mul(l.count))?;
        if calls > MOST_CALLS {
            return None;
        }
        let key = self.key(&axes, batch)?;
        let mut begins: Vec<(usize, usize)> = vec![(0, 0)];
        for l in &merged {
            // On a real side an odd offset is not aligned as the library requires; this is checked below.
            begins = begins
                .iter()
                .flat_map(|(from, to)| (0..l.count).map(move |i| (from + i * l.from, to + i * l.to)))
                .collect();
        }
        let whole = |complex: bool, at: usize| complex || at.is_multiple_of(2);
        let fits =
            |(from, to): &(usize, usize)| whole(self.input().complex, *from) && whole(self.output().complex, *to);
        begins.iter().all(fits).then_some((key, begins))
    }

    fn key(&self, axes: &[Axis], batch: Loop) -> Option<Layouts> {
        let halved = |i: usize| self.kind != Kind::C2c && i + 1 == axes.len();
        let extent =
            |i: usize, axis: &Axis, kind: Kind| if halved(i) && self.kind == kind { axis.n / 2 + 1 } else { axis.n };
        let inputs: SmallVec<[(usize, usize); 3]> =
            axes.iter().enumerate().map(|(i, axis)| (extent(i, axis, Kind::C2r), axis.from)).collect();
        let outputs: SmallVec<[(usize, usize); 3]> =
            axes.iter().enumerate().map(|(i, axis)| (extent(i, axis, Kind::R2c), axis.to)).collect();
        let (input, output) = (many(&inputs, batch.from, batch.count)?, many(&outputs, batch.to, batch.count)?);
        let mut n = [1i64; 3];
        n.iter_mut().zip(axes).try_for_each(|(n, axis)| i64::try_from(axis.n).ok().map(|axis| *n = axis))?;
        let points = axes.iter().try_fold(batch.count, |all, axis| all.checked_mul(axis.n))?;
        if self.precision.is_half() {
            let powers = axes.iter().all(|axis| axis.n.is_power_of_two());
            let packed = |extents: &[(usize, usize)], dist: usize| {
                let size: usize = extents.iter().map(|(n, _)| n).product();
                extents.last().is_some_and(|(_, stride)| *stride == 1)
                    && extents.iter().rev().try_fold(1, |step, (n, s)| (step == *s).then(|| step * n)).is_some()
                    && (batch.count == 1 || dist == size)
            };
            if !powers || points >= 1 << 32 || !packed(&inputs, batch.from) || !packed(&outputs, batch.to) {
                return None;
            }
        }
        let batch = i64::try_from(batch.count).ok()?;
        Some(Layouts { kind: self.kind, precision: self.precision, rank: axes.len(), n, input, output, batch })
    }
}

/// Sizes and strides as an array embedded in a larger one, if that is possible.
fn many(axes: &[(usize, usize)], dist: usize, batch: usize) -> Option<Many> {
    let (_, stride) = *axes.last()?;
    let mut embed = [1i64; 3];
    let mut within = stride;
    if stride == 0 || (batch > 1 && dist == 0) {
        return None;
    }
    for (i, (n, step)) in axes.iter().enumerate().rev().skip(1) {
        let (inner, _) = *axes.get(i + 1)?;
        if !step.is_multiple_of(within) || step / within < inner || *n == 0 {
            return None;
        }
        *embed.get_mut(i + 1)? = i64::try_from(step / within).ok()?;
        within = *step;
    }
    // The first size does not affect any address; it only has to hold the array.
    *embed.first_mut()? = i64::try_from(axes.first()?.0).ok()?;
    let dist = if batch > 1 { dist } else { within.checked_mul(axes.first()?.0)? };
    Some(Many { embed, stride: i64::try_from(stride).ok()?, dist: i64::try_from(dist).ok()? })
}
