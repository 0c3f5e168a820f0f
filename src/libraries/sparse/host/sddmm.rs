//! `C = alpha * (A * B) + beta * C` at the entries of a sparse C, with dense A and B.

use super::super::element::{SparseElement, SparseIndex};
use super::spmm::Steps;
use super::spmv::update;
use super::{at, split};

/// `offsets` and `indices` are the structure of C, `values` its values; A and B have their steps.
pub(crate) fn sddmm<T: SparseElement, I: SparseIndex>(
    (offsets, indices, rows): (&[I], &[I], usize),
    k: usize,
    (alpha, beta): (T::Scalar, T::Scalar),
    (a, of_a): (&[T], Steps),
    (b, of_b): (&[T], Steps),
    values: &mut [T],
) {
    let bounds = split::by_entries(offsets, rows, k);
    let cut = |row| at(offsets, row).place();
    split::each_two(&bounds, (values, &cut), (&mut [(); 0], &|_| 0), &|rows, values, _| {
        let first = cut(rows.start);
        for row in rows {
            for place in cut(row)..cut(row + 1).min(indices.len()) {
                let column = at(indices, place).place();
                let mut sum = T::Scalar::default();
                for step in 0..k {
                    let x = at(a, of_a.place(row, step)).widen();
                    let y = at(b, of_b.row.saturating_mul(step).saturating_add(of_b.column.saturating_mul(column)));
                    sum = sum + x * y.widen();
                }
                if let Some(value) = place.checked_sub(first).and_then(|place| values.get_mut(place)) {
                    update(value, alpha, sum, beta);
                }
            }
        }
    });
}
