//! The gradients of softmax and of its logarithm: a reduction of each row and a map of it, one dispatch as these themselves.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{cast, formula};
use crate::libraries::expressions::formula::Recorded;
use crate::libraries::reductions::front::Call;
use crate::libraries::reductions::rows::{Spread, submit};
use crate::libraries::reductions::{Keep, ReductionKind, SoftmaxElement};

/// What is summed along the axis, and what is made of the elements and the sum. Both are of `y` and `dy`.
fn formulas(dtype: DType, wide: DType, logarithm: bool) -> (Result<Recorded>, Result<Recorded>) {
    let element = formula(&[dtype; 2], |inputs| match inputs {
        [_, dy] if logarithm => vec![cast(*dy, wide)],
        [y, dy] => vec![cast(*y, wide) * cast(*dy, wide)],
        _ => Vec::new(),
    });
    let spread = formula(&[dtype, dtype, wide], |inputs| match inputs {
        [y, dy, sum] => {
            let (y, dy) = (cast(*y, wide), cast(*dy, wide));
            let dx = if logarithm { (-y.exp()).fma(*sum, dy) } else { y * (dy - *sum) };
            vec![cast(dx, dtype)]
        }
        _ => Vec::new(),
    });
    (element, spread)
}

fn gradient<T: SoftmaxElement>(
    dnn: &Dnn,
    [y, dy]: [TensorRef<'_, T>; 2],
    axis: i32,
    logarithm: bool,
) -> Result<PendingDispatch<Tensor<T>>> {
    if y.shape() != dy.shape() {
        let what = format!("extents {:?} instead of {:?}, those of y", dy.shape(), y.shape());
        return Err(Error::invalid("dy", what).in_op("softmax_gradient", "dnn"));
    }
    let ((y, y_layout), (dy, dy_layout)) = (y.operand()?, dy.operand()?);
    let (element, spread) = formulas(T::DTYPE, T::Wide::DTYPE, logarithm);
    let call = Call { kind: ReductionKind::Sum, less: 0, axes: &Keep(axis), formula: element, finish: None };
    let reads = [(y.into(), y_layout), (dy.into(), dy_layout)];
    let made = submit::<T, T::Wide>(&dnn.device, Spread { call, formula: spread }, &reads, &[])?;
    made.retype(|(dx, _)| Ok((dx,)))
}

impl Dnn {
    /// The gradient of [`softmax`](crate::Device::softmax) along an axis for its operand, by its result `y` and `dy` for that:
    /// `y * (dy - sum(y * dy))`. Halves are computed in f32 and rounded once.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let y = device.softmax(&device.tensor([2], [1.0f32, 1.0])?, 0)?.into_output();
    /// let dx = device.dnn().softmax_gradient(&y, &device.tensor([2], [4.0f32, 0.0])?, 0)?.await_result()?;
    /// assert_eq!(device.show(&dx)?.to_string(), "[ 1. -1.]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an axis that is not there, or a `dy` of other extents than `y`; a stale tensor, or one of another
    /// device; [`Error::OutOfMemory`].
    pub fn softmax_gradient<'y, 'd, T: SoftmaxElement>(
        &self,
        y: impl ReadableTensor<'y, T>,
        dy: impl ReadableTensor<'d, T>,
        axis: i32,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        gradient(self, [y.into(), dy.into()], axis, false)
    }

    /// The gradient of [`log_softmax`](crate::Device::log_softmax) along an axis for its operand, by its result `y` and `dy` for that:
    /// `dy - exp(y) * sum(dy)`.
    ///
    /// # Errors
    /// As [`softmax_gradient`](Self::softmax_gradient).
    pub fn log_softmax_gradient<'y, 'd, T: SoftmaxElement>(
        &self,
        y: impl ReadableTensor<'y, T>,
        dy: impl ReadableTensor<'d, T>,
        axis: i32,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        gradient(self, [y.into(), dy.into()], axis, true)
    }
}
