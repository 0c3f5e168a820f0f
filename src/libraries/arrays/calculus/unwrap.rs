//! Angles without jumps.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, along, cast, cut, select};
use crate::libraries::reductions::scans::{Along, submit as scan};
use crate::libraries::reductions::{Reduction, ReductionKind, Var};

/// What each element but the first one is moved by, against the one before it.
fn corrections(
    device: &Device,
    x: &AnyTensorRef<'_>,
    (axis, n): (usize, usize),
    period: f64,
    dtype: DType,
) -> Result<AnyTensor> {
    let (one, next) = (cut(x, axis, 0, n - 1)?, cut(x, axis, 1, n)?);
    let half = period / 2.0;
    let corrections = Untyped::new([&one, &next], |[one, next]| {
        let step = cast(next, dtype) - cast(one, dtype);
        let inside = (step + half).modulo(period) - half;
        // Half of the period upwards remains that.
        let inside = select(inside.eq(-half) & step.gt(0.0), [half.into(), inside.into()], dtype);
        select(step.abs().lt(half), [0.0.into(), (inside - step).into()], dtype)
    })?;
    corrections.any(device)
}

fn moved<'a>(x: &AnyTensorRef<'a>, by: &AnyTensorRef<'a>, dtype: DType) -> Result<Untyped<'a>> {
    Untyped::new([x, by], |[x, by]| cast(x, dtype) + by)
}

fn same<'a>(x: &AnyTensorRef<'a>, dtype: DType) -> Result<Untyped<'a>> {
    Untyped::new([x], |[x]| cast(x, dtype))
}

impl Device {
    /// The elements along an axis moved by multiples of a period, so that neighbours differ by at most half of it: NumPy's `unwrap`,
    /// whose period is 2 pi if nothing else is said. Integers give `f64`, all other types their own one.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let degrees = device.tensor([5], [350.0f32, 355.0, 0.0, 5.0, 350.0])?;
    /// let smooth = device.unwrap(&degrees, 360.0, 0)?.await_result()?;
    /// assert_eq!(device.show(&smooth)?.to_string(), "[350. 355. 360. 365. 350.]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an axis that is not there; a stale tensor, or one of another
    /// device; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn unwrap<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        period: f64,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<<Var as Reduction<T>>::Output>>>
    where
        Var: Reduction<T>,
    {
        let x: TensorRef<'a, T> = x.into();
        let x: AnyTensorRef<'_> = (&x).into();
        let (axis, n) = along(&x, axis)?;
        let dtype = <Var as Reduction<T>>::Output::DTYPE;
        if n < 2 {
            return same(&x, dtype)?.make(self);
        }
        let corrections = corrections(self, &x, (axis, n), period, dtype)?;
        let by = scan::<<Var as Reduction<T>>::Output>(
            self,
            dtype,
            corrections.view().operand()?,
            Along::axis(axis as isize),
            ReductionKind::Sum,
        )?;
        let first = same(&cut(&x, axis, 0, 1)?, dtype)?.make(self)?;
        let others = moved(&cut(&x, axis, 1, n)?, &(&by).into(), dtype)?.make(self)?;
        self.concat([&first, &others], axis as isize)
    }
}
