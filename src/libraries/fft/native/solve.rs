//! How a transform is cut into parts that the library can do, with copies between them.

use super::super::geometry::{Axis, Loop};
use super::super::spec::Kind;
use super::part::Part;
use super::steps::{Dim, End, Number, Precision, Program, Step, StepMemory, overflow};
use crate::core::error::{Error, Result};
use smallvec::{SmallVec, smallvec};

impl Program {
    fn memory(&mut self, numbers: usize, number: Number) -> Result<()> {
        let bytes = numbers.checked_mul(number.bytes()).filter(|bytes| isize::try_from(*bytes).is_ok());
        self.scratch.push(bytes.ok_or_else(overflow)?);
        Ok(())
    }

    /// Adds the steps of one part.
    pub(super) fn solve(&mut self, part: Part) -> Result<()> {
        if self.exec(&part) {
            return Ok(());
        }
        if part.precision.is_half() {
            return self.widened(part);
        }
        if part.axes.iter().all(|axis| axis.n == 1) {
            return self.copied(part);
        }
        match part.kind {
            // The library has no plan for one point along the halved axis.
            Kind::C2r
                if part.axes.len() > 1
                    && !(part.hermitian && part.axes.len() <= 3 && part.axes.last().is_some_and(|axis| axis.n > 1)) =>
            {
                return self.outer_first(part);
            }
            Kind::C2c | Kind::R2c if part.axes.len() > 3 => return self.inner_first(part),
            Kind::R2c if part.axes.len() > 1 && part.axes.last().is_some_and(|axis| axis.n == 1) => {
                return self.inner_first(part);
            }
            _ => {}
        }
        // The library does not take this layout: copy the input, the output, or both.
        let scratch = self.scratch.len();
        let (gathered, dims, numbers) = part.gathered(scratch)?;
        let gather = |program: &mut Program| {
            program.memory(numbers, part.input())?;
            let to = End { place: StepMemory::Scratch(scratch), number: part.input() };
            let from = End { place: part.from, number: part.input() };
            program.steps.push(Step::Move { from, to, dims: dims.clone(), conj: part.conj_in, scale: 1.0 });
            Ok::<(), Error>(())
        };
        if gathered.calls().is_some() {
            gather(self)?;
            self.exec(&gathered);
            return Ok(());
        }
        let alone = part.scattered(scratch)?;
        let (within, out, numbers_out) = match alone.0.calls() {
            Some(_) => alone,
            None => {
                gather(self)?;
                gathered.scattered(scratch + 1)?
            }
        };
        self.memory(numbers_out, part.output())?;
        let place = within.to;
        if !self.exec(&within) {
            return Err(Error::unsupported("cuFFT has no plan for this transform, even with packed arrays"));
        }
        let (from, to) = (End { place, number: part.output() }, End { place: part.to, number: part.output() });
        self.steps.push(Step::Move { from, to, dims: out, conj: part.conj_out, scale: part.scale });
        Ok(())
    }

    /// Adds the library calls of a part, if the library does it with its layout. Returns whether it does.
    fn exec(&mut self, part: &Part) -> bool {
        let Some((key, begins)) = part.calls() else { return false };
        let (from, to, inverse) = (part.from, part.to, part.inverse);
        let calls = begins.into_iter().map(|at| Step::Exec { key, from: (from, at.0), to: (to, at.1), inverse });
        self.steps.extend(calls);
        if part.scale != 1.0 || part.conj_out {
            let end = End { place: part.to, number: part.output() };
            let (dims, conj, scale) = (part.outcome(), part.conj_out, part.scale);
            self.steps.push(Step::Move { from: end, to: end, dims, conj, scale });
        }
        true
    }

    /// Transforms of one point: a copy.
    fn copied(&mut self, part: Part) -> Result<()> {
        let dims: SmallVec<[Dim; 9]> = part
            .axes
            .iter()
            .map(|axis| Dim { count: axis.written, inside: axis.read.min(axis.written), from: axis.from, to: axis.to })
            .chain(part.loops.iter().map(|l| Dim { count: l.count, inside: l.count, from: l.from, to: l.to }))
            .collect();
        let (from, to) =
            (End { place: part.from, number: part.input() }, End { place: part.to, number: part.output() });
        let conj = part.conj_in != part.conj_out;
        self.steps.push(Step::Move { from, to, dims, conj, scale: part.scale });
        Ok(())
    }

    /// Halves that the library does not transform: computed in f32.
    fn widened(&mut self, part: Part) -> Result<()> {
        let wide = |number: Number| Number { precision: Precision::F32, ..number };
        let scratch = self.scratch.len();
        let (mut within, dims, numbers) = part.gathered(scratch)?;
        self.memory(numbers, wide(part.input()))?;
        let from = End { place: part.from, number: part.input() };
        let to = End { place: StepMemory::Scratch(scratch), number: wide(part.input()) };
        self.steps.push(Step::Move { from, to, dims, conj: part.conj_in, scale: 1.0 });
        within.precision = Precision::F32;
        let (within, dims, numbers) = within.scattered(scratch + 1)?;
        self.memory(numbers, wide(part.output()))?;
        let from = End { place: within.to, number: wide(part.output()) };
        self.solve(within)?;
        let to = End { place: part.to, number: part.output() };
        self.steps.push(Step::Move { from, to, dims, conj: part.conj_out, scale: part.scale });
        Ok(())
    }

    /// Transforms the last axes from the input to the output, then the others in the output.
    fn inner_first(&mut self, part: Part) -> Result<()> {
        let at = match part.kind {
            Kind::R2c if part.axes.last().is_some_and(|axis| axis.n == 1) => part.axes.len() - 1,
            _ => part.axes.len().saturating_sub(3),
        };
        let (outer, inner) = part.axes.split_at(at.min(part.axes.len()));
        // Padding comes first, for all axes.
        if !part.is_full() {
            let scratch = self.scratch.len();
            let (gathered, dims, numbers) = part.gathered(scratch)?;
            self.memory(numbers, part.input())?;
            let (from, to) =
                (End { place: part.from, number: part.input() }, End { place: gathered.from, number: part.input() });
            self.steps.push(Step::Move { from, to, dims, conj: part.conj_in, scale: 1.0 });
            return self.inner_first(gathered);
        }
        let mut first = part.clone();
        first.axes = inner.iter().copied().collect();
        first.loops.extend(outer.iter().map(|axis| Loop { count: axis.n, from: axis.from, to: axis.to }));
        (first.scale, first.conj_out) = (1.0, false);
        let mut rest = part.clone();
        rest.kind = Kind::C2c;
        // Real kinds come here only forward.
        rest.inverse = part.kind == Kind::C2c && part.inverse;
        rest.axes = outer.iter().map(|axis| Axis { from: axis.to, read: axis.n, ..*axis }).collect();
        rest.loops.iter_mut().for_each(|l| l.from = l.to);
        rest.loops.extend(inner.iter().map(|axis| Loop { count: axis.written, from: axis.to, to: axis.to }));
        (rest.from, rest.destroys) = (part.to, true);
        let [_, aligned] = part.aligned;
        rest.aligned = [aligned; 2];
        self.solve(first)?;
        self.solve(rest)
    }

    /// Half spectra over several axes. Transforms the outer axes in scratch memory, or in the input if it may be
    /// destroyed; then the halved axis from there.
    fn outer_first(&mut self, part: Part) -> Result<()> {
        let Some((half, outer)) = part.axes.split_last() else { return Ok(()) };
        let complex = part.input();
        let needed = half.n / 2 + 1;
        let stays = part.destroys && part.is_full() && !part.conj_in;
        let mut first = part.clone();
        (first.kind, first.inverse, first.conj_out, first.scale) = (Kind::C2c, true, false, 1.0);
        first.axes = outer.iter().copied().collect();
        let [aligned_in, aligned_out] = part.aligned;
        let mut last = part.clone();
        last.axes = smallvec![*half];
        (last.conj_in, last.destroys, last.hermitian) = (false, true, true);
        // The loops of the first part are those of `part`, and the halved axis.
        first.loops.push(Loop { count: needed, from: half.from, to: half.from });
        if stays {
            first.axes.iter_mut().for_each(|axis| (axis.to, axis.written) = (axis.from, axis.n));
            first.loops.iter_mut().for_each(|l| l.to = l.from);
            first.to = part.from;
            first.aligned = [aligned_in; 2];
        } else {
            let mut step = 1usize;
            let mut place = |count: usize| -> Result<usize> {
                let to = step;
                step = step.checked_mul(count).ok_or_else(overflow)?;
                Ok(to)
            };
            if let Some(l) = first.loops.last_mut() {
                l.to = place(needed)?;
            }
            for axis in first.axes.iter_mut().rev() {
                (axis.to, axis.written) = (place(axis.n)?, axis.n);
            }
            let own = first.loops.len() - 1;
            for l in first.loops.iter_mut().take(own).rev() {
                l.to = place(l.count)?;
            }
            let scratch = self.scratch.len();
            self.memory(step, complex)?;
            first.to = StepMemory::Scratch(scratch);
            first.aligned = [aligned_in, true];
            // The input is incomplete or must be conjugated: copy it first, with zeros for what is missing.
            if half.read < needed || part.conj_in || !part.is_full() {
                let mut dims: SmallVec<[Dim; 9]> = SmallVec::new();
                for (axis, l) in outer.iter().zip(first.axes.iter()) {
                    dims.push(Dim { count: axis.n, inside: axis.read.min(axis.n), from: axis.from, to: l.to });
                }
                for (i, l) in first.loops.iter().enumerate() {
                    let inside = if i == own { half.read.min(needed) } else { l.count };
                    dims.push(Dim { count: l.count, inside, from: l.from, to: l.to });
                }
                let (from, to) = (End { place: part.from, number: complex }, End { place: first.to, number: complex });
                self.steps.push(Step::Move { from, to, dims, conj: part.conj_in, scale: 1.0 });
                first.from = first.to;
                first.axes.iter_mut().for_each(|axis| (axis.from, axis.read) = (axis.to, axis.n));
                first.loops.iter_mut().for_each(|l| l.from = l.to);
                (first.conj_in, first.aligned) = (false, [true; 2]);
            }
            last.from = first.to;
        }
        // The last part reads where the first one wrote.
        last.aligned = [if stays { aligned_in } else { true }, aligned_out];
        let own = first.loops.len() - 1;
        last.loops.iter_mut().zip(first.loops.iter().take(own)).for_each(|(l, first)| l.from = first.to);
        last.loops.extend(outer.iter().zip(first.axes.iter()).map(|(axis, first)| Loop {
            count: axis.written,
            from: first.to,
            to: axis.to,
        }));
        if let Some(axis) = last.axes.last_mut() {
            (axis.from, axis.read) = (first.loops.last().map_or(0, |l| l.to), needed);
        }
        self.solve(first)?;
        self.solve(last)
    }
}
