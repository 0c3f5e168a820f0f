//! The same bits each time, of matrices.

use super::matrix::{Number, each_type, real};
use crate::common::{Rng, assert_same_bits, columns, devices, down, into_columns, new_columns, rows, seeds, up};
use windlass::blas::{Symm, Syr2k, Syrk, Triangular};
use windlass::tensor::Layout;
use windlass::{Device, Gemm, Matmul, Side, Submitted, Tensor, Transpose, Uplo};

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
    let (on, c) = (up(device, &a[..]), || into_columns(up(device, &c[..]), n, n));
    let got = |outcome: Submitted<Tensor<T>>| down(device, outcome.unwrap().await_result().unwrap().buffer());
    let (square, half) = (columns(&on, n, n), n / 2);
    let of = |m, n| Layout::columns(m, n).batch(2, m * n);
    let (of_a, of_b) = (on.view(of(half, half)).unwrap(), on.view(of(half, n)).unwrap());
    let spec = || Triangular::new(Side::Right, Uplo::Upper);
    let two = c().into_buffer().with_layout(of(half, n)).unwrap();
    let mut all = vec![
        got(blas.symm(Symm::new(Side::Left, Uplo::Lower), &square, &square, c())),
        got(blas.syrk(Syrk::new(Uplo::Upper), &square, c())),
        got(blas.syr2k(Syr2k::new(Uplo::Lower), &square, &square, c())),
        got(blas.trmm(spec(), &square, c())),
        got(blas.trsm(spec(), &square, c())),
        got(blas.gemm(Gemm::new(), &square, &square, c())),
        got(blas.gemm(Gemm::new(), &of_a, &of_b, two)),
    ];
    let (pivots, info) = (device.uninit(n).unwrap(), device.uninit([]).unwrap());
    let (factors, pivots, _) = blas.getrf(c(), pivots, info).unwrap().await_result().unwrap();
    all.push(got(blas.getrs(Transpose::No, &factors, &pivots, c())));
    all.push(down(device, factors.buffer()));
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
                    let (a, b, d) = (rows(&a, n, n), columns(&b, n, n), new_columns(&device, n, n));
                    let d = device.blas_lt().matmul(Matmul::new(), a, b, d).unwrap();
                    down(&device, &d.await_result().unwrap())
                };
                let first = once();
                (0..3).for_each(|_| assert_same_bits(&once(), &first, &format!("a product of {n} on {device:?}")));
            }
        });
    }
}
