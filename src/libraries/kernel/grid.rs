//! Which tasks a thread has: its own number, and others as far from it as the grid has threads.

use super::{Class, Index, Reg, Writer, ptx};
use std::fmt::Display;

/// Where a thread is in its grid.
#[derive(Clone, Copy)]
pub(crate) struct Thread {
    pub(crate) block: Reg,
    /// Threads of a block.
    pub(crate) threads: Reg,
    /// Its number in the block.
    pub(crate) thread: Reg,
    /// Blocks of the grid.
    pub(crate) grid: Reg,
}

impl Thread {
    pub(crate) fn new(writer: &mut Writer) -> Self {
        let [block, threads, thread, grid] = writer.regs(Class::Word);
        ptx!(writer, "mov.u32 {block}, %ctaid.x");
        ptx!(writer, "mov.u32 {threads}, %ntid.x");
        ptx!(writer, "mov.u32 {thread}, %tid.x");
        ptx!(writer, "mov.u32 {grid}, %nctaid.x");
        Thread { block, threads, thread, grid }
    }
}

/// The loop over the tasks of a thread, or of a warp.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    index: Index,
    /// The number of the task, which changes.
    pub(crate) task: Reg,
    /// From a task of a thread to its next one.
    pub(crate) step: Reg,
}

impl Grid {
    /// For each thread.
    pub(crate) fn new(writer: &mut Writer, index: Index) -> Self {
        let Thread { block, threads, thread, grid } = Thread::new(writer);
        Self::of(writer, index, [block, grid], thread, &threads)
    }

    /// For each of the `members` of a block, of which this one has the number `own`.
    pub(crate) fn of(
        writer: &mut Writer,
        index: Index,
        [block, grid]: [Reg; 2],
        own: Reg,
        members: &dyn Display,
    ) -> Self {
        let [task, step] = writer.regs(index.class);
        if index.is_wide {
            let wide = writer.reg(Class::Long);
            ptx!(writer, "cvt.u64.u32 {wide}, {own}");
            ptx!(writer, "mul.wide.u32 {task}, {block}, {members}");
            ptx!(writer, "add.u64 {task}, {task}, {wide}");
            ptx!(writer, "mul.wide.u32 {step}, {grid}, {members}");
        } else {
            ptx!(writer, "mad.lo.u32 {task}, {block}, {members}, {own}");
            ptx!(writer, "mul.lo.u32 {step}, {grid}, {members}");
        }
        Grid { index, task, step }
    }

    /// Leaves out a thread that has no task. What follows, up to [`each`](Self::each), is done once.
    pub(crate) fn begin(&self, writer: &mut Writer, count: Reg) {
        let beyond = writer.reg(Class::Predicate);
        ptx!(writer, "setp.ge.{} {beyond}, {}, {count}", self.index.u, self.task);
        ptx!(writer, "@{beyond} bra EXIT");
    }

    /// What follows, up to [`end`](Self::end), is done for each task.
    pub(crate) fn each(&self, writer: &mut Writer) {
        writer.label("LOOP");
    }

    /// Goes on to the next task; behind the last one the kernel ends.
    pub(crate) fn end(&self, writer: &mut Writer, count: Reg) {
        self.next(writer, count);
        ptx!(writer, "ret");
    }

    /// Goes on to the next task; behind the last one comes what is written next.
    pub(crate) fn next(&self, writer: &mut Writer, count: Reg) {
        let (Grid { task, step, .. }, u, again) = (self, self.index.u, writer.reg(Class::Predicate));
        ptx!(writer, "add.{u} {task}, {task}, {step}");
        ptx!(writer, "setp.lt.{u} {again}, {task}, {count}");
        ptx!(writer, "@{again} bra LOOP");
        writer.label("EXIT");
    }
}
