//! A Poisson problem in three dimensions, solved by preconditioned conjugate gradients on each engine that there is, with a
//! progress bar, and the residuals as a picture.
//!
//! ```text
//! cargo run --release -p windlass-more-examples --example poisson # 48 points a side, into target/poisson.png
//! cargo run --release -p windlass-more-examples --example poisson -- 96 out.png
//! cargo run --release -p windlass-more-examples --example poisson -- matrix.mtx out.png # of the Matrix Market
//! WINDLASS_DEVICE=host cargo run --release -p windlass-more-examples --example poisson
//! ```
//!
//! `plot.rs` writes the PNG: the logarithm of the residual over iterations, a colour for each preconditioner.

#[path = "../output.rs"]
mod output;
mod plot;

use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;
use std::time::Instant;
use windlass::sparse::{CooBuilder, Csr, Iteration, IterationProgress, Preconditioner, Spmv, read_market};
use windlass::{Device, DeviceKind, TensorRef};

const TOLERANCE: f64 = 1e-8;

fn main() -> ExitCode {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("poisson: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_else(|| "48".into());
    let file = output::file(arguments.next(), "poisson.png")?;
    let matrix = match what.parse::<usize>() {
        Ok(side) => poisson(side)?,
        Err(_) => {
            let bar = ProgressBar::new(0);
            let matrix = read_market(BufReader::new(File::open(&what)?), |at| {
                bar.set_length(at.total as u64);
                bar.set_position(at.done as u64);
            })?;
            bar.finish_and_clear();
            matrix
        }
    };
    println!("{what}: {} unknowns, {} entries", matrix.rows(), matrix.len());
    let chosen = Device::from_env()?;
    let mut engines = vec![chosen.clone()];
    if chosen.kind() != DeviceKind::Host {
        engines.push(Device::host()?);
    }
    let mut curves = Vec::new();
    for device in &engines {
        solve(device, &matrix, &mut curves)?;
    }
    plot::write(&file, &curves, TOLERANCE)?;
    println!("residuals in {}", file.display());
    Ok(())
}

/// The Laplacian of a cube of so many points a side: seven points each.
fn poisson(side: usize) -> windlass::Result<CooBuilder<f64>> {
    let n = side.saturating_mul(side).saturating_mul(side);
    let mut matrix = CooBuilder::new(n, n)?;
    for point in 0..n {
        matrix.push(point, point, 6.0)?;
        let mut step = 1;
        for _ in 0..3 {
            let place = point / step % side;
            if place > 0 {
                matrix.push(point, point - step, -1.0)?;
            }
            if place + 1 < side {
                matrix.push(point, point + step, -1.0)?;
            }
            step *= side;
        }
    }
    Ok(matrix)
}

/// The right side of which the solution is all ones.
fn right_side(device: &Device, a: &Csr<f64>) -> windlass::Result<TensorRef<'static, f64>> {
    let ones = device.full([a.rows()], 1.0)?;
    Ok(device.sparse().spmv(Spmv::new(), a, &ones, device.uninit([a.rows()])?)?.share())
}

/// Solves on one engine with each preconditioner, and keeps what became of the residual.
fn solve(
    device: &Device,
    matrix: &CooBuilder<f64>,
    curves: &mut Vec<Vec<IterationProgress>>,
) -> Result<(), Box<dyn Error>> {
    let sparse = device.sparse();
    let a = matrix.build_csr(&sparse)?;
    let b = right_side(device, &a)?;
    for (name, make) in preconditioners() {
        let start = Instant::now();
        let m = make(&sparse, &a)?;
        let made = start.elapsed();
        let bar = ProgressBar::new(100).with_style(ProgressStyle::with_template("{prefix:>20} {wide_bar} {msg}")?);
        bar.set_prefix(format!("{} {name}", device.name()));
        let (hook, start) = (bar.clone(), Instant::now());
        let how = Iteration::new().tolerance(TOLERANCE).limit(20_000).progress(move |at| {
            // As far as its logarithm has come.
            hook.set_position((100.0 * at.residual.ln() / TOLERANCE.ln()).clamp(0.0, 100.0) as u64);
            hook.set_message(format!("{}: {:.1e}", at.iteration, at.residual));
        });
        let solution = sparse.cg(&a, &m, &b, device.zeros([a.rows()])?, &how)?;
        bar.finish_and_clear();
        let x = device.to_vec(&solution.x)?;
        let error = x.iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
        println!(
            "{:>8} {name:>10}: {} iterations in {:.2?} (made in {made:.2?}), residual {:.1e}, largest error {error:.1e}",
            device.name(),
            solution.iterations,
            start.elapsed(),
            solution.residual,
        );
        curves.push(solution.history);
    }
    Ok(())
}

type Make = fn(&windlass::Sparse, &Csr<f64>) -> windlass::Result<Preconditioner<f64>>;

fn preconditioners() -> [(&'static str, Make); 4] {
    [
        ("none", |_, _| Ok(Preconditioner::Identity)),
        ("jacobi", |sparse, a| sparse.jacobi(a)),
        ("polynomial", |sparse, a| sparse.polynomial(a, 3)),
        ("ic0", |sparse, a| sparse.ic0_preconditioner(a)),
    ]
}
