//! Weighted means, and ranges.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::Verdict;
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, cast, downcast, wide};
use crate::libraries::expressions::build::Symbol;
use crate::libraries::moves::Told;
use crate::libraries::reductions::{All, Axes, Bits, Max, Mean, Min, Reduction, ReductionKind};

/// The weights in the shape of `x`: they have it, or that of the axes that are reduced.
fn spread<'w>(x: &AnyTensorRef<'_>, weights: &AnyTensorRef<'w>, mask: u64) -> Result<AnyTensorRef<'w>> {
    if weights.shape() == x.shape() {
        return Ok(weights.clone());
    }
    let is_reduced = |axis: &usize| mask >> axis & 1 == 1;
    let reduced = x.shape().iter().enumerate().filter(|(axis, _)| is_reduced(axis));
    if !reduced.map(|(_, n)| n).eq(weights.shape()) {
        let what = format!(
            "shape {:?}, but `x` has {:?}: they have that, or the extents of the axes of the average in their order; `broadcast` repeats them",
            weights.shape(),
            x.shape()
        );
        return Err(Error::invalid("weights", what));
    }
    let mut spread = weights.clone();
    for axis in (0..x.rank()).filter(|axis| !is_reduced(axis)) {
        spread = spread.unsqueeze(axis as isize)?;
    }
    spread.broadcast(x.shape())
}

/// The average, and whether weights add up to zero.
fn average(
    device: &Device,
    x: &AnyTensorRef<'_>,
    weights: &AnyTensorRef<'_>,
    (mask, stays): (u64, bool),
) -> Result<(AnyTensor, Tensor<Bool>)> {
    let (dtype, weights) = (weights.dtype(), spread(x, weights, mask)?);
    let own = wide(dtype);
    let products = Untyped::new([x, &weights], |[x, weight]| cast(x, own) * cast(weight, own))?;
    let products = products.reduce_any(device, ReductionKind::Sum, Bits(mask, stays))?;
    let sums = Untyped::new([&weights], |[weight]| cast(weight, own))?;
    let sums = sums.reduce_any(device, ReductionKind::Sum, Bits(mask, stays))?;
    let zero = Untyped::new([&sums.view()], |[sum]| Symbol::new(sum.eq(0.0).raw))?;
    let zero = zero.reduce::<Bool>(device, ReductionKind::Any, &All, None)?.into_output();
    let average = Untyped::new([&products.view(), &sums.view()], |[product, sum]| cast(product / sum, dtype))?;
    Ok((average.any(device)?, zero))
}

fn range(device: &Device, x: &AnyTensorRef<'_>, (mask, stays): (u64, bool)) -> Result<[AnyTensor; 2]> {
    let one = |kind| Untyped::new([x], |[x]| x)?.reduce_any(device, kind, Bits(mask, stays));
    Ok([one(ReductionKind::Max)?, one(ReductionKind::Min)?])
}

impl Device {
    /// The weighted mean along axes, `sum(x * weights) / sum(weights)`: NumPy's `average`. The weights have the shape of `x`, or the
    /// extents of the axes alone (a vector, for one axis), and the type of the result, which is that of [`mean`](Self::mean).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1, 2, 3, 4])?;
    /// let weights = device.tensor([2], [0.25, 0.75])?;
    /// let rows = device.average(&x, &weights, 1)?.await_result()?;
    /// assert_eq!(device.show(&rows)?.to_string(), "[1.75 3.75]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for weights of another shape, and an axis that is not there or is named twice; a stale tensor, or one
    /// of another device; [`Error::OutOfMemory`]. The wait returns [`Error::InvalidArgument`] if weights add up to zero.
    pub fn average<'a, 'w, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        weights: impl ReadableTensor<'w, <Mean as Reduction<T>>::Output>,
        axes: impl Axes,
    ) -> Result<PendingDispatch<Tensor<<Mean as Reduction<T>>::Output>, Verdict>>
    where
        Mean: Reduction<T>,
    {
        let x: TensorRef<'a, T> = x.into();
        let weights: TensorRef<'w, <Mean as Reduction<T>>::Output> = weights.into();
        let bits = axes.mask(x.rank())?;
        let (average, zero) = average(self, &(&x).into(), &(&weights).into(), bits)?;
        self.copied_unless(&downcast(average)?, &zero, Told::NoWeight)
    }

    /// The largest element along axes less the smallest one: NumPy's `ptp`. Integers wrap, as they do there; NaN if an element is.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1, 5, 3, 4])?;
    /// assert_eq!(device.show(&device.ptp(&x, 1)?.await_result()?)?.to_string(), "[4 1]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`max`](Self::max).
    pub fn ptp<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        axes: impl Axes,
    ) -> Result<PendingDispatch<Tensor<T>>>
    where
        Max: Reduction<T, Output = T>,
        Min: Reduction<T, Output = T>,
    {
        let x: TensorRef<'a, T> = x.into();
        let bits = axes.mask(x.rank())?;
        let [max, min] = range(self, &(&x).into(), bits)?;
        Untyped::new([&max.view(), &min.view()], |[max, min]| max - min)?.make(self)
    }
}
