//! `src/core/epoch/life.rs`: the flag and the leases keep the supervisor and the users of an epoch apart.

use crate::subject::life::{Life, Stand};
use crate::subject::parker::Parker;
use crate::sync::{Arc, Mutex};
use loom::cell::UnsafeCell;
use loom::thread;

/// An epoch with one slot. `native` is what hangs on it: used under a lease, torn down by the supervisor.
struct Epoch {
    life: Life,
    slot: Mutex<()>,
    native: UnsafeCell<bool>,
}

impl Epoch {
    fn new() -> Arc<Self> {
        Arc::new(Epoch { life: Life::new(), slot: Mutex::new(()), native: UnsafeCell::new(true) })
    }

    /// Lease, then look: the rule of `src/core/epoch/mod.rs`.
    fn enqueue(&self) -> bool {
        let lease = self.slot.lock();
        if !self.life.alive() {
            return false;
        }
        assert!(self.native.with(|native| unsafe { *native }), "used after it was torn down");
        drop(lease);
        true
    }

    /// Flag, then take the slots; what comes then excludes everybody, with no lock held.
    fn tear_down(&self) {
        assert!(self.life.end(Stand::Poisoned));
        drop(self.slot.lock());
        self.native.with_mut(|native| unsafe { *native = false });
    }
}

/// Breaks: a look before the lease in `enqueue`; slots taken before the flag in `tear_down`.
#[test]
fn a_lease_that_saw_the_epoch_alive_is_over_before_it_is_torn_down() {
    loom::model(|| {
        let epoch = Epoch::new();
        let users = [(), ()].map(|()| {
            let epoch = epoch.clone();
            thread::spawn(move || epoch.enqueue())
        });
        epoch.tear_down();
        assert!(!epoch.enqueue());
        for user in users {
            user.join().unwrap();
        }
    });
}

/// `Epoch::end` of `src/core/epoch/epoch.rs` writes the cause before the flag. Breaks: a `Relaxed` load in `dead`; a
/// `Relaxed` `end`.
#[test]
fn who_sees_it_dead_sees_why() {
    loom::model(|| {
        let shared = Arc::new((Life::new(), UnsafeCell::new("")));
        let fault = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.1.with_mut(|cause| unsafe { *cause = "a fault" });
                assert!(shared.0.end(Stand::Poisoned));
            })
        };
        if shared.0.dead() {
            assert_eq!(shared.1.with(|cause| unsafe { *cause }), "a fault");
        }
        fault.join().unwrap();
        assert!(shared.0.dead());
    });
}

/// Breaks: an `end` that looks first and stores then.
#[test]
fn of_two_faults_one_ends_the_life() {
    loom::model(|| {
        let life = Arc::new(Life::new());
        let other = {
            let life = life.clone();
            thread::spawn(move || life.end(Stand::Poisoned))
        };
        let mine = life.end(Stand::Poisoned);
        assert!(mine != other.join().unwrap());
    });
}

/// Breaks: a `reopen` that stores.
#[test]
fn a_drain_that_is_called_off_does_not_raise_the_dead() {
    loom::model(|| {
        let life = Arc::new(Life::new());
        let fault = {
            let life = life.clone();
            thread::spawn(move || assert!(life.end(Stand::Poisoned)))
        };
        if life.drain() {
            life.reopen();
        }
        fault.join().unwrap();
        assert!(life.dead() && !life.alive() && !life.drain());
    });
}

/// Register, then look, and the other side ends and then wakes: `Task::subscribe` of `src/engines/host/node.rs` with
/// `Epoch::end` and `Epoch::sleep_on`. Breaks: a look before the registration (then a sleeper is never woken).
#[test]
fn a_sleeper_is_woken_by_the_end_of_the_epoch_or_does_not_go_to_sleep() {
    loom::model(|| {
        let shared = Arc::new((Life::new(), Mutex::new(Vec::<Arc<Parker>>::new())));
        let fault = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.end(Stand::Poisoned);
                for parker in std::mem::take(&mut *shared.1.lock()) {
                    parker.wake();
                }
            })
        };
        let parker = Arc::new(Parker::default());
        shared.1.lock().push(parker.clone());
        if !shared.0.dead() {
            assert!(parker.sleep(None));
        }
        assert!(shared.0.dead());
        fault.join().unwrap();
    });
}
