//! Singular values and eigenvalues: by residual and orthogonality, sorted, and against values that are known.

use super::check::{
    C, Dense, Laid, Number, assert_ratio, dense, descends, diagonal, difference, each_type, orthogonality, reals,
};
use super::special::zoo;
use crate::common::{Rng, devices, down};
use windlass::solver::{Eigenvectors, EighSpec, Norm, Range, Vectors};
use windlass::{Error, Uplo};

#[test]
fn singular_vectors_are_orthogonal_and_give_the_matrix_back() {
    fn case<T: Number>() {
        for device in devices() {
            let solver = device.solver();
            let mut rng = Rng::new(31);
            for (m, n, gap) in [
                (0, 0, 0),
                (0, 3, 0),
                (3, 0, 0),
                (1, 1, 1),
                (2, 2, 0),
                (5, 3, 1),
                (3, 5, 1),
                (33, 20, 0),
                (20, 33, 0),
                (70, 5, 0),
                (4, 60, 1),
            ] {
                let count = 1 + gap;
                let laid = Laid::new((0..count).map(|_| Dense::random::<T>(&mut rng, m, n)).collect(), gap);
                let mut known: Vec<f64> = Vec::new();
                for vectors in [Vectors::Thin, Vectors::Full, Vectors::None] {
                    let a = laid.upload::<T>(&device);
                    let svd = solver.svd(vectors, a).unwrap().await_result().unwrap();
                    let s = reals::<T>(&device, &svd.values);
                    let size = m.min(n);
                    if vectors == Vectors::None {
                        assert!(svd.u.is_none() && svd.vh.is_none());
                        for (x, y) in s.iter().zip(&known) {
                            let (x, y): (f64, f64) = (*x, *y);
                            assert!((x - y).abs() <= 100.0 * T::EPS * known[0].max(s[0]), "{s:?} and {known:?}");
                        }
                        continue;
                    }
                    known.clone_from(&s);
                    let u = dense::<T>(&device, svd.u.as_ref().unwrap());
                    let vh = dense::<T>(&device, svd.vh.as_ref().unwrap());
                    for (k, a) in laid.all.iter().enumerate() {
                        let s = &s[k * size..(k + 1) * size];
                        assert!(descends(s), "{s:?}");
                        let middle = diagonal(u[k].n, vh[k].m, s);
                        assert_ratio(
                            difference::<T>(a, &u[k].times(&middle).times(&vh[k])),
                            &(m, n, vectors, T::DTYPE),
                        );
                        assert_ratio(orthogonality::<T>(&u[k]), &(m, n, vectors, T::DTYPE));
                        assert_ratio(orthogonality::<T>(&vh[k].adjoint()), &(m, n, vectors, T::DTYPE));
                    }
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn hard_matrices_have_their_singular_values() {
    fn case<T: Number>() {
        for device in devices() {
            let solver = device.solver();
            let mut all = zoo(20);
            all.push(("zero", Dense::real(9, 9, |_, _| 0.0)));
            all.push(("rank one", Dense::real(9, 12, |i, j| (i + 1) as f64 * (j + 1) as f64)));
            all.push(("tiny", Dense::real(6, 6, |i, j| 1e-36 * (i * 5 + j * j + 1) as f64)));
            all.push(("huge", Dense::real(6, 6, |i, j| 1e36 * (i * 5 + j * j + 1) as f64)));
            all.push(("identity", Dense::identity(12)));
            for (name, a) in all {
                let a = a.rounded::<T>();
                let laid = Laid::one(&a, 0);
                let svd = solver.svd(Vectors::Thin, laid.upload::<T>(&device)).unwrap().await_result().unwrap();
                let s = reals::<T>(&device, &svd.values);
                let u = &dense::<T>(&device, svd.u.as_ref().unwrap())[0];
                let vh = &dense::<T>(&device, svd.vh.as_ref().unwrap())[0];
                assert!(descends(&s), "{name}: {s:?}");
                assert_ratio(difference::<T>(&a, &u.times(&diagonal(u.n, vh.m, &s)).times(vh)), &name);
                assert_ratio(orthogonality::<T>(u), &name);
                assert_ratio(orthogonality::<T>(&vh.adjoint()), &name);
            }
        }
    }
    each_type!(case);
}

#[test]
fn eigenvectors_of_a_triangle_are_orthogonal_and_its_values_ascend() {
    fn case<T: Number>() {
        for device in devices() {
            let solver = device.solver();
            let mut rng = Rng::new(37);
            for (n, gap) in [(0, 0), (1, 0), (2, 1), (3, 0), (33, 1), (70, 0)] {
                for uplo in [Uplo::Lower, Uplo::Upper] {
                    let counts = |i: usize, j: usize| if uplo == Uplo::Lower { i >= j } else { i <= j };
                    let hermitian = |rng: &mut Rng| {
                        let a = Dense::random::<T>(rng, n, n);
                        Dense::new(n, n, |i, j| (a.at(i, j) + a.at(j, i).conj()) / 2.0).rounded::<T>()
                    };
                    let laid = Laid::new((0..=gap).map(|_| hermitian(&mut rng)).collect(), gap);
                    let spec = EighSpec::new(uplo);
                    let run = |spec| {
                        solver.eigh(spec, laid.upload_part::<T>(&device, counts)).unwrap().await_result().unwrap()
                    };
                    let eigh = run(spec);
                    assert_eq!(eigh.values.shape().last(), Some(&n));
                    let (w, x) = (reals::<T>(&device, &eigh.values), laid.read(&device, &eigh.vectors));
                    for (k, a) in laid.all.iter().enumerate() {
                        let w = &w[k * n..(k + 1) * n];
                        assert!(w.windows(2).all(|w| w[0] <= w[1]), "{w:?}");
                        assert_ratio(orthogonality::<T>(&x[k]), &(n, uplo, T::DTYPE));
                        let back = x[k].times(&diagonal(n, n, w)).times(&x[k].adjoint());
                        assert_ratio(difference::<T>(a, &back), &(n, uplo, T::DTYPE));
                    }
                    let alone = reals::<T>(&device, &run(spec.values_only()).values);
                    let most = w.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
                    assert!(
                        alone.iter().zip(&w).all(|(x, y)| (x - y).abs() <= 100.0 * T::EPS * most),
                        "{alone:?} {w:?}"
                    );
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn a_part_of_a_spectrum_is_that_part() {
    for device in devices() {
        let (n, solver) = (12, device.solver());
        let a = Dense::real(n, n, |i, j| [2.0, -1.0, 0.0][i.abs_diff(j).min(2)]);
        let laid = Laid::one(&a, 2);
        let known = |k: usize| 4.0 * ((k + 1) as f64 * std::f64::consts::PI / (2.0 * (n + 1) as f64)).sin().powi(2);
        let between = (known(2) + known(3)) / 2.0;
        for (range, want) in [
            (Range::All, 0..n),
            (Range::Indices(0, 3), 0..3),
            (Range::Indices(9, 12), 9..12),
            (Range::Indices(4, 4), 4..4),
            (Range::Values(between, 3.9), 3..(0..n).filter(|k| known(*k) <= 3.9).count()),
            (Range::Values(-5.0, -4.0), 0..0),
        ] {
            let spec = EighSpec::new(Uplo::Lower).range(range);
            let eigh = solver.eigh(spec, laid.upload::<f64>(&device)).unwrap().await_result().unwrap();
            assert_eq!(
                (eigh.values.shape(), eigh.vectors.shape()),
                (&[want.len()][..], &[n, want.len()][..]),
                "{range:?}"
            );
            let (w, x) = (down(&device, &eigh.values), &laid.read(&device, &eigh.vectors)[0]);
            for (at, k) in want.enumerate() {
                assert!((w[at] - known(k)).abs() < 1e-13, "{range:?}: {} and {}", w[at], known(k));
                let v = Dense::new(n, 1, |i, _| x.at(i, at));
                let rest = a.times(&v).minus(&Dense { x: v.x.iter().map(|x| x * w[at]).collect(), ..v }).norm();
                assert!(rest < 1e-12, "{range:?}: {rest}");
            }
        }
        for range in
            [Range::Indices(3, 2), Range::Indices(0, 13), Range::Values(1.0, 0.0), Range::Values(f64::NAN, 1.0)]
        {
            let spec = EighSpec::new(Uplo::Lower).range(range);
            let refused = solver.eigh(spec, laid.upload::<f64>(&device)).unwrap_err();
            assert!(matches!(refused.error, Error::InvalidArgument { .. }) && refused.back.is_some());
        }
    }
}

#[test]
fn pairs_of_matrices_have_their_generalized_spectrum() {
    fn case<T: Number>() {
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(41));
            for n in [0, 1, 5, 40] {
                for uplo in [Uplo::Lower, Uplo::Upper] {
                    let a = Dense::random::<T>(&mut rng, n, n);
                    let a = Dense::new(n, n, |i, j| (a.at(i, j) + a.at(j, i).conj()) / 2.0).rounded::<T>();
                    let b = Dense::positive::<T>(&mut rng, n).rounded::<T>();
                    let (of_a, of_b) = (Laid::one(&a, 1), Laid::one(&b, 0));
                    let counts = |i: usize, j: usize| if uplo == Uplo::Lower { i >= j } else { i <= j };
                    let (x, y) = (of_a.upload_part::<T>(&device, counts), of_b.upload_part::<T>(&device, counts));
                    let pending = solver.eigh_generalized(EighSpec::new(uplo), x, y).unwrap();
                    let done = pending.await_result().unwrap();
                    let (w, x) = (reals::<T>(&device, &done.values), &of_a.read(&device, &done.vectors)[0]);
                    assert!(w.windows(2).all(|w| w[0] <= w[1]), "{w:?}");
                    let scale = T::EPS * n.max(1) as f64 * super::check::RATIO * (1.0 + b.norm());
                    let unit = x.adjoint().times(&b).times(x).minus(&Dense::identity(n)).norm();
                    assert!(unit <= scale, "{unit} of {scale}");
                    let rest = a.times(x).minus(&b.times(x).times(&diagonal(n, n, &w))).norm();
                    assert!(rest <= scale * (1.0 + a.norm()) * x.norm().max(1.0), "{rest}");
                }
            }
            let b = Laid::one(&Dense::real(3, 3, |i, j| if i == j { [1.0, -1.0, 1.0][i] } else { 0.0 }), 0);
            let (x, y) = (b.upload::<T>(&device), b.upload::<T>(&device));
            let pending = solver.eigh_generalized(EighSpec::new(Uplo::Lower), x, y).unwrap();
            let error = pending.await_result().unwrap_err().error;
            assert!(matches!(error, Error::NotPositiveDefinite { order: 2, .. }), "{error}");
        }
    }
    each_type!(case);
}

/// Vectors as complex columns, whatever the type.
pub fn columns(of: &Dense, w: &[C], real: bool) -> Dense {
    let (mut all, mut j) = (of.clone(), 0);
    while real && j < of.n {
        if w[j].im == 0.0 {
            j += 1;
            continue;
        }
        assert!(w[j].im > 0.0 && (w[j] - w[j + 1].conj()).norm() < 1e-5, "a pair, the positive one first: {w:?}");
        for i in 0..of.m {
            let x = C::new(of.at(i, j).re, of.at(i, j + 1).re);
            all.x[i + j * of.m] = x;
            all.x[i + (j + 1) * of.m] = x.conj();
        }
        j += 2;
    }
    all
}

#[test]
fn right_vectors_of_any_matrix_belong_to_its_values() {
    fn case<T: Number>() {
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(43));
            let mut all: Vec<Dense> = [0, 1, 2, 3, 9, 40].map(|n| Dense::random::<T>(&mut rng, n, n)).to_vec();
            all.extend(zoo(10).into_iter().map(|(_, a)| a.rounded::<T>()));
            all.push(Dense::real(6, 6, |_, _| 0.0));
            for a in all {
                let (laid, n) = (Laid::one(&a, 1), a.n);
                let eig = solver.eig(Eigenvectors::Right, laid.upload::<T>(&device)).unwrap().await_result().unwrap();
                let w = down(&device, &eig.values);
                let w: Vec<C> = match size_of::<T::Real>() {
                    4 => bytemuck::cast_slice::<_, f32>(&w)
                        .chunks(2)
                        .map(|x| C::new(f64::from(x[0]), f64::from(x[1])))
                        .collect(),
                    _ => bytemuck::cast_slice::<_, f64>(&w).chunks(2).map(|x| C::new(x[0], x[1])).collect(),
                };
                let x = dense::<T>(&device, eig.vectors.as_ref().unwrap()).remove(0);
                let x = columns(&x, &w, !T::DTYPE.is_complex());
                for (j, value) in w.iter().enumerate().take(n) {
                    let v = Dense::new(n, 1, |i, _| x.at(i, j));
                    let length: f64 = v.x.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
                    assert!((length - 1.0).abs() < 100.0 * T::EPS, "{length}");
                    let rest = a.times(&v).minus(&Dense { x: v.x.iter().map(|x| x * value).collect(), ..v }).norm();
                    assert!(
                        rest <= super::check::RATIO * T::EPS * n as f64 * a.norm(),
                        "{}: {rest} of {}",
                        T::DTYPE,
                        a.norm()
                    );
                }
                let trace: C = (0..n).map(|i| a.at(i, i)).sum();
                assert!(
                    (w.iter().sum::<C>() - trace).norm() <= 100.0 * T::EPS * n.max(1) as f64 * a.norm().max(1e-300)
                );
            }
        }
    }
    each_type!(case);
}

#[test]
fn numbers_that_are_none_have_no_spectrum_and_hang_nothing() {
    fn case<T: Number>() {
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(47));
            for bad in [f64::NAN, f64::INFINITY] {
                for n in [1, 4, 33] {
                    let mut a = Dense::positive::<T>(&mut rng, n);
                    a.x[n - 1] = bad.into();
                    let laid = Laid::one(&a, 0);
                    let up = || laid.upload::<T>(&device);
                    let told = |answer: Error| assert!(matches!(answer, Error::NotConverged { .. }), "{answer}");
                    let on_host = device.kind() == windlass::DeviceKind::Host;
                    match solver.svd(Vectors::Thin, up()).unwrap().await_result() {
                        Err(rejected) => {
                            assert!(rejected.back.is_some());
                            told(rejected.error);
                        }
                        Ok(_) => assert!(!on_host, "a NaN has no singular values"),
                    }
                    match solver.eigh(EighSpec::new(Uplo::Lower), up()).unwrap().await_result() {
                        Err(rejected) => told(rejected.error),
                        Ok(_) => assert!(!on_host, "a NaN has no eigenvalues"),
                    }
                    match solver.eig(Eigenvectors::Right, up()).unwrap().await_result() {
                        // `cusolverDnXgeev` answers an internal error.
                        Err(rejected) if !on_host && matches!(rejected.error, Error::LibraryError { .. }) => {}
                        Err(rejected) => told(rejected.error),
                        Ok(_) => assert!(!on_host, "a NaN has no eigenvalues"),
                    }
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn singular_values_tell_rank_condition_and_norms() {
    fn case<T: Number>() {
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(59));
            let one = |pending: windlass::Result<windlass::solver::PendingNumbers<T>>| {
                pending.unwrap().await_result().unwrap()
            };
            for (m, n, rank) in [(6, 6, 6), (30, 12, 5), (12, 30, 7), (9, 9, 0)] {
                let a =
                    Dense::random::<T>(&mut rng, m, rank).times(&Dense::random::<T>(&mut rng, rank, n)).rounded::<T>();
                let laid = Laid::new(vec![a.clone(), a.clone()], 1);
                let up = || laid.upload::<T>(&device);
                assert_eq!(one(solver.rank(Some(1e3 * T::EPS), up())), [rank as f64; 2], "{m} x {n}");
                let squares: f64 = a.x.iter().map(|x| x.norm_sqr()).sum();
                let norm = one(solver.norm(Norm::Frobenius, up()))[1];
                assert!(
                    (norm - squares.sqrt()).abs() <= 100.0 * T::EPS * norm.max(1e-30),
                    "{norm} and {}",
                    squares.sqrt()
                );
                let spectral = one(solver.norm(Norm::Spectral, up()))[0];
                let nuclear = one(solver.norm(Norm::Nuclear, up()))[0];
                assert!(spectral <= norm * (1.0 + 1e-5) && norm <= nuclear * (1.0 + 1e-5) + 1e-30);
            }
            let diagonal = Laid::one(&Dense::real(3, 3, |i, j| if i == j { [4.0, 0.5, 2.0][i] } else { 0.0 }), 0);
            let cond = one(solver.cond(diagonal.upload::<T>(&device)))[0];
            assert!((cond - 8.0).abs() < 1e-4, "{cond}");
        }
    }
    each_type!(case);
}

#[test]
fn a_pseudo_inverse_has_the_four_properties_of_one() {
    fn case<T: Number>() {
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(61));
            for (m, n, rank) in [(0, 3, 0), (1, 1, 1), (6, 6, 6), (20, 8, 8), (8, 20, 5), (7, 7, 0)] {
                let a =
                    Dense::random::<T>(&mut rng, m, rank).times(&Dense::random::<T>(&mut rng, rank, n)).rounded::<T>();
                let laid = Laid::new(vec![a.clone(), a.clone()], 1);
                let pending = solver.pinv(Some(1e3 * T::EPS), laid.upload::<T>(&device));
                let answer = pending.unwrap().await_result().unwrap();
                let c = &dense::<T>(&device, &answer.matrix)[1];
                let near = |x: &Dense, y: &Dense, scale: f64| {
                    x.minus(y).norm()
                        <= 100.0 * T::EPS * (m.max(n) as f64) * (1.0 + a.norm() * c.norm()).powi(2) * scale
                };
                let (ac, ca) = (a.times(c), c.times(&a));
                assert!(near(&ac.times(&a), &a, a.norm()) && near(&ca.times(c), c, c.norm()), "{m} x {n}");
                assert!(near(&ac.adjoint(), &ac, 1.0) && near(&ca.adjoint(), &ca, 1.0), "{m} x {n}");
            }
        }
    }
    each_type!(case);
}
