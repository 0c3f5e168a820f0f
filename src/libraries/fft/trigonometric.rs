//! Cosine and sine transforms of real arrays: `dct` and `dst`, kinds I to IV.

use super::layouts::places;
use super::problem::Problem;
use super::simple::Pending;
use super::spec::{Direction, Normalization};
use super::{Fft, FftReal};
use crate::core::buffer::DeviceBuffer;
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
use smallvec::SmallVec;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::marker::PhantomData;

/// A kind of cosine or sine transform, by its usual number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Trig {
    /// `x[0] + (-1)^k x[n-1] + 2 sum over 0 < j < n-1 of x[j] cos(pi j k / (n - 1))`; of two points at least.
    Dct1,
    /// `2 sum of x[j] cos(pi k (2 j + 1) / (2 n))`: "the" cosine transform.
    Dct2,
    /// `x[0] + 2 sum over 0 < j of x[j] cos(pi j (2 k + 1) / (2 n))`, which undoes kind II.
    Dct3,
    /// `2 sum of x[j] cos(pi (2 j + 1) (2 k + 1) / (4 n))`.
    Dct4,
    /// `2 sum of x[j] sin(pi (j + 1) (k + 1) / (n + 1))`.
    Dst1,
    /// `2 sum of x[j] sin(pi (k + 1) (2 j + 1) / (2 n))`.
    Dst2,
    /// `(-1)^k x[n-1] + 2 sum over j < n-1 of x[j] sin(pi (j + 1) (2 k + 1) / (2 n))`, which undoes kind II.
    Dst3,
    /// `2 sum of x[j] sin(pi (2 j + 1) (2 k + 1) / (4 n))`.
    Dst4,
}

impl Trig {
    /// The kind that undoes this one, up to a factor.
    pub fn inverse(self) -> Self {
        match self {
            Trig::Dct2 => Trig::Dct3,
            Trig::Dct3 => Trig::Dct2,
            Trig::Dst2 => Trig::Dst3,
            Trig::Dst3 => Trig::Dst2,
            other => other,
        }
    }

    /// The number of the kind, and whether it is a sine transform.
    #[cfg(feature = "cuda")]
    pub(super) fn number(self) -> (u32, bool) {
        match self {
            Trig::Dct1 => (1, false),
            Trig::Dct2 => (2, false),
            Trig::Dct3 => (3, false),
            Trig::Dct4 => (4, false),
            Trig::Dst1 => (1, true),
            Trig::Dst2 => (2, true),
            Trig::Dst3 => (3, true),
            Trig::Dst4 => (4, true),
        }
    }

    /// The length of the Fourier transform that it is a part of: the `N` of the factor `1 / N`.
    fn length(self, n: usize) -> f64 {
        match self {
            Trig::Dct1 => 2.0 * (n as f64 - 1.0),
            Trig::Dst1 => 2.0 * (n as f64 + 1.0),
            _ => 2.0 * n as f64,
        }
    }
}

/// The factor of one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    None,
    Full,
    Root,
}

impl Scale {
    pub(super) fn new(norm: Normalization, direction: Direction) -> Self {
        match (norm, direction) {
            (Normalization::Ortho, _) => Scale::Root,
            (Normalization::Backward, Direction::Inverse) | (Normalization::Forward, Direction::Forward) => Scale::Full,
            _ => Scale::None,
        }
    }

    pub(super) fn factor(self, trig: Trig, n: usize) -> f64 {
        match self {
            Scale::None => 1.0,
            Scale::Full => 1.0 / trig.length(n),
            Scale::Root => 1.0 / trig.length(n).sqrt(),
        }
    }
}

/// What is done along every axis.
#[derive(Clone, Copy, Debug)]
pub struct TrigPass {
    pub(super) trig: Trig,
    pub(super) ortho: bool,
    pub(super) scale: Scale,
}

impl TrigPass {
    /// The factors of the first and the last element of a line, of the input or of the output, that make the matrix of
    /// a kind orthogonal (besides one common factor).
    pub(super) fn ends(&self, output: bool) -> (f64, f64) {
        if !self.ortho {
            return (1.0, 1.0);
        }
        match (self.trig, output) {
            (Trig::Dct1, false) => (SQRT_2, SQRT_2),
            (Trig::Dct1, true) => (FRAC_1_SQRT_2, FRAC_1_SQRT_2),
            (Trig::Dct2, true) => (FRAC_1_SQRT_2, 1.0),
            (Trig::Dct3, false) => (SQRT_2, 1.0),
            (Trig::Dst2, true) => (1.0, FRAC_1_SQRT_2),
            (Trig::Dst3, false) => (1.0, SQRT_2),
            _ => (1.0, 1.0),
        }
    }
}

/// A cosine or sine transform of real tensors: what these do not say. Plain data.
///
/// ```
/// use windlass::fft::{RealTransform, Trig};
/// let spec = RealTransform::new(Trig::Dct2).axes([-2, -1]); // of each block of a picture
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct RealTransform {
    trig: Trig,
    direction: Direction,
    norm: Normalization,
    /// None: all.
    axes: SmallVec<[isize; 4]>,
}

impl RealTransform {
    /// A transform over all axes.
    pub fn new(trig: Trig) -> Self {
        let (direction, norm) = (Direction::Forward, Normalization::default());
        RealTransform { trig, direction, norm, axes: SmallVec::new() }
    }

    /// The inverse: SciPy's `idct` and `idst` of the given kind.
    pub fn inverse(self) -> Self {
        RealTransform { direction: Direction::Inverse, ..self }
    }

    /// Which transform has the factor `1 / N`, as in SciPy: `N` is `2 n`, for `Dct1` `2 (n - 1)` and for `Dst1` `2 (n +
    /// 1)`. [`Normalization::Ortho`] makes the transform orthogonal.
    pub fn norm(self, norm: Normalization) -> Self {
        RealTransform { norm, ..self }
    }

    /// Transforms only along these axes; a negative one counts from the end. By default, and for an empty list, along all.
    pub fn axes(self, axes: impl AsRef<[isize]>) -> Self {
        RealTransform { axes: axes.as_ref().into(), ..self }
    }

    fn waves(&self, [x, y]: [&Layout; 2]) -> Result<Waves> {
        check_packed("x", x)?;
        check_packed("y", y)?;
        if x.shape() != y.shape() {
            return Err(Error::invalid("y", format!("{:?}, but x is {:?}", y.shape(), x.shape())));
        }
        let sizes = Problem::c2c(x.shape()).axes(places(&self.axes, "x", x.shape())?);
        Ok(Waves { trig: self.trig, sizes: sizes.direction(self.direction).norm(self.norm) })
    }
}

/// A transform as its op has it, of packed arrays.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Waves {
    trig: Trig,
    /// The shape, the axes, the direction and the normalisation.
    pub(super) sizes: Problem,
}

impl Waves {
    /// What is done along every axis.
    pub(super) fn pass(&self) -> TrigPass {
        let Problem { norm, direction, .. } = self.sizes;
        let trig = if direction == Direction::Inverse { self.trig.inverse() } else { self.trig };
        TrigPass { trig, ortho: norm == Normalization::Ortho, scale: Scale::new(norm, direction) }
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Trigonometric<R> {
    pub(super) spec: Waves,
    _type: PhantomData<fn() -> R>,
}

impl<R: FftReal> Op for Trigonometric<R> {
    const NAME: &'static str = "real_transform";
    const OPERANDS: OperandNames = (&["x"], &["y"]);
    const LIBRARY: &'static str = "fft";
    const PREPARED: bool = true;
    type Reads = (R,);
    type Output = DeviceBuffer<R>;
    type Raw = ();

    fn check(&self, (x,): &Spans<(R,)>, (y,): &Spans<(R,)>) -> Result<()> {
        let geometry = self.spec.sizes.geometry()?;
        if self.spec.trig == Trig::Dct1 && geometry.axes.iter().any(|axis| axis.n == 1) {
            return Err(Error::invalid("x", "a cosine transform of kind I needs at least two points along each axis"));
        }
        for (name, len) in [("x", x.len()), ("y", y.len())] {
            if len != geometry.output.span {
                let what = format!("{len} elements, but the arrays have {}", geometry.output.span);
                return Err(Error::invalid(name, what));
            }
        }
        Ok(())
    }

    fn overwrites(&self, _: &Spans<(R,)>) -> bool {
        true // if the length differs, `check` fails after this
    }

    fn cost(&self) -> Cost {
        let Ok(geometry) = self.spec.sizes.geometry() else { return Cost::default() };
        let (points, count) = (geometry.points as f64, geometry.count as f64);
        let bytes = (geometry.output.span as u64).saturating_mul(2 * size_of::<R>() as u64);
        Cost { flops: (2.5 * count * points * points.log2()) as u64, bytes }
    }

    #[cfg(feature = "host")]
    fn host(&self, (x,): Slices<'_, Self>, (y,): SlicesMut<'_, Self>) -> Result<()> {
        let geometry = self.spec.sizes.geometry()?;
        R::run_trigonometric(&super::element::HostGeometry(&geometry), self.spec.pass(), x, y)
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<(R,)>, _: &Spans<(R,)>, plans: &mut Prepare<'_>) {
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
    /// `y` = the cosine or sine transform of real `x`; SciPy's `dctn`, `dstn` and their inverses. On a GPU this is a
    /// cuFFT transform along each axis, with our own kernels before and after it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for extents that differ, an axis that does not exist, one point for [`Trig::Dct1`], and for a
    /// tensor that is not in row-major order without gaps: [`Device::contiguous`](crate::Device::contiguous) makes a copy that
    /// is; a stale or foreign tensor. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::fft::{RealTransform, Trig};
    /// let device = windlass::Device::host()?;
    /// let x = device.full([3, 4], 1.0f64)?;
    /// let spec = RealTransform::new(Trig::Dct2).axes([-1]);
    /// let y = device.fft().real_transform(&spec, &x, device.uninit([3, 4])?)?.await_result()?;
    /// assert_eq!(device.item(y.slice((2, 0))?)?, 8.0);
    /// # Ok(()) }
    /// ```
    pub fn real_transform<'a, R: FftReal>(
        &self,
        spec: &RealTransform,
        x: impl ReadableTensor<'a, R>,
        y: impl WritableTensor<R>,
    ) -> Submitted<Tensor<R>> {
        self.waves(spec, &x.into(), y.into())
    }

    /// The cosine transform of kind II of a real tensor along these axes (none: along all), as a new row-major tensor (SciPy's
    /// `dct`, `dctn`). For other kinds and normalisations see [`real_transform`](Self::real_transform).
    ///
    /// # Errors
    /// As [`real_transform`](Self::real_transform); [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.buffer([1.0f64, 2.0, 3.0])?;
    /// let y = device.fft().dct(&x, &[])?.await_result()?;
    /// let x = device.fft().idct(&y, &[])?.await_result()?;
    /// assert!((device.to_vec(&x)?[1] - 2.0).abs() < 1e-14);
    /// # Ok(()) }
    /// ```
    pub fn dct<'a, R: FftReal>(&self, x: impl ReadableTensor<'a, R>, axes: &[isize]) -> Pending<R> {
        self.waves_new(&RealTransform::new(Trig::Dct2).axes(axes), &x.into())
    }

    /// The inverse of [`dct`](Self::dct).
    ///
    /// # Errors
    /// As [`dct`](Self::dct).
    pub fn idct<'a, R: FftReal>(&self, x: impl ReadableTensor<'a, R>, axes: &[isize]) -> Pending<R> {
        self.waves_new(&RealTransform::new(Trig::Dct2).axes(axes).inverse(), &x.into())
    }

    /// The sine transform of kind II of a real tensor along these axes (none: along all), as a new row-major tensor (SciPy's
    /// `dst`, `dstn`).
    ///
    /// # Errors
    /// As [`dct`](Self::dct).
    pub fn dst<'a, R: FftReal>(&self, x: impl ReadableTensor<'a, R>, axes: &[isize]) -> Pending<R> {
        self.waves_new(&RealTransform::new(Trig::Dst2).axes(axes), &x.into())
    }

    /// The inverse of [`dst`](Self::dst).
    ///
    /// # Errors
    /// As [`dct`](Self::dct).
    pub fn idst<'a, R: FftReal>(&self, x: impl ReadableTensor<'a, R>, axes: &[isize]) -> Pending<R> {
        self.waves_new(&RealTransform::new(Trig::Dst2).axes(axes).inverse(), &x.into())
    }

    fn waves_new<R: FftReal>(&self, spec: &RealTransform, x: &TensorRef<'_, R>) -> Pending<R> {
        Ok(self.waves(spec, x, self.device.uninit(x.shape())?.into())?)
    }

    fn waves<R: FftReal>(&self, spec: &RealTransform, x: &TensorRef<'_, R>, y: Part<R>) -> Submitted<Tensor<R>> {
        let (y, of_y, whole) = y.operand();
        let made = x.operand().and_then(|(x, of_x)| Ok((x, spec.waves([&of_x, &of_y])?)));
        match made {
            Ok((x, spec)) => {
                whole.submitted(self.device.dispatch(Trigonometric::<R> { spec, _type: PhantomData }, (x,), (y,)))
            }
            Err(error) => Err(Rejected::new(error.in_op("real_transform", "fft"), (whole.tensor(y),))),
        }
    }
}
