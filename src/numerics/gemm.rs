//! Matrix products of f32, f64 and their complex types, by crate `gemm`. `HostGemm` is the entry for every type.

use std::ops::{Add, Mul, Neg};

use gemm::Parallelism;
use num_complex::Complex;

use super::parallel::{Parts, each_part};
use super::simd::Lanes;
use super::spec::{GemmSpec, Trans};
use crate::core::room::{OrUnwind, probe};

/// An element type for which the host engine has a matrix product.
pub(crate) trait HostGemm: Copy + Send + Sync {
    /// The type of `alpha` and `beta`.
    type Scalar: Copy + Send + Sync;
    /// The type of C.
    type Out: Copy + Send + Sync;

    /// `C = alpha * op(A) * op(B) + beta * C`; does nothing if a slice is too short for its matrix.
    fn gemm(spec: &GemmSpec<Self::Scalar>, a: &[Self], b: &[Self], c: &mut [Self::Out]);
}

/// A type that crate `gemm` has kernels for.
pub(crate) trait Native:
    Copy + Default + PartialEq + Send + Sync + Add<Output = Self> + Mul<Output = Self> + Neg<Output = Self> + 'static
{
    /// Real multiply-adds in one multiply-add of this type.
    const WEIGHT: usize;
    const ONE: Self;
    /// The real type: the type of a real or an imaginary part.
    type Real: Lanes;

    fn conj(self) -> Self;
    /// The real and the imaginary part.
    fn parts(self) -> [Self::Real; 2];
    /// From the real and the imaginary part; a real type drops the latter.
    fn of_parts(parts: [Self::Real; 2]) -> Self;

    /// `self + x * y`, fused if `FMA` says that a fused multiply-add is one instruction.
    #[inline(always)]
    fn add_product<const FMA: bool>(self, x: Self, y: Self) -> Self {
        let ([re, im], [xr, xi], [yr, yi]) = (self.parts(), x.parts(), y.parts());
        let fma = |x: Self::Real, y: Self::Real, z| if FMA { x.mul_add(y, z) } else { x * y + z };
        match Self::WEIGHT {
            1 => Self::of_parts([fma(xr, yr, re), im]),
            _ => Self::of_parts([fma(-xi, yi, fma(xr, yr, re)), fma(xi, yr, fma(xr, yi, im))]),
        }
    }
}

macro_rules! native {
    ($($real:ty),*) => {$(
        impl Native for $real {
            const WEIGHT: usize = 1;
            const ONE: Self = 1.0;
            type Real = $real;

            fn conj(self) -> Self {
                self
            }

            #[inline(always)]
            fn parts(self) -> [$real; 2] {
                [self, 0.0]
            }

            #[inline(always)]
            fn of_parts([re, _]: [$real; 2]) -> Self {
                re
            }
        }

        impl Native for Complex<$real> {
            const WEIGHT: usize = 4;
            const ONE: Self = Complex::new(1.0, 0.0);
            type Real = $real;

            fn conj(self) -> Self {
                Complex::conj(&self)
            }

            #[inline(always)]
            fn parts(self) -> [$real; 2] {
                [self.re, self.im]
            }

            #[inline(always)]
            fn of_parts([re, im]: [$real; 2]) -> Self {
                Complex::new(re, im)
            }
        }

        native!(@gemm $real);
        native!(@gemm Complex<$real>);
    )*};
    (@gemm $t:ty) => {
        impl HostGemm for $t {
            type Scalar = $t;
            type Out = $t;

            fn gemm(spec: &GemmSpec<$t>, a: &[$t], b: &[$t], c: &mut [$t]) {
                multiply(spec, a, b, c);
            }
        }
    };
}
native!(f32, f64);

/// Up to this many multiply-adds, a plain loop is faster than the packed kernels, which take 200 to 300 ns to enter.
const TINY: usize = 6 * 6 * 6;
/// From this many real multiply-adds, it pays to wake other threads.
const PARALLEL: usize = 128 * 128 * 128;
/// The same for products that read each element of A or B about once. These are limited by memory bandwidth.
const PARALLEL_THIN: usize = 1 << 18;

/// `C = alpha * op(A) * op(B) + beta * C`.
pub(super) fn multiply<T: Native>(spec: &GemmSpec<T>, a: &[T], b: &[T], c: &mut [T]) {
    if !spec.c_fits(c.len()) || spec.m == 0 || spec.n == 0 {
        return;
    }
    if spec.k == 0 || spec.alpha == T::default() {
        return scale(spec.m, spec.ldc, spec.n, spec.beta, c);
    }
    if !spec.ab_fit(a.len(), b.len()) {
        return;
    }
    let work = spec.work();
    if work <= TINY {
        return tiny(spec, a, b, c);
    }
    let threads = rayon::current_num_threads() > 1;
    // `gemm` runs matrix-vector products and rank-2 updates on one thread, regardless of the requested parallelism.
    let thin = spec.m == 1 || spec.n == 1 || spec.k <= 2;
    if thin && threads && work.saturating_mul(T::WEIGHT) >= PARALLEL_THIN {
        return split(spec, a, b, c);
    }
    let parallel = threads && work.saturating_mul(T::WEIGHT) >= PARALLEL;
    let parallelism = if parallel { Parallelism::Rayon(0) } else { Parallelism::None };
    packed(spec, a, b, c, parallelism);
}

/// `C = beta * C`; a zero beta does not read C.
fn scale<T: Native>(m: usize, ldc: usize, n: usize, beta: T, c: &mut [T]) {
    each_column(m, ldc, n, c, |_, column| match beta {
        b if b == T::default() => column.fill(b),
        b if b == T::ONE => (),
        b => column.iter_mut().for_each(|x| *x = b * *x),
    });
}

/// Calls `f` with each column of an `m` x `n` matrix, in parallel if the matrix is large.
pub(super) fn each_column<T, F>(m: usize, ld: usize, n: usize, c: &mut [T], f: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    let ld = ld.max(1);
    let column = |j: usize, chunk: &mut [T]| {
        if let Some(column) = chunk.get_mut(..m) {
            f(j, column);
        }
    };
    if m.saturating_mul(n) < PARALLEL_THIN {
        c.chunks_mut(ld).take(n).enumerate().for_each(|(j, chunk)| column(j, chunk));
    } else {
        // A task for one short column would cost more than the column itself.
        each_part(c, Parts::with_size(ld).take(n).least(PARALLEL_THIN / 8 / m.max(1)), &column);
    }
}

/// A thin product, split by columns of C (by rows if C has one column) into one part per thread.
fn split<T: Native>(spec: &GemmSpec<T>, a: &[T], b: &[T], c: &mut [T]) {
    let parts = rayon::current_num_threads();
    // Each part of a column covers whole cache lines of C.
    let rows = spec.m.div_ceil(parts).next_multiple_of(64);
    let columns = spec.n.div_ceil(parts);
    if spec.n == 1 {
        let step = if spec.op_a == Trans::No { rows } else { rows.saturating_mul(spec.lda) };
        each_part(c, Parts::with_size(rows), &|i, c| {
            let m = spec.m.saturating_sub(i.saturating_mul(rows)).min(rows);
            let a = i.checked_mul(step).and_then(|at| a.get(at..));
            if let (Some(a), true) = (a, m > 0) {
                packed(&GemmSpec { m, ..*spec }, a, b, c, Parallelism::None);
            }
        });
    } else {
        let step = if spec.op_b == Trans::No { columns.saturating_mul(spec.ldb) } else { columns };
        each_part(c, Parts::with_size(columns.saturating_mul(spec.ldc)), &|j, c| {
            let n = spec.n.saturating_sub(j.saturating_mul(columns)).min(columns);
            let b = j.checked_mul(step).and_then(|at| b.get(at..));
            if let (Some(b), true) = (b, n > 0) {
                packed(&GemmSpec { n, ..*spec }, a, b, c, Parallelism::None);
            }
        });
    }
}

/// Row and column stride of `op(X)`, where X is stored as `columns` columns that are `ld` elements apart.
fn strides(op: Trans, columns: usize, ld: usize) -> (isize, isize) {
    // The stride of a single column is not used. Any `ld` that the caller gives must not overflow here.
    let ld = if columns > 1 { isize::try_from(ld).unwrap_or(0) } else { 1 };
    match op {
        Trans::No => (1, ld),
        Trans::Yes | Trans::Conj => (ld, 1),
    }
}

/// The product by crate `gemm`.
fn packed<T: Native>(spec: &GemmSpec<T>, a: &[T], b: &[T], c: &mut [T], parallelism: Parallelism) {
    // Checked again to protect the unsafe block; this is cheap compared with the product.
    if !spec.c_fits(c.len()) || !spec.ab_fit(a.len(), b.len()) {
        return;
    }
    probe_panels::<T>([spec.m, spec.n, spec.k]);
    let (a_rs, a_cs) = strides(spec.op_a, spec.a_shape().1, spec.lda);
    let (b_rs, b_cs) = strides(spec.op_b, spec.b_shape().1, spec.ldb);
    let (c_rs, c_cs) = strides(Trans::No, spec.n, spec.ldc);
    // SAFETY: `c_fits` and `ab_fit` hold, so every element that these shapes and strides reach lies in its slice; `c`
    // is borrowed mutably, so it overlaps neither `a` nor `b`; `Native` is implemented for the four types that
    // `gemm::gemm` has kernels for. The first factor of `gemm::gemm` scales C and the second the product.
    unsafe {
        gemm::gemm(
            spec.m,
            spec.n,
            spec.k,
            c.as_mut_ptr(),
            c_cs,
            c_rs,
            spec.beta != T::default(),
            a.as_ptr(),
            a_cs,
            a_rs,
            b.as_ptr(),
            b_cs,
            b_rs,
            spec.beta,
            spec.alpha,
            false,
            spec.op_a == Trans::Conj,
            spec.op_b == Trans::Conj,
            parallelism,
        );
    }
}

/// Fails if there is too little memory for the packed panels of a product, which crate `gemm` takes without a check: at
/// most about this many elements. Only of products that take so long that the probe costs nothing beside them; those of
/// smaller ones are a few hundred kilobytes.
pub(in crate::numerics) fn probe_panels<T: Native>([m, n, k]: [usize; 3]) {
    /// More than the depth of a panel.
    const DEPTH: usize = 1024;
    if m.saturating_mul(n).saturating_mul(k).saturating_mul(T::WEIGHT) >= PARALLEL {
        let elements = m.saturating_add(n).saturating_mul(k.min(DEPTH));
        probe(elements.saturating_mul(size_of::<T>())).or_unwind();
    }
}

/// The product by a plain loop: four rows of a column at a time, their sums in registers.
fn tiny<T: Native>(spec: &GemmSpec<T>, a: &[T], b: &[T], c: &mut [T]) {
    const ROWS: usize = 4;
    let (a_row, a_col) = if spec.op_a == Trans::No { (1, spec.lda) } else { (spec.lda, 1) };
    let (b_row, b_col) = if spec.op_b == Trans::No { (1, spec.ldb) } else { (spec.ldb, 1) };
    let take_a = |at: usize| {
        let x = a.get(at).copied().unwrap_or_default();
        if spec.op_a == Trans::Conj { x.conj() } else { x }
    };
    let take_b = |at: usize| {
        let x = b.get(at).copied().unwrap_or_default();
        if spec.op_b == Trans::Conj { x.conj() } else { x }
    };
    for (j, column) in c.chunks_mut(spec.ldc).take(spec.n).enumerate() {
        let Some(column) = column.get_mut(..spec.m) else {
            return;
        };
        for (i, rows) in column.chunks_mut(ROWS).enumerate() {
            let mut sums = [T::default(); ROWS];
            for p in 0..spec.k {
                let x = take_b(p * b_row + j * b_col);
                let at = i * ROWS * a_row + p * a_col;
                match a.get(at..).and_then(|a| a.first_chunk::<ROWS>()) {
                    // Four adjacent elements: one load. It may read past the last row into further elements of A; those
                    // sums are dropped.
                    Some(a) if spec.op_a == Trans::No => {
                        sums.iter_mut().zip(a).for_each(|(sum, a)| *sum = *sum + *a * x);
                    }
                    _ => {
                        for (r, sum) in sums.iter_mut().enumerate().take(rows.len()) {
                            *sum = *sum + take_a(at + r * a_row) * x;
                        }
                    }
                }
            }
            for (out, sum) in rows.iter_mut().zip(sums) {
                let product = spec.alpha * sum;
                *out = if spec.beta == T::default() { product } else { product + spec.beta * *out };
            }
        }
    }
}
