//! The entry point: arguments, the loop over groups of elements, and where these lie. `groups.rs` loads and stores them.

use super::geometry::{Access, Argument, Geometry, types};
use super::writer::{Class, Reg, Writer, ptx};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::expressions::ir::Expr;
use crate::libraries::expressions::low::{Instr, Lane, Low, LowOp, Uniform, Value};

/// The largest size of the arguments of a kernel.
const MAX_ARGUMENTS: usize = 4096;

/// The entry point of this name, and the words of its parameter.
pub(super) fn write(name: &str, expr: &Expr, low: &Low, geometry: &Geometry) -> Result<(String, Vec<Argument>)> {
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
        writer: Writer::default(),
        arguments: Vec::new(),
        values: vec![Vec::new(); low.instrs().len()],
        addresses: vec![None; operands],
    };
    entry.write();
    let size = 8 * entry.arguments.len();
    if size > MAX_ARGUMENTS {
        let what = format!(
            "{} axes that do not continue each other: their strides and the numbers take {size} bytes, but a kernel takes \
             {MAX_ARGUMENTS}; `contiguous` makes copies of less axes",
            geometry.axes
        );
        return Err(Error::invalid("formula", what));
    }
    let body = entry.writer.finish();
    // Which words of the arguments are addresses; the first one counts groups.
    let (inputs, end) = (1 + expr.outputs().len(), 1 + expr.outputs().len() + expr.inputs().len());
    let operands = format!("// written 1 to {inputs}, read {inputs} to {end}");
    let text = format!(".visible .entry {name}(.param .align 8 .b8 args[{size}])\n{{\n{operands}\n{body}}}\n");
    Ok((text, entry.arguments))
}

pub(super) struct Entry<'a> {
    pub(super) expr: &'a Expr,
    pub(super) low: &'a Low,
    pub(super) geometry: &'a Geometry,
    pub(super) axes: Vec<u8>,
    pub(super) writer: Writer,
    arguments: Vec<Argument>,
    /// The registers of each value: one for each element of a group, or one if all elements have the same.
    pub(super) values: Vec<Vec<Reg>>,
    /// The address of each operand's group; of a position its value.
    pub(super) addresses: Vec<Option<Reg>>,
}

impl Entry<'_> {
    /// The type of indices and offsets.
    pub(super) fn index(&self) -> (Class, &'static str, &'static str) {
        if self.geometry.is_wide { (Class::Long, "u64", "s64") } else { (Class::Word, "u32", "s32") }
    }

    /// Reads a word of the arguments; the first time it gets a place there.
    pub(super) fn argument(&mut self, argument: Argument, class: Class) -> Reg {
        let at = self.arguments.iter().position(|known| *known == argument).unwrap_or(self.arguments.len());
        if at == self.arguments.len() {
            self.arguments.push(argument);
        }
        let (register, t) = match class {
            Class::Long => (self.writer.reg(Class::Long), "u64"),
            Class::Single => (self.writer.reg(Class::Single), "f32"),
            Class::Double => (self.writer.reg(Class::Double), "f64"),
            _ => (self.writer.reg(Class::Word), "u32"),
        };
        ptx!(self.writer, "ld.param.{t} {register}, [args+{}]", 8 * at);
        register
    }

    fn write(&mut self) {
        let (class, u, _) = self.index();
        let [block, threads, thread, grid] = [(); 4].map(|()| self.writer.reg(Class::Word));
        ptx!(self.writer, "mov.u32 {block}, %ctaid.x");
        ptx!(self.writer, "mov.u32 {threads}, %ntid.x");
        ptx!(self.writer, "mov.u32 {thread}, %tid.x");
        ptx!(self.writer, "mov.u32 {grid}, %nctaid.x");
        let [index, step] = [(); 2].map(|()| self.writer.reg(class));
        if self.geometry.is_wide {
            let wide = self.writer.reg(Class::Long);
            ptx!(self.writer, "cvt.u64.u32 {wide}, {thread}");
            ptx!(self.writer, "mul.wide.u32 {index}, {block}, {threads}");
            ptx!(self.writer, "add.u64 {index}, {index}, {wide}");
            ptx!(self.writer, "mul.wide.u32 {step}, {grid}, {threads}");
        } else {
            ptx!(self.writer, "mad.lo.u32 {index}, {block}, {threads}, {thread}");
            ptx!(self.writer, "mul.lo.u32 {step}, {grid}, {threads}");
        }
        let groups = self.argument(Argument::Groups, class);
        let (beyond, again) = (self.writer.reg(Class::Predicate), self.writer.reg(Class::Predicate));
        ptx!(self.writer, "setp.ge.{u} {beyond}, {index}, {groups}");
        ptx!(self.writer, "@{beyond} bra EXIT");
        let bases: Vec<Reg> =
            (0..self.geometry.access.len()).map(|k| self.argument(Argument::Base(k), Class::Long)).collect();
        let grid_data = self.strides();
        let is_grouped = self.geometry.vector > 1;
        let elements = is_grouped.then(|| self.argument(Argument::Elements, class));
        let has_other_way = self.geometry.has_other_way(self.expr);
        let aligned = has_other_way.then(|| self.argument(Argument::Aligned, Class::Word));
        self.invariants();
        self.writer.label("LOOP");
        self.find(index, &bases, &grid_data);
        let tail = aligned.map(|aligned| self.tail(index, aligned, elements));
        self.load(tail.as_ref());
        self.compute();
        self.store(tail.as_ref());
        ptx!(self.writer, "add.{u} {index}, {index}, {step}");
        ptx!(self.writer, "setp.lt.{u} {again}, {index}, {groups}");
        ptx!(self.writer, "@{again} bra LOOP");
        self.writer.label("EXIT");
        ptx!(self.writer, "ret");
    }

    /// Extents and strides, where the index is not the place already.
    fn strides(&mut self) -> (Vec<Reg>, Vec<Vec<Reg>>) {
        let (class, ..) = self.index();
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

    /// From the index of a group to the addresses of its operands and the values of positions.
    fn find(&mut self, index: Reg, bases: &[Reg], (extents, strides): &(Vec<Reg>, Vec<Vec<Reg>>)) {
        let (class, u, s) = self.index();
        let mut coordinates = Vec::new();
        let mut rest = index;
        for extent in extents.iter().skip(1).rev() {
            let [coordinate, quotient] = [(); 2].map(|()| self.writer.reg(class));
            ptx!(self.writer, "rem.{u} {coordinate}, {rest}, {extent}");
            ptx!(self.writer, "div.{u} {quotient}, {rest}, {extent}");
            coordinates.push(coordinate);
            rest = quotient;
        }
        coordinates.push(rest);
        coordinates.reverse();
        let sizes: Vec<usize> = types(self.expr).map(DType::size).collect();
        for (k, (access, base)) in self.geometry.access.iter().zip(bases).enumerate() {
            let address = self.writer.reg(Class::Long);
            if *access == Access::Linear {
                let size = sizes.get(k).copied().unwrap_or(1) * self.geometry.vector;
                let offset = self.writer.reg(Class::Long);
                if self.geometry.is_wide {
                    ptx!(self.writer, "mul.lo.u64 {offset}, {index}, {size}");
                } else {
                    ptx!(self.writer, "mul.wide.u32 {offset}, {index}, {size}");
                }
                ptx!(self.writer, "add.s64 {address}, {base}, {offset}");
            } else {
                let own = strides.get(k).map(Vec::as_slice).unwrap_or_default();
                let mut sum: Option<Reg> = None;
                for (coordinate, stride) in coordinates.iter().zip(own) {
                    let next = self.writer.reg(class);
                    match sum {
                        None => ptx!(self.writer, "mul.lo.{s} {next}, {coordinate}, {stride}"),
                        Some(sum) => ptx!(self.writer, "mad.lo.{s} {next}, {coordinate}, {stride}, {sum}"),
                    }
                    sum = Some(next);
                }
                match sum {
                    Some(sum) if !self.geometry.is_wide => {
                        let wide = self.writer.reg(Class::Long);
                        ptx!(self.writer, "cvt.s64.s32 {wide}, {sum}");
                        ptx!(self.writer, "add.s64 {address}, {base}, {wide}");
                    }
                    Some(sum) => ptx!(self.writer, "add.s64 {address}, {base}, {sum}"),
                    None => ptx!(self.writer, "mov.b64 {address}, {base}"),
                }
            }
            if let Some(slot) = self.addresses.get_mut(k) {
                *slot = Some(address);
            }
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
