//! Groups whose chains are the lanes of vectors.

use super::super::space::{CHAINS, GROUP};
use super::direct::{Direct, Group};
use super::lanes::resolve;
use super::{Level, Source, Work};
use crate::libraries::expressions::host::blocks::Array;
use crate::libraries::expressions::host::gather::{self, offset_of};
use smallvec::SmallVec;

/// The elements of a group's place in the arrays of a block.
fn place(length: usize) -> usize {
    length.min(GROUP).next_multiple_of(CHAINS).max(CHAINS)
}

/// How many groups are treated at once: enough elements that finding the arrays of a step costs little beside it.
pub(super) fn block(length: usize) -> usize {
    (16 * GROUP / place(length)).max(1)
}

impl Source {
    /// Where an element of a result is.
    pub(super) fn at(&self, result: usize, element: usize) -> *const u8 {
        // The layout of the reduced axes begins at the lowest element.
        let within = offset_of(&self.reduced, element) - self.reduced.offset() as isize;
        let offset = offset_of(&self.kept, result) + within;
        self.base.wrapping_offset(offset * self.lane.size() as isize)
    }
}

impl Level<'_> {
    /// The first element of a task, and how many there are.
    fn range(&self, task: usize) -> (usize, usize, usize) {
        let groups = self.space.groups();
        let (result, first) = (task / groups, task % groups * GROUP);
        (result, first, (self.space.length - first).min(GROUP))
    }

    /// The elements of a source for tasks: where they lie if they are in order without gaps, else in a stage.
    fn rows_of(&self, work: &mut Work, k: usize, source: &Source, tasks: std::ops::Range<usize>) -> Array {
        let (size, place) = (source.lane.size(), place(self.space.length));
        let advance = size * CHAINS;
        let is_near = matches!(source.reduced.strides(), [1]) && !source.base.is_null();
        let (result, first, _) = self.range(tasks.start);
        if is_near {
            let start = source.at(result, first);
            let follows = |(nth, task): (usize, usize)| {
                let (result, first, len) = self.range(task);
                // Every task is read as far as the longest one, and a formula is computed for the whole places: a shorter
                // last task has its elements in place only if nothing is read behind them.
                len == place && source.at(result, first) == start.wrapping_add(nth * place * size)
            };
            if tasks.clone().enumerate().all(follows) {
                return Array { base: start.cast_mut(), advance };
            }
        }
        if work.stages.len() <= k {
            work.stages.resize_with(k + 1, Default::default);
        }
        let Some(stage) = work.stages.get_mut(k) else { return Array { base: std::ptr::null_mut(), advance } };
        stage.resize([size].into_iter(), tasks.len() * place);
        let base = stage.array(0);
        for (nth, task) in tasks.enumerate() {
            let (result, first, len) = self.range(task);
            let dst = base.wrapping_add(nth * place * size);
            let shift = offset_of(&source.kept, result) - source.reduced.offset() as isize;
            if source.base.is_null() {
                // SAFETY: the stage has a place of 8 bytes for each element.
                let dst = unsafe { std::slice::from_raw_parts_mut(dst.cast::<i64>(), len) };
                gather::positions(dst, &source.reduced, first);
                dst.iter_mut().for_each(|x| *x += shift as i64);
            } else {
                let from = source.base.wrapping_offset(shift * size as isize);
                // SAFETY: the operand holds all elements of the result, of which the layout begins at the lowest.
                unsafe { gather::gather(dst, from, size, &source.reduced, first, len) };
            }
        }
        Array { base, advance }
    }

    /// The parts of the elements of tasks, or of sources that are accumulators.
    pub(super) fn elements_of(&self, work: &mut Work, arrays: &[Array], len: usize) -> SmallVec<[Array; 4]> {
        match (&self.direct, &self.element) {
            _ if arrays.is_empty() && !self.sources.is_empty() => SmallVec::new(),
            (Some(direct), _) => direct.iter().filter_map(|k| arrays.get(*k).copied()).collect(),
            (None, Some(element)) => {
                work.x.resize(Self::sizes(&self.x), len);
                let stores = work.x.arrays();
                // SAFETY: each array has the chunks: a stage its length, an operand whole ones.
                unsafe { element.run(arrays, &stores, len.div_ceil(CHAINS), &mut work.scratch) };
                let advances = Self::sizes(&self.x).map(|size| size * CHAINS);
                stores.iter().zip(advances).map(|(base, advance)| Array { base: *base, advance }).collect()
            }
            (None, None) => SmallVec::new(),
        }
    }

    /// The accumulators of tasks by a loop of their own; false if their elements do not lie as it wants them.
    fn direct_rows(&self, work: &mut Work, start: usize, end: usize, direct: &Direct) -> bool {
        let Some(source) = self.sources.first() else { return false };
        let (count, place) = (end - start, place(self.space.length));
        let is_near = !direct.is_computed && matches!(source.reduced.strides(), [1]);
        let staged = if is_near {
            None
        } else {
            let sources = self.sources.iter().enumerate();
            let arrays: SmallVec<[Array; 8]> =
                sources.map(|(k, source)| self.rows_of(work, k, source, start..end)).collect();
            let own = if direct.is_computed {
                self.elements_of(work, &arrays, count * place)
            } else {
                arrays.into_iter().take(1).collect()
            };
            own.first().copied()
        };
        let size = match self.x.first() {
            Some((.., lane)) if direct.is_computed => lane.size(),
            _ => source.lane.size(),
        };
        if staged.is_some_and(|array| array.advance != size * CHAINS) {
            return false;
        }
        work.own.resize(Self::sizes(self.slots), count);
        let groups = self.space.groups();
        let is_free = !direct.is_ordered && groups > 1;
        if is_free {
            self.clear(&mut work.own, count);
        }
        let arrays = self.arrays(&mut work.own, 0);
        let (mut task, mut result, mut group) = (start, start / groups, start % groups);
        while task < end {
            // Where there is no order the first group takes the others of its result, which stay without elements.
            let more = if is_free { (groups - group).min(end - task) } else { 1 };
            let (nth, first) = (task - start, group * GROUP);
            let x = match staged {
                Some(array) => array.base.wrapping_add(nth * place * size).cast_const(),
                None => {
                    let offset = offset_of(&source.kept, result) + first as isize;
                    source.base.wrapping_offset(offset * size as isize)
                }
            };
            let mut out = [std::ptr::null_mut(); 3];
            for ((out, array), size) in out.iter_mut().zip(&arrays).zip(Self::sizes(self.slots)) {
                *out = array.base.wrapping_add(nth * size);
            }
            let len = (self.space.length - first).min(more * GROUP);
            // SAFETY: the operand, or the stage, has the elements of the tasks, and the arrays a number for each. The vectors were
            // detected.
            unsafe { (direct.rows)(&Group { x, len, first: first as i64, turn: direct.turn, out }) };
            (task, group) = (task + more, group + more);
            if group == groups {
                (result, group) = (result + 1, 0);
            }
        }
        self.store(work, start, count);
        true
    }

    pub(super) fn rows(&self, work: &mut Work, start: usize, end: usize) {
        if let Some(pairs) = &self.pairs {
            return self.pair_rows(work, start, end, pairs);
        }
        if self.direct_loop.as_ref().is_some_and(|direct| self.direct_rows(work, start, end, direct)) {
            return;
        }
        let (count, place) = (end - start, place(self.space.length));
        let sources = self.sources.iter().enumerate().filter(|_| self.space.length > 0);
        let arrays: SmallVec<[Array; 8]> =
            sources.map(|(k, source)| self.rows_of(work, k, source, start..end)).collect();
        let x = self.elements_of(work, &arrays, count * place);
        let lanes = count * CHAINS;
        work.own.resize(Self::sizes(self.slots), lanes);
        work.next.resize(Self::sizes(self.slots), lanes);
        self.clear(&mut work.own, lanes);
        let longest = (start..end).map(|task| self.range(task).2).max().unwrap_or(0);
        for first in (0..longest).step_by(CHAINS) {
            if self.positional {
                self.numbers(work, start..end, first);
            }
            let own = self.arrays(&mut work.own, 0);
            let other: SmallVec<[Array; 4]> = x
                .iter()
                .zip(&self.x)
                .map(|(array, (.., lane))| Array {
                    base: array.base.wrapping_add(first * lane.size()),
                    advance: place * lane.size(),
                })
                .collect();
            let last = Array { base: work.numbers.array(0), advance: 8 * CHAINS };
            let loads = resolve(&self.fold_feeds, &own, &other, last);
            let stores = work.next.arrays();
            // SAFETY: all arrays have a chunk for each task.
            unsafe { self.fold.run(&loads, &stores, count, &mut work.scratch) };
            for (nth, task) in (start..end).enumerate() {
                let there = self.range(task).2.saturating_sub(first);
                if there < CHAINS {
                    self.keep(work, nth * CHAINS + there, CHAINS - there);
                }
            }
            std::mem::swap(&mut work.own, &mut work.next);
        }
        self.join_chains(work, count);
        self.store(work, start, count);
    }

    /// Where a chain had no element, what it had.
    fn keep(&self, work: &mut Work, from: usize, len: usize) {
        for (k, (.., lane)) in self.slots.iter().enumerate() {
            let at = from * lane.size();
            let (src, dst) = (work.own.array(k).wrapping_add(at), work.next.array(k).wrapping_add(at));
            // SAFETY: both arrays have these elements.
            unsafe { std::ptr::copy_nonoverlapping(src.cast_const(), dst, len * lane.size()) };
        }
    }

    /// The numbers of the elements of a step.
    fn numbers(&self, work: &mut Work, tasks: std::ops::Range<usize>, first: usize) {
        work.numbers.resize([8].into_iter(), tasks.len() * CHAINS);
        // SAFETY: the array has a chunk for each task.
        let numbers =
            unsafe { std::slice::from_raw_parts_mut(work.numbers.array(0).cast::<i64>(), tasks.len() * CHAINS) };
        for (chunk, task) in numbers.chunks_mut(CHAINS).zip(tasks) {
            let start = (self.range(task).1 + first) as i64;
            chunk.iter_mut().zip(start..).for_each(|(number, n)| *number = n);
        }
    }

    /// Joins the chains of `count` groups: `c` with `c + 32`, then with `c + 16`, and so on. After each step the chains that are
    /// left move together.
    fn join_chains(&self, work: &mut Work, count: usize) {
        let mut half = CHAINS / 2;
        while half > 0 {
            let lanes = count * 2 * half;
            let own = self.arrays(&mut work.own, 0);
            let other = self.arrays(&mut work.own, half);
            let Some(last) = own.first().copied() else { return };
            let loads = resolve(&self.join_feeds, &own, &other, last);
            let stores = work.next.arrays();
            // SAFETY: all arrays have these lanes, and a chunk more.
            unsafe { self.join.run(&loads, &stores, lanes.div_ceil(CHAINS), &mut work.scratch) };
            for (k, (.., lane)) in self.slots.iter().enumerate() {
                let (base, bytes) = (work.next.array(k), half * lane.size());
                for nth in 1..count {
                    // SAFETY: the array has these lanes; what moves down may meet itself.
                    unsafe { std::ptr::copy(base.add(2 * nth * bytes).cast_const(), base.add(nth * bytes), bytes) };
                }
            }
            std::mem::swap(&mut work.own, &mut work.next);
            half /= 2;
        }
    }
}
