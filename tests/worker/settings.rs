//! The longest limits that can be set are limits that are never reached.

use crate::common::{down, let_others_run, up};
use crate::ops::{Deed, submit};
use crate::{LONG, alone, isolated, kill, tells};
use std::time::Duration;
use windlass::clock::Timing;
use windlass::{DeviceBuilder, Error};

type Set = fn(DeviceBuilder, Duration) -> DeviceBuilder;

const LIMITS: [(&str, Set); 3] = [
    ("heartbeat", DeviceBuilder::heartbeat),
    ("watchdog", DeviceBuilder::watchdog),
    ("worker_patience", DeviceBuilder::worker_patience),
];

#[test]
fn limits_of_any_length_are_kept_and_none_at_all_is_refused() {
    let _alone = alone();
    let all = |builder, limit| LIMITS.iter().fold(builder, |builder, (_, set)| set(builder, limit));
    for limit in [Duration::MAX, Duration::MAX / 2 + Duration::from_secs(1), Duration::from_secs(u64::MAX)] {
        let mut timing = Timing::default();
        timing.watch.restless = Duration::ZERO; // its monitor goes to sleep at once
        let device = all(isolated().timing(timing), limit).open().unwrap();
        drop(submit(&device, Deed::Sleep(100)).unwrap().await_result().unwrap());
        let_others_run();
        assert_eq!((device.generation(), down(&device, &up(&device, [1u8]))), (0, vec![1]), "{limit:?}");
        let lost = submit(&device, Deed::Sleep(600_000)).unwrap();
        kill(&device);
        let error = lost.await_result().unwrap_err().error;
        assert!(tells(&error.to_string(), "SIGKILL"), "{error}");
        device.wait_healthy(LONG).unwrap();
        assert_eq!((device.generation(), down(&device, &up(&device, [2u8]))), (1, vec![2]), "{limit:?}");
    }
    for (name, set) in LIMITS {
        let error = set(isolated(), Duration::ZERO).open().unwrap_err();
        assert!(matches!(&error, Error::InvalidArgument { argument, .. } if argument == name), "{error}");
    }
}

/// It computes with no library of CUDA; what needs no device is the program's own.
#[cfg(feature = "cuda")]
#[test]
fn the_host_works_without_the_libraries_of_a_gpu_in_a_worker_too() {
    use windlass::loader::Library;
    let _alone = alone();
    let (device, here) = (isolated().open().unwrap(), windlass::Device::host().unwrap());
    for library in Library::ALL.iter().copied() {
        let version = device.library_version(library);
        if !matches!(library, Library::Nvrtc | Library::NvJitLink) {
            assert_eq!(version, Ok(None), "{library}");
        }
        assert_eq!(version, here.library_version(library), "{library}");
    }
}

#[test]
fn the_names_of_isolated_devices_tell_them_apart() {
    let _alone = alone();
    let (one, two) = (isolated().open().unwrap(), isolated().open().unwrap());
    assert_ne!(one.name(), two.name());
    let x = up(&one, [1.0f64]);
    let error = two.blas().nrm2(&x).unwrap_err().to_string();
    assert!(error.contains(&*one.name()) && error.contains(&format!("runs on {}", two.name())), "{error}");
    // Memory of one worker is not another's to read, nor this process's.
    let here = windlass::Device::host().unwrap();
    for (from, to) in [(&one, &two), (&one, &here), (&here, &one)] {
        let rejected = to.copy_peer(&up(from, [1.0f64]), up(to, [5.0f64])).unwrap_err();
        assert!(matches!(rejected.error, Error::Unsupported { .. }), "{}", rejected.error);
        assert_eq!(down(to, &rejected.back.unwrap().0), [5.0]);
    }
}

/// A line of what the system says of a process.
fn line_of(pid: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix(name)).expect("such a line").trim().to_owned()
}

#[test]
fn signals_that_the_callers_thread_blocks_are_not_blocked_in_the_worker() {
    let _alone = alone();
    let open = || {
        let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: made by the first call, read by the second.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
        }
        isolated().open().unwrap()
    };
    let device = std::thread::spawn(open).join().unwrap();
    assert_eq!(line_of(device.worker_pid().unwrap(), "SigBlk:"), "0000000000000000");
}

#[test]
fn a_worker_is_killed_before_its_parent_for_want_of_memory_where_that_is_wanted() {
    let _alone = alone();
    let score = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap().trim().parse::<i32>();
    let ours = score(std::process::id()).unwrap();
    for (more, theirs) in [(0, ours), (300, (ours + 300).min(1000)), (5000, 1000)] {
        let device = isolated().worker_oom_score(more).open().unwrap();
        assert_eq!(score(device.worker_pid().unwrap()), Ok(theirs));
        assert_eq!(score(std::process::id()), Ok(ours));
    }
}
