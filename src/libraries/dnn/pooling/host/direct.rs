//! Whole lines of windows: the largest element or the sum of each window, of many windows at once.
//!
//! Each result takes the elements of its window in the order that the general loop has, so that the bits are the same: what the padding
//! adds changes no sum, and is ahead of nothing.

use super::{Job, Line};
use crate::core::error::Result;
use crate::core::room::{collected, filled};
use crate::libraries::dnn::number::Own;
use crate::libraries::dnn::pooling::axis::Axis;
use crate::libraries::dnn::pooling::op::{Divide, Pass};
use crate::libraries::dnn::product::Real;
use crate::libraries::dnn::product::scratch::lent;
use crate::libraries::dnn::windows::{Held, Lines, Windows, rings};
use crate::numerics::isa::{self, Loop};
use crate::numerics::parallel::try_each_range;

/// Elements that a thread makes at least.
const PIECE: usize = 1 << 12;
/// Lines of a window, at most.
const MOST: usize = 64;

fn windows(axis: &Axis) -> Windows {
    let Axis { input, output, window, stride, dilation, before, .. } = *axis;
    Windows { input, output, window, stride, dilation, before }
}

/// The source in its own type, and what all lines share.
pub(super) struct Direct<'j, T> {
    job: &'j Job,
    pass: Pass,
    rings: [usize; 2],
    lines: Lines,
    /// As many factors as a window has elements along a line, which say nothing.
    factors: Vec<T>,
    /// The places of each window along the line.
    places: Vec<i64>,
    source: *const T,
}

// SAFETY: what is read is written by nobody, and each line of the targets belongs to one thread.
unsafe impl<T> Sync for Direct<'_, T> {}

impl<'j, T: Real> Direct<'j, T> {
    /// `None` where the loops over windows are needed: for gradients, windows that are not alike, elements that are not neighbours.
    pub(super) fn new(job: &'j Job, pass: Pass) -> Result<Option<Self>> {
        let [outer, middle, last] = &job.lines;
        let Some(axis) = last.axis.filter(|axis| !pass.is_back() && !axis.adaptive) else { return Ok(None) };
        let Windows { input, output, window, stride, before, .. } = windows(&axis);
        let long = last.known.len() == output && output >= 4 && input > 0 && last.strides[0] == 1;
        let one = Windows { input: 1, output: 1, window: 1, stride: 1, dilation: 1, before: 0 };
        let rings = rings([outer, middle].map(|lines| lines.axis.as_ref().map_or(one, windows)));
        let few = rings[0].saturating_mul(rings[1]) <= MOST;
        let plane = outer.extent.saturating_mul(middle.extent).saturating_mul(last.extent.saturating_add(before));
        if !long || !few || job.len == 0 || i32::try_from(plane.saturating_add(output * stride)).is_err() {
            return Ok(None);
        }
        let Some(lines) = Lines::new(windows(&axis))? else {
            return Ok(None);
        };
        let places = collected(last.known.iter().map(|line| line.places as i64))?;
        let factors = filled(window, T::ONE)?;
        Ok(Some(Direct { job, pass, rings, lines, factors, places, source: job.sources[0].cast() }))
    }

    pub(super) fn run(&self) -> Result<()> {
        let inner = self.places.len();
        try_each_range(self.job.len / inner, PIECE / inner, &|rows| {
            let mut divisors = filled(if self.divides() { inner } else { 0 }, T::default())?;
            let results = self.lines.results();
            let mut numbers = filled(if self.pass == Pass::MaxPlace { results } else { 0 }, 0i32)?;
            let mut known = None;
            let held = self.lines.size() * self.rings[0] * self.rings[1];
            lent(held + results, |memory| {
                let (memory, made) = memory.split_at_mut(held);
                let mut held = Held::new(&self.lines, self.rings, memory, self.padding());
                for row in rows {
                    let (at, [a, b]) = self.job.row(row);
                    let places = (a.places as i64).wrapping_mul(b.places as i64);
                    if known != Some(places) && self.divides() {
                        known = Some(places);
                        let all = divisors.iter_mut().zip(&self.places);
                        all.for_each(|(to, own)| *to = T::wide_of(places.wrapping_mul(*own).max(1)));
                    }
                    let target = self.job.targets[0].cast::<T>().wrapping_add(row * inner);
                    // SAFETY: each row of a target is one thread's alone.
                    let to = unsafe { std::slice::from_raw_parts_mut(target, inner) };
                    let made = Made { to, made: &mut *made, numbers: &mut numbers, held: &mut held };
                    isa::run(OneRow { of: self, at, lines: [a, b], divisors: &divisors, made });
                    if self.pass == Pass::MaxPlace {
                        self.number(row, [a, b], &numbers);
                    }
                }
                Ok(())
            })
        })
    }

    fn padding(&self) -> T {
        if matches!(self.pass, Pass::Sum(_)) { T::default() } else { T::LOWEST }
    }

    fn divides(&self) -> bool {
        matches!(self.pass, Pass::Sum(divide) if divide != Divide::Never)
    }

    /// Writes the numbers of a row. Where nothing is ahead of the lowest number, it is that of the first element of the window.
    fn number(&self, row: usize, [a, b]: [Line; 2], numbers: &[i32]) {
        let [_, middle, last] = &self.job.lines;
        let inner = self.places.len();
        let target = self.job.targets[1].cast::<i64>().wrapping_add(row * inner);
        // SAFETY: each row of a target is one thread's alone.
        let to = unsafe { std::slice::from_raw_parts_mut(target, inner) };
        for ((to, number), line) in to.iter_mut().zip(numbers).zip(&last.known) {
            let first = (a.first * middle.extent + b.first) * last.extent + line.first;
            let there = a.count > 0 && b.count > 0 && line.count > 0;
            *to = if *number < 0 && there { first as i64 } else { i64::from(*number) };
        }
    }
}

/// What a row is made in.
struct Made<'r, 'h, T> {
    to: &'r mut [T],
    /// With memory behind the results.
    made: &'r mut [T],
    numbers: &'r mut [i32],
    held: &'r mut Held<'h, T>,
}

/// A row of the target.
struct OneRow<'r, 'h, 'j, T> {
    of: &'r Direct<'j, T>,
    /// The source's element 0 of the axes of the windows.
    at: isize,
    lines: [Line; 2],
    /// What sums are divided by, at least 1.
    divisors: &'r [T],
    made: Made<'r, 'h, T>,
}

impl<T: Real> Loop for OneRow<'_, '_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        let (of, Made { to, made, numbers, held }) = (self.of, self.made);
        let [outer, middle, last] = &of.job.lines;
        let ([a, b], padding) = (self.lines, of.padding());
        held.next();
        for i in (0..a.count).map(|i| a.first + i * a.step) {
            for j in (0..b.count).map(|j| b.first + j * b.step) {
                let at = self.at + i as isize * outer.strides[0] + j as isize * middle.strides[0];
                // SAFETY: this row of the source lies inside the operand, and its elements are neighbours (`Direct::new`).
                let row = unsafe { std::slice::from_raw_parts(of.source.offset(at), last.extent) };
                held.add([i, j], (at, ((i * middle.extent + j) * last.extent) as i32), 0, row);
            }
        }
        let rows = held.rows(&of.factors);
        match of.pass {
            Pass::MaxPlace => of.lines.places(&rows, padding, (&mut *made, numbers), is_ahead),
            Pass::Max => of.lines.fold(&rows, padding, made, |best, x, _| if is_ahead(x, best) { x } else { best }),
            _ => {
                of.lines.fold(&rows, padding, made, |sum, x, _| sum + x);
                made.iter_mut().zip(self.divisors).for_each(|(made, divisor)| *made = *made / *divisor);
                made.iter_mut().for_each(|made| *made = T::narrow(*made));
            }
        }
        to.iter_mut().zip(&*made).for_each(|(to, made)| *to = *made);
    }
}

/// Whether it takes the place of the largest one so far: the first NaN is the largest.
#[inline(always)]
#[expect(clippy::eq_op, reason = "NaN")]
fn is_ahead<T: Own>(x: T, best: T) -> bool {
    (x > best) | ((x != x) & (best == best))
}
