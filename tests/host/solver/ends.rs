//! Numbers at the ends of the range, values that are small beside the norm, and matrices with an empty side.

use super::check::{C, Dense, Laid, Number, RATIO, dense, each_type, reals};
use super::spectra::columns;
use crate::common::degenerate::Kind;
use crate::common::{Rng, devices, down, is_host};
use windlass::solver::{Eigenvectors, EighSpec, Vectors};
use windlass::{Device, Tensor, Uplo};

/// `2^exponent * x`, without a step that leaves the range.
fn times(x: f64, exponent: i32) -> f64 {
    (0..3).fold(x, |x, step| x * 2f64.powi((exponent + step).div_euclid(3)))
}

fn moved(a: &Dense, exponent: i32) -> Dense {
    Dense { x: a.x.iter().map(|x| C::new(times(x.re, exponent), times(x.im, exponent))).collect(), ..*a }
}

/// The exponent of the largest part of a number.
fn exponent(a: &Dense) -> i32 {
    let most = a.x.iter().fold(0.0f64, |most, x| most.max(x.re.abs()).max(x.im.abs()));
    if most == 0.0 { 0 } else { most.log2().floor() as i32 }
}

fn complex<T: Number>(device: &Device, w: &Tensor<T::Complex>) -> Vec<C> {
    let w = down(device, w);
    match size_of::<T::Real>() {
        4 => bytemuck::cast_slice::<_, f32>(&w).chunks(2).map(|x| C::new(x[0].into(), x[1].into())).collect(),
        _ => bytemuck::cast_slice::<_, f64>(&w).chunks(2).map(|x| C::new(x[0], x[1])).collect(),
    }
}

/// Each vector is one of its value. Tells the values of `2^-exponent(a) * a`.
fn check_eig<T: Number>(device: &Device, a: &Dense, what: &str) -> Vec<C> {
    let (laid, n, up) = (Laid::one(a, 0), a.n, exponent(a));
    let pending = device.solver().eig(Eigenvectors::Right, laid.upload::<T>(device)).unwrap();
    let eig = pending.await_result().unwrap_or_else(|e| panic!("{what}: {e}"));
    let told = complex::<T>(device, &eig.values);
    let x = dense::<T>(device, eig.vectors.as_ref().unwrap()).remove(0);
    let x = columns(&x, &told, !T::DTYPE.is_complex());
    // What a value below the normal numbers is rounded by.
    let least = if T::EPS > 1e-10 { times(1.0, -149 - up) } else { times(1.0, -1074 - up) };
    let (a, w) = (moved(a, -up), told.iter().map(|w| C::new(times(w.re, -up), times(w.im, -up))).collect::<Vec<_>>());
    for (j, value) in w.iter().enumerate() {
        let v = Dense::new(n, 1, |i, _| x.at(i, j));
        let length = v.x.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
        assert!((length - 1.0).abs() < 100.0 * T::EPS, "{what}: vector {j} has norm {length}");
        let rest = a.times(&v).minus(&Dense { x: v.x.iter().map(|x| x * value).collect(), ..v }).norm();
        let most = RATIO * T::EPS * n as f64 * a.norm() + 2.0 * least;
        assert!(rest <= most, "{what}: {rest:e} is left of vector {j} of {value:e}, norm {:e}", a.norm());
    }
    w
}

/// Real blocks on the diagonal, some of pairs, with numbers above them, as a product with random reflections if `turned`.
fn stiff(rng: &mut Rng, sizes: &[(usize, f64)], turned: bool) -> Dense {
    let n = sizes.iter().map(|(rows, _)| rows).sum();
    let mut a = Dense::real(n, n, |_, _| 0.0);
    let mut at = 0;
    for (rows, size) in sizes {
        for j in at + rows..n {
            (at..at + rows).for_each(|i| a.x[i + j * n] = rng.real().into());
        }
        let (re, im) = (rng.real() * size, (1.0 + rng.real().abs()) * size);
        match rows {
            1 => a.x[at + at * n] = re.into(),
            _ => [re, -im, im * 0.5, re].into_iter().enumerate().for_each(|(place, x)| {
                a.x[at + place % 2 + (at + place / 2) * n] = x.into();
            }),
        }
        at += rows;
    }
    if turned {
        let mut v: Vec<f64> = (0..n).map(|_| rng.real()).collect();
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.iter_mut().for_each(|x| *x /= length);
        let q = Dense::real(n, n, |i, j| f64::from(i == j) - 2.0 * v[i] * v[j]);
        a = q.times(&a).times(&q);
    }
    a
}

#[test]
fn each_vector_belongs_to_its_value_though_pairs_are_small_beside_the_norm() {
    fn case<T: Number>() {
        for device in devices() {
            let mut rng = Rng::new(83);
            let named: [&[(usize, f64)]; 4] = [
                &[(2, 1e-12), (2, 2e-12), (2, 1.0)],
                &[(2, 1e-9), (2, 1e-9), (1, 1e9), (1, 1e-9)],
                &[(2, 1e-17), (1, 0.0), (2, 0.0), (2, 1e-17), (2, 1e3)],
                &[(1, 0.0), (2, 1e-160), (2, 1e-150)],
            ];
            for sizes in named {
                for turned in [false, true] {
                    let a = stiff(&mut rng, sizes, turned).rounded::<T>();
                    check_eig::<T>(&device, &a, &format!("{sizes:?}, turned {turned}, {}", T::DTYPE));
                }
            }
            for round in 0..40 {
                let sizes: Vec<(usize, f64)> =
                    (0..1 + rng.below(5)).map(|_| (1 + rng.below(2), 10f64.powi(-(rng.below(25) as i32)))).collect();
                let a = stiff(&mut rng, &sizes, round % 2 == 0).rounded::<T>();
                check_eig::<T>(&device, &a, &format!("{sizes:?}, {round}, {}", T::DTYPE));
            }
        }
    }
    each_type!(case);
}

#[test]
fn each_vector_of_a_degenerate_matrix_belongs_to_its_value() {
    fn case<T: Number>() {
        for device in devices() {
            let mut rng = Rng::new(89);
            // Some of cuSOLVER's vectors of graded matrices are no eigenvectors, as the docs of `eig` say.
            let kinds = Kind::ALL.into_iter().filter(|kind| is_host(&device) || !matches!(kind, Kind::Graded));
            for kind in kinds.filter(|kind| kind.is_finite()) {
                for n in [1, 2, 3, 6, 13] {
                    let x = kind.matrix::<T>(&mut rng, n, n).into_iter().map(T::to_c).collect();
                    check_eig::<T>(&device, &Dense { m: n, n, x }, &format!("{kind:?}, {n}, {}", T::DTYPE));
                }
            }
        }
    }
    each_type!(case);
}

/// Singular values below 2, so that those of the largest multiple are in range.
fn base<T: Number>() -> Dense {
    let turn = if T::DTYPE.is_complex() { C::new(0.0, 1.0) } else { C::new(1.0, 0.0) };
    let rows = [[1.5, 0.25, 0.0], [0.25, -1.0, 0.25], [0.0, 0.25, 0.5]];
    Dense::new(3, 3, |i, j| {
        rows[i][j]
            * if i < j {
                turn
            } else if i > j {
                turn.conj()
            } else {
                1.0.into()
            }
    })
}

#[test]
fn spectra_of_the_largest_and_of_the_smallest_numbers_are_those_of_their_multiples() {
    fn case<T: Number>() {
        let (top, least) = if T::EPS > 1e-10 { (127, -149) } else { (1023, -1074) };
        for device in devices() {
            let solver = device.solver();
            let run = |up: i32| {
                let laid = Laid::one(&moved(&base::<T>(), up), 0);
                let pending = solver.svd(Vectors::Thin, laid.upload::<T>(&device)).unwrap();
                let svd = pending.await_result().unwrap();
                let spec = EighSpec::new(Uplo::Lower);
                let eigh = solver.eigh(spec, laid.upload::<T>(&device)).unwrap().await_result().unwrap();
                let mut w = check_eig::<T>(&device, &laid.all[0], &format!("2^{up}, {}", T::DTYPE));
                w.sort_unstable_by(|x, y| x.re.total_cmp(&y.re));
                let back = |x: Vec<f64>| x.into_iter().map(|x| times(x, -up)).collect::<Vec<f64>>();
                [
                    back(reals::<T>(&device, &svd.values)),
                    back(reals::<T>(&device, &eigh.values)),
                    w.iter().map(|w| w.re).collect(),
                ]
            };
            let want = run(0);
            for up in [top, top - 1, top - 2, least + 2, least + 10] {
                let rounding = 100.0 * T::EPS + 4.0 * times(1.0, least - up);
                for (got, want) in run(up).iter().zip(&want) {
                    let near = got.iter().zip(want).all(|(x, y)| (x - y).abs() <= rounding);
                    assert!(near, "2^{up}, {}: {got:?} instead of {want:?}", T::DTYPE);
                }
            }
        }
    }
    each_type!(case);
}

#[test]
fn inverses_of_the_largest_numbers_are_those_of_their_multiples() {
    fn case<T: Number>() {
        let (top, least) = if T::EPS > 1e-10 { (127, -149) } else { (1023, -1074) };
        for device in devices().into_iter().filter(is_host) {
            let solver = device.solver();
            // The second has a singular value that is beyond the range.
            let ones = Dense::new(4, 3, |_, _| 1.75.into());
            for (a, rank) in [(base::<T>(), 3), (ones, 1)] {
                let (m, n) = (a.m, a.n);
                let run = |up: i32| {
                    let laid = Laid::one(&moved(&a, up), 0);
                    let pinv = solver.pinv(None, laid.upload::<T>(&device)).unwrap().await_result().unwrap();
                    let b = Laid::one(&Dense::real(m, 1, |i, _| 1.0 + i as f64), 0);
                    let (x, y) = (laid.upload::<T>(&device), b.upload::<T>(&device));
                    let solved = solver.lstsq(None, x, y).unwrap().await_result().unwrap();
                    let ranks = down(&device, &solved.ranks);
                    let x = b.read(&device, &solved.x)[0].part(n, 1);
                    let inverse = dense::<T>(&device, &pinv.matrix).remove(0);
                    (moved(&inverse, up), moved(&x, up), ranks)
                };
                let want = run(0);
                for up in [top, top - 1, 100] {
                    let got = run(up);
                    let rounding = 1000.0 * T::EPS + 4.0 * times(1.0, least + up);
                    assert_eq!(got.2, [rank], "2^{up}, {}", T::DTYPE);
                    let off = got.0.minus(&want.0).norm().max(got.1.minus(&want.1).norm());
                    assert!(off <= 10.0 * rounding, "2^{up}, {}: off by {off:e}", T::DTYPE);
                }
            }
            // By QR: a column whose norm is beyond the range is no multiple of another for it.
            let qr = Dense::real(2, 2, |i, j| if i <= j { 1.5 } else { 0.0 });
            let (of_a, of_b) =
                (Laid::one(&moved(&qr, top), 0), Laid::one(&moved(&Dense::real(2, 1, |_, _| 1.5), top), 0));
            let made = solver.qr(of_a.upload::<T>(&device)).unwrap().await_result().unwrap();
            let solved = made.solve(&solver, of_b.upload::<T>(&device)).unwrap().await_result().unwrap();
            let x = &of_b.read(&device, &solved.x)[0];
            assert!(x.minus(&Dense::real(2, 1, |i, _| i as f64)).norm() < 10.0 * T::EPS, "{:?}", x.x);
        }
    }
    each_type!(case);
}

#[test]
fn a_matrix_without_elements_takes_no_memory_and_no_time_whatever_its_other_size() {
    let device = Device::builder().host().memory_limit(1 << 20).open().unwrap();
    let (solver, long) = (device.solver(), i32::MAX as usize);
    for (m, n) in [(0, long), (long, 0)] {
        let none = || device.uninit::<f64>([m, n]).unwrap();
        let pivoted = solver.qr_pivoted(none()).unwrap().await_result().unwrap();
        assert!(pivoted.columns().unwrap().is_empty());
        assert!(pivoted.q(&solver).unwrap().await_result().unwrap().is_empty());
        let qr = solver.qr(none()).unwrap().await_result().unwrap();
        assert!(qr.tau().is_empty() && qr.q(&solver).unwrap().await_result().unwrap().is_empty());
        assert!(solver.lu(none()).unwrap().await_result().is_ok());
        for vectors in [Vectors::None, Vectors::Thin] {
            let svd = solver.svd(vectors, none()).unwrap().await_result().unwrap();
            assert!(svd.values.is_empty());
        }
        assert!(solver.pinv(None, none()).unwrap().await_result().unwrap().matrix.is_empty());
        assert_eq!(solver.rank(None, none()).unwrap().await_result().unwrap(), [0.0]);
    }
}
