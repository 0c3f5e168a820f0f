//! Transforms over several axes.

use super::super::geometry::{Axis, Geometry};
use super::super::spec::{Direction, Kind};
use super::lines::{Along, Lines, Reader, Step, Writer};
use super::pass::{self, Touch};
use super::{Real, filled, zero};
use crate::core::error::Result;
use num_complex::Complex;

/// What a transform reads and writes.
pub enum Data<'r, 'w, T, C> {
    /// Complex to complex.
    Complex(&'r [C], &'w mut [C]),
    /// Complex to complex, in place.
    ComplexInPlace(&'w mut [C]),
    /// Real to half of a spectrum.
    Forward(&'r [T], &'w mut [C]),
    /// Real to half of a spectrum, in place: pairs of reals are complex numbers.
    ForwardInPlace(&'w mut [T]),
    /// Half of a spectrum to real.
    Backward(&'r [C], &'w mut [T]),
    /// Half of a spectrum, which may be destroyed, to real.
    Destroying(&'w mut [C], &'w mut [T]),
    /// Half of a spectrum to real, in place.
    BackwardInPlace(&'w mut [T]),
}

/// Does the transform of `geometry` and multiplies every output by `scale`.
pub(in super::super) fn run<T: Real>(geometry: &Geometry, data: Data<'_, '_, T, Complex<T>>, scale: f64) -> Result<()> {
    let inverse = geometry.direction == Direction::Inverse;
    let scale = T::nearest(scale);
    if geometry.count == 0 {
        return Ok(());
    }
    // SAFETY, of all calls: the sides are slices that are borrowed for this call, with their lengths.
    match data {
        Data::Complex(from, to) => {
            let sides = (Some((Reader::new(from), from.len())), Writer::new(to), to.len());
            // SAFETY: as above.
            unsafe { complex(geometry, sides, inverse, scale) }
        }
        Data::ComplexInPlace(to) => {
            let sides = (None, Writer::new(to), to.len());
            // SAFETY: as above.
            unsafe { complex(geometry, sides, inverse, scale) }
        }
        Data::Forward(from, to) => {
            let sides = (Reader::new(from), from.len(), Writer::new(to), to.len());
            // SAFETY: as above.
            unsafe { forward(geometry, sides, inverse, scale) }
        }
        Data::ForwardInPlace(x) => {
            let (len, writer) = (x.len(), Writer::new(x));
            // SAFETY: as above.
            unsafe { forward(geometry, (writer.reader(), len, writer.cast(), len / 2), inverse, scale) }
        }
        Data::Backward(from, to) => {
            let sides = (Reader::new(from), from.len(), Writer::new(to), to.len());
            // SAFETY: as above.
            unsafe { backward(geometry, sides, !inverse, scale) }
        }
        Data::Destroying(from, to) => {
            let sides = (Reader::new(from), from.len(), Writer::new(to), to.len());
            // SAFETY: as above.
            unsafe { backward(geometry, sides, !inverse, scale) }
        }
        Data::BackwardInPlace(x) => {
            let (len, writer) = (x.len(), Writer::new(x));
            // SAFETY: as above.
            unsafe { backward_in_place(geometry, writer, len, !inverse, scale) }
        }
    }
}

/// The steps around axis `index`: the loops and the other axes. The `first` pass reads the input, with its sizes and
/// strides; later passes read and write the output.
fn around(geometry: &Geometry, index: usize, first: bool) -> Vec<Step> {
    let loops = geometry.loops.iter().map(|l| Step { count: l.count, inside: l.count, from: l.from, to: l.to });
    let others = geometry.axes.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, axis)| Step {
        count: axis.written,
        inside: if first { axis.read } else { axis.written },
        from: axis.from,
        to: axis.to,
    });
    let mut steps: Vec<Step> = loops.chain(others).collect();
    if !first {
        steps.iter_mut().for_each(|step| step.from = step.to);
    }
    steps
}

fn along(axis: &Axis, first: bool) -> Along {
    match first {
        true => Along { read: axis.read, written: axis.written, from: axis.from, to: axis.to },
        false => Along { read: axis.written, written: axis.written, from: axis.to, to: axis.to },
    }
}

/// Calls `f` with the index of every element of the output.
pub(super) fn each_written(geometry: &Geometry, len: usize, mut f: impl FnMut(usize)) {
    let Some((axis, index)) = geometry.axes.last().zip(geometry.axes.len().checked_sub(1)) else { return };
    if let Some(lines) = Lines::new(around(geometry, index, false), along(axis, false), len, len) {
        lines.each(0..lines.count, |line| (0..axis.written).for_each(|i| f(line.to + i * axis.to)));
    }
}

// The functions below are given both sides as addresses and lengths. They are unsafe for this reason alone: the sides
// are alive, are as long as given, and nothing else accesses them during the call; without a `from`, and in place, they
// are the same memory.

type ComplexSides<T> = (Option<(Reader<Complex<T>>, usize)>, Writer<Complex<T>>, usize);

/// The last axis comes first, since it is most often packed on both sides.
///
/// # Safety
/// The sides are as said above.
unsafe fn complex<T: Real>(
    geometry: &Geometry,
    (from, to, to_len): ComplexSides<T>,
    inverse: bool,
    scale: T,
) -> Result<()> {
    let mut from = from;
    for (index, axis) in geometry.axes.iter().enumerate().rev() {
        let first = index + 1 == geometry.axes.len();
        let from_len = from.map_or(to_len, |(_, len)| len);
        let Some(lines) = Lines::new(around(geometry, index, first), along(axis, first), from_len, to_len) else {
            return Ok(());
        };
        let touch = Touch { scale: if index == 0 { scale } else { T::one() }, ..Touch::none() };
        let plan = T::plans().complex(axis.n, inverse)?;
        // SAFETY: the lines were made for these lengths, and those of a geometry are disjoint.
        unsafe { pass::complex(&*plan, &lines, from.take().map(|(from, _)| from), to, touch) };
    }
    Ok(())
}

type RealSides<T> = (Reader<T>, usize, Writer<Complex<T>>, usize);

/// # Safety
/// The sides are as said above.
unsafe fn forward<T: Real>(
    geometry: &Geometry,
    (from, from_len, to, to_len): RealSides<T>,
    conj: bool,
    scale: T,
) -> Result<()> {
    for (index, axis) in geometry.axes.iter().enumerate().rev() {
        let first = index + 1 == geometry.axes.len();
        let lens = if first { from_len } else { to_len };
        let Some(lines) = Lines::new(around(geometry, index, first), along(axis, first), lens, to_len) else {
            return Ok(());
        };
        let last = index == 0;
        let touch = Touch { conj_in: false, conj_out: conj && last, scale: if last { scale } else { T::one() } };
        if first {
            // SAFETY: the lines were made for these lengths, and those of a geometry are disjoint.
            unsafe { pass::forward(&*T::plans().forward(axis.n)?, &lines, from, to, touch) };
        } else {
            // SAFETY: the lines were made for these lengths, and those of a geometry are disjoint.
            unsafe { pass::complex(&*T::plans().complex(axis.n, false)?, &lines, None, to, touch) };
        }
    }
    Ok(())
}

type HalfSides<T> = (Reader<Complex<T>>, usize, Writer<T>, usize);

/// The outer axes are transformed in temporary memory, since the input must not be written.
///
/// # Safety
/// The sides are as said above.
unsafe fn backward<T: Real>(
    geometry: &Geometry,
    (from, from_len, to, to_len): HalfSides<T>,
    conj: bool,
    scale: T,
) -> Result<()> {
    let Some((half, outer)) = geometry.axes.split_last() else { return Ok(()) };
    let touch = Touch { conj_in: conj, conj_out: false, scale };
    if outer.is_empty() {
        let Some(lines) = Lines::new(around(geometry, 0, true), along(half, true), from_len, to_len) else {
            return Ok(());
        };
        // SAFETY: the lines were made for these lengths, and those of a geometry are disjoint.
        unsafe { pass::backward(&*T::plans().backward(half.n)?, &lines, from, to, touch) };
        return Ok(());
    }
    // Packed: the loops, the outer axes, and of the halved axis the elements that are read.
    let mut step = 1usize;
    let mut within = geometry.clone();
    let mut place = |count: usize| {
        let stride = step;
        step = step.saturating_mul(count);
        stride
    };
    let count = within.axes.len();
    for (i, axis) in within.axes.iter_mut().enumerate().rev() {
        if i + 1 == count {
            axis.written = axis.read;
        }
        axis.to = place(axis.written);
    }
    within.loops.iter_mut().rev().for_each(|l| l.to = place(l.count));
    let mut packed = filled(step, zero::<T>())?;
    let (packed_len, writer) = (packed.len(), Writer::new(&mut packed));
    for (index, axis) in within.axes.iter().enumerate().rev().skip(1) {
        let first = index + 2 == count;
        let lens = if first { from_len } else { packed_len };
        let Some(lines) = Lines::new(around(&within, index, first), along(axis, first), lens, packed_len) else {
            return Ok(());
        };
        let touch = Touch { conj_in: conj && first, ..Touch::none() };
        let plan = T::plans().complex(axis.n, true)?;
        // SAFETY: the lines were made for these lengths, and those of a geometry are disjoint.
        unsafe { pass::complex(&*plan, &lines, first.then_some(from), writer, touch) };
    }
    // From the temporary memory to the output.
    let mut last = geometry.clone();
    for (axis, within) in last.axes.iter_mut().zip(&within.axes) {
        (axis.from, axis.read) = (within.to, within.written);
    }
    last.loops.iter_mut().zip(&within.loops).for_each(|(l, within)| l.from = within.to);
    let (steps, along) = (around(&last, count - 1, true), along(last.axes.last().unwrap_or(half), true));
    if let Some(lines) = Lines::new(steps, along, packed_len, to_len) {
        let touch = Touch { conj_in: false, ..touch };
        // SAFETY: the lines were made for these lengths, and those of a geometry are disjoint.
        unsafe { pass::backward(&*T::plans().backward(half.n)?, &lines, writer.reader(), to, touch) };
    }
    Ok(())
}

/// Transforms the outer axes in place, then the halved one.
///
/// # Safety
/// The side is as said above.
unsafe fn backward_in_place<T: Real>(
    geometry: &Geometry,
    x: Writer<T>,
    len: usize,
    conj: bool,
    scale: T,
) -> Result<()> {
    let Some((half, outer)) = geometry.axes.split_last() else { return Ok(()) };
    let (pairs, pairs_len) = (x.cast::<Complex<T>>(), len / 2);
    let mut within = geometry.clone();
    within.axes.iter_mut().for_each(|axis| axis.to = axis.from);
    within.loops.iter_mut().for_each(|l| l.to = l.from);
    if let Some(axis) = within.axes.last_mut() {
        axis.written = axis.read;
    }
    for (index, axis) in within.axes.iter().enumerate().rev().skip(1) {
        let first = index + 1 == outer.len();
        let Some(lines) = Lines::new(around(&within, index, false), along(axis, false), pairs_len, pairs_len) else {
            return Ok(());
        };
        let touch = Touch { conj_in: conj && first, ..Touch::none() };
        // SAFETY: the lines were made for these lengths, and those of a geometry are disjoint.
        unsafe { pass::complex(&*T::plans().complex(axis.n, true)?, &lines, None, pairs, touch) };
    }
    let steps = around(geometry, geometry.axes.len() - 1, true);
    if let Some(lines) = Lines::new(steps, along(half, true), pairs_len, len) {
        let touch = Touch { conj_in: conj && outer.is_empty(), conj_out: false, scale };
        // SAFETY: the lines were made for these lengths, and those of a geometry are disjoint.
        unsafe { pass::backward(&*T::plans().backward(half.n)?, &lines, pairs.reader(), x, touch) };
    }
    Ok(())
}

/// Makes the plans that [`run`] needs: none, if there is nothing to transform.
pub(in super::super) fn prepare(geometry: &Geometry, double: bool) -> Result<()> {
    fn prepare_as<T: Real>(geometry: &Geometry) -> Result<()> {
        let last = geometry.axes.len().saturating_sub(1);
        for (i, axis) in geometry.axes.iter().enumerate() {
            match geometry.kind {
                Kind::C2c => drop(T::plans().complex(axis.n, geometry.direction == Direction::Inverse)?),
                Kind::R2c if i == last => drop(T::plans().forward(axis.n)?),
                Kind::C2r if i == last => drop(T::plans().backward(axis.n)?),
                kind => drop(T::plans().complex(axis.n, kind == Kind::C2r)?),
            }
        }
        Ok(())
    }
    if geometry.count == 0 {
        return Ok(());
    }
    if double { prepare_as::<f64>(geometry) } else { prepare_as::<f32>(geometry) }
}
