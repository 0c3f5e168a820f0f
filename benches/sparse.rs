//! What operations on sparse matrices take, beside other libraries: `cargo bench --bench sparse`.
//!
//! Each row is the median of a few calls with their wait; the matrices are uploaded before the clock starts. The script
//! `benches/sparse.py` prints the same rows for SciPy on the CPU, or for PyTorch and CuPy on a GPU: run both in one go on one
//! machine, and compare row by row. The last column is what must move at least, by the time it took.
//!
//! ```text
//! cargo bench --bench sparse -- [--only NAME] [--large]       # on the host device
//! WINDLASS_DEVICE=cuda:0 cargo bench --bench sparse -- --large
//! OPENBLAS_NUM_THREADS=2 python3 benches/sparse.py            # SciPy
//! python3 benches/sparse.py cuda --large                      # PyTorch, CuPy
//! ```
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run should stop")]

#[path = "gpu/random.rs"]
#[expect(dead_code, reason = "the GPU's benchmarks use more of it")]
mod random;

use random::Random;
use rayon::prelude::*;
use std::time::{Duration, Instant};
use windlass::sparse::{Csr, SolveElement, SparseElement, Spmm, Spmv};
use windlass::{Device, Diag, Transpose, Uplo};

/// Rounds of a row, and the time after which no further one begins.
const ROUNDS: usize = 15;
const ENOUGH: Duration = Duration::from_secs(4);
const LONG: Duration = Duration::from_secs(60);

struct Bench {
    device: Device,
    only: Option<String>,
}

/// Compressed rows of a square matrix.
struct Host {
    offsets: Vec<i32>,
    columns: Vec<i32>,
    values: Vec<f64>,
}

fn main() {
    let (mut only, mut large) = (None, false);
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        match arg.as_str() {
            "--only" => only = given.next(),
            "--large" => large = true,
            _ => {}
        }
    }
    let device = Device::from_env().expect("a device");
    println!("# {} ({}), medians in ms, GB/s", device.name(), device.info().name);
    let bench = Bench { device, only };
    if bench.device.kind() == windlass::DeviceKind::Host {
        let data = vec![1.0f64; 1 << 25];
        let parts = data.len() / rayon::current_num_threads();
        bench.row("read 256 MiB", 8 * data.len(), || {
            let sum: f64 = data.par_chunks(parts).map(sum).sum();
            assert!(sum > 1.0);
        });
    }
    let (side, cube, power) = if large { (1000, 200, 22) } else { (500, 100, 18) };
    let n = 1usize << power;
    for (name, a) in [
        (format!("poisson2d {side}"), poisson(&[side, side])),
        (format!("poisson3d {cube}"), poisson(&[cube, cube, cube])),
        (format!("banded 2^{}", power - 2), banded(n / 4, 16)),
        (format!("power 2^{power}"), power_law(n)),
    ] {
        all::<f64>(&bench, &format!("{name} f64"), &a, |x| x, &name);
        all::<f32>(&bench, &format!("{name} f32"), &a, |x| x as f32, &name);
    }
    let (n, sparse) = (1 << 20, bench.device.sparse());
    let up = |x: f64| bench.device.upload(vec![x; n]).unwrap().into_output();
    let (off, d) = (up(-1.0), up(4.0));
    bench.row("tridiagonal 2^20 f64", 0, || {
        drop(sparse.gtsv(&off, &d, &off, up(1.0)).unwrap().await_result().unwrap());
    });
}

/// Eight sums at once, so that it is memory that is waited for.
fn sum(part: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    for eight in part.chunks_exact(8) {
        sums.iter_mut().zip(eight).for_each(|(sum, x)| *sum += x);
    }
    sums.iter().sum()
}

fn all<T: SolveElement + SparseElement<Scalar = T>>(
    bench: &Bench,
    name: &str,
    a: &Host,
    of: fn(f64) -> T,
    family: &str,
) {
    let (device, sparse) = (&bench.device, bench.device.sparse());
    let values: Vec<T> = a.values.iter().map(|x| of(*x)).collect();
    let rows = a.offsets.len() - 1;
    let csr: Csr<T> = sparse.upload_csr(rows, rows, &a.offsets, &a.columns, &values).unwrap();
    let mut random = Random(3);
    let mut dense = |n: usize| -> Vec<T> { (0..n).map(|_| of(random.unit())).collect() };
    let x = device.upload(dense(rows)).unwrap().into_output();
    let matrix = (size_of::<T>() + 4) * values.len() + 4 * rows;
    let moved = matrix + 2 * size_of::<T>() * rows;
    let mut y = Some(device.zeros::<T>([rows]).unwrap());
    bench.row(&format!("spmv {name}"), moved, || {
        y = Some(sparse.spmv(Spmv::new(), &csr, &x, y.take().unwrap()).unwrap().await_result().unwrap());
    });
    let mut y = Some(device.zeros::<T>([rows]).unwrap());
    bench.row(&format!("spmv transposed {name}"), moved, || {
        let spec = Spmv::new().trans(Transpose::Yes);
        y = Some(sparse.spmv(spec, &csr, &x, y.take().unwrap()).unwrap().await_result().unwrap());
    });
    for n in [8usize, 64] {
        let b = device.tensor([rows, n], dense(rows * n)).unwrap();
        let mut c = Some(device.zeros::<T>([rows, n]).unwrap());
        bench.row(&format!("spmm {n} {name}"), matrix + 2 * size_of::<T>() * n * rows, || {
            c = Some(sparse.spmm(Spmm::new(), &csr, &b, c.take().unwrap()).unwrap().await_result().unwrap());
        });
    }
    // Of a power law the square is nearly full.
    if !family.starts_with("power") {
        bench.row(&format!("spgemm {name}"), 0, || {
            let product = sparse.spgemm(of(1.0), &csr, &csr).unwrap();
            device.synchronize(LONG).unwrap();
            drop(product);
        });
        let lower = sparse.triangular(&csr, Uplo::Lower, Diag::NonUnit, Transpose::No).unwrap();
        let mut y = Some(device.zeros::<T>([rows]).unwrap());
        bench.row(&format!("spsv {name}"), matrix / 2, || {
            y = Some(sparse.spsv(&lower, of(1.0), &x, y.take().unwrap()).unwrap().await_result().unwrap());
        });
    }
    bench.row(&format!("add {name}"), 3 * matrix, || {
        let sum = sparse.add(of(1.0), &csr, of(2.0), &csr).unwrap();
        device.synchronize(LONG).unwrap();
        drop(sum);
    });
    bench.row(&format!("tocsc {name}"), 2 * matrix, || {
        let csc = sparse.to_csc(&csr).unwrap();
        device.synchronize(LONG).unwrap();
        drop(csc);
    });
}

impl Bench {
    fn row(&self, name: &str, bytes: usize, mut call: impl FnMut()) {
        if self.only.as_ref().is_some_and(|only| !name.contains(only)) {
            return;
        }
        let (start, mut times) = (Instant::now(), Vec::new());
        for round in 0..=ROUNDS {
            let began = Instant::now();
            call();
            // The first call loads what there is to load.
            if round > 0 || start.elapsed() > ENOUGH {
                times.push(began.elapsed());
            }
            if start.elapsed() > ENOUGH {
                break;
            }
        }
        times.sort();
        let median = times.get(times.len() / 2).copied().unwrap_or_default().as_secs_f64();
        let rate = if bytes == 0 { String::new() } else { format!("{:>8.2}", bytes as f64 / median / 1e9) };
        println!("{name:<36} {:>12.3} {rate}", median * 1e3);
    }
}

/// The Laplacian of a grid.
fn poisson(sides: &[usize]) -> Host {
    let n: usize = sides.iter().product();
    let mut a = Host { offsets: vec![0], columns: Vec::new(), values: Vec::new() };
    for row in 0..n {
        let (mut step, mut rest, mut below, mut above) = (1, row, Vec::new(), Vec::new());
        for side in sides {
            let at = rest % side;
            if at > 0 {
                below.push(row - step);
            }
            if at + 1 < *side {
                above.push(row + step);
            }
            (step, rest) = (step * side, rest / side);
        }
        below.reverse();
        a.columns.extend(below.iter().map(|j| *j as i32));
        a.values.extend(below.iter().map(|_| -1.0));
        a.columns.push(row as i32);
        a.values.push(2.0 * sides.len() as f64);
        a.columns.extend(above.iter().map(|j| *j as i32));
        a.values.extend(above.iter().map(|_| -1.0));
        a.offsets.push(a.columns.len() as i32);
    }
    a
}

/// So many entries on each side of the diagonal.
fn banded(n: usize, half: usize) -> Host {
    let mut a = Host { offsets: vec![0], columns: Vec::new(), values: Vec::new() };
    for row in 0..n {
        for column in row.saturating_sub(half)..(row + half + 1).min(n) {
            a.columns.push(column as i32);
            a.values.push(if column == row { 40.0 } else { 1.0 });
        }
        a.offsets.push(a.columns.len() as i32);
    }
    a
}

/// Sixteen entries a row on average: few rows and columns have most of them.
fn power_law(n: usize) -> Host {
    let mut random = Random(7);
    let mut place = || ((random.unit().abs().powi(3) * n as f64) as usize).min(n - 1) as u64;
    let mut all: Vec<u64> = (0..16 * n).map(|_| place() << 32 | place()).collect();
    all.par_sort_unstable();
    all.dedup();
    let mut a = Host { offsets: vec![0; n + 1], columns: Vec::new(), values: Vec::new() };
    for entry in all {
        if let Some(count) = a.offsets.get_mut((entry >> 32) as usize + 1) {
            *count += 1;
        }
        a.columns.push(entry as u32 as i32);
        a.values.push(1.0);
    }
    let mut total = 0;
    a.offsets.iter_mut().for_each(|offset| {
        total += *offset;
        *offset = total;
    });
    a
}
