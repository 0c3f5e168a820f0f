//! What a user's own code meets where it is called: no lock of the library.

use crate::common::{InPlace, eventually, within};
use crate::gate::Gate;
use crate::ops::{Deed, submit};
use crate::{LONG, alone, isolated};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use windlass::{
    Device, Result,
    op::{InFlight, Wire},
    trace::{OpInfo, Trace},
};

/// Submits more after each operation of the test's.
#[derive(Default)]
struct Again {
    device: Mutex<Option<Device>>,
    seen: AtomicUsize,
}

impl Trace for Again {
    fn after_complete(&self, op: &OpInfo, _: Duration) {
        let device = self.device.lock().unwrap().clone();
        if let Some(device) = device.filter(|_| op.op == "do") {
            // The second finds the bound reached, and nobody but this thread may be there to see the first end.
            for _ in 0..3 {
                drop(device.upload([1u8]).unwrap());
            }
            self.seen.fetch_add(1, SeqCst);
        }
    }
}

#[test]
fn a_hook_may_submit_however_few_may_be_in_flight() {
    let _alone = alone();
    within(60, || {
        let again = Arc::new(Again::default());
        let device = isolated().in_flight(InFlight::Wait(1)).trace(again.clone()).open().unwrap();
        *again.device.lock().unwrap() = Some(device.clone());
        for round in 1..20 {
            drop(submit(&device, Deed::Nothing).unwrap());
            assert!(eventually(10, || again.seen.load(SeqCst) == round), "round {round}");
        }
        *again.device.lock().unwrap() = None;
    });
}

/// Looks at the device with a lock of its own held.
#[derive(Default)]
struct Looks(Mutex<Option<Device>>, AtomicUsize);

impl Trace for Looks {
    fn before_complete(&self, _: &OpInfo) {
        if let Some(device) = &*self.0.lock().unwrap() {
            assert!(device.stats().dispatches > 0 && device.health().generation == 0);
            self.1.fetch_add(1, SeqCst);
        }
    }
}

/// Else a hook that waits for a lock of the user's would wait for itself.
#[test]
fn a_hook_that_only_looks_is_not_called_from_within_itself() {
    let _alone = alone();
    within(60, || {
        let looks = Arc::new(Looks::default());
        let device = isolated().trace(looks.clone()).open().unwrap();
        *looks.0.lock().unwrap() = Some(device.clone());
        for _ in 0..20 {
            let pendings: Vec<_> = (0..50).map(|_| submit(&device, Deed::Nothing).unwrap()).collect();
            for (n, pending) in pendings.into_iter().enumerate() {
                // Some are settled by who waits, the rest by whoever comes by.
                if n % 10 == 9 {
                    drop(pending.await_result().unwrap());
                }
            }
        }
        assert!(eventually(10, || looks.1.load(SeqCst) >= 1_000), "{:?}", looks.1);
        *looks.0.lock().unwrap() = None;
    });
}

/// Somebody is in the middle of its drop, until it is let go.
static HELD: (Mutex<Option<bool>>, Condvar) = (Mutex::new(None), Condvar::new());

#[derive(Serialize, Deserialize)]
pub(crate) struct Lingering;

/// It goes on with its drop when this goes.
pub(crate) struct Dropping;

impl Drop for Dropping {
    fn drop(&mut self) {
        *HELD.0.lock().unwrap() = None;
        HELD.1.notify_all();
    }
}

impl Lingering {
    /// One that nobody waits for is in the middle of its drop.
    pub(crate) fn dropping(device: &Device) -> Dropping {
        // Behind a gate, so that its pending is gone when it ends, and another thread has the last of it.
        let gate = Gate::new();
        let x = submit(device, Deed::Held(gate.pass())).unwrap().into_output();
        *HELD.0.lock().unwrap() = Some(false);
        let dropping = Dropping;
        drop(device.dispatch(InPlace(Lingering), (), (x,)).unwrap());
        gate.open();
        let held = HELD.0.lock().unwrap();
        let (held, _) = HELD.1.wait_timeout_while(held, LONG, |held| *held != Some(true)).unwrap();
        let found = *held;
        drop(held);
        assert_eq!(found, Some(true), "nobody has dropped it");
        dropping
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let mut held = HELD.0.lock().unwrap();
        if held.is_some() {
            *held = Some(true);
            HELD.1.notify_all();
            drop(HELD.1.wait_timeout_while(held, 4 * LONG, |held| held.is_some()).unwrap());
        }
    }
}

impl crate::common::Deed for Lingering {
    const NAME: &'static str = "lingering";
    type Element = f64;

    fn host(&self, _: &mut [f64]) -> Result<()> {
        Ok(())
    }
    fn wire() -> Option<Wire<InPlace<Self>>> {
        Wire::plain()
    }
}

#[test]
fn the_drop_of_what_an_operation_owns_holds_up_nobody_else() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let dropping = Lingering::dropping(&device);
    // Settled by whoever comes by, for nobody waits for them.
    for _ in 0..100 {
        drop(submit(&device, Deed::Nothing).unwrap());
    }
    let settled = eventually(5, || device.stats().in_flight == 0);
    drop(dropping);
    assert!(settled, "{:?}", device.stats());
    crate::common::assert_back_at(&device, (0, 0, 0));
}
