//! `src/engines/cuda/dispatch/together.rs` and `late.rs`: a dispatch over several devices takes their slots in one order, is late on
//! all of them, and is settled by the last.

use crate::subject::late::{Added, Binding, Ends};
use crate::subject::settle::Waiter;
use crate::subject::together::{Rings, take_in_order};
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering};
use loom::thread;

/// The slot of a device.
struct Device {
    number: u64,
    slot: Mutex<usize>,
}

/// Two threads name the devices in opposite orders, and hold both slots when they enqueue. Breaks: a `take_in_order` that
/// takes them in the order of the list (a deadlock).
#[test]
fn threads_that_name_the_devices_in_any_order_do_not_wait_for_each_other() {
    loom::model(|| {
        let devices = Arc::new([3, 5].map(|number| Device { number, slot: Mutex::new(0) }));
        let enqueue = |devices: &[&Device]| {
            let mut devices: Vec<&Device> = devices.to_vec();
            let taken = take_in_order(&mut devices, |device| device.number, |device| Ok::<_, ()>(device.slot.lock()));
            let mut taken = taken.unwrap();
            // In the order of the list again.
            let before: Vec<usize> = taken.iter().map(|slot| **slot).collect();
            assert_eq!(before[0], before[1], "another thread was between the two");
            taken.iter_mut().for_each(|slot| **slot += 1);
        };
        let other = {
            let devices = devices.clone();
            thread::spawn(move || enqueue(&[&devices[1], &devices[0]]))
        };
        enqueue(&[&devices[0], &devices[1]]);
        other.join().unwrap();
        assert!(devices.iter().all(|device| *device.slot.lock() == 2));
    });
}

/// A slot that cannot be taken: what was taken before is given back. Breaks: nothing of today; a `take_in_order` that keeps
/// what it has and tries again.
#[test]
fn a_device_that_refuses_keeps_no_other_device() {
    loom::model(|| {
        let devices = [1, 2].map(|number| Device { number, slot: Mutex::new(0) });
        let mut list: Vec<&Device> = devices.iter().collect();
        let taken = take_in_order(
            &mut list,
            |device| device.number,
            |device| if device.number == 2 { Err(()) } else { Ok(device.slot.lock()) },
        );
        assert!(taken.is_err());
        drop(taken);
        assert!(devices[0].slot.try_lock().is_some());
    });
}

/// The rings of two devices let a task go at the same time: one of them settles it, and sees that both are done. Breaks: a
/// `let_go` with relaxed ordering, and one that loads the count and stores it.
#[test]
fn the_last_ring_settles_the_task_once() {
    loom::model(|| {
        let world = Arc::new((Rings::new(2), [AtomicUsize::new(0), AtomicUsize::new(0)], AtomicUsize::new(0)));
        let let_go = |world: &(Rings, [AtomicUsize; 2], AtomicUsize), device: usize| {
            world.1[device].store(1, Ordering::Relaxed); // it is done there
            if world.0.let_go() {
                assert!(world.1.iter().all(|done| done.load(Ordering::Relaxed) == 1), "settled before it was done");
                world.2.fetch_add(1, Ordering::Relaxed);
            }
        };
        let other = {
            let world = world.clone();
            thread::spawn(move || let_go(&world, 1))
        };
        let_go(&world, 0);
        other.join().unwrap();
        assert_eq!(world.2.load(Ordering::Relaxed), 1);
    });
}

/// What follows the dispatch, and is notified; here, how often.
struct Told(Arc<AtomicUsize>);

impl Waiter<&'static str> for Told {
    fn settled(self, failure: Option<&&'static str>) {
        assert!(failure.is_some());
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn same(&self, _: &Self) -> bool {
        false
    }
}

/// A dispatch that is late on two devices fails on both, with one outcome: who follows it on either is told, or finds the
/// failure and the end there. Breaks: a `bind` that settles before it stores the ends.
#[test]
fn who_follows_late_work_on_any_device_learns_of_its_failure() {
    loom::model(|| {
        let lates: Arc<[Binding<usize, &'static str, Told>; 2]> = Arc::new([Binding::new(), Binding::new()]);
        let told = Arc::new(AtomicUsize::new(0));
        let follower = {
            let (lates, told) = (lates.clone(), told.clone());
            thread::spawn(move || {
                let mut found = 0;
                for (device, late) in lates.iter().enumerate() {
                    if late.core().subscribe(Told(told.clone())) {
                        continue;
                    }
                    let mut ends = Vec::new();
                    assert_eq!(late.follow(|end| ends.push(*end)), Added::Failed);
                    assert_eq!(ends, [device], "the end of another device");
                    found += 1;
                }
                found
            })
        };
        for (device, late) in lates.iter().enumerate() {
            late.bind(Ends::from_iter([device]), Err("aborted"));
        }
        let found = follower.join().unwrap();
        assert_eq!(found + told.load(Ordering::Relaxed), 2);
    });
}
