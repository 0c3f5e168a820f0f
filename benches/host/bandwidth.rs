//! Levels 1 and 2 of BLAS against plain loops over the same bytes, on as many threads: memory is what they wait for, so
//! the bytes per second of each row are to be compared with those of the loop that moves as much.

use crate::random::Random;
use criterion::{Criterion, Throughput};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Duration;
use windlass::blas::{Gemv, Ger, Symv, Trmv};
use windlass::tensor::Layout;
use windlass::{Device, DeviceBuffer, Submitted, Tensor, Uplo};

/// Elements of a vector: 32 MiB.
const LONG: usize = 1 << 22;
/// Rows and columns of a matrix: 32 MiB.
const SIDE: usize = 2048;

/// An operation that takes its output and gives it back.
fn row(
    criterion: &mut Criterion,
    name: &str,
    bytes: usize,
    start: DeviceBuffer<f64>,
    op: impl Fn(DeviceBuffer<f64>) -> DeviceBuffer<f64>,
) {
    let mut buffer = Some(start);
    timed(criterion, name, bytes, || {
        buffer = buffer.take().map(&op);
    });
}

fn of_tensor(submitted: Submitted<Tensor<f64>>) -> DeviceBuffer<f64> {
    submitted.unwrap().await_result().unwrap().into_buffer()
}

fn timed(criterion: &mut Criterion, name: &str, bytes: usize, mut f: impl FnMut()) {
    let mut group = criterion.benchmark_group("bandwidth");
    group.throughput(Throughput::Bytes(bytes as u64));
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    group.bench_function(name, |bencher| bencher.iter(&mut f));
    group.finish();
}

/// Reads x, on all threads.
fn sum(x: &[f64]) {
    // Thirty-two sums, so that additions do not wait for each other.
    let sum = |x: &[f64]| {
        let mut sums = [0.0; 32];
        x.as_chunks().0.iter().for_each(|x: &[f64; 32]| sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += x));
        sums.iter().sum::<f64>()
    };
    let part = x.len().div_ceil(4 * rayon::current_num_threads());
    black_box(x.par_chunks(part).map(sum).sum::<f64>());
}

/// Everything, in the order in which the rows belong together.
pub(crate) fn bandwidth(criterion: &mut Criterion) {
    let mut random = Random(1);
    let mut vector = |n: usize| -> Vec<f64> { (0..n).map(|_| random.unit()).collect() };
    let (x, mut y, matrix) = (vector(LONG), vector(LONG), vector(SIDE * SIDE));
    let part = LONG.div_ceil(4 * rayon::current_num_threads());
    timed(criterion, "plain loop: copy", 16 * LONG, || {
        y.par_chunks_mut(part).zip(x.par_chunks(part)).for_each(|(y, x)| y.copy_from_slice(x));
        black_box(&y);
    });
    timed(criterion, "plain loop: y += a x", 24 * LONG, || {
        let add = |(y, x): (&mut [f64], &[f64])| y.iter_mut().zip(x).for_each(|(y, x)| *y += 1e-9 * x);
        y.par_chunks_mut(part).zip(x.par_chunks(part)).for_each(add);
        black_box(&y);
    });
    timed(criterion, "plain loop: sum", 8 * LONG, || sum(&x));

    let device = Device::host().unwrap();
    let blas = device.blas();
    let up = |data: &[f64]| device.upload(data).unwrap().await_result().unwrap();
    let (dx, a, short) = (up(&x), up(&matrix), up(x.get(..SIDE).unwrap()));
    let (long, square) = (|| up(&y), || up(&matrix));
    row(criterion, "copy", 16 * LONG, long(), |y| of_tensor(blas.copy(&dx, y)));
    row(criterion, "axpy", 24 * LONG, long(), |y| of_tensor(blas.axpy(1e-9, &dx, y)));
    row(criterion, "scal", 16 * LONG, long(), |y| of_tensor(blas.scal(-1.0, y)));
    let every_other = Layout::new([LONG / 2], [2], 0).unwrap();
    row(criterion, "axpy, increments of 2", 24 * LONG, long(), |y| {
        of_tensor(blas.axpy(1e-9, dx.view(&every_other).unwrap(), y.with_layout(&every_other).unwrap()))
    });
    let other = long();
    timed(criterion, "dot", 16 * LONG, || {
        black_box(blas.dot(&dx, &other).unwrap().await_result().unwrap());
    });
    timed(criterion, "nrm2", 8 * LONG, || {
        black_box(blas.nrm2(&dx).unwrap().await_result().unwrap());
    });
    timed(criterion, "asum", 8 * LONG, || {
        black_box(blas.asum(&dx).unwrap().await_result().unwrap());
    });
    timed(criterion, "iamax", 8 * LONG, || {
        black_box(blas.iamax(&dx).unwrap().await_result().unwrap());
    });
    let tensor = || Tensor::from(long());
    let mut both = Some((tensor(), tensor()));
    timed(criterion, "rot", 32 * LONG, || {
        both = both.take().map(|(x, y)| blas.rot(0.6, 0.8, x, y).unwrap().await_result().unwrap());
    });

    timed(criterion, "plain loop: sum of a matrix", 8 * SIDE * SIDE, || sum(&matrix));
    timed(criterion, "plain loop: sum of half a matrix", 4 * SIDE * SIDE, || sum(matrix.split_at(SIDE * SIDE / 2).0));
    let side = Layout::columns(SIDE, SIDE);
    let of_a = a.view(side).unwrap();
    let bytes = 8 * SIDE * SIDE;
    let y = || up(x.get(..SIDE).unwrap());
    row(criterion, "gemv", bytes, y(), |y| of_tensor(blas.gemv(Gemv::new(), &of_a, &short, y)));
    row(criterion, "gemv, transposed", bytes, y(), |y| of_tensor(blas.gemv(Gemv::new(), of_a.transpose(), &short, y)));
    row(criterion, "ger", 2 * bytes, square(), |a| {
        of_tensor(blas.ger(Ger::new().alpha(1e-9), &short, &short, a.with_layout(side).unwrap()))
    });
    row(criterion, "symv, half a matrix", bytes / 2, y(), |y| {
        of_tensor(blas.symv(Symv::new(Uplo::Lower), &of_a, &short, y))
    });
    let packed = a.slice(..SIDE * (SIDE + 1) / 2).unwrap();
    row(criterion, "symv, packed", bytes / 2, y(), |y| {
        of_tensor(blas.symv(Symv::packed(Uplo::Lower), packed, &short, y))
    });
    // A diagonal that keeps the solutions in bounds.
    let mut easy: Vec<f64> = matrix.iter().map(|x| x * 1e-4).collect();
    easy.iter_mut().step_by(SIDE + 1).for_each(|x| *x = 1.0);
    let easy = up(&easy).with_layout(side).unwrap();
    row(criterion, "trmv, half a matrix", bytes / 2, y(), |x| of_tensor(blas.trmv(Trmv::new(Uplo::Upper), &easy, x)));
    row(criterion, "trmv, transposed", bytes / 2, y(), |x| {
        of_tensor(blas.trmv(Trmv::new(Uplo::Lower), easy.transpose(), x))
    });
    row(criterion, "trsv, half a matrix", bytes / 2, y(), |x| of_tensor(blas.trsv(Trmv::new(Uplo::Lower), &easy, x)));
    row(criterion, "trsv, transposed", bytes / 2, y(), |x| {
        of_tensor(blas.trsv(Trmv::new(Uplo::Upper), easy.transpose(), x))
    });
}
