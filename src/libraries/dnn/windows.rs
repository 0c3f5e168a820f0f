//! Lines of windows on the host: many results of a line at once, whose elements of a window are neighbours.
//!
//! Along an axis with a stride of `s` a line is laid out as `s` lines, one for each rest of the place, with the padding on both sides: so an
//! element of the window meets all windows at one distance, and vectors need no special cases at the ends.

use super::product::spaced;
use crate::core::error::Result;
use crate::core::room::collected;
use smallvec::SmallVec;

/// Results that are made at once.
const CHUNK: usize = 64;

/// A chunk of a line.
#[inline(always)]
fn chunk<T>(line: &[T], at: usize) -> Option<&[T; CHUNK]> {
    line.get(at..).and_then(<[T]>::first_chunk)
}

/// Windows along an axis.
#[derive(Clone, Copy)]
pub(super) struct Windows {
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) window: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) before: usize,
}

impl Windows {
    /// The elements of a window that lie inside, and where the first of them is.
    pub(super) fn inside(&self, o: usize) -> (std::ops::Range<usize>, usize) {
        let start = o * self.stride;
        let until = |end: usize| end.saturating_sub(start).div_ceil(self.dilation.max(1)).min(self.window);
        let (first, end) = (until(self.before), until(self.before + self.input));
        (first..end.max(first), (start + first * self.dilation).saturating_sub(self.before))
    }
}

/// Lines that are laid out, as many as a window reaches over: the next windows use them again.
pub(super) struct Held<'m, T> {
    lines: &'m Lines,
    memory: &'m mut [T],
    /// Which line each place has, and which ones a window has at last.
    known: SmallVec<[isize; 8]>,
    there: SmallVec<[(usize, i32, usize); 8]>,
    rings: [usize; 2],
}

/// The lines over which a window reaches, along the two axes before the last one.
pub(super) fn rings(axes: [Windows; 2]) -> [usize; 2] {
    axes.map(|axis| {
        (axis.window.saturating_sub(1).saturating_mul(axis.dilation).saturating_add(1)).min(axis.input.max(1))
    })
}

impl<'m, T: Copy> Held<'m, T> {
    /// In memory for as many lines.
    pub(super) fn new(lines: &'m Lines, rings: [usize; 2], memory: &'m mut [T], padding: T) -> Self {
        memory.fill(padding);
        let known = SmallVec::from_elem(isize::MIN, rings[0] * rings[1]);
        Held { lines, memory, known, there: SmallVec::new(), rings }
    }

    /// Forgets the lines of a window, but not what they are.
    pub(super) fn next(&mut self) {
        self.there.clear();
    }

    /// Adds the line of these numbers along the two axes to those of a window, with the number of its first element. `key` tells lines
    /// apart. The factors begin at this one.
    #[inline(always)]
    pub(super) fn add(&mut self, [i, j]: [usize; 2], (key, number): (isize, i32), factors: usize, line: &[T]) {
        let (place, size) = (i % self.rings[0] * self.rings[1] + j % self.rings[1], self.lines.size());
        if let Some(known) = self.known.get_mut(place).filter(|known| **known != key) {
            *known = key;
            self.lines.fill(line, self.memory.get_mut(place * size..(place + 1) * size).unwrap_or_default());
        }
        self.there.push((place * size, number, factors));
    }

    /// The lines of the window, with their factors.
    pub(super) fn rows<'r>(&'r self, factors: &'r [T]) -> SmallVec<[Row<'r, T>; 8]> {
        let row = |(at, number, first): &(usize, i32, usize)| Row {
            line: self.memory.get(*at..at + self.lines.size()).unwrap_or_default(),
            factors: factors.get(*first..).unwrap_or_default(),
            number: *number,
        };
        self.there.iter().map(row).collect()
    }
}

/// How a line is laid out.
pub(super) struct Lines {
    pub(super) windows: Windows,
    /// Where the first window has each of its elements.
    taps: Vec<usize>,
    /// Elements of each of the lines.
    len: usize,
}

/// A line of elements, and what comes with the elements of a window along it.
#[derive(Clone, Copy)]
pub(super) struct Row<'r, T> {
    pub(super) line: &'r [T],
    pub(super) factors: &'r [T],
    /// The number of its first element.
    pub(super) number: i32,
}

impl Lines {
    /// `None` for windows that reach far, of which little would be in a line.
    pub(super) fn new(windows: Windows) -> Result<Option<Self>> {
        let Windows { output, window, stride, dilation, .. } = windows;
        let (Some(far), true) = (window.checked_sub(1).map(|last| last * dilation), stride > 0) else {
            return Ok(None);
        };
        if far / 2 > output * stride {
            return Ok(None);
        }
        let len = output + far / stride + CHUNK;
        let taps = collected((0..window).map(|k| k * dilation % stride * len + k * dilation / stride))?;
        Ok(Some(Lines { windows, taps, len }))
    }

    /// The elements of a line that is laid out.
    pub(super) fn size(&self) -> usize {
        self.len * self.windows.stride
    }

    /// The results of a line, and memory behind them.
    pub(super) fn results(&self) -> usize {
        self.windows.output.next_multiple_of(CHUNK)
    }

    /// Lays out the elements of a line between the padding.
    #[inline(always)]
    fn fill<T: Copy>(&self, from: &[T], to: &mut [T]) {
        let Windows { stride, before, .. } = self.windows;
        for (rest, to) in to.chunks_exact_mut(self.len).enumerate() {
            let first = before.saturating_sub(rest).div_ceil(stride).min(to.len());
            let from = from.get((first * stride + rest).saturating_sub(before)..).unwrap_or_default();
            let own = to.get_mut(first..).unwrap_or_default();
            let count = from.len().div_ceil(stride).min(own.len());
            spaced(from, stride, own.get_mut(..count).unwrap_or_default());
        }
    }

    /// Lets each result take the elements of its window, with the factor of each, in the order of the rows. There is memory for a whole
    /// number of chunks ([`Lines::results`]).
    #[inline(always)]
    pub(super) fn fold<T: Copy>(&self, rows: &[Row<'_, T>], begin: T, to: &mut [T], f: impl Fn(T, T, T) -> T) {
        let (to, _) = to.as_chunks_mut::<CHUNK>();
        to.iter_mut().for_each(|to| to.fill(begin));
        for row in rows {
            let mut taps = self.taps.as_slice();
            let mut factors = row.factors;
            // Three elements of a window at once, so that results are seldom read and written.
            while let ([a, b, c, rest @ ..], [u, v, w, more @ ..]) = (taps, factors) {
                for (to, at) in to.iter_mut().zip((0..).step_by(CHUNK)) {
                    let [Some(a), Some(b), Some(c)] = [a, b, c].map(|tap| chunk(row.line, tap + at)) else { continue };
                    for (own, ((a, b), c)) in to.iter_mut().zip(a.iter().zip(b).zip(c)) {
                        *own = f(f(f(*own, *a, *u), *b, *v), *c, *w);
                    }
                }
                (taps, factors) = (rest, more);
            }
            if let ([a, b], [u, v, ..]) = (taps, factors) {
                for (to, at) in to.iter_mut().zip((0..).step_by(CHUNK)) {
                    let [Some(a), Some(b)] = [a, b].map(|tap| chunk(row.line, tap + at)) else { continue };
                    for (own, (a, b)) in to.iter_mut().zip(a.iter().zip(b)) {
                        *own = f(f(*own, *a, *u), *b, *v);
                    }
                }
            }
            if let ([a], [u, ..]) = (taps, factors) {
                for (to, at) in to.iter_mut().zip((0..).step_by(CHUNK)) {
                    let Some(a) = chunk(row.line, a + at) else { continue };
                    to.iter_mut().zip(a).for_each(|(own, a)| *own = f(*own, *a, *u));
                }
            }
        }
    }

    /// Finds for each result the element of its window that is ahead of all those before, and its number; -1 if there is none.
    #[inline(always)]
    pub(super) fn places<T: Copy>(
        &self,
        rows: &[Row<'_, T>],
        begin: T,
        (to, places): (&mut [T], &mut [i32]),
        is_ahead: impl Fn(T, T) -> bool,
    ) {
        let Windows { stride, dilation, before, .. } = self.windows;
        let step = stride as i32;
        let ((to, _), (places, _)) = (to.as_chunks_mut::<CHUNK>(), places.as_chunks_mut::<CHUNK>());
        for ((to, places), at) in to.iter_mut().zip(places).zip((0..).step_by(CHUNK)) {
            (*to, *places) = ([begin; CHUNK], [-1; CHUNK]);
            for row in rows {
                for (k, tap) in self.taps.iter().enumerate() {
                    let Some(x) = chunk(row.line, tap + at) else { continue };
                    let first = row.number + (at * stride + k * dilation) as i32 - before as i32;
                    for ((best, place), (x, nth)) in to.iter_mut().zip(&mut *places).zip(x.iter().zip(0i32..)) {
                        let takes = is_ahead(*x, *best);
                        *best = if takes { *x } else { *best };
                        *place = if takes { first + nth * step } else { *place };
                    }
                }
            }
        }
    }
}
