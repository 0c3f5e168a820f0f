//! The steps of a transform on a GPU: calls of the library, and copies by our own kernels around them.
//!
//! The library transforms up to three axes at once, in nested layouts, with one distance for a batch; halves only in
//! powers of two. It does not scale or pad, does not take every alignment, and overwrites the input of a transform to
//! real numbers. Anything else that a [`Geometry`] asks for is made of steps here: the input is gathered into packed
//! memory before the call, the output is scattered after it, or a few axes are transformed at a time. `part` says what
//! the library does at once and how the rest is copied; `solve` cuts a transform into such parts. Nothing here is
//! native, so the tests run the steps on the CPU.

use super::super::geometry::Geometry;
use super::super::spec::{Direction, Kind};
use super::part::Part;
use crate::core::error::{Error, Result};
use smallvec::SmallVec;

/// The type of a real number, or of each part of a complex one.
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

    /// Bytes of a real number.
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
    /// One of the program's scratch areas.
    Scratch(usize),
}

/// One side: its memory, and its kind of number.
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
    /// The strides of both sides; `from` may wrap around, to read backwards.
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
    /// What the plan reads, and what it writes.
    pub(super) fn numbers(&self) -> (Number, Number) {
        let number = |complex| Number { precision: self.precision, complex };
        (number(self.kind != Kind::R2c), number(self.kind != Kind::C2r))
    }
}

/// One side of a plan, in the library's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Many {
    pub(super) embed: [i64; 3],
    pub(super) stride: i64,
    pub(super) dist: i64,
}

/// One thing to enqueue.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Copies every element, conjugated and multiplied if asked.
    Move { from: End, to: End, dims: SmallVec<[Dim; 9]>, conj: bool, scale: f64 },
    /// A call of the library, at these offsets, in numbers, into both memories.
    Exec { key: Layouts, from: (StepMemory, usize), to: (StepMemory, usize), inverse: bool },
}

/// All steps, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Program {
    pub(super) steps: Vec<Step>,
    /// Bytes of each scratch memory.
    pub(super) scratch: Vec<usize>,
}

/// What is known of the buffers of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buffers {
    pub(super) precision: Precision,
    /// Both addresses are multiples of the size of a complex number.
    pub(super) aligned: bool,
    /// The input may be written.
    pub(super) destroys: bool,
    /// Input and output are the same memory.
    pub(super) in_place: bool,
}

pub(super) fn overflow() -> Error {
    Error::invalid("shape", "the size of the working memory overflows")
}

/// The steps of a transform; its results are multiplied by `scale`.
pub(super) fn program(geometry: &Geometry, buffers: Buffers, scale: f64) -> Result<Program> {
    let mut program = Program::default();
    if geometry.count == 0 {
        return Ok(program);
    }
    let (c2r, forward) = (geometry.kind == Kind::C2r, geometry.direction == Direction::Forward);
    let to = if buffers.in_place { StepMemory::From } else { StepMemory::To };
    let part = Part {
        kind: geometry.kind,
        // Real kinds have one direction; the other direction is computed with conjugates.
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
    /// The plans that it needs, each once, in the order of their first use.
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
