//! Pinned memory for transfers: its limit, and who waits for it.

use super::{MIB, take};
use crate::common::{Asleep, down, eventually, let_others_run, up};
use crate::standin::{Mode, session};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, ThreadId};
use std::time::Duration;
use windlass::{
    Device, Error,
    op::InFlight,
    trace::{OpInfo, Trace},
};

#[test]
fn a_download_larger_than_the_staging_is_refused_and_a_larger_upload_waits_for_it() {
    let driver = session();
    let limit = 8 * MIB;
    let device = Device::builder().cuda(0).slots(2).staging_limit(limit as u64).memory_limit(60 << 20).open().unwrap();
    let data: Vec<u32> = (0..5 * MIB as u32).collect(); // 20 MiB in three pieces, each of which needs all of the staging
    let x = device.upload(&data).expect("piece after piece").into_output();
    let error = device.download(&x).map(drop).expect_err("reserved as a whole");
    let Error::OutOfMemory { requested, limit: told, .. } = error else { panic!("{error:?}") };
    assert_eq!((requested, told), (20 << 20, 8 << 20));
    assert_eq!((error.site().unwrap().op(), error.site().unwrap().device()), (Some("download"), Some("cuda:0")));
    assert_eq!(device.stats().errors.get("OutOfMemory"), Some(&1));
    let other = Device::builder().cuda(0).slots(2).open().unwrap();
    let foreign = driver.silently("a foreign buffer", || other.download(&x).map(drop).expect_err("of another device"));
    assert!(matches!(&foreign, Error::InvalidArgument { argument, .. } if argument == "source"), "{foreign}");
    drop(other);
    let part = data.len() / 3;
    for start in [0, part, 2 * part] {
        assert!(down(&device, x.as_in().slice(start..start + part).unwrap()) == data[start..start + part]);
    }
    assert!(device.stats().pinned_bytes <= limit as u64 + (64 << 10));
    drop((x, device));
    driver.assert_finished();
}

/// Pinned memory is kept by size, but what lies idle in one size does not keep another from being had.
#[test]
fn many_small_transfers_leave_room_for_a_large_one() {
    let driver = session();
    driver.set_total_memory(256 * MIB);
    // Where there is little of it a small transfer borrows a large block.
    for (limit, rounds) in [(256 << 10, 1), (64 * MIB, 3)] {
        let device = Device::builder().cuda(0).slots(2).staging_limit(limit as u64).open().unwrap();
        let small = device.zeros::<u8>(4096).unwrap();
        let large = device.zeros::<u8>(limit / 2 + 1).unwrap();
        device.synchronize(Duration::from_secs(60)).unwrap();
        for _ in 0..rounds {
            driver.mode(Mode::Manual); // nothing is over, so each has its own
            let most = limit / 4096;
            let all: Vec<_> = (0..most).map(|_| device.download(&small).expect("all of the staging")).collect();
            assert_eq!(device.stats().pinned_bytes, limit as u64);
            driver.mode(Mode::Eager);
            assert!(all.into_iter().all(|small| small.await_result().unwrap() == [0; 4096]));
            assert_eq!(down(&device, &large), vec![0; limit / 2 + 1]);
            assert!(device.stats().pinned_bytes <= limit as u64);
        }
        drop((small, large, device));
    }
    driver.assert_finished();
}

/// Who has some of a piece that the driver made at once keeps all of it.
#[test]
fn pinned_memory_that_somebody_has_is_not_given_back() {
    let driver = session();
    driver.set_total_memory(256 * MIB);
    let limit = 64 * MIB;
    let device = Device::builder().cuda(0).slots(2).staging_limit(limit as u64).open().unwrap();
    let data: Vec<u8> = (0..4096).map(|i| i as u8).collect();
    let small = up(&device, data.clone());
    let large = device.zeros::<u8>(limit / 2 + 1).unwrap();
    device.synchronize(Duration::from_secs(60)).unwrap();
    driver.mode(Mode::Manual);
    let mut all: Vec<_> = (0..limit / 4096).map(|_| device.download(&small).expect("all of the staging")).collect();
    driver.mode(Mode::Eager);
    device.synchronize(Duration::from_secs(60)).unwrap();
    // One of each MiB is not fetched yet.
    let mut nth = 0;
    all.retain(|_| (nth += 1, nth % 256 == 0).1);
    let error = device.download(&large).map(drop).expect_err("all pieces have somebody");
    assert!(matches!(error, Error::OutOfMemory { free: 0, .. }), "{error:?}");
    all.truncate(all.len() / 3);
    assert_eq!(down(&device, &large), vec![0; limit / 2 + 1]);
    assert!(all.into_iter().all(|small| small.await_result().unwrap() == data));
    drop((small, large, device));
    driver.assert_finished();
}

/// A transfer that goes in pieces is let in or refused as a whole; and where there is no staging for a later piece after
/// all, who reads the buffer is told so.
#[test]
fn a_transfer_in_pieces_is_admitted_as_one_and_never_torn_without_a_word() {
    const LARGE: usize = 24 * MIB;
    let driver = session();
    driver.set_total_memory(64 * MIB);
    // So little staging that each piece is of 8 MiB, and made by itself.
    let device =
        Device::builder().cuda(0).slots(2).staging_limit(32 << 20).in_flight(InFlight::Busy(2)).open().unwrap();
    let x = take(&device, LARGE).unwrap();
    device.synchronize(Duration::from_secs(10)).unwrap();
    driver.mode(Mode::Manual);
    driver.fail("cuMemHostAlloc", 1, 2);
    let rejected = device.upload_into(vec![1u8; LARGE], x).map(drop).expect_err("no staging for its second piece");
    assert!(matches!(rejected.error, Error::OutOfMemory { .. }), "{rejected}");
    let (x,) = rejected.back.expect("the buffer");
    let error = device.download(x.as_in().slice(0..4).unwrap()).map(drop).expect_err("it is torn");
    assert!(matches!(error, Error::Upstream { .. }), "{error:?}");
    driver.mode(Mode::Auto);
    device.synchronize(Duration::from_secs(10)).unwrap();
    driver.mode(Mode::Manual);
    let pending = device.upload_into(vec![2u8; LARGE], x).expect("three pieces under a bound of two");
    assert!(matches!(device.upload([1u8]).map(drop), Err(Error::Busy { limit: 2, .. })));
    driver.mode(Mode::Auto);
    let x = pending.await_result().unwrap();
    device.synchronize(Duration::from_secs(10)).unwrap();
    for at in [0, LARGE / 2, LARGE - 4] {
        assert_eq!(down(&device, x.as_in().slice(at..at + 4).unwrap()), [2; 4]);
        device.synchronize(Duration::from_secs(10)).unwrap();
    }
    drop((x, device));
    driver.assert_finished();
}

/// Holds up whoever tells of a completion first, but for its own thread.
struct Slow {
    begun: AtomicBool,
    over: AtomicBool,
    own: ThreadId,
}

impl Trace for Slow {
    fn before_complete(&self, _: &OpInfo) {
        if thread::current().id() != self.own && !self.begun.swap(true, Relaxed) {
            eventually(60, || self.over.load(Relaxed));
        }
    }
}

/// The housekeeping has taken it out of a ring and not dropped it yet: nothing is in flight, and all of it comes back.
#[test]
fn staging_in_the_hands_of_the_housekeeping_is_waited_for() {
    let driver = session();
    let (begun, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let slow = Arc::new(Slow { begun, over, own: thread::current().id() });
    let device = Device::builder().cuda(0).slots(1).staging_limit(4096).trace(slow.clone()).open().unwrap();
    driver.mode(Mode::Eager);
    let kept = up(&device, [1u8; 4096]); // all of it
    assert!(eventually(20, || slow.begun.load(Relaxed)), "the housekeeping is not called");
    let asleep = Asleep::default();
    let more = thread::scope(|scope| {
        asleep.here();
        scope.spawn(|| {
            asleep.wait();
            let_others_run();
            slow.over.store(true, Relaxed);
        });
        device.upload([2u8; 4096]).expect("it comes back").into_output()
    });
    assert_eq!((down(&device, &kept), down(&device, &more)), (vec![1; 4096], vec![2; 4096]));
    drop((kept, more, device));
    driver.assert_finished();
}

/// Who fills a block, empties one or collects several has nothing in flight; all the same what he has comes back.
#[test]
fn staging_in_the_hands_of_other_callers_is_waited_for() {
    let driver = session();
    driver.set_total_memory(256 * MIB);
    let device = Device::builder().cuda(0).slots(4).staging_limit(16 << 20).open().unwrap();
    driver.mode(Mode::Eager);
    let data = vec![7u8; 12 * MIB]; // in two pieces, of which two transfers may have one each, and then want more
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2 {
                    let x = device.upload(&data).expect("others have it for a while").into_output();
                    let y = device.download(&x).expect("others have it for a while");
                    assert!(y.await_result().unwrap() == data);
                }
            });
        }
    });
    device.synchronize(Duration::from_secs(60)).unwrap();
    drop(device);
    driver.assert_finished();
}
