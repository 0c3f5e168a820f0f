//! The entry point: arguments, the loop over groups of elements, and where these lie. `groups.rs` loads and stores them.

use super::geometry::{Access, Argument, Geometry, types};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::expressions::ir::Expr;
use crate::libraries::expressions::low::{Instr, Lane, Low, LowOp, Uniform, Value};
use crate::libraries::kernel::{Class, Grid, Index, Parameter, Reg, Words, Writer};

/// The module, and the words of its parameter.
pub(super) fn write(expr: &Expr, low: &Low, geometry: &Geometry) -> Result<(String, Words<Argument>)> {
    let axes = expr.positions().to_vec();
    let operands = expr.outputs().len() + expr.inputs().len() + axes.len();
    if geometry.access.len() != operands {
        return Err(Error::library("internal error: the geometry of another expression"));
    }
    let mut entry = Entry {
        expr,
        low,
        geometry,
        axes,
        index: Index::new(geometry.is_wide),
        writer: Writer::default(),
        words: Words::new(),
        values: vec![Vec::new(); low.instrs().len()],
        addresses: vec![None; operands],
    };
    entry.write();
    let parameter = Parameter { words: entry.words.len(), written: expr.outputs().len(), read: expr.inputs().len() };
    Ok((entry.writer.module(&parameter)?, entry.words))
}

pub(super) struct Entry<'a> {
    pub(super) expr: &'a Expr,
    pub(super) low: &'a Low,
    pub(super) geometry: &'a Geometry,
    pub(super) axes: Vec<u8>,
    /// The type of indices and offsets.
    pub(super) index: Index,
    pub(super) writer: Writer,
    words: Words<Argument>,
    /// The registers of each value: one for each element of a group, or one if all elements have the same.
    pub(super) values: Vec<Vec<Reg>>,
    /// The address of each operand's group; of a position its value.
    pub(super) addresses: Vec<Option<Reg>>,
}

impl Entry<'_> {
    pub(super) fn argument(&mut self, argument: Argument, class: Class) -> Reg {
        self.words.read(&mut self.writer, argument, class)
    }

    fn write(&mut self) {
        let (index, grid) = (self.index, Grid::new(&mut self.writer, self.index));
        let groups = self.argument(Argument::Groups, index.class);
        grid.begin(&mut self.writer, groups);
        let bases: Vec<Reg> =
            (0..self.geometry.access.len()).map(|k| self.argument(Argument::Base(k), Class::Long)).collect();
        let grid_data = self.strides();
        let is_grouped = self.geometry.vector > 1;
        let elements = is_grouped.then(|| self.argument(Argument::Elements, index.class));
        let has_other_way = self.geometry.has_other_way(self.expr);
        let aligned = has_other_way.then(|| self.argument(Argument::Aligned, Class::Word));
        self.invariants();
        grid.each(&mut self.writer);
        self.find(grid.task, &bases, &grid_data);
        let tail = aligned.map(|aligned| self.tail(grid.task, aligned, elements));
        self.load(tail.as_ref());
        self.compute();
        self.store(tail.as_ref());
        grid.end(&mut self.writer, groups);
    }

    /// Extents and strides, where the index is not the place already.
    fn strides(&mut self) -> (Vec<Reg>, Vec<Vec<Reg>>) {
        let class = self.index.class;
        let used = |access: &Access| *access != Access::Linear;
        if !self.geometry.access.iter().any(used) {
            return (Vec::new(), Vec::new());
        }
        // The first axis takes what the others leave of the index.
        let extents = (0..self.geometry.axes).map(|axis| self.argument(Argument::Extent(axis), class)).collect();
        let mut strides = Vec::new();
        for (k, access) in self.geometry.access.iter().enumerate() {
            let axes = if used(access) { self.geometry.axes } else { 0 };
            strides.push((0..axes).map(|axis| self.argument(Argument::Stride(k, axis), class)).collect());
        }
        (extents, strides)
    }

    /// What is the same for all elements, before the loop.
    fn invariants(&mut self) {
        for (at, instr) in self.low.instrs().iter().enumerate() {
            let fixed = |v: Value| self.values.get(v as usize).is_some_and(|regs| regs.len() == 1);
            let value = match instr.op {
                LowOp::Uniform(k) => self.uniform(k, instr.lane),
                LowOp::Input(..) | LowOp::Position(_) => continue,
                _ if instr.operands().all(fixed) => {
                    let args = self.operands(instr, 0);
                    self.writer.operation(instr, args)
                }
                _ => continue,
            };
            if let Some(regs) = self.values.get_mut(at) {
                *regs = vec![value];
            }
        }
    }

    fn uniform(&mut self, k: u16, lane: Lane) -> Reg {
        let class = Class::for_lane(lane);
        let Some((Uniform::Constant(bits), _)) = self.low.uniforms().get(usize::from(k)) else {
            return self.argument(Argument::Uniform(k), class);
        };
        self.writer.constant(lane, *bits)
    }

    /// The registers of an operation's operands, for element `l` of a group.
    fn operands(&self, instr: &Instr, l: usize) -> [Reg; 3] {
        let reg = |value: Value| {
            let regs = self.values.get(value as usize).map(Vec::as_slice).unwrap_or_default();
            regs.get(l).or(regs.first()).copied()
        };
        let first = instr.args.first().and_then(|v| reg(*v));
        // Each operation has a first operand, and operands come before it.
        instr.args.map(|value| reg(value).or(first).unwrap_or(Writer::default().reg(Class::Word)))
    }

    /// From the number of a group to the addresses of its operands and the values of positions.
    fn find(&mut self, group: Reg, bases: &[Reg], (extents, strides): &(Vec<Reg>, Vec<Vec<Reg>>)) {
        let (index, writer) = (self.index, &mut self.writer);
        let of = |all: &[Reg], axis: usize| all.get(axis).copied().unwrap_or(group);
        let coordinates = index.coordinates(writer, group, extents.len(), &mut |_, axis| of(extents, axis));
        let sizes: Vec<usize> = types(self.expr).map(DType::size).collect();
        let places = self.geometry.access.iter().zip(bases).zip(&mut self.addresses);
        for (k, ((access, base), place)) in places.enumerate() {
            *place = Some(if *access == Access::Linear {
                let size = sizes.get(k).copied().unwrap_or(1) * self.geometry.vector;
                index.element(writer, *base, group, size)
            } else {
                let own = strides.get(k).map(Vec::as_slice).unwrap_or_default();
                index.address(writer, *base, &coordinates, &mut |_, axis| of(own, axis))
            });
        }
    }

    fn compute(&mut self) {
        for (at, instr) in self.low.instrs().iter().enumerate() {
            if self.values.get(at).is_some_and(|regs| !regs.is_empty()) {
                continue;
            }
            let fixed = |v: Value| self.values.get(v as usize).is_some_and(|regs| regs.len() == 1);
            let lanes = if instr.operands().all(fixed) { 1 } else { self.geometry.vector };
            let mut regs = Vec::with_capacity(lanes);
            for l in 0..lanes {
                let args = self.operands(instr, l);
                regs.push(self.writer.operation(instr, args));
            }
            if let Some(slot) = self.values.get_mut(at) {
                *slot = regs;
            }
        }
    }
}
