//! Lines that lie side by side: a task takes the chunk of many of them, row by row, so that it reads and writes what lies together. Each
//! line has its own value, and its elements come in the order of the scan.

use super::{Accumulator, Chunk, Ends, Fold, Shared, count, each, offsets};
use crate::device::tensor::Layout;
use crate::libraries::reductions::scans::levels::{CHUNK, Level};

/// Lines of a task.
const WIDE: usize = 8 * CHUNK;
/// Lines that are worth it.
const LEAST: usize = 8;
/// Tasks below which a second thread costs more than it gains.
const FEW: usize = 4;

/// How many lines lie side by side, and how often.
pub(super) struct Columns {
    lines: usize,
    tiles: usize,
    /// From the total of a line to that of the next one.
    step: isize,
}

/// Joins a value to that of each line.
fn join<A: Accumulator>(fold: Fold, own: &mut [A], values: &[A]) {
    fn all<A: Copy>(own: &mut [A], values: &[A], join: impl Fn(A, A) -> A) {
        own.iter_mut().zip(values).for_each(|(own, value)| *own = join(*own, *value));
    }
    match fold {
        Fold::Add => all(own, values, A::add),
        Fold::Mul => all(own, values, A::mul),
        Fold::Min => all(own, values, A::min),
        Fold::Max => all(own, values, A::max),
    }
}

impl Columns {
    /// Those of a level, if its lines lie side by side in what is read and in what is written.
    pub(super) fn of(level: &Level) -> Option<Self> {
        let last = |k: usize| level.loops.get(k).and_then(|layout: &Layout| layout.strides().last()).copied();
        let lines = level.loops.first()?.shape().last().copied()?;
        let near = last(0) == Some(1) && last(1) == Some(1) && last(3) == Some(0) && level.strides != [1, 1];
        let step = last(2)?;
        (near && lines >= LEAST).then(|| Columns { lines, tiles: lines.div_ceil(WIDE), step })
    }

    fn tasks(&self, level: &Level) -> usize {
        level.tasks() / self.lines * self.tiles
    }

    /// The first chunk of a task, in the order of the level, and its lines.
    fn task(&self, task: usize) -> (usize, usize) {
        let first = task % self.tiles * WIDE;
        (task / self.tiles * self.lines + first, (self.lines - first).min(WIDE))
    }

    /// Calls `row` for each row of a task, with the values of its lines, [`CHUNK`] at a time: the number of the row, that of the first
    /// line, and the values.
    ///
    /// # Safety
    /// The elements lie inside what is read.
    unsafe fn rows<A: Accumulator>(
        (level, ends): (&Level, &Ends<A>),
        x: *const u8,
        (at, rows, lines): (isize, usize, usize),
        row: &mut dyn FnMut(usize, usize, &[A]),
    ) {
        let size = ends.sizes[0] as isize;
        let mut values: Chunk<A> = [ends.begin[1]; CHUNK];
        for number in 0..rows {
            for first in (0..lines).step_by(CHUNK) {
                let from = at + number as isize * level.strides[1] + first as isize;
                let n = (lines - first).min(CHUNK);
                // SAFETY: the caller's promise.
                unsafe { (ends.load)(x.wrapping_offset(from * size), 1, values.get_mut(..n).unwrap_or_default()) };
                row(number, first, values.get(..n).unwrap_or_default());
            }
        }
    }

    /// Writes the total of each chunk.
    ///
    /// # Safety
    /// What the level reads lies inside the operand, and there is a total for each chunk.
    pub(super) unsafe fn totals<A: Accumulator>(
        &self,
        (level, ends): (&Level, &Ends<A>),
        fold: Fold,
        x: *const u8,
        totals: &mut [A],
    ) {
        let (x, to) = (Shared(x.cast_mut()), Shared(totals.as_mut_ptr()));
        each(self.tasks(level), FEW, &|task| {
            let (first, lines) = self.task(task);
            let [_, at, number, begins] = offsets(level, first);
            let mut own = [ends.begin[1]; WIDE];
            // SAFETY: the caller's promise.
            unsafe {
                Self::rows((level, ends), x.get(), (at, count(level, begins), lines), &mut |_, line, values| {
                    join(fold, own.get_mut(line..).unwrap_or_default(), values);
                });
                for (line, own) in (0..).zip(own.iter().take(lines)) {
                    to.get().offset(number + line * self.step).write(*own);
                }
            }
        });
    }

    /// Writes the scan, from what is before each chunk on.
    ///
    /// # Safety
    /// What the level reads and writes lies inside the operands, and nothing else uses the latter.
    pub(super) unsafe fn scan<A: Accumulator>(
        &self,
        (level, ends): (&Level, &Ends<A>),
        (fold, exclusive): (Fold, bool),
        x: *const u8,
        output: *mut u8,
        before: Option<&[A]>,
    ) {
        let (x, output) = (Shared(x.cast_mut()), Shared(output));
        each(self.tasks(level), FEW, &|task| {
            let (first, lines) = self.task(task);
            let [target, at, number, begins] = offsets(level, first);
            let mut own = [ends.begin[0]; WIDE];
            for (line, own) in (0..).zip(own.iter_mut().take(lines)) {
                let known = before.and_then(|before| before.get((number + line * self.step) as usize));
                *own = known.copied().unwrap_or(*own);
            }
            let mut row = |number: usize, line: usize, values: &[A]| {
                let to = target + number as isize * level.strides[0] + line as isize;
                let to = output.get().wrapping_offset(to * ends.sizes[1] as isize);
                let own = own.get_mut(line..line + values.len()).unwrap_or_default();
                let mut out: Chunk<A> = [ends.begin[1]; CHUNK];
                if exclusive {
                    out.iter_mut().zip(own.iter()).for_each(|(out, own)| *out = *own);
                }
                join(fold, own, values);
                if !exclusive {
                    out.iter_mut().zip(own.iter()).for_each(|(out, own)| *out = *own);
                }
                // SAFETY: these elements are this task's alone (the caller's promise).
                unsafe { (ends.store)(to, 1, out.get(..values.len()).unwrap_or_default()) };
            };
            // SAFETY: the caller's promise.
            unsafe { Self::rows((level, ends), x.get(), (at, count(level, begins), lines), &mut row) };
        });
    }
}
