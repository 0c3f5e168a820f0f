//! Short-time transforms on a GPU: a kernel cuts out frames, which are transformed; or spectra are transformed back,
//! and a kernel overlaps the frames. Halves are computed in f32.

use super::super::element::FftReal;
use super::super::frames::{Apart, FrameSizes, Signals, Together};
use super::precision;
use super::program::{Input, ask, inner, layouts};
use super::spectra::{bytes, computed};
use super::steps::{Dim, End, Number, Precision, Program, StepMemory};
use crate::core::error::Result;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::Prepare;
use crate::libraries::fft::native::kernels;
use crate::libraries::fft::native::program;
use crate::libraries::fft::native::spectra;

/// The transform of all frames. If the spectra are halves, the factor is applied by the copy.
fn transform(spec: &Signals, sizes: &FrameSizes, inverse: bool, stored: Precision) -> Result<Program> {
    let computed = computed(stored);
    let scale = if inverse || stored != computed { 1.0 } else { spec.factor(false) };
    // Spectra of halves are copied into working memory.
    let input = if inverse && stored != computed { Input::Destroyed } else { Input::Kept };
    inner(&spec.transform(sizes, inverse), computed, input, scale)
}

fn plans<R: FftReal>(spec: &Signals, inverse: bool, plans: &mut Prepare<'_>) {
    let program = || transform(spec, &spec.sizes()?, inverse, precision::<R>()?);
    if let Ok(program) = program() {
        ask(&[&program], plans);
    }
}

/// A copy of `count` consecutive numbers.
fn row(count: usize) -> [Dim; 1] {
    [Dim { count, inside: count, from: 1, to: 1 }]
}

impl<R: FftReal> Apart<R> {
    /// Names the plans that it needs.
    pub(in super::super) fn plans(&self, to: &mut Prepare<'_>) {
        plans::<R>(&self.spec, false, to);
    }

    /// Enqueues the transform.
    pub(in super::super) fn enqueue(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let sizes = self.spec.sizes()?;
        if sizes.lines == 0 {
            return Ok(());
        }
        let ((x, window), (y,)) = (*queue.reads(), *queue.writes());
        let stored = Number { precision: precision::<R>()?, complex: true };
        let number = Number { precision: computed(stored.precision), complex: true };
        let program = transform(&self.spec, &sizes, false, stored.precision)?;
        let keys = layouts(&[&program]);
        let frames = queue.scratch(bytes(sizes.lines * sizes.n, Number { complex: false, ..number })?)?;
        // SAFETY: the signals and the window are operands of these sizes (the op's check), the frames memory for all of them.
        unsafe { spectra::fft_frames(queue, stored.precision, &sizes, (x.address(), window.address(), frames)) }?;
        if stored == number {
            // SAFETY: `y` holds all spectra (the op's check).
            return unsafe { program::fft_program(queue, &program, (frames, y.address()), &keys) };
        }
        let wide = queue.scratch(bytes(sizes.spectra, number)?)?;
        // SAFETY: the working memory holds all spectra.
        unsafe { program::fft_program(queue, &program, (frames, wide), &keys) }?;
        let ends = (End { place: StepMemory::From, number }, End { place: StepMemory::To, number: stored });
        let places = (wide, y.address());
        // SAFETY: both hold all spectra.
        unsafe {
            kernels::fft_move(queue, (&ends.0, &ends.1), places, &row(sizes.spectra), false, self.spec.factor(false))
        }
    }
}

impl<R: FftReal> Together<R> {
    /// Names the plans that it needs.
    pub(in super::super) fn plans(&self, to: &mut Prepare<'_>) {
        plans::<R>(&self.spec, true, to);
    }

    /// Enqueues the transform.
    pub(in super::super) fn enqueue(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let sizes = self.spec.sizes()?;
        if sizes.lines == 0 {
            return Ok(());
        }
        let ((x, window), (y,)) = (*queue.reads(), *queue.writes());
        let stored = Number { precision: precision::<R>()?, complex: true };
        let number = Number { precision: computed(stored.precision), complex: true };
        let program = transform(&self.spec, &sizes, true, stored.precision)?;
        let keys = layouts(&[&program]);
        let frames = queue.scratch(bytes(sizes.lines * sizes.n, Number { complex: false, ..number })?)?;
        let spectra = if stored == number {
            x.address()
        } else {
            let wide = queue.scratch(bytes(sizes.spectra, number)?)?;
            let ends = (End { place: StepMemory::From, number: stored }, End { place: StepMemory::To, number });
            // SAFETY: both hold all spectra (the op's check).
            unsafe {
                kernels::fft_move(queue, (&ends.0, &ends.1), (x.address(), wide), &row(sizes.spectra), false, 1.0)
            }?;
            wide
        };
        // SAFETY: all spectra, and working memory for all frames.
        unsafe { program::fft_program(queue, &program, (spectra, frames), &keys) }?;
        let (places, factor) = ((frames, window.address(), y.address()), self.spec.factor(true));
        // SAFETY: `y` holds the signals, the window a frame (the op's check).
        unsafe { spectra::fft_overlap(queue, stored.precision, &sizes, places, factor) }
    }
}
