//! Frames of signals: cut out and transformed; transformed back and overlapped.

use super::super::frames::{FrameSizes, HostFrames};
use super::lines::Writer;
use super::threads::each_range;
use super::{Data, Real, filled, run, zero};
use crate::core::error::Result;
use crate::core::room::collected;
use num_complex::Complex;
use rustfft::num_traits::Float;

/// The index in a signal of the element at `at`, counted from the beginning of the first frame. `None` for a zero.
fn source(sizes: &FrameSizes, at: usize) -> Option<usize> {
    let FrameSizes { len, before, mirrored, .. } = *sizes;
    match at.checked_sub(before) {
        Some(at) if at < len => Some(at),
        Some(at) if mirrored => (2 * (len - 1)).checked_sub(at),
        None if mirrored => Some(before - at),
        _ => None,
    }
}

/// The spectra of all frames. `x` returns the element of a given index.
pub(in super::super) fn stft<T: Real>(
    work: &HostFrames<'_>,
    x: impl Fn(usize) -> T + Sync,
    window: &[T],
    spectra: &mut [Complex<T>],
) -> Result<()> {
    let HostFrames { spec, sizes } = work;
    let (n, hop, frames) = (sizes.n, sizes.hop, sizes.frames);
    let mut all = filled(sizes.lines * n, T::zero())?;
    let writer = Writer::new(&mut all);
    each_range(sizes.lines, 1, n, &|range| {
        for line in range {
            // SAFETY: frame `line` of all, which no other range has.
            let to = unsafe { writer.slice(line * n, n) };
            let (array, first) = (line / frames * sizes.len, line % frames * hop);
            for (j, (to, weight)) in to.iter_mut().zip(window).enumerate() {
                *to = source(sizes, first + j).map_or(T::zero(), |at| x(array + at) * *weight);
            }
        }
    });
    run(&spec.transform(sizes, false).geometry()?, Data::Forward(&all, spectra), spec.factor(false))
}

/// The signals of all spectra.
pub(in super::super) fn istft<T: Real>(
    work: &HostFrames<'_>,
    spectra: &[Complex<T>],
    window: &[T],
    y: &mut [T],
) -> Result<()> {
    let HostFrames { spec, sizes } = work;
    let FrameSizes { len, n, hop, before, frames, .. } = *sizes;
    let mut all = filled(sizes.lines * n, T::zero())?;
    run(&spec.transform(sizes, true).geometry()?, Data::Backward(spectra, &mut all), spec.factor(true))?;
    // Where the window is only noise beside its largest weight, nothing is left of the numbers.
    let largest = window.iter().map(|weight| Float::abs(*weight)).fold(T::zero(), Float::max);
    let least = largest * T::epsilon() * T::nearest(16.0);
    let least = least * least;
    let (count, writer) = (y.len(), Writer::new(y));
    each_range(count, 1, 2 * n.div_ceil(hop), &|range| {
        // SAFETY: ranges are disjoint parts of the signals.
        let some = unsafe { writer.slice(range.start, range.len()) };
        for (to, i) in some.iter_mut().zip(range) {
            let (array, at) = (i / len, i % len + before);
            let first = if at < n { 0 } else { (at - n) / hop + 1 };
            let (mut sum, mut weights) = (T::zero(), T::zero());
            for frame in first..(at / hop + 1).min(frames) {
                let j = at - frame * hop;
                let number = all.get((array * frames + frame) * n + j).copied().unwrap_or(T::zero());
                let weight = window.get(j).copied().unwrap_or(T::zero());
                sum = sum + number * weight;
                weights = weights + weight * weight;
            }
            *to = if weights > least { sum / weights } else { T::zero() };
        }
    });
    Ok(())
}

/// [`stft`] of halves, in f32.
pub(in super::super) fn stft_halves<H: Copy + Sync>(
    work: &HostFrames<'_>,
    x: &[H],
    window: &[H],
    y: &mut [H],
    (widen, narrow): (impl Fn(H) -> f32 + Sync, impl Fn(f32) -> H),
) -> Result<()> {
    let window: Vec<f32> = collected(window.iter().map(|x| widen(*x)))?;
    let mut spectra = filled(y.len() / 2, zero::<f32>())?;
    stft(work, |i| x.get(i).map_or(0.0, |x| widen(*x)), &window, &mut spectra)?;
    let parts = spectra.iter().flat_map(|x| [x.re, x.im]);
    y.iter_mut().zip(parts).for_each(|(to, from)| *to = narrow(from));
    Ok(())
}

/// [`istft`] of halves, in f32.
pub(in super::super) fn istft_halves<H: Copy + Sync>(
    work: &HostFrames<'_>,
    x: &[H],
    window: &[H],
    y: &mut [H],
    (widen, narrow): (impl Fn(H) -> f32 + Sync, impl Fn(f32) -> H),
) -> Result<()> {
    let window: Vec<f32> = collected(window.iter().map(|x| widen(*x)))?;
    let mut spectra = filled(x.len() / 2, zero::<f32>())?;
    let pairs = x.chunks_exact(2).filter_map(|pair| pair.first().zip(pair.last()));
    spectra.iter_mut().zip(pairs).for_each(|(to, (re, im))| *to = Complex::new(widen(*re), widen(*im)));
    let mut wide = filled(y.len(), 0.0f32)?;
    istft(work, &spectra, &window, &mut wide)?;
    y.iter_mut().zip(&wide).for_each(|(to, from)| *to = narrow(*from));
    Ok(())
}
