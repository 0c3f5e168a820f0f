//! A device that was dropped: what is waited for goes on, and nothing else keeps its worker.

use crate::common::{eventually, let_others_run};
use crate::gate::Gate;
use crate::ops::{Deed, submit};
use crate::{alone, isolated, system};
use std::time::Duration;
use windlass::clock::{ManualClock, Timing};

#[test]
fn what_nobody_waits_for_does_not_keep_the_worker_of_a_device_that_was_dropped() {
    let _alone = alone();
    drop(isolated().open().unwrap()); // what is made once a process
    let base = system::quiet();
    let (clock, gate) = (ManualClock::new(), Gate::new());
    let device = isolated().heartbeat(Duration::MAX).timing(Timing::by(clock)).open().unwrap();
    let pid = device.worker_pid().unwrap();
    let endless = submit(&device, Deed::Sleep(600_000)).unwrap().into_output();
    let waited_for = submit(&device, Deed::Held(gate.pass())).unwrap();
    gate.await_arrival();
    drop(device);
    // Longer than the worker has once nobody waits, and somebody does.
    for _ in 0..20 {
        clock.advance(Duration::from_secs(1));
        let_others_run();
        assert!(!system::is_gone(pid));
    }
    gate.open();
    assert!(waited_for.await_result().is_ok());
    let gone = || {
        clock.advance(Duration::from_millis(100));
        system::is_gone(pid)
    };
    assert!(eventually(10, gone), "an operation without end has kept it");
    drop(endless);
    system::assert_back_at(base);
}

/// A large download is handed over while it still comes in: whoever takes it out waits for it.
#[test]
fn a_download_that_is_being_taken_out_is_waited_for() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let x = device.zeros::<f64>(4 << 20).unwrap();
    let slow = submit(&device, Deed::Sleep(4_000)).unwrap().into_output();
    // Behind the slow one.
    let x = device.copy(&slow, x.into_buffer().narrow(0..1).unwrap()).unwrap().into_buffer().widen();
    let bytes = device.download(&x).unwrap();
    drop(device);
    assert_eq!(bytes.await_result().unwrap().len(), 4 << 20);
}
