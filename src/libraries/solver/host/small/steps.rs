//! The steps of QR, of matrices side by side. The kernel `small_qr` does the same with each matrix: every sum has the same terms in the
//! same order, so the bits are the same.
//!
//! A column is scaled by a power of two before the first step, and what is left of it before its own; that changes no digit, and
//! nothing overflows or is lost by underflow.

use super::wide::{Real, Wide};

/// The most rows, and columns.
pub(super) const MOST: usize = 64;
/// Columns whose sums are computed together, so that they do not wait for each other.
const TOGETHER: usize = 4;

/// A number of each matrix for each row.
pub(super) type Column<T, const L: usize> = [Wide<T, L>; MOST];

/// Matrices side by side: their numbers column by column, and the rows.
pub(super) struct Panel<'p, T, const L: usize> {
    pub(super) x: &'p mut [Wide<T, L>],
    pub(super) rows: usize,
}

impl<T: Real, const L: usize> Panel<'_, T, L> {
    #[inline(always)]
    pub(super) fn columns(&mut self) -> std::slice::ChunksExactMut<'_, Wide<T, L>> {
        self.x.chunks_exact_mut(self.rows.max(1))
    }

    #[inline(always)]
    pub(super) fn column(&self, j: usize) -> &[Wide<T, L>] {
        self.x.get(j * self.rows..(j + 1) * self.rows).unwrap_or_default()
    }
}

/// `I - tau * (1, v) * (1, v)^T`. Inner products are those with x, which times `by` is v.
struct Reflector<'r, T, const L: usize> {
    x: &'r [Wide<T, L>],
    v: &'r [Wide<T, L>],
    by: Wide<T, L>,
    tau: Wide<T, L>,
}

impl<T: Real, const L: usize> Reflector<'_, T, L> {
    /// Reflects columns of `rows` rows, from row `k` on.
    #[inline(always)]
    fn apply(&self, columns: &mut [Wide<T, L>], rows: usize, k: usize) {
        let (x, v) = (self.x, self.v);
        let mut groups = columns.chunks_exact_mut(TOGETHER * rows);
        for group in groups.by_ref() {
            let (a, b) = group.split_at_mut(2 * rows);
            let ((a, b), (c, d)) = (a.split_at_mut(rows), b.split_at_mut(rows));
            let (Some((a0, a)), Some((b0, b)), Some((c0, c)), Some((d0, d))) =
                (cut(a, k), cut(b, k), cut(c, k), cut(d, k))
            else {
                return;
            };
            let mut sums = [Wide::zero(); TOGETHER];
            for ((((x, a), b), c), d) in x.iter().zip(&*a).zip(&*b).zip(&*c).zip(&*d) {
                let [p, q, r, s] = sums;
                sums = [x.fma(*a, p), x.fma(*b, q), x.fma(*c, r), x.fma(*d, s)];
            }
            let [p, q, r, s] = sums;
            let w = [self.weight(a0, p), self.weight(b0, q), self.weight(c0, r), self.weight(d0, s)];
            for ((((v, a), b), c), d) in v.iter().zip(a).zip(b).zip(c).zip(d) {
                let (v, [p, q, r, s]) = (v.negative(), w);
                (*a, *b, *c, *d) = (v.fma(p, *a), v.fma(q, *b), v.fma(r, *c), v.fma(s, *d));
            }
        }
        for column in groups.into_remainder().chunks_exact_mut(rows) {
            let Some((head, tail)) = cut(column, k) else { return };
            let mut sum = Wide::zero();
            for (x, y) in x.iter().zip(&*tail) {
                sum = x.fma(*y, sum);
            }
            let w = self.weight(head, sum);
            for (v, y) in v.iter().zip(tail) {
                *y = v.negative().fma(w, *y);
            }
        }
    }

    /// How much of the vector is taken away, and takes it from the first number.
    #[inline(always)]
    fn weight(&self, head: &mut Wide<T, L>, sum: Wide<T, L>) -> Wide<T, L> {
        let w = self.tau.times(sum.fma(self.by, *head));
        *head = head.minus(w);
        w
    }
}

/// Number `k` of a column, and those below it.
#[inline(always)]
fn cut<T, const L: usize>(column: &mut [Wide<T, L>], k: usize) -> Option<(&mut Wide<T, L>, &mut [Wide<T, L>])> {
    column.get_mut(k..)?.split_first_mut()
}

/// The reflectors and R in place of A, as LAPACK's `geqrf`.
#[inline(always)]
pub(super) fn factor<T: Real, const L: usize>(a: &mut Panel<'_, T, L>, tau: &mut [Wide<T, L>]) {
    let rows = a.rows;
    let mut scales: Column<T, L> = [Wide::zero(); MOST];
    for (column, scale) in a.columns().zip(&mut scales) {
        let (power, inverse) = column.iter().fold(Wide::zero(), |most: Wide<T, L>, x| most.most(*x)).powers();
        column.iter_mut().for_each(|x| *x = x.times(inverse));
        *scale = power;
    }
    let (mut x, mut v): (Column<T, L>, Column<T, L>) = ([Wide::zero(); MOST], [Wide::zero(); MOST]);
    for (k, tau) in tau.iter_mut().enumerate() {
        let Some((_, rest)) = a.x.split_at_mut_checked(k * rows) else { return };
        let Some((own, others)) = rest.split_at_mut_checked(rows) else { return };
        let Some((head, tail)) = cut(own, k) else { return };
        let (Some(x), Some(v)) = (x.get_mut(..tail.len()), v.get_mut(..tail.len())) else { return };
        let below = tail.iter().fold(Wide::zero(), |most: Wide<T, L>, x| most.most(*x));
        let (power, inverse) = below.most(*head).powers();
        let (alpha, mut sum) = (head.times(inverse), Wide::zero());
        for (x, y) in x.iter_mut().zip(&*tail) {
            *x = y.times(inverse);
            sum = x.fma(*x, sum);
        }
        let beta = alpha.fma(alpha, sum).map(T::root).with(alpha, |x, sign| -x.signed_as(sign));
        // With zeros below the diagonal there is nothing to reflect.
        let by = Wide::of(T::ONE).over(alpha.minus(beta)).or(Wide::zero(), below);
        *tau = beta.minus(alpha).over(beta).or(Wide::zero(), below);
        for ((v, x), y) in v.iter_mut().zip(&*x).zip(tail) {
            *v = x.times(by);
            *y = *v;
        }
        *head = beta.times(power).or(*head, below);
        Reflector { x, v, by, tau: *tau }.apply(others, rows, k);
    }
    let size = tau.len();
    for ((j, column), scale) in a.columns().enumerate().zip(&scales) {
        column.iter_mut().take(size.min(j + 1)).for_each(|x| *x = x.times(*scale));
    }
}

/// `Q * B`, or `Q^T * B` if `adjoint`, in place of B.
#[inline(always)]
pub(super) fn multiply<T: Real, const L: usize>(
    a: &Panel<'_, T, L>,
    tau: &[Wide<T, L>],
    adjoint: bool,
    b: &mut Panel<'_, T, L>,
) {
    for step in 0..tau.len() {
        let k = if adjoint { step } else { tau.len() - 1 - step };
        let (Some(tau), Some(v)) = (tau.get(k), a.column(k).get(k + 1..)) else { return };
        Reflector { x: v, v, by: Wide::of(T::ONE), tau: *tau }.apply(b.x, b.rows, k);
    }
}

/// The first column of R, counted from 1, that is by rounding a combination of those before it, or 0. So is one with a NaN.
#[inline(always)]
pub(super) fn dependent<T: Real, const L: usize>(a: &Panel<'_, T, L>, size: usize, longest: usize) -> [i32; L] {
    let (mut found, limit) = ([0; L], T::of_count(longest) * T::EPSILON);
    for j in 0..size {
        let Some((last, above)) = a.column(j).get(..j + 1).and_then(|c| c.split_last()) else { break };
        let inverse = above.iter().fold(Wide::zero(), |most: Wide<T, L>, x| most.most(*x)).most(*last).powers().1;
        let mut sum = Wide::zero();
        for x in above {
            let x = x.times(inverse);
            sum = x.fma(x, sum);
        }
        let own = last.times(inverse);
        let norm = own.fma(own, sum).map(T::root);
        for (found, (own, norm)) in found.iter_mut().zip(own.0.into_iter().zip(norm.0)) {
            let independent = own.size() > limit * norm;
            *found = if *found == 0 && !independent { j as i32 + 1 } else { *found };
        }
    }
    found
}

/// `R * X = B` in place of the first rows of B.
#[inline(always)]
pub(super) fn solve_upper<T: Real, const L: usize>(a: &Panel<'_, T, L>, size: usize, b: &mut Panel<'_, T, L>) {
    for column in b.columns() {
        for j in (0..size).rev() {
            let Some((diagonal, above)) = a.column(j).get(..j + 1).and_then(|c| c.split_last()) else { return };
            let Some((x, rest)) = column.get_mut(..j + 1).and_then(|c| c.split_last_mut()) else { return };
            *x = x.over(*diagonal);
            for (y, r) in rest.iter_mut().zip(above) {
                *y = r.negative().fma(*x, *y);
            }
        }
    }
}

/// `R^T * X = B` in place of the first rows of B; those below become zero.
#[inline(always)]
pub(super) fn solve_lower<T: Real, const L: usize>(a: &Panel<'_, T, L>, size: usize, b: &mut Panel<'_, T, L>) {
    for column in b.columns() {
        for j in 0..size {
            let Some((x, rest)) = column.get_mut(j..size).and_then(|c| c.split_first_mut()) else { return };
            let Some(diagonal) = a.column(j).get(j) else { return };
            *x = x.over(*diagonal);
            for (y, i) in rest.iter_mut().zip(j + 1..) {
                let Some(r) = a.column(i).get(j) else { return };
                *y = r.negative().fma(*x, *y);
            }
        }
        column.iter_mut().skip(size).for_each(|x| *x = Wide::zero());
    }
}
