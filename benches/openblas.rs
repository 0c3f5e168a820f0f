//! The CPU engine beside OpenBLAS, in one process, burst by burst:
//!
//! ```text
//! python3 -m venv peers && peers/bin/pip install numpy==2.4.6
//! export WINDLASS_OPENBLAS=$(ls $PWD/peers/lib/python3*/site-packages/numpy.libs/libscipy_openblas64*.so)
//! OPENBLAS_THREAD_TIMEOUT=24 cargo bench --bench openblas -- [ONLY]
//! ```
//!
//! Ours is a dispatch and its wait, theirs a call. Each row alternates bursts of 20 ms, with pauses of 40 ms between them; it has
//! the medians of the bursts. Matrices are column-major and without gaps.
//!
//! OpenBLAS's threads spin after a call, by default for longer than the pause, on the core that the second thread of ours wants
//! then: it is told to let them spin for 2^24 cycles, some 6 ms, which they find each other in within a burst.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run should stop")]
#![expect(clippy::indexing_slicing, reason = "a benchmark")]

#[path = "host/openblas.rs"]
mod openblas;
#[path = "gpu/random.rs"]
#[expect(dead_code, reason = "the GPU's benchmarks use more of it")]
mod random;

use openblas::{OpenBlas, Squares};
use random::Random;
use std::time::{Duration, Instant};
use windlass::blas::{BlasElement, GemmElement, Gemv, Triangular};
use windlass::tensor::Layout;
use windlass::{Device, DeviceBuffer, Gemm, HostPool, Side, Transpose, Uplo};

/// Bursts of each side, how long one is at least, and the pause between two.
const BURSTS: usize = 7;
const BURST: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_millis(40);

struct Bench {
    library: &'static OpenBlas,
    device: Device,
    threads: usize,
    only: Option<String>,
}

fn main() {
    let Some(library) = openblas::open() else { return };
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    println!("# {}", library.describe());
    println!("# {:<30}{:>12}{:>12}{:>8}", "row, threads", "ours, us", "theirs, us", "ratio");
    for threads in [1, 2] {
        library.set_threads(threads);
        let device = Device::builder().host().host_pool(HostPool::Threads(threads)).open().expect("a host device");
        let bench = Bench { library, device, threads, only: only.clone() };
        each::<f32>(&bench, "f32", |x| x as f32);
        each::<f64>(&bench, "f64", |x| x);
    }
}

fn each<T: BlasElement>(bench: &Bench, text: &str, of: fn(f64) -> T) {
    let (library, blas, one) = (bench.library, bench.device.blas(), <T as GemmElement>::ONE);
    for n in [64, 128, 256, 512, 1024, 2048] {
        let data = matrix(n, 1, of);
        let (a, b) = (bench.upload(&data), bench.upload(&data));
        let mut theirs = data.clone();
        let square = Layout::columns(n, n);
        let (a, b) = (a.view(square).unwrap(), b.view(square).unwrap());
        bench.row(
            &format!("gemm {n} {text}"),
            bench.upload(&data),
            |c| {
                let c = c.with_layout(square).unwrap();
                blas.gemm(Gemm::new(), &a, &b, c).unwrap().await_result().unwrap().into_buffer()
            },
            || library.call("gemm", one, &mut Squares { n, a: &data, b: &data, c: &mut theirs }),
        );
    }
    for n in [256, 1024, 4096] {
        let data = matrix(n, 1, of);
        let (a, x, mut theirs) = (bench.upload(&data), bench.upload(&data[..n]), data[..n].to_vec());
        let a = a.view(Layout::columns(n, n)).unwrap();
        for (op, name) in [(Transpose::No, "gemv"), (Transpose::Yes, "gemv, transposed,")] {
            let a = if op == Transpose::No { a.view() } else { a.transpose() };
            bench.row(
                &format!("{name} {n} {text}"),
                bench.upload(&data[..n]),
                |y| blas.gemv(Gemv::new(), &a, &x, y).unwrap().await_result().unwrap().into_buffer(),
                || library.gemv(op == Transpose::Yes, one, &data, &data[..n], &mut theirs),
            );
        }
    }
    let n = 1024;
    let data = matrix(n, 1, of);
    let (square, mut theirs) = (|| bench.upload(&data).with_layout(Layout::columns(n, n)).unwrap(), data.clone());
    let a = square();
    bench.row(
        &format!("trsm {n} {text}"),
        square(),
        |b| blas.trsm(Triangular::new(Side::Left, Uplo::Lower), &a, b).unwrap().await_result().unwrap(),
        || library.call("trsm", one, &mut Squares { n, a: &data, b: &data, c: &mut theirs }),
    );
    for (n, count) in [(16, 4096), (64, 512), (256, 32)] {
        let data = matrix(n, count, of);
        let (mut theirs, mut theirs_at) = (data.clone(), vec![0; n]);
        let pivots = bench.device.zeros::<i32>([count, n]).unwrap();
        let a = bench.upload(&data).with_layout(Layout::columns(n, n).batch(count, n * n)).unwrap();
        bench.row(
            &format!("lu of {count} x {n} {text}"),
            (a, pivots, bench.device.zeros::<i32>([count]).unwrap()),
            |(a, pivots, info)| blas.getrf(a, pivots, info).unwrap().await_result().unwrap(),
            || theirs.chunks_mut(n * n).for_each(|a| library.getrf(n, a, &mut theirs_at)),
        );
    }
}

/// `count` matrices with a large diagonal, so that what is done to one in place again and again neither grows nor vanishes.
fn matrix<T>(n: usize, count: usize, of: fn(f64) -> T) -> Vec<T> {
    let mut random = Random(1);
    let element = |at: usize, x: f64| of(if (at % (n * n)).is_multiple_of(n + 1) { 1.0 } else { x / (8 * n) as f64 });
    (0..n * n * count).map(|at| element(at, random.unit())).collect()
}

impl Bench {
    fn upload<T: BlasElement>(&self, data: &[T]) -> DeviceBuffer<T> {
        self.device.upload(data).unwrap().await_result().unwrap()
    }

    fn row<B>(&self, name: &str, first: B, mut ours: impl FnMut(B) -> B, mut theirs: impl FnMut()) {
        let name = format!("{name}, {}", self.threads);
        if self.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            return;
        }
        let mut buffer = Some(first);
        let mut ours = || buffer = buffer.take().map(&mut ours);
        let [mut here, mut there] = [Vec::new(), Vec::new()];
        burst(&mut ours);
        burst(&mut theirs);
        for _ in 0..BURSTS {
            std::thread::sleep(PAUSE);
            here.push(burst(&mut ours));
            std::thread::sleep(PAUSE);
            there.push(burst(&mut theirs));
        }
        let [here, there] = [here, there].map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        println!("{name:<32}{here:>12.1}{there:>12.1}{:>8.2}", here / there);
    }
}

/// Calls over and over, for the time of a burst; microseconds a call.
fn burst(call: &mut dyn FnMut()) -> f64 {
    let (start, mut calls) = (Instant::now(), 0);
    while start.elapsed() < BURST || calls == 0 {
        call();
        calls += 1;
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
}
