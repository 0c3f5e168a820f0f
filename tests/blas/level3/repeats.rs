//! The same bits each time, of matrices.

use super::matrix::{Number, each_type, real};
use crate::common::{Rng, assert_same_bits, devices, down, seeds, up};
use windlass::blas::{LuBatch, Symm, Syr2k, Syrk, Triangular};
use windlass::{Device, DeviceBuffer, Gemm, Matmul, Side, Submitted, Transpose, Uplo};

fn bits<T: Number>(device: &Device, rng: &mut Rng, n: usize) -> Vec<Vec<T>> {
    let blas = device.blas().atomics(true).deterministic(true);
    let sample = |rng: &mut Rng| -> Vec<T> {
        let a: Vec<T> = rng.samples(n * n);
        a.into_iter()
            .enumerate()
            .map(|(at, x)| if at.is_multiple_of(n + 1) { real::<T>(n as f64) } else { x })
            .collect()
    };
    let (a, c) = (sample(rng), sample(rng));
    let (on, c) = (up(device, &a[..]), || up(device, &c[..]));
    let got = |outcome: Submitted<DeviceBuffer<T>>| down(device, &outcome.unwrap().await_result().unwrap());
    let spec = Triangular::new(Side::Right, Uplo::Upper, n, n);
    let mut all = vec![
        got(blas.symm(Symm::new(Side::Left, Uplo::Lower, n, n), &on, &on, c())),
        got(blas.syrk(Syrk::new(Uplo::Upper, n, n), &on, c())),
        got(blas.syr2k(Syr2k::new(Uplo::Lower, n, n), &on, &on, c())),
        got(blas.trmm(spec, &on, c())),
        got(blas.trsm(spec, &on, c())),
        got(blas.gemm(Gemm::new(n, n, n), &on, &on, c())),
        got(blas.gemm_strided_batched(Gemm::new(n / 2, n, n / 2).batch(2), &on, &on, c())),
    ];
    let (pivots, info) = (device.uninit(n).unwrap(), device.uninit(1).unwrap());
    let (factors, pivots, _) =
        blas.getrf_strided_batched(LuBatch::new(n), c(), pivots, info).unwrap().await_result().unwrap();
    all.push(got(blas.getrs_strided_batched(LuBatch::new(n), Transpose::No, n, &factors, &pivots, c())));
    all.push(down(device, &factors));
    all
}

/// Also with atomics allowed, which the switch outranks, and with other work before.
fn repeats<T: Number>(device: &Device, seed: u64) {
    for n in [17, 200] {
        let of = || bits::<T>(device, &mut Rng::new(seed), n);
        let first = of();
        for _ in 0..2 {
            for (at, (got, want)) in of().iter().zip(&first).enumerate() {
                assert_same_bits(got, want, &format!("routine {at} of {n} on {device:?}"));
            }
        }
    }
}

#[test]
fn the_same_call_gives_the_same_bits() {
    for device in devices() {
        seeds(1, |_, seed| {
            each_type!(repeats(&device, seed));
        });
    }
}

#[test]
fn the_same_fused_product_gives_the_same_bits() {
    for device in devices() {
        seeds(1, |rng, _| {
            for n in [17, 256] {
                let (a, b) = (up(&device, rng.samples::<f32>(n * n)), up(&device, rng.samples::<f32>(n * n)));
                let once = || {
                    let spec = Matmul::new(n, n, n).trans_a(Transpose::Yes);
                    let d = device.blas_lt().matmul(spec, &a, &b, device.uninit(n * n).unwrap()).unwrap();
                    down(&device, &d.await_result().unwrap())
                };
                let first = once();
                (0..3).for_each(|_| assert_same_bits(&once(), &first, &format!("a product of {n} on {device:?}")));
            }
        });
    }
}
