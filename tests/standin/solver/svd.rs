//! Singular values by each method: what they are, which routine is asked for them, and that nobody is held up by a routine that
//! waits for the device.

use super::dense::{C, Dense, Number};
use super::{A, bench, calls, eigenvalues, matrix};
use crate::common::down;
use crate::standin::{Mode, Session};
use windlass::solver::{Jacobi, Randomized, Svd, SvdMethod, Vectors};
use windlass::{Complex, Device, Error};

const BY_ROTATIONS: SvdMethod = SvdMethod::Jacobi(Jacobi::new());

/// In so many iterations that the host engine, too, finds all digits.
fn largest() -> SvdMethod {
    SvdMethod::Randomized(Randomized::new(1).oversampling(1).iterations(40))
}

fn values(device: &Device, method: SvdMethod) -> Result<Vec<f64>, Error> {
    let svd = device.solver().svd_by(method, Vectors::Thin, matrix(device, 3, &A)?)?.await_result()?;
    device.download(&svd.values)?.await_result()
}

pub(super) fn bidiagonal(device: &Device) -> Result<Vec<f64>, Error> {
    values(device, SvdMethod::Bidiagonal)
}

pub(super) fn polar(device: &Device) -> Result<Vec<f64>, Error> {
    values(device, SvdMethod::Polar)
}

pub(super) fn rotations(device: &Device) -> Result<Vec<f64>, Error> {
    values(device, BY_ROTATIONS)
}

pub(super) fn random(device: &Device) -> Result<Vec<f64>, Error> {
    values(device, largest())
}

/// A is the product, and U and V are what they should be.
#[track_caller]
fn assert_decomposed<T: Number>(device: &Device, svd: &Svd<T>, a: &Dense, what: &str) {
    let s: Vec<f64> = down(device, &svd.values).iter().map(|s| T::real_as_double(*s)).collect();
    assert!(s.is_sorted_by(|x, y| x >= y) && s.iter().all(|s| *s >= 0.0), "{what}: {s:?}");
    let (Some(u), Some(vh)) = (&svd.u, &svd.vh) else { panic!("{what}: no vectors") };
    let u = Dense::down(device, u);
    let v = Dense::down(device, vh).adjoint();
    u.assert_orthonormal(T::NEAR, &format!("{what}: U"));
    v.assert_orthonormal(T::NEAR, &format!("{what}: V"));
    let scaled = Dense::by(a.rows, s.len(), |i, j| u.at(i, j) * s[j]);
    scaled.times(&v.columns(s.len()).adjoint()).assert_near(a, 20.0 * T::NEAR, what);
}

/// Each method, each set of vectors.
fn decomposed<T: Number>(device: &Device, host: &Device, (m, n): (usize, usize)) {
    let (a, least) = (Dense::sample::<T>(m, n), m.min(n));
    let start = |device| a.up::<T>(device);
    let found = |device: &Device, svd: &Svd<T>| -> Vec<C> {
        down(device, &svd.values).iter().map(|s| C::new(T::real_as_double(*s), 0.0)).collect()
    };
    let want = host.solver().svd_by(SvdMethod::Bidiagonal, Vectors::Thin, start(host)).unwrap();
    let want = Dense { rows: least, cols: 1, numbers: found(host, &want.await_result().unwrap()) };
    for method in [SvdMethod::Auto, SvdMethod::Bidiagonal, SvdMethod::Polar, BY_ROTATIONS, largest()] {
        for vectors in [Vectors::None, Vectors::Thin, Vectors::Full] {
            let rank = if method == largest() { 1 } else { least };
            if rank < least && vectors == Vectors::Full {
                continue;
            }
            let what = format!("{} of {m} x {n}, {method:?}, {vectors:?}", std::any::type_name::<T>());
            let svd = device.solver().svd_by(method, vectors, start(device)).unwrap().await_result().unwrap();
            let values = Dense { rows: rank, cols: 1, numbers: found(device, &svd) };
            let first = Dense { rows: rank, cols: 1, numbers: want.numbers[..rank].to_vec() };
            values.assert_near(&first, 20.0 * T::NEAR, &what);
            assert_eq!(svd.sweeps().is_some(), method == BY_ROTATIONS, "{what}");
            assert_eq!(svd.u.is_some(), vectors != Vectors::None, "{what}");
            if vectors != Vectors::None && rank == least {
                assert_decomposed(device, &svd, &a, &what);
            } else if vectors != Vectors::None {
                // A * v = s * u, of the columns there are.
                let u = Dense::down(device, svd.u.as_ref().unwrap());
                let v = Dense::down(device, svd.vh.as_ref().unwrap()).adjoint();
                let scaled = Dense::by(m, rank, |i, j| u.at(i, j) * values.at(j, 0));
                a.times(&v).assert_near(&scaled, 20.0 * T::NEAR, &what);
                u.assert_orthonormal(T::NEAR, &what);
            }
        }
    }
}

#[test]
fn values_and_vectors_are_right_by_each_method() {
    let (driver, device) = bench(2);
    let host = Device::host().unwrap();
    for sizes in [(5, 3), (3, 5), (4, 4), (6, 3)] {
        decomposed::<f32>(&device, &host, sizes);
        decomposed::<f64>(&device, &host, sizes);
        decomposed::<Complex<f32>>(&device, &host, sizes);
        decomposed::<C>(&device, &host, sizes);
    }
    // One of rank one: the other vectors belong to values of zero.
    let a = Dense::by(4, 3, |i, j| C::new((i + 1) as f64 * (j + 2) as f64, 0.0));
    for method in [SvdMethod::Bidiagonal, SvdMethod::Polar, BY_ROTATIONS] {
        let svd = device.solver().svd_by(method, Vectors::Full, a.up::<f64>(&device));
        assert_decomposed(&device, &svd.unwrap().await_result().unwrap(), &a, &format!("rank one, {method:?}"));
    }
    drop((device, host));
    driver.assert_finished();
}

const LARGE: usize = 128;

/// Of `LARGE` values, twenty of them zero.
fn large<T: Number>(rows: usize, cols: usize) -> Dense {
    let zero = C::new(0.0, 0.0);
    Dense::by(rows, cols, |i, j| match i.abs_diff((j * 5) % LARGE) {
        _ if j < 20 => zero,
        0 => T::of(C::new(1.0 + (j % 17) as f64 / 16.0, 0.5)).as_double(),
        1 => T::of(C::new(0.25, -0.25)).as_double(),
        _ => zero,
    })
}

/// The routines that were called, without the questions for workspaces.
fn routines(driver: &Session) -> Vec<String> {
    calls(driver).into_iter().filter(|name| name.contains("gesvd") && !name.ends_with("_bufferSize")).collect()
}

#[test]
fn many_values_are_by_the_polar_decomposition_unless_it_moved_them() {
    fn run<T: Number>(driver: &Session, device: &Device, (m, n): (usize, usize), want: &[&str]) {
        let (a, what) = (large::<T>(m, n), format!("{} of {m} x {n}: {want:?}", std::any::type_name::<T>()));
        let start = a.up::<T>(device);
        driver.log(true);
        let svd = device.solver().svd(Vectors::Thin, start).unwrap().await_result().unwrap();
        driver.log(false);
        assert_eq!(routines(driver), want, "{what}");
        assert_eq!(svd.error(), None, "{what}: what stands is exact");
        assert_decomposed(device, &svd, &a, &what);
    }
    let (driver, device) = bench(1);
    let (polar, both) = (["cusolverDnXgesvdp"], ["cusolverDnXgesvdp", "cusolverDnXgesvd"]);
    run::<f32>(&driver, &device, (LARGE + 2, LARGE), &polar);
    run::<f64>(&driver, &device, (LARGE, LARGE), &polar);
    run::<f64>(&driver, &device, (LARGE + 2, LARGE - 1), &both[1..]);
    driver.script("cusolverDnXgesvdp", 2);
    run::<f32>(&driver, &device, (LARGE, LARGE + 1), &both);
    run::<C>(&driver, &device, (LARGE + 1, LARGE), &both);
    // Who asks for that method is told by how much.
    let a = matrix(&device, 3, &A).unwrap();
    let svd = device.solver().svd_by(SvdMethod::Polar, Vectors::None, a).unwrap().await_result().unwrap();
    assert_eq!(svd.error(), Some(0.25));
    driver.clear();
    drop((svd, device));
    driver.assert_finished();
}

#[test]
fn routines_that_wait_hold_up_nobody() {
    let (driver, device) = bench(2);
    type Run = fn(&Device) -> Result<Vec<f64>, Error>;
    let all: [(&str, Run, SvdMethod); 3] = [
        ("bidiagonal", bidiagonal, SvdMethod::Bidiagonal),
        ("polar", polar, SvdMethod::Polar),
        ("rotations", rotations, BY_ROTATIONS),
    ];
    for (name, run, method) in all {
        let want = run(&device).unwrap();
        let [a, b] = [(); 2].map(|()| matrix(&device, 3, &A).unwrap());
        driver.mode(Mode::Manual);
        let solver = device.solver();
        let pending = solver.svd_by(method, Vectors::Thin, a).unwrap();
        let other = solver.svd_by(method, Vectors::None, b).unwrap();
        assert!(!pending.is_ready() && !other.is_ready(), "{name}: nothing has run");
        driver.mode(Mode::Eager);
        driver.release();
        assert_eq!(down(&device, &pending.await_result().unwrap().values), want, "{name}");
        assert_eq!(down(&device, &other.await_result().unwrap().values), want, "{name}");
        driver.mode(Mode::Auto);
    }
    assert_eq!(eigenvalues(&device).unwrap().len(), 3);
    drop(device);
    driver.assert_finished();
}

#[test]
fn what_holds_no_numbers_has_no_values_and_all_buffers_come_back() {
    let (driver, device) = bench(1);
    for method in [SvdMethod::Bidiagonal, SvdMethod::Polar, BY_ROTATIONS] {
        let a = matrix(&device, 2, &[1.0, f64::NAN, 0.0, 2.0]).unwrap();
        let svd = device.solver().svd_by(method, Vectors::Thin, a).unwrap();
        let rejected = svd.await_result().unwrap_err();
        assert!(matches!(rejected.error, Error::NotConverged { .. }), "{method:?}: {rejected}");
        let (a, s, u, vh, info) = rejected.back.unwrap();
        assert_eq!((a.len(), s.len(), u.unwrap().len(), vh.unwrap().len()), (4, 2, 4, 4));
        assert!(down(&device, &info)[0] > 0);
    }
    drop(device);
    driver.assert_finished();
}

/// The stand-in's routines square elements, as the library's: without a power of two nothing is left of these matrices.
#[test]
fn matrices_at_the_ends_of_the_range_are_decomposed_in_its_middle() {
    let (driver, device) = bench(1);
    for method in [SvdMethod::Auto, SvdMethod::Bidiagonal, SvdMethod::Polar, BY_ROTATIONS] {
        let of = |scale: f64| {
            let a = matrix(&device, 3, &A.map(|x| x * scale)).unwrap();
            let svd = device.solver().svd_by(method, Vectors::Thin, a).unwrap().await_result().unwrap();
            down(&device, &svd.values)
        };
        let want = of(1.0);
        for exponent in [-900, 900] {
            let scale = 2f64.powi(exponent);
            for (value, want) in of(scale).into_iter().zip(&want) {
                let value = value / scale;
                assert!((value - want).abs() <= 1e-12 * want, "{method:?}, 2^{exponent}: {value} of {want}");
            }
        }
    }
    drop(device);
    driver.assert_finished();
}
