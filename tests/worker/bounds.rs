//! Bounds on work in flight, and the transfers that go in pieces.

use crate::common::{InPlace, assert_back_at, down, eventually, up, within};
use crate::gate::Gate;
use crate::ops::Deed;
use crate::{LONG, alone, isolated, kill};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use windlass::{
    Device, DeviceBuffer, Error, FaultPlan, RestartPolicy,
    op::InFlight,
    trace::{OpInfo, Trace},
};

/// Elements of a buffer that is transferred in several pieces.
const LARGE: usize = 4 << 20;

/// The buffer, and the deed that is done to it.
fn doing(device: &Device, deed: Deed, x: DeviceBuffer<f64>) -> DeviceBuffer<f64> {
    device.dispatch(InPlace(deed), (), (x,)).unwrap().into_output()
}

#[test]
fn a_lost_worker_is_replaced_however_few_operations_may_be_in_flight() {
    let _alone = alone();
    for bound in [InFlight::Busy(1), InFlight::Busy(2), InFlight::Wait(1)] {
        let device = isolated().restart_policy(RestartPolicy::default()).in_flight(bound).open().unwrap();
        kill(&device);
        let error = loop {
            // Until it is seen.
            match device.upload([1u8]).map(|pending| pending.await_timeout(LONG).map(drop)) {
                Err(error) if error.is_poisoning() => break error,
                Ok(Err(_)) => panic!("{bound:?}: hung"),
                _ => std::thread::yield_now(),
            }
            if device.generation() > 0 {
                break Error::library("it was too quick to be seen");
            }
        };
        let health = device.wait_healthy(LONG).unwrap_or_else(|lost| panic!("{bound:?}: {lost} after {error}"));
        assert_eq!(health.generation, 1);
    }
}

#[test]
fn a_transfer_in_pieces_is_admitted_as_one() {
    let _alone = alone();
    for bound in [InFlight::Busy(2), InFlight::Wait(2)] {
        let device = isolated().in_flight(bound).open().unwrap();
        within(60, move || {
            let x = doing(&device, Deed::Sleep(300), device.zeros(LARGE).unwrap().into_buffer());
            let data: Vec<f64> = (0..LARGE).map(|i| i as f64).collect();
            let x = device.upload_into(&data[..], x).unwrap_or_else(|rejected| panic!("{bound:?}: {rejected}"));
            let x = x.await_result().unwrap();
            device.synchronize(LONG).unwrap();
            assert!(down(&device, &x) == data);
        });
    }
}

#[test]
fn a_transfer_that_is_refused_leaves_all_as_it_was() {
    let _alone = alone();
    let device = isolated().in_flight(InFlight::Busy(1)).open().unwrap();
    let gate = Gate::new();
    let x = doing(&device, Deed::Held(gate.pass()), device.zeros(LARGE).unwrap().into_buffer());
    let rejected = device.upload_into(vec![1.0; LARGE], x).map(drop).unwrap_err();
    assert!(matches!(rejected.error, Error::Busy { in_flight: 1, limit: 1, .. }), "{rejected}");
    let (x,) = rejected.back.unwrap();
    drop(gate);
    device.synchronize(LONG).unwrap();
    assert!(down(&device, &x) == [0.0; LARGE]);
}

/// The device is closed in the middle of it, for a rebuild that does not come about.
#[test]
fn a_transfer_that_is_torn_is_told_of_until_the_buffer_is_written_anew() {
    let _alone = alone();
    // Two pieces at a time have room.
    let device = isolated().staging_limit(16 << 20).open().unwrap();
    for narrowed in [false, true] {
        let gate = Gate::new();
        let x = doing(&device, Deed::Held(gate.pass()), device.zeros(LARGE + 1).unwrap().into_buffer());
        let x = if narrowed { x.narrow(0..LARGE).unwrap() } else { x.split_at(LARGE).unwrap().0 };
        let rejected = std::thread::scope(|scope| {
            let transfer = scope.spawn(|| device.upload_into(vec![1.0; LARGE], x).map(drop));
            // Behind the gate: two pieces. The next one looks for room.
            assert!(eventually(20, || device.stats().in_flight == 3));
            let refused = || {
                assert!(matches!(device.rebuild(Duration::from_millis(50)), Err(Error::Timeout { .. })));
                transfer.is_finished()
            };
            assert!(eventually(20, refused), "it waits on");
            transfer.join().unwrap().unwrap_err()
        });
        drop(gate);
        assert!(matches!(rejected.error, Error::ContextPoisoned { .. }), "{rejected}");
        let (x,) = rejected.back.unwrap();
        assert_eq!((x.len(), device.generation()), (LARGE, 0));
        let error = device.download(x.as_in().slice(0..4).unwrap()).map(drop).unwrap_err();
        assert!(matches!(error, Error::Upstream { .. }), "{error}");
        let x = x.widen();
        let x = device.upload_into(vec![2.0; x.len()], x).unwrap().await_result().unwrap();
        for at in [0, LARGE / 2, x.len() - 4] {
            assert_eq!(down(&device, x.as_in().slice(at..at + 4).unwrap()), [2.0; 4]);
        }
    }
    assert_back_at(&device, (0, 0, 0));
}

/// As in one piece: what was there does not matter, failures included.
#[test]
fn a_transfer_in_pieces_makes_good_what_has_failed() {
    let _alone = alone();
    // A failure while it runs, and one before: the fourth operation is read by nobody.
    let device = isolated().open().unwrap();
    for deed in [Deed::Fail("it".into()), Deed::Lost(crate::ops::Unreadable)] {
        let x = doing(&device, deed, device.zeros(LARGE).unwrap().into_buffer());
        assert!(device.download(&x).unwrap().await_result().is_err());
        let x = device.upload_into(vec![3.0; LARGE], x).unwrap().await_result().unwrap();
        assert!(down(&device, &x) == [3.0; LARGE]);
    }
}

#[test]
fn a_piece_that_fails_is_a_failure_of_the_transfer_and_of_what_reads_the_buffer() {
    let _alone = alone();
    // The second piece of the transfer.
    let device = isolated().fault_plan(FaultPlan::new().fail(1)).open().unwrap();
    let x = device.upload_into(vec![1.0f64; LARGE], device.uninit(LARGE).unwrap().into_buffer()).unwrap();
    let (buffers, verdict) = x.into_parts();
    assert!(verdict.await_result().is_err());
    let error = device.download(&buffers.0).unwrap().await_result().unwrap_err();
    assert!(matches!(error, Error::Upstream { .. }), "{error}");
    let x = device.upload_into(vec![2.0; LARGE], buffers.0).unwrap().await_result().unwrap();
    assert!(down(&device, &x) == [2.0; LARGE]);
    drop(up(&device, [1u8]));
}

#[test]
fn who_can_make_room_is_asked_when_the_limit_is_reached() {
    let _alone = alone();
    let cache: Arc<Mutex<Option<DeviceBuffer<f64>>>> = Arc::default();
    let freed = cache.clone();
    let callback = move |bytes| bytes == 500_000 * 8 - 3_200_000 && freed.lock().unwrap().take().is_some();
    let device = isolated().memory_limit(8_000_000).on_out_of_memory(callback).open().unwrap();
    *cache.lock().unwrap() = Some(device.zeros(600_000).unwrap().into_buffer());
    assert!(matches!(device.zeros::<f64>(500_001).map(drop), Err(Error::OutOfMemory { .. })));
    let x = device.zeros::<f64>(500_000).unwrap();
    assert!(down(&device, &x) == [0.0; 500_000]);
    assert!(matches!(device.zeros::<f64>(600_000).map(drop), Err(Error::OutOfMemory { .. })));
}

/// Submits something at the end of each piece.
#[derive(Default)]
struct Follower {
    device: Mutex<Option<Device>>,
    pieces: AtomicUsize,
}

impl Trace for Follower {
    fn before_complete(&self, op: &OpInfo) {
        let device = self.device.lock().unwrap().clone();
        if let (Some(device), "upload") = (device, op.op) {
            drop(crate::ops::submit(&device, Deed::Nothing).unwrap());
            self.pieces.fetch_add(1, SeqCst);
        }
    }
}

/// The others are finished, and cannot be settled before the hook returns.
#[test]
fn a_hook_of_one_piece_of_many_may_submit_however_few_may_be_in_flight() {
    let _alone = alone();
    within(60, || {
        let follower = Arc::new(Follower::default());
        let device = isolated().in_flight(InFlight::Wait(2)).trace(follower.clone()).open().unwrap();
        let target = device.zeros::<f64>(3 * LARGE).unwrap();
        *follower.device.lock().unwrap() = Some(device.clone());
        let x = device.upload_into(&vec![2.0; 3 * LARGE][..], target.into_buffer()).unwrap().into_output();
        assert!(eventually(30, || follower.pieces.load(SeqCst) >= 12), "{:?}", follower.pieces);
        assert_eq!(down(&device, x.as_in().slice(0..2).unwrap()), [2.0; 2]);
        device.synchronize(LONG).unwrap();
        *follower.device.lock().unwrap() = None;
    });
}
