//! What a transform comes to on a GPU: calls of the library, and copies by kernels of our own around them.
//!
//! The library does up to three axes at once, in layouts that nest, with one distance for a batch; halves in powers of two
//! alone; it neither scales nor fills up nor takes every alignment, and overwrites what it transforms to real numbers. What
//! a [`Geometry`] asks beyond that is made of steps here: gathered into packed memory before, taken out of it behind, or
//! done a few axes at a time. Nothing here is native, so the steps are tested by carrying them out on the CPU.

use super::super::geometry::{Axis, Geometry, Loop};
use super::super::spec::{Direction, Kind};
use crate::{Error, Result};
use smallvec::{SmallVec, smallvec};

/// The type of the parts of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Precision {
    F16,
    Bf16,
    F32,
    F64,
}

impl Precision {
    fn is_half(self) -> bool {
        matches!(self, Precision::F16 | Precision::Bf16)
    }

    /// Bytes of a part.
    pub(super) fn bytes(self) -> usize {
        match self {
            Precision::F16 | Precision::Bf16 => 2,
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }
}

/// A kind of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Number {
    pub(super) precision: Precision,
    pub(super) complex: bool,
}

impl Number {
    pub(super) fn bytes(self) -> usize {
        self.precision.bytes() * if self.complex { 2 } else { 1 }
    }
}

/// Memory that a step works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    From,
    To,
    /// One of the program's own.
    Scratch(usize),
}

/// One side: where, and of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) place: Place,
    pub(super) number: Number,
}

/// An axis of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dim {
    pub(super) count: usize,
    /// Elements that are read; the others are zero.
    pub(super) inside: usize,
    /// Strides; that of what is read may wrap around, to read backwards.
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Everything that a plan of the library depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Layouts {
    pub(super) kind: Kind,
    pub(super) precision: Precision,
    pub(super) rank: usize,
    pub(super) n: [i64; 3],
    pub(super) input: Many,
    pub(super) output: Many,
    pub(super) batch: i64,
}

impl Layouts {
    /// What it reads, and what it writes.
    pub(super) fn numbers(&self) -> (Number, Number) {
        let number = |complex| Number { precision: self.precision, complex };
        (number(self.kind != Kind::R2c), number(self.kind != Kind::C2r))
    }
}

/// One side of a plan, as the library has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Many {
    pub(super) embed: [i64; 3],
    pub(super) stride: i64,
    pub(super) dist: i64,
}

/// One thing that is enqueued.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Every element copied, conjugated or multiplied on the way.
    Move { from: End, to: End, dims: SmallVec<[Dim; 9]>, conj: bool, scale: f64 },
    /// A plan of the library, begun so many numbers from the beginnings.
    Exec { key: Layouts, from: (Place, usize), to: (Place, usize), inverse: bool },
}

/// All steps, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Program {
    pub(super) steps: Vec<Step>,
    /// Bytes of each scratch memory.
    pub(super) scratch: Vec<usize>,
}

/// What the buffers of a transform are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buffers {
    pub(super) precision: Precision,
    /// Both begin at multiples of a complex number.
    pub(super) aligned: bool,
    /// The input may be written.
    pub(super) destroys: bool,
    /// Both are the same memory.
    pub(super) in_place: bool,
}

/// A transform, or a part of one.
#[derive(Clone)]
struct Part {
    kind: Kind,
    inverse: bool,
    precision: Precision,
    axes: SmallVec<[Axis; 8]>,
    loops: SmallVec<[Loop; 9]>,
    from: Place,
    to: Place,
    /// Of each side: the library may begin there.
    aligned: [bool; 2],
    destroys: bool,
    hermitian: bool,
    conj_in: bool,
    conj_out: bool,
    scale: f64,
}

/// Calls of the library for one part, where a batch has two distances: beyond that it is copied together.
const MOST_CALLS: usize = 8;

fn overflow() -> Error {
    Error::invalid("shape", "the memory to work in overflows")
}

/// The steps of a transform, its results multiplied with `scale`.
pub(super) fn program(geometry: &Geometry, buffers: Buffers, scale: f64) -> Result<Program> {
    let mut program = Program::default();
    if geometry.count == 0 {
        return Ok(program);
    }
    let (c2r, forward) = (geometry.kind == Kind::C2r, geometry.direction == Direction::Forward);
    let to = if buffers.in_place { Place::From } else { Place::To };
    let part = Part {
        kind: geometry.kind,
        // Real kinds have one direction; the other one is that of the conjugate.
        inverse: if geometry.kind == Kind::C2c { !forward } else { c2r },
        precision: buffers.precision,
        axes: geometry.axes.iter().copied().collect(),
        loops: geometry.loops.iter().copied().collect(),
        from: Place::From,
        to,
        aligned: [buffers.aligned; 2],
        destroys: buffers.destroys || buffers.in_place,
        hermitian: geometry.hermitian,
        conj_in: c2r && forward,
        conj_out: geometry.kind == Kind::R2c && !forward,
        scale,
    };
    program.solve(part)?;
    Ok(program)
}

impl Part {
    fn input(&self) -> Number {
        Number { precision: self.precision, complex: self.kind != Kind::R2c }
    }

    fn output(&self) -> Number {
        Number { precision: self.precision, complex: self.kind != Kind::C2r }
    }

    /// What the library reads along an axis.
    fn needed(&self, index: usize) -> usize {
        let n = self.axes.get(index).map_or(1, |axis| axis.n);
        if self.kind == Kind::C2r && index + 1 == self.axes.len() { n / 2 + 1 } else { n }
    }

    /// All that is read is there: nothing to fill up.
    fn is_full(&self) -> bool {
        self.axes.iter().enumerate().all(|(i, axis)| axis.read >= self.needed(i))
    }

    /// The dimensions of a copy of the input as the library takes it into packed memory, and the part from there on.
    fn gathered(&self, scratch: usize) -> Result<(Part, SmallVec<[Dim; 9]>, usize)> {
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
        // The loop that comes closest together is the innermost here too.
        part.loops.sort_by_key(|l| std::cmp::Reverse((l.to, l.from)));
        for l in part.loops.iter_mut().rev() {
            l.from = place(l.count, l.count, l.from)?;
        }
        (part.from, part.destroys, part.conj_in) = (Place::Scratch(scratch), true, false);
        let [_, to] = part.aligned;
        part.aligned = [true, to];
        Ok((part, dims, step))
    }

    /// The part with packed memory for its output, and the dimensions of the copy from there.
    fn scattered(&self, scratch: usize) -> Result<(Part, SmallVec<[Dim; 9]>, usize)> {
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
        (part.to, part.scale, part.conj_out) = (Place::Scratch(scratch), 1.0, false);
        let [from, _] = part.aligned;
        part.aligned = [from, true];
        Ok((part, dims, step))
    }

    /// The output as the dimensions of a copy onto itself.
    fn outcome(&self) -> SmallVec<[Dim; 9]> {
        let axes = self.axes.iter().map(|axis| (axis.written, axis.to));
        let loops = self.loops.iter().map(|l| (l.count, l.to));
        axes.chain(loops).map(|(count, to)| Dim { count, inside: count, from: to, to }).collect()
    }

    /// The calls of the library that do this as it is, if there are such: their plan, and where they begin.
    fn calls(&self) -> Option<(Layouts, Vec<(usize, usize)>)> {
        let writes_input = self.kind == Kind::C2r && !self.destroys;
        // Of what is no spectrum of a real array the library makes something else than NumPy.
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
        // The longest is the batch of one call.
        let longest = (0..merged.len()).max_by_key(|i| merged.get(*i).map(|l| l.count));
        let batch = longest.map_or(Loop { count: 1, from: 0, to: 0 }, |i| merged.remove(i));
        let calls = merged.iter().try_fold(1usize, |all, l| all.checked_mul(l.count))?;
        if calls > MOST_CALLS {
            return None;
        }
        let key = self.key(&axes, batch)?;
        let mut begins: Vec<(usize, usize)> = vec![(0, 0)];
        for l in &merged {
            // A side whose steps are odd may begin where the library cannot.
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

/// Sizes and strides as a larger array that holds them, if there is one.
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
    // The first size is looked at by nobody but for holding the array.
    *embed.first_mut()? = i64::try_from(axes.first()?.0).ok()?;
    let dist = if batch > 1 { dist } else { within.checked_mul(axes.first()?.0)? };
    Some(Many { embed, stride: i64::try_from(stride).ok()?, dist: i64::try_from(dist).ok()? })
}

impl Program {
    /// The plans that it wants, each once, in the order of their first use.
    pub(super) fn layouts(&self) -> SmallVec<[Layouts; 2]> {
        let mut all: SmallVec<[Layouts; 2]> = SmallVec::new();
        for step in &self.steps {
            if let Step::Exec { key, .. } = step
                && !all.contains(key)
            {
                all.push(*key);
            }
        }
        all
    }

    fn memory(&mut self, numbers: usize, number: Number) -> Result<()> {
        let bytes = numbers.checked_mul(number.bytes()).filter(|bytes| isize::try_from(*bytes).is_ok());
        self.scratch.push(bytes.ok_or_else(overflow)?);
        Ok(())
    }

    /// The steps of one part.
    fn solve(&mut self, part: Part) -> Result<()> {
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
            // Of one point along the halved axis the library has no plan.
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
        // What does not fit the library is copied: the input, the output, or both.
        let scratch = self.scratch.len();
        let (gathered, dims, numbers) = part.gathered(scratch)?;
        let gather = |program: &mut Program| {
            program.memory(numbers, part.input())?;
            let to = End { place: Place::Scratch(scratch), number: part.input() };
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
            return Err(Error::unsupported("a transform of packed arrays that cuFFT has no plan for"));
        }
        let (from, to) = (End { place, number: part.output() }, End { place: part.to, number: part.output() });
        self.steps.push(Step::Move { from, to, dims: out, conj: part.conj_out, scale: part.scale });
        Ok(())
    }

    /// As calls of the library, if it does the part as it is.
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

    /// Transforms of one point.
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

    /// Halves that the library does not do: in f32.
    fn widened(&mut self, part: Part) -> Result<()> {
        let wide = |number: Number| Number { precision: Precision::F32, ..number };
        let scratch = self.scratch.len();
        let (mut within, dims, numbers) = part.gathered(scratch)?;
        self.memory(numbers, wide(part.input()))?;
        let from = End { place: part.from, number: part.input() };
        let to = End { place: Place::Scratch(scratch), number: wide(part.input()) };
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

    /// The last axes from the input to the output, then the others there.
    fn inner_first(&mut self, part: Part) -> Result<()> {
        let at = match part.kind {
            Kind::R2c if part.axes.last().is_some_and(|axis| axis.n == 1) => part.axes.len() - 1,
            _ => part.axes.len().saturating_sub(3),
        };
        let (outer, inner) = part.axes.split_at(at.min(part.axes.len()));
        // Filling up comes first, for all axes.
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
        // Real kinds come this way forward alone.
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

    /// Half spectra over several axes: the outer ones in memory of our own, or in the input's where it may be destroyed, then
    /// the halved one from there.
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
        // The loops of the first are the part's, and the halved axis.
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
            first.to = Place::Scratch(scratch);
            first.aligned = [aligned_in, true];
            // What the halved axis lacks, or its conjugate: gathered as it is, with zeros.
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
        // From there.
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
