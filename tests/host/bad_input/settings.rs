//! Devices that cannot be opened as they are asked for, and the limits of those that can.

use super::assert_refused;
use crate::common::{self, builders, devices, down, host, refused};
use std::sync::atomic::{AtomicBool, Ordering};
use windlass::{Device, Error, HostPool, op::InFlight};

#[test]
fn devices_that_do_not_exist_are_refused() {
    for name in ["hots", "cuda:", "cuda:x", "cuda:-1", "cuda:1:2", "cuda:99999999999999999999999", "gpu", "host:0"] {
        assert_refused(&Device::named(name).unwrap_err(), "device", &[name]);
    }
    assert!(Device::named(" host ").is_ok(), "white space around a name does no harm");
    // No machine has that many: what is missing is the driver or the device, and either is said.
    for ordinal in [4096, usize::MAX] {
        match Device::cuda(ordinal).unwrap_err() {
            Error::LibraryMissing { tried, .. } => assert!(!tried.is_empty()),
            Error::Unsupported { .. } if !cfg!(feature = "cuda") => {}
            error => assert!(refused(&error).1.contains(&ordinal.to_string()), "{error}"),
        }
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    for builder in builders() {
        let refusals = [
            (builder.clone().slots(0), "slots", "0"),
            (builder.clone().slots(usize::MAX), "slots", &*usize::MAX.to_string()),
            (builder.clone().memory_limit(0), "memory_limit", "0"),
            (builder.clone().staging_limit(0), "staging_limit", "0"),
            (builder.clone().in_flight(InFlight::Wait(0)), "in_flight", "0"),
            (builder.clone().in_flight(InFlight::Busy(0)), "in_flight", "0"),
        ];
        for (builder, argument, value) in refusals {
            assert_refused(&builder.open().unwrap_err(), argument, &[value]);
        }
    }
    let error = Device::builder().host().host_pool(HostPool::Threads(0)).open().unwrap_err();
    assert_refused(&error, "threads", &["0"]);
}

#[test]
fn the_memory_limit_holds_and_what_is_given_back_can_be_had_again() {
    for builder in builders() {
        let device = builder.memory_limit(1 << 20).open().unwrap();
        let half = device.zeros::<u8>(1 << 19).unwrap();
        let error = device.zeros::<u8>((1 << 19) + 1).unwrap_err();
        match &error {
            Error::OutOfMemory { requested, free, limit, .. } => {
                assert_eq!((*requested, *free, *limit), ((1 << 19) + 1, 1 << 19, 1 << 20));
            }
            other => panic!("{other}"),
        }
        assert!(error.is_retryable());
        assert_eq!(error.site().and_then(|s| s.device()), Some(&*device.name()));
        let rest = device.upload(vec![1u8; 1 << 19]).unwrap().into_output();
        assert!(device.upload([1u8]).is_err() && device.duplicate(&rest).is_err());
        assert_eq!(device.stats().bytes_used, 1 << 20);
        drop((half, rest));
        assert!(common::eventually(10, || device.zeros::<u8>(1 << 20).is_ok()));
        assert_eq!((device.memory().unwrap().limit, device.stats().bytes_limit), (1 << 20, 1 << 20));
    }
}

#[test]
fn a_request_that_is_refused_takes_no_memory_from_others() {
    for device in devices() {
        let stop = AtomicBool::new(false);
        let refusals = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        assert!(device.uninit::<u8>(1 << 60).is_err());
                    }
                });
            }
            let refusals = (0..10_000).filter(|_| device.uninit::<u8>(8).is_err());
            let refusals = refusals.count();
            stop.store(true, Ordering::Relaxed);
            refusals
        });
        assert_eq!(refusals, 0, "requests for 8 bytes were refused while others asked for too much");
    }
}

#[test]
fn settings_that_work_are_accepted_at_their_least() {
    let device = host(1).slots(1).staging_limit(1).in_flight(InFlight::Wait(1)).memory_limit(8).open().unwrap();
    let x = device.upload([1.0f64]).unwrap().into_output();
    let x = device.blas().scal(2.0, x).unwrap().into_buffer();
    assert_eq!(down(&device, &x), [2.0]);
}

#[test]
fn a_builder_shows_its_settings() {
    let builder = common::host(3).memory_limit(12_345).slots(7).before_admission(|_| Ok(()));
    let text = format!("{builder:?}");
    assert!(["Host", "12345", "slots: 7", "Threads(3)", "hooks: 1"].iter().all(|part| text.contains(part)), "{text}");
}
