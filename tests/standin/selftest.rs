//! The stand-in for the CUDA libraries does what it says, and cudarc finds it.

use crate::standin;

use std::process::Command;

/// The claims themselves are in `standin/selftest.c`, close to what they are about.
#[test]
fn every_claim_of_the_self_test_holds() {
    let program = standin::driver().folder().join("selftest");
    let done = Command::new(program).output();
    let done = done.unwrap_or_else(|error| panic!("the self-test does not start: {error}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

/// For programs that are to run on the stand-in: see `standin/mod.rs`.
#[test]
fn the_folder_for_other_programs_is_told() {
    let driver = standin::driver();
    for (variable, folder) in driver.environment() {
        println!("{variable}={}", folder.display());
        assert!(folder.join("libcuda.so.1").is_file() && folder.join("libcublas.so.13").is_file());
    }
}

#[test]
fn cudarc_finds_the_stand_in_under_the_real_names() {
    use cudarc::driver::{result, sys};

    let driver = standin::session();
    driver.set_device_count(3);
    driver.log(true);
    // SAFETY: it only opens the library, which is there.
    assert!(unsafe { sys::is_culib_present() });
    assert_eq!(result::init(), Ok(()));
    assert_eq!(result::device::get_count(), Ok(3));
    assert_eq!(driver.take_log(), ["cuInit -> 0", "cuDeviceGetCount -> 0"]);

    driver.fail("cuDeviceGet", 0, 999);
    assert_eq!(result::device::get(0).map_err(|error| error.0), Err(sys::CUresult::CUDA_ERROR_UNKNOWN));
    let device = result::device::get(0);
    let device = device.unwrap_or_else(|error| panic!("the failure was for one call: {error:?}"));
    // SAFETY: the device was just found.
    let context = unsafe { result::primary_ctx::retain(device) };
    let context = context.unwrap_or_else(|error| panic!("a healthy device retains: {error:?}"));
    assert_eq!(driver.live("contexts"), 1);
    driver.assert_clean();
    assert!(result::stream::create(result::stream::StreamKind::NonBlocking).is_err());
    assert_eq!(driver.violations(), ["called with no context current (in cuStreamCreate)"]);
    driver.clear_violations();

    // SAFETY: the context is retained.
    assert_eq!(unsafe { result::ctx::set_current(context) }, Ok(()));
    let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
    let stream = stream.unwrap_or_else(|error| panic!("a stream in a live context: {error:?}"));
    // SAFETY: the stream is ours and is not used again; so is the context.
    unsafe {
        assert_eq!(result::stream::synchronize(stream), Ok(()));
        assert_eq!(result::stream::destroy(stream), Ok(()));
        assert_eq!(result::ctx::set_current(std::ptr::null_mut()), Ok(()));
        assert_eq!(result::primary_ctx::release(device), Ok(()));
    }
    assert_eq!((driver.live("streams"), driver.live("contexts")), (0, 0));
    driver.assert_clean();
}

#[test]
fn cublas_answers_through_cudarc() {
    let driver = standin::session();
    // SAFETY: it only opens the library, which is there.
    assert!(unsafe { cudarc::cublas::sys::is_culib_present() });
    driver.fail("cublasCreate", 0, 3);
    let status = cudarc::cublas::result::create_handle().map_err(|error| error.0);
    assert_eq!(status, Err(cudarc::cublas::sys::cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED));
    driver.assert_clean();
}
