//! The groups of elements that a thread moves at once: loads and stores of them, and what is there of the last one.

use super::body::memory;
use super::entry::Entry;
use super::geometry::{Access, Argument};
use crate::core::element::DType;
use crate::libraries::expressions::low::lower::stored;
use crate::libraries::expressions::low::{Lane, LowOp};
use crate::libraries::kernel::{Class, Index, Reg, joined, ptx};

/// A group of an operand that is moved.
struct Transfer {
    operand: usize,
    lane: Lane,
    parts: usize,
    address: Reg,
    regs: Vec<Reg>,
    /// It has an element for each one of the group, not one for all.
    is_group: bool,
}

/// A group that may not be full, or not aligned.
pub(super) struct Tail {
    /// Full and aligned.
    full: Reg,
    /// Whether each element is there.
    there: Vec<Reg>,
}

impl Entry<'_> {
    /// Whether the group is full and aligned, and which of its elements are there.
    pub(super) fn tail(&mut self, index: Reg, aligned: Reg, elements: Option<Reg>) -> Tail {
        let Index { class, u, .. } = self.index;
        let is_aligned = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.ne.u32 {is_aligned}, {aligned}, 0");
        let Some(elements) = elements else { return Tail { full: is_aligned, there: Vec::new() } };
        let [first, left] = self.writer.regs(class);
        ptx!(self.writer, "mul.lo.{u} {first}, {index}, {}", self.geometry.vector);
        ptx!(self.writer, "sub.{u} {left}, {elements}, {first}");
        let full = self.writer.reg(Class::Predicate);
        ptx!(self.writer, "setp.ge.and.{u} {full}, {left}, {}, {is_aligned}", self.geometry.vector);
        let mut there = Vec::new();
        for l in 0..self.geometry.vector {
            let predicate = self.writer.reg(Class::Predicate);
            ptx!(self.writer, "setp.gt.{u} {predicate}, {left}, {l}");
            there.push(predicate);
        }
        Tail { full, there }
    }

    /// The parts of an operand's elements, as they lie in memory: lane, and number for each element.
    fn parts(dtype: DType) -> (Lane, usize) {
        (stored(dtype), if dtype.is_complex() { 2 } else { 1 })
    }

    /// How many parts of an operand one instruction may move.
    fn joined(&self, operand: usize, lane: Lane, parts: usize) -> usize {
        let grouped = matches!(self.geometry.access.get(operand), Some(Access::Linear | Access::Rows));
        let elements = if grouped { self.geometry.vector } else { 1 };
        (elements * parts).min(16 / lane.size()).min(4)
    }

    pub(super) fn load(&mut self, tail: Option<&Tail>) {
        let outputs = self.expr.outputs().len();
        let mut transfers = Vec::new();
        for (k, dtype) in self.expr.inputs().iter().enumerate() {
            let values: Vec<Option<usize>> = (0..2u8)
                .map(|part| self.low.instrs().iter().position(|i| i.op == LowOp::Input(k as u8, part)))
                .collect();
            if values.iter().all(Option::is_none) {
                continue;
            }
            let operand = outputs + k;
            let (lane, parts) = Self::parts(*dtype);
            let access = self.geometry.access.get(operand).copied().unwrap_or(Access::Strided);
            let elements = if access == Access::Repeated { 1 } else { self.geometry.vector };
            let regs: Vec<Reg> = (0..elements * parts).map(|_| self.writer.reg(Class::for_lane(lane))).collect();
            if let Some(Some(address)) = self.addresses.get(operand).copied() {
                transfers.push(Transfer { operand, lane, parts, address, regs: regs.clone(), is_group: elements > 1 });
            }
            for (part, value) in values.into_iter().enumerate() {
                if let Some(slot) = value.and_then(|value| self.values.get_mut(value)) {
                    *slot = regs.iter().copied().skip(part).step_by(parts).collect();
                    // A single register means that all elements have it; here that is so, or a group is one element.
                }
            }
        }
        self.memory("ld", &transfers, tail);
        self.positions();
    }

    fn positions(&mut self) {
        let first = self.expr.outputs().len() + self.expr.inputs().len();
        for (nth, axis) in self.axes.clone().into_iter().enumerate() {
            let operand = first + nth;
            let Some(value) = self.low.instrs().iter().position(|i| i.op == LowOp::Position(axis)) else { continue };
            let Some(Some(start)) = self.addresses.get(operand).copied() else { continue };
            let mut regs = vec![start];
            if self.geometry.vector > 1 && self.geometry.access.get(operand) != Some(&Access::Repeated) {
                // The stride along the last axis is that of a group.
                let last = self.geometry.axes.saturating_sub(1);
                let stride = self.argument(Argument::Stride(operand, last), Class::Long);
                let each = self.writer.reg(Class::Long);
                ptx!(self.writer, "shr.s64 {each}, {stride}, {}", self.geometry.vector.trailing_zeros());
                for _ in 1..self.geometry.vector {
                    let next = self.writer.reg(Class::Long);
                    let before = regs.last().copied().unwrap_or(start);
                    ptx!(self.writer, "add.s64 {next}, {before}, {each}");
                    regs.push(next);
                }
            }
            if let Some(slot) = self.values.get_mut(value) {
                *slot = regs;
            }
        }
    }

    pub(super) fn store(&mut self, tail: Option<&Tail>) {
        let mut transfers = Vec::new();
        for (k, (id, values)) in self.expr.outputs().iter().zip(self.low.outputs()).enumerate() {
            let Some(dtype) = self.expr.dtype(*id) else { continue };
            let (lane, parts) = Self::parts(dtype);
            let mut regs = Vec::new();
            for l in 0..self.geometry.vector {
                for value in values {
                    let of = self.values.get(*value as usize).map(Vec::as_slice).unwrap_or_default();
                    regs.extend(of.get(l).or(of.first()));
                }
            }
            if let Some(Some(address)) = self.addresses.get(k).copied() {
                transfers.push(Transfer { operand: k, lane, parts, address, regs, is_group: true });
            }
        }
        self.memory("st", &transfers, tail);
    }

    /// Loads or stores groups: in vectors, or one part after the other where a group is not full or not aligned. All loads of
    /// a way stand side by side, so that they are under way together.
    fn memory(&mut self, op: &str, transfers: &[Transfer], tail: Option<&Tail>) {
        if let Some(tail) = tail {
            ptx!(self.writer, "@!{} bra PART_{op}", tail.full);
        }
        for transfer in transfers {
            let joined = self.joined(transfer.operand, transfer.lane, transfer.parts);
            for (at, group) in transfer.regs.chunks(joined).enumerate() {
                self.access(op, transfer.lane, transfer.address, at * joined, group, None);
            }
        }
        let Some(tail) = tail else { return };
        ptx!(self.writer, "bra DONE_{op}");
        self.writer.label(&format!("PART_{op}"));
        for transfer in transfers {
            for (at, reg) in transfer.regs.iter().enumerate() {
                let guard = tail.there.get(at / transfer.parts).copied().filter(|_| transfer.is_group);
                if op == "ld" && guard.is_some() {
                    ptx!(self.writer, "mov.b{} {reg}, 0", 8 * transfer.lane.size().max(4));
                }
                self.access(op, transfer.lane, transfer.address, at, &[*reg], guard);
            }
        }
        self.writer.label(&format!("DONE_{op}"));
    }

    /// One instruction: the parts from number `at` on.
    fn access(&mut self, op: &str, lane: Lane, address: Reg, at: usize, regs: &[Reg], guard: Option<Reg>) {
        let guard = guard.map(|guard| format!("@{guard} ")).unwrap_or_default();
        let t = memory(lane);
        let (vector, list) = joined(regs);
        let place = format!("[{address}+{}]", at * lane.size());
        if op == "ld" {
            ptx!(self.writer, "{guard}ld.global{vector}.{t} {list}, {place}");
        } else {
            ptx!(self.writer, "{guard}st.global{vector}.{t} {place}, {list}");
        }
    }
}
