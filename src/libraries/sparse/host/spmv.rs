//! `y = alpha * op(A) * x + beta * y`.

use super::super::element::{Number, SparseElement, SparseIndex};
use super::{Rows, at, split};
use crate::core::room::{OrUnwind, filled};

/// How the stored rows are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    /// Uses the transpose of the rows.
    pub(crate) transposed: bool,
    /// Conjugates the values.
    pub(crate) conj: bool,
}

/// The inner product of a row with a vector, in four independent partial sums, so that additions do not wait for each
/// other.
#[inline]
fn row_sum<T: SparseElement, I: SparseIndex>(columns: &[I], values: &[T], x: &[T], conj: bool) -> T::Scalar {
    let term = |column: &I, value: &T| value.widen().conj_if(conj) * at(x, column.place()).widen();
    if columns.len() < 12 {
        return columns.iter().zip(values).fold(T::Scalar::default(), |sum, (c, v)| sum + term(c, v));
    }
    let mut sums = [T::Scalar::default(); 4];
    let (columns, columns_left) = columns.as_chunks::<4>();
    let (values, values_left) = values.as_chunks::<4>();
    for (columns, values) in columns.iter().zip(values) {
        for ((sum, c), v) in sums.iter_mut().zip(columns).zip(values) {
            *sum = *sum + term(c, v);
        }
    }
    for ((sum, c), v) in sums.iter_mut().zip(columns_left).zip(values_left) {
        *sum = *sum + term(c, v);
    }
    let [a, b, c, d] = sums;
    (a + b) + (c + d)
}

/// `alpha * sum + beta * y`; `y` is not read if `beta` is zero.
#[inline(always)]
pub(crate) fn update<T: SparseElement>(y: &mut T, alpha: T::Scalar, sum: T::Scalar, beta: T::Scalar) {
    let product = alpha * sum;
    *y = T::narrow(if beta == T::Scalar::default() { product } else { product + beta * y.widen() });
}

/// The product. `y` has one element for each row, or for each column if transposed.
pub(crate) fn spmv<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    how: Use,
    alpha: T::Scalar,
    x: &[T],
    beta: T::Scalar,
    y: &mut [T],
) {
    if how.transposed {
        return transposed(a, how.conj, alpha, x, beta, y);
    }
    let bounds = split::by_entries(a.offsets, a.count, 1);
    split::each(&bounds, y, 1, &|rows, y| {
        for (row, y) in rows.zip(y) {
            let (columns, values) = a.row(row);
            update(y, alpha, row_sum(columns, values, x, how.conj), beta);
        }
    });
}

/// The maximum number of partial vectors of a transposed product.
const PARTS: usize = 8;

/// Columns whose sums are added up together.
const BLOCK: usize = 128;

/// The sums of some rows, for the columns in which they have entries.
struct Sums<S> {
    first: usize,
    sums: Vec<S>,
}

/// Each part of the rows adds to a vector of its own; the number of parts depends on the sizes alone. A vector reaches from
/// the least column of its rows to the greatest: of a banded matrix the vectors together are as long as the result.
fn transposed<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    conj: bool,
    alpha: T::Scalar,
    x: &[T],
    beta: T::Scalar,
    y: &mut [T],
) {
    let parts = (a.nnz() / a.width.max(1 << 15)).clamp(1, PARTS);
    let bounds: Vec<usize> =
        (0..=parts).map(|part| a.count / parts * part + a.count % parts * (part / parts)).collect();
    let sums = split::map(&bounds, &|rows| {
        let columns = a.indices.get(a.range(rows.start).start..at(a.offsets, rows.end).place()).unwrap_or_default();
        let (first, last) = match parts {
            1 => (0, a.width),
            _ => columns
                .iter()
                .fold((a.width, 0), |(low, high), c| (low.min(c.place()), high.max(c.place().saturating_add(1)))),
        };
        let mut sums = filled(last.min(a.width).saturating_sub(first), T::Scalar::default()).or_unwind();
        for row in rows {
            let x = at(x, row).widen();
            for (column, value) in a.entries(row) {
                if let Some(sum) = sums.get_mut(column.wrapping_sub(first)) {
                    *sum = *sum + value.widen().conj_if(conj) * x;
                }
            }
        }
        Sums { first, sums }
    });
    split::each(&split::evenly(a.width, parts), y, 1, &|columns, y| {
        let mut first = columns.start;
        for y in y.chunks_mut(BLOCK) {
            let mut all = [T::Scalar::default(); BLOCK];
            for part in &sums {
                // Where the part has columns of the block.
                let (from, skipped) = (first.saturating_sub(part.first), part.first.saturating_sub(first));
                let some = all.get_mut(skipped..).unwrap_or_default();
                for (all, sum) in some.iter_mut().zip(part.sums.get(from..).unwrap_or_default()) {
                    *all = *all + *sum;
                }
            }
            y.iter_mut().zip(all).for_each(|(y, sum)| update(y, alpha, sum, beta));
            first += BLOCK;
        }
    });
}
