//! Eigenvalues and singular values of matrices of at most 32 rows and columns, in f32 and f64: of every size, alone and in batches, of
//! ordinary and degenerate input, on every device, with the bits of the CPU.

use super::check::{C, Dense, Laid, Number, assert_ratio, dense, descends, diagonal, orthogonality, reals};
use crate::common::degenerate::Kind;
use crate::common::{Rng, assert_same_bits, devices, down};
use windlass::solver::{EighSpec, Vectors};
use windlass::{Device, Error, Tensor, Uplo};

fn of_kind<T: Number>(kind: Kind, rng: &mut Rng, (m, n): (usize, usize)) -> Dense {
    Dense { m, n, x: kind.matrix::<T>(rng, m, n).into_iter().map(T::to_c).collect() }
}

/// The symmetric matrix that has the triangle of another.
fn mirrored(a: &Dense, uplo: Uplo) -> Dense {
    Dense::new(a.n, a.n, |i, j| if (i >= j) == (uplo == Uplo::Lower) { a.at(i, j) } else { a.at(j, i) })
}

/// Times a power of two that brings the largest number near one, and that exponent.
fn near_one(a: &Dense) -> (Dense, i32) {
    let most = a.x.iter().fold(0.0f64, |most, x| most.max(x.re.abs()));
    let exponent = if most == 0.0 { 0 } else { -most.log2().floor() as i32 };
    (Dense { x: a.x.iter().map(|x| C::new(times(x.re, exponent), 0.0)).collect(), ..*a }, exponent)
}

fn times(x: f64, exponent: i32) -> f64 {
    x * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
}

/// What rounding to subnormal numbers takes from values, as a share of the largest number.
fn lost<T: Number>(exponent: i32) -> f64 {
    times(if T::EPS > 1e-10 { 2f64.powi(-149) } else { 5e-324 }, exponent)
}

fn check_eigen<T: Number>(a: &Dense, w: &[f64], v: &Dense, what: &str) {
    let (a, exponent) = near_one(a);
    let w: Vec<f64> = w.iter().map(|w| times(*w, exponent)).collect();
    assert!(w.windows(2).all(|w| w[0] <= w[1]), "{what}: {w:?}");
    assert_ratio(orthogonality::<T>(v), &what);
    let rest = a.times(v).minus(&v.times(&diagonal(a.n, a.n, &w))).norm();
    let size = a.n as f64 * (T::EPS * a.norm() + lost::<T>(exponent));
    assert!(rest <= 30.0 * size, "{what}: {rest:e} of {size:e}");
}

#[test]
fn eigenvectors_of_small_matrices_have_the_ratios_of_lapack() {
    fn case<T: Number>(device: &Device) {
        let mut rng = Rng::new(101);
        for n in 1..=32usize {
            let uplo = [Uplo::Lower, Uplo::Upper][n % 2];
            for kind in Kind::ALL.into_iter().filter(|kind| kind.is_finite()) {
                let all = (0..1 + n % 3).map(|_| mirrored(&of_kind::<T>(kind, &mut rng, (n, n)), uplo)).collect();
                let laid = Laid::new(all, [0, 1, 3, 5][n % 4]);
                let counts = |i: usize, j: usize| (i >= j) == (uplo == Uplo::Lower) || i == j;
                let given = laid.upload_part::<T>(device, counts);
                let eigh = device.solver().eigh(EighSpec::new(uplo), given).unwrap().await_result().unwrap();
                let (w, v) = (reals::<T>(device, &eigh.values), laid.read(device, &eigh.vectors));
                for (k, (a, v)) in laid.all.iter().zip(&v).enumerate() {
                    check_eigen::<T>(a, &w[k * n..][..n], v, &format!("{kind:?} of {n}, {}", T::DTYPE));
                }
                let given = laid.upload_part::<T>(device, counts);
                let alone = device.solver().eigh(EighSpec::new(uplo).values_only(), given).unwrap();
                assert_eq!(reals::<T>(device, &alone.await_result().unwrap().values), w, "{kind:?} of {n}");
            }
        }
    }
    for device in devices() {
        case::<f32>(&device);
        case::<f64>(&device);
    }
}

/// Around every class of the kernel, and some between.
const SHAPES: [(usize, usize); 26] = [
    (1, 1),
    (1, 5),
    (7, 1),
    (2, 2),
    (3, 3),
    (3, 2),
    (4, 4),
    (5, 4),
    (4, 5),
    (3, 8),
    (8, 8),
    (9, 8),
    (8, 9),
    (9, 9),
    (15, 15),
    (16, 16),
    (17, 16),
    (16, 17),
    (11, 17),
    (31, 31),
    (32, 31),
    (31, 32),
    (32, 32),
    (32, 1),
    (2, 32),
    (32, 9),
];

fn check_singular<T: Number>(a: &Dense, s: &[f64], (u, vh): (&Dense, &Dense), what: &str) {
    let (a, exponent) = near_one(a);
    let s: Vec<f64> = s.iter().map(|s| times(*s, exponent)).collect();
    assert!(descends(&s), "{what}: {s:?}");
    assert_ratio(orthogonality::<T>(u), &what);
    assert_ratio(orthogonality::<T>(&vh.adjoint()), &what);
    let rest = a.minus(&u.times(&diagonal(u.n, vh.m, &s)).times(vh)).norm();
    let size = a.m.max(a.n) as f64 * (T::EPS * a.norm() + lost::<T>(exponent));
    assert!(rest <= 30.0 * size, "{what}: {rest:e} of {size:e}");
}

#[test]
fn singular_vectors_of_small_matrices_have_the_ratios_of_lapack() {
    fn case<T: Number>(device: &Device) {
        let mut rng = Rng::new(103);
        for (turn, shape) in SHAPES.into_iter().enumerate() {
            for kind in Kind::ALL.into_iter().filter(|kind| kind.is_finite()) {
                let all = (0..1 + turn % 3).map(|_| of_kind::<T>(kind, &mut rng, shape)).collect();
                let (laid, size) = (Laid::new(all, [0, 1, 3, 5][turn % 4]), shape.0.min(shape.1));
                let of =
                    |vectors| device.solver().svd(vectors, laid.upload::<T>(device)).unwrap().await_result().unwrap();
                let what = format!("{kind:?} {shape:?} of {}", T::DTYPE);
                let (thin, full, none) = (of(Vectors::Thin), of(Vectors::Full), of(Vectors::None));
                let s = reals::<T>(device, &thin.values);
                assert_eq!(
                    (reals::<T>(device, &full.values), reals::<T>(device, &none.values)),
                    (s.clone(), s.clone())
                );
                for svd in [&thin, &full] {
                    let u = dense::<T>(device, svd.u.as_ref().unwrap());
                    let vh = dense::<T>(device, svd.vh.as_ref().unwrap());
                    for (k, a) in laid.all.iter().enumerate() {
                        check_singular::<T>(a, &s[k * size..][..size], (&u[k], &vh[k]), &what);
                    }
                }
            }
        }
    }
    for device in devices() {
        case::<f32>(&device);
        case::<f64>(&device);
    }
}

/// The elements of matrix `k` of a tensor of `count`.
fn one<T: Number>(device: &Device, x: &Tensor<T>, k: usize) -> Vec<T> {
    let all = down(device, x);
    let each = all.len() / x.shape()[0];
    all[k * each..][..each].to_vec()
}

/// Everything that comes out of a batch: tensors, and infos of both.
fn answers<T: Number<Real = T>>(device: &Device, a: &[T], [count, m, n]: [usize; 3]) -> (Vec<Tensor<T>>, Vec<i32>) {
    let given = device.tensor([count, m, n], a).unwrap();
    let (svd, verdict) = device.solver().svd(Vectors::Thin, &given).unwrap().into_parts();
    drop(verdict.await_result());
    let ((_, s, u, vh, info), size) = (svd, m.min(n));
    let (mut all, mut infos) = (vec![s, u.unwrap(), vh.unwrap()], down(device, &info));
    let square: Vec<T> =
        (0..count * size * size).map(|at| a[at / (size * size) * m * n + at / size % size * n + at % size]).collect();
    let square = device.tensor([count, size, size], square).unwrap();
    let ((vectors, w, info), verdict) = device.solver().eigh(EighSpec::new(Uplo::Upper), &square).unwrap().into_parts();
    drop(verdict.await_result());
    all.extend([w, vectors]);
    infos.extend(down(device, &info));
    (all, infos)
}

#[test]
fn a_spectrum_has_the_same_bits_alone_anywhere_in_a_batch_and_on_every_device() {
    fn case<T: Number<Real = T>>(device: &Device, host: &Device) {
        let mut rng = Rng::new(107);
        for [count, m, n] in
            [[2, 4, 4], [31, 5, 3], [33, 9, 9], [4000, 3, 3], [2000, 8, 6], [33, 16, 17], [31, 32, 32], [65, 32, 32]]
        {
            let a: Vec<T> = (0..count * m * n).map(|_| T::sample(&mut rng)).collect();
            let what = format!("{count} of {m} x {n}, {}", T::DTYPE);
            let (all, infos) = answers(device, &a, [count, m, n]);
            let (there, _) = answers(host, &a, [count, m, n]);
            assert!(infos.iter().all(|info| *info == 0), "{what}");
            for (x, y) in all.iter().zip(&there) {
                assert_same_bits(&down(device, x), &down(host, y), &what);
            }
            for k in [0, 1, count / 2, count - 1] {
                let (alone, _) = answers(device, &a[k * m * n..][..m * n], [1, m, n]);
                for (x, y) in all.iter().zip(&alone) {
                    assert_same_bits(&one(device, x, k), &down(device, y), &format!("matrix {k} of {what}"));
                }
            }
        }
    }
    let host = Device::host().unwrap();
    for device in devices() {
        case::<f32>(&device, &host);
        case::<f64>(&device, &host);
    }
}

#[test]
fn a_number_that_is_none_is_the_verdict_of_its_matrix_alone() {
    fn case<T: Number<Real = T>>(device: &Device) {
        let mut rng = Rng::new(109);
        for (m, n) in [(1, 1), (5, 3), (3, 5), (9, 9), (17, 32), (32, 32)] {
            for broken in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let (count, each, size) = (7, m * n, m.min(n));
                let mut a: Vec<T> = (0..count * each).map(|_| T::sample(&mut rng)).collect();
                a[each..2 * each].fill(T::default());
                let clean = a.clone();
                // First, in the middle, last; in the triangle that is read.
                for place in [0, 3, count - 1] {
                    a[place * each + size - 1] = T::narrow(C::new(broken, 0.0));
                }
                let ((all, infos), (want, _)) =
                    (answers(device, &a, [count, m, n]), answers(device, &clean, [count, m, n]));
                let what = format!("{m} x {n}, {broken}, {}", T::DTYPE);
                let info = |k: usize| if [0, 3, count - 1].contains(&k) { size as i32 } else { 0 };
                assert_eq!(infos, (0..2 * count).map(|k| info(k % count)).collect::<Vec<_>>(), "{what}");
                for (x, y) in all.iter().zip(&want) {
                    for k in 0..count {
                        let got = one(device, x, k);
                        let want = if info(k) == 0 { one(device, y, k) } else { vec![T::NAN; got.len()] };
                        assert_same_bits(&got, &want, &format!("matrix {k} of {what}"));
                    }
                }
                let given = device.tensor([count, m, n], &a[..]).unwrap();
                let rejected = device.solver().svd(Vectors::None, &given).unwrap().await_result().unwrap_err();
                assert!(matches!(rejected.error, Error::NotConverged { count, .. } if count == size as u64), "{what}");
            }
        }
    }
    for device in devices() {
        case::<f32>(&device);
        case::<f64>(&device);
    }
}

#[test]
fn small_values_of_graded_columns_keep_their_digits() {
    fn case<T: Number>(device: &Device, least: i32) {
        let mut rng = Rng::new(113);
        for n in [3, 8, 21, 32usize] {
            // Orthogonal columns of known norms: a rotation of the identity by pairs, then powers of two.
            let q = device
                .solver()
                .svd(Vectors::Thin, Laid::one(&Dense::random::<f64>(&mut rng, n, n), 0).upload::<f64>(device));
            let q = dense::<f64>(device, q.unwrap().await_result().unwrap().u.as_ref().unwrap());
            let powers: Vec<f64> = (0..n).map(|j| 2f64.powi(least * j as i32 / n as i32)).collect();
            let a = Dense::new(n, n, |i, j| q[0].at(i, j) * powers[j]).rounded::<T>();
            let svd = device.solver().svd(Vectors::None, Laid::one(&a, 0).upload::<T>(device)).unwrap();
            for (s, power) in reals::<T>(device, &svd.await_result().unwrap().values).into_iter().zip(&powers) {
                assert!((s / power - 1.0).abs() < 30.0 * n as f64 * T::EPS, "{n} of {}: {s:e} of {power:e}", T::DTYPE);
            }
        }
    }
    for device in devices() {
        case::<f32>(&device, -45);
        case::<f64>(&device, -450);
    }
}

#[test]
fn no_matrices_have_no_spectra() {
    for device in devices() {
        let (count, n) = (0, 5);
        let a = device.tensor([count, n, n], [0.0f64; 0]).unwrap();
        let eigh = device.solver().eigh(EighSpec::new(Uplo::Lower), &a).unwrap().await_result().unwrap();
        assert_eq!((eigh.values.shape(), eigh.vectors.shape()), (&[0, 5][..], &[0, 5, 5][..]));
        let svd = device.solver().svd(Vectors::Full, &a).unwrap().await_result().unwrap();
        assert_eq!(svd.values.shape(), [0, 5]);
    }
}
