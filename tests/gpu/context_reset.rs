//! Somebody else resets the primary context of a GPU under a device: what the program sees, and that the device comes
//! back. One process each, for the driver owes nobody an answer here.
//!
//! Runs where `WINDLASS_TEST_DEVICE` names a GPU; `tests/standin/rebuild.rs` has the same on the stand-in driver.

use crate::common;

use common::child::{self, in_a_process_of_its_own};
use cudarc::driver::sys;
use std::time::{Duration, Instant};
use windlass::{Device, Error, health::Phase};

const LIMIT: Duration = Duration::from_secs(20);

/// What another library of the process might do.
fn reset() {
    // SAFETY: the driver was started; nobody is inside it.
    let code = unsafe { sys::cuDevicePrimaryCtxReset_v2(0) };
    assert_eq!(code, sys::CUresult::CUDA_SUCCESS);
}

/// Makes the primary context current on this thread, as a program of its own would.
fn make_current() {
    let mut context = std::ptr::null_mut();
    // SAFETY: both are valid; it is given back with the process.
    unsafe {
        assert_eq!(sys::cuDevicePrimaryCtxRetain(&mut context, 0), sys::CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuCtxSetCurrent(context), sys::CUresult::CUDA_SUCCESS);
    }
}

fn print_cost_of_looking() {
    let (mut flags, mut active) = (0, 0);
    let start = Instant::now();
    for _ in 0..100_000 {
        // SAFETY: both pointers are valid.
        let _ = unsafe { sys::cuDevicePrimaryCtxGetState(0, &mut flags, &mut active) };
    }
    println!("cuDevicePrimaryCtxGetState: {:.1} ns", start.elapsed().as_secs_f64() * 1e9 / 1e5);
}

fn heals(device: &Device) {
    device.wait_healthy(LIMIT).expect("healthy again");
    assert_eq!((device.generation(), device.health().phase), (1, Phase::Healthy));
    let y = device.upload(vec![3.0f32, 4.0]).unwrap().into_output();
    assert_eq!(device.blas().nrm2(&y).unwrap().await_result().unwrap(), 5.0);
}

/// Of the primary context: its address and its number.
fn retain() -> (sys::CUcontext, u64) {
    let (mut context, mut id) = (std::ptr::null_mut(), 0);
    // SAFETY: the driver was started; both are valid for the writes.
    unsafe {
        assert_eq!(sys::cuDevicePrimaryCtxRetain(&mut context, 0), sys::CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuCtxGetId(context, &mut id), sys::CUresult::CUDA_SUCCESS);
    }
    (context, id)
}

fn numbers() {
    cudarc::driver::result::init().unwrap();
    let before = retain();
    reset();
    let after = retain();
    println!("(address, number) {before:?}, then {after:?}");
    assert_ne!(before.1, after.1, "nothing tells them apart");
}

fn scenario(kind: &str, device: &str) {
    if kind == "numbers" {
        return numbers();
    }
    let device = Device::named(device).unwrap();
    let x = device.upload(vec![1.0f32; 1 << 20]).unwrap().await_result().unwrap();
    print_cost_of_looking();
    if matches!(kind, "current" | "library") {
        make_current();
    }
    if matches!(kind, "warm" | "library") {
        device.blas().warm().unwrap();
    }
    reset();
    // The driver looks at its context in every call of its own; a library may not.
    let submitted = if kind == "library" {
        crate::common::buffer(device.blas().scal(2.0, x))
    } else {
        crate::common::buffer(device.fill(x, 2.0))
    };
    let error = match submitted {
        Err(rejected) => rejected.error,
        Ok(pending) => pending.await_result().expect_err("its stream is gone").error,
    };
    println!("{kind}: {error}");
    assert!(matches!(error, Error::ContextPoisoned { .. } | Error::GpuRefStale { .. }), "{error:?}");
    heals(&device);
}

#[test]
fn child() {
    child::scenario(scenario);
}

#[test]
fn a_reset_is_seen_by_a_thread_without_a_context() {
    in_a_process_of_its_own(module_path!(), "none");
}

#[test]
fn a_reset_is_seen_by_a_thread_whose_context_it_is() {
    in_a_process_of_its_own(module_path!(), "current");
}

#[test]
fn a_reset_is_survived_with_library_handles_made() {
    in_a_process_of_its_own(module_path!(), "warm");
}

#[test]
fn a_reset_is_seen_before_a_library_is_called_by_a_thread_whose_context_it_is() {
    in_a_process_of_its_own(module_path!(), "library");
}

/// What a look at the state cannot tell: see `Context::bind`.
#[test]
fn a_context_that_was_made_anew_has_another_number() {
    in_a_process_of_its_own(module_path!(), "numbers");
}
