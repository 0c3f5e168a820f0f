//! i8 x i8 -> i32, exact: the answer modulo 2^32 for every `k`, `alpha` and `beta`.
//!
//! A product of two i8 is at most 2^14 in magnitude, so over 1024 of them every partial sum, in whatever order and
//! however the multiply-adds fuse, is an integer of at most 2^24: an f32 holds it exactly. So `k` is cut into slices
//! of 1024, the f32 kernels multiply each, and the slices meet in wrapping i32 arithmetic, where the order does not
//! matter either. (f64 would be exact up to k = 2^39 in one piece, at half the speed.)

use super::gemm::{HostGemm, each_column};
use super::spec::GemmSpec;
use super::widen::{Slices, Widen, blocks};

/// The most products of two i8 whose sum is exact in f32.
const DEPTH: usize = 1 << 10;

impl Widen for i8 {
    fn widen(src: &[Self], dst: &mut [f32]) {
        src.iter().zip(dst).for_each(|(x, y)| *y = f32::from(*x));
    }
}

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
        let (alpha, beta) = (spec.alpha, spec.beta);
        blocks(
            spec,
            a,
            b,
            c,
            Slices::Apart { depth: DEPTH },
            |first, sums, column| {
                // C is scaled when it is first met; after that it holds the slices before this one.
                let beta = if first { beta } else { 1 };
                for (sum, out) in sums.iter().zip(column) {
                    // Exact: |sum| <= 2^24.
                    let product = alpha.wrapping_mul(*sum as i32);
                    *out = if beta == 0 {
                        product
                    } else {
                        product.wrapping_add(beta.wrapping_mul(*out))
                    };
                }
            },
        );
    }
}
