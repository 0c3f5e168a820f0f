//! Multiplying by a triangular matrix and solving with one, in place: `B = alpha * T * B` and `B = alpha * T^-1 * B`.
//!
//! Both split T in half: the square off the diagonal is a product by crate `gemm`; the two triangles are split again,
//! down to `LEAF` rows. Rows are always eliminated by substitution, never by multiplication with the inverse of a
//! block. So the solution has the small backward error of the textbook method.

use super::super::gemm::Native;
use super::super::parallel::both;
use super::leaf::{LEAF, leaf};
use super::view::{Mat, MatMut};

/// What is done with T.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Multiply,
    Solve,
}

/// A triangular matrix. Only its triangle is read; if `unit`, the diagonal is all ones and not read.
#[derive(Clone, Copy)]
pub(crate) struct Triangle<'a, T> {
    pub(crate) matrix: Mat<'a, T>,
    pub(crate) lower: bool,
    pub(crate) unit: bool,
}

impl<'a, T: Native> Triangle<'a, T> {
    /// The leading triangle of `at` rows, the square off the diagonal, and the trailing triangle.
    fn split(self, at: usize) -> (Self, Mat<'a, T>, Self) {
        let (top, bottom) = self.matrix.split_rows(at);
        let ((first, upper), (lower, last)) = (top.split_cols(at), bottom.split_cols(at));
        let part = |matrix| Triangle { matrix, ..self };
        (part(first), if self.lower { lower } else { upper }, part(last))
    }
}

/// From this many columns per thread, B is split by columns among threads; below, threads share each product.
const COLUMNS: usize = 64;

/// `B = alpha * T * B` or `B = alpha * T^-1 * B`. The caller handles a zero `alpha`.
pub(crate) fn apply<T: Native>(action: Action, t: Triangle<'_, T>, alpha: T, b: MatMut<'_, T>, threads: usize) {
    if t.matrix.rows() != t.matrix.cols() || t.matrix.cols() != b.rows() || b.cols() == 0 {
        return;
    }
    if threads > 1 && b.cols() >= 2 * COLUMNS {
        let half = threads / 2;
        let at = (b.cols() * half / threads).next_multiple_of(16);
        let (left, right) = b.split_cols(at);
        both(|| apply(action, t, alpha, left, half), || apply(action, t, alpha, right, threads - half));
        return;
    }
    halve(action, t, alpha, b, threads);
}

fn halve<T: Native>(action: Action, t: Triangle<'_, T>, alpha: T, mut b: MatMut<'_, T>, threads: usize) {
    let n = t.matrix.rows();
    if n <= LEAF {
        return leaf(action, t, alpha, b);
    }
    let at = (n / 2).next_multiple_of(LEAF);
    let (first, off, last) = t.split(at);
    let (top, bottom) = b.reborrow().split_rows(at);
    // In a lower triangle the second half depends on the first, in an upper one the first on the second.
    let ((one, mut x), (two, mut y)) =
        if t.lower { ((first, top), (last, bottom)) } else { ((last, bottom), (first, top)) };
    match action {
        Action::Multiply => {
            halve(action, two, alpha, y.reborrow(), threads);
            y.product(alpha, off, x.as_ref(), T::ONE, threads);
            halve(action, one, alpha, x, threads);
        }
        Action::Solve => {
            halve(action, one, alpha, x.reborrow(), threads);
            y.product(-T::ONE, off, x.as_ref(), alpha, threads);
            halve(action, two, T::ONE, y, threads);
        }
    }
}
