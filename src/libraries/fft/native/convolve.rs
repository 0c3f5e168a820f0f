//! Convolutions on a GPU: both arrays are copied into larger ones and transformed, their spectra are multiplied, the
//! product is transformed back, and the wanted part is copied out. Halves are computed in f32.

use super::super::convolve::{Convolution, Numbers};
use super::super::convolve_sizes::{AxisSizes, Sizes};
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
use smallvec::SmallVec;

/// The transforms: of the arrays, of the kernels, and back.
struct Programs {
    arrays: Program,
    kernels: Program,
    back: Program,
}

impl Programs {
    fn new(sizes: &Sizes, complex: bool, computed: Precision) -> Result<Self> {
        let (there, back) = sizes.specs(complex, sizes.batch);
        let (kernels, _) = sizes.specs(complex, sizes.kernels);
        let (forth_input, back_input) =
            if complex { (Input::InPlace, Input::InPlace) } else { (Input::Kept, Input::Destroyed) };
        Ok(Programs {
            arrays: inner(&there, computed, forth_input, 1.0)?,
            kernels: inner(&kernels, computed, forth_input, 1.0)?,
            back: inner(&back, computed, back_input, 1.0)?,
        })
    }

    fn all(&self) -> [&Program; 3] {
        [&self.arrays, &self.kernels, &self.back]
    }
}

/// The copy of packed arrays into larger ones padded with zeros: its axes, and where it begins to read. `backwards`
/// reads the elements of each array from the last to the first, by strides that wrap around.
fn filled_up(
    sizes: &Sizes,
    arrays: usize,
    of: fn(&AxisSizes) -> usize,
    backwards: bool,
) -> (SmallVec<[Dim; 9]>, usize) {
    let mut dims = SmallVec::new();
    let (mut from, mut to) = (1usize, 1usize);
    for axis in sizes.axes.iter().rev() {
        let stride = if backwards { from.wrapping_neg() } else { from };
        dims.push(Dim { count: axis.n, inside: of(axis), from: stride, to });
        (from, to) = (from * of(axis), to * axis.n);
    }
    dims.push(Dim { count: arrays, inside: arrays, from, to });
    (dims, if backwards { from - 1 } else { 0 })
}

/// The copy of the wanted part: its axes, and where it begins to read.
fn cut_out(sizes: &Sizes) -> (SmallVec<[Dim; 9]>, usize) {
    let mut dims = SmallVec::new();
    let (mut from, mut to, mut begin) = (1usize, 1usize, 0usize);
    for axis in sizes.axes.iter().rev() {
        dims.push(Dim { count: axis.out, inside: axis.out, from, to });
        begin += axis.begin * from;
        (from, to) = (from * axis.n, to * axis.out);
    }
    dims.push(Dim { count: sizes.batch, inside: sizes.batch, from, to });
    (dims, begin)
}

impl<K: Numbers> Convolution<K> {
    /// Names the plans that it needs.
    pub(in super::super) fn plans(&self, plans: &mut Prepare<'_>) {
        let programs = || Programs::new(&self.spec.sizes()?, K::COMPLEX, computed(precision::<K::Real>()?));
        if let Ok(programs) = programs() {
            ask(&programs.all(), plans);
        }
    }

    /// Enqueues the convolution.
    pub(in super::super) fn enqueue(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let sizes = self.spec.sizes()?;
        if sizes.outputs == 0 {
            return Ok(());
        }
        let ((x, h), (y,)) = (*queue.reads(), *queue.writes());
        let stored = Number { precision: precision::<K::Real>()?, complex: K::COMPLEX };
        let number = Number { precision: computed(stored.precision), complex: K::COMPLEX };
        let complex = Number { complex: true, ..number };
        let programs = Programs::new(&sizes, K::COMPLEX, number.precision)?;
        let keys = layouts(&programs.all());

        let spectrum = sizes.spectrum(K::COMPLEX);
        let padded = queue.scratch(bytes(sizes.padded, number)?)?;
        // Complex numbers are transformed in place.
        let (spectra, kernels_padded) = match K::COMPLEX {
            true => (padded, queue.scratch(bytes(sizes.points * sizes.kernels, number)?)?),
            false => (queue.scratch(bytes(spectrum * sizes.batch, complex)?)?, padded),
        };
        let kernels = match K::COMPLEX {
            true => kernels_padded,
            false => queue.scratch(bytes(spectrum * sizes.kernels, complex)?)?,
        };
        let end = |place, number| End { place, number };
        let (outside, inside) = (end(StepMemory::From, stored), end(StepMemory::Scratch(0), number));

        let (dims, _) = filled_up(&sizes, sizes.batch, |axis| axis.x, false);
        // SAFETY: `x` holds its arrays (the op's check), the working memory holds all padded arrays.
        unsafe { kernels::fft_move(queue, (&outside, &inside), (x.address(), padded), &dims, false, 1.0) }?;
        // SAFETY: both hold what the transform of the padded arrays takes.
        unsafe { program::fft_program(queue, &programs.arrays, (padded, spectra), &keys) }?;

        let (dims, begin) = filled_up(&sizes, sizes.kernels, |axis| axis.h, self.correlate);
        let from = h.address() + (begin * stored.bytes()) as u64;
        // SAFETY: as above; backwards it begins with the last element of the first kernel and continues to its first.
        unsafe { kernels::fft_move(queue, (&outside, &inside), (from, kernels_padded), &dims, self.correlate, 1.0) }?;
        // SAFETY: as above.
        unsafe { program::fft_program(queue, &programs.kernels, (kernels_padded, kernels), &keys) }?;

        let totals = (spectrum * sizes.batch, spectrum * sizes.kernels);
        // SAFETY: both spectra are memory of this dispatch, of these sizes.
        unsafe {
            spectra::fft_multiply(queue, number.precision, (spectra, kernels), totals, 1.0 / sizes.points as f64)
        }?;
        // SAFETY: as above.
        unsafe { program::fft_program(queue, &programs.back, (spectra, padded), &keys) }?;

        let (dims, begin) = cut_out(&sizes);
        let from = padded + (begin * number.bytes()) as u64;
        let to = end(StepMemory::To, stored);
        // SAFETY: the wanted part lies inside the padded arrays, and `y` holds it (the op's check).
        unsafe { kernels::fft_move(queue, (&inside, &to), (from, y.address()), &dims, false, 1.0) }
    }
}
