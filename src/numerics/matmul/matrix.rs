//! A matrix as it is stored, alone or in a batch, and a matrix as a factor of the product.

use crate::core::room::{OrUnwind, collected};
use std::borrow::Cow;

use super::super::spec::Trans;

/// A matrix as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<X> {
    /// The elements; for a batch, those of all matrices.
    pub data: X,
    /// What is done to it before it is multiplied; `No` for C and D.
    pub trans: Trans,
    /// Stored by rows (row-major), not by columns.
    pub by_rows: bool,
    /// Elements between columns, or between rows if stored by rows.
    pub ld: usize,
    /// Elements between the matrices of a batch.
    pub stride: usize,
}

/// A factor of the product, stored by columns.
pub(super) struct Factor<'x, X: Clone> {
    pub(super) data: Cow<'x, [X]>,
    pub(super) op: Trans,
    pub(super) ld: usize,
}

impl<X: Clone> Matrix<&[X]> {
    /// The number of elements that one matrix spans, where `op` of the matrix is `rows` x `columns`.
    pub(super) fn span(&self, rows: usize, columns: usize) -> usize {
        let (line, lines) = if (self.trans == Trans::No) ^ self.by_rows { (rows, columns) } else { (columns, rows) };
        match lines.checked_sub(1) {
            Some(before) if line > 0 => self.ld.saturating_mul(before).saturating_add(line),
            _ => 0,
        }
    }

    /// Matrix `at` of the batch, which spans `len` elements, as a factor; transposed once more if `flip`.
    pub(super) fn factor<'s>(&'s self, at: usize, len: usize, flip: bool, conjugate: fn(X) -> X) -> Factor<'s, X> {
        let data = self.data.get(at * self.stride..).unwrap_or_default();
        // Limited to this matrix, because a conjugated factor is copied.
        let data = data.get(..len).unwrap_or(data);
        let swapped = (self.trans != Trans::No) ^ self.by_rows ^ flip;
        let (op, data) = match (swapped, self.trans == Trans::Conj) {
            (false, false) => (Trans::No, Cow::Borrowed(data)),
            (true, false) => (Trans::Yes, Cow::Borrowed(data)),
            (true, true) => (Trans::Conj, Cow::Borrowed(data)),
            // Conjugated but not transposed: no kernel does that to a factor, so it is copied.
            (false, true) => (Trans::No, Cow::Owned(collected(data.iter().cloned().map(conjugate)).or_unwind())),
        };
        Factor { data, op, ld: self.ld }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex32;

    #[test]
    fn a_conjugated_factor_is_a_copy_of_its_own_matrix_alone() {
        let data: Vec<_> = (0..60).map(|at| Complex32::new(0.0, at as f32)).collect();
        // op(X) is 2 x 3: X is 3 x 2, stored by rows as three lines of two, or by columns as two lines of three.
        for (by_rows, flip, len) in [(true, false, 10), (false, true, 7)] {
            let matrix = Matrix { data: &data[..], trans: Trans::Conj, by_rows, ld: 4, stride: 20 };
            assert_eq!(matrix.span(2, 3), len);
            for at in 0..3 {
                let factor = matrix.factor(at, len, flip, |x| x.conj());
                let want: Vec<_> = data[at * 20..][..len].iter().map(Complex32::conj).collect();
                assert_eq!((factor.op, &factor.data[..]), (Trans::No, &want[..]), "matrix {at}, by rows {by_rows}");
            }
            assert_eq!(matrix.span(0, 3), 0);
            assert_eq!(matrix.span(2, 0), 0);
        }
        let plain = Matrix { data: &data[..], trans: Trans::No, by_rows: false, ld: 4, stride: 20 };
        assert_eq!([plain.span(2, 3), plain.span(3, 2)], [10, 7]);
    }
}
