//! Windows over planes on the host: many results at once, whose elements of a window are neighbours.
//!
//! The lines that some lines of results need are laid out together: along an axis with a stride of `s` as `s` lines, one for each rest of
//! the place, with the padding on both sides. So each element of a window meets the windows of all these results at one distance, the lines
//! of results are one long line, and vectors need no special cases at the ends.

use super::product::spaced;
use crate::core::error::Result;
use crate::core::room::collected;

/// Results that are made at once.
const CHUNK: usize = 64;
/// Bytes that are laid out at once: while the loops go over them, the next ones come from memory.
const BYTES: usize = 1 << 12;
/// Bytes in the nearest cache, if bands of fewer lines would lay out most of them again.
const NEAR: usize = 1 << 14;
/// Lines of a window, at most.
const MOST: usize = 64;

/// Windows along an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) window: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) before: usize,
}

impl Windows {
    /// An axis of one element.
    pub(super) const ONE: Self = Windows { input: 1, output: 1, window: 1, stride: 1, dilation: 1, before: 0 };

    /// The last element of a window, from the first one on.
    const fn last(&self) -> usize {
        self.window.saturating_sub(1).saturating_mul(self.dilation)
    }

    /// The element at a place, which counts from the first one of the padding.
    fn element(&self, place: usize) -> Option<usize> {
        place.checked_sub(self.before).filter(|at| *at < self.input)
    }
}

/// Windows along three axes, and how the elements for some lines of results are laid out.
pub(super) struct Bands {
    pub(super) axes: [Windows; 3],
    /// Lines of results that are made together.
    rows: usize,
    /// Places of a line that is laid out, which are those of a line of results.
    len: usize,
    /// Lines for each rest of the places.
    lines: usize,
    /// For each rest the first element of a line, its place, and the number of elements.
    inside: Vec<[usize; 3]>,
    /// Where the first result has each of its elements.
    taps: Vec<usize>,
}

impl Bands {
    /// For elements of a size. `None` for windows that reach far, of which little would be in a line.
    pub(super) fn new(axes: [Windows; 3], size: usize) -> Result<Option<Self>> {
        let [deep, high, wide] = axes;
        let is_empty = axes.iter().any(|axis| axis.stride == 0 || axis.output == 0 || axis.window == 0);
        let is_far = wide.last() / 2 > wide.output.saturating_mul(wide.stride);
        if is_empty || is_far || deep.window.saturating_mul(high.window) > MOST {
            return Ok(None);
        }
        let (len, more) = (wide.output + wide.last() / wide.stride, high.last() / high.stride);
        let rests = high.stride.saturating_mul(wide.stride);
        let line = deep.window.saturating_mul(rests).saturating_mul(len).saturating_mul(size);
        let fitting = |bytes: usize| (bytes / line.max(1)).saturating_sub(more);
        let rows = fitting(BYTES).max(fitting(NEAR).min(more.saturating_mul(4))).clamp(1, high.output);
        // As many in each of the bands.
        let rows = high.output.div_ceil(high.output.div_ceil(rows));
        let lines = rows.saturating_add(more);
        if line.checked_mul(lines).is_none_or(|bytes| bytes > NEAR << 8) {
            return Ok(None);
        }
        let taps = Self::each_tap(axes, |[a, b, c]| {
            let plane = (a * high.stride + b % high.stride) * wide.stride + c % wide.stride;
            (plane * lines + b / high.stride) * len + c / wide.stride
        })?;
        let inside = |rest: usize| {
            let place = wide.before.saturating_sub(rest).div_ceil(wide.stride).min(len);
            let first = (place * wide.stride + rest).saturating_sub(wide.before);
            [first, place, wide.input.saturating_sub(first).div_ceil(wide.stride).min(len - place)]
        };
        let inside = collected((0..wide.stride).map(inside))?;
        Ok(Some(Bands { axes, rows, len, lines, inside, taps }))
    }

    /// What a function gives for each element of a window: of the number along the first axis, and the distances along the others.
    fn each_tap<R>([deep, high, wide]: [Windows; 3], f: impl Fn([usize; 3]) -> R) -> Result<Vec<R>> {
        let f = &f;
        collected((0..deep.window).flat_map(move |i| {
            (0..high.window)
                .flat_map(move |j| (0..wide.window).map(move |k| f([i, j * high.dilation, k * wide.dilation])))
        }))
    }

    /// How far each element of a window lies from the first one, in planes of lines of so many elements. Where both cannot be elements of
    /// the same planes, it is any number.
    pub(super) fn distances(&self, [lines, elements]: [usize; 2]) -> Result<Vec<i64>> {
        let step = self.axes[0].dilation;
        let at = |[i, b, c]: [usize; 3]| {
            (i * step).wrapping_mul(lines).wrapping_add(b).wrapping_mul(elements).wrapping_add(c)
        };
        Self::each_tap(self.axes, |place| at(place) as i64)
    }

    /// Elements of the memory in which they are laid out, which is filled with the padding before.
    pub(super) fn memory(&self) -> usize {
        let [deep, high, wide] = self.axes;
        deep.window * high.stride * wide.stride * self.lines * self.len + self.len + CHUNK
    }

    /// Elements of the memory for the results of a band.
    pub(super) fn results(&self) -> usize {
        (self.rows * self.len).next_multiple_of(CHUNK)
    }

    /// The bands of a plane of results: their number, and the lines of one.
    pub(super) fn bands(&self) -> (usize, usize) {
        (self.axes[1].output.div_ceil(self.rows), self.rows)
    }

    /// Lays out what the lines of results from `first` on of a plane need. `line` gives the elements of the line of these numbers.
    #[inline(always)]
    pub(super) fn lay<'x, T: Copy + 'x>(
        &self,
        [plane, first]: [usize; 2],
        padding: T,
        line: impl Fn([usize; 2]) -> &'x [T],
        memory: &mut [T],
    ) {
        let [deep, high, wide] = self.axes;
        for i in 0..deep.window {
            let at = deep.element(plane * deep.stride + i * deep.dilation);
            for rest in 0..high.stride.min(high.last() + 1) {
                let size = self.lines * self.len;
                let memory = memory.get_mut((i * high.stride + rest) * wide.stride * size..).unwrap_or_default();
                for k in 0..self.lines {
                    let from = at.zip(high.element((first + k) * high.stride + rest)).map(|(d, h)| line([d, h]));
                    let memory = memory.get_mut(k * self.len..).unwrap_or_default();
                    let lines = memory.chunks_mut(size).take(wide.stride).filter_map(|to| to.get_mut(..self.len));
                    match from {
                        Some(from) => lines.zip(&self.inside).for_each(|(to, [first, place, count])| {
                            let to = to.get_mut(*place..place + count).unwrap_or_default();
                            spaced(from.get(*first..).unwrap_or_default(), wide.stride, to);
                        }),
                        None => lines.for_each(|to| to.fill(padding)),
                    }
                }
            }
        }
    }

    /// Lets each result take the elements of its window, with the factor of each, in the order of the rows.
    #[inline(always)]
    pub(super) fn fold<T: Copy>(&self, memory: &[T], factors: &[T], begin: T, to: &mut [T], f: impl Fn(T, T, T) -> T) {
        let (to, _) = to.as_chunks_mut::<CHUNK>();
        for (to, at) in to.iter_mut().zip((0..).step_by(CHUNK)) {
            let mut own = [begin; CHUNK];
            for (tap, factor) in self.taps.iter().zip(factors) {
                let Some(x) = memory.get(tap + at..).and_then(<[T]>::first_chunk::<CHUNK>) else { return };
                // Copies, which the results are seen to be apart from: they stay in registers.
                let (x, factor) = (*x, *factor);
                own.iter_mut().zip(&x).for_each(|(own, x)| *own = f(*own, *x, factor));
            }
            *to = own;
        }
    }

    /// Finds for each result the element of its window that is ahead of all those before, and its number in the window; -1 if there is none.
    #[inline(always)]
    pub(super) fn places<T: Copy>(
        &self,
        memory: &[T],
        begin: T,
        (to, places): (&mut [T], &mut [i32]),
        is_ahead: impl Fn(T, T) -> bool,
    ) {
        let ((to, _), (places, _)) = (to.as_chunks_mut::<CHUNK>(), places.as_chunks_mut::<CHUNK>());
        for ((to, places), at) in to.iter_mut().zip(places).zip((0..).step_by(CHUNK)) {
            let (mut best, mut place) = ([begin; CHUNK], [-1i32; CHUNK]);
            for (tap, number) in self.taps.iter().zip(0i32..) {
                let Some(x) = memory.get(tap + at..).and_then(<[T]>::first_chunk::<CHUNK>) else { return };
                let x = *x;
                for ((best, place), x) in best.iter_mut().zip(&mut place).zip(&x) {
                    let takes = is_ahead(*x, *best);
                    *best = if takes { *x } else { *best };
                    *place = if takes { number } else { *place };
                }
            }
            (*to, *places) = (best, place);
        }
    }

    /// The lines of results of a band.
    pub(super) fn lines<'r, T>(&self, results: &'r [T]) -> impl Iterator<Item = &'r [T]> {
        let output = self.axes[2].output;
        results.chunks_exact(self.len).take(self.rows).filter_map(move |line| line.get(..output))
    }
}
