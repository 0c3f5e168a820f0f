//! Selection of the entries of a matrix that belong to a part of it.

use super::element::{Number, SparseElement};

/// Which entries are kept.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Keep {
    /// Entries larger in magnitude than this, and NaN.
    Above(f64),
    /// Entries on and below the diagonal with this number. The main diagonal is 0; numbers above it are positive.
    Lower(i64),
    /// Entries on and above that diagonal.
    Upper(i64),
    /// A range of rows that begins at this one.
    Rows(u64),
    /// A range of columns: the first, and their number.
    Columns(u64, u64),
}

impl Keep {
    /// The row of the matrix that becomes the first.
    pub(super) fn first_row(self) -> usize {
        match self {
            Keep::Rows(first) => first as usize,
            _ => 0,
        }
    }

    pub(super) fn keeps<T: SparseElement>(self, row: usize, column: usize, value: T) -> bool {
        // Both are below 2^63.
        let diagonal = column as i128 - row as i128;
        match self {
            Keep::Above(0.0) => value.widen() != T::Scalar::default(),
            Keep::Above(threshold) => {
                let size = value.widen().magnitude();
                size > threshold || size.is_nan()
            }
            Keep::Lower(k) => diagonal <= i128::from(k),
            Keep::Upper(k) => diagonal >= i128::from(k),
            Keep::Rows(_) => true,
            Keep::Columns(first, count) => (column as u64).checked_sub(first).is_some_and(|column| column < count),
        }
    }

    /// The column in the result.
    pub(super) fn moved(self, column: usize) -> usize {
        match self {
            Keep::Columns(first, _) => column.saturating_sub(first as usize),
            _ => column,
        }
    }
}
