//! What all kernels have: arguments, the loop over tasks, expressions, results.

use super::super::recipe::Recipe;
use super::columns::Thread;
use super::geometry::{Argument, Geometry, Way};
use super::task::Task;
use super::{Program, Programs};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::expressions::ir::Expr;
use crate::libraries::expressions::low::lower::{computed, stored};
use crate::libraries::expressions::low::{Lane, LowOp, Uniform};
use crate::libraries::expressions::ptx::body::memory;
use crate::libraries::expressions::ptx::writer::{Class, Reg, Writer, ptx};

/// The largest size of the arguments of a kernel.
const MAX_ARGUMENTS: usize = 4096;

/// A part of an operand in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) operand: usize,
    pub(super) part: usize,
    pub(super) lane: Lane,
}

/// The registers of accumulators, of elements, of results: one for each part.
pub(super) type Regs = Vec<Reg>;

pub(super) struct Text<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) element: &'a Expr,
    pub(super) programs: &'a Programs,
    pub(super) geometry: &'a Geometry,
    pub(super) writer: Writer,
    arguments: Vec<Argument>,
    uniforms: Vec<((Program, u16), Reg)>,
    /// The parts of accumulators.
    pub(super) slots: Vec<Part>,
    /// The parts of the operands that are loaded.
    pub(super) loads: Vec<Part>,
    /// The operands that have addresses; positions follow.
    pub(super) in_memory: usize,
    pub(super) walks: usize,
    result: DType,
}

fn parts(types: impl Iterator<Item = DType>, lane: fn(DType) -> Lane) -> Vec<Part> {
    let of = |(operand, dtype): (usize, DType)| {
        let count = if dtype.is_complex() { 2 } else { 1 };
        (0..count).map(move |part| Part { operand, part, lane: lane(dtype) })
    };
    types.enumerate().flat_map(of).collect()
}

/// The entry point, and the words of its parameter.
pub(super) fn write(
    recipe: &Recipe,
    element: &Expr,
    programs: &Programs,
    result: DType,
    geometry: &Geometry,
) -> Result<(String, Vec<Argument>)> {
    let slots = parts(recipe.accumulators.iter().copied(), computed);
    let loads: Vec<Part> = if geometry.is_leaf {
        let used = |part: &Part| {
            let op = LowOp::Input(part.operand as u8, part.part as u8);
            programs.get(Program::Element).instrs().iter().any(|instr| instr.op == op)
        };
        parts(element.inputs().iter().copied(), stored).into_iter().filter(used).collect()
    } else {
        (0..).zip(&slots).map(|(operand, slot)| Part { operand, part: 0, lane: slot.lane }).collect()
    };
    let in_memory = if geometry.is_leaf { element.inputs().len() } else { slots.len() };
    let positions = if geometry.is_leaf { element.positions().len() } else { 0 };
    let mut text = Text {
        recipe,
        element,
        programs,
        geometry,
        writer: Writer::default(),
        arguments: Vec::new(),
        uniforms: Vec::new(),
        slots,
        loads,
        in_memory,
        walks: in_memory + positions,
        result,
    };
    text.write();
    let size = 8 * text.arguments.len();
    if size > MAX_ARGUMENTS {
        let what = format!(
            "axes that do not continue each other: their strides and the numbers take {size} bytes, but a kernel takes \
             {MAX_ARGUMENTS}; `contiguous` makes copies of less axes"
        );
        return Err(Error::invalid("formula", what));
    }
    // Which words of the arguments are addresses; the first one counts tasks.
    let written = if geometry.is_last { 1 } else { text.slots.len() };
    let operands = format!("// written 1 to {}, read {} to {}", 1 + written, 1 + written, 1 + written + in_memory);
    let shared = if geometry.way == Way::Columns { text.shared_memory() } else { String::new() };
    let body = text.writer.finish();
    let text_of =
        format!(".visible .entry expression(.param .align 8 .b8 args[{size}])\n{{\n{operands}\n{shared}{body}}}\n");
    Ok((text_of, text.arguments))
}

impl Text<'_> {
    /// The type of numbers and offsets.
    pub(super) fn index(&self) -> (Class, &'static str, &'static str) {
        if self.geometry.is_wide { (Class::Long, "u64", "s64") } else { (Class::Word, "u32", "s32") }
    }

    /// Reads a word of the arguments; the first time it gets a place there.
    pub(super) fn argument(&mut self, argument: Argument, class: Class) -> Reg {
        let at = self.arguments.iter().position(|known| *known == argument).unwrap_or(self.arguments.len());
        if at == self.arguments.len() {
            self.arguments.push(argument);
        }
        let register = self.writer.reg(class);
        let t = match class {
            Class::Long => "u64",
            Class::Single => "f32",
            Class::Double => "f64",
            _ => "u32",
        };
        ptx!(self.writer, "ld.param.{t} {register}, [args+{}]", 8 * at);
        register
    }

    fn write(&mut self) {
        let (class, u, _) = self.index();
        // The words whose places are fixed.
        let tasks = self.argument(Argument::Tasks, class);
        let written = if self.geometry.is_last { 1 } else { self.slots.len() };
        let targets: Regs = (0..written).map(|k| self.argument(Argument::Target(k), Class::Long)).collect();
        let bases: Regs = (0..self.walks).map(|k| self.argument(Argument::Base(k), Class::Long)).collect();
        let [block, threads, thread, grid] = [(); 4].map(|()| self.writer.reg(Class::Word));
        ptx!(self.writer, "mov.u32 {block}, %ctaid.x");
        ptx!(self.writer, "mov.u32 {threads}, %ntid.x");
        ptx!(self.writer, "mov.u32 {thread}, %tid.x");
        ptx!(self.writer, "mov.u32 {grid}, %nctaid.x");
        let lane = self.writer.reg(Class::Word);
        ptx!(self.writer, "and.b32 {lane}, {thread}, 31");
        if self.geometry.way == Way::Columns {
            return self.columns(&Thread { block, grid, thread, lane }, tasks, &targets, &bases);
        }
        let [number, step] = [(); 2].map(|()| self.writer.reg(class));
        let is_warps = matches!(self.geometry.way, Way::Warps { .. });
        if is_warps {
            ptx!(self.writer, "shr.u32 {thread}, {thread}, 5");
            ptx!(self.writer, "shr.u32 {threads}, {threads}, 5");
        }
        if self.geometry.is_wide {
            let wide = self.writer.reg(Class::Long);
            ptx!(self.writer, "cvt.u64.u32 {wide}, {thread}");
            ptx!(self.writer, "mul.wide.u32 {number}, {block}, {threads}");
            ptx!(self.writer, "add.u64 {number}, {number}, {wide}");
            ptx!(self.writer, "mul.wide.u32 {step}, {grid}, {threads}");
        } else {
            ptx!(self.writer, "mad.lo.u32 {number}, {block}, {threads}, {thread}");
            ptx!(self.writer, "mul.lo.u32 {step}, {grid}, {threads}");
        }
        let [beyond, again] = [(); 2].map(|()| self.writer.reg(Class::Predicate));
        ptx!(self.writer, "setp.ge.{u} {beyond}, {number}, {tasks}");
        ptx!(self.writer, "@{beyond} bra EXIT");
        self.bind_uniforms();
        self.writer.label("LOOP");
        let task = self.task(number, &bases);
        let own = match self.geometry.way {
            Way::Warps { .. } => self.warp(&task, lane),
            Way::Threads { chains } => self.thread(&task, chains),
            // Has a loop of its own.
            Way::Columns => Vec::new(),
        };
        let writes = is_warps.then(|| {
            let first = self.writer.reg(Class::Predicate);
            ptx!(self.writer, "setp.eq.u32 {first}, {lane}, 0");
            first
        });
        self.store(&task, &targets, own, writes);
        ptx!(self.writer, "add.{u} {number}, {number}, {step}");
        ptx!(self.writer, "setp.lt.{u} {again}, {number}, {tasks}");
        ptx!(self.writer, "@{again} bra LOOP");
        self.writer.label("EXIT");
        ptx!(self.writer, "ret");
    }

    /// Numbers that are the same for all elements.
    pub(super) fn bind_uniforms(&mut self) {
        let programs = self.programs;
        for program in [Program::Element, Program::Step, Program::Join, Program::Finish, Program::After] {
            for (k, (uniform, lane)) in (0..).zip(programs.get(program).uniforms()) {
                let register = match uniform {
                    Uniform::Constant(bits) => self.writer.constant(*lane, *bits),
                    _ => self.argument(Argument::Uniform(program, k), Class::for_lane(*lane)),
                };
                self.uniforms.push(((program, k), register));
            }
        }
    }

    /// Appends an expression; returns the registers of its outputs' parts.
    pub(super) fn run(
        &mut self,
        program: Program,
        input: &dyn Fn(usize, usize) -> Option<Reg>,
        position: &dyn Fn(u8) -> Option<Reg>,
    ) -> Regs {
        let low = self.programs.get(program);
        let mut values: Regs = Vec::with_capacity(low.instrs().len());
        for instr in low.instrs() {
            let found = match instr.op {
                LowOp::Input(k, part) => input(k.into(), part.into()),
                LowOp::Position(axis) => position(axis),
                LowOp::Uniform(k) => {
                    self.uniforms.iter().find(|(key, _)| *key == (program, k)).map(|(_, register)| *register)
                }
                _ => {
                    let first = values.first().copied();
                    let args = instr.args.map(|value| values.get(value as usize).copied().or(first));
                    // Operands come before it.
                    let args = args.map(|arg| arg.unwrap_or_else(|| self.writer.reg(Class::Word)));
                    Some(self.writer.operation(instr, args))
                }
            };
            // What is not there is used by nothing.
            let register = found.unwrap_or_else(|| self.writer.reg(Class::for_lane(instr.lane)));
            values.push(register);
        }
        low.outputs().iter().flatten().filter_map(|value| values.get(*value as usize).copied()).collect()
    }

    /// The accumulators of two.
    pub(super) fn join(&mut self, own: &[Reg], other: &[Reg]) -> Regs {
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        let find = |operand: usize, part: usize, of: &[Reg]| {
            let at = slots.iter().position(|slot| (slot.operand, slot.part) == (operand, part))?;
            of.get(at).copied()
        };
        let input = |k: usize, part: usize| match k.checked_sub(accumulators) {
            None => find(k, part, own),
            Some(k) => find(k, part, other),
        };
        self.run(Program::Join, &input, &|_| None)
    }

    /// Writes the result, or the accumulators, where the predicate is true.
    pub(super) fn store(&mut self, task: &Task, targets: &[Reg], own: Regs, writes: Option<Reg>) {
        let guard = writes.map(|guard| format!("@{guard} ")).unwrap_or_default();
        if !self.geometry.is_last {
            let lanes: Vec<Lane> = self.slots.iter().map(|slot| slot.lane).collect();
            for ((lane, target), register) in lanes.into_iter().zip(targets).zip(own) {
                let [offset, address] = [(); 2].map(|()| self.writer.reg(Class::Long));
                if self.geometry.is_wide {
                    ptx!(self.writer, "mul.lo.u64 {offset}, {}, {}", task.number, lane.size());
                } else {
                    ptx!(self.writer, "mul.wide.u32 {offset}, {}, {}", task.number, lane.size());
                }
                ptx!(self.writer, "add.s64 {address}, {target}, {offset}");
                ptx!(self.writer, "{guard}st.global.{} [{address}+0], {register}", memory(lane));
            }
            return;
        }
        let own = self.canonical(own);
        let mut results = self.finish(&own);
        if !self.programs.get(Program::After).instrs().is_empty() {
            let before = results;
            results = self.run(Program::After, &|_, part| before.get(part).copied(), &|_| None);
        }
        let Some(target) = targets.first().copied() else { return };
        let address = self.offset(target, &task.coordinates, &Argument::OutputStride);
        let lane = stored(self.result);
        for (part, register) in results.into_iter().enumerate() {
            ptx!(self.writer, "{guard}st.global.{} [{address}+{}], {register}", memory(lane), part * lane.size());
        }
    }

    /// Accumulators are computed: a NaN has the one pattern.
    fn canonical(&mut self, own: Regs) -> Regs {
        let lanes: Vec<Lane> = self.slots.iter().map(|slot| slot.lane).collect();
        own.into_iter().zip(lanes).map(|(own, lane)| self.writer.canonical(lane, own)).collect()
    }

    fn finish(&mut self, own: &[Reg]) -> Regs {
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        let count = self.recipe.count.map(|dtype| self.argument(Argument::Count, Class::for_lane(computed(dtype))));
        let input = |k: usize, part: usize| {
            if k >= accumulators {
                return count;
            }
            let at = slots.iter().position(|slot| (slot.operand, slot.part) == (k, part))?;
            own.get(at).copied()
        };
        self.run(Program::Finish, &input, &|_| None)
    }
}
