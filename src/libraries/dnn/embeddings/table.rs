//! Rows of a table by their numbers, and the gradient of the table.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::Verdict;
use crate::device::tensor::{ReadableTensor, Tensor};
use crate::libraries::arrays::Combine;
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{Value, cast, either};
use crate::libraries::expressions::{Symbol, constant};
use crate::libraries::reductions::SoftmaxElement;

impl Dnn {
    /// The rows of `table` whose numbers are `indices`, of any extents: a new tensor with these extents and that of a row. It is
    /// [`take`](crate::Device::take) along the first axis.
    ///
    /// # Errors
    /// As [`take`](crate::Device::take); [`Error::InvalidArgument`] if the table is no matrix.
    pub fn embedding<'a, 'i, T: Element>(
        &self,
        table: impl ReadableTensor<'a, T>,
        indices: impl ReadableTensor<'i, i64>,
    ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
        let table = table.into();
        if table.rank() != 2 {
            let what = format!("extents {:?}; rows and their elements are needed", table.shape());
            return Err(Error::invalid("table", what).in_op("embedding", "dnn"));
        }
        self.device.take(&table, indices, 0)
    }

    /// The gradient of the table of [`embedding`](Self::embedding), of `rows` rows: each gets the sum of `dy` over the places that
    /// name it, in their order, so that the bits are the same each time, on both engines; halves are summed in f32. The row `padding`,
    /// if there is one, stays 0.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let indices = device.tensor([3], [2i64, 0, 2])?;
    /// let dy = device.tensor([3, 1], [1.0f32, 2.0, 3.0])?;
    /// let dw = device.dnn().embedding_gradient(&dy, &indices, 3, Some(0))?.await_result()?;
    /// assert_eq!(device.show(&dw)?.to_string(), "[[0.]\n [0.]\n [4.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a `dy` whose extents are not those of the indices and a row, or a `padding` that is no row; a stale
    /// tensor, or one of another device; [`Error::OutOfMemory`]. The wait returns [`Error::InvalidArgument`] with the place of the first
    /// index that is out of range.
    pub fn embedding_gradient<'a, 'i, T: SoftmaxElement>(
        &self,
        dy: impl ReadableTensor<'a, T>,
        indices: impl ReadableTensor<'i, i64>,
        rows: usize,
        padding: Option<usize>,
    ) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
        let told = |error: Error| error.in_op("embedding_gradient", "dnn");
        let (dy, indices, device) = (dy.into(), indices.into(), &self.device);
        let Some((width, places)) = dy.shape().split_last().filter(|(_, places)| *places == indices.shape()) else {
            let what = format!("extents {:?} where {:?} and those of a row are needed", dy.shape(), indices.shape());
            return Err(told(Error::invalid("dy", what)));
        };
        if let Some(padding) = padding.filter(|padding| *padding >= rows) {
            return Err(told(Error::invalid("padding", format!("row {padding} of {rows}"))));
        }
        let (count, width) = (places.iter().product::<usize>(), *width);
        // Without gaps, and with zeros where the padding is.
        let masked = match padding {
            None => device.contiguous(&dy)?.into_output(),
            Some(padding) => {
                let padding = (padding as i64, padding as i64 - rows as i64);
                let wide = indices.unsqueeze(-1)?;
                let zeroed = |dy: Symbol<T>, index: Symbol<i64>| {
                    let is_it = index.eq(padding.0) | index.eq(padding.1);
                    let kept = cast(Value::new(dy.raw), T::Wide::DTYPE);
                    Symbol::<T>::new(cast(either(is_it, constant(0.0), kept, T::Wide::DTYPE), T::DTYPE).raw)
                };
                device.map((&dy, &wide), |(dy, index)| zeroed(dy, index))?.into_output()
            }
        };
        let indices = device.contiguous(&indices)?.into_output();
        let (numbers, updates) = (indices.reshape([count])?, masked.reshape([count, width])?);
        let table = device.zeros::<T>([rows, width])?;
        debug_assert_ne!(T::DTYPE, DType::Bool);
        device.put(table, &numbers, &updates, 0, Combine::Add).map_err(Rejected::into_error)
    }
}
