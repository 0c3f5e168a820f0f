//! Products of which one triangle is kept: syrk, herk, syr2k, her2k, syrkx, herkx.
//!
//! C is split in half: the square off the diagonal is a product by crate `gemm`; the triangles on the diagonal are
//! split again, down to `LEAF` rows. A leaf computes its whole square in scratch memory and copies its triangle to C.
//! Of the two terms of syr2k the second is the first one transposed, so the other half of that square is used too.

use super::super::gemm::Native;
use super::super::parallel::both;
use super::view::{Mat, MatMut};

/// Maximum number of rows of a leaf.
const LEAF: usize = 64;

/// `alpha * a * b'`, plus `alpha' * b * a'` if there are two terms; `a` and `b` are `n` x `k`, and `'` transposes, or
/// transposes and conjugates if the result is Hermitian.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a, T> {
    pub(crate) alpha: T,
    pub(crate) a: Mat<'a, T>,
    pub(crate) b: Mat<'a, T>,
    pub(crate) two: bool,
    pub(crate) hermitian: bool,
}

impl<T: Native> Terms<'_, T> {
    /// The terms whose lower triangle is the transpose of the upper triangle of these.
    pub(crate) fn transposed(self) -> Self {
        Terms { a: self.b.conj(self.hermitian), b: self.a.conj(self.hermitian), ..self }
    }

    /// The rows of both before `at`, and the other rows.
    fn split(self, at: usize) -> (Self, Self) {
        let ((a_top, a_low), (b_top, b_low)) = (self.a.split_rows(at), self.b.split_rows(at));
        (Terms { a: a_top, b: b_top, ..self }, Terms { a: a_low, b: b_low, ..self })
    }

    /// `square = terms + beta * square`, its rows from `self` and its columns from `columns`.
    fn square(self, columns: Self, square: &mut MatMut<'_, T>, mut beta: T, threads: usize) {
        if self.hermitian && beta != T::default() && beta != T::ONE {
            square.each(|x| scaled(beta, x, true));
            beta = T::ONE;
        }
        square.product(self.alpha, self.a, columns.b.t().conj(self.hermitian), beta, threads);
        if self.two {
            let alpha = if self.hermitian { self.alpha.conj() } else { self.alpha };
            square.product(alpha, self.b, columns.a.t().conj(self.hermitian), T::ONE, threads);
        }
    }
}

/// `C = terms + beta * C` in the lower triangle of C. A Hermitian C has a real diagonal before and after.
pub(crate) fn lower<T: Native>(mut c: MatMut<'_, T>, terms: Terms<'_, T>, beta: T, threads: usize) {
    let n = c.rows();
    if n <= LEAF {
        let mut room = [T::default(); LEAF * LEAF];
        let Some(mut product) = MatMut::new(&mut room, n, n, n.max(1)) else { return };
        Terms { two: false, ..terms }.square(terms, &mut product, T::default(), 1);
        return merge(&mut c, Some((product.as_ref(), terms.two)), beta, terms.hermitian);
    }
    let at = (n / 2).next_multiple_of(LEAF.min(n / 2));
    let (terms_top, terms_low) = terms.split(at);
    let (top, low) = c.reborrow().split_rows(at);
    let ((first, _), (mut square, last)) = (top.split_cols(at), low.split_cols(at));
    terms_low.square(terms_top, &mut square, beta, threads);
    let one = |threads| lower(first, terms_top, beta, threads);
    let two = |threads| lower(last, terms_low, beta, threads);
    if threads > 1 {
        both(|| one(threads / 2), || two(threads - threads / 2));
    } else {
        one(1);
        two(1);
    }
}

/// `beta * x`; `x` itself if `beta` is one. The factor of a Hermitian update is real and multiplies part by part. A
/// complex factor would multiply infinities by its zero imaginary part.
fn scaled<T: Native>(beta: T, x: T, hermitian: bool) -> T {
    match (beta.parts(), x.parts()) {
        _ if beta == T::ONE => x,
        ([beta, _], [re, im]) if hermitian => T::of_parts([beta * re, beta * im]),
        _ => beta * x,
    }
}

/// `C = product + beta * C` in the lower triangle; `product + product'` if there are two terms.
pub(crate) fn merge<T: Native>(c: &mut MatMut<'_, T>, product: Option<(Mat<'_, T>, bool)>, beta: T, hermitian: bool) {
    let [zero, _] = T::default().parts();
    let real = |x: T| T::of_parts([x.parts()[0], zero]);
    for j in 0..c.cols() {
        for i in j..c.rows() {
            let on_diagonal = hermitian && i == j;
            let mut sum = match product {
                Some((p, false)) => p.get(i, j),
                Some((p, true)) => p.get(i, j) + p.t().conj(hermitian).get(i, j),
                None => T::default(),
            };
            if beta != T::default() {
                let old = c.get(i, j);
                sum = sum + scaled(beta, if on_diagonal { real(old) } else { old }, hermitian);
            }
            c.set(i, j, if on_diagonal { real(sum) } else { sum });
        }
    }
}
