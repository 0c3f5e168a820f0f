//! Solutions by factors of a lower precision, refined.

use super::check::{Dense, Laid, Number, assert_ratio, dense, residual};
use crate::common::{Rng, devices, is_host};
use windlass::Device;
use windlass::solver::{Lowest, Refined, WideElement};

#[test]
fn half_the_precision_is_refined_to_the_whole_or_given_up() {
    fn case<T: Number + windlass::solver::WideElement>() {
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(67));
            // Of 10^12 the condition is beyond f32, 10^40 is as a number.
            for (name, n, scale, expected) in
                [("good", 40, 1.0, true), ("one", 1, 1.0, true), ("none", 0, 1.0, true), ("huge", 9, 1e40, false)]
            {
                let a = Dense::positive::<T>(&mut rng, n);
                let a = Dense::new(n, n, |i, j| a.at(i, j) * scale);
                let b = Dense::random::<T>(&mut rng, n, 3);
                let (of_a, of_b) = (Laid::one(&a, 1), Laid::one(&b, 2));
                let (one, two) = (of_a.upload::<T>(&device), of_b.upload::<T>(&device));
                let refined = solver.solve_refined(Lowest::Single, &one, &two).unwrap().await_result().unwrap();
                assert_eq!(refined.rounds.is_some(), expected, "{name}: {:?}", refined.rounds);
                assert_ratio(residual::<T>(&a, &dense(&device, &refined.x)[0], &b), &name);
                assert_eq!((&of_a.read(&device, &one)[0], &of_b.read(&device, &two)[0]), (&a, &b), "they stay");
            }
            let singular = Laid::one(&Dense::real(2, 2, |_, _| 1.0), 0);
            let (a, b) = (singular.upload::<T>(&device), singular.upload::<T>(&device));
            let pending = solver.solve_refined(Lowest::Single, &a, &b).unwrap();
            let rejected = pending.await_result().unwrap_err();
            assert!(matches!(rejected.error, windlass::Error::Singular { position: 2, .. }), "{rejected}");
        }
    }
    case::<f64>();
    case::<windlass::Complex<f64>>();
}

/// The residual is orthogonal to the columns: `||A^H (b - A x)|| / (||A|| (||A|| ||x|| + ||b||) m eps)`.
fn orthogonal<T: Number>(a: &Dense, x: &Dense, b: &Dense) -> f64 {
    let rest = a.adjoint().times(&b.minus(&a.times(x))).norm();
    rest / (a.norm() * (a.norm() * x.norm() + b.norm()) * a.m as f64 * T::EPS)
}

fn refined<T: Number + WideElement>(device: &Device, lowest: Lowest, a: &Dense, b: &Dense) -> (Refined<T>, Dense) {
    let (of_a, of_b) = (Laid::one(a, 1), Laid::one(b, 2));
    let (one, two) = (of_a.upload::<T>(device), of_b.upload::<T>(device));
    let refined = device.solver().solve_refined(lowest, &one, &two).unwrap().await_result().unwrap();
    assert_eq!((&of_a.read(device, &one)[0], &of_b.read(device, &two)[0]), (a, b), "they stay");
    let x = dense(device, &refined.x).remove(0);
    (refined, x)
}

#[test]
fn least_squares_are_refined_from_half_the_precision_or_given_up() {
    fn case<T: Number + WideElement>() {
        for device in devices() {
            let mut rng = Rng::new(71);
            for (name, m, n, scale, expected) in [
                ("tall", 60, 20, 1.0, true),
                ("one column", 5, 1, 1.0, true),
                ("one row more", 9, 8, 1.0, true),
                ("no columns", 4, 0, 1.0, true),
                ("huge", 9, 4, 1e40, false),
            ] {
                let a = Dense::random::<T>(&mut rng, m, n);
                let a = Dense::new(m, n, |i, j| a.at(i, j) * scale);
                for within in [false, true] {
                    let b = Dense::random::<T>(&mut rng, if within { n } else { m }, 2);
                    let b = if within { a.times(&b).rounded::<T>() } else { b };
                    let (refined, x) = refined::<T>(&device, Lowest::Single, &a, &b);
                    // cuSOLVER refines what A times some X is.
                    let expected = expected && (within || n == 0 || is_host(&device));
                    // One column it gives up now and then, beside other threads; the whole precision answers then.
                    if n != 1 || is_host(&device) {
                        assert_eq!(refined.rounds.is_some(), expected, "{name}, {within}: {:?}", refined.rounds);
                    }
                    if n > 0 {
                        assert_ratio(orthogonal::<T>(&a, &x, &b), &name);
                    }
                }
            }
        }
    }
    case::<f64>();
    case::<windlass::Complex<f64>>();
}

/// A residual that is not small, and a condition of 1000: what a step by the solution alone does not refine.
#[test]
fn the_refined_least_squares_are_those_of_the_whole_precision() {
    for device in devices() {
        let (m, n) = (30, 6);
        let a = Dense::real(m, n, |i, j| ((i * 7 + j * 5) % 11) as f64 / 7.0 + if i == j { 3.0 } else { 0.0 });
        let a = Dense::real(m, n, |i, j| a.at(i, j).re * 10f64.powi(-(j as i32) / 2));
        let b = Dense::real(m, 1, |i, _| if i % 2 == 0 { 1.0 } else { -2.0 });
        let (refined, x) = refined::<f64>(&device, Lowest::Single, &a, &b);
        assert_eq!(refined.rounds.is_some(), is_host(&device));
        let (of_a, of_b, solver) = (Laid::one(&a, 0), Laid::one(&b, 0), device.solver());
        let (one, two) = (of_a.upload::<f64>(&device), of_b.upload::<f64>(&device));
        let general = windlass::solver::Structure::General;
        let solved = solver.solve(general, one, two).unwrap().await_result().unwrap();
        let whole = dense(&device, &solved.x).remove(0);
        let apart = x.minus(&whole).norm() / whole.norm();
        assert!(apart < 1e-11, "{apart}: {x:?} and {whole:?}");
    }
}

#[test]
fn lower_precisions_refine_as_well_or_are_refused_with_a_reason() {
    for device in devices() {
        let mut rng = Rng::new(73);
        for lowest in [Lowest::Half, Lowest::BFloat16, Lowest::TensorFloat32] {
            let a = Dense::positive::<f64>(&mut rng, 24);
            let b = Dense::random::<f64>(&mut rng, 24, 1);
            let (_, x) = refined::<f64>(&device, lowest, &a, &b);
            assert_ratio(residual::<f64>(&a, &x, &b), &lowest);
            let tall = Dense::random::<f64>(&mut rng, 40, 8);
            let b = Dense::random::<f64>(&mut rng, 40, 1);
            let (_, x) = refined::<f64>(&device, lowest, &tall, &b);
            assert_ratio(orthogonal::<f64>(&tall, &x, &b), &lowest);
        }
    }
}

#[test]
fn what_cannot_be_refined_is_refused() {
    for device in devices() {
        let solver = device.solver();
        let x = |extents: &[usize]| device.full(extents, 1.0f64).unwrap();
        let says =
            |a: &[usize], b: &[usize]| solver.solve_refined(Lowest::Single, &x(a), &x(b)).unwrap_err().to_string();
        assert!(says(&[2, 3], &[2, 1]).contains("at least as many rows as columns"));
        assert!(says(&[3, 2], &[2, 1]).contains("`b`: [2, 1], but a is [3, 2]"));
        assert!(says(&[4, 2, 2], &[4, 2, 1]).contains("only one is refined"));
        assert!(says(&[4, 2, 2], &[2]).contains("[2], but a is [4, 2, 2]"));
        assert!(says(&[3], &[3]).contains("less than two axes"));
    }
}

/// What is not contiguous is copied, a vector stays one.
#[test]
fn systems_in_any_layout_are_refined() {
    for device in devices() {
        let a = device.tensor([2, 2], [3.0, 1.0, 2.0, 7.0]).unwrap();
        let b = device.tensor([4], [5.0, f64::NAN, 16.0, f64::NAN]).unwrap();
        let b = b.slice(windlass::tensor::AxisSlice::from(..).step(2)).unwrap();
        for (a, want) in [(a.view(), [1.0, 2.0]), (a.transpose(), [3.0 / 19.0, 43.0 / 19.0])] {
            let refined = device.solver().solve_refined(Lowest::Single, a, &b).unwrap().await_result().unwrap();
            let x = crate::common::down(&device, &refined.x);
            assert_eq!(refined.x.shape(), [2]);
            assert!(x.iter().zip(want).all(|(x, want)| (x - want).abs() < 1e-14), "{x:?}");
        }
    }
}
