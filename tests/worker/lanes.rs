//! Orders of several threads: none waits for what it does not follow, and all are carried out as they follow each other.

use crate::common::{assert_back_at, down, up, within};
use crate::gate::Gate;
use crate::ops::{Deed, Late, Slow, submit};
use crate::{alone, isolated};
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use windlass::{
    Device, DeviceBuffer, PendingDispatch, Result,
    op::{Op, Slices, SlicesMut, Spans, Wire},
};

/// Keeps the worker from what this thread sends next for so long. On a buffer of its own.
fn hold_up(device: &Device, ms: u64) -> PendingDispatch<DeviceBuffer<f64>> {
    submit(device, Deed::Slow(Slow(ms))).unwrap()
}

/// Work that goes through in one piece.
fn go_on(device: &Device) -> f64 {
    let x = up(device, [3.0f64, 4.0]);
    let x = device.blas().scal(2.0, x).unwrap().into_buffer();
    device.blas().nrm2(&x).unwrap().await_result().unwrap()
}

/// A thread that lives as long as this, and so has a lane of its own.
struct Aside(Sender<Box<dyn FnOnce() + Send>>);

impl Aside {
    fn new() -> Self {
        let (sender, jobs) = channel::<Box<dyn FnOnce() + Send>>();
        std::thread::spawn(move || jobs.into_iter().for_each(|job| job()));
        Aside(sender)
    }

    fn begin<R: Send + 'static>(&self, f: impl FnOnce() -> R + Send + 'static) -> Receiver<R> {
        let (sender, result) = channel();
        self.0.send(Box::new(move || drop(sender.send(f())))).unwrap();
        result
    }

    fn run<R: Send + 'static>(&self, f: impl FnOnce() -> R + Send + 'static) -> R {
        self.begin(f).recv().unwrap()
    }
}

#[test]
fn an_operation_that_takes_long_to_read_holds_up_its_own_thread_only() {
    let _alone = alone();
    within(60, || {
        let device = isolated().open().unwrap();
        assert_eq!(go_on(&device), 10.0);
        let (aside, theirs) = (Aside::new(), device.clone());
        let gate = Gate::new();
        let pass = gate.pass();
        let late = aside.run(move || submit(&theirs, Deed::Late(Late(pass))).unwrap());
        gate.await_arrival();
        (0..20).for_each(|_| assert_eq!(go_on(&device), 10.0));
        assert!(!late.is_ready(), "it was not read beside the 20 rounds");
        gate.open();
        drop(late.await_result().unwrap());
    });
}

/// A copy whose order takes long to be read, when the worker has found its operands already.
#[derive(Serialize, Deserialize)]
struct SlowCopy(Slow);

impl Op for SlowCopy {
    const NAME: &'static str = "slow_copy";
    type Reads = (f64,);
    type Output = DeviceBuffer<f64>;
    type Raw = ();

    fn check(&self, _: &Spans<(f64,)>, _: &Spans<(f64,)>) -> Result<()> {
        Ok(())
    }
    fn host(&self, (from,): Slices<'_, Self>, (to,): SlicesMut<'_, Self>) -> Result<()> {
        to.copy_from_slice(from);
        Ok(())
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }
}

/// The worker is still at the order to read the whole while the parts are used on other lanes.
#[test]
fn parts_follow_what_was_sent_for_the_whole_on_another_thread() {
    let _alone = alone();
    within(60, || {
        let device = isolated().open().unwrap();
        let (one, two, three) = (Aside::new(), Aside::new(), Aside::new());
        for round in 0..10u32 {
            let x = up(&device, [1.0f64; 8]).share();
            let (theirs, its) = (device.clone(), x.clone());
            let copied = one.run(move || {
                // Found in the worker, then read for long; submitted there, then waiting for its target.
                let busy = theirs
                    .dispatch(crate::common::InPlace(Deed::Sleep(60)), (), (theirs.zeros(8).unwrap().into_buffer(),))
                    .unwrap();
                theirs.dispatch(SlowCopy(Slow(30)), (its.as_in(),), (busy.into_output(),)).unwrap().into_output()
            });
            std::thread::sleep(Duration::from_millis(10));
            let (left, right) = x.try_unique().unwrap().split_at(4).unwrap();
            // Only read first: a reader alone makes the worker cut the whole.
            let theirs = device.clone();
            let (left, reader) = two.run(move || {
                let reader = theirs.duplicate(&left).unwrap().into_output();
                (left, reader)
            });
            let theirs = device.clone();
            let right = three.run(move || theirs.fill(right, f64::from(round)).unwrap().into_output());
            let left = device.fill(left, -1.0).unwrap().into_output();
            assert_eq!(down(&device, &reader), [1.0; 4]);
            assert_eq!(down(&device, &copied), [1.0; 8], "the parts were written before the whole was read");
            let want: Vec<_> = [-1.0; 4].into_iter().chain([f64::from(round); 4]).collect();
            assert_eq!(down(&device, &left.into_buffer().join(right.into_buffer()).unwrap()), want);
        }
    });
}

/// And the whole what was sent for the parts.
#[test]
fn a_whole_follows_what_was_sent_for_its_parts_on_other_threads() {
    let _alone = alone();
    within(60, || {
        let device = isolated().open().unwrap();
        let (one, two) = (Aside::new(), Aside::new());
        for _ in 0..10 {
            let (left, right) = up(&device, [1.0f64; 8]).split_at(4).unwrap();
            let theirs = device.clone();
            let left = one.run(move || {
                drop(hold_up(&theirs, 30));
                theirs.fill(left, 2.0).unwrap().into_output()
            });
            let theirs = device.clone();
            let (right, copy) = two.run(move || {
                drop(hold_up(&theirs, 20));
                let copy = theirs.duplicate(&right).unwrap().into_output();
                (right, copy)
            });
            let whole = device.blas().scal(3.0, left.into_buffer().join(right).unwrap()).unwrap().into_output();
            assert_eq!(down(&device, &whole), [6.0, 6.0, 6.0, 6.0, 3.0, 3.0, 3.0, 3.0]);
            assert_eq!(down(&device, &copy), [1.0; 4]);
        }
    });
}

#[test]
fn memory_is_made_on_one_thread_used_on_a_second_and_given_back_on_a_third() {
    let _alone = alone();
    within(60, || {
        let device = isolated().open().unwrap();
        let (made, make) = channel::<DeviceBuffer<f64>>();
        let (used, using) = channel();
        std::thread::scope(|scope| {
            let device = &device;
            scope.spawn(move || {
                for i in 0..500 {
                    if i % 100 == 0 {
                        drop(hold_up(device, 10)); // so that the memory is made late
                    }
                    made.send(device.uninit(4).unwrap().into_buffer()).unwrap();
                }
            });
            scope.spawn(move || {
                for (i, x) in make.into_iter().enumerate() {
                    used.send((i, device.fill(x, i as f64).unwrap().into_output())).unwrap();
                }
            });
            scope.spawn(move || {
                for (i, x) in using {
                    assert_eq!(device.blas().nrm2(&x).unwrap().await_result().unwrap(), 2.0 * i as f64);
                }
            });
        });
        assert_back_at(&device, (0, 0, 0));
    });
}

/// The order to free it is behind a slow one in another lane than the order that needs the room.
#[test]
fn memory_that_one_thread_gave_back_can_be_had_by_another_at_once() {
    let _alone = alone();
    within(60, || {
        let device = isolated().memory_limit(1 << 20).open().unwrap();
        let fill = |device: &Device, value: u8| {
            let x = device.fill(device.uninit::<u8>(700 << 10).unwrap(), value).unwrap().await_result().unwrap();
            assert_eq!(down(device, x.buffer().as_in().slice(5..6).unwrap()), [value]);
            x
        };
        let aside = Aside::new();
        for round in 0..10 {
            let theirs = device.clone();
            aside.run(move || {
                let x = fill(&theirs, round);
                drop(hold_up(&theirs, 20));
                drop(x);
            });
            drop(fill(&device, 100 + round));
        }
    });
}

#[test]
fn more_threads_than_lanes_share_them() {
    let _alone = alone();
    within(60, || {
        let device = isolated().open().unwrap();
        let shared = up(&device, [1.0f64; 4]).share();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..50u32)
                .map(|i| {
                    let (device, shared) = (&device, shared.clone());
                    scope.spawn(move || {
                        let mut own = device.zeros::<f64>(4).unwrap();
                        for _ in 0..50 {
                            own = device.blas().axpy(f64::from(i), &shared, own).unwrap().into_output();
                        }
                        own
                    })
                })
                .collect();
            let sums: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            for (i, own) in sums.iter().enumerate() {
                assert_eq!(down(&device, own), [50.0 * i as f64; 4]);
            }
        });
        let x = device.fill(shared.try_unique().unwrap(), 0.0).unwrap().into_output();
        assert_eq!(down(&device, &x), [0.0; 4]);
    });
}
