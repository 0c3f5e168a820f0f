//! Convolutions: both arrays are padded and transformed, their spectra are multiplied, the product is transformed back,
//! and the wanted part is copied out.

use super::super::convolve::HostConvolution;
use super::super::convolve_sizes::{AxisSizes, Sizes};
use super::super::problem::Problem;
use super::lines::Writer;
use super::threads::each_range;
use super::{Data, Real, filled, run, zero};
use crate::core::error::Result;
use num_complex::Complex;

/// Calls `f` for each line along the last axis, with its beginning in the packed (unpadded) arrays, its beginning in
/// the padded arrays, and its length.
fn each_line(
    sizes: &Sizes,
    arrays: usize,
    of: impl Fn(&AxisSizes) -> (usize, usize),
    mut f: impl FnMut(usize, usize, usize),
) {
    let Some((last, outer)) = sizes.axes.split_last() else { return };
    let (len, begin) = of(last);
    let lines = outer.iter().map(|axis| of(axis).0).product::<usize>();
    for array in 0..arrays {
        for line in 0..lines {
            let (mut rest, mut step, mut at) = (line, last.n, begin);
            for axis in outer.iter().rev() {
                let (count, begin) = of(axis);
                at += (rest % count + begin) * step;
                (rest, step) = (rest / count, step * axis.n);
            }
            f((array * lines + line) * len, array * sizes.points + at, len);
        }
    }
}

/// Copies numbers, given by their index, into arrays padded with zeros.
fn fill<T: Copy>(
    (sizes, arrays): (&Sizes, usize),
    of: impl Fn(&AxisSizes) -> usize,
    zero: T,
    from: impl Fn(usize) -> T,
    to: &mut [T],
) {
    to.fill(zero);
    each_line(
        sizes,
        arrays,
        |axis| (of(axis), 0),
        |small, at, len| {
            let line = to.get_mut(at..at + len).unwrap_or_default();
            line.iter_mut().zip(small..).for_each(|(to, i)| *to = from(i));
        },
    );
}

/// Takes the wanted part out of the product.
fn take<T: Copy>(sizes: &Sizes, from: &[T], mut put: impl FnMut(usize, T)) {
    each_line(
        sizes,
        sizes.batch,
        |axis| (axis.out, axis.begin),
        |small, at, len| {
            let line = from.get(at..at + len).unwrap_or_default();
            line.iter().zip(small..).for_each(|(from, i)| put(i, *from));
        },
    );
}

/// The index of element `i` when each kernel is read backwards.
fn backwards(sizes: &Sizes, i: usize) -> usize {
    let each = sizes.axes.iter().map(|axis| axis.h).product::<usize>().max(1);
    i / each * each + (each - 1 - i % each)
}

/// Multiplies every point of the arrays' spectra by that of the kernel.
fn multiply<T: Real>(spectra: &mut [Complex<T>], kernels: &[Complex<T>], scale: f64) {
    let (scale, period) = (T::nearest(scale), kernels.len());
    if period == 0 {
        return;
    }
    let (count, writer) = (spectra.len(), Writer::new(spectra));
    each_range(count, 1, 1, &|range| {
        // SAFETY: ranges are disjoint parts of the spectra.
        let some = unsafe { writer.slice(range.start, range.len()) };
        let kernels = kernels.iter().cycle().skip(range.start % period);
        some.iter_mut().zip(kernels).for_each(|(x, h)| *x = (*x * h) * scale);
    });
}

fn transform<T: Real>(spec: &Problem, data: Data<'_, '_, T, Complex<T>>) -> Result<()> {
    run(&spec.geometry()?, data, 1.0)
}

/// Convolves real numbers, which are read and written by their index.
pub(in super::super) fn convolve<T: Real>(
    work: &HostConvolution<'_>,
    x: impl Fn(usize) -> T,
    h: impl Fn(usize) -> T,
    put: impl FnMut(usize, T),
) -> Result<()> {
    let HostConvolution { sizes, correlate } = *work;
    if sizes.outputs == 0 {
        return Ok(());
    }
    let (there, back) = sizes.specs(false, sizes.batch);
    let (kernel, _) = sizes.specs(false, sizes.kernels);
    let mut padded = filled(sizes.padded, T::zero())?;
    let mut spectra = filled(sizes.spectrum(false) * sizes.batch, zero::<T>())?;
    let mut kernels = filled(sizes.spectrum(false) * sizes.kernels, zero::<T>())?;
    fill((sizes, sizes.batch), |axis| axis.x, T::zero(), x, &mut padded);
    transform(&there, Data::Forward(&padded, &mut spectra))?;
    let some = padded.get_mut(..sizes.points * sizes.kernels).unwrap_or_default();
    let h = |i: usize| h(if correlate { backwards(sizes, i) } else { i });
    fill((sizes, sizes.kernels), |axis| axis.h, T::zero(), h, some);
    transform(&kernel, Data::Forward(some, &mut kernels))?;
    multiply(&mut spectra, &kernels, 1.0 / sizes.points as f64);
    drop(kernels);
    transform(&back, Data::Backward(&spectra, &mut padded))?;
    take(sizes, &padded, put);
    Ok(())
}

/// Convolves complex numbers.
pub(in super::super) fn convolve_complex<T: Real>(
    work: &HostConvolution<'_>,
    x: impl Fn(usize) -> Complex<T>,
    h: impl Fn(usize) -> Complex<T>,
    put: impl FnMut(usize, Complex<T>),
) -> Result<()> {
    let HostConvolution { sizes, correlate } = *work;
    if sizes.outputs == 0 {
        return Ok(());
    }
    let (there, back) = sizes.specs(true, sizes.batch);
    let (kernel, _) = sizes.specs(true, sizes.kernels);
    let mut padded = filled(sizes.padded, zero::<T>())?;
    let mut kernels = filled(sizes.points * sizes.kernels, zero::<T>())?;
    fill((sizes, sizes.batch), |axis| axis.x, zero(), x, &mut padded);
    transform(&there, Data::ComplexInPlace(&mut padded))?;
    let h = |i: usize| if correlate { h(backwards(sizes, i)).conj() } else { h(i) };
    fill((sizes, sizes.kernels), |axis| axis.h, zero(), h, &mut kernels);
    transform(&kernel, Data::ComplexInPlace(&mut kernels))?;
    multiply(&mut padded, &kernels, 1.0 / sizes.points as f64);
    drop(kernels);
    transform(&back, Data::ComplexInPlace(&mut padded))?;
    take(sizes, &padded, put);
    Ok(())
}
