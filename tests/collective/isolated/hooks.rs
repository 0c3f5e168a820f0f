//! Hooks that meddle with collectives, and collectives that wait while others are submitted.

use super::{assert_sums, builder, ups};
use crate::{LONG, side_by_side};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use windlass::collective::{Combine, Communicator, Members};
use windlass::{
    Device, Error, FaultPlan, PendingDispatch, Tensor,
    op::InFlight,
    trace::{OpInfo, Trace},
};

/// Does what waits for the submission that its hooks are called in.
#[derive(Default)]
struct Meddles {
    comm: Mutex<Option<Communicator>>,
    spare: Mutex<Option<Communicator>>,
    told: Mutex<Vec<String>>,
    calls: AtomicUsize,
}

impl Meddles {
    fn meddle(&self) {
        let Some(comm) = self.comm.lock().unwrap().clone() else { return };
        self.calls.fetch_add(1, SeqCst);
        let rebuilt = comm.rebuild(Members::Survivors, LONG).map(drop);
        for outcome in [comm.barrier().map(drop), Communicator::new(comm.devices()).map(drop), rebuilt] {
            self.told.lock().unwrap().push(outcome.unwrap_err().to_string());
        }
        let spare = self.spare.lock().unwrap().take();
        drop(spare);
    }

    fn arm(&self, comm: &Communicator) {
        let spare = Communicator::new(comm.devices()).unwrap();
        *self.spare.lock().unwrap() = Some(spare);
        *self.comm.lock().unwrap() = Some(comm.clone());
    }

    fn disarm(&self) {
        let comm = self.comm.lock().unwrap().take();
        drop(comm);
    }
}

impl Trace for Meddles {
    fn before_enqueue(&self, _: &OpInfo) {
        self.meddle();
    }
    fn after_enqueue(&self, _: &OpInfo) {
        self.meddle();
    }
}

#[test]
fn a_hook_of_a_collective_is_told_that_it_cannot_submit_another() {
    if super::is_alone() {
        return;
    }
    for isolated in [true, false] {
        side_by_side(1, move |_| {
            let meddles = Arc::new(Meddles::default());
            let open = |rank| {
                let builder = if isolated { builder(rank) } else { Device::builder().host() };
                builder.trace(meddles.clone()).open().unwrap()
            };
            let devices: Vec<Device> = (0..2).map(open).collect();
            let comm = Communicator::new(&devices).unwrap();
            let buffers = ups(&devices, 5);
            meddles.arm(&comm);
            let pending = comm.all_reduce_in_place(Combine::Sum, buffers).unwrap();
            meddles.disarm();
            let sums = pending.await_result().unwrap();
            assert!(devices[0].to_vec(&sums[0]).unwrap() == [3; 5]);
            let (calls, told) = (meddles.calls.load(SeqCst), meddles.told.lock().unwrap().clone());
            assert!(calls >= 2 && told.len() == 3 * calls, "{calls} {told:?}");
            assert!(told.iter().all(|told| told.contains("inside a hook")), "{told:?}");
            assert_sums(&devices, &comm, 7);
        });
    }
}

type Pending = PendingDispatch<Vec<Tensor<u32>>>;

/// Looks at the collective that its own dispatch is a part of.
#[derive(Default)]
struct Looks {
    at: Mutex<Option<Arc<Pending>>>,
    looked: AtomicBool,
}

impl Trace for Looks {
    fn before_complete(&self, _: &OpInfo) {
        let Some(pending) = self.at.lock().unwrap().clone() else { return };
        pending.is_ready();
        self.looked.store(true, SeqCst);
    }
}

#[test]
fn a_hook_may_look_at_the_collective_that_completes() {
    if super::is_alone() {
        return;
    }
    side_by_side(1, |_| {
        let looks = Arc::new(Looks::default());
        let devices: Vec<Device> = (0..2).map(|rank| builder(rank).trace(looks.clone()).open().unwrap()).collect();
        let comm = Communicator::new(&devices).unwrap();
        for _ in 0..20 {
            let pending = Arc::new(comm.all_reduce_in_place(Combine::Sum, ups(&devices, 50_000)).unwrap());
            *looks.at.lock().unwrap() = Some(pending.clone());
            while !pending.is_ready() {}
            drop(looks.at.lock().unwrap().take());
        }
        assert!(looks.looked.load(SeqCst));
        assert_sums(&devices, &comm, 7);
    });
}

/// At the bound a submission waits; others do not wait for it.
#[test]
fn a_collective_that_waits_for_the_bound_does_not_hold_up_others() {
    if builder(0).open().unwrap().kind() != windlass::DeviceKind::Host {
        return; // fault plans are of host devices
    }
    side_by_side(1, |_| {
        let slow =
            builder(0).in_flight(InFlight::Wait(1)).fault_plan(FaultPlan::new().delay(1, Duration::from_secs(8)));
        let (slow, others) = (slow.open().unwrap(), [builder(1).open().unwrap(), builder(2).open().unwrap()]);
        let (one, two) = (Communicator::new([&slow]).unwrap(), Communicator::new(&others).unwrap());
        let held = slow.upload(vec![1u32]).unwrap();
        std::thread::scope(|scope| {
            let (begins, begun) = std::sync::mpsc::channel();
            let waits = scope.spawn(move || {
                begins.send(()).unwrap();
                one.barrier().unwrap().await_result()
            });
            begun.recv().unwrap();
            std::thread::sleep(Duration::from_millis(300));
            assert_sums(&others, &two, 3);
            assert!(!waits.is_finished() && !held.is_ready(), "the others waited for it");
            waits.join().unwrap().unwrap();
        });
    });
}

/// One rank cannot run a collective; its communicator is dropped before the other ranks have come to that.
#[test]
fn a_communicator_that_is_dropped_after_a_failure_tells_the_failure() {
    let times = 20;
    let one = (0..times).fold(FaultPlan::new(), |plan, time| plan.fail(4 * time + 2));
    let zero = (0..times).fold(FaultPlan::new(), |plan, time| plan.delay(4 * time + 2, Duration::from_millis(60)));
    if builder(0).open().unwrap().kind() != windlass::DeviceKind::Host {
        return; // fault plans are of host devices
    }
    let devices = [builder(0).fault_plan(zero).open().unwrap(), builder(1).fault_plan(one).open().unwrap()];
    for time in 0..times {
        let comm = Communicator::new(&devices).unwrap();
        let pending = comm.all_reduce_in_place(Combine::Sum, ups(&devices, 4)).unwrap();
        drop(comm);
        let Ok(answer) = pending.await_timeout(LONG) else { panic!("it was never answered") };
        let error = answer.map(drop).unwrap_err().error;
        assert!(matches!(error, Error::LibraryError { .. }), "{time}: {error}");
    }
}
