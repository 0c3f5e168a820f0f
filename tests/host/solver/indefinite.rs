//! Symmetric and Hermitian matrices that need not be definite.

use super::check::{Dense, Laid, Number, assert_ratio, each_type, residual};
use crate::common::{Rng, devices, down};
use windlass::solver::{Structure, Symmetry};
use windlass::{Error, Uplo};

/// Wide sense: the same on both sides of the diagonal.
fn symmetric<T: Number>(rng: &mut Rng, n: usize, symmetry: Symmetry) -> Dense {
    let a = Dense::random::<T>(rng, n, n);
    Dense::new(n, n, |i, j| {
        let (x, y) = (a.at(i.max(j), i.min(j)), i < j && symmetry == Symmetry::Hermitian);
        let x = if y { x.conj() } else { x };
        // Small on the diagonal, so that blocks of two rows are needed.
        match (i == j, symmetry) {
            (true, Symmetry::Hermitian) => (x.re * 0.01).into(),
            (true, _) => x * 0.01,
            _ => x,
        }
    })
    .rounded::<T>()
}

#[test]
fn indefinite_systems_are_solved_from_one_triangle() {
    fn case<T: Number>() {
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(53));
            for symmetry in [Symmetry::Symmetric, Symmetry::Hermitian] {
                for (n, gap) in [(0, 0), (1, 0), (2, 1), (3, 0), (4, 1), (17, 0), (40, 1)] {
                    for uplo in [Uplo::Lower, Uplo::Upper] {
                        let counts = |i: usize, j: usize| if uplo == Uplo::Lower { i >= j } else { i <= j };
                        let all = (0..=gap).map(|_| symmetric::<T>(&mut rng, n, symmetry)).collect();
                        let a = Laid::new(all, gap);
                        let pending = solver.ldl(uplo, symmetry, a.upload_part::<T>(&device, counts)).unwrap();
                        let ldl = match pending.await_result() {
                            Ok(ldl) => ldl,
                            Err(rejected) if matches!(rejected.error, Error::Unsupported { .. }) => continue,
                            Err(rejected) => panic!("{rejected}"),
                        };
                        let factors = a.read(&device, ldl.factors());
                        assert!((0..n * n).all(|at| counts(at % n, at / n) || factors[0].x[at].re.is_nan()));
                        let b = Laid::new(vec![Dense::random::<T>(&mut rng, n, 2); gap + 1], gap);
                        let x = ldl.solve(&solver, b.upload::<T>(&device)).unwrap().await_result().unwrap();
                        let structure = match symmetry {
                            Symmetry::Symmetric => Structure::Symmetric(uplo),
                            Symmetry::Hermitian => Structure::Hermitian(uplo),
                        };
                        let (one, two) = (a.upload_part::<T>(&device, counts), b.upload::<T>(&device));
                        let solved = solver.solve(structure, one, two).unwrap();
                        let at_once = b.read(&device, &solved.await_result().unwrap().x);
                        let in_two = b.read(&device, &x);
                        // cuSOLVER does not promise the same bits of its factorization each time.
                        if device.kind() == windlass::DeviceKind::Host {
                            assert_eq!(at_once, in_two, "in one call as in two");
                        }
                        for (how, x) in [("one call", at_once), ("two calls", in_two)] {
                            for ((a, b), x) in a.all.iter().zip(&b.all).zip(x) {
                                assert_ratio(residual::<T>(a, &x, b), &(how, n, uplo, symmetry, T::DTYPE));
                            }
                        }
                    }
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn pivots_are_those_of_lapack() {
    // What `dsytf2` gives for these, by hand: the first column asks for a block of rows 1 and 3.
    for device in devices() {
        let a = Dense::real(3, 3, |i, j| [[0.0, 1.0, 5.0], [1.0, 4.0, 2.0], [5.0, 2.0, 0.0]][i][j]);
        let laid = Laid::one(&a, 0);
        let solver = device.solver();
        let up = || laid.upload::<f64>(&device);
        let ldl = solver.ldl(Uplo::Lower, Symmetry::Symmetric, up()).unwrap().await_result().unwrap();
        assert_eq!(down(&device, ldl.pivots()), [-3, -3, 3]);
        let ldl = solver.ldl(Uplo::Upper, Symmetry::Symmetric, up()).unwrap().await_result().unwrap();
        assert_eq!(down(&device, ldl.pivots()), [1, -1, -1]);
        let zero = Laid::one(&Dense::real(2, 2, |i, j| if (i, j) == (0, 0) { 1.0 } else { 0.0 }), 0);
        let pending = solver.ldl(Uplo::Lower, Symmetry::Symmetric, zero.upload::<f64>(&device)).unwrap();
        let rejected = pending.await_result().unwrap_err();
        assert!(matches!(rejected.error, Error::Singular { position: 2, .. }), "{rejected}");
        assert!(rejected.back.is_some());
    }
}
