//! Convolution and correlation by Fourier transforms.

use super::Fft;
#[cfg(feature = "host")]
use super::convolve_sizes::Sizes;
use super::dims::{Dims, MOST_AXES};
use super::element::{FftComplex, FftReal};
use crate::core::buffer::{DeviceBuffer, In, Readable};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::device::dispatch::Submitted;
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::engines::op::Prepare;
use crate::engines::op::{HostOf, Op, Slices, SlicesMut};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::marker::PhantomData;

/// Which part of a convolution to return. The names are SciPy's and NumPy's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// All of it: `x + h - 1` points along each axis.
    #[default]
    Full,
    /// As many points as the input has, from the middle of the full result.
    Same,
    /// The points where the shorter array lies wholly inside the longer one: along each axis one more than their difference.
    Valid,
}

/// A convolution or correlation of packed arrays. Plain data.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::fft::{Convolve, Mode};
/// let spec = Convolve::new([480, 640], [5, 5]).mode(Mode::Same).batch(3); // three images, one filter
/// assert_eq!(spec.output_shape()?.as_slice(), [480, 640]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use]
pub struct Convolve {
    pub(super) x: Dims,
    pub(super) h: Dims,
    pub(super) mode: Mode,
    pub(super) batch: usize,
    pub(super) own: bool,
}

impl Convolve {
    /// Convolves an array of shape `x` with one of shape `h`; both have the same number of axes.
    pub fn new(x: impl Into<Dims>, h: impl Into<Dims>) -> Self {
        Convolve { x: x.into(), h: h.into(), mode: Mode::Full, batch: 1, own: false }
    }

    /// Which part to return; [`Mode::Full`] by default.
    pub fn mode(self, mode: Mode) -> Self {
        Convolve { mode, ..self }
    }

    /// A batch of arrays `x`, one after another. All use the same `h` unless each has its [own](Self::own_kernels).
    pub fn batch(self, batch: usize) -> Self {
        Convolve { batch, ..self }
    }

    /// Each array of the batch has its own `h`. These too lie one after another.
    pub fn own_kernels(self) -> Self {
        Convolve { own: true, ..self }
    }

    /// The shape of one array of the output.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for shapes that do not match.
    pub fn output_shape(&self) -> Result<Dims> {
        let sizes = self.sizes()?;
        Ok(sizes.axes.iter().map(|axis| axis.out).collect::<SmallVec<[usize; MOST_AXES]>>().into())
    }

    /// How many numbers the output has, with the batch.
    ///
    /// # Errors
    /// As [`output_shape`](Self::output_shape).
    pub fn output_len(&self) -> Result<usize> {
        Ok(self.sizes()?.outputs)
    }
}

/// The numbers that are convolved: real or complex.
pub(super) trait Numbers: Send + Sync + 'static {
    type Element: Element;
    type Real: FftReal;
    const COMPLEX: bool;
    /// Elements of a buffer for each number.
    const PER: usize;
    #[cfg(feature = "host")]
    fn convolve(
        work: &HostConvolution<'_>,
        x: &[Self::Element],
        h: &[Self::Element],
        y: &mut [Self::Element],
    ) -> Result<()>;
}

/// A convolution as the host engine takes it. Opaque.
#[doc(hidden)]
#[cfg(feature = "host")]
pub struct HostConvolution<'s> {
    pub(super) sizes: &'s Sizes,
    pub(super) correlate: bool,
}

pub(super) struct Reals<R>(PhantomData<fn() -> R>);
pub(super) struct Complexes<C>(PhantomData<fn() -> C>);

impl<R: FftReal> Numbers for Reals<R> {
    type Element = R;
    type Real = R;
    const COMPLEX: bool = false;
    const PER: usize = 1;
    #[cfg(feature = "host")]
    fn convolve(work: &HostConvolution<'_>, x: &[R], h: &[R], y: &mut [R]) -> Result<()> {
        R::convolve(work, x, h, y)
    }
}

impl<C: FftComplex> Numbers for Complexes<C> {
    type Element = C;
    type Real = C::Real;
    const COMPLEX: bool = true;
    const PER: usize = C::Real::PER_COMPLEX;
    #[cfg(feature = "host")]
    fn convolve(work: &HostConvolution<'_>, x: &[C], h: &[C], y: &mut [C]) -> Result<()> {
        C::convolve_complex(work, x, h, y)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Convolution<K> {
    pub(super) spec: Convolve,
    /// Uses the conjugate of `h`, reversed along every axis.
    pub(super) correlate: bool,
    _numbers: PhantomData<fn() -> K>,
}

impl<K: Numbers> Op for Convolution<K> {
    const NAME: &'static str = "convolve";
    const OPERANDS: OperandNames = (&["x", "h"], &["y"]);
    const LIBRARY: &'static str = "fft";
    const PREPARED: bool = true;
    type Reads = (K::Element, K::Element);
    type Output = DeviceBuffer<K::Element>;
    type Raw = ();

    fn check(&self, (x, h): &Spans<Self::Reads>, (y,): &Spans<(K::Element,)>) -> Result<()> {
        let sizes = self.spec.sizes()?;
        for (name, len, numbers) in
            [("x", x.len(), sizes.inputs), ("h", h.len(), sizes.weights), ("y", y.len(), sizes.outputs)]
        {
            if numbers.checked_mul(K::PER) != Some(len) {
                let each = if K::PER == 2 { ", of two elements each" } else { "" };
                return Err(Error::invalid(
                    name,
                    format!("{len} elements, but the arrays have {numbers} numbers{each}"),
                ));
            }
        }
        Ok(())
    }

    fn overwrites(&self, _: &Spans<(K::Element,)>) -> bool {
        true // if the length differs, `check` fails after this
    }

    fn cost(&self) -> Cost {
        let Ok(sizes) = self.spec.sizes() else { return Cost::default() };
        let (padded, points) = (sizes.padded as f64, sizes.points as f64);
        let flops = 7.5 * padded * points.log2() * if K::COMPLEX { 2.0 } else { 1.0 };
        let numbers = sizes.inputs.saturating_add(sizes.weights).saturating_add(sizes.outputs) as u64;
        Cost { flops: flops as u64, bytes: numbers.saturating_mul((size_of::<K::Element>() * K::PER) as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (x, h): Slices<'_, Self>, (y,): SlicesMut<'_, Self>) -> Result<()> {
        let sizes = self.spec.sizes()?;
        K::convolve(&HostConvolution { sizes: &sizes, correlate: self.correlate }, x, h, y)
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Self::Reads>, _: &Spans<(K::Element,)>, plans: &mut Prepare<'_>) {
        self.plans(plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.enqueue(queue)
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no CUDA engine (feature `cuda`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<HostOf<Self>> {
        Ok(())
    }
}

impl Fft {
    fn convolution<'a, K: Numbers>(
        &self,
        (spec, correlate): (&Convolve, bool),
        x: In<'a, K::Element>,
        h: In<'a, K::Element>,
        y: DeviceBuffer<K::Element>,
    ) -> Submitted<DeviceBuffer<K::Element>> {
        self.device.dispatch(Convolution::<K> { spec: *spec, correlate, _numbers: PhantomData }, (x, h), (y,))
    }

    /// `y` = the convolution of real `x` and `h` over all axes, `y[k] = sum over j of x[j] h[k - j]`; SciPy's `fftconvolve`.
    ///
    /// The arrays are transformed as a whole, so a NaN or an infinity in `x` or `h` makes every element of y NaN, also
    /// those to which it does not contribute.
    ///
    /// Each point has an error of a few units in the last place of the largest point, as with all results computed by
    /// Fourier transforms. So a NaN or an infinity in `x` or `h`, or a sum that overflows, makes any point of that array's
    /// result NaN or infinite, also those that the formula does not make of it. Other arrays of a batch are not touched,
    /// unless it is in the `h` that they share.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for shapes that do not match or do not fit the buffers; a stale or foreign buffer.
    /// `y` comes back. [`Error::OutOfMemory`], at the wait: the workspace holds both padded arrays and their spectra.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::fft::Convolve;
    /// let device = windlass::Device::host()?;
    /// let x = device.upload(vec![1.0f64, 2.0, 3.0])?.into_output();
    /// let h = device.upload(vec![1.0f64, 1.0])?.into_output();
    /// let spec = Convolve::new([3], [2]);
    /// let y = device.fft().convolve(&spec, &x, &h, device.uninit(spec.output_len()?)?)?.await_result()?;
    /// let y = device.download(&y)?.await_result()?;
    /// assert!(y.iter().zip([1.0, 3.0, 5.0, 3.0]).all(|(y, want)| (y - want).abs() < 1e-14));
    /// # Ok(()) }
    /// ```
    pub fn convolve<'a, R: FftReal>(
        &self,
        spec: &Convolve,
        x: impl Readable<'a, R>,
        h: impl Readable<'a, R>,
        y: DeviceBuffer<R>,
    ) -> Submitted<DeviceBuffer<R>> {
        self.convolution::<Reals<R>>((spec, false), x.into(), h.into(), y)
    }

    /// As [`convolve`](Self::convolve), for complex numbers.
    ///
    /// # Errors
    /// As [`convolve`](Self::convolve).
    pub fn convolve_complex<'a, C: FftComplex>(
        &self,
        spec: &Convolve,
        x: impl Readable<'a, C>,
        h: impl Readable<'a, C>,
        y: DeviceBuffer<C>,
    ) -> Submitted<DeviceBuffer<C>> {
        self.convolution::<Complexes<C>>((spec, false), x.into(), h.into(), y)
    }

    /// `y` = the correlation of real `x` with `h`: the convolution with `h` reversed; SciPy's `correlate`. The point
    /// where both begin together has the index `h - 1` along each axis of [`Mode::Full`].
    ///
    /// # Errors
    /// As [`convolve`](Self::convolve).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::fft::{Convolve, Mode};
    /// let device = windlass::Device::host()?;
    /// let x = device.upload(vec![0.0f32, 1.0, 2.0, 1.0, 0.0])?.into_output();
    /// let h = device.upload(vec![1.0f32, 2.0, 1.0])?.into_output();
    /// let spec = Convolve::new([5], [3]).mode(Mode::Valid);
    /// let y = device.fft().correlate(&spec, &x, &h, device.uninit(3)?)?.await_result()?;
    /// let y = device.download(&y)?.await_result()?;
    /// assert!((y[1] - 6.0).abs() < 1e-5 && y[0] < y[1] && y[2] < y[1]);
    /// # Ok(()) }
    /// ```
    pub fn correlate<'a, R: FftReal>(
        &self,
        spec: &Convolve,
        x: impl Readable<'a, R>,
        h: impl Readable<'a, R>,
        y: DeviceBuffer<R>,
    ) -> Submitted<DeviceBuffer<R>> {
        self.convolution::<Reals<R>>((spec, true), x.into(), h.into(), y)
    }

    /// As [`correlate`](Self::correlate), for complex numbers: the convolution with the conjugate of `h`, reversed.
    ///
    /// # Errors
    /// As [`convolve`](Self::convolve).
    pub fn correlate_complex<'a, C: FftComplex>(
        &self,
        spec: &Convolve,
        x: impl Readable<'a, C>,
        h: impl Readable<'a, C>,
        y: DeviceBuffer<C>,
    ) -> Submitted<DeviceBuffer<C>> {
        self.convolution::<Complexes<C>>((spec, true), x.into(), h.into(), y)
    }
}
