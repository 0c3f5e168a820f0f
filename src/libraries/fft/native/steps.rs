//! What a transform comes to on a GPU: calls of the library, and copies by kernels of our own around them.
//!
//! The library does up to three axes at once, in layouts that nest, with one distance for a batch; halves in powers of two
//! alone; it neither scales nor fills up nor takes every alignment, and overwrites what it transforms to real numbers. What
//! a [`Geometry`] asks beyond that is made of steps here: gathered into packed memory before, taken out of it behind, or
//! done a few axes at a time. `part` says what the library does at once and how the rest is copied; `solve` cuts a transform
//! into such parts. Nothing here is native, so the steps are tested by carrying them out on the CPU.

use super::super::geometry::Geometry;
use super::super::spec::{Direction, Kind};
use super::part::Part;
use crate::{Error, Result};
use smallvec::SmallVec;

/// The type of the parts of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Precision {
    F16,
    Bf16,
    F32,
    F64,
}

impl Precision {
    pub(super) fn is_half(self) -> bool {
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
pub(super) enum StepMemory {
    From,
    To,
    /// One of the program's own.
    Scratch(usize),
}

/// One side: where, and of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) place: StepMemory,
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
    Exec { key: Layouts, from: (StepMemory, usize), to: (StepMemory, usize), inverse: bool },
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

pub(super) fn overflow() -> Error {
    Error::invalid("shape", "the memory to work in overflows")
}

/// The steps of a transform, its results multiplied with `scale`.
pub(super) fn program(geometry: &Geometry, buffers: Buffers, scale: f64) -> Result<Program> {
    let mut program = Program::default();
    if geometry.count == 0 {
        return Ok(program);
    }
    let (c2r, forward) = (geometry.kind == Kind::C2r, geometry.direction == Direction::Forward);
    let to = if buffers.in_place { StepMemory::From } else { StepMemory::To };
    let part = Part {
        kind: geometry.kind,
        // Real kinds have one direction; the other one is that of the conjugate.
        inverse: if geometry.kind == Kind::C2c { !forward } else { c2r },
        precision: buffers.precision,
        axes: geometry.axes.iter().copied().collect(),
        loops: geometry.loops.iter().copied().collect(),
        from: StepMemory::From,
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
}
