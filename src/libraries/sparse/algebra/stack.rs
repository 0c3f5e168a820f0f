//! Matrices one below the other, or side by side.

use super::super::element::{SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::combine;
#[cfg(feature = "cuda")]
use super::super::native::{ARRANGE, Pick, SORT};
use super::super::products::Side;
use super::super::routine::{Call, Routine};
use super::super::{Compressed, Major, Sparse};
use crate::core::buffer::{DeviceBuffer, In, List};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
#[cfg(feature = "host")]
use crate::core::room::collected;
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Stack<T, I> {
    sides: Vec<Side>,
    /// Whether the compressed rows are stacked one below the other; else side by side.
    below: bool,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Stack<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "sparse_stack";
    const OPERANDS: OperandNames = (&["parts", "parts", "parts"], &["offsets", "indices", "values"]);
    type Reads = (List<I>, List<I>, List<T>);
    type Output = (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<T>);
    type Raw = ();

    fn check(&self, (offsets, indices, values): &Spans<Self::Reads>, to: &Spans<(I, I, T)>) -> Result<()> {
        if [offsets.len(), indices.len(), values.len()] != [self.sides.len(); 3] {
            return Err(Error::invalid(
                "parts",
                format!("{} matrices, but the lists of their arrays have other lengths", self.sides.len()),
            ));
        }
        let mut nnz = 0usize;
        for (((side, offsets), indices), values) in self.sides.iter().zip(offsets).zip(indices).zip(values) {
            side.check(offsets.len(), indices.len(), values.len())?;
            nnz = nnz.saturating_add(indices.len());
        }
        let (one, all) = (self.sides.first().map_or(0, |side| side.count), self.sides.iter().map(|side| side.count));
        let rows = if self.below { all.fold(0, usize::saturating_add) } else { one };
        if let Some(side) = self.sides.iter().find(|side| !self.below && side.count != one) {
            return Err(Error::invalid("parts", format!("a part has {} rows, but the first has {one}", side.count)));
        }
        if rows.checked_add(1) != Some(to.0.len()) {
            return Err(Error::invalid("offsets", format!("{} elements for {rows} rows", to.0.len())));
        }
        if [to.1.len(), to.2.len()] != [nnz; 2] {
            return Err(Error::invalid("indices", format!("{} elements for {nnz} entries", to.1.len())));
        }
        Ok(())
    }

    fn overwrites_each(&self, _: &Spans<(I, I, T)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (offsets, indices, values): (Vec<&[I]>, Vec<&[I]>, Vec<&[T]>),
        (to_offsets, to_indices, to_values): (&mut [I], &mut [I], &mut [T]),
    ) -> Result<()> {
        let arrays = self.sides.iter().zip(offsets).zip(indices).zip(values);
        let parts = collected(arrays.map(|(((side, o), i), v)| side.rows(o, i, v)))?;
        let stack = if self.below { combine::below } else { combine::beside };
        stack(&parts, to_offsets, to_indices, to_values);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        if self.below { self.cuda_below(queue) } else { self.cuda_beside(queue) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

#[cfg(feature = "cuda")]
impl<T: SparseElement, I: SparseIndex> Stack<T, I> {
    /// Appends the rows of each part to those before it: copies, and offsets increased by the entries so far.
    fn cuda_below(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets, indices, values), (to_offsets, to_indices, to_values)) = (queue.reads(), *queue.writes());
        let (mut row, mut nnz) = (0usize, 0usize);
        for (((side, offsets), indices), values) in self.sides.iter().zip(offsets).zip(indices).zip(values) {
            let begin = |to: u64, elements: usize, size: usize| to + (elements * size) as u64;
            let rows = begin(to_offsets.address(), row, size_of::<I>());
            let args = [(*offsets).into(), offsets.len().into(), nnz.into(), rows.into()];
            let name = I::pick([c"shift_offsets_4", c"shift_offsets_8"]);
            // SAFETY: the parameters have this order and these types; the result has the rows and the entries of all
            // parts (checked).
            unsafe {
                kernels::each(queue, SORT, name, offsets.len(), &args)?;
                let to = begin(to_indices.address(), nnz, size_of::<I>());
                queue.copy(to, indices.address(), indices.bytes())?;
                let to = begin(to_values.address(), nnz, size_of::<T>());
                queue.copy(to, values.address(), values.bytes())?;
            }
            (row, nnz) = (row + side.count, nnz + indices.len());
        }
        Ok(())
    }

    /// Row by row: adds up the lengths of each row, and writes each part behind the part before it.
    fn cuda_beside(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets, indices, values), (to_offsets, to_indices, to_values)) = (queue.reads(), *queue.writes());
        let rows = self.sides.first().map_or(0, |side| side.count);
        let (next, total) = (queue.scratch(to_offsets.bytes())?, queue.scratch(8)?);
        let name = I::pick([c"add_lengths_4", c"add_lengths_8"]);
        // SAFETY: the parameters have this order and these types; all parts have the rows of the result (checked), and
        // the scratch has as many elements.
        unsafe {
            queue.fill(to_offsets.address(), to_offsets.bytes(), &[0])?;
            for offsets in offsets {
                kernels::each(queue, SORT, name, rows, &[(*offsets).into(), rows.into(), to_offsets.into()])?;
            }
            kernels::accumulate::<I>(queue, to_offsets.address(), rows, total)?;
            queue.copy(next, to_offsets.address(), to_offsets.bytes())?;
        }
        let mut shift = 0usize;
        for (((side, offsets), indices), values) in self.sides.iter().zip(offsets).zip(indices).zip(values) {
            let args = [
                (*offsets).into(),
                (*indices).into(),
                (*values).into(),
                rows.into(),
                indices.len().into(),
                shift.into(),
                next.into(),
                to_indices.into(),
                to_values.into(),
            ];
            // SAFETY: as above; the entries of all parts are those of the result.
            unsafe { kernels::each(queue, ARRANGE(T::DTYPE)?, I::pick([c"beside_4", c"beside_8"]), rows, &args) }?;
            shift += side.width;
        }
        Ok(())
    }
}

/// The sum of sizes.
fn total(name: &'static str, sizes: impl Iterator<Item = usize>) -> Result<usize> {
    let mut sum = 0usize;
    for size in sizes {
        sum = sum.checked_add(size).ok_or_else(|| Error::invalid(name, "the sum of their sizes overflows"))?;
    }
    Ok(sum)
}

impl Sparse {
    fn stack<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        parts: &[&Compressed<T, I, M>],
        vertical: bool,
    ) -> Result<Compressed<T, I, M>> {
        let Some(first) = parts.first() else {
            return Err(Error::invalid("parts", "no matrices, but at least one is needed"));
        };
        let shared = |part: &Compressed<T, I, M>| if vertical { part.cols() } else { part.rows() };
        if let Some((place, part)) = parts.iter().enumerate().find(|(_, part)| shared(part) != shared(first)) {
            let what = if vertical { "columns" } else { "rows" };
            let reason = format!("{} {what} in part {place}, but the first has {}", shared(part), shared(first));
            return Err(Error::invalid("parts", reason));
        }
        let long = total("parts", parts.iter().map(|part| if vertical { part.rows() } else { part.cols() }))?;
        let (rows, cols) = if vertical { (long, first.cols()) } else { (first.rows(), long) };
        let nnz = total("parts", parts.iter().map(|part| part.nnz()))?;
        let layout = Compressed::<T, I, M>::layout_of(rows, cols, nnz);
        layout.check_sizes::<I>()?;
        let len = layout.firsts().ok_or_else(|| Error::invalid("parts", "their number of rows overflows"))?;
        let made = (self.device.unwritten(len)?, self.device.unwritten(nnz)?, self.device.unwritten(nnz)?);
        let sides = parts.iter().map(|part| Side::from_compressed(*part)).collect();
        let stack = Stack::<T, I> { sides, below: vertical == M::ROWS, _types: PhantomData };
        let offsets: Vec<In<'_, I>> = parts.iter().map(|part| part.offsets().as_in()).collect();
        let indices: Vec<In<'_, I>> = parts.iter().map(|part| part.indices().as_in()).collect();
        let values: Vec<In<'_, T>> = parts.iter().map(|part| part.values().as_in()).collect();
        let (offsets, indices, values) = self.submit(stack, (&offsets, &indices, &values), made)?.into_output();
        // SAFETY: the rows of valid matrices one after the other, or joined rows in which the columns of each part
        // follow those of the part before it.
        unsafe { Compressed::assume_valid(rows, cols, offsets, indices, values) }
    }

    /// Stacks matrices one below the other. The matrix is returned at once, while the device still computes it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if no matrices are given, their numbers of columns differ, or the index type cannot
    /// represent a size; a stale or foreign matrix; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(1, 2, &[0, 1], &[1], &[1.0f32])?;
    /// let stacked = device.sparse().vstack(&[&a, &a])?;
    /// assert_eq!((stacked.rows(), stacked.nnz()), (2, 2));
    /// # Ok(()) }
    /// ```
    pub fn vstack<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        parts: &[&Compressed<T, I, M>],
    ) -> Result<Compressed<T, I, M>> {
        self.stack(parts, true)
    }

    /// Stacks matrices side by side. The matrix is returned at once, while the device still computes it.
    ///
    /// # Errors
    /// As [`vstack`](Self::vstack), with their numbers of rows.
    pub fn hstack<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        parts: &[&Compressed<T, I, M>],
    ) -> Result<Compressed<T, I, M>> {
        self.stack(parts, false)
    }
}
