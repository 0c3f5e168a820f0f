//! Finding GPUs: what each says of itself, and the ways to a device where one of them is out of order.

use crate::common;
use crate::standin;

use common::{down, up};
use standin::{Session, session};
use windlass::loader::Library;
use windlass::{Device, DeviceKind, Error};

/// Somebody else has it to himself.
const UNAVAILABLE: i32 = 46;
const NOT_PERMITTED: i32 = 800;

fn with(devices: i32) -> Session {
    let driver = session();
    driver.set_device_count(devices);
    driver
}

/// Each by the last byte of its UUID, which the stand-in makes the ordinal.
fn ordinals(devices: &[Device]) -> Vec<u8> {
    devices.iter().map(|device| device.info().uuid.expect("a GPU has one")[15]).collect()
}

#[test]
fn every_gpu_says_which_one_it_is() {
    let driver = with(3);
    assert_eq!(Device::cuda_count(), 3);
    let all = Device::all().unwrap();
    assert_eq!(ordinals(&all), [0, 1, 2]);
    let info = all[2].info();
    assert_eq!(
        (info.kind, info.name.as_str(), info.pci.as_deref()),
        (DeviceKind::Cuda, "Stand-in GPU", Some("0000:03:00.0"))
    );
    assert_eq!(info.uuid_text().unwrap(), "GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a02");
    assert!(info.compute_capability.is_some() && info.driver_version.is_some() && info.processors > 0);
    assert!(info.total_memory > 0 && !info.shared_by_mps);
    let host = Device::host().unwrap();
    assert_eq!((host.info().uuid_text(), host.info().pci.as_deref()), (None, None));
    drop(all);
    driver.assert_finished();
}

/// Each tells its version when somebody asks, and not before.
#[test]
fn libraries_tell_their_versions_to_who_asks() {
    let driver = with(1);
    let (device, host) = (Device::cuda(0).unwrap(), Device::host().unwrap());
    let asked = || ["cublasGetProperty", "cublasLtGetProperty"].map(|function| driver.calls_of(function));
    assert_eq!(asked(), [0, 0]);
    let version = |device: &Device, library| device.library_version(library).unwrap().map(|v| v.to_string());
    assert_eq!(version(&host, Library::Cublas), None);
    assert_eq!(asked(), [0, 0]);
    assert_eq!(version(&device, Library::Cublas).as_deref(), Some("13.0.0"));
    assert_eq!(version(&device, Library::CublasLt).as_deref(), Some("13.0.2"));
    assert_eq!(asked(), [3, 3]);
    let of_driver = device.library_version(Library::Driver).unwrap().expect("it tells");
    assert_eq!(of_driver.major * 1000 + of_driver.minor * 10, device.info().driver_version.unwrap());
    // A library that refuses to say has no version.
    driver.fail("cublasGetProperty", 1, 1);
    assert_eq!(version(&device, Library::Cublas), None);
    drop((device, host));
    driver.assert_finished();
}

/// What no place has is missing, with the account of all that were searched; what works without a GPU is the same for all.
#[test]
fn a_library_that_is_not_there_is_missing_and_breaks_nothing() {
    let driver = with(1);
    let (device, host) = (Device::cuda(0).unwrap(), Device::host().unwrap());
    let before = device.stats().errors;
    match device.library_version(Library::Curand) {
        Err(Error::LibraryMissing { library, tried, help, .. }) => {
            assert_eq!(library, "cuRAND");
            assert!(!tried.is_empty() && !help.is_empty(), "{tried:?} {help}");
            assert_ne!(device.stats().errors, before, "it is counted");
        }
        other => assert!(matches!(other, Ok(Some(_))), "{other:?}"), // a machine that has one
    }
    assert_eq!(device.library_version(Library::Nvrtc), host.library_version(Library::Nvrtc));
    assert_eq!(down(&device, &up(&device, [7u8])), [7]);
    drop((device, host));
    driver.assert_finished();
}

#[test]
fn a_gpu_that_does_not_open_is_left_out() {
    for (bad, rest) in [(0, [1, 2]), (1, [0, 2]), (2, [0, 1])] {
        let driver = with(3);
        driver.fail("cuDevicePrimaryCtxRetain", bad, UNAVAILABLE);
        let all = Device::all().unwrap();
        assert_eq!(ordinals(&all), rest);
        assert!(all.iter().all(|device| down(device, &up(device, [7u8])) == [7]));
        drop(all);
        driver.assert_finished();
    }
}

#[test]
fn best_is_the_first_gpu_that_opens() {
    let driver = with(3);
    driver.fail("cuDevicePrimaryCtxRetain", 0, UNAVAILABLE);
    driver.fail("cuDevicePrimaryCtxRetain", 1, NOT_PERMITTED);
    let best = Device::best().unwrap();
    assert_eq!(ordinals(std::slice::from_ref(&best)), [2]);
    let passed_over = &best.info().passed_over;
    assert!(passed_over.len() == 2 && passed_over[1].starts_with("cuda:1 cannot be opened"), "{passed_over:?}");
    assert!(Device::cuda(2).unwrap().info().passed_over.is_empty(), "it was asked for by name");
    drop(best);
    driver.assert_finished();
}

/// The stand-in has no cuDNN and no NCCL; a machine that has them all keeps its GPU.
#[test]
fn a_gpu_without_a_library_that_is_needed_is_passed_over_and_can_still_be_opened() {
    let driver = with(2);
    let before = driver.calls_of("cublasCreate");
    let best = Device::best_with(&[Library::Cublas]).unwrap();
    assert_eq!((best.kind(), best.info().passed_over.len()), (DeviceKind::Cuda, 0));
    let needs = [Library::Cublas, Library::Cudnn, Library::Cutensor, Library::Nccl];
    let fallback = Device::best_with(&needs).unwrap();
    if fallback.kind() == DeviceKind::Host {
        let [why] = &fallback.info().passed_over[..] else { panic!("{:?}", fallback.info()) };
        let named = ["cuDNN", "NCCL"].iter().any(|name| why.contains(name));
        assert!(named && why.contains("the GPUs were passed over") && why.contains("pip install"), "{why}");
        assert_eq!(Device::builder().best_with(&needs).open().unwrap().kind(), DeviceKind::Host);
    }
    assert_eq!(driver.calls_of("cublasCreate"), before, "nothing is made of what was looked for");
    assert_eq!(Device::cuda(1).unwrap().kind(), DeviceKind::Cuda);
    assert_eq!(Device::best_with(&[]).unwrap().kind(), DeviceKind::Cuda);
    drop((best, fallback));
    driver.assert_finished();
}

#[test]
fn best_and_all_are_the_cpu_where_no_gpu_opens() {
    let driver = with(2);
    let kinds = |devices: &[Device]| devices.iter().map(Device::kind).collect::<Vec<_>>();
    for (count, fail) in [(0, 0), (2, 4)] {
        driver.set_device_count(count);
        (0..fail).for_each(|nth| driver.fail("cuDevicePrimaryCtxRetain", nth, UNAVAILABLE));
        assert_eq!(kinds(&Device::all().unwrap()), [DeviceKind::Host]);
        assert_eq!(kinds(&[Device::best().unwrap()]), [DeviceKind::Host]);
    }
    driver.clear();
    driver.set_device_count(0);
    assert_eq!(Device::cuda_count(), 0);
    assert!(matches!(Device::cuda(0), Err(Error::InvalidArgument { .. })), "{:?}", Device::cuda(0));
    driver.assert_finished();
}

#[test]
fn the_error_of_one_gpu_is_told_to_who_asks_for_it() {
    let driver = with(2);
    driver.fail("cuDevicePrimaryCtxRetain", 0, NOT_PERMITTED);
    let error = Device::cuda(1).unwrap_err();
    assert_eq!(error.site().and_then(|site| site.code()), Some(NOT_PERMITTED), "{error:?}");
    match Device::cuda(2).unwrap_err() {
        Error::InvalidArgument { argument, reason, .. } => {
            assert!(
                argument == "ordinal" && reason.contains("no GPU 2") && reason.contains("has 2"),
                "{argument}: {reason}"
            );
        }
        other => panic!("{other:?}"),
    }
    drop(Device::cuda(1).unwrap());
    driver.assert_finished();
}
