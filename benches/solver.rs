//! What factorizations and spectra take, beside other libraries: `cargo bench --bench solver`.
//!
//! Each row is the median of a few calls with their wait; the matrices are uploaded before the clock starts. The script
//! `benches/solver.py` prints the same rows for SciPy on the CPU, or for PyTorch and CuPy on a GPU: run both in one go on one
//! machine, and compare row by row.
//!
//! ```text
//! cargo bench --bench solver -- [--only NAME] [--small]       # on the host device
//! WINDLASS_DEVICE=cuda:0 cargo bench --bench solver
//! OPENBLAS_NUM_THREADS=2 python3 benches/solver.py            # SciPy
//! python3 benches/solver.py cuda                              # PyTorch, CuPy
//! ```
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run should stop")]

#[path = "gpu/random.rs"]
#[expect(dead_code, reason = "the GPU's benchmarks use more of it")]
mod random;

use random::Random;
use std::time::{Duration, Instant};
use windlass::solver::{EighSpec, SolverElement, Structure, Vectors};
use windlass::tensor::{Layout, Lines};
use windlass::{Device, Tensor, Uplo};

/// Rounds of a row, and the time after which no further one begins.
const ROUNDS: usize = 9;
const ENOUGH: Duration = Duration::from_secs(6);
/// Small matrices in a batch.
const SMALL: usize = 8192;

struct Bench {
    device: Device,
    only: Option<String>,
    small: bool,
}

fn main() {
    let mut only = None;
    let mut small = false;
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        match arg.as_str() {
            "--only" => only = given.next(),
            "--small" => small = true,
            _ => {}
        }
    }
    let device = Device::from_env().expect("a device");
    println!("# {} ({}), medians in ms", device.name(), device.info().name);
    let bench = Bench { device, only, small };
    many_small::<f64>(&bench, "f64", |x| x);
    many_small::<f32>(&bench, "f32", |x| x as f32);
    each::<f64>(&bench, "f64", |x| x);
    each::<f32>(&bench, "f32", |x| x as f32);
}

fn each<T: SolverElement>(bench: &Bench, text: &str, of: fn(f64) -> T) {
    let solver = bench.device.solver();
    for n in [64, 512, 1024, 2048, 4096] {
        let layout = Layout::columns(n, n);
        let (general, positive) = (|| (layout, matrix(n, n, 1, false, of)), || (layout, matrix(n, n, 1, true, of)));
        if n <= 2048 {
            bench.row(&format!("lu {n} {text}"), general, |a| drop(solver.lu(a).unwrap().await_result().unwrap()));
            bench.row(&format!("cholesky {n} {text}"), positive, |a| {
                drop(solver.cholesky(Uplo::Lower, a).unwrap().await_result().unwrap());
            });
            bench.row(&format!("qr {n} {text}"), general, |a| drop(solver.qr(a).unwrap().await_result().unwrap()));
        }
        if n <= 1024 {
            bench.row(&format!("svd {n} {text}"), general, |a| {
                drop(solver.svd(Vectors::Thin, a).unwrap().await_result().unwrap());
            });
            bench.row(&format!("svdvals {n} {text}"), general, |a| {
                drop(solver.svd(Vectors::None, a).unwrap().await_result().unwrap());
            });
        }
        if n != 2048 {
            let spec = EighSpec::new(Uplo::Lower);
            bench.row(&format!("eigh {n} {text}"), positive, |a| {
                drop(solver.eigh(spec, a).unwrap().await_result().unwrap())
            });
            bench.row(&format!("eigvalsh {n} {text}"), positive, |a| {
                drop(solver.eigh(spec.values_only(), a).unwrap().await_result().unwrap());
            });
        }
    }
    for (n, count) in [(32, 4096), (256, 512)] {
        let layout = Layout::columns(n, n).batch(count, n * n);
        let general = || (layout, matrix(n, n, count, false, of));
        let positive = || (layout, matrix(n, n, count, true, of));
        bench.row(&format!("lu {count} x {n} {text}"), general, |a| {
            drop(solver.lu(a).unwrap().await_result().unwrap());
        });
        bench.row(&format!("cholesky {count} x {n} {text}"), positive, |a| {
            drop(solver.cholesky(Uplo::Lower, a).unwrap().await_result().unwrap());
        });
        bench.row(&format!("eigh {count} x {n} {text}"), positive, |a| {
            drop(solver.eigh(EighSpec::new(Uplo::Lower), a).unwrap().await_result().unwrap());
        });
    }
}

/// Many small matrices: Q and R as two tensors, LU, Cholesky, systems with one right side, inverses, spectra, and least squares of twice as many
/// rows as columns.
fn many_small<T: SolverElement>(bench: &Bench, text: &str, of: fn(f64) -> T) {
    let solver = bench.device.solver();
    for n in [4, 8, 16, 32, 64] {
        let count = SMALL;
        let layout = Layout::columns(n, n).batch(count, n * n);
        bench.row(
            &format!("qr, q {count} x {n} {text}"),
            || (layout, matrix(n, n, count, false, of)),
            |a| {
                let qr = solver.qr(a).unwrap().await_result().unwrap();
                drop(qr.q(&solver).unwrap().await_result().unwrap());
            },
        );
        let general = || (layout, matrix(n, n, count, false, of));
        bench.row(&format!("lu {count} x {n} {text}, small"), general, |a| {
            drop(solver.lu(a).unwrap().await_result().unwrap());
        });
        let positive = || (layout, matrix(n, n, count, true, of));
        bench.row(&format!("cholesky {count} x {n} {text}, small"), positive, |a| {
            drop(solver.cholesky(Uplo::Lower, a).unwrap().await_result().unwrap());
        });
        bench.row(&format!("inverse {count} x {n} {text}, small"), general, |a| {
            drop(solver.inverse(a).unwrap().await_result().unwrap());
        });
        let b = bench.device.upload(matrix(n, 1, count, false, of)).unwrap().await_result().unwrap();
        let b = b.with_layout(Layout::columns(n, 1).batch(count, n)).unwrap();
        bench.row(&format!("system {count} x {n} {text}, small"), general, |a| {
            drop(solver.solve(Structure::General, a, &b).unwrap().await_result().unwrap());
        });
        // Of larger ones a call takes seconds.
        if n <= 32 {
            bench.row(&format!("eigh {count} x {n} {text}"), positive, |a| {
                drop(solver.eigh(EighSpec::new(Uplo::Lower), a).unwrap().await_result().unwrap());
            });
            bench.row(
                &format!("svd {count} x {n} {text}"),
                || (layout, matrix(n, n, count, false, of)),
                |a| {
                    drop(solver.svd(Vectors::Thin, a).unwrap().await_result().unwrap());
                },
            );
        }
        let (m, n) = (n, n / 2);
        let layout = Layout::columns(m, n).batch(count, m * n);
        let b = bench.device.upload(matrix(m, 1, count, false, of)).unwrap().await_result().unwrap();
        let b = b.with_layout(Layout::columns(m, 1).batch(count, m)).unwrap();
        bench.row(
            &format!("solve {count} x {m} x {n} {text}"),
            || (layout, matrix(m, n, count, false, of)),
            |a| {
                drop(solver.solve(Structure::General, a, &b).unwrap().await_result().unwrap());
            },
        );
    }
}

/// Random numbers; with `positive`, symmetric with a large diagonal.
fn matrix<T>(m: usize, n: usize, count: usize, positive: bool, of: fn(f64) -> T) -> Vec<T> {
    let mut random = Random(1);
    let mut x: Vec<f64> = (0..m * n * count).map(|_| random.unit() - 0.5).collect();
    for one in x.chunks_exact_mut(m * n).take(if positive { count } else { 0 }) {
        for j in 0..n {
            for i in 0..=j {
                let value = if i == j { n as f64 } else { one.get(i * m + j).copied().unwrap_or_default() };
                one.iter_mut().skip(i + j * m).take(1).for_each(|x| *x = value);
            }
        }
    }
    x.into_iter().map(of).collect()
}

impl Bench {
    fn row<T: SolverElement>(&self, name: &str, data: impl Fn() -> (Lines, Vec<T>), mut call: impl FnMut(Tensor<T>)) {
        let large = name.contains("2048") || name.contains("4096") || name.contains(" x ");
        if self.only.as_ref().is_some_and(|only| !name.contains(only)) || (self.small && large) {
            return;
        }
        let ((layout, data), start, mut times) = (data(), Instant::now(), Vec::new());
        for round in 0..=ROUNDS {
            let a = self.device.upload(&data[..]).unwrap().await_result().unwrap();
            let a = a.with_layout(layout).unwrap();
            let began = Instant::now();
            call(a);
            // The first call loads what there is to load.
            if round > 0 || start.elapsed() > ENOUGH {
                times.push(began.elapsed());
            }
            if start.elapsed() > ENOUGH {
                break;
            }
        }
        times.sort();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        println!("{name:<28} {:>12.3}", median.as_secs_f64() * 1e3);
    }
}
