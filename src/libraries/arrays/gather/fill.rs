//! Values written where a condition is true.

use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::truth::Bool;
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::Combine;
use crate::libraries::expressions::Target;
use crate::libraries::expressions::build::scalar;

impl Device {
    /// Writes a number where a tensor of truth values is true: NumPy's `x[mask] = value`. `x` is a tensor or a
    /// [`part`](Tensor::part) of one, is moved in, and comes back from the wait; the mask is broadcast to it.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [0.5f32, -1.0, 2.0, -3.0])?;
    /// let negative = device.map(&x, |x| x.lt(0.0))?.into_output();
    /// let x = device.masked_fill(x, &negative, 0.0)?.await_result()?;
    /// assert_eq!(device.show(&x)?.to_string(), "[[0.5 0. ]\n [2.  0. ]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`update`](Self::update): extents of the mask that are not broadcast to those of `x`; a stale tensor, or one of another
    /// device. `x` comes back.
    pub fn masked_fill<'m, P: Target>(
        &self,
        x: P,
        mask: impl ReadableTensor<'m, Bool>,
        value: P::Element,
    ) -> Submitted<Tensor<P::Element>> {
        let mask: TensorRef<'m, Bool> = mask.into();
        let part: crate::device::tensor::Part<P::Element> = x.into();
        named(self.update(part, &mask, |x, mask| mask.select(scalar(value), x)))
    }

    /// Writes the elements of a tensor where truth values are true: NumPy's `copyto(x, values, where=mask)`, and `x[mask] = values[mask]`.
    /// Mask and values are broadcast to `x`. See [`masked_fill`](Self::masked_fill).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1, -1, 2, -3])?;
    /// let negative = device.map(&x, |x| x.lt(0))?.into_output();
    /// let x = device.masked_assign(x, &negative, &device.tensor([2], [10, 20])?)?.await_result()?;
    /// assert_eq!(device.show(&x)?.to_string(), "[[ 1 20]\n [ 2 20]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`masked_fill`](Self::masked_fill).
    #[doc(alias = "copyto")]
    #[doc(alias = "putmask")]
    pub fn masked_assign<'m, 'v, P: Target>(
        &self,
        x: P,
        mask: impl ReadableTensor<'m, Bool>,
        values: impl ReadableTensor<'v, P::Element>,
    ) -> Submitted<Tensor<P::Element>> {
        let (mask, values): (TensorRef<'m, Bool>, TensorRef<'v, P::Element>) = (mask.into(), values.into());
        let part: crate::device::tensor::Part<P::Element> = x.into();
        named(self.update(part, (&mask, &values), |x, (mask, values)| mask.select(values, x)))
    }

    /// Writes one value after the other where truth values are true, in row-major order: NumPy's `x[mask] = values` with a vector, and
    /// PyTorch's `masked_scatter_`. The counterpart of [`masked_select`](Self::masked_select). Waits for the device to count the true
    /// values. `x` is row-major without gaps, as for [`put`](Self::put), and comes back from the wait.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1, -1, 2, -3])?;
    /// let negative = device.map(&x, |x| x.lt(0))?.into_output();
    /// let x = device.masked_scatter(x, &negative, &device.tensor([2], [10, 20])?)?.await_result()?;
    /// assert_eq!(device.show(&x)?.to_string(), "[[ 1 10]\n [ 2 20]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a mask of other extents than `x`, values that are no vector of as many elements as the mask has
    /// true ones, and an `x` with gaps; a stale tensor, or one of another device; [`Error::OutOfMemory`]. `x` comes back.
    pub fn masked_scatter<'m, 'v, T: Element>(
        &self,
        x: Tensor<T>,
        mask: impl ReadableTensor<'m, Bool>,
        values: impl ReadableTensor<'v, T>,
    ) -> Submitted<Tensor<T>> {
        let values: TensorRef<'v, T> = values.into();
        match places(self, x.shape(), &mask.into(), values.shape()) {
            Ok(places) => {
                let submitted = self.put_nd(x, places.transpose(), &values, Combine::Replace);
                // The places are those of elements.
                submitted.map(|pending| pending.never_reports()).map_err(|Rejected { error, back }| {
                    let back = back.map(|x| (x,));
                    Rejected { error, back }
                })
            }
            Err(error) => Err(Rejected::new(error, (x,))),
        }
    }
}

/// The answer with the names of the arguments in its error.
fn named<T: Element>(answer: Submitted<Tensor<T>>) -> Submitted<Tensor<T>> {
    answer.map_err(|Rejected { error, back }| {
        let error = error.renamed(&[("output 0", "x"), ("input 0", "mask"), ("input 1", "values")]);
        Rejected { error, back }
    })
}

/// Where a mask is true, a column for each place.
fn places(device: &Device, x: &[usize], mask: &TensorRef<'_, Bool>, values: &[usize]) -> Result<Tensor<i64>> {
    if mask.shape() != x {
        let what = format!("shape {:?}, but `x` has {x:?}: `broadcast` repeats a smaller mask", mask.shape());
        return Err(Error::invalid("mask", what));
    }
    let places = device.nonzero(mask)?.await_result()?;
    let count = places.shape().last().copied().unwrap_or(0);
    if values != [count] {
        let what = format!(
            "shape {values:?}, but {count} of the mask are true: give a vector of as many, or `masked_assign` a tensor of the shape of `x`"
        );
        return Err(Error::invalid("values", what));
    }
    Ok(places)
}
