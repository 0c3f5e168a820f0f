//! Our own kernels around inner transforms, compiled ahead from `spectra.cu`.

use super::super::frames::FrameSizes;
use super::steps::{Number, Precision};
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{KernelArg, Ptx};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::Op;
use std::ffi::CStr;

static SINGLE: Ptx = Ptx::new(include_str!("spectra_32.ptx"));
static DOUBLE: Ptx = Ptx::new(include_str!("spectra_64.ptx"));

/// The most threads of a launch; with more elements than that, each thread takes several.
const MOST_THREADS: usize = 1 << 24;

/// The precision in which numbers of a type are computed.
pub(super) fn computed(stored: Precision) -> Precision {
    if stored == Precision::F64 { Precision::F64 } else { Precision::F32 }
}

/// How many bytes `numbers` numbers take.
pub(super) fn bytes(numbers: usize, number: Number) -> Result<usize> {
    let bytes = numbers.checked_mul(number.bytes()).filter(|bytes| isize::try_from(*bytes).is_ok());
    bytes.ok_or_else(|| Error::invalid("shape", "the size of the working memory overflows"))
}

fn frames(stored: Precision) -> (&'static Ptx, &'static CStr) {
    match stored {
        Precision::F16 => (&SINGLE, c"frames_f16"),
        Precision::Bf16 => (&SINGLE, c"frames_bf16"),
        Precision::F32 => (&SINGLE, c"frames_f32"),
        Precision::F64 => (&DOUBLE, c"frames_f64"),
    }
}

fn overlap(stored: Precision) -> (&'static Ptx, &'static CStr) {
    match stored {
        Precision::F16 => (&SINGLE, c"overlap_f16"),
        Precision::Bf16 => (&SINGLE, c"overlap_bf16"),
        Precision::F32 => (&SINGLE, c"overlap_f32"),
        Precision::F64 => (&DOUBLE, c"overlap_f64"),
    }
}

fn largest(stored: Precision) -> (&'static Ptx, &'static CStr) {
    match stored {
        Precision::F16 => (&SINGLE, c"largest_f16"),
        Precision::Bf16 => (&SINGLE, c"largest_bf16"),
        Precision::F32 => (&SINGLE, c"largest_f32"),
        Precision::F64 => (&DOUBLE, c"largest_f64"),
    }
}

/// The parts in which the largest weight of a window is found (`PARTS` in `spectra.cu`).
const PARTS: usize = 128;

fn arguments<const N: usize>(sizes: &FrameSizes, places: [u64; N]) -> smallvec::SmallVec<[KernelArg; 12]> {
    let FrameSizes { len, n, hop, before, frames, arrays, .. } = *sizes;
    places.map(KernelArg::from).into_iter().chain([n, frames, arrays, len, hop, before].map(KernelArg::from)).collect()
}

/// `a[i] = a[i] * b[i % period] * scale`, for complex numbers.
///
/// # Safety
/// This dispatch may write `total` numbers at `a` and read `period` at `b`.
pub(super) unsafe fn fft_multiply<O: Op>(
    queue: &mut Enqueue<'_, O>,
    precision: Precision,
    (a, b): (u64, u64),
    (total, period): (usize, usize),
    scale: f64,
) -> Result<()> {
    if total == 0 || period == 0 {
        return Ok(());
    }
    let (ptx, name) = if precision == Precision::F64 { (&DOUBLE, c"multiply_c64") } else { (&SINGLE, c"multiply_c32") };
    let args = [a.into(), b.into(), total.into(), period.into(), KernelArg::from(0u32), scale.into()];
    // SAFETY: the arguments are the kernel's parameters in order and type; what it touches is the caller's promise.
    unsafe { queue.launch(ptx, name, LaunchDims::for_elements(total.min(MOST_THREADS))?, &args) }
}

/// Cuts frames out of signals and multiplies them by the window.
///
/// # Safety
/// This dispatch may write all frames at `work`, in the computed precision, and read the signals and the window.
pub(super) unsafe fn fft_frames<O: Op>(
    queue: &mut Enqueue<'_, O>,
    stored: Precision,
    sizes: &FrameSizes,
    (x, window, work): (u64, u64, u64),
) -> Result<()> {
    let mut args = arguments(sizes, [work, x, window]);
    args.push(u32::from(sizes.mirrored).into());
    let (ptx, name) = frames(stored);
    let threads = LaunchDims::for_elements((sizes.lines * sizes.n).min(MOST_THREADS))?;
    // SAFETY: the arguments are the kernel's parameters in order and type; what it touches is the caller's promise.
    unsafe { queue.launch(ptx, name, threads, &args) }
}

/// Overlaps frames, and multiplies every element by `scale`.
///
/// # Safety
/// This dispatch may write the signals at `y`, and read the window and the frames at `work`, in the computed
/// precision.
pub(super) unsafe fn fft_overlap<O: Op>(
    queue: &mut Enqueue<'_, O>,
    stored: Precision,
    sizes: &FrameSizes,
    (work, window, y): (u64, u64, u64),
    scale: f64,
) -> Result<()> {
    let parts = queue.scratch(bytes(PARTS, Number { precision: computed(stored), complex: false })?)?;
    let (ptx, name) = largest(stored);
    let args = [parts.into(), window.into(), KernelArg::from(sizes.n)];
    // SAFETY: the arguments are the kernel's parameters in order and type; it reads the window and writes `PARTS` numbers of
    // scratch.
    unsafe { queue.launch(ptx, name, LaunchDims::for_elements(PARTS)?, &args) }?;
    let mut args = arguments(sizes, [y, work, window, parts]);
    args.push(scale.into());
    let (ptx, name) = overlap(stored);
    let threads = LaunchDims::for_elements(sizes.signals.min(MOST_THREADS))?;
    // SAFETY: the arguments are the kernel's parameters in order and type; what it touches is the caller's promise.
    unsafe { queue.launch(ptx, name, threads, &args) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_in_the_text_that_it_is_looked_for_in() {
        let mut all = vec![(&SINGLE, c"multiply_c32"), (&DOUBLE, c"multiply_c64")];
        for stored in [Precision::F16, Precision::Bf16, Precision::F32, Precision::F64] {
            all.extend([frames(stored), largest(stored), overlap(stored)]);
        }
        for (ptx, name) in all {
            assert!(ptx.text().contains(&format!(".entry {}(", name.to_str().unwrap_or_default())), "{name:?}");
        }
    }
}
