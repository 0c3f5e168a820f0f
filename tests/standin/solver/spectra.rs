//! Spectra of symmetric and Hermitian matrices: parts of them, batches, and which routine is asked.

use super::dense::{C, Dense, Number};
use super::{A, bench, calls, spectrum};
use crate::common::child::this_test;
use crate::common::{down, up};
use crate::standin::{self, Mode, Session, in_child};
use windlass::solver::{EighMethod, EighSpec, Jacobi, Range};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Error, Uplo};

pub(super) fn part(device: &Device) -> Result<Vec<f64>, Error> {
    spectrum(device, EighSpec::new(Uplo::Lower).range(Range::Indices(1, 3)))
}

fn batch(device: &Device, method: EighMethod) -> Result<Vec<f64>, Error> {
    let a = device.upload(A.iter().chain(&A).copied().collect::<Vec<_>>())?.into_output();
    let a = a.with_layout(Layout::columns(3, 3).batch(2, 9))?;
    let eigh = device.solver().eigh(EighSpec::new(Uplo::Lower).method(method), a)?.await_result()?;
    device.download(&eigh.values)?.await_result()
}

pub(super) fn batch_by_rotations(device: &Device) -> Result<Vec<f64>, Error> {
    batch(device, EighMethod::Jacobi(Jacobi::new()))
}

pub(super) fn batch_by_tridiagonals(device: &Device) -> Result<Vec<f64>, Error> {
    batch(device, EighMethod::Tridiagonal)
}

/// A * V is V * W, and V is orthonormal.
#[track_caller]
fn assert_vectors<T: Number>(a: &Dense, v: &Dense, values: &[T::Real], what: &str) {
    let scaled = Dense::by(v.rows, v.cols, |i, j| v.at(i, j) * T::real_as_double(values[j]));
    v.assert_orthonormal(T::NEAR, what);
    a.times(v).assert_near(&scaled, 20.0 * T::NEAR, what);
}

/// Hermitian.
fn sample<T: Number>(n: usize, turn: usize) -> Dense {
    let any = Dense::sample::<T>(n + turn, n + turn);
    Dense::by(n, n, |i, j| any.at(i + turn, j + turn) + any.at(j + turn, i + turn).conj())
}

fn parts<T: Number>(device: &Device, host: &Device) {
    let (n, a) = (5, sample::<T>(5, 0));
    let ranges =
        [Range::All, Range::Indices(0, 2), Range::Indices(3, 5), Range::Indices(2, 2), Range::Values(-1.0, 2.0)];
    for (range, uplo) in ranges.into_iter().flat_map(|range| [(range, Uplo::Lower), (range, Uplo::Upper)]) {
        let what = format!("{}, {range:?}, {uplo:?}", std::any::type_name::<T>());
        // The other triangle is nobody's business.
        let given = Dense::by(n, n, |i, j| match uplo {
            Uplo::Lower if i < j => C::new(7.0, 7.0),
            Uplo::Upper if i > j => C::new(7.0, 7.0),
            _ => a.at(i, j),
        });
        let run = |device: &Device| {
            let spec = EighSpec::new(uplo).range(range);
            let eigh = device.solver().eigh(spec, given.up::<T>(device)).unwrap().await_result().unwrap();
            (down(device, &eigh.values), Dense::down(device, &eigh.vectors))
        };
        let ((got, v), (want, _)) = (run(device), run(host));
        assert_eq!(got.len(), want.len(), "{what}");
        let column = |all: &[T::Real]| Dense::by(all.len(), 1, |i, _| C::new(T::real_as_double(all[i]), 0.0));
        column(&got).assert_near(&column(&want), 20.0 * T::NEAR, &what);
        assert_vectors::<T>(&a, &v, &got, &what);
    }
}

#[test]
fn parts_of_spectra_are_those_of_the_host_engine() {
    let (driver, device) = bench(2);
    let host = Device::host().unwrap();
    parts::<f32>(&device, &host);
    parts::<f64>(&device, &host);
    parts::<Complex<f32>>(&device, &host);
    parts::<C>(&device, &host);
    drop((device, host));
    driver.assert_finished();
}

/// What was called that computes.
fn routines(driver: &Session) -> Vec<String> {
    let computes = |name: &String| name.contains("ev") && !name.contains("Info") && !name.contains("Set");
    calls(driver).into_iter().filter(|name| computes(name) && !name.ends_with("_bufferSize")).collect()
}

#[test]
fn a_batch_is_one_call_of_the_routine_that_suits() {
    let (driver, device) = bench(1);
    let (n, count) = (4, 3);
    let all: Vec<Dense> = (0..count).map(|turn| sample::<C>(n, turn)).collect();
    let given: Vec<C> = all.iter().flat_map(|a| a.numbers.clone()).collect();
    for (method, routine) in [
        (EighMethod::Auto, "cusolverDnZheevjBatched"),
        (EighMethod::Jacobi(Jacobi::new()), "cusolverDnZheevjBatched"),
        (EighMethod::Tridiagonal, "cusolverDnXsyevBatched"),
    ] {
        let layout = Layout::columns(n, n).batch(count, n * n);
        let a = up(&device, given.clone()).with_layout(layout).unwrap();
        driver.log(true);
        let spec = EighSpec::new(Uplo::Upper).method(method);
        // It only enqueues: nothing has run.
        driver.mode(Mode::Manual);
        let pending = device.solver().eigh(spec, a).unwrap();
        assert!(!pending.is_ready(), "{method:?}");
        driver.log(false);
        assert_eq!(routines(&driver), [routine], "{method:?}");
        driver.mode(Mode::Auto);
        let eigh = pending.await_result().unwrap();
        let (values, vectors) = (down(&device, &eigh.values), down(&device, eigh.vectors.buffer()));
        for (k, a) in all.iter().enumerate() {
            let v = Dense::of(n, n, &vectors[k * n * n..][..n * n]);
            assert_vectors::<C>(a, &v, &values[k * n..][..n], &format!("{method:?}, {k}"));
        }
        assert_eq!(down(&device, &eigh.info), [0; 3]);
    }
    drop(device);
    driver.assert_finished();
}

/// `cusolverDnXsyevBatched` of CUDA 12.6 reads its workspace before it writes it. The stand-in is such a release unless it is
/// told another version, and leaves garbage in each workspace.
#[test]
fn a_workspace_that_an_old_release_reads_is_cleared() {
    in_child(&this_test!(), &["11.7.1", "11.7.2", "11.7.3", "12.0.0"], |driver, version| {
        // SAFETY: this process runs one test, whose threads do not look at the environment now.
        unsafe { std::env::set_var("WINDLASS_STANDIN_CUSOLVER", version) };
        driver.set_total_memory(1 << 30);
        let (device, old) = (standin::device(1), version < "11.7.3");
        let (n, count) = (4, 3);
        let all: Vec<Dense> = (0..count).map(|turn| sample::<C>(n, turn)).collect();
        let given: Vec<C> = all.iter().flat_map(|a| a.numbers.clone()).collect();
        let run = |method| {
            let before = driver.calls_of("cuMemsetD8Async");
            let layout = Layout::columns(n, n).batch(count, n * n);
            let a = up(&device, given.clone()).with_layout(layout).unwrap();
            let eigh =
                device.solver().eigh(EighSpec::new(Uplo::Lower).method(method), a).unwrap().await_result().unwrap();
            let cleared = driver.calls_of("cuMemsetD8Async") - before;
            let (values, vectors) = (down(&device, &eigh.values), down(&device, eigh.vectors.buffer()));
            for (k, a) in all.iter().enumerate() {
                let v = Dense::of(n, n, &vectors[k * n * n..][..n * n]);
                assert_vectors::<C>(a, &v, &values[k * n..][..n], &format!("{version}, {method:?}, {k}"));
            }
            cleared
        };
        run(EighMethod::Auto); // the first use of the device
        let usual = run(EighMethod::Auto);
        for _ in 0..3 {
            assert_eq!(run(EighMethod::Tridiagonal) - usual, u64::from(old), "{version}");
        }
    });
}
