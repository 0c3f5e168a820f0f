//! The methods that singular values and eigenvalues can be computed by, each held against the same bounds.

use super::check::{
    Dense, Laid, Number, assert_ratio, dense, descends, diagonal, difference, each_type, orthogonality, reals,
};
use super::special::zoo;
use crate::common::{Rng, devices};
use windlass::solver::{EighMethod, EighSpec, Jacobi, Randomized, Svd, SvdMethod, Vectors};
use windlass::{Device, Error, Uplo};

const METHODS: [SvdMethod; 2] = [SvdMethod::Jacobi(Jacobi::new()), SvdMethod::Polar];

/// The decomposition, unless the library has no such method.
fn decomposed<T: Number>(device: &Device, method: SvdMethod, vectors: Vectors, laid: &Laid) -> Option<Svd<T>> {
    let a = laid.upload::<T>(device);
    match device.solver().svd_by(method, vectors, a).unwrap().await_result() {
        Ok(svd) => Some(svd),
        Err(rejected) if matches!(rejected.error, Error::Unsupported { .. }) => None,
        Err(rejected) => panic!("{method:?}: {rejected}"),
    }
}

#[test]
fn rotations_and_polar_factors_give_the_matrix_back() {
    fn case<T: Number>() {
        for device in devices() {
            let mut rng = Rng::new(83);
            let sizes = [
                (0, 3, 0),
                (1, 1, 1),
                (2, 2, 0),
                (5, 3, 1),
                (3, 5, 1),
                (33, 20, 0),
                (20, 33, 0),
                (40, 40, 0),
                (4, 60, 1),
            ];
            for ((m, n, gap), method) in sizes.into_iter().flat_map(|size| METHODS.map(|method| (size, method))) {
                let laid = Laid::new((0..=gap).map(|_| Dense::random::<T>(&mut rng, m, n)).collect(), gap);
                let what = (m, n, method, T::DTYPE);
                for vectors in [Vectors::Thin, Vectors::Full] {
                    let Some(svd) = decomposed::<T>(&device, method, vectors, &laid) else { continue };
                    let (s, size) = (reals::<T>(&device, &svd.values), m.min(n));
                    let u = dense::<T>(&device, svd.u.as_ref().unwrap());
                    let vh = dense::<T>(&device, svd.vh.as_ref().unwrap());
                    for (k, a) in laid.all.iter().enumerate() {
                        let s = &s[k * size..(k + 1) * size];
                        assert!(descends(s), "{what:?}: {s:?}");
                        let back = u[k].times(&diagonal(u[k].n, vh[k].m, s)).times(&vh[k]);
                        assert_ratio(difference::<T>(a, &back), &what);
                        assert_ratio(orthogonality::<T>(&u[k]), &what);
                        assert_ratio(orthogonality::<T>(&vh[k].adjoint()), &what);
                    }
                    if size > 0 {
                        assert_eq!(svd.sweeps().is_some(), matches!(method, SvdMethod::Jacobi(_)), "{what:?}");
                        assert!(
                            svd.error().is_some_and(|error| error <= 1e3 * T::EPS * s[0]),
                            "{what:?}: {:?}",
                            svd.error()
                        );
                    }
                    let alone = decomposed::<T>(&device, method, Vectors::None, &laid).unwrap();
                    assert!(alone.u.is_none() && alone.vh.is_none());
                    let near = |(x, y): (f64, &f64)| (x - y).abs() <= 100.0 * T::EPS * s[0];
                    assert!(reals::<T>(&device, &alone.values).into_iter().zip(&s).all(near), "{what:?}");
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn hard_matrices_have_their_singular_values_by_every_method() {
    fn case<T: Number>() {
        for device in devices() {
            let mut all = zoo(20);
            all.push(("zero", Dense::real(9, 9, |_, _| 0.0)));
            all.push(("rank one", Dense::real(9, 12, |i, j| (i + 1) as f64 * (j + 1) as f64)));
            all.push(("tiny", Dense::real(6, 6, |i, j| 1e-36 * (i * 5 + j * j + 1) as f64)));
            all.push(("identity", Dense::identity(12)));
            let mut wrong = Vec::new();
            for ((name, a), method) in all.iter().flat_map(|one| METHODS.map(|method| (one, method))) {
                let (a, what) = (a.rounded::<T>(), (name, method, T::DTYPE));
                let laid = Laid::one(&a, 0);
                let Some(svd) = decomposed::<T>(&device, method, Vectors::Thin, &laid) else { continue };
                let s = reals::<T>(&device, &svd.values);
                let u = &dense::<T>(&device, svd.u.as_ref().unwrap())[0];
                let vh = &dense::<T>(&device, svd.vh.as_ref().unwrap())[0];
                if !descends(&s) {
                    wrong.push(format!("{what:?}: {s:?}"));
                }
                // The library moves values near zero, and tells by how much.
                let moved = svd.error().unwrap_or(0.0) / (a.norm().max(f64::MIN_POSITIVE) * T::EPS);
                let ratio = difference::<T>(&a, &u.times(&diagonal(u.n, vh.m, &s)).times(vh));
                let ratios = [ratio - moved, orthogonality::<T>(u), orthogonality::<T>(&vh.adjoint())];
                if !ratios.iter().all(|ratio| *ratio < super::check::RATIO) {
                    wrong.push(format!(
                        "{what:?}: A - U S V^H, U^H U - 1, V^H V - 1 {ratios:?}, moved {moved}, S {s:?}"
                    ));
                }
            }
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
    each_type!(case);
}

/// Of many values a GPU's default is the polar decomposition where that moves nothing.
#[test]
fn the_default_is_accurate_for_matrices_of_any_condition() {
    fn case<T: Number>() {
        for device in devices() {
            let mut rng = Rng::new(107);
            let (n, mut wrong) = (131, Vec::new());
            let low = Dense::random::<T>(&mut rng, n, 60).times(&Dense::random::<T>(&mut rng, 60, n));
            let all = [
                ("random", Dense::random::<T>(&mut rng, n, n)),
                ("tall", Dense::random::<T>(&mut rng, 150, n)),
                ("wide", Dense::random::<T>(&mut rng, n, 150)),
                ("of low rank", low.rounded::<T>()),
                ("Hilbert", Dense::real(n, n, |i, j| 1.0 / (i + j + 1) as f64).rounded::<T>()),
                ("of powers of a half", decaying::<T>(&mut rng, n, n)),
                ("zero", Dense::real(n, n, |_, _| 0.0)),
            ];
            for ((name, a), vectors) in all.iter().flat_map(|one| [Vectors::Thin, Vectors::Full].map(|v| (one, v))) {
                let (laid, what) = (Laid::one(a, 2), (name, vectors, T::DTYPE));
                let svd = decomposed::<T>(&device, SvdMethod::default(), vectors, &laid).unwrap();
                let s = reals::<T>(&device, &svd.values);
                let u = &dense::<T>(&device, svd.u.as_ref().unwrap())[0];
                let vh = &dense::<T>(&device, svd.vh.as_ref().unwrap())[0];
                let back = u.times(&diagonal(u.n, vh.m, &s)).times(vh);
                let ratios = [difference::<T>(a, &back), orthogonality::<T>(u), orthogonality::<T>(&vh.adjoint())];
                if !descends(&s) || !ratios.iter().all(|ratio| *ratio < super::check::RATIO) {
                    wrong.push(format!("{what:?}: {ratios:?}"));
                }
                let alone = decomposed::<T>(&device, SvdMethod::default(), Vectors::None, &laid).unwrap();
                let near = |(x, y): (f64, &f64)| (x - y).abs() <= 100.0 * T::EPS * s[0];
                if !reals::<T>(&device, &alone.values).into_iter().zip(&s).all(near) {
                    wrong.push(format!("{what:?}: other values alone"));
                }
            }
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
    each_type!(case);
}

/// Columns of very different size: what bidiagonalization loses, rotations keep. cuSOLVER promises no such thing.
#[test]
fn rotations_find_tiny_values_to_many_digits_on_the_host() {
    for device in devices().into_iter().filter(|device| device.kind() == windlass::DeviceKind::Host) {
        let n = 6;
        let sizes: Vec<f64> = (0..n).map(|j| 10f64.powi(-6 * j as i32)).collect();
        // Nearly orthogonal columns, so that the values are near their lengths.
        let a = Dense::real(n, n, |i, j| (if i == j { 1.0 } else { 1e-9 * (i + j) as f64 }) * sizes[j]);
        let svd = decomposed::<f64>(&device, METHODS[0], Vectors::Thin, &Laid::one(&a, 0)).unwrap();
        for (s, size) in reals::<f64>(&device, &svd.values).into_iter().zip(sizes) {
            assert!((s / size - 1.0).abs() < 1e-7, "{s} is not near {size}");
        }
    }
}

#[test]
fn too_few_sweeps_are_a_verdict_and_loose_tolerances_need_fewer() {
    for device in devices() {
        let laid = Laid::one(&Dense::random::<f64>(&mut Rng::new(89), 20, 20), 0);
        let solver = device.solver();
        let run = |jacobi| {
            let a = laid.upload::<f64>(&device);
            solver.svd_by(SvdMethod::Jacobi(jacobi), Vectors::Thin, a).unwrap()
        };
        let rejected = run(Jacobi::new().sweeps(1)).await_result().unwrap_err();
        assert!(matches!(rejected.error, Error::NotConverged { .. }), "{rejected}");
        assert!(rejected.back.is_some(), "what has been reached comes back");
        let sure = |jacobi| run(jacobi).await_result().unwrap();
        let (tight, loose) = (sure(Jacobi::new()), sure(Jacobi::new().tolerance(1e-3)));
        assert!(loose.sweeps() <= tight.sweeps(), "{:?} and {:?}", loose.sweeps(), tight.sweeps());

        let spec = |jacobi| EighSpec::new(Uplo::Lower).method(EighMethod::Jacobi(jacobi));
        let run = |jacobi| solver.eigh(spec(jacobi), laid.upload::<f64>(&device)).unwrap();
        let rejected = run(Jacobi::new().sweeps(1)).await_result().unwrap_err();
        assert!(matches!(rejected.error, Error::NotConverged { .. }), "{rejected}");
        assert!(run(Jacobi::new()).await_result().unwrap().sweeps().is_some_and(|sweeps| sweeps > 1));
    }
}

#[test]
fn rotations_diagonalize_symmetric_matrices_alone_and_in_batches() {
    fn case<T: Number>() {
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(97));
            for (n, count, gap) in [(1, 1, 0), (2, 1, 1), (3, 5, 0), (20, 3, 1), (33, 1, 0), (12, 40, 0)] {
                for uplo in [Uplo::Lower, Uplo::Upper] {
                    let what = (n, count, gap, uplo, T::DTYPE);
                    let counts = |i: usize, j: usize| if uplo == Uplo::Lower { i >= j } else { i <= j };
                    let hermitian = |rng: &mut Rng| {
                        let a = Dense::random::<T>(rng, n, n);
                        Dense::new(n, n, |i, j| (a.at(i, j) + a.at(j, i).conj()) / 2.0).rounded::<T>()
                    };
                    let laid = Laid::new((0..count).map(|_| hermitian(&mut rng)).collect(), gap);
                    let spec = EighSpec::new(uplo).method(EighMethod::Jacobi(Jacobi::new()));
                    let run = |spec| {
                        solver.eigh(spec, laid.upload_part::<T>(&device, counts)).unwrap().await_result().unwrap()
                    };
                    let eigh = run(spec);
                    let (w, x) = (reals::<T>(&device, &eigh.values), laid.read(&device, &eigh.vectors));
                    for (k, a) in laid.all.iter().enumerate() {
                        let w = &w[k * n..(k + 1) * n];
                        assert!(w.windows(2).all(|w| w[0] <= w[1]), "{what:?}: {w:?}");
                        assert_ratio(orthogonality::<T>(&x[k]), &what);
                        let back = x[k].times(&diagonal(n, n, w)).times(&x[k].adjoint());
                        assert_ratio(difference::<T>(a, &back), &what);
                    }
                    let alone = reals::<T>(&device, &run(spec.values_only()).values);
                    let most = w.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
                    assert!(alone.iter().zip(&w).all(|(x, y)| (x - y).abs() <= 100.0 * T::EPS * most), "{what:?}");
                }
            }
        }
    }
    each_type!(case);
}

/// Singular values of 1, 1/2, 1/4, ..
fn decaying<T: Number>(rng: &mut Rng, m: usize, n: usize) -> Dense {
    let orthogonal = |rng: &mut Rng, rows: usize, k: usize| {
        // Gram and Schmidt, twice.
        let mut q = Dense::random::<T>(rng, rows, k);
        for _ in 0..2 {
            for j in 0..k {
                for earlier in 0..j {
                    let dot: super::check::C = (0..rows).map(|i| q.at(i, earlier).conj() * q.at(i, j)).sum();
                    (0..rows).for_each(|i| q.x[i + j * rows] = q.at(i, j) - dot * q.at(i, earlier));
                }
                let norm = (0..rows).map(|i| q.at(i, j).norm_sqr()).sum::<f64>().sqrt();
                (0..rows).for_each(|i| q.x[i + j * rows] /= norm);
            }
        }
        q
    };
    let k = m.min(n);
    let (u, v) = (orthogonal(rng, m, k), orthogonal(rng, n, k));
    let s: Vec<f64> = (0..k).map(|i| 0.5f64.powi(i as i32)).collect();
    u.times(&diagonal(k, k, &s)).times(&v.adjoint()).rounded::<T>()
}

#[test]
fn random_projections_find_the_largest_values_and_their_vectors() {
    fn case<T: Number>() {
        for device in devices() {
            let mut rng = Rng::new(101);
            // Of the last ones the rank and the projections are as many as there are values.
            for (m, n, rank) in [(60, 40, 5), (40, 60, 5), (100, 30, 1), (12, 9, 4), (9, 12, 9)] {
                let a = decaying::<T>(&mut rng, m, n);
                let (laid, what) = (Laid::new(vec![a.clone(), a.clone()], 1), (m, n, rank, T::DTYPE));
                let how = SvdMethod::Randomized(Randomized::new(rank).oversampling(8).iterations(3).seed(5));
                let Some(svd) = decomposed::<T>(&device, how, Vectors::Thin, &laid) else { continue };
                let s = reals::<T>(&device, &svd.values);
                assert_eq!(s.len(), 2 * rank, "{what:?}");
                for (i, s) in s[..rank].iter().enumerate() {
                    let want = 0.5f64.powi(i as i32);
                    // 13 projections: what is left is 2^-13 of it, and that to the power of the iterations.
                    assert!((s - want).abs() <= 1e-9 + 100.0 * T::EPS, "{what:?}: {s} for {want}");
                }
                let u = &dense::<T>(&device, svd.u.as_ref().unwrap())[1];
                let vh = &dense::<T>(&device, svd.vh.as_ref().unwrap())[1];
                assert_eq!((u.n, vh.m), (rank, rank));
                assert_ratio(orthogonality::<T>(u), &what);
                assert_ratio(orthogonality::<T>(&vh.adjoint()), &what);
                let rest = a.minus(&u.times(&diagonal(rank, rank, &s[rank..])).times(vh)).norm();
                let left = 0.5f64.powi(rank as i32) * ((m * n) as f64).sqrt() * 4.0;
                assert!(rest <= left + 100.0 * T::EPS * a.norm(), "{what:?}: {rest} is more than {left}");
                let alone = decomposed::<T>(&device, how, Vectors::None, &laid).unwrap();
                let near = |(x, y): (f64, &f64)| (x - y).abs() <= 1e-9 + 100.0 * T::EPS;
                assert!(reals::<T>(&device, &alone.values).into_iter().zip(&s).all(near), "{what:?}");
            }
        }
    }
    each_type!(case);
}

#[test]
fn numbers_that_are_none_end_in_a_verdict_by_every_method() {
    for device in devices() {
        let solver = device.solver();
        for bad in [f64::NAN, f64::INFINITY] {
            let a = Dense::real(5, 4, |i, j| if (i, j) == (2, 1) { bad } else { (i + j) as f64 });
            let laid = Laid::one(&a, 0);
            let a = Dense::real(130, 130, |i, j| if (i, j) == (2, 1) { bad } else { (i % 7 + j) as f64 });
            let many = Laid::one(&a, 0);
            let pending = solver.svd(Vectors::Thin, many.upload::<f64>(&device)).unwrap();
            match pending.await_result() {
                Ok(svd) => assert!(reals::<f64>(&device, &svd.values).iter().any(|s| !s.is_finite())),
                Err(rejected) => assert!(rejected.back.is_some(), "{rejected}"),
            }
            for method in [METHODS[0], METHODS[1], SvdMethod::Randomized(Randomized::new(1).oversampling(1))] {
                let pending = solver.svd_by(method, Vectors::Thin, laid.upload::<f64>(&device)).unwrap();
                // The library's own methods may call such numbers values.
                match pending.await_result() {
                    Ok(svd) => assert!(reals::<f64>(&device, &svd.values).iter().any(|s| !s.is_finite())),
                    Err(rejected) => assert!(rejected.back.is_some(), "{method:?}: {rejected}"),
                }
            }
        }
        // And the device is as well as ever.
        let svd = decomposed::<f64>(&device, METHODS[0], Vectors::None, &Laid::one(&Dense::identity(3), 0)).unwrap();
        assert_eq!(reals::<f64>(&device, &svd.values), [1.0; 3]);
    }
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for device in devices() {
        let solver = device.solver();
        let refused = |method, vectors| {
            let rejected = solver.svd_by(method, vectors, device.uninit::<f64>([3, 2]).unwrap()).unwrap_err();
            assert!(rejected.back.is_some());
            match rejected.error {
                Error::InvalidArgument { argument, .. } => argument.to_string(),
                error => panic!("{error}"),
            }
        };
        let jacobi = SvdMethod::Jacobi;
        assert_eq!(refused(jacobi(Jacobi::new().sweeps(0)), Vectors::Thin), "sweeps");
        assert_eq!(refused(jacobi(Jacobi::new().tolerance(f64::NAN)), Vectors::Thin), "tolerance");
        assert_eq!(refused(jacobi(Jacobi::new().tolerance(-1.0)), Vectors::Thin), "tolerance");
        assert_eq!(refused(SvdMethod::Randomized(Randomized::new(0)), Vectors::Thin), "rank");
        assert_eq!(refused(SvdMethod::Randomized(Randomized::new(3)), Vectors::Thin), "rank");
        assert_eq!(refused(SvdMethod::Randomized(Randomized::new(1)), Vectors::Full), "vectors");
        let spec = EighSpec::new(Uplo::Lower).method(EighMethod::Jacobi(Jacobi::new()));
        let rejected =
            solver.eigh(spec.range(windlass::solver::Range::Indices(0, 1)), device.uninit::<f64>([2, 2]).unwrap());
        assert!(format!("{}", rejected.unwrap_err().error).contains("computes all eigenvalues"));
    }
}
