//! Incomplete factorizations without fill, in the structure of the matrix (Meijerink and van der Vorst 1977).

use super::super::element::{SolveElement, SparseIndex};
use super::at;
use crate::core::room::{OrUnwind, filled};

/// The position of a column in the entries of a row.
fn find<I: SparseIndex>(indices: &[I], start: usize, end: usize, column: usize) -> Option<usize> {
    let row = indices.get(start..end)?;
    row.binary_search(&I::from_place(column)).ok().map(|place| start + place)
}

fn set<T>(values: &mut [T], place: usize, value: T) {
    super::put(values, place, value);
}

/// `A = L * U` on the entries of A, in place: L below the diagonal (its ones on the diagonal are not stored), U on and
/// above it. Returns the first row whose pivot is zero, missing or NaN, plus 1.
pub(crate) fn ilu0<T: SolveElement, I: SparseIndex>(
    offsets: &[I],
    indices: &[I],
    count: usize,
    values: &mut [T],
) -> Option<usize> {
    let range = |row: usize| (at(offsets, row).place(), at(offsets, row + 1).place().min(indices.len()));
    // The position of each column in the current row.
    let mut places = filled(count, usize::MAX).or_unwind();
    let mut diagonals = filled(count, usize::MAX).or_unwind();
    for row in 0..count {
        let (start, end) = range(row);
        for place in start..end {
            set(&mut places, at(indices, place).place(), place);
        }
        for place in start..end {
            let before = at(indices, place).place();
            if before >= row {
                break;
            }
            let factor = at(values, place).over(at(values, at(&diagonals, before)));
            set(values, place, factor);
            let (_, end_before) = range(before);
            for other in at(&diagonals, before).saturating_add(1)..end_before {
                let target = at(&places, at(indices, other).place());
                if target != usize::MAX {
                    let new = at(values, target) - factor * at(values, other);
                    set(values, target, new);
                }
            }
        }
        for place in start..end {
            set(&mut places, at(indices, place).place(), usize::MAX);
        }
        let diagonal = find(indices, start, end, row);
        // A NaN is not a valid pivot either.
        let size = diagonal.map_or(0.0, |place| at(values, place).magnitude());
        if size.is_nan() || size <= 0.0 {
            return Some(row + 1);
        }
        set(&mut diagonals, row, diagonal.unwrap_or(usize::MAX));
    }
    None
}

/// `A = L * L^H` on the entries of A's lower triangle, in place; `offsets` and `indices` describe that triangle.
/// Returns the first row whose pivot is not positive, plus 1.
pub(crate) fn ic0<T: SolveElement, I: SparseIndex>(
    offsets: &[I],
    indices: &[I],
    count: usize,
    values: &mut [T],
) -> Option<usize> {
    let range = |row: usize| (at(offsets, row).place(), at(offsets, row + 1).place().min(indices.len()));
    for row in 0..count {
        let (start, end) = range(row);
        for place in start..end {
            let column = at(indices, place).place();
            if column > row {
                return Some(row + 1);
            }
            // The inner product of this row and row `column`, over the columns to the left of `column`.
            let (mut other, other_end) = range(column);
            let (mut own, mut sum) = (start, at(values, place));
            while own < place && other < other_end {
                let (left, right) = (at(indices, own), at(indices, other));
                if left == right {
                    sum = sum - at(values, own) * at(values, other).conj();
                }
                own += usize::from(left <= right);
                other += usize::from(right <= left);
            }
            if column < row {
                let diagonal = at(values, other_end.wrapping_sub(1));
                set(values, place, sum.over(diagonal.conj()));
            } else {
                if sum.re().is_nan() || sum.re() <= 0.0 {
                    return Some(row + 1);
                }
                set(values, place, sum.real_root());
            }
        }
        if end == start || at(indices, end - 1).place() != row {
            return Some(row + 1);
        }
    }
    None
}
