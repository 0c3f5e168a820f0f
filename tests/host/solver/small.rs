//! QR of matrices of at most 64 rows and columns, and systems of at most 32, in f32 and f64: alone and in batches, of every size around the classes of the kernel,
//! of ordinary and degenerate input.

use super::check::{C, Dense, Laid, Number, RATIO, assert_ratio, dense, orthogonality};
use crate::common::degenerate::Kind;
use crate::common::{Rng, assert_same_bits, devices, down};
use windlass::solver::{Qr, Structure};
use windlass::{Device, Error, Side, Tensor, Transpose};

const SHAPES: [(usize, usize); 25] = [
    (1, 1),
    (1, 5),
    (4, 4),
    (5, 4),
    (4, 5),
    (3, 8),
    (8, 8),
    (9, 8),
    (8, 9),
    (16, 16),
    (17, 16),
    (11, 17),
    (31, 31),
    (32, 31),
    (31, 32),
    (32, 32),
    (32, 1),
    (2, 32),
    (33, 33),
    (33, 5),
    (7, 40),
    (48, 33),
    (64, 63),
    (64, 64),
    (1, 64),
];

fn of_kind<T: Number>(kind: Kind, rng: &mut Rng, (m, n): (usize, usize)) -> Dense {
    Dense { m, n, x: kind.matrix::<T>(rng, m, n).into_iter().map(T::to_c).collect() }
}

/// R, and Q with as many columns as it has rows.
fn parts<T: Number>(device: &Device, laid: &Laid, qr: &Qr<T>) -> (Vec<Dense>, Vec<Dense>) {
    let upper = |f: Dense| Dense::new(f.m.min(f.n), f.n, |i, j| if i <= j { f.at(i, j) } else { C::default() });
    let r = laid.read(device, qr.factors()).into_iter().map(upper).collect();
    (r, dense(device, &qr.q(&device.solver()).unwrap().await_result().unwrap()))
}

/// Each column of A is that of Q * R, within what rounding does to a column of its own size.
fn check_columns<T: Number>(a: &Dense, q: &Dense, r: &Dense, what: &str) {
    for j in 0..a.n {
        let most = (0..a.m).fold(0.0f64, |most, i| most.max(a.at(i, j).re.abs()));
        // A power of two, in two steps: the column may be at the end of the range. Numbers below the normal ones are rounded.
        let exponent = if most == 0.0 { 0 } else { -most.log2().floor() as i32 };
        let times = |x: C| x.re * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
        let least = times(C::new(if T::EPS > 1e-10 { 2f64.powi(-149) } else { 5e-324 }, 0.0));
        for i in 0..a.m {
            let sum: f64 = (0..r.m).map(|k| q.at(i, k).re * times(r.at(k, j))).sum();
            let rest = (sum - times(a.at(i, j))).abs();
            let bound = RATIO * a.m.max(a.n) as f64 * (T::EPS * times(C::new(most, 0.0)) + least);
            assert!(rest <= bound, "{what}: ({i}, {j}) is off by {rest:e} of {:e}", times(C::new(most, 0.0)));
        }
    }
}

#[test]
fn the_factors_are_orthogonal_and_give_each_column_back_whatever_the_input() {
    fn case<T: Number>(device: &Device) {
        let mut rng = Rng::new(3);
        for (turn, shape) in SHAPES.into_iter().enumerate() {
            for kind in Kind::ALL.into_iter().filter(|kind| kind.is_finite()) {
                let count = [1, 2, 5][turn % 3];
                let laid = Laid::new((0..count).map(|_| of_kind::<T>(kind, &mut rng, shape)).collect(), turn % 4);
                let qr = device.solver().qr(laid.upload::<T>(device)).unwrap().await_result().unwrap();
                let (r, q) = parts(device, &laid, &qr);
                for ((a, q), r) in laid.all.iter().zip(&q).zip(&r) {
                    let what = format!("{kind:?} {shape:?} of {}", T::DTYPE);
                    assert_ratio(orthogonality::<T>(q), &what);
                    check_columns::<T>(a, q, r, &what);
                }
            }
        }
    }
    for device in devices() {
        case::<f32>(&device);
        case::<f64>(&device);
    }
}

#[test]
fn least_squares_have_the_ratios_of_lapack() {
    fn case<T: Number>(device: &Device) {
        let (solver, mut rng) = (device.solver(), Rng::new(5));
        for (m, n) in SHAPES.into_iter().filter(|(m, n)| m != n) {
            for (kind, count, right) in [(Kind::Ordinary, 1, 1), (Kind::Ordinary, 3, 4), (Kind::Tiny, 2, 2)] {
                let all: Vec<_> = (0..count).map(|_| of_kind::<T>(kind, &mut rng, (m, n))).collect();
                let b: Vec<_> = (0..count).map(|_| Dense::random::<T>(&mut rng, m, right)).collect();
                let (a, b) = (Laid::new(all, 1), Laid::new(b, 2));
                // The solutions of tiny matrices are large.
                let b = match kind {
                    Kind::Tiny => Laid::new(
                        a.all
                            .iter()
                            .map(|a| a.times(&Dense::real(n, right, |i, j| (i + j) as f64)).rounded::<T>())
                            .collect(),
                        2,
                    ),
                    _ => b,
                };
                let what = format!("{kind:?} {m} x {n}, {right} right sides, of {}", T::DTYPE);
                let solved = solver.solve(Structure::General, a.upload::<T>(device), b.upload::<T>(device)).unwrap();
                let solved = solved.await_result().unwrap_or_else(|e| panic!("{what}: {e}"));
                for (k, x) in dense::<T>(device, &solved.x).into_iter().enumerate() {
                    // Far from the ends of the range.
                    let (a, b) = (&a.all[k], &b.all[k]);
                    let scale = 1.0 / a.norm();
                    let times = |x: &Dense| Dense { x: x.x.iter().map(|x| x * scale).collect(), ..*x };
                    let (a, b, x) = match kind {
                        Kind::Tiny => (times(a), times(b), x),
                        _ => (a.clone(), b.clone(), x),
                    };
                    let rest = a.times(&x).minus(&b);
                    let size = T::EPS * m.max(n) as f64;
                    if m > n {
                        let ratio =
                            a.adjoint().times(&rest).norm() / (a.norm() * b.norm().max(a.norm() * x.norm()) * size);
                        assert_ratio(ratio, &what);
                    } else {
                        assert_ratio(rest.norm() / (a.norm() * x.norm() * size), &what);
                    }
                }
                if m > n && kind == Kind::Ordinary {
                    // One call has the bits of two.
                    let qr = solver.qr(a.upload::<T>(device)).unwrap().await_result().unwrap();
                    let x = qr.solve(&solver, b.upload::<T>(device)).unwrap().await_result().unwrap().x;
                    assert_eq!(dense::<T>(device, &x), dense::<T>(device, &solved.x), "{what}");
                } else if m < n && kind == Kind::Ordinary {
                    // Of all solutions the shortest: a combination of the rows of A.
                    let least = solver
                        .lstsq(None, a.upload::<T>(device), b.upload::<T>(device))
                        .unwrap()
                        .await_result()
                        .unwrap();
                    for (x, least) in dense::<T>(device, &solved.x).iter().zip(dense::<T>(device, &least.x)) {
                        let ratio = x.minus(&least).norm() / (x.norm() * T::EPS * n as f64);
                        assert!(ratio < 100.0 * RATIO, "{what}: {ratio}");
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

/// The elements of matrix `k` of a tensor of `count`, row by row.
fn one<T: Number>(device: &Device, x: &Tensor<T>, k: usize) -> Vec<T> {
    let all = down(device, x);
    let each = all.len() / x.shape()[0];
    all[k * each..][..each].to_vec()
}

#[test]
fn a_matrix_has_the_same_bits_alone_and_anywhere_in_a_batch() {
    fn case<T: Number>(device: &Device, host: &Device) {
        let mut rng = Rng::new(11);
        for (count, m, n) in [
            (2, 4, 4),
            (31, 5, 3),
            (33, 9, 9),
            (1000, 3, 3),
            (1000, 8, 6),
            (33, 16, 32),
            (31, 32, 32),
            (5, 33, 33),
            (3, 64, 64),
            (9, 50, 40),
        ] {
            let a: Vec<T> = (0..count * m * n).map(|_| T::sample(&mut rng)).collect();
            let factor = |device: &Device, of: &[T], count: usize| {
                let a = device.tensor([count, m, n], of).unwrap();
                let qr = device.solver().qr(&a).unwrap().await_result().unwrap();
                let q = qr.q(&device.solver()).unwrap().await_result().unwrap();
                (qr, q)
            };
            let (all, q) = factor(device, &a, count);
            let (there, q_there) = factor(host, &a, count);
            let what = format!("{count} of {m} x {n}, {}", T::DTYPE);
            assert_same_bits(&down(device, all.factors()), &down(host, there.factors()), &what);
            assert_same_bits(&down(device, &q), &down(host, &q_there), &what);
            for k in [0, 1, count / 2, count - 1] {
                let (alone, q_alone) = factor(device, &a[k * m * n..][..m * n], 1);
                let what = format!("matrix {k} of {what}");
                assert_same_bits(&one(device, all.factors(), k), &down(device, alone.factors()), &what);
                assert_same_bits(&one(device, all.tau(), k), &down(device, alone.tau()), &what);
                assert_same_bits(&one(device, &q, k), &down(device, &q_alone), &what);
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
fn what_is_wrong_with_one_matrix_is_its_own_verdict() {
    fn case<T: Number>(device: &Device) {
        let (solver, mut rng) = (device.solver(), Rng::new(13));
        for (m, n) in [(5, 3), (3, 5), (32, 17), (9, 32)] {
            for broken in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let count = 7;
                let mut a: Vec<T> = (0..count * m * n).map(|_| T::sample(&mut rng)).collect();
                let b: Vec<T> = (0..count * m).map(|_| T::sample(&mut rng)).collect();
                let each = m * n;
                a[each..2 * each].fill(T::default());
                // The third column is twice the first; the third row, where the rows are fewer.
                for i in 0..m.max(n) {
                    let at = |line: usize| 2 * each + if m > n { i * n + line } else { line * n + i };
                    a[at(2)] = a[at(0)] + a[at(0)];
                }
                for place in [0, 4, count - 1] {
                    a[place * each + (place * 5) % each] = T::narrow(C::new(broken, 0.0));
                }
                let of = |a: &[T], b: &[T], count: usize| {
                    let (a, b) = (device.tensor([count, m, n], a).unwrap(), device.tensor([count, m, 1], b).unwrap());
                    let ((_, x, info), verdict) = solver.solve(Structure::General, &a, &b).unwrap().into_parts();
                    (x, down(device, &info), verdict.await_result())
                };
                let (x, infos, verdict) = of(&a, &b, count);
                let what = format!("{m} x {n}, {broken}, {}", T::DTYPE);
                assert_eq!(infos, [1, 1, 3, 0, 1, 0, 1], "{what}");
                assert!(matches!(verdict, Err(Error::Singular { position: 1, .. })), "{what}: {verdict:?}");
                for k in [3, 5] {
                    let (alone, info, verdict) = of(&a[k * each..][..each], &b[k * m..][..m], 1);
                    assert!(info == [0] && verdict.is_ok(), "{what}: {info:?}");
                    assert_same_bits(&one(device, &x, k), &down(device, &alone), &what);
                }
                let qr = solver.qr(device.tensor([count, m, n], a).unwrap()).unwrap().await_result().unwrap();
                let q = qr.q(&solver).unwrap().await_result().unwrap();
                for k in 0..count {
                    let is_broken = [0, 4, count - 1].contains(&k);
                    let same = |x: Vec<T>| match is_broken {
                        true => assert_same_bits(&x, &vec![T::NAN; x.len()], &what),
                        false => assert!(x.iter().all(|x| x.to_c().re.is_finite()), "{what}: matrix {k}"),
                    };
                    same(one(device, qr.factors(), k));
                    same(one(device, qr.tau(), k));
                    assert_eq!(one(device, &q, k).iter().any(|x| x.to_c().re.is_nan()), is_broken, "{what}: Q of {k}");
                }
            }
        }
    }
    for device in devices() {
        case::<f32>(&device);
        case::<f64>(&device);
    }
}

#[test]
fn q_times_its_transpose_gives_back_what_it_was_applied_to() {
    fn case<T: Number>(device: &Device) {
        let (solver, mut rng) = (device.solver(), Rng::new(17));
        for (m, n) in SHAPES {
            let a = Laid::new((0..3).map(|_| Dense::random::<T>(&mut rng, m, n)).collect(), 1);
            let c = Laid::new((0..3).map(|_| Dense::random::<T>(&mut rng, m, 1 + n % 7)).collect(), 3);
            let qr = solver.qr(a.upload::<T>(device)).unwrap().await_result().unwrap();
            let there = qr.apply(&solver, Side::Left, Transpose::Yes, c.upload::<T>(device)).unwrap();
            let back = qr.apply(&solver, Side::Left, Transpose::No, there.await_result().unwrap()).unwrap();
            for (c, back) in c.all.iter().zip(c.read(device, &back.await_result().unwrap())) {
                assert_ratio(back.minus(c).norm() / (c.norm() * T::EPS * m as f64), &(m, n, T::DTYPE));
            }
        }
    }
    for device in devices() {
        case::<f32>(&device);
        case::<f64>(&device);
    }
}

#[test]
fn systems_are_solved_and_what_is_singular_is_told_for_each() {
    fn case<T: Number>(device: &Device, host: &Device) {
        let (solver, mut rng) = (device.solver(), Rng::new(19));
        for n in 1..=32 {
            for (count, right) in [(1, 1), (2, 3), (31, 1), (33, 2)] {
                let all = (0..count).map(|_| of_kind::<T>(Kind::Ordinary, &mut rng, (n, n))).collect();
                let b = (0..count).map(|_| Dense::random::<T>(&mut rng, n, right)).collect();
                let (a, b) = (Laid::new(all, n % 4), Laid::new(b, n % 3));
                let solved = solver.solve(Structure::General, a.upload::<T>(device), b.upload::<T>(device)).unwrap();
                let solved = solved.await_result().unwrap();
                for ((a, b), x) in a.all.iter().zip(&b.all).zip(b.read(device, &solved.x)) {
                    assert_ratio(super::check::residual::<T>(a, &x, b), &(n, count, right, T::DTYPE));
                }
            }
            // The second is zero, the third has equal rows, the fourth a NaN: each is its own verdict.
            let (each, count) = (n * n, 6);
            let mut a: Vec<T> = (0..count * each).map(|_| T::sample(&mut rng)).collect();
            let b: Vec<T> = (0..count * n).map(|_| T::sample(&mut rng)).collect();
            a[each..2 * each].fill(T::default());
            let first = a[2 * each..][..n].to_vec();
            a[3 * each - n..3 * each].copy_from_slice(&first);
            a[4 * each - 1] = T::NAN;
            let of = |device: &Device, a: &[T], b: &[T], count: usize| {
                let (a, b) = (device.tensor([count, n, n], a).unwrap(), device.tensor([count, n, 1], b).unwrap());
                let ((factors, x, info), verdict) =
                    device.solver().solve(Structure::General, &a, &b).unwrap().into_parts();
                drop(verdict.await_result());
                (down(device, &factors), x, down(device, &info))
            };
            let (factors, x, infos) = of(device, &a, &b, count);
            let (what, third) = (format!("{n} x {n} of {}", T::DTYPE), if n == 1 { 0 } else { infos[2] });
            assert_eq!(infos, [0, 1, third, 1, 0, 0], "{what}");
            assert!(n != 2 || third == 2, "{what}");
            let there = of(host, &a, &b, count);
            assert_same_bits(&factors, &there.0, &what);
            assert_same_bits(&down(device, &x), &down(host, &there.1), &what);
            for k in [0, 4, 5] {
                let alone = of(device, &a[k * each..][..each], &b[k * n..][..n], 1);
                assert_same_bits(&one(device, &x, k), &down(device, &alone.1), &what);
            }
        }
    }
    let host = Device::host().unwrap();
    for device in devices() {
        case::<f32>(&device, &host);
        case::<f64>(&device, &host);
    }
}
