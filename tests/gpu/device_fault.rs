//! A real device fault, one process each: what a program sees when a kernel goes wrong on a GPU.
//!
//! Runs where `WINDLASS_TEST_DEVICE` names a GPU. Each scenario is this very binary started again, because a device fault
//! ends CUDA for its process; that such a process still exits cleanly is part of the claim.

use crate::common;
use crate::faulty;

use common::child::{self, in_a_process_of_its_own};
use common::{InPlace, into_columns};
use faulty::{Faulty, KINDS};
use std::time::{Duration, Instant};
use windlass::{Device, Error, Result, health::Phase};

/// Rows and columns of a product that takes a GPU some 20 ms.
const SIDE: usize = 8192;

/// What happens in the process of one scenario.
fn scenario(number: usize, device: &str) -> Result<()> {
    let kind = KINDS[number];
    let device = Device::named(device)?;
    let host = Device::host()?;
    let x = device.upload(vec![1.0f32; 1 << 20])?.into_output().share();
    let others: Vec<_> = (0..8).map(|_| device.upload(vec![2.0f32; 1 << 20])).collect::<Result<_>>()?;
    // Making a library's handle and loading a kernel meet a fault that is there already: both are done ahead.
    device.blas().warm()?;
    device.blas().nrm2(&x)?.await_result()?;
    let (long, square) = (windlass::Gemm::<f32>::new, [SIDE, SIDE]);
    let (a, b) = (device.zeros(square)?, device.zeros(square)?);
    let y = device.blas().gemm(long(), &a, &b, device.uninit(square)?)?.await_result()?.into_buffer();
    let y = device.dispatch(InPlace(Faulty(0)), (), (y,))?.await_result()?;

    // The fault waits for a long product, and what is submitted meanwhile waits for the fault.
    let y = device.blas().gemm(long(), &a, &b, into_columns(y, SIDE, SIDE))?.into_buffer();
    let ((y,), faulty) = device.dispatch(InPlace(Faulty(number as u32)), (), (y,))?.into_parts();
    let start = Instant::now();
    let after: Vec<_> = (0..64).map(|_| device.blas().nrm2(&y)).collect::<std::result::Result<_, _>>()?;
    println!("{kind}: {} submitted behind it in {:?}", after.len(), start.elapsed());
    let start = Instant::now();
    let error = match faulty.await_timeout(Duration::from_secs(20)) {
        Ok(answer) => answer.expect_err("a fault cannot succeed"),
        Err(_) => panic!("the faulting operation never resolved"),
    };
    let surfaced = start.elapsed();
    println!("{kind}: surfaced after {surfaced:?} as {error}");
    assert!(matches!(error, Error::DeviceLost { .. }), "{error:?}");
    assert!(error.is_poisoning());
    let site = error.site().expect("a place");
    assert!(site.code().is_some() && site.op() == Some("faulty"), "{site}");
    assert!(site.last_ops().any(|op| op == "faulty" || op == "nrm2"), "{site}");

    let start = Instant::now();
    let (mut lost, mut done) = (0, 0);
    for pending in after {
        match pending.await_timeout(Duration::from_secs(1)) {
            Ok(Ok(_)) => done += 1,
            Ok(Err(e)) if e.is_poisoning() => lost += 1,
            Ok(Err(e)) => panic!("{e}"),
            Err(_) => panic!("a pending in flight never resolved"),
        }
    }
    for pending in others {
        match pending.await_timeout(Duration::from_secs(1)) {
            Ok(Ok(_)) => done += 1,
            Ok(Err(e)) if e.error.is_poisoning() => lost += 1,
            Ok(Err(e)) => panic!("{e}"),
            Err(_) => panic!("a pending in flight never resolved"),
        }
    }
    let resolved = start.elapsed();
    assert!(resolved < Duration::from_secs(1), "{resolved:?}");
    println!("{kind}: {lost} pendings lost and {done} done, all resolved in {resolved:?}");
    assert!(lost >= 64, "all that waited for the fault is lost with it");

    // Every later call fails fast, with a type.
    let start = Instant::now();
    for _ in 0..1000 {
        let error = device.blas().nrm2(&x).expect_err("the device is lost");
        assert!(matches!(error, Error::DeviceLost { .. }), "{error:?}");
        assert!(device.upload(vec![1.0f32]).is_err() && device.zeros::<f32>(16).is_err());
    }
    println!("{kind}: a later call fails in {:?}", start.elapsed() / 3000);
    assert_eq!(device.health().phase, Phase::Lost);
    assert!(device.rebuild(Duration::from_secs(1)).is_err());
    let again = Device::cuda(0).and_then(|d| d.upload(vec![1.0f32])?.await_result().map_err(Error::from));
    assert!(again.is_err(), "a device fault ends CUDA for the process");
    // The host engine goes on.
    let z = host.upload(vec![3.0f32, 4.0])?.into_output();
    assert_eq!(host.blas().nrm2(&z)?.await_result()?, 5.0);
    println!("{kind}: stats {:?}", device.stats());
    drop((x, y, a, b, device));
    Ok(())
}

/// A fault on one GPU while another works on: CUDA ends for both, and nothing of the other hangs.
fn two_gpus() -> Result<()> {
    let (bad, good) = (Device::cuda(0)?, Device::cuda(1)?);
    let (long, square) = (windlass::Gemm::<f32>::new, [SIDE, SIDE]);
    let (a, b) = (good.zeros(square)?, good.zeros(square)?);
    let mut y = good.blas().gemm(long(), &a, &b, good.uninit(square)?)?.await_result()?;
    let x = bad.dispatch(InPlace(Faulty(0)), (), (bad.zeros(16)?.into_buffer(),))?.await_result()?;
    // Half a second of work on the good one.
    let mut verdicts = Vec::new();
    for _ in 0..32 {
        let ((next,), verdict) = good.blas().gemm(long(), &a, &b, y)?.into_parts();
        y = next;
        verdicts.push(verdict);
    }
    let error = bad.dispatch(InPlace(Faulty(1)), (), (x,))?.await_result().expect_err("a fault").error;
    assert!(matches!(error, Error::DeviceLost { .. }), "{error:?}");
    let start = Instant::now();
    let (mut lost, mut done) = (0, 0);
    for verdict in verdicts {
        match verdict.await_timeout(Duration::from_secs(1)) {
            Ok(Ok(())) => done += 1,
            Ok(Err(e)) if e.is_poisoning() => lost += 1,
            Ok(Err(e)) => panic!("{e}"),
            Err(_) => panic!("a pending of the other GPU never resolved"),
        }
    }
    println!("two_gpus: {done} done and {lost} lost on the other GPU, all resolved in {:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(1));
    let start = Instant::now();
    let error = good.fill(y.into_buffer(), 1.0).expect_err("CUDA is over in this process").error;
    println!("two_gpus: a later call on it fails in {:?} as {error}", start.elapsed());
    assert!(error.is_poisoning(), "{error:?}");
    assert_eq!((bad.health().phase, good.health().phase), (Phase::Lost, Phase::Lost));
    Ok(())
}

/// A fault while the program holds slices of managed memory: their pages are on the host, and stay readable and writable.
fn slices_of_managed_memory(device: &str) -> Result<()> {
    const N: usize = (8 << 20) / 8 + 3;
    let device = Device::named(device)?;
    let warm = device.dispatch(InPlace(Faulty(0)), (), (device.zeros(16)?.into_buffer(),))?.await_result()?;
    let (mut x, mut y, mut z) = (device.managed::<f64>(N)?, device.managed::<f64>(N)?, device.managed::<f64>(N)?);
    x.host_mut()?.iter_mut().zip(0i32..).for_each(|(x, i)| *x = f64::from(i));
    // The GPU has had the pages of all three, and reads `x` beside its slice.
    x = device.blas().scal(2.0, x)?.await_result()?;
    y = device.fill(y, 3.0)?.await_result()?;
    z = device.fill(z, 5.0)?.await_result()?;
    let read = x.host()?;
    let expected = device.blas().nrm2(&x)?.await_result()?;
    let mut written = y.host_mut()?;
    let late = device.blas().nrm2(&x)?;
    let error = device.dispatch(InPlace(Faulty(1)), (), (warm,))?.await_result().expect_err("a fault").error;
    assert!(matches!(error, Error::DeviceLost { .. }), "{error:?}");
    drop(late.await_result());
    assert_eq!(device.health().phase, Phase::Lost);
    assert!(read.iter().zip(0i32..).all(|(x, i)| *x == f64::from(2 * i)), "what was there is there");
    let norm = read.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!((norm - expected).abs() < 1e-9 * expected, "{norm} and {expected}");
    assert!(written.iter().all(|y| *y == 3.0));
    written.iter_mut().for_each(|y| *y = 7.0);
    assert!(written.iter().all(|y| *y == 7.0));
    // No slice begins on a lost device.
    for refused in [x.host().map(drop), z.host().map(drop), z.host_mut().map(drop)] {
        assert!(refused.expect_err("the device is lost").is_poisoning());
    }
    drop((read, written));
    drop((x, y, z, device));
    Ok(())
}

#[test]
fn child() {
    child::scenario(|kind, device| {
        if kind == "managed" {
            return slices_of_managed_memory(device).expect(kind);
        }
        if kind == "two_gpus" {
            return two_gpus().expect(kind);
        }
        let number = KINDS.into_iter().position(|known| known == kind).expect("a known scenario");
        scenario(number, device).expect(kind);
    });
}

#[test]
fn an_illegal_address_loses_the_device_and_nothing_else() {
    in_a_process_of_its_own(module_path!(), "illegal address");
}

#[test]
fn a_misaligned_address_loses_the_device_and_nothing_else() {
    in_a_process_of_its_own(module_path!(), "misaligned");
}

#[test]
fn an_access_out_of_bounds_loses_the_device_and_nothing_else() {
    in_a_process_of_its_own(module_path!(), "out of bounds");
}

#[test]
fn a_trap_loses_the_device_and_nothing_else() {
    in_a_process_of_its_own(module_path!(), "trap");
}

#[test]
fn a_failed_assertion_loses_the_device_and_nothing_else() {
    in_a_process_of_its_own(module_path!(), "assert");
}

#[test]
fn a_recursion_without_end_loses_the_device_and_nothing_else() {
    in_a_process_of_its_own(module_path!(), "recursion");
}

#[test]
fn a_fault_leaves_slices_of_managed_memory_readable_and_writable() {
    in_a_process_of_its_own(module_path!(), "managed");
}

#[test]
fn a_fault_on_one_gpu_ends_the_other_and_nothing_hangs() {
    if child::gpu().is_some() && Device::cuda_count() < 2 {
        eprintln!("skipped: this machine has no second GPU");
        return;
    }
    in_a_process_of_its_own(module_path!(), "two_gpus");
}
