//! Scaling of rows and columns.

use super::super::element::{SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::scaling;
#[cfg(feature = "cuda")]
use super::super::native::{ENTRIES, Pick};
use super::super::operands::vector;
use super::super::products::Side;
use super::super::routine::{Call, Routine};
use super::super::{Compressed, Major, Sparse};
use crate::core::buffer::DeviceBuffer;
#[cfg(feature = "cuda")]
use crate::core::buffer::Span;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::tensor::TensorRef;
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Scale<T, I> {
    side: Side,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Scale<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "sparse_scale";
    const OPERANDS: OperandNames = (&["a", "a", "a", "rows", "columns"], &["values"]);
    type Reads = (I, I, T, Option<T>, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (offsets, indices, values, rows, columns): &Spans<Self::Reads>, (to,): &Spans<(T,)>) -> Result<()> {
        self.side.check(offsets.len(), indices.len(), values.len())?;
        self.side.check(offsets.len(), indices.len(), to.len())?;
        for (factors, need) in [(rows, self.side.count), (columns, self.side.width)] {
            if let Some(factors) = factors
                && factors.len() != need
            {
                return Err(Error::invalid("factors", format!("{} elements, but {need} are needed", factors.len())));
            }
        }
        Ok(())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (offsets, indices, values, rows, columns): (&[I], &[I], &[T], Option<&[T]>, Option<&[T]>),
        (to,): (&mut [T],),
    ) -> Result<()> {
        to.copy_from_slice(values);
        scaling::scale((offsets, indices, self.side.count), rows, columns, to);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets, indices, values, rows, columns), (to,)) = (*queue.reads(), *queue.writes());
        let address = |factors: Option<Span<T>>| factors.map_or(0, |factors| factors.address());
        let args = [
            offsets.into(),
            indices.into(),
            values.into(),
            self.side.count.into(),
            indices.len().into(),
            address(rows).into(),
            address(columns).into(),
            to.into(),
        ];
        // SAFETY: the parameters in order and type, of arrays as long as was checked.
        unsafe { kernels::each(queue, ENTRIES(T::DTYPE)?, I::pick([c"scale_4", c"scale_8"]), self.side.count, &args) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    /// `diag(rows) * A * diag(columns)`, as a matrix of the same structure; a factor that is not given is the identity. Factors are
    /// tensors of one axis, whose elements must be neighbours.
    /// The matrix is returned at once, while the device still computes its values.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the number of factors differs from the number of rows or columns, or they are not neighbours;
    /// a stale or foreign operand; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(2, 2, &[0, 1, 3], &[0, 0, 1], &[1.0f32, 2.0, 3.0])?;
    /// let rows = device.tensor([2], [10.0f32, 100.0])?;
    /// let scaled = device.sparse().scale(&a, Some(rows.view()), None)?;
    /// assert_eq!(device.download(scaled.values())?.await_result()?, [10.0, 200.0, 300.0]);
    /// # Ok(()) }
    /// ```
    pub fn scale<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        rows: Option<TensorRef<'_, T>>,
        columns: Option<TensorRef<'_, T>>,
    ) -> Result<Compressed<T, I, M>> {
        let rows = rows.as_ref().map(|rows| vector("rows", rows)).transpose()?;
        let columns = columns.as_ref().map(|columns| vector("columns", columns)).transpose()?;
        let (rows, columns) = if M::ROWS { (rows, columns) } else { (columns, rows) };
        let scale = Scale::<T, I> { side: Side::from_compressed(a), _types: PhantomData };
        let reads = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in(), rows, columns);
        a.with_values(self.submit(scale, reads, (self.device.unwritten(a.nnz())?,))?.into_output())
    }
}
