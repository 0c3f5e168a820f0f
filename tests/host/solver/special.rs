//! Matrices that are known to be hard, and numbers that are none.

use super::check::{Dense, Laid, Number, assert_ratio, each_type, residual};
use crate::common::{Rng, devices};
use windlass::solver::Structure;
use windlass::{Device, Uplo};

/// The classes of matrices that are known to make trouble.
pub fn zoo(n: usize) -> Vec<(&'static str, Dense)> {
    let x = |i: usize| i as f64;
    vec![
        ("hilbert", Dense::real(n, n, |i, j| 1.0 / (x(i) + x(j) + 1.0))),
        (
            "wilkinson",
            Dense::real(n, n, |i, j| match i.abs_diff(j) {
                0 => (x(n) - 1.0 - 2.0 * x(i)).abs() / 2.0,
                1 => 1.0,
                _ => 0.0,
            }),
        ),
        ("frank", Dense::real(n, n, |i, j| if i <= j + 1 { x(n - i.max(j)) } else { 0.0 })),
        ("grcar", Dense::real(n, n, |i, j| if i == j + 1 { -1.0 } else { f64::from(j >= i && j <= i + 3) })),
        ("jordan", Dense::real(n, n, |i, j| if i == j { 2.0 } else { f64::from(j == i + 1) })),
        ("second difference", Dense::real(n, n, |i, j| [2.0, -1.0, 0.0][i.abs_diff(j).min(2)])),
        ("growth", Dense::real(n, n, |i, j| if j + 1 == n || i == j { 1.0 } else { -f64::from(i > j) })),
        (
            "kahan",
            Dense::real(n, n, |i, j| match i.cmp(&j) {
                std::cmp::Ordering::Equal => 0.9f64.powi(i as i32),
                std::cmp::Ordering::Less => -0.4 * 0.9f64.powi(i as i32),
                std::cmp::Ordering::Greater => 0.0,
            }),
        ),
        ("graded", Dense::real(n, n, |i, j| 10f64.powi(-((i + j) as i32 / 2)) * (1.0 + f64::from(i == j)))),
        ("large", Dense::real(n, n, |i, j| 1e15 * (x(i * 7 + j * 3) % 11.0 - 5.0 + 20.0 * f64::from(i == j)))),
        ("small", Dense::real(n, n, |i, j| 1e-15 * (x(i * 7 + j * 3) % 11.0 - 5.0 + 20.0 * f64::from(i == j)))),
    ]
}

fn solved<T: Number>(device: &Device, structure: Structure, a: &Dense, b: &Dense) -> Option<Dense> {
    let (of_a, of_b) = (Laid::one(a, 1), Laid::one(b, 0));
    let (one, two) = (of_a.upload::<T>(device), of_b.upload::<T>(device));
    let answer = device.solver().solve(structure, one, two).unwrap().await_result();
    Some(of_b.read(device, &answer.ok()?.x)[0].clone())
}

#[test]
fn hard_matrices_are_solved_with_a_small_residual() {
    fn case<T: Number>() {
        for device in devices() {
            for n in [8, 21] {
                for (name, a) in zoo(n) {
                    let a = a.rounded::<T>();
                    let b = Dense::random::<T>(&mut Rng::new(5), n, 2);
                    let x = solved::<T>(&device, Structure::General, &a, &b).expect(name);
                    assert_ratio(
                        residual::<T>(&a, &x, &b) / if name == "growth" { 2f64.powi(n as i32) } else { 1.0 },
                        &name,
                    );
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn numbers_that_are_none_end_in_a_verdict_or_in_such_numbers() {
    fn case<T: Number>() {
        for device in devices() {
            let mut rng = Rng::new(29);
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                for n in [1, 5, 40] {
                    let mut a = Dense::positive::<T>(&mut rng, n);
                    a.x[n * n / 2] = bad.into();
                    let b = Dense::random::<T>(&mut rng, n, 1);
                    for structure in [Structure::General, Structure::PositiveDefinite(Uplo::Lower)] {
                        let _ = solved::<T>(&device, structure, &a, &b);
                    }
                    let tall = Dense::new(n + 3, n, |i, j| if i < n { a.at(i, j) } else { 1.0.into() });
                    let _ = solved::<T>(&device, Structure::General, &tall, &Dense::random::<T>(&mut rng, n + 3, 1));
                }
            }
            // And the device is as well as ever.
            let x =
                solved::<T>(&device, Structure::General, &Dense::identity(2), &Dense::identity(2)).expect("a solution");
            assert_eq!(x, Dense::identity(2));
        }
    }
    each_type!(case);
}

#[test]
fn batches_of_nothing_are_answered() {
    for device in devices() {
        let solver = device.solver();
        for (count, n) in [(1, 0), (0, 3), (4, 0)] {
            let nothing = |columns| device.uninit::<f64>([count, n, columns]).unwrap();
            solver.lu(nothing(n)).unwrap().await_result().unwrap();
            solver.cholesky(Uplo::Lower, nothing(n)).unwrap().await_result().unwrap();
            let qr = solver.qr(&nothing(n)).unwrap().await_result().unwrap();
            assert_eq!(qr.q(&solver).unwrap().await_result().unwrap().shape(), [count, n, n]);
            let solved = solver.solve(Structure::General, nothing(n), &nothing(2)).unwrap().await_result().unwrap();
            assert_eq!((solved.x.shape(), solved.info.shape()), (&[count, n, 2][..], &[count][..]));
        }
    }
}
