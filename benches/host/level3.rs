//! Level 3 through a dispatch: against a `gemm` of the same number of operations, which says what the special matrices
//! cost, and against OpenBLAS on as many threads, where there is one.

use crate::openblas::{self, Squares};
use criterion::{Criterion, Throughput};
use std::time::Duration;
use windlass::blas::{BlasElement, GemmElement, Symm, Syrk, Triangular};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Gemm, Side, Uplo};

pub(crate) fn level3(criterion: &mut Criterion) {
    for n in [1024, 2048] {
        squares::<f32>(criterion, "f32", n, |x| x as f32);
        squares::<f64>(criterion, "f64", n, |x| x);
        squares::<Complex<f32>>(criterion, "c32", n, |x| Complex::new(x as f32, 0.0));
        squares::<Complex<f64>>(criterion, "c64", n, |x| Complex::new(x, 0.0));
    }
    batches::<f32>(criterion, "f32", |x| x as f32);
    batches::<f64>(criterion, "f64", |x| x);
}

/// A large diagonal, so that solving again and again neither grows nor vanishes.
fn matrix<T>(rows: usize, cols: usize, of: fn(f64) -> T) -> Vec<T> {
    let mut random = crate::random::Random(1);
    let element = |at: usize, x: f64| of(if at.is_multiple_of(rows + 1) { 1.0 } else { x / (8 * rows) as f64 });
    (0..rows * cols).map(|at| element(at, random.unit())).collect()
}

fn squares<T: BlasElement>(criterion: &mut Criterion, text: &str, n: usize, of: fn(f64) -> T) {
    let (device, data) = (Device::host().unwrap(), matrix(n, n, of));
    let (blas, up) = (device.blas(), || device.upload(&data[..]).unwrap().await_result().unwrap());
    let square = Layout::columns(n, n);
    let (a, b, mut c, mut theirs) = (up(), up(), Some(up().with_layout(square).unwrap()), data.clone());
    let (of_a, of_b) = (a.view(square).unwrap(), b.view(square).unwrap());
    let (left, lower) = (Side::Left, Uplo::Lower);
    let each = if T::DTYPE.is_complex() { 4 } else { 1 };
    let mut group = criterion.benchmark_group(format!("level 3, {n}, {text}"));
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    macro_rules! row {
        ($name:literal, $flops:expr, |$c:ident| $call:expr) => {
            group.throughput(Throughput::Elements($flops * each * (n as u64).pow(3)));
            group.bench_function($name, |bencher| {
                bencher.iter(|| {
                    let $c = c.take().unwrap();
                    c = Some($call.unwrap().await_result().unwrap());
                });
            });
            if let Some(library) = openblas::open() {
                let mut squares = Squares { n, a: &data, b: &data, c: &mut theirs };
                let one = <T as GemmElement>::ONE;
                group.bench_function(concat!($name, ", OpenBLAS"), |bencher| {
                    bencher.iter(|| library.call($name, one, &mut squares));
                });
            }
        };
    }
    row!("gemm", 2, |c| blas.gemm(Gemm::new(), &of_a, &of_b, c));
    row!("symm", 2, |c| blas.symm(Symm::new(left, lower), &of_a, &of_b, c));
    row!("syrk", 1, |c| blas.syrk(Syrk::new(lower), &of_a, c));
    row!("trmm", 1, |c| blas.trmm(Triangular::new(left, lower), &of_a, c));
    row!("trsm", 1, |c| blas.trsm(Triangular::new(left, lower), &of_a, c));
    group.finish();
}

fn batches<T: BlasElement>(criterion: &mut Criterion, text: &str, of: fn(f64) -> T) {
    let (n, count) = (32, 4096);
    let (device, data) = (Device::host().unwrap(), matrix(n, n * count, of));
    let up = || device.upload(&data[..]).unwrap().await_result().unwrap();
    let (a, b, mut c) = (up(), up(), Some(up()));
    let all = Layout::columns(n, n).batch(count, n * n);
    let (of_a, of_b) = (a.view(all).unwrap(), b.view(all).unwrap());
    let mut group = criterion.benchmark_group(format!("gemm {n}^3 x {count}, {text}"));
    group.sample_size(10).throughput(Throughput::Elements(2 * (n as u64).pow(3) * count as u64));
    group.bench_function("strided batch", |bencher| {
        bencher.iter(|| {
            let out = c.take().unwrap();
            let out = out.with_layout(all).unwrap();
            let pending = device.blas().gemm(Gemm::new(), &of_a, &of_b, out).unwrap();
            c = Some(pending.await_result().unwrap().into_buffer());
        });
    });
    if let Some(library) = openblas::open() {
        let (mut theirs, one) = (data.clone(), <T as GemmElement>::ONE);
        group.bench_function("a loop over OpenBLAS", |bencher| {
            bencher.iter(|| {
                let matrices = data.chunks(n * n).zip(theirs.chunks_mut(n * n));
                matrices.for_each(|(a, c)| library.call("gemm", one, &mut Squares { n, a, b: a, c }));
            });
        });
    }
    group.finish();
}
