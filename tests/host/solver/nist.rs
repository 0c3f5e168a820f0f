//! The linear regressions of NIST's Statistical Reference Datasets: Longley, Filip, and Wampler 1 to 5 (whose observations are
//! computed from their formula), with their certified coefficients.

use super::check::{Dense, Laid, dense};
use crate::common::{devices, down};
use windlass::Device;
use windlass::solver::{Structure, Vectors};

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

/// By QR.
fn by_qr(device: &Device, case: &Case) -> Vec<f64> {
    let of_a = Laid::one(&case.a, 0);
    let (a, b) = (of_a.upload::<f64>(device), crate::common::up(device, case.of.y.to_vec()));
    let solved = device.solver().solve(Structure::General, a, b).unwrap().await_result().unwrap();
    down(device, &solved.x)
}

/// By singular values: `V * diag(1 / s) * U^T * y`.
fn by_svd(device: &Device, case: &Case) -> Vec<f64> {
    let (m, n, of_a) = (case.a.m, case.a.n, Laid::one(&case.a, 0));
    let a = of_a.upload::<f64>(device);
    let svd = device.solver().svd(Vectors::Thin, a).unwrap().await_result().unwrap();
    let (s, u) = (down(device, &svd.values), dense(device, svd.u.as_ref().unwrap()).remove(0));
    let vh = dense(device, svd.vh.as_ref().unwrap()).remove(0);
    let c: Vec<f64> = (0..n).map(|k| (0..m).map(|i| u.at(i, k).re * case.of.y[i]).sum::<f64>() / s[k]).collect();
    (0..n).map(|j| (0..n).map(|k| vh.at(k, j).re * c[k]).sum()).collect()
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
