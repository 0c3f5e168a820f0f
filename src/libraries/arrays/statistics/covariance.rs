//! Covariances and correlations: a product of the centred variables with themselves.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, Value, cast, downcast};
use crate::libraries::blas::BlasElement;
use crate::libraries::expressions::build::Symbol;
use crate::libraries::expressions::build::recording::operation;
use crate::libraries::expressions::ir::{Binary, Op};
use crate::libraries::reductions::{Bits, Mean, Reduction, ReductionKind};

/// The variables less their means, and one over the number of observations less `ddof`.
fn centred(device: &Device, x: &AnyTensorRef<'_>, ddof: u32) -> Result<(AnyTensor, f64)> {
    let (rank, last) = (x.rank(), x.shape().last().copied().unwrap_or(0));
    if rank < 2 {
        let what = format!(
            "shape {:?}, but it has a row for each variable: `Device::var` is the variance of one, `unsqueeze(0)` makes a row of it",
            x.shape()
        );
        return Err(Error::invalid("x", what));
    }
    let mean = Untyped::new([x], |[x]| x)?.reduce_any(device, ReductionKind::Mean, Bits(1 << (rank - 1), true))?;
    let dtype = mean.dtype();
    let centred = Untyped::new([x, &mean.view()], |[x, mean]| cast(x, dtype) - mean)?.any(device)?;
    let left = last.saturating_sub(ddof as usize);
    Ok((centred, 1.0 / left as f64))
}

/// The product of the centred variables with themselves, and what it is multiplied by.
fn product<R: BlasElement>(device: &Device, x: &AnyTensorRef<'_>, ddof: u32) -> Result<(AnyTensor, f64)> {
    let (centred, scale) = centred(device, x, ddof)?;
    let conjugate = match R::DTYPE.is_complex() {
        true => Some(downcast::<R>(Untyped::new([&centred.view()], |[x]| x.conj())?.any(device)?)?),
        false => None,
    };
    let centred = downcast::<R>(centred)?;
    let turned = conjugate.as_ref().unwrap_or(&centred).swap_axes(-2, -1)?;
    Ok((device.matmul(&centred, &turned)?.into_output().into(), scale))
}

fn scaled(product: &AnyTensor, scale: f64) -> Result<Untyped<'_>> {
    Untyped::new([&product.view()], |[product]| product * scale)
}

/// Covariances divided by the deviations of both variables.
fn correlations(covariance: &AnyTensor) -> Result<Untyped<'_>> {
    let variances = covariance.diagonal(0, -2, -1)?;
    let (rows, columns) = (variances.unsqueeze(-1)?, variances.unsqueeze(-2)?);
    let is_complex = covariance.dtype().is_complex();
    Untyped::new([&covariance.view(), &rows, &columns], |[value, row, column]| {
        let real = |x: Value| if is_complex { x.re() } else { x };
        correlation(value, real(row).sqrt(), real(column).sqrt(), is_complex)
    })
}

/// A value divided by two others, which are real.
fn correlation(value: Value, one: Value, other: Value, is_complex: bool) -> Value {
    let part = |part: Value| (part / one / other).clamp(-1.0, 1.0);
    if is_complex {
        let parts = [part(value.re()).raw.into(), part(value.im()).raw.into()];
        return Symbol::new(operation("complex", parts, |[re, im]| Op::Binary(Binary::Complex, re, im)));
    }
    part(value)
}

impl Device {
    /// The covariances of the variables whose observations are the rows of `x`, a matrix of a row and a column for each variable: NumPy's
    /// `cov`. The axes before are a batch. `ddof` is 1 for a sample (NumPy's default), 0 for a population. Integers give `f64`, all
    /// other types their own one.
    ///
    /// It is a product of matrices, of the centred variables, so its bits are those of the engine's products.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2, 3], [0.0f64, 1.0, 2.0, 2.0, 1.0, 0.0])?;
    /// assert_eq!(device.show(&device.cov(&x, 1)?.await_result()?)?.to_string(), "[[ 1. -1.]\n [-1.  1.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// Without more observations than `ddof` it is NaN or infinite, as in NumPy.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for fewer than two axes; a stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn cov<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        ddof: u32,
    ) -> Result<PendingDispatch<Tensor<<Mean as Reduction<T>>::Output>>>
    where
        Mean: Reduction<T>,
        <Mean as Reduction<T>>::Output: BlasElement,
    {
        let x: TensorRef<'a, T> = x.into();
        let (product, scale) = product::<<Mean as Reduction<T>>::Output>(self, &(&x).into(), ddof)?;
        scaled(&product, scale)?.make(self)
    }

    /// The correlation coefficients of the variables whose observations are the rows of `x`: NumPy's `corrcoef`, [`cov`](Self::cov)
    /// divided by the deviations of both variables. They are from -1 to 1; NaN of a variable that does not vary.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2, 3], [0.0f64, 1.0, 2.0, 4.0, 2.0, 0.0])?;
    /// assert_eq!(device.show(&device.corrcoef(&x)?.await_result()?)?.to_string(), "[[ 1. -1.]\n [-1.  1.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`cov`](Self::cov).
    pub fn corrcoef<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<Tensor<<Mean as Reduction<T>>::Output>>>
    where
        Mean: Reduction<T>,
        <Mean as Reduction<T>>::Output: BlasElement,
    {
        let x: TensorRef<'a, T> = x.into();
        let (product, scale) = product::<<Mean as Reduction<T>>::Output>(self, &(&x).into(), 1)?;
        let covariance = scaled(&product, scale)?.any(self)?;
        correlations(&covariance)?.make(self)
    }
}
