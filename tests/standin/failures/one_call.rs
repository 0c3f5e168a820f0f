//! One call by its name, that fails on a warm device: what is told of it, and what comes after.

use super::{assert_works, common, open, wait};
use crate::standin::{Current, Driver, Mode, session};
use common::{buffer, columns, into_columns};
use windlass::{Device, DeviceBuffer, Error, Gemm};

/// A warm device with two buffers of ones.
fn ready(driver: &Driver) -> (Device, DeviceBuffer<f32>, DeviceBuffer<f32>) {
    driver.reset();
    let device = open().expect("the stand-in opens");
    assert_works(&device);
    let x = device.upload([1.0f32; 4]).unwrap().await_result().unwrap();
    let y = device.upload([1.0f32; 4]).unwrap().await_result().unwrap();
    (device, x, y)
}

/// Runs `f` on a warm device with that call failing, and everything again without.
fn fails<R>(
    driver: &Driver,
    call: &str,
    code: i32,
    f: impl Fn(&Device, DeviceBuffer<f32>, DeviceBuffer<f32>) -> R,
) -> R {
    let (device, x, y) = ready(driver);
    driver.await_rest(); // else the housekeeping thread may be the one to fail
    driver.fail(call, 0, code);
    let answer = f(&device, x, y);
    assert_eq!(driver.failed(), 1, "{call} was not called");
    driver.clear();
    assert_works(&device);
    drop(device);
    driver.assert_finished();
    answer
}

/// An operation on two buffers whose submission fails: the buffer comes back.
fn rejected(device: &Device, x: &DeviceBuffer<f32>, y: DeviceBuffer<f32>) -> (Error, DeviceBuffer<f32>) {
    let rejected = buffer(device.blas().axpy(1.0, x, y)).expect_err("the call was to fail");
    (rejected.error, rejected.back.expect("the buffer comes back").0)
}

#[test]
fn a_failed_record_gives_the_buffer_back_without_contents_until_it_is_overwritten() {
    let driver = session();
    fails(&driver, "cuEventRecord", 1, |device, x, y| {
        let (error, y) = rejected(device, &x, y);
        assert_eq!((error.site().unwrap().code(), error.site().unwrap().op()), (Some(1), Some("axpy")));
        let read = device.blas().dot(&x, &y).map(drop).expect_err("it has no contents");
        assert!(matches!(read, Error::Upstream { .. }), "{read:?}");
        let y = device.fill(y, 2.0).expect("it can be overwritten").into_output();
        assert_eq!(wait(device.blas().dot(&x, &y).unwrap()), Ok(8.0));
    });
}

#[test]
fn a_failed_launch_of_the_library_is_told_under_its_name() {
    let driver = session();
    for (call, code, name) in
        [("cublasAxpyEx", 13, "CUBLAS_STATUS_EXECUTION_FAILED"), ("cublasAxpyEx", 7, "CUBLAS_STATUS_INVALID_VALUE")]
    {
        fails(&driver, call, code, |device, x, y| {
            let (error, y) = rejected(device, &x, y);
            let site = error.site().unwrap();
            assert_eq!((site.library(), site.code(), site.code_name()), (Some("blas"), Some(code), Some(name)));
            drop((x, y));
        });
    }
    fails(&driver, "cublasGemmEx", 14, |device, x, y| {
        let (x, y) = (columns(&x, 2, 2), into_columns(y, 2, 2));
        let rejected = device.blas().gemm(Gemm::new(), &x, &x, y).expect_err("the call was to fail");
        assert!(matches!(rejected.error, Error::LibraryError { .. }) && rejected.back.is_some());
    });
}

#[test]
fn a_pointer_mode_that_could_not_be_set_is_set_by_the_next_call() {
    let driver = session();
    fails(&driver, "cublasSetPointerMode", 14, |device, x, y| {
        // Both directions: one of them sets the mode, whatever it was.
        let (mut errors, mut y) = (0, y);
        for _ in 0..2 {
            errors += device.blas().dot(&x, &x).map(|p| assert_eq!(wait(p), Ok(4.0))).is_err() as u32;
            y = match buffer(device.blas().axpy(1.0, &x, y)) {
                Ok(pending) => pending.into_output(),
                Err(rejected) => {
                    errors += 1;
                    device.fill(rejected.back.unwrap().0, 1.0).unwrap().into_buffer()
                }
            };
            assert_eq!(wait(device.blas().dot(&x, &x).unwrap()), Ok(4.0), "the mode was taken for set");
        }
        assert_eq!(errors, 1);
    });
}

#[test]
fn a_mode_that_could_not_be_set_is_set_by_the_next_call() {
    let driver = session();
    for call in ["cublasSetMathMode", "cublasSetAtomicsMode"] {
        fails(&driver, call, 14, |device, x, y| {
            let blas = device.blas().math(windlass::blas::Math::Pedantic).atomics(true);
            let y = match buffer(blas.axpy(1.0, &x, y)) {
                Ok(_) => panic!("the mode was to be refused"),
                Err(rejected) => device.fill(rejected.back.unwrap().0, 1.0).unwrap().into_output(),
            };
            let before = driver.calls_of(call);
            drop(blas.axpy(1.0, &x, y).unwrap());
            assert_eq!(driver.calls_of(call), before + 1, "the mode was taken for set");
        });
    }
    // A library that does not know the mode is an answer of its own.
    fails(&driver, "cublasSetMathMode", 7, |device, x, y| {
        let rejected = device.blas().math(windlass::blas::Math::EmulatedBf16x9).axpy(1.0, &x, y).unwrap_err();
        assert!(matches!(rejected.error, Error::Unsupported { .. }), "{rejected}");
    });
}

#[test]
fn what_fails_before_anything_was_enqueued_leaves_the_contents() {
    let driver = session();
    // Without events left, one has to be made.
    fails(&driver, "cuEventCreate", 2, |device, x, y| {
        driver.mode(Mode::Manual);
        let (mut y, mut errors) = (y, 0);
        for _ in 0..200 {
            y = match buffer(device.blas().axpy(1.0, &x, y)) {
                Ok(pending) => pending.into_output(),
                Err(rejected) => {
                    errors += 1;
                    device.fill(rejected.back.unwrap().0, 0.0).unwrap().into_buffer()
                }
            };
        }
        assert_eq!(errors, 1);
        driver.mode(Mode::Eager);
        assert!(wait(device.blas().dot(&x, &y).unwrap()).unwrap() < 800.0);
    });
    fails(&driver, "cuStreamWaitEvent", 1, |device, x, y| {
        driver.mode(Mode::Manual);
        let (x, y) = (device.fill(x, 2.0).unwrap().into_buffer(), device.fill(y, 3.0).unwrap().into_buffer());
        let (_, y) = rejected(device, &x, y);
        let y = device.blas().axpy(1.0, &x, y).expect("its contents are as before").into_buffer();
        driver.mode(Mode::Eager);
        assert_eq!(common::down(device, &y), [5.0; 4]);
    });
    for call in ["cuCtxGetCurrent", "cuCtxSetCurrent"] {
        fails(&driver, call, 1, |device, x, y| {
            let (_, y) = rejected(device, &x, y);
            assert_eq!(common::down(device, &y), [1.0; 4]);
        });
    }
    let (device, x, y) = ready(&driver);
    let current = Current::of(0); // where it is current, its state is asked for
    driver.fail("cuDevicePrimaryCtxGetState", 0, 1);
    let (_, y) = rejected(&device, &x, y);
    assert_eq!((driver.failed(), common::down(&device, &y)), (1, vec![1.0; 4]));
    drop((x, y, device, current));
    driver.assert_finished();
}

#[test]
fn a_refused_copy_is_told_and_a_refused_allocation_is_tried_again_only_for_want_of_memory() {
    let driver = session();
    for (call, code) in [("cuMemcpyHtoDAsync", 1), ("cuMemAllocFromPoolAsync", 1)] {
        let error =
            fails(&driver, call, code, |device, _, _| device.upload([1.0f32; 4]).map(drop).expect_err("refused"));
        assert_eq!(error.site().unwrap().code(), Some(code), "{call}");
    }
    let out_of_memory = |device: &Device, _, _| {
        let before = driver.calls_of("cuMemPoolTrimTo");
        let x = device.upload([1.0f32; 4]).expect("the second attempt finds room").into_output();
        assert_eq!(common::down(device, &x), [1.0; 4]);
        assert!(driver.calls_of("cuMemPoolTrimTo") > before, "the pool was trimmed meanwhile");
    };
    fails(&driver, "cuMemAllocFromPoolAsync", 2, out_of_memory);
    let error =
        fails(&driver, "cuMemcpyDtoHAsync", 1, |device, x, _| device.download(&x).map(drop).expect_err("refused"));
    assert_eq!(error.site().unwrap().op(), Some("download"));
    let error = fails(&driver, "cuMemHostAlloc", 2, |device, _, _| {
        device.upload(vec![1u8; 3 << 20]).map(drop).expect_err("a block of a size not seen before")
    });
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
}
