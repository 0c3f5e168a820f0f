//! Which entries of a matrix are a part of it.

use super::element::{Number, SparseElement};

/// Which entries are kept.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Keep {
    /// Those larger in magnitude than this, and NaN.
    Above(f64),
    /// On and below the diagonal of this number, counted upwards from the main one.
    Lower(i64),
    /// On and above it.
    Upper(i64),
    /// Some of the rows, from this one on.
    Rows(u64),
    /// Some of the columns: the first one, and how many.
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

    /// Where a column comes to lie.
    pub(super) fn moved(self, column: usize) -> usize {
        match self {
            Keep::Columns(first, _) => column.saturating_sub(first as usize),
            _ => column,
        }
    }
}
