//! Integrals by the trapezoidal rule.

use super::spacing::{Points, Spacing};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, along, cast, cut, quotient, wide};
use crate::libraries::reductions::scans::{Along, submit as scan};
use crate::libraries::reductions::{Bits, Mean, Reduction, ReductionKind};

/// The areas between neighbouring points, in this type.
fn areas<'a>(
    y: &AnyTensorRef<'a>,
    points: &Points<'a>,
    (axis, n): (usize, usize),
    dtype: DType,
) -> Result<Untyped<'a>> {
    let own = wide(dtype);
    let two =
        |x: &AnyTensorRef<'a>| -> Result<_> { Ok((cut(x, axis, 0, n.saturating_sub(1))?, cut(x, axis, n.min(1), n)?)) };
    let (one, next) = two(y)?;
    match points {
        Points::Even(distance) => {
            Untyped::new([&one, &next], |[one, next]| cast((cast(one, own) + cast(next, own)) * *distance / 2.0, dtype))
        }
        Points::At(coordinates) => {
            let (a, b) = two(coordinates)?;
            Untyped::new([&one, &next, &a, &b], |[one, next, a, b]| {
                let area = (cast(b, own) - cast(a, own)) * (cast(next, own) + cast(one, own)) / 2.0;
                cast(area, dtype)
            })
        }
    }
}

impl Device {
    /// The integral along an axis by the trapezoidal rule: NumPy's `trapezoid`. The points are at even distances, or at
    /// [given coordinates](crate::arrays::Spacing). Integers give `f64`, all other types their own one; of fewer than two points it
    /// is 0.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let y = device.tensor([3], [1.0f32, 2.0, 3.0])?;
    /// assert_eq!(device.item(&device.trapezoid(&y, 1.0, 0)?.await_result()?)?, 4.0);
    /// let x = device.tensor([3], [4.0f32, 6.0, 8.0])?;
    /// assert_eq!(device.item(&device.trapezoid(&y, &x, 0)?.await_result()?)?, 8.0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there, and coordinates of another shape; a stale tensor, or one of another
    /// device; [`Error::OutOfMemory`].
    #[doc(alias = "trapz")]
    pub fn trapezoid<'a, 's, T: Element>(
        &self,
        y: impl ReadableTensor<'a, T>,
        spacing: impl Into<Spacing<'s, <Mean as Reduction<T>>::Output>>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<<Mean as Reduction<T>>::Output>>>
    where
        Mean: Reduction<T>,
    {
        let (y, spacing): (TensorRef<'a, T>, _) = (y.into(), spacing.into());
        let y: AnyTensorRef<'_> = (&y).into();
        let (axis, n) = along(&y, axis)?;
        let points = spacing.points(y.shape(), axis)?;
        let areas = areas(&y, &points, (axis, n), wide(quotient(T::DTYPE)))?;
        let sum = areas.reduce_any(self, ReductionKind::Sum, Bits(1 << axis, false))?;
        Untyped::new([&sum.view()], |[sum]| cast(sum, quotient(T::DTYPE)))?.make(self)
    }

    /// The integrals along an axis up to each point but the first one, by the trapezoidal rule: SciPy's `cumulative_trapezoid`. See
    /// [`trapezoid`](Self::trapezoid). A zero before them, SciPy's `initial=0`, is [`pad`](Self::pad).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let y = device.tensor([4], [1.0f32, 2.0, 3.0, 4.0])?;
    /// let sums = device.cumulative_trapezoid(&y, 1.0, 0)?.await_result()?;
    /// assert_eq!(device.show(&sums)?.to_string(), "[1.5 4.  7.5]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`trapezoid`](Self::trapezoid); an axis without a point.
    #[doc(alias = "cumtrapz")]
    pub fn cumulative_trapezoid<'a, 's, T: Element>(
        &self,
        y: impl ReadableTensor<'a, T>,
        spacing: impl Into<Spacing<'s, <Mean as Reduction<T>>::Output>>,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<<Mean as Reduction<T>>::Output>>>
    where
        Mean: Reduction<T>,
    {
        let (y, spacing): (TensorRef<'a, T>, _) = (y.into(), spacing.into());
        let y: AnyTensorRef<'_> = (&y).into();
        let (axis, n) = along(&y, axis)?;
        if n == 0 {
            return Err(Error::invalid("y", format!("no element along axis {axis}, but an integral begins at one")));
        }
        let points = spacing.points(y.shape(), axis)?;
        let dtype = quotient(T::DTYPE);
        let areas = areas(&y, &points, (axis, n), dtype)?.any(self)?;
        scan(self, dtype, areas.view().operand()?, Along::axis(axis as isize), ReductionKind::Sum)
    }
}
