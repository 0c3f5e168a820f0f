//! Factors of symmetric matrices that need not be definite.

use super::dense::{C, Dense, Number};
use super::{bench, calls};
use windlass::solver::{Structure, Symmetry};
use windlass::{Complex, Device, Uplo};

/// A symmetric matrix with numbers of both signs on its diagonal, whose other triangle holds none.
fn matrix<T: Number>(n: usize, uplo: Uplo) -> (Dense, Dense) {
    let half = Dense::sample::<T>(n, n);
    let sign = |i: usize| if i.is_multiple_of(2) { 4.0 } else { -4.0 };
    let a = Dense::by(n, n, |i, j| {
        let x = half.at(i.max(j), i.min(j));
        if i == j { x + C::new(sign(i), 0.0) } else { x }
    });
    let counts = |i: usize, j: usize| if uplo == Uplo::Lower { i >= j } else { i <= j };
    let none = C::new(f64::NAN, 0.0);
    let stored = Dense::by(n, n, |i, j| if counts(i, j) { a.at(i, j) } else { none });
    (a, stored)
}

fn solved<T: Number>(device: &Device, n: usize, uplo: Uplo) {
    let (a, stored) = matrix::<T>(n, uplo);
    let b = Dense::sample::<T>(n, 2);
    let (solver, one, two) = (device.solver(), stored.up::<T>(device), b.up::<T>(device));
    let at_once = solver.solve(Structure::Symmetric(uplo), one, two).unwrap().await_result().unwrap();
    let ldl = solver.ldl(uplo, Symmetry::Symmetric, stored.up::<T>(device)).unwrap().await_result().unwrap();
    let in_two = ldl.solve(&solver, b.up::<T>(device)).unwrap().await_result().unwrap();
    for (how, x) in [("at once", &at_once.x), ("in two calls", &in_two)] {
        let x = Dense::down(device, x);
        a.times(&x).assert_near(&b, T::NEAR * 10.0, &format!("{how}, {n}, {uplo:?}, {}", std::any::type_name::<T>()));
    }
}

/// The library looks at the pivots from the host, and does not wait for what writes them.
#[test]
fn pivots_are_there_before_the_library_looks_at_them() {
    let (driver, device) = bench(2);
    for uplo in [Uplo::Lower, Uplo::Upper] {
        for n in [1, 2, 5] {
            solved::<f32>(&device, n, uplo);
            solved::<f64>(&device, n, uplo);
            solved::<Complex<f32>>(&device, n, uplo);
            solved::<Complex<f64>>(&device, n, uplo);
        }
    }
    driver.log(true);
    solved::<f64>(&device, 3, Uplo::Lower);
    driver.log(false);
    let each = ["Dsytrf_bufferSize", "Dsytrf", "Xsytrs_bufferSize", "Xsytrs"];
    assert_eq!(
        calls(&driver),
        [each, each].concat().iter().map(|name| format!("cusolverDn{name}")).collect::<Vec<_>>()
    );
    drop(device);
    driver.assert_finished();
}
