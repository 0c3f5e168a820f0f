//! The linear regressions of NIST's Statistical Reference Datasets: Longley, Filip, and Wampler 1 to 5 (whose observations are
//! computed from their formula), with their certified coefficients.

use super::check::Dense;
use super::check::Laid;
use crate::common::{devices, down};
use windlass::solver::{Structure, Vectors};
use windlass::{Device, DeviceBuffer};

#[path = "../../../examples/regression/data.rs"]
mod data;

/// A regression as a matrix.
struct Case {
    of: data::Regression,
    a: Dense,
}

fn cases() -> Vec<Case> {
    let case = |of: data::Regression| {
        let a = Dense::real(of.y.len(), of.certified.len(), |i, j| of.columns[i + j * of.y.len()]);
        Case { of, a }
    };
    data::all().into_iter().map(case).collect()
}

fn column(device: &Device, y: &[f64]) -> DeviceBuffer<f64> {
    crate::common::up(device, y.to_vec())
}

/// By QR.
fn by_qr(device: &Device, case: &Case) -> Vec<f64> {
    let of_a = Laid::one(&case.a, 0);
    let of_b = windlass::solver::Matrix::new(case.a.m, 1);
    let (a, b) = (of_a.upload::<f64>(device), column(device, &case.of.y));
    let solved = device.solver().solve(Structure::General, of_a.shape, a, of_b, b).unwrap().await_result().unwrap();
    down(device, &solved.x)[..case.a.n].to_vec()
}

/// By singular values: `V * diag(1 / s) * U^T * y`.
fn by_svd(device: &Device, case: &Case) -> Vec<f64> {
    let (m, n, of_a) = (case.a.m, case.a.n, Laid::one(&case.a, 0));
    let a = of_a.upload::<f64>(device);
    let svd = device.solver().svd(Vectors::Thin, of_a.shape, a).unwrap().await_result().unwrap();
    let (s, u) = (down(device, &svd.values), down(device, svd.u.as_ref().unwrap()));
    let vh = down(device, svd.vh.as_ref().unwrap());
    let c: Vec<f64> = (0..n).map(|k| (0..m).map(|i| u[i + k * m] * case.of.y[i]).sum::<f64>() / s[k]).collect();
    (0..n).map(|j| (0..n).map(|k| vh[k + j * n] * c[k]).sum()).collect()
}

#[test]
fn the_certified_digits_are_reached_by_qr_and_by_singular_values() {
    for device in devices() {
        for case in cases() {
            let ways =
                [("qr", by_qr(&device, &case), case.of.digits), ("svd", by_svd(&device, &case), case.of.digits_by_svd)];
            for (how, x, digits) in ways {
                let (name, reached) = (case.of.name, case.of.digits_of(&x));
                println!("{name} by {how}: {reached:.1} digits");
                assert!(reached >= digits, "{name} by {how}: {reached} of {digits} digits: {x:?}");
            }
        }
    }
}
