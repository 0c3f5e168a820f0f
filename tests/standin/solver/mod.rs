//! Factorizations and spectra on the CUDA engine: which calls of cuSOLVER they make, how its handles live, what is waited for,
//! and what becomes of failures. What they compute on a GPU is held against the host engine here; the definition is
//! `host solver::`.

mod dense;
mod indefinite;
mod qr;
mod refine;
mod small;
mod small_spectra;
mod spectra;
mod svd;

use crate::common::child::this_test;
use crate::common::{down, up};
use crate::standin::{Mode, Session, device, in_child, session};
use windlass::solver::{EighMethod, EighSpec, Jacobi, SolverElement};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Error, Tensor, Transpose, Uplo};

fn bench(slots: usize) -> (Session, Device) {
    let driver = session();
    driver.set_total_memory(1 << 30);
    let device = device(slots);
    (driver, device)
}

const A: [f64; 9] = [4.0, 1.0, 0.5, 1.0, 5.0, 2.0, 0.5, 2.0, 6.0];
const B: [f64; 3] = [1.0, 2.0, 3.0];

/// A is symmetric: its rows are its columns.
fn matrix(device: &Device, n: usize, elements: &[f64]) -> Result<Tensor<f64>, Error> {
    Ok(device.upload(elements)?.into_output().with_layout(Layout::columns(n, n))?)
}

type Two = (Tensor<Complex<f64>>, Tensor<Complex<f64>>);

/// A and B, of which LU, Cholesky and QR are the library's: small ones of real numbers have kernels of our own.
fn complex(device: &Device) -> Result<Two, Error> {
    let of = |x: &[f64]| -> Vec<_> { x.iter().map(|x| Complex::new(*x, 0.0)).collect() };
    let a = device.upload(of(&A))?.into_output().with_layout(Layout::columns(3, 3))?;
    Ok((a, device.upload(of(&B))?.into_output().into()))
}

fn by_lu(device: &Device) -> Result<Vec<f64>, Error> {
    let (a, b) = complex(device)?;
    let lu = device.solver().lu(a)?.await_result()?;
    let x = lu.solve(&device.solver(), Transpose::No, b)?.await_result()?;
    Ok(device.download(&x)?.await_result()?.iter().map(|x| x.re).collect())
}

fn by_cholesky(device: &Device) -> Result<Vec<f64>, Error> {
    let (a, b) = complex(device)?;
    let factor = device.solver().cholesky(Uplo::Upper, a)?.await_result()?;
    let x = factor.solve(&device.solver(), b)?.await_result()?;
    Ok(device.download(&x)?.await_result()?.iter().map(|x| x.re).collect())
}

fn spectrum(device: &Device, spec: EighSpec) -> Result<Vec<f64>, Error> {
    let eigh = device.solver().eigh(spec, matrix(device, 3, &A)?)?.await_result()?;
    device.download(&eigh.values)?.await_result()
}

fn eigenvalues(device: &Device) -> Result<Vec<f64>, Error> {
    spectrum(device, EighSpec::new(Uplo::Lower).method(EighMethod::Tridiagonal))
}

#[track_caller]
fn assert_near(got: &[f64], want: &[f64], what: &str) {
    let near = got.len() == want.len() && got.iter().zip(want).all(|(x, y)| (x - y).abs() < 1e-13);
    assert!(near, "{what}: {got:?} instead of {want:?}");
}

/// The calls of the library, in their order.
fn calls(driver: &Session) -> Vec<String> {
    let name = |line: &String| line.split([' ', '(']).next().unwrap_or_default().to_string();
    driver.take_log().iter().filter(|line| line.starts_with("cusolver")).map(name).collect()
}

#[test]
fn factors_solutions_and_spectra_are_those_of_the_host_engine() {
    let (driver, device) = bench(2);
    let host = Device::host().unwrap();
    for (name, run) in
        [("lu", by_lu as fn(&Device) -> Result<Vec<f64>, Error>), ("cholesky", by_cholesky), ("spectrum", eigenvalues)]
    {
        assert_near(&run(&device).unwrap(), &run(&host).unwrap(), name);
    }
    fn in_type<T: SolverElement>(device: &Device, a: Vec<T>, b: Vec<T>, trans: Transpose) -> Vec<T> {
        let solver = device.solver();
        let a = up(device, a).with_layout(Layout::columns(2, 2)).unwrap();
        let lu = solver.lu(a).unwrap().await_result().unwrap();
        let x = lu.solve(&solver, trans, up(device, b)).unwrap().await_result().unwrap();
        down(device, &x)
    }
    let c = |re, im| Complex::new(re, im);
    for trans in [Transpose::No, Transpose::Yes, Transpose::Conjugate] {
        let run = |device| {
            let (a, b) = (vec![c(1.0, 2.0), c(3.0, -1.0), c(0.5, 0.0), c(2.0, 2.0)], vec![c(1.0, 0.0), c(0.0, 1.0)]);
            in_type(device, a, b, trans)
        };
        let (got, want): (Vec<Complex<f64>>, _) = (run(&device), run(&host));
        assert!(got.iter().zip(&want).all(|(x, y)| (x - y).norm() < 1e-14), "{trans:?}: {got:?} and {want:?}");
    }
    let single = |device| in_type(device, vec![2.0f32, 0.0, 0.0, 4.0], vec![1.0, 1.0], Transpose::No);
    assert_eq!(single(&device), single(&host));
    drop((device, host));
    driver.assert_finished();
}

#[test]
fn a_handle_is_made_once_and_bound_once_and_sizes_are_asked_before_each_call() {
    let (driver, device) = bench(1);
    by_lu(&device).unwrap();
    driver.log(true);
    by_lu(&device).unwrap();
    by_cholesky(&device).unwrap();
    driver.log(false);
    let want = ["Xgetrf_bufferSize", "Xgetrf", "Xgetrs", "Xpotrf_bufferSize", "Xpotrf", "Xpotrs"];
    assert_eq!(calls(&driver), want.map(|name| format!("cusolverDn{name}")));
    assert_eq!(driver.calls_of("cusolverDnDestroy"), 0, "handles are kept");
    let made = driver.calls_of("cusolverDnCreate");
    assert!((1..=4).contains(&made), "{made}");
    drop(device);
    driver.assert_finished();
    assert_eq!(driver.calls_of("cusolverDnDestroy"), made, "and end with their device");
}

#[test]
fn a_method_of_rotations_is_told_its_options_and_destroys_them() {
    let (driver, device) = bench(1);
    eigenvalues(&device).unwrap();
    driver.log(true);
    let method = EighMethod::Jacobi(Jacobi::new().tolerance(1e-9).sweeps(17));
    let spec = EighSpec::new(Uplo::Lower).method(method);
    let eigh = device.solver().eigh(spec, matrix(&device, 3, &A).unwrap()).unwrap().await_result().unwrap();
    driver.log(false);
    // The stand-in says that it took one sweep less than it was given.
    assert_eq!(eigh.sweeps(), Some(16));
    let host = Device::host().unwrap();
    assert_near(&down(&device, &eigh.values), &eigenvalues(&host).unwrap(), "by rotations");
    let want = [
        "CreateSyevjInfo",
        "XsyevjSetTolerance",
        "XsyevjSetMaxSweeps",
        "Dsyevj_bufferSize",
        "Dsyevj",
        "XsyevjGetSweeps",
        "XsyevjGetResidual",
        "DestroySyevjInfo",
    ];
    assert_eq!(calls(&driver), want.map(|name| format!("cusolverDn{name}")));
    drop((eigh, device, host));
    driver.assert_finished();
}

/// The stand-in complains of two threads inside one handle, and of a handle that is given another stream.
#[test]
fn threads_share_the_handles_of_the_pool() {
    let (driver, device) = bench(4);
    let (host, want) = (Device::host().unwrap(), |host: &Device| (by_lu(host).unwrap(), eigenvalues(host).unwrap()));
    let want = want(&host);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..10 {
                    assert_near(&by_lu(&device).unwrap(), &want.0, "lu");
                    assert_near(&eigenvalues(&device).unwrap(), &want.1, "spectrum");
                }
            });
        }
    });
    assert!(driver.calls_of("cusolverDnCreate") <= 8, "{}", driver.calls_of("cusolverDnCreate"));
    drop((device, host));
    driver.assert_finished();
}

/// Nothing has run yet when a factorization and a solution with it are under way: neither waits on the host.
#[test]
fn factors_and_solutions_are_enqueued_and_wait_for_nothing() {
    let (driver, device) = bench(1);
    by_lu(&device).unwrap();
    by_cholesky(&device).unwrap();
    let [a, c] = [(); 2].map(|()| matrix(&device, 3, &A).unwrap());
    let b = up(&device, B.to_vec());
    driver.mode(Mode::Manual);
    let solver = device.solver();
    let pending = solver.lu(a).unwrap();
    assert!(!pending.is_ready());
    let ((factors, pivots, info), verdict) = pending.into_parts();
    let lu = windlass::solver::Lu::from_parts(factors, pivots, info);
    let x = lu.solve(&solver, Transpose::No, b).unwrap();
    let other = solver.cholesky(Uplo::Lower, c).unwrap();
    assert!(!x.is_ready() && !verdict.is_ready() && !other.is_ready() && driver.pending() > 0);
    driver.mode(Mode::Eager);
    driver.release();
    verdict.await_result().unwrap();
    let want = by_lu(&Device::host().unwrap()).unwrap();
    assert_near(&down(&device, &x.await_result().unwrap()), &want, "what was split");
    other.await_result().unwrap();
    drop((lu, solver, device));
    driver.assert_finished();
}

#[test]
fn what_fails_is_an_error_with_the_buffers_and_the_next_call_is_right() {
    type Run = fn(&Device) -> Result<Vec<f64>, Error>;
    let cases: [(&str, Run); 41] = [
        ("cusolverDnCreate", by_lu),
        ("cusolverDnSetStream", by_lu),
        ("cusolverDnXgetrf_bufferSize", by_lu),
        ("cusolverDnXgetrf", by_lu),
        ("cusolverDnXgetrs", by_lu),
        ("cusolverDnXpotrf_bufferSize", by_cholesky),
        ("cusolverDnXpotrf", by_cholesky),
        ("cusolverDnXpotrs", by_cholesky),
        ("cusolverDnXsyevd_bufferSize", eigenvalues),
        ("cusolverDnXsyevd", eigenvalues),
        ("cusolverDnDsyevj", |device| {
            let method = EighMethod::Jacobi(Jacobi::new());
            spectrum(device, EighSpec::new(Uplo::Upper).method(method))
        }),
        ("cusolverDnXgeqrf_bufferSize", qr::by_qr),
        ("cusolverDnXgeqrf", qr::by_qr),
        ("cusolverDnZunmqr_bufferSize", qr::by_qr),
        ("cusolverDnZunmqr", qr::by_qr),
        ("cusolverDnZungqr_bufferSize", qr::by_q),
        ("cusolverDnZungqr", qr::by_q),
        ("cusolverDnXtrtri_bufferSize", qr::by_triangle),
        ("cusolverDnXtrtri", qr::by_triangle),
        ("cusolverDnXgesvd_bufferSize", svd::bidiagonal),
        ("cusolverDnXgesvd", svd::bidiagonal),
        ("cusolverDnXgesvdp_bufferSize", svd::polar),
        ("cusolverDnXgesvdp", svd::polar),
        ("cusolverDnCreateParams", svd::random),
        ("cusolverDnXgesvdr_bufferSize", svd::random),
        ("cusolverDnXgesvdr", svd::random),
        ("cusolverDnCreateGesvdjInfo", svd::rotations),
        ("cusolverDnDgesvdj_bufferSize", svd::rotations),
        ("cusolverDnDgesvdj", svd::rotations),
        ("cusolverDnXgesvdjGetSweeps", svd::rotations),
        ("cusolverDnXsyevdx_bufferSize", spectra::part),
        ("cusolverDnXsyevdx", spectra::part),
        ("cusolverDnCreateSyevjInfo", spectra::batch_by_rotations),
        ("cusolverDnDsyevjBatched_bufferSize", spectra::batch_by_rotations),
        ("cusolverDnDsyevjBatched", spectra::batch_by_rotations),
        ("cusolverDnXsyevBatched_bufferSize", spectra::batch_by_tridiagonals),
        ("cusolverDnXsyevBatched", spectra::batch_by_tridiagonals),
        ("cusolverDnDSgesv_bufferSize", refine::refined),
        ("cusolverDnDSgesv", refine::refined),
        ("cusolverDnDSgels_bufferSize", refine::least_squares),
        ("cusolverDnDSgels", refine::least_squares),
    ];
    for (function, run) in cases {
        let (driver, device) = bench(1);
        driver.fail(function, 0, 7);
        let error = run(&device).unwrap_err();
        assert!(matches!(error, Error::LibraryError { .. }), "{function}: {error:?}");
        driver.clear();
        assert_near(&run(&device).unwrap(), &run(&Device::host().unwrap()).unwrap(), function);
        drop(device);
        driver.assert_finished();
    }
}

#[test]
fn verdicts_come_from_the_infos_with_all_buffers() {
    let (driver, device) = bench(1);
    let solver = device.solver();
    let of = |x: Vec<f64>| -> Vec<_> { x.into_iter().map(|x| Complex::new(x, 0.0)).collect() };
    let singular = up(&device, of(vec![1.0, 2.0, 2.0, 4.0])).with_layout(Layout::columns(2, 2)).unwrap();
    let rejected = solver.lu(singular).unwrap().await_result().unwrap_err();
    assert!(matches!(rejected.error, Error::Singular { position: 2, .. }), "{rejected}");
    assert_eq!(down(&device, &rejected.back.unwrap().2), [2]);
    // The third of three, too few for a batched routine.
    let batch: Vec<f64> = (0..3).flat_map(|k| [4.0, 1.0, 1.0, if k == 2 { -3.0 } else { 3.0 }]).collect();
    let batch = up(&device, of(batch)).with_layout(Layout::columns(2, 2).batch(3, 4)).unwrap();
    let pending = solver.cholesky(Uplo::Lower, batch).unwrap();
    let rejected = pending.await_result().unwrap_err();
    assert!(matches!(rejected.error, Error::NotPositiveDefinite { order: 2, matrix: 2, .. }), "{rejected}");
    assert_eq!(down(&device, &rejected.back.unwrap().1), [0, 0, 2]);
    drop((solver, device));
    driver.assert_finished();
}

#[test]
fn after_a_device_fault_no_handle_is_touched() {
    in_child(&this_test!(), &["700"], |driver, code| {
        let device = device(2);
        by_lu(&device).unwrap();
        driver.fault(code.parse().unwrap());
        let error = by_lu(&device).unwrap_err();
        assert!(error.is_poisoning(), "{error:?}");
        drop(device);
        assert_eq!(driver.calls_of("cusolverDnDestroy"), 0, "they went with their context");
    });
}
