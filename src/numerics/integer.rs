//! i8 x i8 -> i32, exact: the answer modulo 2^32 for every `k`, `alpha` and `beta`.
//!
//! A product of two i8 is at most 2^14 in magnitude. So every partial sum of up to 1024 products is an integer of at
//! most 2^24, which an f32 holds exactly, in any order of summation and with or without fused multiply-adds. Therefore
//! `k` is split into slices of 1024. The f32 kernels multiply each slice, and the slices are added in wrapping i32
//! arithmetic, where the order does not matter either. (f64 would be exact up to k = 2^39 in one piece, at half the
//! speed.)

use super::gemm::{HostGemm, each_column};
use super::simd::{Kernel, run};
use super::spec::GemmSpec;
use super::widen::{Slices, blocks};

/// The most products of two i8 whose sum is exact in f32.
const DEPTH: usize = 1 << 10;

impl HostGemm for i8 {
    type Scalar = i32;
    type Out = i32;

    /// Overflow of i32 wraps, in the sums, in `alpha * sum` and in `beta * C` alike.
    fn gemm(spec: &GemmSpec<i32>, a: &[i8], b: &[i8], c: &mut [i32]) {
        if spec.k == 0 || spec.alpha == 0 {
            if spec.c_fits(c.len()) {
                each_column(spec.m, spec.ldc, spec.n, c, |_, column| match spec.beta {
                    0 => column.fill(0),
                    1 => (),
                    beta => column.iter_mut().for_each(|x| *x = x.wrapping_mul(beta)),
                });
            }
            return;
        }
        blocks(spec, a, b, c, Slices::Apart { depth: DEPTH }, |first, sums, column| {
            // `beta` scales C with the first slice. After that, C holds the sum of the previous slices.
            let beta = if first { spec.beta } else { 1 };
            run(Store { sums, alpha: spec.alpha, beta, column });
        });
    }
}

/// `column = alpha * sums + beta * column`, wrapping.
struct Store<'a> {
    sums: &'a [f32],
    alpha: i32,
    beta: i32,
    column: &'a mut [i32],
}

impl Kernel for Store<'_> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        let Self { sums, alpha, beta, column } = self;
        // With a zero beta C is still read here; integers have no NaN that could propagate.
        sums.iter().zip(column).for_each(|(sum, out)| {
            *out = alpha.wrapping_mul(integer(*sum)).wrapping_add(beta.wrapping_mul(*out));
        });
    }
}

/// Converts an f32 that holds an integer of magnitude less than 2^31 to i32.
///
/// In the sum of 1.5 * 2^52 and an integer, the low bits of the f64 are the integer in two's complement. A cast would
/// have to check for NaN and overflow; it took half of the time of a 64 x 64 product.
#[inline(always)]
fn integer(x: f32) -> i32 {
    const SHIFT: f64 = 1.5 * (1u64 << 52) as f64;
    (f64::from(x) + SHIFT).to_bits() as i32
}
