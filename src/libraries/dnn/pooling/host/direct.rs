//! Some lines of windows at once: the largest element or the sum of each window.
//!
//! Each result takes the elements of its window in the order that the general loop has, so that the bits are the same: what the padding
//! adds changes no sum, and is ahead of nothing.

use super::Job;
use crate::core::error::Result;
use crate::core::room::filled;
use crate::libraries::dnn::number::Own;
use crate::libraries::dnn::pooling::axis::Axis;
use crate::libraries::dnn::pooling::op::{Divide, Pass};
use crate::libraries::dnn::product::Real;
use crate::libraries::dnn::product::scratch::lent;
use crate::libraries::dnn::windows::{Bands, Windows};
use crate::numerics::isa::{self, Loop};
use crate::numerics::parallel::try_each_range;

/// Elements that a thread makes at least.
const PIECE: usize = 1 << 12;
/// Results of a plane, at least.
const LEAST: usize = 8;

fn windows(axis: &Axis) -> Windows {
    let Axis { input, output, window, stride, dilation, before, .. } = *axis;
    Windows { input, output, window, stride, dilation, before }
}

/// The source in its own type, and what all lines share.
pub(super) struct Direct<'j, T> {
    job: &'j Job,
    pass: Pass,
    bands: Bands,
    /// As many factors as a window has elements, which say nothing.
    factors: Vec<T>,
    /// How far each element of a window lies from the first one.
    distances: Vec<i64>,
    source: *const T,
}

// SAFETY: what is read is written by nobody, and each line of the targets belongs to one thread.
unsafe impl<T> Sync for Direct<'_, T> {}

impl<'j, T: Real> Direct<'j, T> {
    /// `None` where the loops over windows are needed: for gradients, windows that are not alike, elements that are not neighbours.
    pub(super) fn new(job: &'j Job, pass: Pass) -> Result<Option<Self>> {
        let [_, middle, last] = &job.lines;
        let Some(axis) = last.axis.filter(|axis| !pass.is_back() && !axis.adaptive) else { return Ok(None) };
        let [_, high, inner] = job.extents;
        let long = last.known.len() == axis.output && high.saturating_mul(inner) >= LEAST && last.strides[0] == 1;
        let plane = job.lines.iter().try_fold(1usize, |all, lines| all.checked_mul(lines.extent));
        if !long || job.len == 0 || plane.is_none_or(|plane| plane == 0 || i64::try_from(plane).is_err()) {
            return Ok(None);
        }
        let axes = job.lines.each_ref().map(|lines| lines.axis.as_ref().map_or(Windows::ONE, windows));
        let Some(bands) = Bands::new(axes, size_of::<T>())? else { return Ok(None) };
        let distances = bands.distances([middle.extent, last.extent])?;
        let factors = filled(distances.len(), T::ONE)?;
        Ok(Some(Direct { job, pass, bands, factors, distances, source: job.sources[0].cast() }))
    }

    pub(super) fn run(&self) -> Result<()> {
        let [_, middle, inner] = self.job.extents;
        let (bands, lines) = self.bands.bands();
        try_each_range(self.job.len / (middle * inner) * bands, PIECE / (lines * inner), &|range| {
            let (held, results) = (self.bands.memory(), self.bands.results());
            let mut divisors = filled(inner, T::ONE)?;
            let mut numbers = filled(if self.pass == Pass::MaxPlace { results } else { 0 }, 0i32)?;
            lent(held + results, |memory| {
                let (memory, made) = memory.split_at_mut(held);
                memory.fill(self.padding());
                for number in range {
                    let (plane, first) = (number / bands, number % bands * lines);
                    let made = Made { memory: &mut *memory, made: &mut *made, numbers: &mut numbers };
                    isa::run(OneBand { of: self, plane, first, divisors: &mut divisors, made });
                }
                Ok(())
            })
        })
    }

    fn padding(&self) -> T {
        if matches!(self.pass, Pass::Sum(_)) { T::default() } else { T::LOWEST }
    }

    /// Writes the numbers of a row. Where nothing is ahead of the lowest number, it is that of the first element of the window.
    fn number(&self, row: usize, [a, b]: [usize; 2], found: &[i32]) {
        let [outer, middle, last] = &self.job.lines;
        let inner = self.job.extents[2];
        let target = self.job.targets[1].cast::<i64>().wrapping_add(row * inner);
        // SAFETY: each row of a target is one thread's alone.
        let to = unsafe { std::slice::from_raw_parts_mut(target, inner) };
        // The first places of the windows, in the padding too. What leads to an element is its number in the end, whatever wraps before.
        let [deep, high, wide] = &self.bands.axes;
        let begin = |axis: &Windows, at: usize| (at * axis.stride) as i64 - axis.before as i64;
        let from = begin(deep, a).wrapping_mul(middle.extent as i64).wrapping_add(begin(high, b));
        let from = from.wrapping_mul(last.extent as i64);
        let (a, b) = (outer.line(a), middle.line(b));
        for (((to, found), line), c) in to.iter_mut().zip(found).zip(&last.known).zip(0..) {
            *to = match usize::try_from(*found).ok().and_then(|found| self.distances.get(found)) {
                Some(distance) => from.wrapping_add(begin(wide, c)).wrapping_add(*distance),
                None if a.count > 0 && b.count > 0 && line.count > 0 => {
                    ((a.first * middle.extent + b.first) * last.extent + line.first) as i64
                }
                None => -1,
            };
        }
    }
}

/// What a band is made in.
struct Made<'r, T> {
    memory: &'r mut [T],
    made: &'r mut [T],
    numbers: &'r mut [i32],
}

/// Some rows of the target, of one plane.
struct OneBand<'r, 'j, T> {
    of: &'r Direct<'j, T>,
    plane: usize,
    first: usize,
    /// What sums of a row are divided by.
    divisors: &'r mut [T],
    made: Made<'r, T>,
}

impl<T: Real> Loop for OneBand<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        let (of, Made { memory, made, numbers }) = (self.of, self.made);
        let ([outer, middle, last], [_, high, inner]) = (&of.job.lines, of.job.extents);
        let ([at, _], [a, _]) = of.job.places_of(self.plane * high);
        let (bands, padding) = (&of.bands, of.padding());
        let line = |[i, j]: [usize; 2]| {
            let at = at + i as isize * outer.strides[0] + j as isize * middle.strides[0];
            // SAFETY: this row of the source lies inside the operand, and its elements are neighbours (`Direct::new`).
            unsafe { std::slice::from_raw_parts(of.source.offset(at), last.extent) }
        };
        bands.lay([a, self.first], padding, line, memory);
        match of.pass {
            Pass::MaxPlace => bands.places(memory, padding, (&mut *made, numbers), is_ahead),
            Pass::Max => {
                bands.fold(memory, &of.factors, padding, made, |best, x, _| if is_ahead(x, best) { x } else { best });
            }
            _ => bands.fold(memory, &of.factors, padding, made, |sum, x, _| sum + x),
        }
        let mut known = None;
        for (made, b) in bands.lines(made).zip(self.first..high) {
            let row = self.plane * high + b;
            // SAFETY: each row of a target is one thread's alone.
            let to = unsafe { std::slice::from_raw_parts_mut(of.job.targets[0].cast::<T>().add(row * inner), inner) };
            let Pass::Sum(divide) = of.pass else {
                to.copy_from_slice(made);
                continue;
            };
            let places = (outer.line(a).places as i64).wrapping_mul(middle.line(b).places as i64);
            if known != Some(places) && divide != Divide::Never {
                known = Some(places);
                let all = self.divisors.iter_mut().zip(&last.known);
                all.for_each(|(to, own)| *to = T::wide_of(places.wrapping_mul(own.places as i64).max(1)));
            }
            for ((to, made), divisor) in to.iter_mut().zip(made).zip(&*self.divisors) {
                *to = T::narrow(*made / *divisor);
            }
        }
        if of.pass == Pass::MaxPlace {
            for (found, b) in bands.lines(numbers).zip(self.first..high) {
                of.number(self.plane * high + b, [a, b], found);
            }
        }
    }
}

/// Whether it takes the place of the largest one so far: the first NaN is the largest.
#[inline(always)]
#[expect(clippy::eq_op, reason = "NaN")]
fn is_ahead<T: Own>(x: T, best: T) -> bool {
    (x > best) | ((x != x) & (best == best))
}
