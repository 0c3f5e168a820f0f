//! A real device fault, one process each: what a program sees when a kernel goes wrong on a GPU.
//!
//! Runs where `WINDLASS_TEST_DEVICE` names a GPU. Each scenario is this very binary started again, because a device fault
//! ends CUDA for its process; that such a process still exits cleanly is part of the claim.

#![cfg(feature = "cuda")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::child::{self, in_a_process_of_its_own};
use std::time::{Duration, Instant};
use windlass::{Device, DeviceBuffer, Enqueue, Error, Op, Phase, Result, Slices, SlicesMut, Spans};

/// A kernel that faults.
struct Faulty(&'static str);

#[cfg(feature = "cuda")]
static KERNELS: windlass::Ptx = windlass::Ptx::new(
    "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry illegal_address(.param .u64 p) {
    .reg .u64 %a;
    mov.u64 %a, 16;
    st.global.u32 [%a], 1;
    ret;
}
.visible .entry misaligned(.param .u64 p) {
    .reg .u64 %a;
    ld.param.u64 %a, [p];
    add.u64 %a, %a, 1;
    st.global.u32 [%a], 1;
    ret;
}
.visible .entry out_of_bounds(.param .u64 p) {
    .reg .u64 %a;
    ld.param.u64 %a, [p];
    add.u64 %a, %a, 0x40000000000;
    st.global.u32 [%a], 1;
    ret;
}
.visible .entry trap_now(.param .u64 p) {
    trap;
    ret;
}
",
);

impl Op for Faulty {
    const NAME: &'static str = "faulty";
    type Reads = ();
    type Output = DeviceBuffer<f32>;
    type Raw = ();
    fn check(&self, (): &Spans<()>, _: &Spans<(f32,)>) -> Result<()> {
        Ok(())
    }
    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("a fault of a GPU"))
    }
    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let (x,) = *queue.writes();
        let name = match self.0 {
            "illegal_address" => c"illegal_address",
            "misaligned" => c"misaligned",
            "out_of_bounds" => c"out_of_bounds",
            _ => c"trap_now",
        };
        let dims = windlass::LaunchDims::for_elements(1)?;
        // SAFETY: one parameter, the address; that the kernel breaks its promise is the point of the test.
        unsafe { queue.launch(&KERNELS, name, dims, &[x.into()]) }
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// What happens in the process of one scenario.
fn scenario(kind: &'static str, device: &str) -> Result<()> {
    let device = Device::named(device)?;
    let host = Device::host()?;
    let x = device.upload(vec![1.0f32; 1 << 20])?.into_output().share();
    let others: Vec<_> = (0..8).map(|_| device.upload(vec![2.0f32; 1 << 20])).collect::<Result<_>>()?;
    let faulty = device.dispatch(Faulty(kind), (), (device.zeros(4)?,))?;
    let after: Vec<_> = (0..64).filter_map(|_| device.blas().nrm2(&x).ok()).collect();
    let start = Instant::now();
    let rejected = match faulty.await_timeout(Duration::from_secs(20)) {
        Ok(answer) => answer.map(drop).expect_err("a fault cannot succeed"),
        Err(_) => panic!("the faulting operation never resolved"),
    };
    let surfaced = start.elapsed();
    println!("{kind}: surfaced after {surfaced:?} as {}", rejected.error);
    assert!(matches!(rejected.error, Error::DeviceLost { .. }), "{:?}", rejected.error);
    assert!(rejected.error.is_poisoning());
    let site = rejected.error.site().expect("a place");
    assert!(site.code().is_some() && site.last_ops().any(|op| op == "faulty"), "{site}");

    let start = Instant::now();
    let (mut lost, mut done) = (0, 0);
    for pending in after {
        match pending.await_timeout(Duration::from_secs(1)) {
            Ok(Ok(_)) => done += 1,
            Ok(Err(e)) if e.error.is_poisoning() => lost += 1,
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
    let y = host.upload(vec![3.0f32, 4.0])?.into_output();
    assert_eq!(host.blas().nrm2(&y)?.await_result()?, 5.0);
    println!("{kind}: stats {:?}", device.stats());
    drop((x, device));
    Ok(())
}

#[test]
fn child() {
    child::scenario(|kind, device| {
        let kinds = ["illegal_address", "misaligned", "out_of_bounds", "trap_now"];
        let kind = kinds.into_iter().find(|k| *k == kind).expect("a known scenario");
        scenario(kind, device).expect(kind);
    });
}

#[test]
fn an_illegal_address_loses_the_device_and_nothing_else() {
    in_a_process_of_its_own("illegal_address");
}

#[test]
fn a_misaligned_address_loses_the_device_and_nothing_else() {
    in_a_process_of_its_own("misaligned");
}

#[test]
fn an_access_out_of_bounds_loses_the_device_and_nothing_else() {
    in_a_process_of_its_own("out_of_bounds");
}

#[test]
fn a_trap_loses_the_device_and_nothing_else() {
    in_a_process_of_its_own("trap_now");
}
