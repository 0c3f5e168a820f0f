//! Reductions that leave NaN out.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, cast, quotient, select, wide};
use crate::libraries::expressions::build::Symbol;
use crate::libraries::reductions::{Axes, Bits, Max, Mean, Min, Reduction, ReductionKind, Sum, Var};

/// Whether elements of this type can be NaN.
fn has_nan(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// The elements, in the type in which they are computed, with a number in the place of each NaN.
fn without_nan<'a>(x: &AnyTensorRef<'a>, number: f64) -> Result<Untyped<'a>> {
    let own = wide(x.dtype());
    Untyped::new([x], |[x]| {
        let x = cast(x, own);
        select(x.ne(x), [number.into(), x.into()], own)
    })
}

/// How many elements are not NaN.
fn count(device: &Device, x: &AnyTensorRef<'_>, axes: Bits) -> Result<AnyTensor> {
    Untyped::new([x], |[x]| Symbol::new(x.eq(x).raw))?.reduce_any(device, ReductionKind::Sum, axes)
}

/// The mean of the elements that are not NaN, as a formula of their sum and their number.
fn mean<'a>(sum: &'a AnyTensor, count: &'a AnyTensor, dtype: DType) -> Result<Untyped<'a>> {
    Untyped::new([&sum.view(), &count.view()], |[sum, count]| cast(sum / cast(count, wide(dtype)), dtype))
}

/// The mean squared distance from the mean, of elements that may be NaN.
fn variance<R: Element>(
    device: &Device,
    x: &AnyTensorRef<'_>,
    (mask, stays): (u64, bool),
    ddof: u32,
) -> Result<PendingDispatch<Tensor<R>>> {
    let own = wide(x.dtype());
    let sum = without_nan(x, 0.0)?.reduce_any(device, ReductionKind::Sum, Bits(mask, true))?;
    let number = count(device, x, Bits(mask, true))?;
    let mean = mean(&sum, &number, own)?.any(device)?;
    let squares = Untyped::new([x, &mean.view()], |[x, mean]| {
        let distance = cast(x, own) - mean;
        select(x.ne(x), [0.0.into(), (distance * distance).into()], own)
    })?;
    let squares = squares.reduce_any(device, ReductionKind::Sum, Bits(mask, stays))?;
    let number = number.reshape(squares.shape())?;
    let variance = Untyped::new([&squares.view(), &number], |[squares, number]| {
        let left = number - i64::from(ddof);
        let variance = squares / cast(left, own);
        cast(select(left.le(0), [f64::NAN.into(), variance.into()], own), R::DTYPE)
    })?;
    variance.make(device)
}

/// The extreme of the elements that are not NaN, beyond which is the number.
fn extreme<T: Element>(
    device: &Device,
    x: &AnyTensorRef<'_>,
    bits: (u64, bool),
    kind: ReductionKind,
    beyond: f64,
) -> Result<PendingDispatch<Tensor<T>>> {
    // A type without an infinity has a lowest and a largest number.
    let beyond = if T::DTYPE == DType::F8E4M3 { beyond.clamp(-448.0, 448.0) } else { beyond };
    let extreme = without_nan(x, beyond)?.reduce_any(device, kind, Bits(bits.0, bits.1))?;
    let count = count(device, x, Bits(bits.0, bits.1))?;
    let result = Untyped::new([&extreme.view(), &count.view()], |[extreme, count]| {
        let own = wide(T::DTYPE);
        cast(select(count.eq(0), [f64::NAN.into(), cast(extreme, own).into()], own), T::DTYPE)
    })?;
    result.make(device)
}

impl Device {
    /// The sum along axes of the elements that are not NaN: NumPy's `nansum`, of the types of [`sum`](Self::sum). Without such an
    /// element it is 0.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1.0f32, f32::NAN, 3.0, 4.0])?;
    /// assert_eq!(device.show(&device.nansum(&x, 1)?.await_result()?)?.to_string(), "[1. 7.]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn nansum<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        axes: impl Axes,
    ) -> Result<PendingDispatch<Tensor<<Sum as Reduction<T>>::Output>>>
    where
        Sum: Reduction<T>,
    {
        let x: TensorRef<'a, T> = x.into();
        if !has_nan(T::DTYPE) {
            return self.sum(&x, axes);
        }
        let x: AnyTensorRef<'_> = (&x).into();
        let elements = Untyped::new([&x], |[x]| select(x.ne(x), [0.0.into(), x.into()], T::DTYPE))?;
        elements.reduce(self, ReductionKind::Sum, &axes, None)
    }

    /// The mean along axes of the elements that are not NaN: NumPy's `nanmean`, of the types of [`mean`](Self::mean). Without such an
    /// element it is NaN.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1.0f32, f32::NAN, 3.0, 4.0])?;
    /// assert_eq!(device.show(&device.nanmean(&x, 1)?.await_result()?)?.to_string(), "[1.  3.5]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn nanmean<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        axes: impl Axes,
    ) -> Result<PendingDispatch<Tensor<<Mean as Reduction<T>>::Output>>>
    where
        Mean: Reduction<T>,
    {
        let x: TensorRef<'a, T> = x.into();
        if !has_nan(T::DTYPE) {
            return self.mean(&x, axes);
        }
        let x: AnyTensorRef<'_> = (&x).into();
        let (mask, stays) = axes.mask(x.rank())?;
        let sum = without_nan(&x, 0.0)?.reduce_any(self, ReductionKind::Sum, Bits(mask, stays))?;
        let count = count(self, &x, Bits(mask, stays))?;
        mean(&sum, &count, quotient(T::DTYPE))?.make(self)
    }

    /// The variance along axes of the elements that are not NaN: NumPy's `nanvar`, of the types of [`var`](Self::var). It is NaN where
    /// there are no more such elements than `ddof`. Two passes: the mean, then the squared distances from it.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([4], [1.0f64, f64::NAN, 3.0, 5.0])?;
    /// assert_eq!(device.item(&device.nanvar(&x, 0, 1)?.await_result()?)?, 4.0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn nanvar<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        axes: impl Axes,
        ddof: u32,
    ) -> Result<PendingDispatch<Tensor<<Var as Reduction<T>>::Output>>>
    where
        Var: Reduction<T>,
    {
        let x: TensorRef<'a, T> = x.into();
        if !has_nan(T::DTYPE) {
            return self.var(&x, axes, ddof);
        }
        let bits = axes.mask(x.rank())?;
        variance(self, &(&x).into(), bits, ddof)
    }

    /// The largest element along axes that is not NaN: NumPy's `nanmax`. NaN where all are.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1.0f32, f32::NAN, 3.0, 4.0])?;
    /// assert_eq!(device.show(&device.nanmax(&x, 1)?.await_result()?)?.to_string(), "[1. 4.]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn nanmax<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        axes: impl Axes,
    ) -> Result<PendingDispatch<Tensor<T>>>
    where
        Max: Reduction<T, Output = T>,
    {
        let x: TensorRef<'a, T> = x.into();
        if !has_nan(T::DTYPE) {
            return self.max(&x, axes);
        }
        let bits = axes.mask(x.rank())?;
        extreme(self, &(&x).into(), bits, ReductionKind::Max, f64::NEG_INFINITY)
    }

    /// The smallest element along axes that is not NaN: NumPy's `nanmin`. NaN where all are. See [`nanmax`](Self::nanmax).
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn nanmin<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        axes: impl Axes,
    ) -> Result<PendingDispatch<Tensor<T>>>
    where
        Min: Reduction<T, Output = T>,
    {
        let x: TensorRef<'a, T> = x.into();
        if !has_nan(T::DTYPE) {
            return self.min(&x, axes);
        }
        let bits = axes.mask(x.rank())?;
        extreme(self, &(&x).into(), bits, ReductionKind::Min, f64::INFINITY)
    }
}
