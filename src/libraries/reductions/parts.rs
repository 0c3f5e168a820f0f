//! Accumulators and operands in registers: complex numbers have two parts.

use crate::core::element::DType;
use crate::libraries::expressions::low::Lane;
use crate::libraries::expressions::ptx::body::bits;
use crate::libraries::kernel::{Class, Reg, Writer, ptx};

/// The registers of accumulators, of elements, of results: one for each part.
pub(super) type Regs = Vec<Reg>;

/// A part of an operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) operand: usize,
    pub(super) part: usize,
    pub(super) lane: Lane,
}

/// The parts of operands of these types.
pub(super) fn parts(types: impl Iterator<Item = DType>, lane: fn(DType) -> Lane) -> Vec<Part> {
    let of = |(operand, dtype): (usize, DType)| {
        let count = if dtype.is_complex() { 2 } else { 1 };
        (0..count).map(move |part| Part { operand, part, lane: lane(dtype) })
    };
    types.enumerate().flat_map(of).collect()
}

/// The register of a part.
pub(super) fn find(parts: &[Part], registers: &[Reg], operand: usize, part: usize) -> Option<Reg> {
    let at = parts.iter().position(|own| (own.operand, own.part) == (operand, part))?;
    registers.get(at).copied()
}

/// New registers.
pub(super) fn registers(writer: &mut Writer, parts: &[Part]) -> Regs {
    parts.iter().map(|part| writer.reg(Class::for_lane(part.lane))).collect()
}

/// Copies parts, or only where the predicate is true.
pub(super) fn keep(writer: &mut Writer, parts: &[Part], to: &[Reg], from: &[Reg], there: Option<Reg>) {
    for ((to, from), part) in to.iter().zip(from).zip(parts) {
        match there {
            Some(there) => ptx!(writer, "selp.{} {to}, {from}, {to}, {there}", bits(part.lane)),
            None => ptx!(writer, "mov.{} {to}, {from}", bits(part.lane)),
        }
    }
}

/// Accumulators are computed: a NaN has the one pattern.
pub(super) fn canonical(writer: &mut Writer, parts: &[Part], own: &[Reg]) -> Regs {
    own.iter().zip(parts).map(|(own, part)| writer.canonical(part.lane, *own)).collect()
}

/// Joins the first half with the second one, until one is left.
pub(super) fn halves(mut all: Vec<Regs>, join: &mut dyn FnMut(&[Reg], &[Reg]) -> Regs) -> Regs {
    while all.len() > 1 {
        let other = all.split_off(all.len().div_ceil(2));
        all = all.iter().zip(&other).map(|(own, other)| join(own, other)).collect();
    }
    all.pop().unwrap_or_default()
}
