//! How a sparse matrix is stored: its format and sizes, as plain data.

use super::element::SparseElement;
use super::element::SparseIndex;
#[cfg(feature = "host")]
use super::host::{self, Rows, spmm::Steps, transpose::Owned};
use crate::core::error::{Error, Result};
#[cfg(feature = "host")]
use crate::core::room::{OrUnwind, filled};
use crate::libraries::flags::Order;
use serde::{Deserialize, Serialize};

/// The storage format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Format {
    /// Compressed rows.
    Csr,
    /// Compressed columns.
    Csc,
    /// Coordinates, sorted by rows.
    Coo,
    /// Compressed rows of square blocks: the size of a block, and the order of its elements.
    Bsr(usize, Order),
}

/// A matrix without its arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Layout {
    pub(super) format: Format,
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Number of stored indices: one for each entry, or for each block.
    pub(super) stored: usize,
}

/// Rows and columns of a matrix: the part of an output that is known to the host.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    pub(super) rows: usize,
    pub(super) cols: usize,
}

impl Layout {
    /// Length of the array of values.
    pub(super) fn values(&self) -> Option<usize> {
        match self.format {
            Format::Bsr(size, _) => size.checked_mul(size)?.checked_mul(self.stored),
            _ => Some(self.stored),
        }
    }

    /// Length of the first array: of the offsets, or of the row indices of coordinates.
    pub(super) fn firsts(&self) -> Option<usize> {
        match self.format {
            Format::Csr => self.rows.checked_add(1),
            Format::Csc => self.cols.checked_add(1),
            Format::Coo => Some(self.stored),
            Format::Bsr(size, _) => (self.rows / size.max(1)).checked_add(1),
        }
    }

    /// The names of the first and the second array of indices.
    pub(super) fn names(&self) -> [&'static str; 2] {
        match self.format {
            Format::Csr | Format::Bsr(..) => ["offsets", "columns"],
            Format::Csc => ["offsets", "row_indices"],
            Format::Coo => ["row_indices", "column_indices"],
        }
    }

    /// Checks that the index type can represent the sizes.
    pub(super) fn check_sizes<I: SparseIndex>(&self) -> Result<()> {
        let (largest, kind) = (I::LARGEST, I::DTYPE);
        let sizes = [("rows", Some(self.rows)), ("cols", Some(self.cols)), ("values", self.values())];
        for (name, size) in sizes {
            match size {
                Some(size) if size <= largest => {}
                Some(size) => {
                    return Err(Error::invalid(
                        name,
                        format!("{size} exceeds the maximum of {kind} indices, {largest}"),
                    ));
                }
                None => return Err(Error::invalid(name, "the number of elements overflows")),
            }
        }
        if let Format::Bsr(size, _) = self.format {
            if size == 0 {
                return Err(Error::invalid("block", "0, but a block has at least one row"));
            }
            for (name, count) in [("rows", self.rows), ("cols", self.cols)] {
                if !count.is_multiple_of(size) {
                    return Err(Error::invalid(
                        name,
                        format!("the block size {size} does not divide the {count} {name}"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks the lengths of the three arrays.
    pub(super) fn check<I: SparseIndex>(&self, first: usize, second: usize, values: usize) -> Result<()> {
        self.check_sizes::<I>()?;
        let [first_name, second_name] = self.names();
        let need = |name, what: Option<usize>, is: usize| match what {
            Some(need) if need == is => Ok(()),
            Some(need) => Err(Error::invalid(
                name,
                format!(
                    "{is} elements, but a {} x {} matrix with {} stored has {need}",
                    self.rows, self.cols, self.stored
                ),
            )),
            None => Err(Error::invalid(name, "the number of elements overflows")),
        };
        need(first_name, self.firsts(), first)?;
        need(second_name, Some(self.stored), second)?;
        need("values", self.values(), values)
    }

    /// Blocks of one element have the arrays of compressed rows. cuSPARSE multiplies only larger blocks.
    #[cfg(feature = "cuda")]
    pub(super) fn without_single_blocks(&self) -> Self {
        let format = if let Format::Bsr(1, _) = self.format { Format::Csr } else { self.format };
        Layout { format, ..*self }
    }

    /// The same arrays read as the transpose: CSR becomes CSC and the reverse. Other formats do not change.
    #[cfg(feature = "cuda")]
    pub(super) fn turned(&self) -> Self {
        let format = match self.format {
            Format::Csr => Format::Csc,
            Format::Csc => Format::Csr,
            other => return Layout { format: other, ..*self },
        };
        Layout { format, rows: self.cols, cols: self.rows, stored: self.stored }
    }

    /// Bytes of the arrays.
    pub(super) fn bytes<T, I>(&self) -> u64 {
        let indices = self.firsts().unwrap_or(0).saturating_add(self.stored);
        let bytes = indices.saturating_mul(size_of::<I>());
        bytes.saturating_add(self.values().unwrap_or(0).saturating_mul(size_of::<T>())) as u64
    }

    /// The arrays as compressed rows. The flag is true if these are rows of the transpose. `store` holds arrays that
    /// must be built.
    #[cfg(feature = "host")]
    pub(super) fn seen<'a, T: SparseElement, I: SparseIndex>(
        &self,
        (first, second, values): (&'a [I], &'a [I], &'a [T]),
        store: &'a mut Owned<T, I>,
    ) -> (Rows<'a, T, I>, bool) {
        let (rows, cols) = (self.rows, self.cols);
        match self.format {
            Format::Csr => (Rows { count: rows, width: cols, offsets: first, indices: second, values }, false),
            Format::Csc => (Rows { count: cols, width: rows, offsets: first, indices: second, values }, true),
            Format::Coo => {
                store.offsets = filled(rows + 1, I::from_place(0)).or_unwind();
                host::convert::compress(first, rows, &mut store.offsets);
                (Rows { count: rows, width: cols, offsets: &store.offsets, indices: second, values }, false)
            }
            Format::Bsr(..) => {
                if let Some(blocks) = self.blocks(first, second, values) {
                    *store = blocks.expanded();
                }
                (store.rows(), false)
            }
        }
    }

    /// The compressed rows of the matrix, or of its transpose if `transposed` is set. `turned` holds them if they are
    /// not stored so.
    #[cfg(feature = "host")]
    pub(super) fn seen_by_rows<'a, T: SparseElement, I: SparseIndex>(
        &self,
        arrays: (&'a [I], &'a [I], &'a [T]),
        transposed: bool,
        [store, turned]: [&'a mut Owned<T, I>; 2],
    ) -> Rows<'a, T, I> {
        let (rows, columns) = self.seen(arrays, store);
        if transposed == columns {
            return rows;
        }
        *turned = Owned::transposed(&rows, false);
        turned.rows()
    }

    /// The arrays as blocks, if the format is BSR.
    #[cfg(feature = "host")]
    pub(super) fn blocks<'a, T: SparseElement, I: SparseIndex>(
        &self,
        offsets: &'a [I],
        indices: &'a [I],
        values: &'a [T],
    ) -> Option<host::blocks::Blocks<'a, T, I>> {
        let Format::Bsr(size, order) = self.format else { return None };
        let (count, width) = (self.rows / size.max(1), self.cols / size.max(1));
        Some(host::blocks::Blocks { size, steps: steps(order, size), count, width, offsets, indices, values })
    }
}

/// An empty store for arrays that must be built.
#[cfg(feature = "host")]
pub(super) fn store<T: SparseElement, I: SparseIndex>() -> Owned<T, I> {
    Owned::zeroed(0, 0, 0)
}

/// The steps between rows and between columns of a dense matrix with a leading dimension.
#[cfg(feature = "host")]
pub(super) fn steps(order: Order, ld: usize) -> Steps {
    match order {
        Order::Column => Steps { row: 1, column: ld },
        Order::Row => Steps { row: ld, column: 1 },
    }
}

/// `cusparseOperation_t` of a transpose without conjugation.
#[cfg(feature = "cuda")]
pub(super) const TRANSPOSED: u32 = 1;

/// `cusparseOperation_t` for elements of type `T`. For real types a conjugate transpose is a plain transpose.
#[cfg(feature = "cuda")]
pub(super) fn operation<T: crate::core::element::Element>(trans: crate::libraries::flags::Transpose) -> u32 {
    match trans {
        crate::libraries::flags::Transpose::No => 0,
        crate::libraries::flags::Transpose::Conjugate if T::DTYPE.is_complex() => 2,
        crate::libraries::flags::Transpose::Yes | crate::libraries::flags::Transpose::Conjugate => TRANSPOSED,
    }
}
