//! Regressions with certified answers: NIST's reference data sets, solved by QR and by singular values on the CPU and, where
//! there is one, on the GPU, with the digits that agree with the certificate.
//!
//! ```text
//! cargo run --release -p windlass --features solver --example regression
//! WINDLASS_DEVICE=cuda:0 cargo run --release -p windlass --features solver --example regression
//! ```
//!
//! `data.rs` holds the observations and the certified coefficients. Filip is a polynomial of degree 10 whose condition number is
//! 1e15: every digit that comes out of double precision there is earned.

mod data;

use data::Regression;
use std::process::ExitCode;
use windlass::solver::{Structure, Vectors};
use windlass::tensor::Layout;
use windlass::{Device, DeviceKind, Error, Result};

fn main() -> ExitCode {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("regression: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every digit was reached.
fn run() -> Result<bool> {
    let mut devices = vec![Device::host()?];
    let chosen = Device::from_env()?;
    if chosen.kind() != DeviceKind::Host {
        devices.push(chosen);
    }
    let mut reached = true;
    for device in devices {
        println!("{} ({})", device.name(), device.info().name);
        println!("{:<10} {:>24} {:>24} {:>24}", "", "certified", "by QR", "by singular values");
        for case in data::all() {
            let (qr, svd) = (by_qr(&device, &case)?, by_singular_values(&device, &case)?);
            for (k, certified) in case.certified.iter().enumerate() {
                let of = |x: &[f64]| x.get(k).copied().unwrap_or(f64::NAN);
                let name = if k == 0 { case.name } else { "" };
                println!("{name:<10} {certified:>24.15e} {:>24.15e} {:>24.15e}", of(&qr), of(&svd));
            }
            let (qr, svd) = (case.digits_of(&qr), case.digits_of(&svd));
            println!("{:<10} {:>24} {qr:>17.1} digits {svd:>17.1} digits\n", "", "");
            reached &= qr >= case.digits && svd >= case.digits_by_svd;
        }
    }
    if !reached {
        eprintln!("regression: fewer digits agree than double precision should reach");
    }
    Ok(reached)
}

/// One call: QR, since there are more rows than columns.
fn by_qr(device: &Device, case: &Regression) -> Result<Vec<f64>> {
    let layout = Layout::columns(case.y.len(), case.certified.len());
    let a = device.buffer(&case.columns[..])?.with_layout(layout)?;
    let y = device.buffer(&case.y[..])?;
    let solved = device.solver().solve(Structure::General, a, y)?.await_result()?;
    device.to_vec(&solved.x)
}

/// `x = V * diag(1 / s) * U^T * y`.
fn by_singular_values(device: &Device, case: &Regression) -> Result<Vec<f64>> {
    let (m, n) = (case.y.len(), case.certified.len());
    let a = device.buffer(&case.columns[..])?.with_layout(Layout::columns(m, n))?;
    let svd = device.solver().svd(Vectors::Thin, a)?.await_result()?;
    let (Some(u), Some(vh)) = (&svd.u, &svd.vh) else {
        return Err(Error::library("the decomposition returned no vectors"));
    };
    let (u, vh) = (device.to_vec(u.transpose())?, device.to_vec(vh.transpose())?); // column by column
    let s = device.to_vec(&svd.values)?;
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let c: Vec<f64> = u.chunks_exact(m).zip(&s).map(|(u, s)| dot(u, &case.y) / s).collect();
    Ok(vh.chunks_exact(n).map(|v| dot(v, &c)).collect())
}
