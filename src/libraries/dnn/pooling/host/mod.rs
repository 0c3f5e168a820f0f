//! The host half: rows of the target, each element by loops over the elements of the source that it takes; `direct.rs` makes whole lines
//! of windows over neighbours.

mod direct;

use super::axis::Axis;
use super::op::{Divide, Pass, Pooling};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::libraries::dnn::number::{Float, Number};
use crate::libraries::dnn::product::Real;
use crate::numerics::parallel;
use half::{bf16, f16};

/// Elements that a thread takes at least.
const PIECE: usize = 1 << 12;
/// For an axis of up to so many elements the lines are made ahead.
const TABLE: usize = 1 << 16;

/// What an element of the target takes along one axis of the source: `first`, `first + step`, ..
#[derive(Clone, Copy)]
struct Line {
    first: usize,
    count: usize,
    step: usize,
    places: usize,
}

const ONE: Line = Line { first: 0, count: 1, step: 1, places: 1 };

/// One axis of the windows.
struct Lines {
    axis: Option<Axis>,
    pass: Pass,
    known: Vec<Line>,
    /// The distance between neighbours, in elements, for each source.
    strides: [isize; 2],
    /// The elements of the source.
    extent: usize,
}

impl Lines {
    fn line(&self, t: usize) -> Line {
        let Some(axis) = &self.axis else { return ONE };
        self.known.get(t).copied().unwrap_or_else(|| line(axis, self.pass, t))
    }

    fn places(&self, o: usize) -> usize {
        let Some(axis) = &self.axis else { return 1 };
        let elements = axis.elements(o);
        if self.pass.divide() == Divide::Places { elements.places } else { elements.count }
    }
}

fn line(axis: &Axis, pass: Pass, t: usize) -> Line {
    if !pass.is_back() {
        let elements = axis.elements(t);
        let places = if pass.divide() == Divide::Places { elements.places } else { elements.count };
        return Line { first: elements.first, count: elements.count, step: axis.dilation, places };
    }
    let (first, end) = axis.windows(t);
    // Those that have the element are as far from each other as the first two.
    let mut own = (first..end).filter(|o| axis.has(*o, t));
    let Some(first) = own.next() else { return Line { count: 0, ..ONE } };
    let Some(second) = own.next() else { return Line { first, ..ONE } };
    Line { first, count: (end - first).div_ceil(second - first), step: second - first, places: 1 }
}

/// Where things are.
struct Job {
    outer: Vec<(usize, [isize; 2])>,
    offsets: [isize; 2],
    lines: [Lines; 3],
    /// Target elements along the axes of the windows.
    extents: [usize; 3],
    sources: [*const u8; 2],
    targets: [*mut u8; 2],
    divide: Divide,
    len: usize,
}

// SAFETY: what is read is written by nobody, and each element of the targets belongs to one thread.
unsafe impl Sync for Job {}

/// What an element of the target takes, along each axis, and where that begins in each source.
#[derive(Clone, Copy)]
struct Window {
    offsets: [isize; 2],
    lines: [Line; 3],
    /// The number of the element of the target in the axes of the windows.
    number: i64,
}

impl Job {
    fn new(op: &Pooling, sources: &[*const u8], targets: &[*mut u8]) -> Self {
        let rank = op.outer.len();
        let strides =
            |axis: usize| [0, 1].map(|k| op.sources.get(k).and_then(|l| l.strides().get(axis)).copied().unwrap_or(0));
        let target = |axis: &Axis| if op.pass.is_back() { axis.input } else { axis.output };
        let lead = 3 - op.axes.len().min(3);
        let own = |d: usize| d.checked_sub(lead).and_then(|d| op.axes.get(d).copied());
        let lines = [0, 1, 2].map(|d| {
            let axis = own(d);
            let n = axis.as_ref().map_or(0, target);
            let known = axis
                .filter(|_| n <= TABLE)
                .map_or(Vec::new(), |axis| (0..n).map(|t| line(&axis, op.pass, t)).collect());
            let strides = if axis.is_some() { strides(rank + d - lead) } else { [0; 2] };
            let extent = axis.map_or(1, |axis| if op.pass.is_back() { axis.output } else { axis.input });
            Lines { axis, pass: op.pass, known, strides, extent }
        });
        Job {
            outer: op.outer.iter().enumerate().map(|(axis, n)| (*n, strides(axis))).collect(),
            offsets: [0, 1].map(|k| op.sources.get(k).map_or(0, |layout| layout.offset() as isize)),
            lines,
            extents: [0, 1, 2].map(|d| own(d).as_ref().map_or(1, target)),
            sources: [0, 1].map(|k| sources.get(k).copied().unwrap_or(std::ptr::null())),
            targets: [0, 1].map(|k| targets.get(k).copied().unwrap_or(std::ptr::null_mut())),
            divide: op.pass.divide(),
            len: op.target().iter().product(),
        }
    }

    /// Where element 0 of the axes of the windows is in the sources for a row of the target, and its places along the first two axes.
    fn places_of(&self, row: usize) -> ([isize; 2], [usize; 2]) {
        let [high, middle, _] = self.extents;
        let (plane, b) = (row / middle, row % middle);
        let (mut outer, a) = (plane / high, plane % high);
        let mut offsets = self.offsets;
        for (n, strides) in self.outer.iter().rev() {
            let at = (outer % n) as isize;
            outer /= n;
            offsets.iter_mut().zip(strides).for_each(|(offset, stride)| *offset += at * stride);
        }
        (offsets, [a, b])
    }

    /// Whole lines, where they can be.
    fn direct<T: Real>(&self, pass: Pass) -> Result<bool> {
        match direct::Direct::<T>::new(self, pass)? {
            Some(direct) => direct.run().map(|()| true),
            None => Ok(false),
        }
    }

    /// Calls for each element of the target with its number.
    fn each(&self, f: impl Fn(usize, Window) + Sync) {
        let [_, middle, inner] = self.extents;
        if self.len == 0 {
            return;
        }
        let row = |row: usize| {
            let (offsets, [a, b]) = self.places_of(row);
            let [first, second, last] = &self.lines;
            let (a_line, b_line) = (first.line(a), second.line(b));
            for c in 0..inner {
                let lines = [a_line, b_line, last.line(c)];
                let mut offsets = offsets;
                for (own, line) in self.lines.iter().zip(&lines) {
                    for (offset, stride) in offsets.iter_mut().zip(&own.strides) {
                        *offset += line.first as isize * stride;
                    }
                }
                f(row * inner + c, Window { offsets, lines, number: ((a * middle + b) * inner + c) as i64 });
            }
        };
        let rows = self.len / inner;
        if self.len <= PIECE {
            (0..rows).for_each(row);
        } else {
            parallel::each_number(rows, PIECE / inner, &row);
        }
    }

    /// Calls for each element of a source that is taken, in the order of the rows: with its offset, that of the second source, and
    /// its coordinates.
    #[inline(always)]
    fn taken(&self, window: &Window, mut f: impl FnMut([isize; 2], [usize; 3])) {
        let [a, b, c] = window.lines;
        let step = |d: usize, line: Line| {
            let strides = self.lines.get(d).map_or([0; 2], |lines| lines.strides);
            strides.map(|stride| stride * line.step as isize)
        };
        let steps = [step(0, a), step(1, b), step(2, c)];
        let add = |[x, y]: [isize; 2], [dx, dy]: [isize; 2]| [x.wrapping_add(dx), y.wrapping_add(dy)];
        let mut plane = window.offsets;
        for i in 0..a.count {
            let mut row = plane;
            for j in 0..b.count {
                let mut at = row;
                for k in 0..c.count {
                    f(at, [a.first + i * a.step, b.first + j * b.step, c.first + k * c.step]);
                    at = add(at, steps[2]);
                }
                row = add(row, steps[1]);
            }
            plane = add(plane, steps[0]);
        }
    }

    /// # Safety
    /// The sources have elements of this type, and the targets are those of [`run`].
    unsafe fn largest<T: Number>(&self, with_place: bool) {
        self.each(|at, window| {
            let (mut best, mut place) = (T::LOWEST, -1i64);
            let [_, middle, last] = &self.lines;
            self.taken(&window, |[offset, _], [i, j, k]| {
                // SAFETY: an element of the source.
                let x = unsafe { *self.sources[0].cast::<T>().offset(offset) };
                if x.is_ahead(best) || (place < 0 && with_place) {
                    best = x;
                    place = ((i * middle.extent + j) * last.extent + k) as i64;
                }
            });
            // SAFETY: an element of the target.
            unsafe {
                *self.targets[0].cast::<T>().add(at) = best;
                if with_place {
                    *self.targets[1].cast::<i64>().add(at) = place;
                }
            }
        });
    }

    /// # Safety
    /// As [`largest`](Self::largest).
    unsafe fn sum<T: Float>(&self) {
        self.each(|at, window| {
            let mut sum = T::wide_of(0);
            self.taken(&window, |[offset, _], _| {
                // SAFETY: an element of the source.
                sum = sum + unsafe { *self.sources[0].cast::<T>().offset(offset) }.wide();
            });
            let places = window.lines.iter().fold(1, |all: i64, line| all.wrapping_mul(line.places as i64));
            if self.divide != Divide::Never && places > 0 {
                sum = sum / T::wide_of(places);
            }
            // SAFETY: an element of the target.
            unsafe { *self.targets[0].cast::<T>().add(at) = T::narrow(sum) };
        });
    }

    /// # Safety
    /// As [`largest`](Self::largest).
    unsafe fn back<T: Float>(&self, by_place: bool) {
        let plane = self.extents.iter().fold(1i64, |all, n| all.saturating_mul(*n as i64));
        self.each(|at, window| {
            let mut sum = T::wide_of(0);
            self.taken(&window, |[offset, place], coordinates| {
                // SAFETY: an element of the source.
                let dy = unsafe { *self.sources[0].cast::<T>().offset(offset) }.wide();
                if by_place {
                    // SAFETY: a number of an element.
                    let number = unsafe { *self.sources[1].cast::<i64>().offset(place) };
                    if number == window.number {
                        sum = sum + dy;
                    } else if !(-1..plane).contains(&number) {
                        sum = T::wide_of(0) / T::wide_of(0);
                    }
                } else if self.divide == Divide::Never {
                    sum = sum + dy;
                } else {
                    let own = self.lines.iter().zip(coordinates);
                    let places = own.fold(1i64, |all, (lines, o)| all.wrapping_mul(lines.places(o) as i64));
                    sum = sum + dy / T::wide_of(places);
                }
            });
            // SAFETY: an element of the target.
            unsafe { *self.targets[0].cast::<T>().add(at) = T::narrow(sum) };
        });
    }

    /// # Safety
    /// As [`largest`](Self::largest).
    unsafe fn float<T: Float + Number>(&self, pass: Pass) {
        // SAFETY: the caller's promise.
        unsafe {
            match pass {
                Pass::Max | Pass::MaxPlace => self.largest::<T>(pass == Pass::MaxPlace),
                Pass::Sum(_) => self.sum::<T>(),
                Pass::MaxBack | Pass::SumBack(_) => self.back::<T>(pass == Pass::MaxBack),
            }
        }
    }
}

/// # Safety
/// The layouts of the operation lie inside the sources, and the targets are exclusively the caller's.
pub(super) unsafe fn run(op: &Pooling, sources: &[*const u8], targets: &[*mut u8]) -> Result<()> {
    let job = Job::new(op, sources, targets);
    let is_done = match op.dtype {
        DType::F32 => job.direct::<f32>(op.pass)?,
        DType::F64 => job.direct::<f64>(op.pass)?,
        _ => false,
    };
    if is_done {
        return Ok(());
    }
    // SAFETY: the operands have elements of the operation's type; the rest is the caller's promise.
    unsafe {
        match op.dtype {
            DType::F32 => job.float::<f32>(op.pass),
            DType::F64 => job.float::<f64>(op.pass),
            DType::F16 => job.float::<f16>(op.pass),
            DType::Bf16 => job.float::<bf16>(op.pass),
            DType::I8 => job.largest::<i8>(op.pass == Pass::MaxPlace),
            DType::U8 => job.largest::<u8>(op.pass == Pass::MaxPlace),
            _ => return Err(Error::library("internal error: an unchecked type")),
        }
    }
    Ok(())
}
