//! Math modes of the routines that come by the letter of their type.

use crate::common::{columns, devices, down, into_columns, seeds, up};
use windlass::blas::{Gemv, Math, Symm, Syr2k, Syrk, Triangular};
use windlass::tensor::Layout;
use windlass::{Blas, Device, Diag, Error, Gemm, Side, Submitted, Tensor, Uplo};

/// Each routine once, with what it gives; `Unsupported` as none.
fn answers(device: &Device, blas: &Blas, a: &[f32], n: usize) -> Vec<Option<Vec<f32>>> {
    let on = up(device, a);
    let (c, diag) = (|| into_columns(up(device, a), n, n), Diag::Unit);
    let of = |outcome: Submitted<Tensor<f32>>| match outcome {
        Ok(pending) => Some(down(device, pending.await_result().unwrap().buffer())),
        Err(rejected) => {
            assert!(matches!(rejected.error, Error::Unsupported { .. }), "{rejected}");
            None
        }
    };
    let (square, all) = (columns(&on, n, n), Layout::columns(n, n).batch(1, n * n));
    let one = on.view(all).unwrap();
    let triangular = || Triangular::new(Side::Left, Uplo::Lower).diag(diag);
    let small = c().part(|all| all.slice((..5, ..5))).unwrap();
    let y = c().part(|all| all.index(1, 0)).unwrap();
    vec![
        of(blas.symm(Symm::new(Side::Left, Uplo::Lower), &square, &square, c())),
        of(blas.syrk(Syrk::new(Uplo::Upper).beta(1.0), &square, c())),
        of(blas.syr2k(Syr2k::new(Uplo::Lower).beta(1.0), &square, &square, c())),
        of(blas.trmm(triangular(), &square, c())),
        of(blas.trsm(triangular(), square.slice((..5, ..5)).unwrap(), small)),
        of(blas.gemm(Gemm::new(), &square, square.transpose(), c())),
        of(blas.gemm(Gemm::new(), &one, &one, up(device, a).with_layout(all).unwrap())),
        of(blas.gemv(Gemv::new(), &square, square.index(1, 0).unwrap(), y)),
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
