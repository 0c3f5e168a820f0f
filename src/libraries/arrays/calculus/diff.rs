//! Differences of neighbours.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, Value, along, cut};
use crate::libraries::expressions::build::Symbol;
use crate::libraries::expressions::formula::record;

/// Differences that one formula takes, which reads one view more.
const MOST: usize = 7;

/// The differences of so many orders, of fewer than there are elements along the axis.
fn differences<'a>(x: &AnyTensorRef<'a>, orders: usize, axis: usize, len: usize) -> Result<Untyped<'a>> {
    let views = (0..=orders).map(|k| cut(x, axis, k, k + len - orders));
    let inputs = views.collect::<Result<Vec<_>>>()?;
    let types = vec![x.dtype(); inputs.len()];
    let of_truth = x.dtype() == DType::Bool;
    let recorded = record(&types, |open| {
        let mut values: Vec<Value> = (0..types.len()).map(|k| Symbol::new(open.input(k))).collect();
        for _ in 0..orders {
            let pairs = values.iter().zip(values.iter().skip(1));
            let difference = |(one, next): (&Value, &Value)| match of_truth {
                true => Symbol::new(next.ne(*one).raw),
                false => *next - *one,
            };
            values = pairs.map(difference).collect();
        }
        values.iter().map(|value| value.raw).collect()
    })?;
    Ok(Untyped { recorded, inputs })
}

impl Device {
    /// The differences of neighbours along an axis, `n` times: NumPy's `diff`. Each time the axis has an element fewer, down to none.
    /// Integers wrap; of truth values it says where they change.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([5], [1, 2, 4, 7, 0])?;
    /// assert_eq!(device.show(&device.diff(&x, 1, 0)?.await_result()?)?.to_string(), "[ 1  2  3 -7]");
    /// assert_eq!(device.show(&device.diff(&x, 2, 0)?.await_result()?)?.to_string(), "[  1   1 -10]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an axis that is not there; a stale tensor, or one of another
    /// device; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn diff<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        n: usize,
        axis: isize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x: TensorRef<'a, T> = x.into();
        last(self, &(&x).into(), n, axis, &mut None)?.make(self)
    }
}

/// The last of the formulas; what the others made goes to `made`.
fn last<'a>(
    device: &Device,
    x: &'a AnyTensorRef<'_>,
    n: usize,
    axis: isize,
    made: &'a mut Option<AnyTensor>,
) -> Result<Untyped<'a>> {
    let (axis, len) = along(x, axis)?;
    if n >= len {
        // Nothing is left, but of no differences everything.
        let len = if n == 0 { len } else { 0 };
        return differences(&cut(x, axis, 0, len)?, 0, axis, len);
    }
    // Halves are rounded each time.
    let most = if x.dtype().is_narrow() { 1 } else { MOST };
    let (mut left, mut len) = (n, len);
    while left > most {
        let next = match made.as_ref() {
            None => differences(x, most, axis, len)?.any(device)?,
            Some(made) => differences(&made.view(), most, axis, len)?.any(device)?,
        };
        *made = Some(next);
        (left, len) = (left - most, len - most);
    }
    match made {
        None => differences(x, left, axis, len),
        Some(made) => differences(&made.view(), left, axis, len),
    }
}
