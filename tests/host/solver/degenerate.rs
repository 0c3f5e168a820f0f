//! Matrices that are rank-deficient, defective, graded, zero or not finite: singular and eigenvectors that are what the
//! documentation says, least squares that are solved or refused.

use super::check::{
    C, Dense, Laid, Number, RATIO, assert_ratio, dense, descends, diagonal, difference, each_type, orthogonality, reals,
};
use crate::common::degenerate::{Kind, degenerate_seeds};
use crate::common::{Rng, devices, down, refused, up};
use windlass::solver::{Eigenvectors, EighSpec, Jacobi, Randomized, Structure, SvdMethod, Vectors};
use windlass::tensor::Layout;
use windlass::{Device, Error, Tensor, Uplo};

fn of_kind<T: Number>(kind: Kind, rng: &mut Rng, m: usize, n: usize) -> Dense {
    Dense { m, n, x: kind.matrix::<T>(rng, m, n).into_iter().map(T::to_c).collect() }
}

/// Beside the bound of LAPACK's tests, 10 times as much for cuSOLVER's rotations in single precision, whose vectors of strongly
/// graded matrices are that much worse; so the documentation says.
fn check_svd<T: Number>(device: &Device, all: Vec<Dense>, method: SvdMethod, vectors: Vectors, what: &str) {
    let rotates = matches!(method, SvdMethod::Jacobi(_)) || method == SvdMethod::Auto && all.len() > 1;
    let loose = rotates && T::EPS > 1e-10 && !crate::common::is_host(device);
    let assert_ratio =
        |ratio: f64, what: &dyn std::fmt::Debug| assert_ratio(if loose { ratio / 10.0 } else { ratio }, what);
    let laid = Laid::new(all, 0);
    let svd = device.solver().svd_by(method, vectors, laid.upload::<T>(device)).unwrap();
    let svd = svd.await_result().unwrap_or_else(|e| panic!("{what}: {e}"));
    let values = reals::<T>(device, &svd.values);
    let u = dense::<T>(device, svd.u.as_ref().unwrap());
    let vh = dense::<T>(device, svd.vh.as_ref().unwrap());
    let each = values.len() / laid.all.len();
    for (k, a) in laid.all.iter().enumerate() {
        let s = &values[k * each..(k + 1) * each];
        assert!(descends(s), "{what}: {s:?}");
        assert_ratio(orthogonality::<T>(&u[k]), &("U", what));
        assert_ratio(orthogonality::<T>(&vh[k].adjoint()), &("V", what));
        // The largest number of a graded matrix may be near the end of the range.
        let scale = 1.0 / a.x.iter().fold(0.0f64, |m, x| m.max(x.norm())).max(f64::MIN_POSITIVE);
        let (a, s) = (
            Dense { x: a.x.iter().map(|x| x * scale).collect(), ..*a },
            s.iter().map(|s| s * scale).collect::<Vec<_>>(),
        );
        if !matches!(method, SvdMethod::Randomized(_)) {
            assert_ratio(difference::<T>(&a, &u[k].times(&diagonal(u[k].n, vh[k].m, &s)).times(&vh[k])), &what);
        }
    }
}

#[test]
fn vectors_of_every_method_are_orthonormal_whatever_the_rank() {
    fn case<T: Number>() {
        for device in devices() {
            let mut rng = Rng::new(17);
            for (m, n) in [(1, 1), (5, 3), (3, 5), (17, 17), (33, 8), (8, 33)] {
                for kind in Kind::ALL.into_iter().filter(|kind| kind.is_finite()) {
                    for method in
                        [SvdMethod::Auto, SvdMethod::Bidiagonal, SvdMethod::Jacobi(Jacobi::new()), SvdMethod::Polar]
                    {
                        // The polar method moves the values of matrices that are near a lower rank, and says so.
                        if method == SvdMethod::Polar && !kind.is_regular() {
                            continue;
                        }
                        for vectors in [Vectors::Thin, Vectors::Full] {
                            for count in [1, 3] {
                                let all = (0..count).map(|_| of_kind::<T>(kind, &mut rng, m, n)).collect();
                                let what =
                                    format!("{kind:?} {m} x {n}, {method:?}, {vectors:?}, {count}, {}", T::DTYPE);
                                check_svd::<T>(&device, all, method, vectors, &what);
                            }
                        }
                    }
                }
            }
        }
    }
    each_type!(case);
}

/// The relative accuracy of small values is what this method is for: orthonormal vectors must not cost it.
#[test]
fn rotations_keep_the_digits_of_small_values() {
    for device in devices() {
        if !crate::common::is_host(&device) {
            continue; // the library's rotations are accurate relative to the largest value
        }
        let (n, sizes) = (4, [1.0, 1e-60, 1e-120, 1e-180]);
        // A product of a rotation of columns that are nearly orthogonal, and a scale of columns.
        let a = Dense::real(n, n, |i, j| sizes[j] * if i == j { 2.0 } else { f64::from(i as u8 + 1) / 64.0 });
        let laid = Laid::one(&a, 0);
        let jacobi = SvdMethod::Jacobi(Jacobi::new());
        let svd = device.solver().svd_by(jacobi, Vectors::Thin, laid.upload::<f64>(&device)).unwrap();
        let s = reals::<f64>(&device, &svd.await_result().unwrap().values);
        for (s, size) in s.iter().zip(sizes) {
            assert!((1.9..2.1).contains(&(s / size)), "{s:e} of {size:e}");
        }
    }
}

#[test]
fn spectra_at_the_ends_of_the_range_are_those_of_the_middle() {
    fn case<T: Number>() {
        let reach = crate::common::degenerate::reach::<T>();
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(61));
            for (n, count) in [(1, 1), (2, 1), (7, 1), (19, 1), (5, 4)] {
                for exponent in [-reach, 0, reach - 12] {
                    let what = format!("{n} x {n}, {count}, times 2^{exponent}, {}", T::DTYPE);
                    let scale = 2f64.powi(exponent);
                    let times = |a: &Dense, by: f64| Dense { x: a.x.iter().map(|x| x * by).collect(), ..*a };
                    let middle: Vec<Dense> =
                        (0..count).map(|_| Dense::positive::<T>(&mut rng, n).rounded::<T>()).collect();
                    let laid = Laid::new(middle.iter().map(|a| times(a, scale)).collect(), 0);
                    let given = |i: usize, j: usize| i >= j;
                    let a = laid.upload_part::<T>(&device, given);
                    let eigh = solver.eigh(EighSpec::new(Uplo::Lower), a).unwrap().await_result().unwrap();
                    let w = reals::<T>(&device, &eigh.values);
                    let x = dense::<T>(&device, &eigh.vectors);
                    for (k, a) in middle.iter().enumerate() {
                        assert_ratio(orthogonality::<T>(&x[k]), &what);
                        let values: Vec<f64> = w[k * n..][..n].iter().map(|w| w / scale).collect();
                        let product = x[k].times(&diagonal(n, n, &values)).times(&x[k].adjoint());
                        assert_ratio(difference::<T>(a, &product), &what);
                    }
                    let eig =
                        solver.eig(Eigenvectors::Right, laid.upload::<T>(&device)).unwrap().await_result().unwrap();
                    let w = complexes::<T>(&device, &eig.values);
                    for (k, x) in dense::<T>(&device, eig.vectors.as_ref().unwrap()).iter().enumerate() {
                        let w: Vec<C> = w[k * n..][..n].iter().map(|w| w / scale).collect();
                        let x = super::spectra::columns(x, &w, !T::DTYPE.is_complex());
                        let ratio = residual_of_vectors::<T>(&middle[k], &w, &x);
                        assert!(ratio < RATIO * (1.0 + (n as f64).sqrt()), "{what}: {ratio}");
                    }
                }
            }
        }
    }
    each_type!(case);
}

/// Eigenvalues in double precision.
fn complexes<T: Number>(device: &Device, values: &Tensor<T::Complex>) -> Vec<C> {
    let w = down(device, values);
    match size_of::<T::Real>() {
        4 => bytemuck::cast_slice::<_, [f32; 2]>(&w).iter().map(|x| C::new(x[0].into(), x[1].into())).collect(),
        _ => bytemuck::cast_slice::<_, [f64; 2]>(&w).iter().map(|x| C::new(x[0], x[1])).collect(),
    }
}

fn residual_of_vectors<T: Number>(a: &Dense, w: &[C], x: &Dense) -> f64 {
    let values = Dense::new(a.n, a.n, |i, j| if i == j { w[i] } else { C::default() });
    a.times(x).minus(&x.times(&values)).norm() / (a.norm().max(f64::MIN_POSITIVE) * T::EPS * a.n as f64)
}

#[test]
fn vectors_of_defective_matrices_have_norm_one_and_belong_to_their_values() {
    fn case<T: Number>() {
        for device in devices() {
            let mut rng = Rng::new(19);
            for n in [1, 2, 3, 17, 33, 40] {
                let kinds =
                    [Kind::Jordan, Kind::Nilpotent, Kind::Ones, Kind::Zero, Kind::Projection, Kind::Skew, Kind::Shift];
                for kind in kinds {
                    let a = of_kind::<T>(kind, &mut rng, n, n);
                    // And the same in other coordinates, where nothing is triangular.
                    let turned = Dense::new(n, n, |i, j| a.at((i * 7 + 3) % n, (j * 7 + 3) % n));
                    for a in [a.clone(), if n % 7 == 0 { a.clone() } else { turned }, a.transpose()] {
                        let laid = Laid::one(&a, 0);
                        let eig = device.solver().eig(Eigenvectors::Right, laid.upload::<T>(&device)).unwrap();
                        let eig = eig.await_result().unwrap();
                        let w = complexes::<T>(&device, &eig.values);
                        let x = dense::<T>(&device, eig.vectors.as_ref().unwrap()).remove(0);
                        let x = super::spectra::columns(&x, &w, !T::DTYPE.is_complex());
                        let what = format!("{kind:?} of {n}, {}", T::DTYPE);
                        for j in 0..n {
                            let norm = (0..n).map(|i| x.at(i, j).norm_sqr()).sum::<f64>().sqrt();
                            assert!((norm - 1.0).abs() < 100.0 * T::EPS, "{what}: vector {j} has norm {norm}");
                        }
                        let ratio = residual_of_vectors::<T>(&a, &w, &x);
                        assert!(ratio < RATIO * (1.0 + (n as f64).sqrt()), "{what}: {ratio}");
                    }
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn the_factor_of_b_lies_in_the_triangle_that_was_given() {
    fn case<T: Number>() {
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(43));
            for n in [1, 2, 5, 20] {
                for uplo in [Uplo::Lower, Uplo::Upper] {
                    let counts = |i: usize, j: usize| if uplo == Uplo::Lower { i >= j } else { i <= j };
                    let b = Dense::positive::<T>(&mut rng, n).rounded::<T>();
                    let (of_a, of_b) = (Laid::one(&b, 0), Laid::one(&b, 1));
                    let (x, y) = (of_a.upload_part::<T>(&device, counts), of_b.upload_part::<T>(&device, counts));
                    let done = solver.eigh_generalized(EighSpec::new(uplo), x, y).unwrap();
                    let factor = &of_b.read(&device, &done.await_result().unwrap().factor)[0];
                    let kept = Dense::new(n, n, |i, j| if counts(i, j) { factor.at(i, j) } else { C::default() });
                    let product = match uplo {
                        Uplo::Lower => kept.times(&kept.adjoint()),
                        Uplo::Upper => kept.adjoint().times(&kept),
                    };
                    assert_ratio(difference::<T>(&b, &product), &(n, uplo, T::DTYPE));
                    for (i, j) in (0..n * n).map(|k| (k % n, k / n)).filter(|(i, j)| !counts(*i, *j)) {
                        assert!(factor.at(i, j).re.is_nan(), "{uplo:?}: the other triangle was written");
                    }
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn the_condition_of_a_zero_matrix_is_infinite() {
    for device in devices() {
        for n in [1, 3] {
            let a = device.zeros::<f64>([2, n, n]).unwrap();
            let cond = device.solver().cond(&a).unwrap().await_result().unwrap();
            assert_eq!(cond, [f64::INFINITY; 2]);
        }
        let a = device.tensor([2, 2], [1.0f32, 0.0, 0.0, 0.0]).unwrap();
        assert_eq!(device.solver().cond(a).unwrap().await_result().unwrap(), [f64::INFINITY]);
    }
}

/// The rule for whole buffers, of a window.
#[test]
fn what_a_decomposition_destroys_of_a_part_is_refused_to_readers() {
    for device in devices() {
        let a = up(&device, vec![1.0f64; 40]).narrow(8..20).unwrap();
        let a = a.with_layout(Layout::columns(4, 3)).unwrap();
        let svd = device.solver().svd(Vectors::None, a).unwrap().await_result().unwrap();
        let error = device.download(svd.a.buffer()).unwrap_err();
        assert!(refused(&error).1.contains("undefined"), "{error}");
        let all = svd.a.into_buffer().widen();
        assert!(device.download(&all).is_err());
        assert_eq!(down(&device, all.slice(..8).unwrap()), vec![1.0; 8]);
        assert_eq!(down(&device, all.slice(20..).unwrap()), vec![1.0; 20]);
        // The parts know it too, and so does what is joined from them.
        let (left, right) = all.split_at(10).unwrap();
        assert!(device.download(&left).is_err() && device.download(&right).is_err());
        let all = left.join(right).unwrap();
        assert!(device.download(&all).is_err());
        let part = device.fill(all.narrow(8..20).unwrap(), 2.0).unwrap().await_result().unwrap();
        let all = down(&device, &part.into_buffer().widen());
        assert!(all[..8] == [1.0; 8] && all[8..20] == [2.0; 12] && all[20..] == [1.0; 20]);
    }
}

#[test]
fn a_determinant_is_a_product_and_keeps_its_digits() {
    for device in devices() {
        let solver = device.solver();
        let det = |diagonal: &[f64]| {
            let n = diagonal.len();
            let a: Vec<f64> = (0..n * n).map(|k| if k % n == k / n { diagonal[k % n] } else { 0.0 }).collect();
            let lu = solver.lu(device.tensor([n, n], a).unwrap()).unwrap().await_result().unwrap();
            lu.det(&solver).unwrap().await_result().unwrap()[0]
        };
        let near = |x: f64, want: f64| (x - want).abs() <= 4.0 * f64::EPSILON * want.abs();
        assert!(near(det(&[1e100; 3]).value().re, 1e300));
        assert!(near(det(&[-1e-100, 1e-100, 1e-100]).value().re, -1e-300));
        assert!(near(det(&[1e200, 1e200, 1e-200, 1e-200, 3.0]).value().re, 3.0));
        if crate::common::is_host(&device) {
            // cuSOLVER multiplies by the reciprocal of a pivot, and refuses one whose reciprocal overflows.
            assert!(near(det(&[5e-324, 1e300, 1e20]).value().re, 5e-324 * 1e300 * 1e20));
        }
        assert_eq!(det(&[1e200, 1e200]).value().re, f64::INFINITY);
        assert_eq!(det(&[1e-200, 1e-200]).value().re, 0.0);
        let large = det(&[-1e200, 1e200]);
        assert!(large.sign.re == -1.0 && near(large.log_abs, 400.0 * std::f64::consts::LN_10));
        let spd = device.tensor([2, 2], [1e150f64, 0.0, 0.0, 1e150]).unwrap();
        let l = solver.cholesky(Uplo::Lower, &spd).unwrap().await_result().unwrap();
        assert!(near(l.det(&solver).unwrap().await_result().unwrap()[0].value().re, 1e300));
    }
}

#[test]
fn least_squares_without_full_rank_are_refused_and_solved_by_singular_values() {
    fn case<T: Number>() {
        for device in devices() {
            let (solver, mut rng) = (device.solver(), Rng::new(47));
            for (m, n) in [(5, 2), (2, 5), (12, 7), (7, 12), (40, 33)] {
                for kind in [Kind::Ones, Kind::LowRank, Kind::ZeroColumn, Kind::ZeroRow, Kind::EqualColumns, Kind::Zero]
                {
                    // A zero column, or two equal ones, cost a wide matrix nothing; a zero row a tall one.
                    let deficient = match kind {
                        Kind::ZeroColumn | Kind::EqualColumns => m > n,
                        Kind::ZeroRow => m < n,
                        _ => true,
                    };
                    let (a, b) = (of_kind::<T>(kind, &mut rng, m, n), Dense::random::<T>(&mut rng, m, 2));
                    let (of_a, of_b) = (Laid::one(&a, 0), Laid::one(&b, 1));
                    let (x, y) = (of_a.upload::<T>(&device), of_b.upload::<T>(&device));
                    let verdict = solver.solve(Structure::General, x, y).unwrap().await_result();
                    let what = format!("{kind:?} of {m} x {n}, {}", T::DTYPE);
                    match verdict {
                        Ok(_) => assert!(!deficient, "{what}"),
                        Err(e) => {
                            assert!(deficient && matches!(e.error, Error::Singular { .. }), "{what}: {e}");
                            assert!(e.back.is_some(), "{what}");
                        }
                    }
                    if m > n {
                        let qr = solver.qr(of_a.upload::<T>(&device)).unwrap().await_result().unwrap();
                        let verdict = qr.solve(&solver, of_b.upload::<T>(&device)).unwrap().await_result();
                        assert_eq!(verdict.is_err(), deficient, "{what}");
                    }
                    check_lstsq::<T>(&device, &a, &b, &what);
                }
            }
        }
    }
    each_type!(case);
}

/// The solution of least norm is the pseudo-inverse times B; ranks and residuals belong to it.
fn check_lstsq<T: Number>(device: &Device, a: &Dense, b: &Dense, what: &str) {
    let (m, n, solver) = (a.m, a.n, device.solver());
    let (of_a, of_b) = (Laid::one(a, 1), Laid::one(b, 1));
    let (x, y) = (of_a.upload::<T>(device), of_b.upload::<T>(device));
    let answer = solver.lstsq(None, x, y).unwrap().await_result().unwrap();
    let s = reals::<T>(device, &answer.values);
    assert!(descends(&s), "{what}: {s:?}");
    let above = s.iter().filter(|x| **x > m.max(n) as f64 * T::EPS * s[0]).count();
    assert_eq!(down(device, &answer.ranks), [above as i32], "{what}: {s:?}");
    let pinv = solver.pinv(None, of_a.upload::<T>(device)).unwrap().await_result().unwrap();
    let pinv = &dense::<T>(device, &pinv.matrix)[0];
    let want = pinv.times(b);
    let got = dense::<T>(device, &answer.x).remove(0);
    if m >= n {
        assert_eq!(of_b.read(device, &answer.x)[0].part(n, b.n), got, "in the memory of B");
    }
    let scale = T::EPS * m.max(n) as f64 * RATIO * (1.0 + pinv.norm() * a.norm()) * (1.0 + pinv.norm()) * b.norm();
    assert!(got.minus(&want).norm() <= scale, "{what}: {:e} of {scale:e}", got.minus(&want).norm());
    let rest = b.minus(&a.times(&got));
    for (j, told) in reals::<T>(device, &answer.residuals).into_iter().enumerate() {
        let sum = (0..m).map(|i| rest.at(i, j).norm_sqr()).sum::<f64>();
        let slack = 1e3 * T::EPS * (sum + b.norm() * b.norm());
        assert!((told - sum).abs() <= slack, "{what}: {told:e} instead of {sum:e}");
    }
}

#[test]
fn lstsq_is_numpys() {
    for device in devices() {
        let solver = device.solver();
        // numpy.linalg.lstsq(ones((5, 2)), [1, 2, 3, 4, 5]): x = [1.5, 1.5], rank 1, s = [sqrt(10), ~0].
        let ones = device.full([5, 2], 1.0f64).unwrap();
        let b = up(&device, [1.0f64, 2.0, 3.0, 4.0, 5.0]);
        let answer = solver.lstsq(None, &ones, &b).unwrap().await_result().unwrap();
        assert_eq!((answer.x.shape(), answer.residuals.rank(), answer.ranks.rank()), (&[2][..], 0, 0));
        let x = down(&device, &answer.x);
        assert!((x[0] - 1.5).abs() < 1e-14 && (x[1] - 1.5).abs() < 1e-14, "{x:?}");
        let (s, rest) = (down(&device, &answer.values), down(&device, &answer.residuals));
        assert!(
            (s[0] - 10f64.sqrt()).abs() < 1e-14 && s[1] < 1e-14 && (rest[0] - 10.0).abs() < 1e-13,
            "{s:?} {rest:?}"
        );
        // A cut-off between the values.
        let a = device.tensor([3, 2], [1.0f64, 0.0, 0.0, 1e-3, 0.0, 0.0]).unwrap();
        for (rcond, rank, want) in [(1e-4, 2, 2e3), (1e-2, 1, 0.0)] {
            let b = up(&device, [1.0f64, 2.0, 3.0]);
            let answer = solver.lstsq(Some(rcond), &a, b).unwrap();
            let answer = answer.await_result().unwrap();
            assert_eq!(down(&device, &answer.ranks), [rank]);
            assert!((down(&device, &answer.x)[1] - want).abs() < 1e-9);
        }
        for rcond in [f64::NAN, -1.0, f64::INFINITY] {
            let rejected = solver.lstsq(Some(rcond), &ones, &b).unwrap_err();
            assert_eq!(refused(&rejected.error).0, "rcond");
            assert!(rejected.back.is_some());
        }
        let nan = device.full([5, 2], f64::NAN).unwrap();
        if crate::common::is_host(&device) {
            let failed = solver.lstsq(None, nan, &b).unwrap().await_result().unwrap_err();
            assert!(matches!(failed.error, Error::NotConverged { .. }) && failed.back.is_some(), "{failed}");
        }
        // Nothing to solve with, and nothing to solve.
        for (m, n) in [(0, 3), (3, 0), (0, 0)] {
            let (a, b) = (device.zeros::<f64>([m, n]).unwrap(), up(&device, vec![1.0f64; m]));
            let answer = solver.lstsq(None, a, b).unwrap();
            let answer = answer.await_result().unwrap();
            assert_eq!(down(&device, &answer.ranks), [0]);
            assert_eq!(down(&device, &answer.residuals), [m as f64]);
            assert_eq!(down(&device, &answer.x), vec![0.0; n]);
        }
    }
}

#[test]
fn graded_least_squares_have_full_rank() {
    for device in devices() {
        // Columns of sizes that have nothing in common are independent all the same.
        let a = Dense::real(6, 3, |i, j| 10f64.powi(-40 * j as i32) * f64::from((i * (j + 2) % 5) as u8 + 1));
        let b = Dense::real(6, 1, |i, _| i as f64);
        let (of_a, of_b) = (Laid::one(&a, 0), Laid::one(&b, 0));
        let (x, y) = (of_a.upload::<f64>(&device), of_b.upload::<f64>(&device));
        let solved = device.solver().solve(Structure::General, x, y).unwrap();
        let x = down(&device, &solved.await_result().unwrap().x);
        assert!(x.len() == 3 && x.iter().all(|x| x.is_finite()));
    }
}

#[test]
fn decompositions_of_degenerate_matrices_keep_their_promises() {
    let devices = devices();
    fn case<T: Number>(devices: &[Device], rng: &mut Rng, seed: u64) {
        let kind = rng.pick(&Kind::ALL);
        let (m, n) = (1 + rng.below(20), 1 + rng.below(20));
        let a = of_kind::<T>(kind, rng, m, n);
        let vectors = rng.pick(&[Vectors::Thin, Vectors::Full]);
        let method = rng.pick(&[SvdMethod::Auto, SvdMethod::Jacobi(Jacobi::new()), SvdMethod::Bidiagonal]);
        let what = format!("seed {seed}: {kind:?} {m} x {n}, {method:?}, {vectors:?}, {}", T::DTYPE);
        for device in devices {
            if kind.is_finite() {
                check_svd::<T>(device, vec![a.clone()], method, vectors, &what);
                if rng.below(2) == 0 {
                    let largest = SvdMethod::Randomized(Randomized::new(1 + rng.below(m.min(n))));
                    check_svd::<T>(device, vec![a.clone()], largest, Vectors::Thin, &what);
                }
                if matches!(kind, Kind::Graded | Kind::Tiny | Kind::Huge) {
                    continue; // its norms squared leave the range of the checks
                }
                check_lstsq::<T>(device, &a, &Dense::random::<T>(rng, m, 1), &what);
            } else if crate::common::is_host(device) {
                let laid = Laid::one(&a, 0);
                let svd = device.solver().svd_by(method, vectors, laid.upload::<T>(device)).unwrap();
                assert!(matches!(svd.await_result().unwrap_err().error, Error::NotConverged { .. }), "{what}");
            }
        }
    }
    degenerate_seeds(60, |rng, seed| match seed % 4 {
        0 => case::<f32>(&devices, rng, seed),
        1 => case::<f64>(&devices, rng, seed),
        2 => case::<windlass::Complex<f32>>(&devices, rng, seed),
        _ => case::<windlass::Complex<f64>>(&devices, rng, seed),
    });
}
