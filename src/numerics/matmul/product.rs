//! The sums of products of each pair of types.

use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::core::room::{OrUnwind, filled};
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::super::gemm::{HostGemm, multiply};
use super::super::spec::GemmSpec;
use super::super::widen::gemm_widened;

/// A type of A that can be multiplied by a B of type `B` into sums of type `Acc`.
pub trait Product<B, Acc>: Copy + Default + Send + Sync + 'static {
    /// `sums = op(A) * op(B)`, without scalars.
    fn product(spec: &GemmSpec<()>, a: &[Self], b: &[B], sums: &mut [Acc]);

    /// The conjugate; of a real number itself.
    fn conjugate(self) -> Self {
        self
    }
}

impl GemmSpec<()> {
    fn scaled<S>(&self, alpha: S, beta: S) -> GemmSpec<S> {
        let &GemmSpec { m, n, k, op_a, lda, op_b, ldb, ldc, .. } = self;
        GemmSpec { m, n, k, op_a, lda, op_b, ldb, ldc, alpha, beta }
    }
}

macro_rules! native { ($($t:ty, $one:expr, |$x:ident| $conjugate:expr;)*) => { $(
    impl Product<$t, $t> for $t {
        fn product(spec: &GemmSpec<()>, a: &[$t], b: &[$t], sums: &mut [$t]) {
            multiply(&spec.scaled($one, <$t>::default()), a, b, sums);
        }
        fn conjugate(self) -> Self {
            let $x = self;
            $conjugate
        }
    }
)* } }
native! {
    f32, 1.0, |x| x;
    f64, 1.0, |x| x;
    Complex32, Complex32::new(1.0, 0.0), |x| x.conj();
    Complex64, Complex64::new(1.0, 0.0), |x| x.conj();
}

macro_rules! widened { ($($a:ty, $b:ty;)*) => { $(
    impl Product<$b, f32> for $a {
        fn product(spec: &GemmSpec<()>, a: &[$a], b: &[$b], sums: &mut [f32]) {
            gemm_widened(&spec.scaled(1.0, 0.0), a, b, sums);
        }
    }
)* } }
widened! {
    f16, f16;
    bf16, bf16;
    F8E4M3, F8E4M3;
    F8E4M3, F8E5M2;
    F8E5M2, F8E4M3;
}

impl Product<i8, i32> for i8 {
    fn product(spec: &GemmSpec<()>, a: &[i8], b: &[i8], sums: &mut [i32]) {
        <i8 as HostGemm>::gemm(&spec.scaled(1, 0), a, b, sums);
    }
}

/// Summed in i32, exactly; each sum is then rounded once, to f32.
impl Product<i8, f32> for i8 {
    fn product(spec: &GemmSpec<()>, a: &[i8], b: &[i8], sums: &mut [f32]) {
        let mut exact = filled(sums.len().min(spec.ldc.saturating_mul(spec.n)), 0).or_unwind();
        <i8 as Product<i8, i32>>::product(spec, a, b, &mut exact);
        sums.iter_mut().zip(exact).for_each(|(sum, x)| *sum = x as f32);
    }
}
