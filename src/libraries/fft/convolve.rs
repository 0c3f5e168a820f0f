//! Convolution and correlation by Fourier transforms.

use super::Fft;
#[cfg(feature = "host")]
use super::convolve_sizes::Sizes;
use super::dims::Dims;
use super::element::{FftComplex, FftReal};
use super::layouts::numbers;
use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Cost, OperandNames, Spans, Wire};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::engines::op::Prepare;
use crate::engines::op::{HostOf, Op, Slices, SlicesMut};
use crate::libraries::operands::check_packed;
use serde::{Deserialize, Serialize};
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

/// A convolution or correlation: what the tensors do not say. Plain data.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::fft::{Convolve, Mode};
/// let spec = Convolve::new().mode(Mode::Same);
/// assert_eq!(spec.output_shape([3, 480, 640], [5, 5])?, [3, 480, 640]); // three images, one filter
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct Convolve {
    mode: Mode,
    axes: Option<usize>,
}

impl Convolve {
    /// Over all axes of `h`, the full result.
    pub fn new() -> Self {
        Convolve::default()
    }

    /// Which part to return; [`Mode::Full`] by default.
    pub fn mode(self, mode: Mode) -> Self {
        Convolve { mode, ..self }
    }

    /// Over the last `axes` axes only. The axes before are a batch: those of `h` are none, for one `h` of all arrays, or those
    /// of `x`, for an `h` of each array. By default over as many axes as `h` has.
    pub fn axes(self, axes: usize) -> Self {
        Convolve { axes: Some(axes), ..self }
    }

    /// The extents of the output for numbers of these extents (of halves, complex numbers have one more axis, of two elements).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for extents that do not match.
    pub fn output_shape(&self, x: impl AsRef<[usize]>, h: impl AsRef<[usize]>) -> Result<Vec<usize>> {
        let (x, h) = (x.as_ref(), h.as_ref());
        let sizes = self.shapes(x, h)?.sizes()?;
        let batch = x.len().saturating_sub(sizes.axes.len());
        Ok(x.iter().take(batch).copied().chain(sizes.axes.iter().map(|axis| axis.out)).collect())
    }

    /// The arrays that the tensors are.
    fn shapes(&self, x: &[usize], h: &[usize]) -> Result<Shapes> {
        let axes = self.axes.unwrap_or(h.len());
        let refused = |name, what: String| Err(Error::invalid(name, format!("{what}, of x {x:?} and h {h:?}")));
        let (Some(batch), Some(own)) = (x.len().checked_sub(axes), h.len().checked_sub(axes)) else {
            let name = if h.len() < axes { "h" } else { "x" };
            return refused(name, format!("a convolution of {axes} axes needs as many"));
        };
        let ((batch, x_axes), (own, h_axes)) = (x.split_at(batch), h.split_at(own));
        if !own.is_empty() && own != batch {
            return refused("h", format!("the axes before the last {axes} are those of `x`, or none"));
        }
        let batch = batch.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        let batch = batch.ok_or_else(|| Error::invalid("x", "the number of elements overflows"))?;
        Ok(Shapes { x: x_axes.into(), h: h_axes.into(), mode: self.mode, batch, own: !own.is_empty() })
    }
}

/// The arrays of a convolution, as the op has them: packed, those of a batch one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Shapes {
    pub(super) x: Dims,
    pub(super) h: Dims,
    pub(super) mode: Mode,
    pub(super) batch: usize,
    /// Each array of the batch has its own `h`.
    pub(super) own: bool,
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
    pub(super) spec: Shapes,
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
    fn convolution<K: Numbers>(
        &self,
        (spec, correlate): (&Convolve, bool),
        [x, h]: [TensorRef<'_, K::Element>; 2],
        y: Part<K::Element>,
    ) -> Submitted<Tensor<K::Element>> {
        let (y, of_y, whole) = y.operand();
        let made = x.operand().and_then(|(x, of_x)| {
            let (h, of_h) = h.operand()?;
            Ok((x, h, shapes::<K>(spec, [of_x, of_h, of_y])?))
        });
        match made {
            Ok((x, h, spec)) => {
                let op = Convolution::<K> { spec, correlate, _numbers: PhantomData };
                whole.submitted(self.device.dispatch(op, (x, h), (y,)))
            }
            Err(error) => Err(Rejected::new(error.in_op("convolve", "fft"), (whole.tensor(y),))),
        }
    }

    /// `y` = the convolution of real `x` and `h`, `y[k] = sum over j of x[j] h[k - j]`; SciPy's `fftconvolve`. It is over the axes
    /// of `h`; the axes of `x` before are a batch. [`Convolve::output_shape`] tells the extents of `y`.
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
    /// [`Error::InvalidArgument`] for extents that do not match, and for a tensor that is not in row-major order without gaps:
    /// [`Device::contiguous`](crate::Device::contiguous) makes a copy that is; a stale or foreign tensor.
    /// `y` comes back. [`Error::OutOfMemory`], at the wait: the workspace holds both padded arrays and their spectra.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::fft::Convolve;
    /// let device = windlass::Device::host()?;
    /// let (x, h) = (device.tensor([2, 3], [1.0f64, 2.0, 3.0, 0.0, 0.0, 0.0])?, device.buffer([1.0f64, 1.0])?);
    /// let y = device.fft().convolve(&Convolve::new(), &x, &h, device.uninit([2, 4])?)?.await_result()?;
    /// let want = device.tensor([2, 4], [1.0, 3.0, 5.0, 3.0, 0.0, 0.0, 0.0, 0.0])?;
    /// assert!(device.allclose(&y, &want, 0.0, 1e-14)?);
    /// # Ok(()) }
    /// ```
    pub fn convolve<'a, 'b, R: FftReal>(
        &self,
        spec: &Convolve,
        x: impl ReadableTensor<'a, R>,
        h: impl ReadableTensor<'b, R>,
        y: impl WritableTensor<R>,
    ) -> Submitted<Tensor<R>> {
        self.convolution::<Reals<R>>((spec, false), [x.into(), h.into()], y.into())
    }

    /// As [`convolve`](Self::convolve), for complex numbers.
    ///
    /// # Errors
    /// As [`convolve`](Self::convolve).
    pub fn convolve_complex<'a, 'b, C: FftComplex>(
        &self,
        spec: &Convolve,
        x: impl ReadableTensor<'a, C>,
        h: impl ReadableTensor<'b, C>,
        y: impl WritableTensor<C>,
    ) -> Submitted<Tensor<C>> {
        self.convolution::<Complexes<C>>((spec, false), [x.into(), h.into()], y.into())
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
    /// let (x, h) = (device.buffer([0.0f32, 1.0, 2.0, 1.0, 0.0])?, device.buffer([1.0f32, 2.0, 1.0])?);
    /// let spec = Convolve::new().mode(Mode::Valid);
    /// let y = device.fft().correlate(&spec, &x, &h, device.uninit(3)?)?.await_result()?;
    /// let y = device.to_vec(&y)?;
    /// assert!((y[1] - 6.0).abs() < 1e-5 && y[0] < y[1] && y[2] < y[1]);
    /// # Ok(()) }
    /// ```
    pub fn correlate<'a, 'b, R: FftReal>(
        &self,
        spec: &Convolve,
        x: impl ReadableTensor<'a, R>,
        h: impl ReadableTensor<'b, R>,
        y: impl WritableTensor<R>,
    ) -> Submitted<Tensor<R>> {
        self.convolution::<Reals<R>>((spec, true), [x.into(), h.into()], y.into())
    }

    /// As [`correlate`](Self::correlate), for complex numbers: the convolution with the conjugate of `h`, reversed.
    ///
    /// # Errors
    /// As [`convolve`](Self::convolve).
    pub fn correlate_complex<'a, 'b, C: FftComplex>(
        &self,
        spec: &Convolve,
        x: impl ReadableTensor<'a, C>,
        h: impl ReadableTensor<'b, C>,
        y: impl WritableTensor<C>,
    ) -> Submitted<Tensor<C>> {
        self.convolution::<Complexes<C>>((spec, true), [x.into(), h.into()], y.into())
    }
}

/// The arrays that the tensors are: each without gaps, and the output of its extents.
fn shapes<K: Numbers>(spec: &Convolve, [x, h, y]: [Layout; 3]) -> Result<Shapes> {
    for (name, layout) in [("x", &x), ("h", &h), ("y", &y)] {
        check_packed(name, layout)?;
    }
    let [x, h, y] = [numbers("x", x, K::PER)?, numbers("h", h, K::PER)?, numbers("y", y, K::PER)?];
    let want = spec.output_shape(x.shape(), h.shape())?;
    if y.shape() != want {
        let what = format!("{:?}, but x {:?} and h {:?} make {want:?}", y.shape(), x.shape(), h.shape());
        return Err(Error::invalid("y", what));
    }
    spec.shapes(x.shape(), h.shape())
}
