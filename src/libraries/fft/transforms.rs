//! The transforms that a specification describes, into memory of the caller.

use super::form::{Aliasing, C2c, C2cInPlace, C2r, C2rDestroying, C2rInPlace, Form, R2c, R2cInPlace};
use super::layouts::numbers;
use super::op::Transform;
use super::problem::Problem;
use super::spec::{FftSpec, Kind};
use super::{Fft, FftComplex, FftReal};
use crate::core::buffer::DeviceBuffer;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use std::convert::Infallible;

/// Elements of a number on the input's side and on the output's, of a transform between two tensors.
fn per<F: Form>() -> [usize; 2] {
    let complex = F::Real::PER_COMPLEX;
    match F::KIND {
        Kind::C2c => [complex; 2],
        Kind::R2c => [1, complex],
        Kind::C2r => [complex, 1],
    }
}

/// The problem of a transform between two tensors.
pub(super) fn apart<F: Form>(spec: &FftSpec, of_x: Layout, of_y: Layout) -> Result<Problem> {
    let [per_x, per_y] = per::<F>();
    if F::ALIASING == Aliasing::Destroying {
        of_x.check_distinct("x")?;
    }
    spec.problem(F::KIND, [&numbers("x", of_x, per_x)?, &numbers("y", of_y, per_y)?])
}

impl Fft {
    /// From one tensor to another.
    fn transform<F, X: Element, Y: Element>(
        &self,
        spec: &FftSpec,
        x: TensorRef<'_, X>,
        y: Part<Y>,
    ) -> Submitted<Tensor<Y>>
    where
        F: Form<Reads = (X,), Output = DeviceBuffer<Y>>,
    {
        let (y, of_y, whole) = y.operand();
        let made = x.operand().and_then(|(x, of_x)| Ok((x, apart::<F>(spec, of_x, of_y)?)));
        match made {
            Ok((x, problem)) => whole.submitted(self.device.dispatch(Transform::<F>::new(problem), (x,), (y,))),
            Err(error) => Err(Rejected::new(error.in_op(F::NAME, "fft"), (whole.tensor(y),))),
        }
    }

    /// From one tensor to a new one; from complex to real with `n` elements along the halved axis.
    pub(super) fn transform_new<F, X: Element, Y: Element>(
        &self,
        spec: &FftSpec,
        x: TensorRef<'_, X>,
        n: usize,
    ) -> Result<PendingDispatch<Tensor<Y>>>
    where
        F: Form<Reads = (X,), Output = DeviceBuffer<Y>>,
    {
        let [per_x, per_y] = per::<F>();
        let layout = x.layout().moved_down(x.layout().span().0);
        let extents = numbers("x", layout, per_x).and_then(|x| spec.output(F::KIND, x.shape(), n));
        let mut extents = extents.map_err(|error| error.in_op(F::NAME, "fft"))?;
        if per_y == 2 {
            extents.push(2);
        }
        let y = self.device.uninit(extents)?;
        Ok(self.transform::<F, X, Y>(spec, x, y.into())?)
    }

    /// In the memory of one tensor.
    fn transform_in_place<F, X: Element>(&self, spec: &FftSpec, x: Part<X>) -> Submitted<Tensor<X>>
    where
        F: Form<Reads = (), Output = DeviceBuffer<X>>,
    {
        let (x, layout, whole) = x.operand();
        let problem = layout.check_distinct("x").and_then(|()| match F::KIND {
            Kind::C2c => numbers("x", layout, F::Real::PER_COMPLEX).and_then(|x| spec.problem(Kind::C2c, [&x, &x])),
            Kind::R2c => spec.sides(&layout).and_then(|[real, half]| spec.problem(Kind::R2c, [&real, &half])),
            Kind::C2r => spec.sides(&layout).and_then(|[real, half]| spec.problem(Kind::C2r, [&half, &real])),
        });
        match problem {
            Ok(problem) => whole.submitted(self.device.dispatch(Transform::<F>::new(problem), (), (x,))),
            // Both sides are `x`.
            Err(Error::InvalidArgument { argument, reason, .. }) => {
                let argument = if argument == "y" { "x".into() } else { argument };
                let error = Error::invalid(argument, reason).in_op(F::NAME, "fft");
                Err(Rejected::new(error, (whole.tensor(x),)))
            }
            Err(error) => Err(Rejected::new(error.in_op(F::NAME, "fft"), (whole.tensor(x),))),
        }
    }

    /// `y` = the transform of complex `x` (`cufftExecC2C`, `cufftExecZ2Z`; `cufftXtExec` for halves). `x` may be broadcast
    /// or overlap itself; nothing is copied, and what lies between the elements of `y` stays.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for extents that do not match each other and the specification, an axis that does not exist
    /// or is named twice, more than eight axes, a `y` of which several elements lie at one place, and a tensor that is flipped:
    /// [`Device::contiguous`](crate::Device::contiguous) makes a copy that is not; a stale or foreign tensor. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.tensor([2, 4], vec![Complex::new(1.0f64, 0.0); 8])?; // two arrays of four
    /// let y = device.fft().c2c(&FftSpec::new().axes([-1]), &x, device.uninit([2, 4])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&y)?.iter().map(|y| y.re).collect::<Vec<_>>(), [4.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0]);
    /// # Ok(()) }
    /// ```
    pub fn c2c<'a, C: FftComplex>(
        &self,
        spec: &FftSpec,
        x: impl ReadableTensor<'a, C>,
        y: impl WritableTensor<C>,
    ) -> Submitted<Tensor<C>> {
        self.transform::<C2c<C>, C, C>(spec, x.into(), y.into())
    }

    /// The transform of complex `x`, in place.
    ///
    /// # Errors
    /// As [`c2c`](Self::c2c); also for other lengths than those of `x`, which comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.full([2, 2], Complex::new(1.0f32, 0.0))?;
    /// let x = device.fft().c2c_in_place(&FftSpec::new(), x)?.await_result()?;
    /// assert_eq!(device.to_vec(&x)?[0].re, 4.0);
    /// # Ok(()) }
    /// ```
    pub fn c2c_in_place<C: FftComplex>(&self, spec: &FftSpec, x: impl WritableTensor<C>) -> Submitted<Tensor<C>> {
        self.transform_in_place::<C2cInPlace<C>, C>(spec, x.into())
    }

    /// `y` = half of the spectrum of real `x` (`cufftExecR2C`, `cufftExecD2Z`): `n / 2 + 1` points along the last axis that is
    /// named, of `n` numbers.
    ///
    /// # Errors
    /// As [`c2c`](Self::c2c).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.buffer([1.0f64, -1.0, 1.0, -1.0])?; // a tensor of one axis
    /// let y = device.fft().r2c(&FftSpec::new(), &x, device.uninit(3)?)?.await_result()?;
    /// assert_eq!(device.to_vec(&y)?[2].re, 4.0);
    /// # Ok(()) }
    /// ```
    pub fn r2c<'a, R: FftReal>(
        &self,
        spec: &FftSpec,
        x: impl ReadableTensor<'a, R>,
        y: impl WritableTensor<R::Complex>,
    ) -> Submitted<Tensor<R::Complex>> {
        self.transform::<R2c<R>, R, R::Complex>(spec, x.into(), y.into())
    }

    /// Half of the spectrum of real `x`, in place: two neighbours of the result are a complex number. Along the last axis that
    /// is named `x` has the `2 * (n / 2 + 1)` places of these, of which the first `n` are its numbers and the others are not
    /// read, as in cuFFT and FFTW. [`FftSpec::n`] has to tell this `n`.
    /// [`Tensor::as_complex`] reads the pairs as complex numbers, after a `reshape` to a last axis of two.
    ///
    /// # Errors
    /// As [`c2c_in_place`](Self::c2c_in_place); also without `n`, and when the elements along the halved axis are not neighbours.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.buffer([1.0f32, 1.0, 1.0, 1.0, 0.0, 0.0])?;
    /// let y = device.fft().r2c_in_place(&FftSpec::new().n([4]), x)?.await_result()?;
    /// assert_eq!(device.to_vec(&y)?, [4.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    /// # Ok(()) }
    /// ```
    pub fn r2c_in_place<R: FftReal>(&self, spec: &FftSpec, x: impl WritableTensor<R>) -> Submitted<Tensor<R>> {
        self.transform_in_place::<R2cInPlace<R>, R>(spec, x.into())
    }

    /// `y` = the real array whose half spectrum is `x` (`cufftExecC2R`, `cufftExecZ2D`). `x` keeps its content.
    ///
    /// The imaginary part of the first point along the last axis that is named is not read, nor, for an even number of elements,
    /// that of the last point. With several axes this holds after the other axes have been transformed, as in NumPy.
    ///
    /// # Errors
    /// As [`c2c`](Self::c2c).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.buffer([Complex::new(3.0f64, 0.0), Complex::default()])?;
    /// let y = device.fft().c2r(&FftSpec::new(), &x, device.uninit(3)?)?.await_result()?;
    /// assert_eq!(device.to_vec(&y)?, [1.0, 1.0, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn c2r<'a, C: FftComplex>(
        &self,
        spec: &FftSpec,
        x: impl ReadableTensor<'a, C>,
        y: impl WritableTensor<C::Real>,
    ) -> Submitted<Tensor<C::Real>> {
        self.transform::<C2r<C::Real>, C, C::Real>(spec, x.into(), y.into())
    }

    /// As [`c2r`](Self::c2r), but the spectrum may be used as working memory: the contents of `x` are undefined
    /// afterwards, and an operation that reads it is refused.
    ///
    /// # Errors
    /// As [`c2c`](Self::c2c); both come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.full([2, 3], Complex::new(4.0f32, 0.0))?;
    /// let (x, y) = device.fft().c2r_destroying(&FftSpec::new(), x, device.uninit([2, 4])?)?.await_result()?;
    /// assert_eq!((x.len(), device.to_vec(&y)?[0]), (6, 4.0));
    /// # Ok(()) }
    /// ```
    pub fn c2r_destroying<C: FftComplex>(
        &self,
        spec: &FftSpec,
        x: impl WritableTensor<C>,
        y: impl WritableTensor<C::Real>,
    ) -> Submitted<(Tensor<C>, Tensor<C::Real>)> {
        self.destroying::<C::Real>(spec, x.into(), y.into())
    }

    fn destroying<R: FftReal>(
        &self,
        spec: &FftSpec,
        x: Part<R::Complex>,
        y: Part<R>,
    ) -> Submitted<(Tensor<R::Complex>, Tensor<R>)> {
        let ((x, of_x, whole_x), (y, of_y, whole_y)) = (x.operand(), y.operand());
        let problem = match apart::<C2rDestroying<R>>(spec, of_x, of_y) {
            Ok(problem) => problem,
            Err(error) => {
                let error = error.in_op(C2rDestroying::<R>::NAME, "fft");
                return Err(Rejected::new(error, (whole_x.tensor(x), whole_y.tensor(y))));
            }
        };
        let both = |(x, y): (DeviceBuffer<R::Complex>, DeviceBuffer<R>)| (whole_x.tensor(x), whole_y.tensor(y));
        match self.device.dispatch(Transform::<C2rDestroying<R>>::new(problem), (), (x, y)) {
            Ok(pending) => {
                Ok(pending.retype(|buffers| Ok::<_, Infallible>(both(buffers))).unwrap_or_else(|never| match never {}))
            }
            Err(rejected) => Err(rejected.map(both)),
        }
    }

    /// The real array whose half spectrum is `x`, in place: the way back from [`r2c_in_place`](Self::r2c_in_place),
    /// with the same `n`. Only the first `n` places along the halved axis have elements of the result.
    ///
    /// # Errors
    /// As [`r2c_in_place`](Self::r2c_in_place).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, FftSpec};
    /// let device = Device::host()?;
    /// let x = device.buffer([4.0f32, 0.0, 0.0, 0.0, 0.0, 0.0])?;
    /// let y = device.fft().c2r_in_place(&FftSpec::new().n([4]), x)?.await_result()?;
    /// assert_eq!(device.to_vec(&y)?[..4], [1.0; 4]);
    /// # Ok(()) }
    /// ```
    pub fn c2r_in_place<R: FftReal>(&self, spec: &FftSpec, x: impl WritableTensor<R>) -> Submitted<Tensor<R>> {
        self.transform_in_place::<C2rInPlace<R>, R>(spec, x.into())
    }
}
