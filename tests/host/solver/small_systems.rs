//! LU, Cholesky, inverses, determinants and triangles of matrices of at most 32 rows, in f32 and f64, and of the first sizes beyond: alone
//! and in batches, of ordinary and degenerate input, on the device under test beside the host.

use super::check::{C, Dense, Laid, Number, assert_ratio, dense, difference, residual};
use crate::common::degenerate::Kind;
use crate::common::{Rng, assert_same_bits, devices, down, up};
use windlass::solver::{Cholesky, Determinant, Lu, Structure};
use windlass::tensor::Layout;
use windlass::{Device, Diag, Error, Tensor, Transpose, Uplo};

const TRIANGLES: [Uplo; 2] = [Uplo::Lower, Uplo::Upper];

fn of_kind<T: Number>(kind: Kind, rng: &mut Rng, n: usize) -> Dense {
    Dense { m: n, n, x: kind.matrix::<T>(rng, n, n).into_iter().map(T::to_c).collect() }
}

fn in_triangle(uplo: Uplo, i: usize, j: usize) -> bool {
    i == j || (i > j) == (uplo == Uplo::Lower)
}

/// The triangle, with zeros elsewhere.
fn triangle(uplo: Uplo, a: &Dense) -> Dense {
    Dense::new(a.m, a.n, |i, j| if in_triangle(uplo, i, j) { a.at(i, j) } else { C::default() })
}

/// The rows of A as the pivots swap them.
fn permuted(a: &Dense, pivots: &[i64]) -> Dense {
    let mut rows: Vec<usize> = (0..a.m).collect();
    pivots.iter().enumerate().for_each(|(k, row)| rows.swap(k, usize::try_from(*row).unwrap() - 1));
    Dense::new(a.m, a.n, |i, j| a.at(rows[i], j))
}

/// L * U.
fn product(f: &Dense) -> Dense {
    let size = f.m.min(f.n);
    let one = |i: usize, j: usize| C::new(f64::from(i == j), 0.0);
    let l = Dense::new(f.m, size, |i, j| if i > j { f.at(i, j) } else { one(i, j) });
    l.times(&Dense::new(size, f.n, |i, j| if i <= j { f.at(i, j) } else { C::default() }))
}

/// `||I - A * X|| / (n ||A|| ||X|| eps)`.
fn inverse_ratio<T: Number>(a: &Dense, x: &Dense) -> f64 {
    a.times(x).minus(&Dense::identity(a.n)).norm() / (a.n as f64 * a.norm() * x.norm() * T::EPS)
}

const SIZES: [usize; 34] = {
    let mut all = [0; 34];
    let mut n = 0;
    while n < 32 {
        all[n] = n + 1;
        n += 1;
    }
    (all[32], all[33]) = (33, 64);
    all
};

#[test]
fn lu_and_what_is_made_of_it_have_the_ratios_of_lapack() {
    fn case<T: Number>(device: &Device) {
        let (solver, mut rng) = (device.solver(), Rng::new(23));
        for n in SIZES {
            let (count, right) = ([1, 2, 5, 31][n % 4], [1, 3, n][n % 3]);
            for kind in [Kind::Ordinary, Kind::Shift] {
                let all: Vec<_> = (0..count)
                    .map(|k| {
                        if kind == Kind::Shift && k % 2 == 0 {
                            of_kind::<T>(kind, &mut rng, n)
                        } else {
                            Dense::random::<T>(&mut rng, n, n)
                        }
                    })
                    .collect();
                let (a, b) =
                    (Laid::new(all, n % 4), (0..count).map(|_| Dense::random::<T>(&mut rng, n, right)).collect());
                let (b, what) = (Laid::new(b, n % 3), format!("{kind:?} {count} of {n}, {}", T::DTYPE));
                let lu = solver.lu(a.upload::<T>(device)).unwrap().await_result().unwrap();
                assert_eq!(down(device, lu.info()), vec![0; count], "{what}");
                let (pivots, factors) = (down(device, lu.pivots()), a.read(device, lu.factors()));
                for (k, (a, f)) in a.all.iter().zip(&factors).enumerate() {
                    let swapped = permuted(a, &pivots[k * n..][..n]);
                    assert_ratio(difference::<T>(&swapped, &product(f)), &what);
                    let most = (0..n * n).filter(|e| e % n > e / n).fold(0.0f64, |most, e| most.max(f.x[e].norm()));
                    assert!(most <= 1.0, "{what}: a multiplier of {most}");
                }
                for trans in [Transpose::No, Transpose::Yes] {
                    let x = lu.solve(&solver, trans, b.upload::<T>(device)).unwrap().await_result().unwrap();
                    for ((a, b), x) in a.all.iter().zip(&b.all).zip(b.read(device, &x)) {
                        let a = if trans == Transpose::No { a.clone() } else { a.transpose() };
                        assert_ratio(residual::<T>(&a, &x, b), &(&what, trans));
                    }
                }
                // One call has the bits of two.
                let solved = solver.solve(Structure::General, a.upload::<T>(device), b.upload::<T>(device)).unwrap();
                let (one, two) =
                    (solved.await_result().unwrap().x, lu.solve(&solver, Transpose::No, b.upload::<T>(device)));
                assert_same_bits(&down(device, &one), &down(device, &two.unwrap().await_result().unwrap()), &what);
                let one = solver.inverse(a.upload::<T>(device)).unwrap().await_result().unwrap();
                let two = lu.inverse(&solver).unwrap().await_result().unwrap();
                assert_same_bits(&down(device, &one.matrix), &down(device, &two.matrix), &what);
                assert_eq!(down(device, &one.info), vec![0; count], "{what}");
                for (a, x) in a.all.iter().zip(dense::<T>(device, &one.matrix)) {
                    assert_ratio(inverse_ratio::<T>(a, &x), &what);
                }
                // The determinant is that of the factors, whose logarithm does not overflow.
                let dets = lu.det(&solver).unwrap().await_result().unwrap();
                for (k, det) in dets.iter().enumerate() {
                    let swaps =
                        pivots[k * n..][..n].iter().enumerate().filter(|(i, row)| **row != *i as i64 + 1).count();
                    let diagonal = (0..n).map(|i| factors[k].at(i, i).re);
                    let sign =
                        diagonal.clone().fold(if swaps % 2 == 0 { 1.0 } else { -1.0 }, |sign, x| sign * x.signum());
                    let log: f64 = diagonal.map(|x| x.abs().ln()).sum();
                    assert!(
                        det.sign == C::new(sign, 0.0) && (det.log_abs - log).abs() < 1e-11 * (1.0 + log.abs()),
                        "{what}: {det:?}"
                    );
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
fn lu_of_any_shape_is_exact_to_rounding_whatever_the_input() {
    fn case<T: Number>(device: &Device) {
        let (solver, mut rng) = (device.solver(), Rng::new(29));
        for (m, n) in [(1, 1), (1, 7), (7, 1), (3, 5), (5, 3), (4, 4), (16, 17), (17, 16), (31, 32), (32, 9), (32, 32)]
        {
            for kind in Kind::ALL.into_iter().filter(|kind| kind.is_finite()) {
                let of =
                    |rng: &mut Rng| Dense { m, n, x: kind.matrix::<T>(rng, m, n).into_iter().map(T::to_c).collect() };
                let a = Laid::new((0..3).map(|_| of(&mut rng)).collect(), 1);
                let ((factors, pivots, info), verdict) = solver.lu(a.upload::<T>(device)).unwrap().into_parts();
                let (what, infos) = (format!("{kind:?} {m} x {n}, {}", T::DTYPE), down(device, &info));
                let first = infos.iter().position(|info| *info != 0);
                match (first, verdict.await_result()) {
                    (None, Ok(())) => {}
                    (Some(k), Err(Error::Singular { position, matrix, .. })) => {
                        assert_eq!((position, matrix), (infos[k] as u64, k as u64), "{what}");
                    }
                    (first, verdict) => panic!("{what}: {first:?}, {verdict:?}"),
                }
                let pivots = down(device, &pivots);
                for (k, (a, f)) in a.all.iter().zip(a.read(device, &factors)).enumerate() {
                    let size = m.min(n);
                    let zero = (0..size).find(|i| f.at(*i, *i) == C::default()).map_or(0, |i| i as i32 + 1);
                    assert_eq!(infos[k], zero, "{what}");
                    let (swapped, product) = (permuted(a, &pivots[k * size..][..size]), product(&f));
                    let size = |x: &Dense| Dense { x: x.x.iter().map(|x| C::new(x.re.abs(), 0.0)).collect(), ..*x };
                    let bound = self::product(&size(&f));
                    let least = if T::EPS > 1e-10 { 2f64.powi(-149) } else { 5e-324 };
                    for e in 0..m * n {
                        let (rest, bound) = ((swapped.x[e] - product.x[e]).norm(), bound.x[e].re + least);
                        let overflows = !bound.is_finite() || bound > 1e300;
                        assert!(
                            overflows || rest <= 2.0 * (m + n) as f64 * (T::EPS * bound + least),
                            "{what}: {rest:e} of {bound:e}"
                        );
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

#[test]
fn cholesky_and_what_is_made_of_it_have_the_ratios_of_lapack_and_leave_the_other_triangle() {
    fn case<T: Number>(device: &Device) {
        let (solver, mut rng) = (device.solver(), Rng::new(31));
        for (n, uplo) in SIZES.into_iter().flat_map(|n| TRIANGLES.map(|uplo| (n, uplo))) {
            let (count, right) = ([1, 2, 5, 31][n % 4], [1, 3, n][n % 3]);
            let all: Vec<_> = (0..count).map(|_| Dense::positive::<T>(&mut rng, n).rounded::<T>()).collect();
            let (a, b) = (Laid::new(all, n % 4), (0..count).map(|_| Dense::random::<T>(&mut rng, n, right)).collect());
            let (b, what) = (Laid::new(b, n % 3), format!("{uplo:?} {count} of {n}, {}", T::DTYPE));
            let upload = || a.upload_part::<T>(device, |i, j| in_triangle(uplo, i, j));
            let unread = |x: &[Dense]| {
                for x in x {
                    (0..n * n)
                        .for_each(|e| assert!(in_triangle(uplo, e % n, e / n) != x.x[e].re.is_nan(), "{what}: {e}"));
                }
            };
            let l = solver.cholesky(uplo, upload()).unwrap().await_result().unwrap();
            let factors = a.read(device, l.factor());
            unread(&factors);
            for (a, f) in a.all.iter().zip(&factors) {
                let f = triangle(uplo, f);
                let product = if uplo == Uplo::Lower { f.times(&f.adjoint()) } else { f.adjoint().times(&f) };
                assert_ratio(difference::<T>(a, &product), &what);
            }
            let x = l.solve(&solver, b.upload::<T>(device)).unwrap().await_result().unwrap();
            for ((a, b), x) in a.all.iter().zip(&b.all).zip(b.read(device, &x)) {
                assert_ratio(residual::<T>(a, &x, b), &what);
            }
            let solved = solver.solve(Structure::PositiveDefinite(uplo), upload(), b.upload::<T>(device)).unwrap();
            let solved = solved.await_result().unwrap();
            assert_same_bits(&down(device, &solved.x), &down(device, &x), &what);
            unread(&a.read(device, &solved.a));
            let dets = l.det(&solver).unwrap().await_result().unwrap();
            for (det, f) in dets.iter().zip(&factors) {
                let log: f64 = (0..n).map(|i| 2.0 * f.at(i, i).re.ln()).sum();
                assert!(det.sign.re == 1.0 && (det.log_abs - log).abs() < 1e-11 * (1.0 + log.abs()), "{what}: {det:?}");
            }
            let inverse = l.inverse(&solver).unwrap().await_result().unwrap();
            assert_eq!(down(device, &inverse.info), vec![0; count], "{what}");
            let inverses = a.read(device, &inverse.matrix);
            unread(&inverses);
            for (a, x) in a.all.iter().zip(inverses) {
                let whole = Dense::new(n, n, |i, j| if in_triangle(uplo, i, j) { x.at(i, j) } else { x.at(j, i) });
                assert_ratio(inverse_ratio::<T>(a, &whole), &what);
            }
        }
    }
    for device in devices() {
        case::<f32>(&device);
        case::<f64>(&device);
    }
}

#[test]
fn triangles_are_solved_and_inverted_wherever_they_lie() {
    fn case<T: Number>(device: &Device) {
        let (solver, mut rng) = (device.solver(), Rng::new(37));
        for (n, uplo) in SIZES.into_iter().flat_map(|n| TRIANGLES.map(|uplo| (n, uplo))) {
            let (count, right) = ([1, 2, 5, 31][n % 4], [1, 3, n][n % 3]);
            let all: Vec<_> = (0..count).map(|_| of_kind::<T>(Kind::Ordinary, &mut rng, n)).collect();
            let (a, what) = (Laid::new(all, n % 4), format!("{uplo:?} {count} of {n}, {}", T::DTYPE));
            let upload =
                |strict: bool| a.upload_part::<T>(device, |i, j| in_triangle(uplo, i, j) && !(strict && i == j));
            let b: Vec<_> = (0..count).map(|_| Dense::random::<T>(&mut rng, n, right)).collect();
            // By rows, as one has tensors.
            let rows: Vec<T> =
                b.iter().flat_map(|b| (0..n * right).map(|e| T::narrow(b.at(e / right, e % right)))).collect();
            let batch: &[usize] = if count == 1 { &[] } else { &[count] };
            let rows = device.tensor([batch, &[n, right]].concat(), rows).unwrap();
            let x = device.solve_triangular(uplo, &upload(false), &rows).unwrap().await_result().unwrap();
            for ((a, b), x) in a.all.iter().zip(&b).zip(dense::<T>(device, &x)) {
                assert_ratio(residual::<T>(&triangle(uplo, a), &x, b), &what);
            }
            // The same bits from rows, and with a matrix for all.
            let by_rows = device.contiguous(&upload(false)).unwrap().await_result().unwrap();
            let again = device.solve_triangular(uplo, &by_rows, &rows).unwrap().await_result().unwrap();
            if n <= 32 {
                assert_same_bits(&down(device, &again), &down(device, &x), &what);
            }
            if count > 1 {
                let first = by_rows.index(0, 0).unwrap();
                let shared = device.solve_triangular(uplo, first, &rows).unwrap().await_result().unwrap();
                let alone =
                    device.solve_triangular(uplo, &first_of(device, &by_rows), rows.index(0, 0).unwrap()).unwrap();
                let alone = alone.await_result().unwrap();
                if n <= 32 {
                    assert_same_bits(&down(device, &shared)[..n * right], &down(device, &alone), &what);
                }
                for (k, x) in dense::<T>(device, &shared).into_iter().enumerate() {
                    assert_ratio(residual::<T>(&triangle(uplo, &a.all[0]), &x, &b[k]), &what);
                }
            }
            for diag in [Diag::NonUnit, Diag::Unit] {
                let inverse = solver.trtri(uplo, diag, upload(diag == Diag::Unit)).unwrap().await_result().unwrap();
                assert_eq!(down(device, &inverse.info), vec![0; count], "{what}");
                for (a, x) in a.all.iter().zip(a.read(device, &inverse.matrix)) {
                    let unit = |x: &Dense| {
                        let mut x = triangle(uplo, x);
                        (0..if diag == Diag::Unit { n } else { 0 }).for_each(|i| x.x[i * n + i] = C::new(1.0, 0.0));
                        x
                    };
                    let written = |i: usize, j: usize| in_triangle(uplo, i, j) && (i != j || diag == Diag::NonUnit);
                    (0..n * n).for_each(|e| assert!(written(e % n, e / n) != x.x[e].re.is_nan(), "{what}: {e}"));
                    let ratio = inverse_ratio::<T>(&unit(a), &unit(&x));
                    assert!(ratio < 30.0, "{what} {diag:?}: {ratio}");
                }
            }
        }
    }
    for device in devices() {
        case::<f32>(&device);
        case::<f64>(&device);
    }
}

/// A copy of the first matrix.
fn first_of<T: Number>(device: &Device, a: &Tensor<T>) -> Tensor<T> {
    device.contiguous(a.index(0, 0).unwrap()).unwrap().await_result().unwrap()
}

/// Everything that is made of square matrices and right sides, with and without a verdict: elements, infos and pivots.
struct Answers<T> {
    numbers: Vec<(&'static str, Vec<T>)>,
    infos: Vec<Vec<i32>>,
    pivots: Vec<i64>,
    dets: Vec<Determinant>,
}

fn answers<T: Number>(device: &Device, a: &[T], b: &[T], [count, n, right]: [usize; 3]) -> Answers<T> {
    let solver = device.solver();
    let (a, b) = (device.tensor([count, n, n], a).unwrap(), device.tensor([count, n, right], b).unwrap());
    let mut all = Answers { numbers: Vec::new(), infos: Vec::new(), pivots: Vec::new(), dets: Vec::new() };
    let ((factors, pivots, info), verdict) = solver.lu(&a).unwrap().into_parts();
    drop(verdict.await_result());
    all.numbers.push(("lu", down(device, &factors)));
    all.infos.push(down(device, &info));
    all.pivots = down(device, &pivots);
    let lu = Lu::from_parts(factors, pivots, info);
    all.dets = lu.det(&solver).unwrap().await_result().unwrap();
    for (name, trans) in [("lu solve", Transpose::No), ("lu solve^T", Transpose::Yes)] {
        all.numbers.push((name, down(device, &lu.solve(&solver, trans, &b).unwrap().await_result().unwrap())));
    }
    let ((c, info), verdict) = solver.inverse(&a).unwrap().into_parts();
    drop(verdict.await_result());
    all.numbers.push(("inverse", down(device, &c)));
    all.infos.push(down(device, &info));
    for uplo in TRIANGLES {
        let ((factor, info), verdict) = solver.cholesky(uplo, &a).unwrap().into_parts();
        drop(verdict.await_result());
        all.numbers.push(("cholesky", down(device, &factor)));
        all.infos.push(down(device, &info));
        let l = Cholesky::from_parts(uplo, factor, info);
        all.numbers.push(("cholesky solve", down(device, &l.solve(&solver, &b).unwrap().await_result().unwrap())));
        let ((x, _, info), verdict) = solver.solve(Structure::PositiveDefinite(uplo), &a, &b).unwrap().into_parts();
        drop(verdict.await_result());
        all.numbers.push(("posv", down(device, &x)));
        all.infos.push(down(device, &info));
        let ((c, info), verdict) = l.inverse(&solver).unwrap().into_parts();
        drop(verdict.await_result());
        all.numbers.push(("potri", down(device, &c)));
        all.infos.push(down(device, &info));
        let x = device.solve_triangular(uplo, &a, &b).unwrap().await_result().unwrap();
        all.numbers.push(("triangle", down(device, &x)));
    }
    all
}

/// The same bits; of determinants the same numbers.
fn assert_same<T: Number>(one: &Answers<T>, other: &Answers<T>, what: &str) {
    for ((name, one), (_, other)) in one.numbers.iter().zip(&other.numbers) {
        assert_same_bits(one, other, &format!("{name} of {what}"));
    }
    assert_eq!((&one.infos, &one.pivots), (&other.infos, &other.pivots), "{what}");
    let bits =
        |all: &[Determinant]| -> Vec<_> { all.iter().map(|d| (d.sign.re.to_bits(), d.log_abs.to_bits())).collect() };
    assert_eq!(bits(&one.dets), bits(&other.dets), "{what}");
}

impl<T: Number> Answers<T> {
    /// Of matrix `k` of `count`.
    fn of(&self, k: usize, count: usize) -> Self {
        fn part<U: Copy>(x: &[U], k: usize, count: usize) -> Vec<U> {
            let each = x.len() / count;
            x[k * each..][..each].to_vec()
        }
        Answers {
            numbers: self.numbers.iter().map(|(name, x)| (*name, part(x, k, count))).collect(),
            infos: self.infos.iter().map(|x| part(x, k, count)).collect(),
            pivots: part(&self.pivots, k, count),
            dets: part(&self.dets, k, count),
        }
    }
}

#[test]
fn a_system_has_the_same_bits_alone_anywhere_in_a_batch_and_on_the_host() {
    fn case<T: Number>(device: &Device, host: &Device) {
        let mut rng = Rng::new(41);
        for (count, n, right) in [
            (0, 3, 1),
            (1, 1, 1),
            (2, 4, 1),
            (31, 5, 2),
            (33, 9, 1),
            (3000, 3, 1),
            (1000, 8, 4),
            (33, 16, 16),
            (31, 31, 3),
            (33, 32, 32),
        ] {
            let kinds: Vec<_> = Kind::ALL.into_iter().cycle().take(count).collect();
            let one = |rng: &mut Rng, kind: Kind| match kind {
                Kind::Ordinary => Dense::positive::<T>(rng, n).x.into_iter().map(T::narrow).collect(),
                _ => kind.matrix::<T>(rng, n, n),
            };
            let a: Vec<T> = kinds.iter().flat_map(|kind| one(&mut rng, *kind)).collect();
            let b: Vec<T> = (0..count * n * right).map(|_| T::sample(&mut rng)).collect();
            let (what, sizes) = (format!("{count} of {n}, {right} right sides, {}", T::DTYPE), [count, n, right]);
            let all = answers(device, &a, &b, sizes);
            assert_same(&all, &answers(host, &a, &b, sizes), &what);
            for k in (0..count.min(17)).chain(count.saturating_sub(3)..count) {
                let (a, b) = (&a[k * n * n..][..n * n], &b[k * n * right..][..n * right]);
                assert_same(&answers(device, a, b, [1, n, right]), &all.of(k, count), &format!("matrix {k} of {what}"));
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
fn one_bad_matrix_is_its_own_verdict_wherever_it_stands() {
    fn case<T: Number>(device: &Device) {
        let (solver, mut rng, count) = (device.solver(), Rng::new(43), 7);
        for n in [1, 2, 3, 8, 17, 32] {
            let good: Vec<T> = (0..count).flat_map(|_| Dense::positive::<T>(&mut rng, n).x).map(T::narrow).collect();
            let b: Vec<T> = (0..count * n).map(|_| T::sample(&mut rng)).collect();
            let each = n * n;
            let is_nan = |x: &[T]| x.iter().all(|x| x.to_c().re.is_nan());
            for place in [0, 3, count - 1] {
                for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let mut a = good.clone();
                    // The last row and column, or one element.
                    let last = place * each + each - 1;
                    let broken = !bad.is_finite();
                    for i in 0..if broken { 0 } else { n } {
                        a[last - i * n] = T::default();
                        a[last - i] = T::default();
                    }
                    a[last] = T::narrow(C::new(bad, 0.0));
                    let (what, whole) = (
                        format!("{bad} in {place} of {n}, {}", T::DTYPE),
                        device.tensor([count, n, n], &a[..]).unwrap(),
                    );
                    let want =
                        |info: i32| -> Vec<i32> { (0..count).map(|k| if k == place { info } else { 0 }).collect() };
                    let position = if broken { 1 } else { n as i32 };
                    // A negative pivot is one for LU.
                    let singular = if bad == -1.0 { 0 } else { position };
                    let told = |verdict: Result<(), Error>, info: i32| match verdict {
                        Ok(()) => assert_eq!(info, 0, "{what}"),
                        Err(
                            Error::Singular { position, matrix, .. }
                            | Error::NotPositiveDefinite { order: position, matrix, .. },
                        ) => {
                            assert_eq!((position, matrix), (info as u64, place as u64), "{what}");
                        }
                        Err(error) => panic!("{what}: {error}"),
                    };
                    fn part<T>(x: &[T], k: usize, count: usize) -> &[T] {
                        let each = x.len() / count;
                        &x[k * each..][..each]
                    }
                    let fine = device.tensor([count, n, n], &good[..]).unwrap();
                    let ((factors, pivots, info), verdict) = solver.lu(&whole).unwrap().into_parts();
                    told(verdict.await_result(), singular);
                    assert_eq!(down(device, &info), want(singular), "{what}");
                    assert!(down(device, &pivots).iter().all(|row| (1..=n as i64).contains(row)), "{what}");
                    let want_lu = solver.lu(&fine).unwrap().await_result().unwrap();
                    let ((c, info), verdict) = solver.inverse(&whole).unwrap().into_parts();
                    told(verdict.await_result(), singular);
                    assert_eq!(down(device, &info), want(singular), "{what}");
                    let want_c = solver.inverse(&fine).unwrap().await_result().unwrap();
                    let ((l, info), verdict) = solver.cholesky(Uplo::Lower, &whole).unwrap().into_parts();
                    told(verdict.await_result().map(drop), position);
                    assert_eq!(down(device, &info), want(position), "{what}");
                    let want_l = solver.cholesky(Uplo::Lower, &fine).unwrap().await_result().unwrap();
                    let [factors, c, l] = [&factors, &c, &l].map(|x| down(device, x));
                    let fine_ones = [want_lu.factors(), &want_c.matrix, want_l.factor()].map(|x| down(device, x));
                    for k in (0..count).filter(|k| *k != place) {
                        for (x, want) in [&factors, &c, &l].into_iter().zip(&fine_ones) {
                            assert_same_bits(part(x, k, count), part(want, k, count), &what);
                        }
                    }
                    assert_eq!(is_nan(part(&factors, place, count)), broken, "{what}");
                    assert_eq!(is_nan(part(&c, place, count)), singular != 0, "{what}");
                    // The triangle stays, or is NaN.
                    for (e, x) in part(&l, place, count).iter().copied().enumerate() {
                        let (given, is_lower) = (a[place * each + e], e / n >= e % n);
                        match broken && is_lower {
                            true => assert_same_bits(&[x], &[T::NAN], &what),
                            false => assert_same_bits(&[x], &[given], &what),
                        }
                    }
                    let b = device.tensor([count, n, 1], &b[..]).unwrap();
                    for (structure, info) in
                        [(Structure::General, singular), (Structure::PositiveDefinite(Uplo::Upper), position)]
                    {
                        let ((_, x, infos), verdict) = solver.solve(structure, &whole, &b).unwrap().into_parts();
                        told(verdict.await_result(), info);
                        assert_eq!(down(device, &infos), want(info), "{what}");
                        let fine = solver.solve(structure, &fine, &b).unwrap().await_result().unwrap();
                        let (x, fine) = (down(device, &x), down(device, &fine.x));
                        for k in (0..count).filter(|k| *k != place) {
                            assert_same_bits(part(&x, k, count), part(&fine, k, count), &what);
                        }
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

#[test]
fn a_zero_on_the_diagonal_of_a_triangle_is_told_and_it_stays() {
    fn case<T: Number>(device: &Device) {
        let (solver, mut rng, count) = (device.solver(), Rng::new(47), 5);
        for (n, uplo) in [1, 4, 9, 32].into_iter().flat_map(|n| TRIANGLES.map(|uplo| (n, uplo))) {
            let mut a: Vec<T> =
                (0..count).flat_map(|_| of_kind::<T>(Kind::Ordinary, &mut rng, n).x).map(T::narrow).collect();
            a[3 * n * n + n * n - 1] = T::default();
            let whole = device.tensor([count, n, n], &a[..]).unwrap();
            let ((c, info), verdict) = solver.trtri(uplo, Diag::NonUnit, &whole).unwrap().into_parts();
            let what = format!("{uplo:?} {n}, {}", T::DTYPE);
            let verdict = verdict.await_result();
            assert!(
                matches!(verdict, Err(Error::Singular { position, matrix: 3, .. }) if position == n as u64),
                "{what}: {verdict:?}"
            );
            assert_eq!(down(device, &info), [0, 0, 0, n as i32, 0], "{what}");
            let c = down(device, &c);
            assert_same_bits(&c[3 * n * n..][..n * n], &a[3 * n * n..][..n * n], &what);
            // Solved with, it gives infinities or NaN, and the others are right.
            let b = vec![T::real(1.0); count * n];
            let b = device.tensor([count, n, 1], &b[..]).unwrap();
            let x = dense::<T>(device, &device.solve_triangular(uplo, &whole, &b).unwrap().await_result().unwrap());
            for (k, x) in x.iter().enumerate() {
                assert_eq!(x.x.iter().any(|x| !x.re.is_finite()), k == 3, "{what}: {k}");
            }
        }
    }
    for device in devices() {
        case::<f32>(&device);
        case::<f64>(&device);
    }
}

#[test]
fn pivots_that_are_no_rows_swap_nothing() {
    let n = 3;
    for device in devices() {
        let solver = device.solver();
        let eye = [1.0f64, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0].to_vec();
        let eye = || up(&device, eye.clone()).with_layout(Layout::columns(n, n)).unwrap();
        let b = device.tensor([n], [1.0f64, 2.0, 3.0]).unwrap();
        for (pivots, want) in
            [([1, 2, 3], [1.0, 2.0, 3.0]), ([0, 4, -7], [1.0, 2.0, 3.0]), ([3, i64::MAX, i64::MIN], [3.0, 2.0, 1.0])]
        {
            let pivots = device.tensor([n], pivots).unwrap();
            let lu = Lu::from_parts(eye(), pivots, device.tensor([], [0i32]).unwrap());
            let x = lu.solve(&solver, Transpose::No, &b).unwrap().await_result().unwrap();
            assert_eq!(down(&device, &x), want);
        }
    }
}
