//! Level 3: products with symmetric, Hermitian and triangular matrices, solutions with triangular ones, sums of
//! matrices, and batches of small problems.
//!
//! All large work is done by products of crate `gemm`: a matrix is split until the parts are small (`triangle`, `rank`,
//! `lu`), or a panel of it is expanded to a full one (`symmetric`). Of a triangle only that triangle is read or
//! written. Sides, transposes and the two triangles need no separate code: `view` transposes a matrix by swapping its
//! strides, so "right" is "left" of the transposed problem and "upper" is "lower" of the transposed matrix.
//!
//! | module | what it does |
//! |---|---|
//! | `spec` | the shapes of the routines |
//! | `view` | matrices that can be transposed and cut; all of the unsafe code |
//! | `symmetric` | symm, hemm |
//! | `rank` | syrk, herk, syr2k, her2k, syrkx, herkx |
//! | `triangle`, `leaf` | trmm, trsm |
//! | `diagonal` | geam, dgmm |
//! | `lu` | getrf, getrs, getri of one matrix |
//! | `batch` | many problems at once: parallel over the batch, one thread per problem |

pub(crate) mod batch;
mod diagonal;
mod leaf;
pub(crate) mod lu;
pub(crate) mod rank;
mod spec;
mod symmetric;
pub(crate) mod triangle;
pub(crate) mod view;

pub(crate) use spec::{DgmmSpec, GeamSpec, RankSpec, Side, SymmSpec, Terms, TriSpec, Uplo};

use super::gemm::Native;
use super::spec::Trans;
use triangle::{Action, Triangle};
use view::{Mat, MatMut};

/// From this many real multiply-adds, it pays to wake other threads.
const PARALLEL: usize = 128 * 128 * 128;

/// The number of threads for a product of these sizes.
pub(crate) fn threads<T: Native>(sizes: [usize; 3]) -> usize {
    let work = sizes.iter().fold(T::WEIGHT, |work, size| work.saturating_mul(*size));
    if work >= PARALLEL { rayon::current_num_threads() } else { 1 }
}

/// An element type for which the host engine has the level-3 routines: f32, f64 and their complex types.
///
/// Each routine does nothing if a slice is too short for its matrix.
pub trait HostLevel3: Copy + Send + Sync {
    /// `C = alpha * A * B + beta * C` or `C = alpha * B * A + beta * C` with a symmetric or Hermitian A.
    fn symm(spec: &SymmSpec<Self>, a: &[Self], b: &[Self], c: &mut [Self]);
    /// One triangle of a product; `b` is not read for [`Terms::One`].
    fn rank(spec: &RankSpec<Self>, a: &[Self], b: &[Self], c: &mut [Self]);
    /// `B = alpha * op(A) * B` or `B = alpha * B * op(A)` with a triangular A.
    fn trmm(spec: &TriSpec<Self>, a: &[Self], b: &mut [Self]);
    /// Solves `op(A) * X = alpha * B` or `X * op(A) = alpha * B` with a triangular A, in place of B.
    fn trsm(spec: &TriSpec<Self>, a: &[Self], b: &mut [Self]);
    /// `C = alpha * op(A) + beta * op(B)`.
    fn geam(spec: &GeamSpec<Self>, a: &[Self], b: &[Self], c: &mut [Self]);
    /// `C = diag(x) * A` or `C = A * diag(x)`.
    fn dgmm(spec: &DgmmSpec, a: &[Self], x: &[Self], c: &mut [Self]);
    /// Copies an `m` x `n` matrix; each comes with its leading dimension.
    fn copy(m: usize, n: usize, from: (&[Self], usize), to: (&mut [Self], usize));
    /// Factors an `n` x `n` matrix; see [`lu::factor`].
    fn getrf(n: usize, a: &mut [Self], lda: usize, pivots: &mut [i32]) -> i32;
    /// Solves `op(A) * X = B` for `nrhs` columns from the factors of A.
    fn getrs(n: usize, nrhs: usize, trans: Trans, lu: (&[Self], usize), pivots: &[i32], b: (&mut [Self], usize));
    /// Computes the inverse from the factors. Returns the index of the first zero on the diagonal of U, counted from 1,
    /// or 0.
    fn getri(n: usize, lu: (&[Self], usize), pivots: &[i32], c: (&mut [Self], usize)) -> i32;
}

impl<T: Native> HostLevel3 for T {
    fn symm(spec: &SymmSpec<T>, a: &[T], b: &[T], c: &mut [T]) {
        let (order, (m, n)) = (spec.order(), (spec.m, spec.n));
        let Some(mut c) = MatMut::new(c, m, n, spec.ldc) else { return };
        if m == 0 || n == 0 {
            return;
        }
        if spec.alpha == T::default() {
            return c.scale(spec.beta);
        }
        let (Some(s), Some(b)) = (Mat::new(a, order, order, spec.lda), Mat::new(b, m, n, spec.ldb)) else { return };
        let threads = threads::<T>([m, n, order]);
        // With S on the right, this is `C^T = S^T B^T`, where the other triangle of S^T is stored.
        let (s, lower, b, mut c) = match spec.side {
            Side::Left => (s, spec.uplo == Uplo::Lower, b, c),
            Side::Right => (s.t(), spec.uplo == Uplo::Upper, b.t(), c.t()),
        };
        let s = if lower { s } else { s.t().conj(spec.hermitian) };
        symmetric::multiply(&mut c, spec.alpha, s, spec.hermitian, b, spec.beta, threads);
    }

    fn rank(spec: &RankSpec<T>, a: &[T], b: &[T], c: &mut [T]) {
        let (n, hermitian) = (spec.n, spec.hermitian);
        let Some(c) = MatMut::new(c, n, n, spec.ldc) else { return };
        let upper = spec.uplo == Uplo::Upper;
        let mut c = if upper { c.t() } else { c };
        if spec.k == 0 || spec.alpha == T::default() {
            if spec.beta != T::ONE {
                rank::merge(&mut c, None, spec.beta, hermitian);
            }
            return;
        }
        let (rows, cols) = spec.stored();
        let Some(a) = Mat::new(a, rows, cols, spec.lda) else { return };
        let b = if spec.terms == Terms::One { Some(a) } else { Mat::new(b, rows, cols, spec.ldb) };
        let Some(b) = b else { return };
        let (a, b) = match spec.trans {
            Trans::No => (a, b),
            Trans::Yes | Trans::Conj => (a.t().conj(hermitian), b.t().conj(hermitian)),
        };
        let terms = rank::Terms { alpha: spec.alpha, a, b, two: spec.terms == Terms::Two, hermitian };
        let terms = if upper { terms.transposed() } else { terms };
        rank::lower(c, terms, spec.beta, threads::<T>([n, n, spec.k]));
    }

    fn trmm(spec: &TriSpec<T>, a: &[T], b: &mut [T]) {
        triangular(Action::Multiply, spec, a, b);
    }

    fn trsm(spec: &TriSpec<T>, a: &[T], b: &mut [T]) {
        triangular(Action::Solve, spec, a, b);
    }

    fn geam(spec: &GeamSpec<T>, a: &[T], b: &[T], c: &mut [T]) {
        if MatMut::new(c, spec.m, spec.n, spec.ldc).is_none() {
            return;
        }
        let stored = |op| if op == Trans::No { (spec.m, spec.n) } else { (spec.n, spec.m) };
        let view = |factor: T, x, op, ld| {
            let (rows, cols) = stored(op);
            (factor != T::default()).then(|| Mat::new(x, rows, cols, ld).map(|x| x.op(op)))
        };
        let (a, b) = (view(spec.alpha, a, spec.op_a, spec.lda), view(spec.beta, b, spec.op_b, spec.ldb));
        if !matches!(a, Some(None)) && !matches!(b, Some(None)) {
            diagonal::geam(spec, a.flatten(), b.flatten(), c);
        }
    }

    fn dgmm(spec: &DgmmSpec, a: &[T], x: &[T], c: &mut [T]) {
        let fits = MatMut::new(c, spec.m, spec.n, spec.ldc).is_some();
        if let (true, Some(a)) = (fits, Mat::new(a, spec.m, spec.n, spec.lda)) {
            diagonal::dgmm(spec, a, x, c);
        }
    }

    fn copy(m: usize, n: usize, from: (&[T], usize), to: (&mut [T], usize)) {
        if let (Some(from), Some(mut to)) = (Mat::new(from.0, m, n, from.1), MatMut::new(to.0, m, n, to.1)) {
            for j in 0..n {
                if let (Some(to), Some(from)) = (to.column_mut(j), from.column(j)) {
                    to.copy_from_slice(from);
                }
            }
        }
    }

    fn getrf(n: usize, a: &mut [T], lda: usize, pivots: &mut [i32]) -> i32 {
        match MatMut::new(a, n, n, lda) {
            Some(a) if pivots.len() >= n => lu::factor(a, pivots, 1),
            _ => 0,
        }
    }

    fn getrs(n: usize, nrhs: usize, trans: Trans, lu: (&[T], usize), pivots: &[i32], b: (&mut [T], usize)) {
        let (lu, b) = (Mat::new(lu.0, n, n, lu.1), MatMut::new(b.0, n, nrhs, b.1));
        if let (Some(lu), Some(b), Some(pivots)) = (lu, b, pivots.get(..n)) {
            lu::solve(lu, (trans != Trans::No, trans == Trans::Conj), pivots, b, 1);
        }
    }

    fn getri(n: usize, lu: (&[T], usize), pivots: &[i32], c: (&mut [T], usize)) -> i32 {
        let (lu, c) = (Mat::new(lu.0, n, n, lu.1), MatMut::new(c.0, n, n, c.1));
        let (Some(lu), Some(c), Some(pivots)) = (lu, c, pivots.get(..n)) else { return 0 };
        lu::invert(lu, pivots, c);
        lu::first_zero(lu)
    }
}

/// trmm and trsm.
fn triangular<T: Native>(action: Action, spec: &TriSpec<T>, a: &[T], b: &mut [T]) {
    let order = spec.order();
    let Some(mut b) = MatMut::new(b, spec.m, spec.n, spec.ldb) else { return };
    if spec.alpha == T::default() {
        return b.scale(spec.alpha);
    }
    let Some(a) = Mat::new(a, order, order, spec.lda) else { return };
    let lower = (spec.uplo == Uplo::Lower) == (spec.trans == Trans::No);
    let (matrix, lower, b) = match spec.side {
        Side::Left => (a.op(spec.trans), lower, b),
        Side::Right => (a.op(spec.trans).t(), !lower, b.t()),
    };
    let threads = threads::<T>([spec.m, spec.n, order]);
    triangle::apply(action, Triangle { matrix, lower, unit: spec.unit }, spec.alpha, b, threads);
}
