//! Math modes of the routines that come by the letter of their type.

use crate::common::{devices, down, seeds, up};
use windlass::blas::{Gemv, Math, Symm, Syr2k, Syrk, Triangular};
use windlass::{Blas, Device, DeviceBuffer, Diag, Error, Gemm, Side, Submitted, Transpose, Uplo};

/// Each routine once, with what it gives; `Unsupported` as none.
fn answers(device: &Device, blas: &Blas, a: &[f32], n: usize) -> Vec<Option<Vec<f32>>> {
    let on = up(device, a);
    let (c, diag) = (|| up(device, a), Diag::Unit);
    let of = |outcome: Submitted<DeviceBuffer<f32>>| match outcome {
        Ok(pending) => Some(down(device, &pending.await_result().unwrap())),
        Err(rejected) => {
            assert!(matches!(rejected.error, Error::Unsupported { .. }), "{rejected}");
            None
        }
    };
    let triangular = Triangular::new(Side::Left, Uplo::Lower, n, n).diag(diag);
    vec![
        of(blas.symm(Symm::new(Side::Left, Uplo::Lower, n, n), &on, &on, c())),
        of(blas.syrk(Syrk::new(Uplo::Upper, n, n).beta(1.0), &on, c())),
        of(blas.syr2k(Syr2k::new(Uplo::Lower, n, n).beta(1.0), &on, &on, c())),
        of(blas.trmm(triangular, &on, c())),
        of(blas.trsm(Triangular::new(Side::Left, Uplo::Lower, 5, 5).diag(diag).lda(n).ldb(n), &on, c())),
        of(blas.gemm(Gemm::new(n, n, n).trans_b(Transpose::Yes), &on, &on, c())),
        of(blas.gemm_strided_batched(Gemm::new(n, n, n).batch(1), &on, &on, c())),
        of(blas.gemv(Gemv::new(n, n), &on, on.strided(n, 1), c().into_strided(n, 1))),
    ]
}

/// Small whole numbers are the same in TF32, in bf16 and in f32, and their sums are exact: a mode changes nothing of them.
#[test]
fn whole_numbers_are_exact_in_every_mode() {
    for device in devices() {
        seeds(2, |rng, _| {
            let n = 48;
            let a: Vec<f32> = (0..n * n).map(|_| rng.below(7) as f32 - 3.0).collect();
            let plain = answers(&device, &device.blas(), &a, n);
            assert!(plain.iter().all(Option::is_some));
            for math in [Math::Pedantic, Math::Tf32, Math::EmulatedBf16x9, Math::Default] {
                let blas = device.blas().math(math).deterministic(true);
                for (at, (got, want)) in answers(&device, &blas, &a, n).iter().zip(&plain).enumerate() {
                    let may_lack = math == Math::EmulatedBf16x9 && got.is_none();
                    assert!(may_lack || got == want, "routine {at} in {math:?} on {device:?}");
                }
            }
        });
    }
}
