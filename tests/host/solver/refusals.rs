//! Bad input: a typed error that names the argument, before anything is done, and all buffers back.

use crate::common::{devices, down, up};
use windlass::solver::{Matrix, Structure};
use windlass::{Complex, Device, Error, Rejected, Side, Transpose, Uplo};

/// The argument that a refusal names; the buffers must be back.
#[track_caller]
fn refused<O, B>(answer: Result<O, Rejected<B>>) -> String {
    let Err(Rejected { error, back }) = answer else { panic!("it was not refused") };
    assert!(back.is_some(), "buffers come back with {error}");
    match error {
        Error::InvalidArgument { argument, .. } => argument.to_string(),
        other => panic!("{other}"),
    }
}

fn buffer(device: &Device, len: usize) -> windlass::DeviceBuffer<f64> {
    up(device, vec![1.0; len])
}

#[test]
fn shapes_that_do_not_fit_their_buffers_are_refused() {
    for device in devices() {
        let (solver, x) = (device.solver(), |len| buffer(&device, len));
        let huge = usize::MAX / 2;
        for shape in [
            Matrix::square(3),
            Matrix::square(2).ld(1),
            Matrix::square(2).ld(7),
            Matrix::square(2).batch(3),
            Matrix::square(1).batch(3).stride(0),
            Matrix::square(2).batch(2).stride(2),
            Matrix::square(huge),
            Matrix::new(huge, 0),
            Matrix::new(1, 1).ld(huge),
            Matrix::new(1, 1).batch(huge),
            Matrix::new(1, 1).batch(2).stride(huge),
        ] {
            assert_eq!(refused(solver.lu(shape, x(8))), "a", "{shape:?}");
            assert_eq!(refused(solver.cholesky(Uplo::Lower, shape, x(8))), "a", "{shape:?}");
            assert_eq!(refused(solver.qr(shape, x(8))), "a", "{shape:?}");
            assert_eq!(
                refused(solver.solve(Structure::General, shape, x(8), Matrix::new(2, 1), x(2))),
                "a",
                "{shape:?}"
            );
        }
        assert_eq!(refused(solver.cholesky(Uplo::Upper, Matrix::new(2, 3), x(8))), "a");
        let short = solver.getrf(Matrix::square(2), x(4), up(&device, vec![0i64; 1]), up(&device, vec![0; 1]));
        assert_eq!(refused(short), "pivots");
        let short = solver.getrf(Matrix::square(2).batch(2), x(8), up(&device, vec![0i64; 4]), up(&device, vec![0; 1]));
        assert_eq!(refused(short), "info");
        assert_eq!(refused(solver.geqrf(Matrix::square(3), x(9), x(2))), "tau");
    }
}

#[test]
fn operands_that_do_not_agree_are_refused_and_come_back_whole() {
    for device in devices() {
        let (solver, x) = (device.solver(), |len| buffer(&device, len));
        let lu = solver.lu(Matrix::square(1).batch(2), x(2)).unwrap().await_result().unwrap();
        for of_b in [Matrix::new(2, 1).batch(2), Matrix::new(1, 1), Matrix::new(1, 9).batch(2)] {
            let rejected = lu.solve(&solver, Transpose::No, of_b, up(&device, vec![1.0, 2.0, 3.0])).unwrap_err();
            let (back,) = rejected.back.expect("B comes back");
            assert_eq!(down(&device, &back), [1.0, 2.0, 3.0]);
        }
        let a = up(&device, vec![Complex::new(1.0f32, 2.0); 6]);
        let qr = solver.qr(Matrix::new(3, 2), a).unwrap().await_result().unwrap();
        let c = || up(&device, vec![Complex::new(1.0f32, 0.0); 9]);
        let apply = |side, trans, of_c| qr.apply(&solver, side, trans, of_c, c());
        assert_eq!(refused(apply(Side::Left, Transpose::Yes, Matrix::square(3))), "trans");
        assert_eq!(refused(apply(Side::Left, Transpose::No, Matrix::new(2, 3))), "c");
        assert_eq!(refused(apply(Side::Right, Transpose::No, Matrix::new(3, 2))), "c");
        assert_eq!(refused(solver.orgqr(qr.matrix(), qr.factors(), qr.tau(), Matrix::new(3, 4), c())), "q");
        assert_eq!(refused(solver.orgqr(qr.matrix(), qr.factors(), qr.tau(), Matrix::new(2, 2), c())), "q");
        let wide = solver.qr(Matrix::new(1, 2), x(2)).unwrap().await_result().unwrap();
        assert_eq!(refused(wide.solve(&solver, Matrix::new(1, 1), x(1))), "a");
        let rejected = solver.solve(Structure::General, Matrix::new(1, 2), x(2), Matrix::new(1, 1), x(1));
        assert_eq!(refused(rejected), "b");
    }
}

#[test]
fn pivots_that_are_no_rows_break_nothing() {
    for device in devices() {
        if device.kind() != windlass::DeviceKind::Host {
            continue; // The library follows them: what they are is the caller's promise there.
        }
        let (solver, pivots) = (device.solver(), up(&device, vec![i64::MAX, -5, 0]));
        let (a, b) = (buffer(&device, 9), buffer(&device, 3));
        let x = solver.getrs(Transpose::No, Matrix::square(3), &a, &pivots, Matrix::new(3, 1), b).unwrap();
        x.await_result().unwrap();
    }
}
