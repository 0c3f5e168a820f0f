//! Limits of the process: what a device does where the system refuses it a large file, addresses or a thread.

use crate::common::child::{alone, this_test};
use crate::common::{LONG, down, eventually, host, up};
use windlass::{Error, FaultPlan, RestartPolicy, health::Phase};

/// Sets the soft limit; gives back what it was.
pub(super) fn limit(resource: libc::__rlimit_resource_t, bytes: u64) -> u64 {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure outlives both calls; nothing else runs in this process.
    unsafe {
        assert_eq!(libc::getrlimit(resource, &mut now), 0);
        let wanted = libc::rlimit { rlim_cur: bytes, ..now };
        assert_eq!(libc::setrlimit(resource, &wanted), 0);
    }
    now.rlim_cur
}

/// Bytes of addresses that this process uses.
pub(super) fn addresses() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn an_isolated_device_opens_where_files_may_not_be_large() {
    alone(&this_test!(), || {
        limit(libc::RLIMIT_FSIZE, 128 << 20);
        let device = host(1).isolated().open().unwrap();
        let data: Vec<u32> = (0..1 << 20).collect();
        assert!(down(&device, &up(&device, data.clone())) == data);
        drop(device);
        limit(libc::RLIMIT_FSIZE, 64 << 10);
        let error = host(1).isolated().open().unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains("RLIMIT_FSIZE"), "{error}");
    });
}

#[test]
fn too_few_addresses_are_told_with_the_setting_that_helps() {
    alone(&this_test!(), || {
        limit(libc::RLIMIT_AS, addresses() + (1 << 30));
        let error = host(1).isolated().open().unwrap_err().to_string();
        assert!(error.contains("staging_limit"), "{error}");
        let device = host(1).isolated().staging_limit(64 << 20).open().unwrap();
        assert_eq!(down(&device, &up(&device, [7u8])), [7]);
    });
}

/// No thread can be had for a moment: the device is not lost for that.
#[test]
fn a_recovery_that_has_no_thread_is_begun_when_there_is_one() {
    alone(&this_test!(), || {
        let plan = FaultPlan::new().poison(2);
        let device = host(1).fault_plan(plan).restart_policy(RestartPolicy::unlimited()).open().unwrap();
        // A thread that begins takes addresses as well, and ends the process where there are none: the pool's is to be there.
        let x = up(&device, [2.0f64]);
        assert_eq!(device.blas().dot(&x, &x).unwrap().await_result().unwrap(), 4.0);
        let before = limit(libc::RLIMIT_AS, addresses() + (512 << 10));
        assert!(device.upload([1u8]).unwrap().await_result().is_err());
        let reason = || device.health().reason.unwrap_or_default();
        assert!(eventually(10, || reason().contains("could not be started yet")), "{:?}", device.health());
        assert!(
            reason().matches("could not be started yet").count() == 1 && reason().contains("fault plan"),
            "{}",
            reason()
        );
        assert_ne!(device.health().phase, Phase::Lost);
        limit(libc::RLIMIT_AS, before);
        assert_eq!(device.wait_healthy(LONG).unwrap().generation, 1);
        assert_eq!(down(&device, &up(&device, [7u8])), [7]);
    });
}
