//! Refined solutions: the routine of each precision, and what becomes of those that the library gives up on.

use super::dense::{C, Dense, Number};
use super::{A, B, bench, calls, matrix};
use crate::common::down;
use windlass::solver::{Lowest, WideElement};
use windlass::tensor::Layout;
use windlass::{Device, Error};

pub(super) fn refined(device: &Device) -> Result<Vec<f64>, Error> {
    let (a, b) = (matrix(device, 3, &A)?, device.upload(B)?);
    let x = device.solver().solve_refined(Lowest::Single, &a, &b)?.await_result()?.x;
    device.download(&x)?.await_result()
}

/// B is the sum of the columns: there is a solution.
pub(super) fn least_squares(device: &Device) -> Result<Vec<f64>, Error> {
    let a = device.upload(&A[..6])?.into_output().with_layout(Layout::columns(3, 2))?;
    let b = device.upload([5.0, 6.0, 2.5])?;
    let x = device.solver().solve_refined(Lowest::Single, &a, &b)?.await_result()?.x;
    device.download(&x)?.await_result()
}

fn solve<T: Number + WideElement>(
    device: &Device,
    lowest: Lowest,
    a: &Dense,
    b: &Dense,
) -> Result<(Dense, Option<usize>), Error> {
    let (given, right) = (a.up::<T>(device), b.up::<T>(device));
    let refined = device.solver().solve_refined(lowest, &given, &right)?.await_result()?;
    // Both stay, whatever the library writes to.
    assert_eq!((down(device, given.buffer()), down(device, right.buffer())), (a.elements(), b.elements()));
    Ok((Dense::down(device, &refined.x), refined.rounds))
}

#[test]
fn each_precision_is_a_routine_of_its_own() {
    fn run<T: Number + WideElement>(letters: [&str; 4]) {
        let (driver, device) = bench(1);
        let all = [Lowest::Single, Lowest::Half, Lowest::BFloat16, Lowest::TensorFloat32];
        for (lowest, letters) in all.into_iter().zip(letters) {
            for (rows, kind) in [(4, "gesv"), (6, "gels")] {
                let (a, x) = (Dense::sample::<T>(rows, 4), Dense::sample::<T>(4, 2));
                driver.log(true);
                let (found, rounds) = solve::<T>(&device, lowest, &a, &a.times(&x)).unwrap();
                driver.log(false);
                let name = format!("cusolverDn{letters}{kind}");
                assert!(calls(&driver).contains(&name), "{name}");
                found.assert_near(&x, 1e-10, &name);
                assert_eq!(rounds, Some(2), "{name}");
            }
        }
        drop(device);
        driver.assert_finished();
    }
    run::<f64>(["DS", "DH", "DB", "DX"]);
    run::<C>(["ZC", "ZK", "ZE", "ZY"]);
}

#[test]
fn what_is_not_refined_is_solved_all_the_same_or_told_of() {
    let (driver, device) = bench(1);
    let host = Device::host().unwrap();
    // No product of A: the library says that it has fallen back.
    let (a, b) = (Dense::sample::<f64>(6, 3), Dense::by(6, 1, |i, _| C::new(i as f64, 0.0)));
    let (found, rounds) = solve::<f64>(&device, Lowest::Single, &a, &b).unwrap();
    let (want, _) = solve::<f64>(&host, Lowest::Single, &a, &b).unwrap();
    found.assert_near(&want, 1e-10, "least squares");
    assert_eq!(rounds, None);
    // Of a singular one the library has no numbers, and says nothing: the whole precision does.
    let a = Dense::by(3, 3, |i, j| C::new(if j == 2 { 0.0 } else { A[i + 3 * j] }, 0.0));
    let singular = solve::<f64>(&device, Lowest::Single, &a, &Dense::sample::<f64>(3, 1));
    assert!(matches!(singular, Err(Error::Singular { position: 3, .. })), "{singular:?}");
    drop((device, host));
    driver.assert_finished();
}
