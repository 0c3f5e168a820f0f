//! Products of matrices that lie in slices, by crate `gemm`, and the types in which the host computes.
//!
//! `tiles.rs` has products by ourselves, of columns that lie as they are read: small ones, of which all threads share the work. By them
//! `panels.rs` has many products with one matrix.

pub(super) mod panels;
pub(super) mod scratch;
pub(super) mod tiles;

use crate::core::error::{Error, Result};
use crate::libraries::dnn::number::Own;
use gemm::Parallelism;
use pulp::Simd;

/// The types in which the host computes.
pub(super) trait Real: Own {
    const ONE: Self;
    /// A vector of the machine's width.
    type Vector<S: Simd>: Copy + bytemuck::Pod;
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    fn plus<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
    /// `x * y + z`, fused if the machine has an instruction for that.
    fn fma<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>, z: Self::Vector<S>) -> Self::Vector<S>;
    /// Loads elements that are fewer than a vector has; the other ones are zeros.
    fn load<S: Simd>(simd: S, from: &[Self]) -> Self::Vector<S>;
    fn store<S: Simd>(simd: S, to: &mut [Self], x: Self::Vector<S>);
    fn exp(self) -> Self;
    fn ln(self) -> Self;
}
macro_rules! reals { ($($t:ty: $exp:expr, $v:ident, $splat:ident, $add:ident, $fma:ident, $load:ident, $store:ident;)*) => { $(
    impl Real for $t {
        const ONE: Self = 1.0;
        type Vector<S: Simd> = S::$v;
        #[inline(always)]
        fn splat<S: Simd>(simd: S, x: Self) -> S::$v {
            simd.$splat(x)
        }
        #[inline(always)]
        fn plus<S: Simd>(simd: S, x: S::$v, y: S::$v) -> S::$v {
            simd.$add(x, y)
        }
        #[inline(always)]
        fn fma<S: Simd>(simd: S, x: S::$v, y: S::$v, z: S::$v) -> S::$v {
            simd.$fma(x, y, z)
        }
        #[inline(always)]
        fn load<S: Simd>(simd: S, from: &[Self]) -> S::$v {
            simd.$load(from)
        }
        #[inline(always)]
        fn store<S: Simd>(simd: S, to: &mut [Self], x: S::$v) {
            simd.$store(to, x);
        }
        // Not inlined before loops are unrolled, it would be computed one element at a time.
        #[inline(always)]
        fn exp(self) -> Self {
            $exp(self)
        }
        #[inline(always)]
        fn ln(self) -> Self {
            self.ln()
        }
    }
)* } }
reals! {
    f32: exponential, f32s, splat_f32s, add_f32s, mul_add_e_f32s, partial_load_f32s, partial_store_f32s;
    f64: f64::exp, f64s, splat_f64s, add_f64s, mul_add_e_f64s, partial_load_f64s, partial_store_f64s;
}

/// A polynomial without branches, so that a row is computed several elements at once. NaN stays.
#[inline(always)]
pub(super) fn exponential(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    // The logarithm of 2 in two parts, the first of which has few bits.
    const HIGH: f32 = 0.693_359_4;
    const LOW: f32 = -2.121_944_4e-4;
    // Adding and subtracting it rounds to an integer.
    const ROUND: f32 = 12_582_912.0;
    let bounded = if x < -87.0 { -87.0 } else { x };
    let n = (bounded * LOG2_E + ROUND) - ROUND;
    let r = bounded - n * HIGH - n * LOW;
    let p = 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r * r + r + 1.0;
    // The integer lies in the low bits of the sum; NaN has passed through the polynomial.
    let bits = (n + ROUND).to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    let inside = p * f32::from_bits(bits);
    if x < -87.0 {
        0.0
    } else if x > 88.0 {
        f32::INFINITY
    } else {
        inside
    }
}

/// Copies elements that lie a distance apart, until one of the slices ends.
pub(super) fn spaced<A: Copy>(from: &[A], step: usize, to: &mut [A]) {
    match (step, from.get(..to.len())) {
        (1, Some(from)) => to.copy_from_slice(from),
        (2, _) => {
            // Pairs, which become vectors; the last element may be alone.
            let (pairs, rest) = from.as_chunks::<2>();
            to.iter_mut().zip(pairs).for_each(|(to, [first, _])| *to = *first);
            to.iter_mut().skip(pairs.len()).zip(rest).for_each(|(to, from)| *to = *from);
        }
        _ => to.iter_mut().zip(from.iter().step_by(step.max(1))).for_each(|(to, from)| *to = *from),
    }
}

/// A matrix in a slice: its first element, and the distances of rows and of columns.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub(super) first: usize,
    pub(super) down: usize,
    pub(super) right: usize,
}

impl Matrix {
    /// Rows one after the other.
    pub(super) fn rows(first: usize, columns: usize) -> Self {
        Matrix { first, down: columns, right: 1 }
    }

    pub(super) fn turned(self) -> Self {
        Matrix { down: self.right, right: self.down, ..self }
    }

    fn lies_in(self, (rows, columns): (usize, usize), len: usize) -> bool {
        let last = |n: usize, step: usize| n.checked_sub(1).and_then(|n| n.checked_mul(step));
        let reach = last(rows, self.down).zip(last(columns, self.right));
        let end = reach.and_then(|(down, right)| self.first.checked_add(down)?.checked_add(right));
        end.is_some_and(|end| end < len)
    }
}

/// `C = A * B`, or `C += A * B`; the sizes are `m`, `n`, `k`.
pub(super) fn product<A: Real>(
    (m, n, k): (usize, usize, usize),
    (c, of_c): (&mut [A], Matrix),
    (a, of_a): (&[A], Matrix),
    (b, of_b): (&[A], Matrix),
    adds: bool,
    parallel: bool,
) -> Result<()> {
    let fit = of_c.lies_in((m, n), c.len()) && of_a.lies_in((m, k), a.len()) && of_b.lies_in((k, n), b.len());
    if !fit {
        return Err(Error::library("internal error: a panel does not fit"));
    }
    let parallelism = if parallel { Parallelism::Rayon(0) } else { Parallelism::None };
    let step = |n: usize| n as isize;
    // SAFETY: every element that these shapes and strides reach lies in its slice (above); `c` is borrowed mutably; `gemm::gemm` has
    // kernels for f32 and f64.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr().add(of_c.first),
            step(of_c.right),
            step(of_c.down),
            adds,
            a.as_ptr().add(of_a.first),
            step(of_a.right),
            step(of_a.down),
            b.as_ptr().add(of_b.first),
            step(of_b.right),
            step(of_b.down),
            A::ONE,
            A::ONE,
            false,
            false,
            false,
            parallelism,
        );
    }
    Ok(())
}
