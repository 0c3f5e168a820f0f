//! What direct solutions of sparse systems take, beside other libraries: `cargo bench --bench direct`.
//!
//! Laplacians of f64 as in `direct.py`, which prints the same rows for SciPy and CuPy: run both in one go on one machine. Medians in ms;
//! the analysis, which happens once a structure, is measured once. The last column is the normwise backward error.
//!
//! ```text
//! cargo bench --bench direct -- [--large]              # on the host device
//! WINDLASS_DEVICE=cuda:0 cargo bench --bench direct -- --large
//! python3 benches/direct.py [cuda] [--large]
//! ```
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run should stop")]
#![expect(clippy::indexing_slicing, reason = "as above")]

use std::time::{Duration, Instant};
use windlass::direct::Factorization;
use windlass::{Device, Transpose, Uplo};

const ROUNDS: usize = 7;
const ENOUGH: Duration = Duration::from_secs(8);

fn main() {
    let large = std::env::args().any(|arg| arg == "--large");
    let device = Device::from_env().expect("a device");
    println!("# {} ({}), ms", device.name(), device.info().name);
    device.direct().warm().unwrap();
    let grids: [(&str, &[usize]); 4] =
        [("300^2", &[300, 300]), ("32^3", &[32, 32, 32]), ("64^3", &[64, 64, 64]), ("100^3", &[100, 100, 100])];
    for (text, sides) in grids.into_iter().take(if large { 4 } else { 3 }) {
        grid(&device, text, sides);
    }
}

/// Compressed rows of the Laplacian of a grid.
fn laplacian(sides: &[usize]) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    let n = sides.iter().product();
    let (mut offsets, mut columns, mut values) = (vec![0i32], vec![], vec![]);
    for point in 0..n {
        let mut row = vec![(point, 2.0 * sides.len() as f64)];
        let mut step = 1;
        for side in sides {
            let place = point / step % side;
            if place > 0 {
                row.push((point - step, -1.0));
            }
            if place + 1 < *side {
                row.push((point + step, -1.0));
            }
            step *= side;
        }
        row.sort_by_key(|(column, _)| *column);
        for (column, value) in row {
            columns.push(i32::try_from(column).unwrap());
            values.push(value);
        }
        offsets.push(i32::try_from(columns.len()).unwrap());
    }
    (offsets, columns, values)
}

fn grid(device: &Device, text: &str, sides: &[usize]) {
    let n: usize = sides.iter().product();
    let (offsets, columns, values) = laplacian(sides);
    let a = device.sparse().upload_csr(n, n, &offsets, &columns, &values[..]).unwrap();
    let direct = device.direct();
    let b: Vec<f64> = (0..n).map(|i| (i % 17) as f64 - 8.0).collect();
    for (name, factorization) in [
        ("cholesky", Factorization::Cholesky(Uplo::Lower)),
        ("ldl", Factorization::Ldl(Uplo::Lower, windlass::direct::Symmetry::Hermitian)),
        ("lu", Factorization::Lu),
    ] {
        let start = Instant::now();
        let analysis = direct.analyse(factorization, &a).unwrap();
        let analysed = start.elapsed();
        let start = Instant::now();
        let mut factor = Some(direct.factor(&analysis, &a).unwrap());
        let first = start.elapsed();
        let refactor = median(|| factor = Some(direct.refactor(factor.take().unwrap(), &a).unwrap()));
        let factor = factor.unwrap();
        let mut x = vec![];
        let solve = median(|| {
            let b = device.tensor([n], &b[..]).unwrap();
            x = device.to_vec(&factor.solve(&direct, Transpose::No, b).unwrap().await_result().unwrap()).unwrap();
        });
        let right = device.tensor([n], &b[..]).unwrap();
        let checked = median(|| {
            let x = device.uninit::<f64>(n).unwrap();
            drop(factor.solve_checked(&direct, Transpose::No, &right, x).unwrap().await_result().unwrap());
        });
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (analysed, first) = (ms(analysed), ms(first));
        println!(
            "{name:<9} {text:<6} analyse {analysed:9.2}  factor {first:9.2}  refactor {refactor:9.2}  solve {solve:8.2}  checked \
             {checked:8.2}  entries {:>11}  error {:.1e}",
            analysis.entries(),
            backward_error((&offsets, &columns, &values), &x, &b)
        );
    }
}

fn backward_error((offsets, columns, values): (&[i32], &[i32], &[f64]), x: &[f64], b: &[f64]) -> f64 {
    let of = |x: &[f64]| x.iter().fold(0.0f64, |all, x| all.max(x.abs()));
    let rest: Vec<f64> = offsets
        .windows(2)
        .zip(b)
        .map(|(ends, b)| {
            let entries = ends[0] as usize..ends[1] as usize;
            entries.map(|at| values[at] * x[columns[at] as usize]).sum::<f64>() - b
        })
        .collect();
    of(&rest) / (2.0 * values.iter().fold(0.0f64, |all, x| all.max(*x)) * of(x) + of(b))
}

/// Milliseconds of a call.
fn median(mut call: impl FnMut()) -> f64 {
    let (begin, mut all) = (Instant::now(), vec![]);
    while all.len() < ROUNDS && (all.is_empty() || begin.elapsed() < ENOUGH) {
        let start = Instant::now();
        call();
        all.push(start.elapsed().as_secs_f64() * 1e3);
    }
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
