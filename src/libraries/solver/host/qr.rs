//! QR by Householder reflectors in LAPACK's form: `Q = H_1 * H_2 * ...`, `H_i = I - tau_i * v_i * v_i^H`, v with a one
//! on the diagonal and the rest below it, R above. Panels are halved down to a few columns; the columns right of a
//! panel are updated by products.

use super::number::{Number, conj, modulus, norm, re, real};
use super::part;
use crate::core::room::{OrUnwind, collected, copied, filled, grown};
use crate::numerics::level3::threads as worth;
use crate::numerics::level3::triangle::{Action, Triangle, apply};
use crate::numerics::level3::view::{Mat, MatMut};
use num_complex::Complex64;

/// How many columns a panel has.
const PANEL: usize = 32;
/// Up to this many columns are reflected one by one.
const LEAF: usize = 4;

/// Makes the reflector that takes `(alpha, x)` to `(beta, 0)`, with a real beta: x becomes v, and tau is returned with beta.
pub(super) fn reflector<T: Number>(alpha: T, x: &mut [T]) -> (T, T) {
    let (wide, tail) = (alpha.wide(), norm(x));
    if tail == 0.0 && wide.im == 0.0 {
        return (alpha, T::default());
    }
    let beta = -wide.re.hypot(wide.im).hypot(tail).copysign(wide.re);
    if beta.abs() < T::LEAST / T::EPSILON {
        // So small that the division would lose digits: scale up, and scale beta down again.
        let up = T::EPSILON / T::LEAST;
        let scale = real::<T>(up);
        x.iter_mut().for_each(|x| *x = *x * scale);
        let (beta, tau) = reflector(alpha * scale, x);
        return (real(re(beta) / up), tau);
    }
    let tau = Complex64::new((beta - wide.re) / beta, -wide.im / beta);
    let divisor = T::rounded(Complex64::new(wide.re - beta, wide.im));
    x.iter_mut().for_each(|x| *x = x.over(divisor));
    (real(beta), T::rounded(tau))
}

/// The reflectors and R in place of A, a tau for each of the `min(m, n)` reflectors.
pub(super) fn factor<T: Number>(mut a: MatMut<'_, T>, tau: &mut [T], threads: usize) {
    let (m, n) = (a.rows(), a.cols());
    let size = m.min(n);
    if size == 0 {
        return; // nothing to do, whatever the other size is
    }
    // A few columns are reflected one by one, in place.
    let width = if n <= LEAF { 0 } else { PANEL.min(size) };
    let mut room = Room::new(m, n, width);
    let mut at = 0;
    for tau in tau.get_mut(..size).unwrap_or_default().chunks_mut(PANEL) {
        let width = tau.len();
        let rest = part(a.reborrow(), (at, at), (m - at, n - at));
        let (mut panel, right) = rest.split_cols(width);
        let mut t = filled(width * width, T::default()).or_unwind();
        let Some(mut triangle) = MatMut::new(&mut t, width, width, width) else { return };
        recurse(panel.reborrow(), tau, &mut triangle, &mut room);
        if right.cols() > 0 {
            room.reflect(panel.as_ref(), triangle.as_ref(), (true, false), right, threads);
        }
        at += width;
    }
}

/// Factors a panel, and makes the triangle T of `I - V * T * V^H`.
fn recurse<T: Number>(mut a: MatMut<'_, T>, tau: &mut [T], t: &mut MatMut<'_, T>, room: &mut Room<T>) {
    let n = a.cols();
    if n <= LEAF {
        one_by_one(&mut a, tau);
        triangle_of(a.as_ref(), tau, t);
        return;
    }
    let at = n / 2;
    let (m, Some((first, last))) = (a.rows(), tau.split_at_mut_checked(at)) else { return };
    let (mut left, mut right) = a.reborrow().split_cols(at);
    recurse(left.reborrow(), first, &mut part(t.reborrow(), (0, 0), (at, at)), room);
    room.reflect(left.as_ref(), part(t.reborrow(), (0, 0), (at, at)).as_ref(), (true, false), right.reborrow(), 1);
    let mut low = part(right, (at, 0), (m - at, n - at));
    recurse(low.reborrow(), last, &mut part(t.reborrow(), (at, at), (n - at, n - at)), room);
    // T12 = -T1 * (V1^H * V2) * T2.
    let (low, left) = (low.as_ref(), left.as_ref().split_rows(at).1);
    for j in 0..n - at {
        for i in 0..at {
            let head = conj(left.get(j, i));
            let (Some(x), Some(y)) = (left.column(i), low.column(j)) else { return };
            let (x, y) = (x.get(j + 1..).unwrap_or_default(), y.get(j + 1..).unwrap_or_default());
            t.set(i, at + j, head + T::dotc(x.len(), x, 1, y, 1));
        }
    }
    let (top, below) = t.reborrow().split_rows(at);
    let ((one, mut off), two) = (top.split_cols(at), below.split_cols(at).1);
    let upper = |matrix| Triangle { matrix, lower: false, unit: false };
    apply(Action::Multiply, upper(one.as_ref()), -T::ONE, off.reborrow(), 1);
    apply(Action::Multiply, Triangle { matrix: two.as_ref().t(), lower: true, unit: false }, T::ONE, off.t(), 1);
}

/// Factors a few columns, one by one.
pub(super) fn one_by_one<T: Number>(a: &mut MatMut<'_, T>, tau: &mut [T]) {
    let n = a.cols();
    for (j, tau) in tau.iter_mut().enumerate().take(n.min(a.rows())) {
        *tau = reflect_column(a, j, j);
    }
}

/// Reflects column `j` from row `i` on, and the columns right of it. Returns tau.
pub(super) fn reflect_column<T: Number>(a: &mut MatMut<'_, T>, i: usize, j: usize) -> T {
    let Some((head, x)) = a.column_mut(j).and_then(|c| c.get_mut(i..)).and_then(|c| c.split_first_mut()) else {
        return T::default();
    };
    let (beta, tau) = reflector(*head, x);
    *head = beta;
    if tau == T::default() {
        return tau;
    }
    for k in j + 1..a.cols() {
        let Some((v, column)) = a.two_columns(j, k) else { break };
        let (Some(v), Some((head, tail))) = (v.get(i + 1..), column.get_mut(i..).and_then(|c| c.split_first_mut()))
        else {
            break;
        };
        let dot = conj(tau) * (*head + T::dotc(v.len(), v, 1, tail, 1));
        *head = *head - dot;
        <T as crate::numerics::Field>::axpy(-dot, v, tail);
    }
    tau
}

/// The triangle T of the reflectors in a panel: `T(i, i) = tau_i`, and above `-tau_i * T * (V^H * v_i)`.
fn triangle_of<T: Number>(v: Mat<'_, T>, tau: &[T], t: &mut MatMut<'_, T>) {
    for (i, tau) in tau.iter().enumerate() {
        let Some(column) = v.column(i) else { return };
        for j in 0..i {
            let Some(earlier) = v.column(j) else { return };
            let head = conj(earlier.get(i).copied().unwrap_or_default());
            let (x, y) = (earlier.get(i + 1..).unwrap_or_default(), column.get(i + 1..).unwrap_or_default());
            t.set(j, i, -(*tau) * (head + T::dotc(x.len(), x, 1, y, 1)));
        }
        for j in 0..i {
            let mut sum = T::default();
            for k in j..i {
                sum += t.get(j, k) * t.get(k, i);
            }
            t.set(j, i, sum);
        }
        t.set(i, i, *tau);
    }
}

/// Memory for a panel written out in full, and for its product with the other matrix.
struct Room<T> {
    v: Vec<T>,
    w: Vec<T>,
}

impl<T: Number> Room<T> {
    fn new(rows: usize, cols: usize, width: usize) -> Self {
        let room = |n: usize| filled(n.saturating_mul(width), T::default()).or_unwind();
        Room { v: room(rows), w: room(cols) }
    }

    /// `X = (I - V * op(T) * V^H) * X`, with the conjugate reflectors if `conjugate`; `op` is the adjoint if `adjoint`.
    fn reflect(
        &mut self,
        panel: Mat<'_, T>,
        t: Mat<'_, T>,
        (adjoint, conjugate): (bool, bool),
        mut x: MatMut<'_, T>,
        threads: usize,
    ) {
        let (m, k, n) = (panel.rows(), panel.cols(), x.cols());
        grown(&mut self.v, m.saturating_mul(k), T::default()).or_unwind();
        grown(&mut self.w, n.saturating_mul(k), T::default()).or_unwind();
        let (Some(mut v), Some(mut w)) = (MatMut::new(&mut self.v, m, k, m.max(1)), MatMut::new(&mut self.w, k, n, k))
        else {
            return;
        };
        for j in 0..k {
            let (Some(to), Some(from)) = (v.column_mut(j), panel.column(j)) else { return };
            for (i, (to, from)) in to.iter_mut().zip(from).enumerate() {
                *to = match i.cmp(&j) {
                    std::cmp::Ordering::Less => T::default(),
                    std::cmp::Ordering::Equal => T::ONE,
                    std::cmp::Ordering::Greater => *from,
                };
            }
        }
        let threads = threads.min(worth::<T>([m, n, k]));
        let v = v.as_ref().conj(conjugate);
        w.product(T::ONE, v.t().conj(true), x.as_ref(), T::default(), threads);
        let t = t.conj(conjugate);
        let matrix = if adjoint { t.t().conj(true) } else { t };
        apply(Action::Multiply, Triangle { matrix, lower: adjoint, unit: false }, T::ONE, w.reborrow(), 1);
        x.product(-T::ONE, v, w.as_ref(), T::ONE, threads);
    }
}

/// How Q is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Apply {
    /// `Q * C` rather than `C * Q`.
    pub(super) left: bool,
    /// `Q^H` rather than `Q`.
    pub(super) adjoint: bool,
}

/// `C = op(Q) * C` or `C = C * op(Q)` with the reflectors that lie in the columns of V.
pub(super) fn multiply<T: Number>(how: Apply, v: Mat<'_, T>, tau: &[T], c: MatMut<'_, T>, threads: usize) {
    // (C * Q)^T = Q^T * C^T, and Q^T is the adjoint of the conjugate reflectors.
    let (mut x, conjugate, adjoint) = if how.left { (c, false, how.adjoint) } else { (c.t(), true, !how.adjoint) };
    let (m, k) = (v.rows(), tau.len());
    if k == 0 || x.cols() == 0 {
        return;
    }
    let mut room = Room::new(m, x.cols(), PANEL.min(k));
    let blocks = k.div_ceil(PANEL);
    for block in 0..blocks {
        let at = PANEL * if adjoint { block } else { blocks - 1 - block };
        let width = PANEL.min(k - at);
        let panel = v.block((at, at), (m - at, width));
        let mut t = filled(width * width, T::default()).or_unwind();
        let (Some(mut t), Some(tau)) = (MatMut::new(&mut t, width, width, width), tau.get(at..at + width)) else {
            return;
        };
        triangle_of(panel, tau, &mut t);
        let rows = x.reborrow().split_rows(at).1;
        room.reflect(panel, t.as_ref(), (adjoint, conjugate), rows, threads);
    }
}

/// The first `n` columns of Q in place of the reflectors.
pub(super) fn generate<T: Number>(mut a: MatMut<'_, T>, tau: &[T], threads: usize) {
    let (m, n) = (a.rows(), a.cols());
    let k = tau.len().min(n);
    let mut copy = filled(m.saturating_mul(k), T::default()).or_unwind();
    let Some(mut v) = MatMut::new(&mut copy, m, k, m.max(1)) else { return };
    for j in 0..k {
        if let (Some(to), Some(from)) = (v.column_mut(j), a.as_ref().column(j)) {
            to.copy_from_slice(from);
        }
    }
    for j in 0..n {
        (0..m).for_each(|i| a.set(i, j, if i == j { T::ONE } else { T::default() }));
    }
    multiply(Apply { left: true, adjoint: false }, v.as_ref(), tau.get(..k).unwrap_or_default(), a, threads);
}

/// QR with column pivoting: `A * P = Q * R`; column `j` of `A * P` is column `columns[j]` of A, counted from 1. The moduli on
/// the diagonal of R do not increase.
pub(super) fn pivoted<T: Number>(a: &mut MatMut<'_, T>, tau: &mut [T], columns: &mut [i64]) {
    let (m, n) = (a.rows(), a.cols());
    columns.iter_mut().zip(1..).for_each(|(column, j)| *column = j);
    if m == 0 {
        return;
    }
    let of = |a: &MatMut<'_, T>, i: usize, j: usize| a.as_ref().column(j).and_then(|c| c.get(i..)).map_or(0.0, norm);
    // The norm of the rest of each column, and its value when it was last computed in full.
    let mut left: Vec<(f64, f64)> = collected((0..n).map(|j| (of(a, 0, j), of(a, 0, j)))).or_unwind();
    for (i, tau) in tau.iter_mut().enumerate().take(m.min(n)) {
        let most = left.iter().enumerate().skip(i).fold(
            (i, -1.0),
            |(at, most), (j, (norm, _))| {
                if *norm > most { (j, *norm) } else { (at, most) }
            },
        );
        if most.0 != i {
            if let Some((x, y)) = a.two_columns(i, most.0) {
                x.swap_with_slice(y);
            }
            columns.swap(i, most.0);
            left.swap(i, most.0);
        }
        *tau = reflect_column(a, i, i);
        for (j, (now, full)) in left.iter_mut().enumerate().skip(i + 1) {
            if *now == 0.0 {
                continue;
            }
            let gone = modulus(a.get(i, j)) / *now;
            let rest = (1.0 - gone * gone).max(0.0);
            let ratio = *now / *full;
            // If too little of the norm is left, its digits are lost: compute it in full again (LAPACK working note
            // 176).
            if rest * ratio * ratio <= T::EPSILON.sqrt() {
                *now = of(a, i + 1, j);
                *full = *now;
            } else {
                *now *= rest.sqrt();
            }
        }
    }
}

/// The first column of R, counted from 1, that is by rounding a combination of those before it, or 0. The norms of the
/// columns of R are those of A, which has `longest` rows or columns at most.
pub(super) fn dependent<T: Number>(r: Mat<'_, T>, longest: usize) -> i32 {
    let limit = longest as f64 * T::EPSILON;
    let depends = |j: &usize| {
        let column = r.column(*j).and_then(|column| column.get(..j + 1)).unwrap_or_default();
        // A norm that overflows is that of a column that is scaled first.
        let scale = if norm(column).is_finite() { 1.0 } else { 2f64.powi(-64) };
        let length = column.iter().map(|x| modulus(*x * real::<T>(scale))).fold(0.0, f64::hypot);
        modulus(r.get(*j, *j) * real::<T>(scale)) <= limit * length
    };
    (0..r.cols()).find(depends).map_or(0, |j| j as i32 + 1)
}

/// Least squares for a matrix of full rank: the X of least residual if there are more rows than columns, the X of least
/// norm if there are fewer. B has `max(m, n)` rows, of which the first `n` become X. Returns the first column
/// of R that depends on others, counted from 1, or 0.
pub(super) fn least_squares<T: Number>(mut a: MatMut<'_, T>, mut b: MatMut<'_, T>, threads: usize) -> i32 {
    let (m, n) = (a.rows(), a.cols());
    if m >= n {
        let mut tau = filled(n, T::default()).or_unwind();
        factor(a.reborrow(), &mut tau, threads);
        return solve(a.as_ref(), &tau, &[], b, threads);
    }
    // A^H = Q * R, so X = Q * R^-H * B.
    let mut room = filled(m.saturating_mul(n), T::default()).or_unwind();
    let Some(mut h) = MatMut::new(&mut room, n, m, n) else { return 0 };
    for j in 0..m {
        (0..n).for_each(|i| h.set(i, j, conj(a.get(j, i))));
    }
    let mut tau = filled(m, T::default()).or_unwind();
    factor(h.reborrow(), &mut tau, threads);
    let r = h.as_ref().block((0, 0), (m, m));
    let info = dependent(r, n);
    if info != 0 {
        return info;
    }
    let many = threads.min(worth::<T>([m, m, b.cols()]));
    let (top, mut rest) = b.reborrow().split_rows(m);
    let lower = Triangle { matrix: r.t().conj(true), lower: true, unit: false };
    apply(Action::Solve, lower, T::ONE, top, many);
    rest.scale(T::default());
    multiply(Apply { left: true, adjoint: false }, h.as_ref(), &tau, b.split_rows(n).0, threads);
    0
}

/// Least squares from the factors of a matrix with at least as many rows as columns; `columns` is not empty if they
/// were pivoted. Returns the first column of R that depends on others, counted from 1, or 0.
pub(super) fn solve<T: Number>(a: Mat<'_, T>, tau: &[T], columns: &[i64], mut b: MatMut<'_, T>, threads: usize) -> i32 {
    let (m, n) = (a.rows(), a.cols());
    let matrix = a.block((0, 0), (n, n));
    let info = dependent(matrix, m);
    if info != 0 {
        return info;
    }
    multiply(Apply { left: true, adjoint: true }, a, tau, b.reborrow().split_rows(m).0, threads);
    let threads = threads.min(worth::<T>([n, n, b.cols()]));
    let mut x = b.split_rows(n).0;
    apply(Action::Solve, Triangle { matrix, lower: false, unit: false }, T::ONE, x.reborrow(), threads);
    if !columns.is_empty() {
        for j in 0..x.cols() {
            let Some(x) = x.column_mut(j) else { break };
            let pivoted = copied(x).or_unwind();
            for (value, to) in pivoted.into_iter().zip(columns) {
                let to = usize::try_from(*to).unwrap_or(0).wrapping_sub(1);
                if let Some(x) = x.get_mut(to) {
                    *x = value;
                }
            }
        }
    }
    0
}
