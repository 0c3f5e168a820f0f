//! LU, Cholesky, QR and triangular inverses: by residual and orthogonality.

use super::check::{Dense, Laid, Number, assert_ratio, dense, difference, each_type, orthogonality, residual};
use crate::common::{Rng, devices, down, seeds};
use windlass::solver::{Lu, Structure};
use windlass::{Device, Diag, Error, Side, Transpose, Uplo};

const SHAPES: [(usize, usize); 14] = [
    (0, 0),
    (0, 3),
    (3, 0),
    (1, 1),
    (2, 2),
    (5, 5),
    (17, 17),
    (33, 33),
    (70, 70),
    (7, 3),
    (40, 9),
    (3, 7),
    (9, 40),
    (65, 34),
];
const GAPS: [usize; 2] = [0, 3];

/// Matrices of one shape, one or several.
fn batch<T: Number>(rng: &mut Rng, (m, n): (usize, usize), gap: usize) -> Laid {
    let count = if gap == 0 || m * n > 1000 { 1 } else { 3 };
    Laid::new((0..count).map(|_| Dense::random::<T>(rng, m, n)).collect(), gap)
}

/// `P * A` as the pivots say.
fn permuted(a: &Dense, pivots: &[i64]) -> Dense {
    let mut rows: Vec<usize> = (0..a.m).collect();
    pivots.iter().enumerate().for_each(|(i, pivot)| rows.swap(i, *pivot as usize - 1));
    Dense::new(a.m, a.n, |i, j| a.at(rows[i], j))
}

#[test]
fn lu_gives_the_matrix_back() {
    fn case<T: Number>() {
        for device in devices() {
            seeds(2, |rng, _| {
                for (shape, gap) in SHAPES.into_iter().flat_map(|shape| GAPS.map(|gap| (shape, gap))) {
                    let a = batch::<T>(rng, shape, gap);
                    lu_of::<T>(&device, &a);
                }
            });
        }
    }
    each_type!(case);
}

fn lu_of<T: Number>(device: &Device, laid: &Laid) {
    let solver = device.solver();
    let size = laid.all[0].m.min(laid.all[0].n);
    let lu = match solver.lu(laid.upload::<T>(device)).unwrap().await_result() {
        Ok(lu) => lu,
        Err(rejected) => panic!("{rejected} for {:?}", laid.all),
    };
    let pivots = down(device, lu.pivots());
    let factors = laid.read(device, lu.factors());
    for (k, (a, f)) in laid.all.iter().zip(&factors).enumerate() {
        let l = Dense::new(a.m, size, |i, j| {
            if i == j {
                1.0.into()
            } else if i > j {
                f.at(i, j)
            } else {
                0.0.into()
            }
        });
        let u = Dense::new(size, a.n, |i, j| if i <= j { f.at(i, j) } else { 0.0.into() });
        assert!(l.x.iter().all(|x| x.re.abs() <= 1.5 && x.im.abs() <= 1.5), "multipliers are at most one in size");
        let permuted = permuted(a, &pivots[k * size..(k + 1) * size]);
        assert_ratio(difference::<T>(&permuted, &l.times(&u)), &(a.m, a.n, T::DTYPE));
    }
    assert_eq!(down(device, lu.info()), vec![0; laid.all.len()]);
}

#[test]
fn solutions_and_inverses_from_lu_have_small_residuals() {
    fn case<T: Number>() {
        for device in devices() {
            let solver = device.solver();
            let mut rng = Rng::new(7);
            for (n, nrhs, gap) in [(0, 2, 0), (1, 1, 0), (4, 0, 1), (5, 3, 2), (33, 1, 0), (64, 70, 1)] {
                let (a, b) = (batch::<T>(&mut rng, (n, n), gap), batch::<T>(&mut rng, (n, nrhs), gap));
                let b = Laid::new(a.all.iter().map(|_| b.all[0].clone()).collect(), gap);
                let lu = solver.lu(a.upload::<T>(&device)).unwrap().await_result().unwrap();
                for trans in [Transpose::No, Transpose::Yes, Transpose::Conjugate] {
                    let x = lu.solve(&solver, trans, b.upload::<T>(&device)).unwrap().await_result().unwrap();
                    for ((a, b), x) in a.all.iter().zip(&b.all).zip(b.read(&device, &x)) {
                        let a = match trans {
                            Transpose::No => a.clone(),
                            Transpose::Yes => a.transpose(),
                            Transpose::Conjugate => a.adjoint(),
                        };
                        assert_ratio(residual::<T>(&a, &x, b), &(n, nrhs, trans, T::DTYPE));
                    }
                }
                let inverse = lu.inverse(&solver).unwrap().await_result().unwrap();
                for (a, c) in a.all.iter().zip(dense(&device, &inverse.matrix)) {
                    let scale = a.norm() * c.norm() * T::EPS * n.max(1) as f64;
                    let rest = a.times(&c).minus(&Dense::identity(n)).norm();
                    assert!(rest <= super::check::RATIO * scale, "n = {n}: {rest} against {scale}");
                }
                let dets = lu.det(&solver).unwrap().await_result().unwrap();
                assert_eq!(dets.len(), a.all.len());
                if n == 5 {
                    let want = determinant(&a.all[0]);
                    assert!((dets[0].value() - want).norm() < 1e4 * T::EPS * want.norm(), "{dets:?} and {want}");
                }
            }
        }
    }
    each_type!(case);
}

/// By the first row.
fn determinant(a: &Dense) -> super::check::C {
    if a.n == 0 {
        return 1.0.into();
    }
    let minor = |k: usize| Dense::new(a.n - 1, a.n - 1, |i, j| a.at(i + 1, if j < k { j } else { j + 1 }));
    (0..a.n).map(|k| a.at(0, k) * determinant(&minor(k)) * if k % 2 == 0 { 1.0 } else { -1.0 }).sum()
}

#[test]
fn a_singular_matrix_is_told_with_its_place_and_its_factors() {
    for device in devices() {
        let solver = device.solver();
        // Row 2 is twice row 1, so the second pivot is zero; the first matrix of the batch is regular.
        let regular = Dense::real(3, 3, |i, j| f64::from(i == j));
        let singular = Dense::real(3, 3, |i, j| [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 2.0, 5.0]][i][j]);
        let laid = Laid::new(vec![regular, singular.clone()], 1);
        let rejected = solver.lu(laid.upload::<f64>(&device)).unwrap().await_result().unwrap_err();
        assert!(matches!(rejected.error, Error::Singular { position: 2, .. }), "{rejected}");
        let (factors, pivots, info) = rejected.back.expect("all buffers");
        assert_eq!(down(&device, &info), [0, 2]);
        let (f, pivots) = (&laid.read(&device, &factors)[1], down(&device, &pivots));
        let l = Dense::new(3, 3, |i, j| {
            if i == j {
                1.0.into()
            } else if i > j {
                f.at(i, j)
            } else {
                0.0.into()
            }
        });
        let u = Dense::new(3, 3, |i, j| if i <= j { f.at(i, j) } else { 0.0.into() });
        assert_ratio(difference::<f64>(&permuted(&singular, &pivots[3..]), &l.times(&u)), &"complete factors");
        // Its inverse does not exist, and its determinant is zero.
        let lu = Lu::from_parts(factors, device.tensor([2, 3], pivots).unwrap(), info);
        let error = lu.inverse(&solver).unwrap().await_result().unwrap_err().error;
        assert!(matches!(error, Error::Singular { position: 2, .. }), "{error}");
        let dets = lu.det(&solver).unwrap().await_result().unwrap();
        assert_eq!((dets[0].value().re, dets[1].value().re), (1.0, 0.0));
    }
}

#[test]
fn an_inverse_is_made_in_one_call_or_its_pivot_is_told() {
    for device in devices() {
        let solver = device.solver();
        for n in [0, 1, 7] {
            let a = Dense::positive::<f64>(&mut Rng::new(n as u64 + 1), n);
            let laid = Laid::new(vec![a.clone(), a.times(&a)], 2);
            let inverse = solver.inverse(&laid.upload::<f64>(&device)).unwrap().await_result().unwrap().matrix;
            assert_eq!(inverse.shape(), [2, n, n]);
            for (a, c) in laid.all.iter().zip(dense(&device, &inverse)) {
                assert!(a.times(&c).minus(&Dense::identity(n)).norm() < 1e-11, "{n}");
            }
        }
        let singular = device.tensor([2, 2, 2], [1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0]).unwrap();
        let error = solver.inverse(singular).unwrap().await_result().unwrap_err().error;
        assert!(matches!(error, Error::Singular { position: 2, .. }), "{error}");
        // A NaN is no reason to hang.
        drop(solver.inverse(device.full([3, 3], f64::NAN).unwrap()).unwrap().await_result());
        let none = solver.inverse(device.uninit::<f64>([0, 3, 3]).unwrap()).unwrap().await_result().unwrap();
        assert!(none.matrix.is_empty());
    }
}

#[test]
fn cholesky_reads_and_writes_its_triangle_alone() {
    fn case<T: Number>() {
        for device in devices() {
            let solver = device.solver();
            let mut rng = Rng::new(3);
            for (n, gap) in [(0, 0), (1, 0), (2, 1), (31, 0), (32, 1), (33, 2), (70, 0)] {
                for uplo in [Uplo::Lower, Uplo::Upper] {
                    let counts = |i: usize, j: usize| if uplo == Uplo::Lower { i >= j } else { i <= j };
                    let count = 1 + gap;
                    let all = (0..count).map(|_| Dense::positive::<T>(&mut rng, n).rounded::<T>()).collect();
                    let laid = Laid::new(all, gap);
                    let a = laid.upload_part::<T>(&device, counts);
                    let l = solver.cholesky(uplo, a).unwrap().await_result().unwrap();
                    let b = Dense::random::<T>(&mut rng, n, 3);
                    let b = Laid::new(vec![b; count], gap);
                    let x = l.solve(&solver, b.upload::<T>(&device)).unwrap().await_result().unwrap();
                    let x = b.read(&device, &x);
                    let factors = laid.read(&device, l.factor());
                    let dets = l.det(&solver).unwrap().await_result().unwrap();
                    for (k, (a, f)) in laid.all.iter().zip(&factors).enumerate() {
                        let triangle = Dense::new(n, n, |i, j| if counts(i, j) { f.at(i, j) } else { 0.0.into() });
                        assert!(
                            (0..n * n).all(|at| counts(at % n, at / n) || f.x[at].re.is_nan()),
                            "the other triangle"
                        );
                        let product = match uplo {
                            Uplo::Lower => triangle.times(&triangle.adjoint()),
                            Uplo::Upper => triangle.adjoint().times(&triangle),
                        };
                        assert_ratio(difference::<T>(a, &product), &(n, uplo, T::DTYPE));
                        assert_ratio(residual::<T>(a, &x[k], &b.all[k]), &(n, uplo, T::DTYPE));
                        let log: f64 = (0..n).map(|i| 2.0 * f.at(i, i).re.ln()).sum();
                        assert!((dets[k].log_abs - log).abs() <= 1e-12 * (1.0 + log.abs()), "{dets:?} and {log}");
                    }
                    let inverse = l.inverse(&solver).unwrap().await_result().unwrap();
                    for (a, c) in laid.all.iter().zip(laid.read(&device, &inverse.matrix)) {
                        let whole = Dense::new(n, n, |i, j| if counts(i, j) { c.at(i, j) } else { c.at(j, i).conj() });
                        let scale = a.norm() * whole.norm() * T::EPS * n.max(1) as f64;
                        let rest = a.times(&whole).minus(&Dense::identity(n)).norm();
                        assert!(rest <= super::check::RATIO * scale, "n = {n}: {rest} against {scale}");
                    }
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn what_is_not_positive_definite_is_told_with_the_order_of_its_minor() {
    fn case<T: Number>() {
        for device in devices() {
            for (n, bad) in [(1, 0), (3, 1), (40, 35), (70, 69)] {
                for (uplo, value) in [(Uplo::Lower, -1.0), (Uplo::Upper, 0.0), (Uplo::Lower, f64::NAN)] {
                    let a = Dense::real(n, n, |i, j| match (i == j, i == bad) {
                        (true, true) => value,
                        (same, _) => f64::from(same),
                    });
                    let laid = Laid::one(&a, 1);
                    let answer = device.solver().cholesky(uplo, laid.upload::<T>(&device)).unwrap();
                    let rejected = answer.await_result().unwrap_err();
                    let Error::NotPositiveDefinite { order, .. } = rejected.error else { panic!("{rejected}") };
                    assert!(value.is_nan() || order == bad as u64 + 1, "{order} for {bad}");
                    assert!(rejected.back.is_some(), "all buffers come back");
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn qr_gives_an_orthogonal_factor_and_the_matrix_back() {
    fn case<T: Number>() {
        for device in devices() {
            let solver = device.solver();
            let mut rng = Rng::new(11);
            for (shape, gap) in SHAPES.into_iter().flat_map(|shape| GAPS.map(|gap| (shape, gap))) {
                let laid = batch::<T>(&mut rng, shape, gap);
                let (m, n) = shape;
                let k = m.min(n);
                let qr = solver.qr(laid.upload::<T>(&device)).unwrap().await_result().unwrap();
                let factors = laid.read(&device, qr.factors());
                let q = dense(&device, &qr.q(&solver).unwrap().await_result().unwrap());
                let eye = Laid::new(vec![Dense::identity(m); laid.all.len()], gap);
                let whole = |side, trans| {
                    let c = eye.upload::<T>(&device);
                    eye.read(&device, &qr.apply(&solver, side, trans, c).unwrap().await_result().unwrap())
                };
                let all = [Side::Left, Side::Right].map(|s| (whole(s, Transpose::No), whole(s, Transpose::Conjugate)));
                for (i, (a, f)) in laid.all.iter().zip(&factors).enumerate() {
                    let thin = &q[i];
                    let r = Dense::new(k, n, |r, c| if r <= c { f.at(r, c) } else { 0.0.into() });
                    assert_ratio(orthogonality::<T>(thin), &(shape, T::DTYPE));
                    assert_ratio(difference::<T>(a, &thin.times(&r)), &(shape, T::DTYPE));
                    for (plain, adjoint) in &all {
                        assert_ratio(orthogonality::<T>(&plain[i]), &(shape, T::DTYPE));
                        let near = |x: &Dense, y: &Dense| x.minus(y).norm() < 100.0 * T::EPS * m as f64;
                        assert!(m == 0 || near(&plain[i].adjoint(), &adjoint[i]), "an adjoint: {shape:?}");
                        assert!(m == 0 || near(&plain[i].part(m, k), thin), "ormqr and orgqr: {shape:?}");
                    }
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn least_squares_leave_a_residual_that_is_orthogonal_to_the_columns() {
    fn case<T: Number>() {
        for device in devices() {
            let solver = device.solver();
            let mut rng = Rng::new(13);
            for (m, n, nrhs, gap) in
                [(5, 5, 1, 0), (9, 4, 2, 1), (70, 33, 1, 0), (4, 9, 2, 1), (33, 70, 3, 0), (3, 0, 1, 0)]
            {
                let (a, b) = (Dense::random::<T>(&mut rng, m, n), Dense::random::<T>(&mut rng, m, nrhs));
                let (of_a, of_b) = (Laid::one(&a, gap), Laid::one(&b, gap));
                let (one, two) = (of_a.upload::<T>(&device), of_b.upload::<T>(&device));
                let solved = solver.solve(Structure::General, one, two).unwrap();
                let x = dense(&device, &solved.await_result().unwrap().x).remove(0);
                let rest = b.minus(&a.times(&x));
                let scale = (a.norm() * x.norm() + b.norm()) * T::EPS * m.max(n) as f64;
                if m <= n {
                    assert!(rest.norm() <= super::check::RATIO * scale, "{m} x {n}: {} of {scale}", rest.norm());
                } else {
                    let rest = a.adjoint().times(&rest).norm();
                    assert!(rest <= super::check::RATIO * scale * a.norm(), "{m} x {n}: {rest} of {scale}");
                }
                if m < n {
                    // The least solution is a combination of the rows: orthogonal to what A does not see.
                    let h = Laid::one(&a.adjoint(), 0);
                    let qr = solver.qr(h.upload::<T>(&device)).unwrap().await_result().unwrap();
                    let of_x = Laid::one(&x, 0);
                    let how = (Side::Left, Transpose::Conjugate);
                    let y = qr.apply(&solver, how.0, how.1, of_x.upload::<T>(&device)).unwrap().await_result().unwrap();
                    let y = &of_x.read(&device, &y)[0];
                    let outside = Dense::new(n - m, nrhs, |i, j| y.at(i + m, j)).norm();
                    assert!(outside < 100.0 * T::EPS * n as f64 * x.norm(), "{outside} of {}", x.norm());
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn one_call_solves_by_what_it_is_told() {
    fn case<T: Number>() {
        for device in devices() {
            let mut rng = Rng::new(17);
            let n = 40;
            for structure in
                [Structure::General, Structure::PositiveDefinite(Uplo::Lower), Structure::PositiveDefinite(Uplo::Upper)]
            {
                let all = vec![
                    Dense::positive::<T>(&mut rng, n).rounded::<T>(),
                    Dense::positive::<T>(&mut rng, n).rounded::<T>(),
                ];
                let (a, b) = (Laid::new(all, 2), Laid::new(vec![Dense::random::<T>(&mut rng, n, 3); 2], 1));
                let solver = device.solver();
                let (one, two) = (a.upload::<T>(&device), b.upload::<T>(&device));
                let solved = solver.solve(structure, one, two).unwrap().await_result().unwrap();
                for ((a, b), x) in a.all.iter().zip(&b.all).zip(b.read(&device, &solved.x)) {
                    assert_ratio(residual::<T>(a, &x, b), &(structure, T::DTYPE));
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn pivoted_qr_orders_the_diagonal_and_shows_the_rank() {
    fn case<T: Number>() {
        for device in devices() {
            if device.kind() != windlass::DeviceKind::Host {
                continue;
            }
            let (solver, mut rng) = (device.solver(), Rng::new(19));
            for (m, n, rank) in [(6, 6, 6), (30, 12, 5), (12, 30, 7), (20, 20, 1), (5, 5, 0)] {
                let a =
                    Dense::random::<T>(&mut rng, m, rank).times(&Dense::random::<T>(&mut rng, rank, n)).rounded::<T>();
                let laid = Laid::one(&a, 1);
                let qr = solver.qr_pivoted(laid.upload::<T>(&device)).unwrap().await_result().unwrap();
                let f = &laid.read(&device, qr.factors())[0];
                let columns = down(&device, qr.columns().expect("columns"));
                let thin = dense(&device, &qr.q(&solver).unwrap().await_result().unwrap()).remove(0);
                let k = m.min(n);
                let r = Dense::new(k, n, |r, c| if r <= c { f.at(r, c) } else { 0.0.into() });
                let swapped = Dense::new(m, n, |i, j| a.at(i, columns[j] as usize - 1));
                assert_ratio(orthogonality::<T>(&thin), &(m, n, rank));
                assert!(rank == 0 || difference::<T>(&swapped, &thin.times(&r)) < super::check::RATIO);
                let diagonal: Vec<f64> = (0..k).map(|i| f.at(i, i).norm()).collect();
                assert!(
                    diagonal.windows(2).all(|w| w[1] <= w[0] * (1.0 + 1e-3) + 1e3 * T::EPS * a.norm()),
                    "{diagonal:?}"
                );
                let large = diagonal.iter().filter(|x| **x > 1e3 * T::EPS * a.norm()).count();
                assert_eq!(large, rank, "{diagonal:?}");
            }
        }
    }
    each_type!(case);
}

#[test]
fn triangular_inverses_leave_the_other_triangle() {
    fn case<T: Number>() {
        for device in devices() {
            let mut rng = Rng::new(23);
            for n in [0, 1, 2, 32, 33, 70] {
                for (uplo, diag) in [
                    (Uplo::Lower, Diag::NonUnit),
                    (Uplo::Upper, Diag::NonUnit),
                    (Uplo::Lower, Diag::Unit),
                    (Uplo::Upper, Diag::Unit),
                ] {
                    let inside = |i: usize, j: usize| if uplo == Uplo::Lower { i > j } else { i < j };
                    let random = Dense::random::<T>(&mut rng, n, n);
                    let a = Dense::new(n, n, |i, j| match (i == j, inside(i, j)) {
                        (true, _) if diag == Diag::Unit => 1.0.into(),
                        (true, _) => random.at(i, j) + 6.0,
                        (_, true) => random.at(i, j) / n as f64,
                        _ => 0.0.into(),
                    });
                    let a = a.rounded::<T>();
                    let laid = Laid::one(&a, 1);
                    let counts = |i: usize, j: usize| inside(i, j) || (i == j && diag == Diag::NonUnit);
                    let solver = device.solver();
                    let pending = solver.trtri(uplo, diag, laid.upload_part::<T>(&device, counts)).unwrap();
                    let c = &laid.read(&device, &pending.await_result().unwrap().matrix)[0];
                    assert!(
                        (0..n * n).all(|at| counts(at % n, at / n) || c.x[at].re.is_nan()),
                        "what does not count stays"
                    );
                    let c = Dense::new(n, n, |i, j| match counts(i, j) {
                        true => c.at(i, j),
                        false => f64::from(i == j).into(),
                    });
                    let scale = a.norm() * c.norm() * T::EPS * n.max(1) as f64;
                    assert!(a.times(&c).minus(&Dense::identity(n)).norm() <= super::check::RATIO * scale, "n = {n}");
                }
            }
            let zero = device.tensor([2, 2], [1.0, 0.0, 0.0, 0.0].map(T::real)).unwrap();
            let answer = device.solver().trtri(Uplo::Lower, Diag::NonUnit, zero).unwrap().await_result();
            assert!(matches!(answer.unwrap_err().error, Error::Singular { position: 2, .. }));
        }
    }
    each_type!(case);
}

/// A GPU's library takes small matrices of a batch in one call.
#[test]
fn many_small_matrices_are_factored_as_one_is() {
    fn case<T: Number>() {
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(71));
            for (n, gap) in [(1, 0), (5, 2), (33, 0)] {
                lu_of::<T>(&device, &Laid::new((0..6).map(|_| Dense::random::<T>(&mut rng, n, n)).collect(), gap));
                for uplo in [Uplo::Lower, Uplo::Upper] {
                    let counts = |i: usize, j: usize| if uplo == Uplo::Lower { i >= j } else { i <= j };
                    let all: Vec<Dense> = (0..6).map(|_| Dense::positive::<T>(&mut rng, n).rounded::<T>()).collect();
                    let laid = Laid::new(all, gap);
                    let a = laid.upload_part::<T>(&device, counts);
                    let l = solver.cholesky(uplo, a).unwrap().await_result().unwrap();
                    for (a, f) in laid.all.iter().zip(laid.read(&device, l.factor())) {
                        let triangle = Dense::new(n, n, |i, j| if counts(i, j) { f.at(i, j) } else { 0.0.into() });
                        assert!(
                            (0..n * n).all(|at| counts(at % n, at / n) || f.x[at].re.is_nan()),
                            "the other triangle"
                        );
                        let product = match uplo {
                            Uplo::Lower => triangle.times(&triangle.adjoint()),
                            Uplo::Upper => triangle.adjoint().times(&triangle),
                        };
                        assert_ratio(difference::<T>(a, &product), &(n, uplo, T::DTYPE));
                    }
                }
            }
        }
    }
    each_type!(case);
}
