//! What all kernels have: arguments, the loop over tasks, expressions, results.

use super::super::parts::{Part, Regs, canonical, find, parts};
use super::super::recipe::Recipe;
use super::geometry::{Argument, Geometry, Way};
use super::task::Task;
use super::{Program, Programs};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::libraries::expressions::ir::Expr;
use crate::libraries::expressions::low::LowOp;
use crate::libraries::expressions::low::lower::{computed, stored};
use crate::libraries::expressions::ptx::body::memory;
use crate::libraries::expressions::ptx::formula;
use crate::libraries::kernel::{BLOCK, Class, Grid, Index, Parameter, Reg, Thread, Words, Writer, ptx};

pub(super) struct Text<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) element: &'a Expr,
    pub(super) programs: &'a Programs,
    pub(super) geometry: &'a Geometry,
    /// The type of numbers and offsets.
    pub(super) index: Index,
    pub(super) writer: Writer,
    pub(super) words: Words<Argument>,
    /// Of each program.
    uniforms: Vec<Regs>,
    /// The parts of accumulators.
    pub(super) slots: Vec<Part>,
    /// The parts of the operands that are loaded.
    pub(super) loads: Vec<Part>,
    /// The operands that have addresses; positions follow.
    pub(super) in_memory: usize,
    pub(super) walks: usize,
    result: DType,
}

/// The module, the words of its parameter, and the threads of a block.
pub(super) fn write(
    recipe: &Recipe,
    element: &Expr,
    programs: &Programs,
    result: DType,
    geometry: &Geometry,
) -> Result<(String, Words<Argument>, usize)> {
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
        index: Index::new(geometry.is_wide),
        writer: Writer::default(),
        words: Words::new(),
        uniforms: Vec::new(),
        slots,
        loads,
        in_memory,
        walks: in_memory + positions,
        result,
    };
    let threads = text.write();
    let parameter = Parameter { words: text.words.len(), written: text.targets().len(), read: in_memory };
    Ok((text.writer.module(&parameter)?, text.words, threads))
}

impl Text<'_> {
    pub(super) fn argument(&mut self, argument: Argument, class: Class) -> Reg {
        self.words.read(&mut self.writer, argument, class)
    }

    /// What is written: slots of accumulators, the result, the counter.
    fn targets(&self) -> Vec<Argument> {
        let Geometry { is_last, folds, .. } = *self.geometry;
        let slots = (0..if is_last { 0 } else { self.slots.len() }).map(Argument::Target);
        let ends = [(is_last || folds, Argument::Output), (folds, Argument::Counter)];
        slots.chain(ends.into_iter().filter_map(|(is_there, word)| is_there.then_some(word))).collect()
    }

    /// Returns the threads of a block.
    fn write(&mut self) -> usize {
        // The words whose places are fixed.
        let (index, tasks) = (self.index, self.argument(Argument::Tasks, self.index.class));
        let targets: Regs = self.targets().into_iter().map(|target| self.argument(target, Class::Long)).collect();
        let bases: Regs = (0..self.walks).map(|k| self.argument(Argument::Base(k), Class::Long)).collect();
        let place @ Thread { thread, threads, .. } = Thread::new(&mut self.writer);
        let lane = self.writer.reg(Class::Word);
        ptx!(self.writer, "and.b32 {lane}, {thread}, 31");
        if self.geometry.way == Way::Columns {
            return self.columns(&place, lane, tasks, &targets, &bases);
        }
        let is_warps = matches!(self.geometry.way, Way::Warps { .. });
        if is_warps {
            ptx!(self.writer, "shr.u32 {thread}, {thread}, 5");
            ptx!(self.writer, "shr.u32 {threads}, {threads}, 5");
        }
        let grid = Grid::of(&mut self.writer, index, [place.block, place.grid], thread, &threads);
        // Before it leaves out threads: those of the last block go on together.
        self.bind_uniforms();
        grid.begin(&mut self.writer, tasks);
        grid.each(&mut self.writer);
        let task = self.task(grid.task, &bases);
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
        grid.next(&mut self.writer, tasks);
        if self.geometry.folds {
            self.fold(&place, &targets);
        }
        ptx!(self.writer, "ret");
        BLOCK as usize
    }

    /// Numbers that are the same for all elements.
    pub(super) fn bind_uniforms(&mut self) {
        for program in [Program::Element, Program::Step, Program::Join, Program::Finish, Program::After] {
            let words = &mut self.words;
            let own = formula::uniforms(&mut self.writer, self.programs.get(program), &mut |writer, k, class| {
                words.read(writer, Argument::Uniform(program, k), class)
            });
            self.uniforms.push(own);
        }
    }

    /// Appends an expression; returns the registers of its outputs' parts.
    pub(super) fn run(
        &mut self,
        program: Program,
        input: &dyn Fn(usize, usize) -> Option<Reg>,
        position: &dyn Fn(u8) -> Option<Reg>,
    ) -> Regs {
        let uniforms = self.uniforms.get(program as usize).map(Vec::as_slice).unwrap_or_default();
        formula::run(&mut self.writer, self.programs.get(program), uniforms, input, position)
    }

    /// The accumulators of two.
    pub(super) fn join(&mut self, own: &[Reg], other: &[Reg]) -> Regs {
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        let input = |k: usize, part: usize| match k.checked_sub(accumulators) {
            None => find(&slots, own, k, part),
            Some(k) => find(&slots, other, k, part),
        };
        self.run(Program::Join, &input, &|_| None)
    }

    /// Writes the result, or the accumulators, where the predicate is true.
    pub(super) fn store(&mut self, task: &Task, targets: &[Reg], own: Regs, writes: Option<Reg>) {
        let guard = writes.map(|guard| format!("@{guard} ")).unwrap_or_default();
        if !self.geometry.is_last {
            for ((slot, target), register) in self.slots.iter().zip(targets).zip(own) {
                let lane = slot.lane;
                let address = self.index.element(&mut self.writer, *target, task.number, lane.size());
                ptx!(self.writer, "{guard}st.global.{} [{address}+0], {register}", memory(lane));
            }
            return;
        }
        let Some(target) = targets.first().copied() else { return };
        let address = self.offset(target, &task.coordinates, &Argument::OutputStride);
        self.store_result(address, &own, writes);
    }

    /// Writes what becomes of the last accumulators, where the predicate is true.
    pub(super) fn store_result(&mut self, address: Reg, own: &[Reg], writes: Option<Reg>) {
        let guard = writes.map(|guard| format!("@{guard} ")).unwrap_or_default();
        let own = canonical(&mut self.writer, &self.slots, own);
        let mut results = self.finish(&own);
        if !self.programs.get(Program::After).instrs().is_empty() {
            let before = results;
            results = self.run(Program::After, &|_, part| before.get(part).copied(), &|_| None);
        }
        let lane = stored(self.result);
        for (part, register) in results.into_iter().enumerate() {
            ptx!(self.writer, "{guard}st.global.{} [{address}+{}], {register}", memory(lane), part * lane.size());
        }
    }

    fn finish(&mut self, own: &[Reg]) -> Regs {
        let (slots, accumulators) = (self.slots.clone(), self.recipe.accumulators.len());
        let count = self.recipe.count.map(|dtype| self.argument(Argument::Count, Class::for_lane(computed(dtype))));
        let input = |k: usize, part: usize| if k >= accumulators { count } else { find(&slots, own, k, part) };
        self.run(Program::Finish, &input, &|_| None)
    }
}
