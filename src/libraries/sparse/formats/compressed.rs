//! Compressed rows and columns.

use super::super::element::{SparseElement, SparseIndex};
use super::super::layout::{Extent, Format, Layout};
use super::structure::Structure;
use super::{SparseMatrix, Stored, sealed};
use crate::core::buffer::{DeviceBuffer, GpuRef, Shareable};
use crate::core::error::{Error, Result};
use crate::core::op::Output;
use std::marker::PhantomData;

/// Whether rows or columns are compressed. Sealed: [`ByRows`] and [`ByColumns`].
pub trait Major: sealed::Sealed + Send + Sync + 'static {
    /// The compressed dimension of the transpose.
    type Turned: Major<Turned = Self>;
    #[doc(hidden)]
    const ROWS: bool;
}

/// Row after row: [`Csr`].
#[derive(Clone, Copy, Debug)]
pub struct ByRows(());
/// Column after column: [`Csc`].
#[derive(Clone, Copy, Debug)]
pub struct ByColumns(());
impl sealed::Sealed for ByRows {}
impl sealed::Sealed for ByColumns {}
impl Major for ByRows {
    type Turned = ByColumns;
    const ROWS: bool = true;
}
impl Major for ByColumns {
    type Turned = ByRows;
    const ROWS: bool = false;
}

/// Compressed sparse rows: the entries of row `i` have the positions `offsets[i] .. offsets[i + 1]`; each has a column
/// index.
pub type Csr<T, I = i32> = Compressed<T, I, ByRows>;
/// Compressed sparse columns: the entries of column `j` have the positions `offsets[j] .. offsets[j + 1]`; each has a
/// row index.
pub type Csc<T, I = i32> = Compressed<T, I, ByColumns>;

/// A sparse matrix with compressed rows ([`Csr`]) or columns ([`Csc`]), validated: the offsets begin at 0, do not
/// decrease, and end at the number of entries; the indices of each row (or column) lie inside the matrix, are sorted,
/// and do not repeat.
///
/// [`Sparse::csr`](super::super::Sparse::csr) and similar functions create it. It holds read handles, so a clone costs
/// nothing and the arrays cannot change while it exists.
pub struct Compressed<T: SparseElement, I: SparseIndex, M: Major> {
    extent: Extent,
    offsets: GpuRef<I>,
    indices: GpuRef<I>,
    values: GpuRef<T>,
    structure: Structure,
    _major: PhantomData<M>,
}

impl<T: SparseElement, I: SparseIndex, M: Major> Compressed<T, I, M> {
    /// The layout of a matrix of these sizes.
    pub(in super::super) fn layout_of(rows: usize, cols: usize, stored: usize) -> Layout {
        Layout { format: if M::ROWS { Format::Csr } else { Format::Csc }, rows, cols, stored }
    }

    fn layout(&self) -> Layout {
        Self::layout_of(self.extent.rows, self.extent.cols, self.indices.len())
    }

    /// Takes the arrays without validating their contents: only their lengths are checked.
    ///
    /// # Safety
    /// The arrays must satisfy what the documentation of the type says. On a GPU an index outside the matrix causes
    /// reads and writes outside of buffers.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths do not fit or the index type cannot represent a size.
    pub unsafe fn assume_valid(
        rows: usize,
        cols: usize,
        offsets: impl Shareable<I>,
        indices: impl Shareable<I>,
        values: impl Shareable<T>,
    ) -> Result<Self> {
        let (offsets, indices, values) = (offsets.into(), indices.into(), values.into());
        Self::layout_of(rows, cols, indices.len()).check::<I>(offsets.len(), indices.len(), values.len())?;
        Ok(Compressed {
            extent: Extent { rows, cols },
            offsets,
            indices,
            values,
            structure: Structure::new(None),
            _major: PhantomData,
        })
    }

    /// The arrays as compressed rows: those of the transpose if columns are compressed.
    pub(in super::super) fn as_rows(&self) -> Csr<T, I> {
        let Extent { rows, cols } = self.extent;
        let extent = if M::ROWS { self.extent } else { Extent { rows: cols, cols: rows } };
        let (offsets, indices, values) = (self.offsets.clone(), self.indices.clone(), self.values.clone());
        Compressed { extent, offsets, indices, values, structure: self.structure, _major: PhantomData }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.extent.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.extent.cols
    }

    /// Number of stored entries, stored zeros included.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// The position of the first entry of each row (or column), and the number of entries at the end: one more than
    /// rows.
    pub fn offsets(&self) -> &GpuRef<I> {
        &self.offsets
    }

    /// The column (or row) of each entry.
    pub fn indices(&self) -> &GpuRef<I> {
        &self.indices
    }

    /// The values of the entries.
    pub fn values(&self) -> &GpuRef<T> {
        &self.values
    }

    /// The identifier of the contents of offsets and indices.
    pub(in crate::libraries) fn structure_name(&self) -> u64 {
        self.structure.name
    }

    /// Offsets, indices and values.
    pub fn into_parts(self) -> (GpuRef<I>, GpuRef<I>, GpuRef<T>) {
        (self.offsets, self.indices, self.values)
    }

    /// The same structure with other values, of any type; it is not validated again.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the number of values differs.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(2, 2, &[0, 1, 2], &[1, 0], &[1.0f64, 2.0])?;
    /// let a = a.with_values(device.upload([5.0f32, 6.0])?.into_output())?;
    /// assert_eq!(device.download(a.values())?.await_result()?, [5.0, 6.0]);
    /// # Ok(()) }
    /// ```
    pub fn with_values<U: SparseElement>(&self, values: impl Shareable<U>) -> Result<Compressed<U, I, M>> {
        let values = values.into();
        if values.len() != self.indices.len() {
            let reason = format!("{} elements, but the structure has {} entries", values.len(), self.indices.len());
            return Err(Error::invalid("values", reason));
        }
        let (offsets, indices) = (self.offsets.clone(), self.indices.clone());
        Ok(Compressed { extent: self.extent, offsets, indices, values, structure: self.structure, _major: PhantomData })
    }

    /// The transpose: the same arrays read in the other format. Nothing is copied.
    pub fn transposed(&self) -> Compressed<T, I, M::Turned> {
        let Extent { rows, cols } = self.extent;
        let (offsets, indices, values) = (self.offsets.clone(), self.indices.clone(), self.values.clone());
        Compressed {
            extent: Extent { rows: cols, cols: rows },
            offsets,
            indices,
            values,
            structure: self.structure,
            _major: PhantomData,
        }
    }
}

impl<T: SparseElement, I: SparseIndex, M: Major> Clone for Compressed<T, I, M> {
    fn clone(&self) -> Self {
        let (offsets, indices, values) = (self.offsets.clone(), self.indices.clone(), self.values.clone());
        Compressed { extent: self.extent, offsets, indices, values, structure: self.structure, _major: PhantomData }
    }
}

impl<T: SparseElement, I: SparseIndex, M: Major> std::fmt::Debug for Compressed<T, I, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = if M::ROWS { "Csr" } else { "Csc" };
        write!(f, "{name}<{}, {}>({} x {}, {} stored)", T::DTYPE, I::DTYPE, self.rows(), self.cols(), self.nnz())
    }
}

impl<T: SparseElement, I: SparseIndex, M: Major> Output for Compressed<T, I, M> {
    type Writes = (I, I, T);
    /// The second part is the number of entries of the longest row, if it was counted.
    type Host = (Extent, Option<u64>);
    fn join((offsets, indices, values): Arrays<T, I>, (extent, longest): Self::Host) -> Result<Self> {
        let (offsets, indices, values) = (offsets.share(), indices.share(), values.share());
        Ok(Compressed { extent, offsets, indices, values, structure: Structure::new(longest), _major: PhantomData })
    }
}

/// The three arrays of a matrix, as they are passed in and returned.
pub(in super::super) type Arrays<T, I> = (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<T>);

impl<T: SparseElement, I: SparseIndex, M: Major> sealed::Sealed for Compressed<T, I, M> {}
impl<T: SparseElement, I: SparseIndex, M: Major> SparseMatrix<T, I> for Compressed<T, I, M> {
    fn rows(&self) -> usize {
        self.extent.rows
    }
    fn cols(&self) -> usize {
        self.extent.cols
    }
    fn nnz(&self) -> usize {
        self.indices.len()
    }
    fn stored(&self) -> Stored<'_, T, I> {
        let (first, second, values) = (self.offsets.as_in(), self.indices.as_in(), self.values.as_in());
        Stored { layout: self.layout(), structure: Some(self.structure), first, second, values }
    }
}
