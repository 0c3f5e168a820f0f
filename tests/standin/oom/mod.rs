//! The ladder when memory runs out: what is in flight, the pool's hoard, the user's callback, then a typed error.

use crate::common;
mod staging;
use crate::standin;

use common::{Deed, InPlace, down, up};
use standin::{Mode, session};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use windlass::clock::{ManualClock, Timing};
use windlass::{Device, DeviceBuffer, DeviceBuilder, Error, op::Enqueue};

const MIB: usize = 1 << 20;

/// A device of 8 MiB, all of them allowed.
fn small() -> DeviceBuilder {
    standin::driver().set_total_memory(8 * MIB);
    Device::builder().cuda(0).slots(4).memory_limit(8 * MIB as u64)
}

/// Bytes of device memory.
fn take(device: &Device, bytes: usize) -> Result<DeviceBuffer<u8>, Error> {
    Ok(device.zeros(bytes)?.into_buffer())
}

#[test]
fn memory_of_dropped_buffers_that_are_still_in_flight_comes_back_before_there_is_none() {
    let driver = session();
    let device = small().open().unwrap();
    for _ in 0..4 {
        // Each is used on a slot of its own and read on another, so its memory can go back only when both are done.
        let many: Vec<_> = (0..3).map(|_| take(&device, 2 * MIB).unwrap()).collect();
        let copies: Vec<_> = many.iter().map(|x| device.download(x.as_in().slice(0..9).unwrap()).unwrap()).collect();
        drop((many, copies));
        let large = take(&device, 7 * MIB).expect("all of it comes back");
        assert_eq!(down(&device, large.as_in().slice(0..4).unwrap()), [0; 4]);
    }
    drop(device);
    driver.assert_finished();
}

/// What is handed out again here is counted here; what the pool holds the driver tells.
#[test]
fn memory_had_again_is_counted_and_the_pool_says_what_it_holds() {
    let driver = session();
    let device = Device::builder().cuda(0).slots(1).open().unwrap();
    let counts = || (device.stats().pool_hits, device.stats().pool_misses);
    assert_eq!((counts(), device.uninit::<u8>(0).map(drop), counts()), ((0, 0), Ok(()), (0, 0)));
    drop(device.uninit::<u8>(2 * MIB).unwrap());
    assert_eq!(counts(), (0, 1));
    // The housekeeping thread may come between, and free it.
    let asked = (1..100).find(|_| {
        let before = driver.calls_of("cuMemAllocFromPoolAsync");
        drop(device.uninit::<u8>(2 * MIB).unwrap());
        driver.calls_of("cuMemAllocFromPoolAsync") == before
    });
    let asked = asked.expect("never had again") as u64;
    assert_eq!(counts(), (1, asked));
    let x = take(&device, MIB).unwrap();
    assert_eq!(counts(), (1, asked + 1), "half as much is no use");
    assert!(common::eventually(5, || driver.live("pool_bytes") < 2 * MIB as i64));
    let calls = driver.calls_here();
    drop(device.stats());
    assert_eq!(driver.calls_here(), calls, "nobody is asked");
    let pool = device.memory().unwrap().pool.expect("a GPU has one");
    assert_eq!((pool.reserved, pool.used), (driver.live("pool_reserved") as u64, driver.live("pool_bytes") as u64));
    assert!(pool.used >= MIB as u64 && pool.used_peak >= 2 * MIB as u64, "{pool:?}");
    assert!(pool.reserved >= pool.used && pool.reserved_peak >= pool.used_peak, "{pool:?}");
    assert_eq!(Device::host().unwrap().memory().unwrap().pool, None);
    drop((x, device));
    driver.assert_finished();
}

/// A free runs in the order of its stream: until it has, other streams do not find the bytes.
#[test]
fn bytes_whose_free_is_on_its_way_are_waited_for() {
    let driver = session();
    // By a clock that stands: nobody runs out of patience.
    let device = small().timing(Timing::by(ManualClock::new())).open().unwrap();
    let round = || {
        driver.mode(Mode::Eager);
        let x = device.fill(take(&device, 6 * MIB).unwrap(), 1).unwrap().await_result().unwrap();
        let frees = driver.calls_of("cuMemFreeAsync");
        driver.mode(Mode::Manual); // every stream stands still
        drop(x);
        assert!(common::eventually(5, || driver.calls_of("cuMemFreeAsync") > frees));
        let asleep = common::Asleep::default();
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                asleep.here();
                device.uninit::<u8>(7 * MIB) // another thread, another stream
            });
            asleep.wait();
            driver.mode(Mode::Background);
            thread.join().unwrap()
        })
    };
    for _ in 0..10 {
        round().expect("it was only a matter of time");
    }
    drop(device);
    driver.assert_finished();
}

#[test]
fn the_wait_for_work_in_flight_is_bounded_and_ends_in_a_typed_error() {
    let driver = session();
    let clock = ManualClock::new();
    let device = small().timing(Timing::by(clock)).open().unwrap();
    let kept = take(&device, 2 * MIB).unwrap();
    let busy = standin::endless(&device);
    driver.mode(Mode::Manual); // before the housekeeping is called
    drop(device.fill(take(&device, 4 * MIB).unwrap(), 7).unwrap());
    let error = std::thread::scope(|scope| {
        let taking = scope.spawn(|| take(&device, 5 * MIB).expect_err("6 MiB of 8 are in use"));
        assert!(common::eventually(60, || {
            clock.advance(Duration::from_millis(1));
            taking.is_finished()
        }));
        taking.join().unwrap()
    });
    let Error::OutOfMemory { requested, free, total, limit, ref largest, ref site, .. } = error else {
        panic!("{error:?}")
    };
    // The free of what was dropped is enqueued behind its fill, so it lives no more.
    assert_eq!(largest.iter().map(|one| one.bytes).collect::<Vec<_>>(), [2 << 20]);
    assert_eq!((requested, total, limit), (5 << 20, 8 << 20, 8 << 20));
    assert!(free <= 6 << 20, "{free}");
    assert!(error.is_retryable() && !error.is_poisoning());
    assert_eq!(site.device(), Some("cuda:0"));
    assert_eq!(device.stats().errors.get("OutOfMemory"), Some(&1));
    driver.mode(Mode::Auto);
    driver.release();
    let late = take(&device, 5 * MIB).expect("the same call, made again");
    drop((kept, busy, late, device));
    driver.assert_finished();
}

/// Counts what is about to be enqueued.
#[derive(Default)]
struct Told(AtomicUsize);

impl windlass::trace::Trace for Told {
    fn before_enqueue(&self, _: &windlass::trace::OpInfo) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_pool_gives_its_hoard_back_to_a_library_that_wants_it() {
    let driver = session();
    let told = Arc::new(Told::default());
    let device = small().trace(told.clone()).open().unwrap();
    let (x, y) = (up(&device, [1.0f32; 4]), up(&device, [2.0f32; 4]));
    drop(take(&device, 8 * MIB - 4096).unwrap());
    assert!(common::eventually(5, || driver.live("pool_bytes") < 1024));
    let before = (told.0.load(Ordering::Relaxed), device.stats().dispatches);
    assert!(driver.live("pool_reserved") > 7 << 20, "the pool keeps what it once had");
    let trims = driver.calls_of("cuMemPoolTrimTo");
    let pool = || device.memory().unwrap().pool.unwrap();
    assert_eq!((pool().trims, pool().threshold), (trims, u64::MAX));
    let y = device.blas().axpy(1.0, &x, y).expect("the handle finds room after a trim").into_buffer();
    assert!(driver.calls_of("cuMemPoolTrimTo") > trims);
    assert_eq!(pool().trims, driver.calls_of("cuMemPoolTrimTo"));
    assert!(driver.calls_of("cublasCreate") >= 2, "it was tried again");
    let after = (told.0.load(Ordering::Relaxed), device.stats().dispatches);
    assert_eq!(after, (before.0 + 1, before.1 + 1), "it is told and counted once");
    assert_eq!(down(&device, &y), [3.0; 4]);
    drop((x, y, device));
    driver.assert_finished();
}

#[test]
fn the_callback_is_told_the_bytes_that_are_missing_and_what_it_frees_is_used() {
    let driver = session();
    let cache: Arc<Mutex<Vec<DeviceBuffer<u8>>>> = Arc::default();
    let asked: Arc<Mutex<Vec<u64>>> = Arc::default();
    let callback = {
        let (cache, asked) = (cache.clone(), asked.clone());
        move |bytes| {
            asked.lock().unwrap().push(bytes);
            cache.lock().unwrap().pop().is_some()
        }
    };
    let device = small().on_out_of_memory(callback).open().unwrap();
    cache.lock().unwrap().push(take(&device, 6 * MIB).unwrap());
    let x = take(&device, 5 * MIB).expect("the cache gave way");
    assert_eq!(*asked.lock().unwrap(), [3 << 20]);
    assert_eq!(down(&device, x.as_in().slice(0..4).unwrap()), [0; 4]);
    let error = take(&device, 4 * MIB).expect_err("the cache is empty");
    assert!(matches!(error, Error::OutOfMemory { requested: 0x40_0000, .. }), "{error:?}");
    assert_eq!(*asked.lock().unwrap(), [3 << 20, 1 << 20], "what is missing");
    drop((x, device));
    driver.assert_finished();
}

/// No lock is held while the callback runs: it may use the device itself.
#[test]
fn the_callback_may_use_the_device_and_may_panic() {
    let driver = session();
    static DEVICE: Mutex<Option<(Device, DeviceBuffer<u8>)>> = Mutex::new(None);
    static SAVED: AtomicUsize = AtomicUsize::new(0);
    let callback = |_| {
        let (device, cached) = DEVICE.lock().unwrap().take().expect("asked once too often");
        SAVED.store(down(&device, &cached).len(), Ordering::Relaxed);
        true
    };
    let device = small().on_out_of_memory(callback).open().unwrap();
    *DEVICE.lock().unwrap() = Some((device.clone(), take(&device, 6 * MIB).unwrap()));
    let x = take(&device, 5 * MIB).expect("saved to the host and freed");
    assert_eq!(SAVED.load(Ordering::Relaxed), 6 * MIB);
    let error = take(&device, 5 * MIB).expect_err("the callback panics");
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
    drop((x, device));
    driver.assert_finished();
}

#[test]
fn the_limit_of_a_device_holds_without_asking_the_driver() {
    let driver = session();
    let device = Device::builder().cuda(0).memory_limit(MIB as u64).open().unwrap();
    let kept = take(&device, MIB / 2).unwrap();
    let before = driver.calls_of("cuMemAllocFromPoolAsync");
    let error = take(&device, MIB).expect_err("past the limit");
    let Error::OutOfMemory { requested, free, limit, .. } = error else { panic!("{error:?}") };
    assert_eq!((requested, free, limit), (1 << 20, 1 << 19, 1 << 20));
    assert_eq!(driver.calls_of("cuMemAllocFromPoolAsync"), before, "the driver has the memory, but may not be asked");
    assert_eq!(device.stats().bytes_used, MIB as u64 / 2);
    let rest = take(&device, MIB / 2).expect("up to the limit");
    drop((kept, rest));
    let all = take(&device, MIB).expect("again from the beginning");
    drop((all, device));
    driver.assert_finished();
}

#[test]
fn eight_threads_that_want_more_than_there_is_take_turns() {
    let driver = session();
    let device = small().open().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let mut buffer = None;
                    let came = common::eventually(120, || match take(&device, 3 * MIB) {
                        Ok(taken) => buffer.replace(taken).is_none(),
                        Err(error) => {
                            assert!(error.is_retryable(), "{error:?}");
                            false
                        }
                    });
                    assert!(came, "never got its turn");
                    let buffer = buffer.unwrap();
                    assert_eq!(down(&device, buffer.as_in().slice(0..2).unwrap()), [0; 2]);
                }
            });
        }
    });
    drop(device);
    driver.assert_finished();
}

/// Asks for scratch of so many bytes.
struct Scratch(usize);

impl Deed for Scratch {
    const NAME: &'static str = "scratch";
    type Element = f32;
    fn cuda(&self, queue: &mut Enqueue<'_, InPlace<Self>>) -> windlass::Result<()> {
        queue.scratch(self.0).map(drop)
    }
}

/// Wants memory of the device while it is enqueued.
struct Greedy(Device);

impl Deed for Greedy {
    const NAME: &'static str = "greedy";
    type Element = f32;
    fn cuda(&self, _: &mut Enqueue<'_, InPlace<Self>>) -> windlass::Result<()> {
        take(&self.0, 5 * MIB).map(drop)
    }
}

/// Its slot is leased by the very thread that looks for what slots could give up.
#[test]
fn an_operation_that_wants_memory_while_it_is_enqueued_gets_it_or_is_told_that_there_is_none() {
    let driver = session();
    let device = small().slots(2).open().unwrap();
    common::within(60, move || {
        let y = up(&device, [2.0f32; 4]);
        let y = device.dispatch(InPlace(Greedy(device.clone())), (), (y,)).expect("there is some").into_output();
        let kept = take(&device, 4 * MIB).unwrap();
        let rejected = device.dispatch(InPlace(Greedy(device.clone())), (), (y,)).expect_err("4 MiB of 8 are in use");
        assert!(matches!(rejected.error, Error::OutOfMemory { requested: 0x50_0000, .. }), "{}", rejected.error);
        drop(kept);
    });
    driver.assert_finished();
}

/// The numbers of an error: requested, free, total, limit.
#[track_caller]
fn numbers(error: &Error) -> (u64, u64, u64, u64) {
    match error {
        Error::OutOfMemory { requested, free, total, limit, .. } => (*requested, *free, *total, *limit),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_an_operation_found_no_memory_for_is_told_with_all_numbers() {
    let driver = session();
    let device = small().slots(1).open().unwrap();
    let (x, y) = (up(&device, [1.0f32; 4]), up(&device, [2.0f32; 4]));
    let kept = take(&device.labelled("kept"), 4 * MIB).unwrap();
    let rejected = device.dispatch(InPlace(Scratch(5 * MIB)), (), (y,)).expect_err("4 MiB of 8 are in use");
    assert!(rejected.error.to_string().contains("the largest living: 4194304 bytes \"kept\""), "{}", rejected.error);
    let (requested, free, total, limit) = numbers(&rejected.error);
    assert_eq!((requested, total, limit), (5 << 20, 8 << 20, 8 << 20), "{}", rejected.error);
    assert!(free > 3 << 20 && free <= 4 << 20, "{free}");
    let site = rejected.error.site().unwrap();
    assert_eq!((site.op(), site.code()), (Some("scratch"), Some(2)));
    // A library does not say what it asked for.
    let rest = take(&device, 4 * MIB - 8192).unwrap();
    let rejected = device.blas().axpy(1.0, &x, rejected.back.unwrap().0).expect_err("no room for a handle");
    let (requested, free, total, limit) = numbers(&rejected.error);
    assert_eq!((requested, total, limit), (0, 8 << 20, 8 << 20), "{}", rejected.error);
    assert!(free < 8192, "{free}");
    drop((rest, kept));
    let y = device.blas().axpy(1.0, &x, rejected.back.unwrap().0).expect("there is room again").into_buffer();
    (0..2).for_each(|nth| driver.fail("cuMemAllocFromPoolAsync", nth, 2));
    let error = device.blas().dot(&x, &y).map(drop).expect_err("no room for its result");
    let (requested, free, total, limit) = numbers(&error);
    assert!((requested, total, limit) == (256, 8 << 20, 8 << 20) && free > 0, "{error}");
    assert_eq!(device.blas().dot(&x, &y).unwrap().await_result().unwrap(), 12.0);
    drop((x, y, device));
    driver.assert_finished();
}

/// Whoever holds a slot is somebody of this process, unlike what runs on the device: he comes to an end.
#[test]
fn memory_that_waits_on_a_slot_that_somebody_holds_comes_back_when_he_is_through() {
    let driver = session();
    let clock = ManualClock::new();
    let mut timing = Timing::by(clock);
    timing.waits.glance = Duration::ZERO; // it looks as often as it is to be patient for at least
    let device = small().timing(timing).open().unwrap();
    // On every slot.
    let many: Vec<_> = (0..14).map(|_| take(&device, MIB / 2).unwrap()).collect();
    let x = device.zeros::<f32>(4).unwrap();
    device.synchronize(common::LONG).unwrap();
    let (op, hold) = standin::Launch::held(c"add_one_f32");
    std::thread::scope(|scope| {
        let held = scope.spawn(|| drop(device.dispatch(op, (), (x.into_buffer(),)).unwrap().await_result().unwrap()));
        hold.await_arrival();
        drop(many);
        let wanted = scope.spawn(|| take(&device, 7 * MIB).map(drop));
        // Longer than what may never end is waited for.
        for _ in 0..20 {
            clock.advance(Duration::from_millis(100));
            common::let_others_run();
        }
        assert!(!wanted.is_finished(), "refused");
        hold.go_on(true);
        wanted.join().unwrap().expect("all of it comes back");
        held.join().unwrap();
    });
    drop(device);
    driver.assert_finished();
}

/// The driver tells by a mask which handles pools have; what it says of `cuMemCreate` is another matter.
#[test]
fn a_pool_is_exportable_where_pools_can_be() {
    let driver = session();
    for (of_pools, of_vmm, handles) in [(1, 0, 1), (0, 1, 0), (9, 1, 1), (8, 1, 0)] {
        driver.set_attribute(119, of_pools);
        driver.set_attribute(103, of_vmm);
        driver.log_of_this_thread();
        drop(Device::builder().cuda(0).open().unwrap());
        let made = driver.take_log().into_iter().find(|call| call.contains("cuMemPoolCreate")).expect("a pool");
        assert!(made.contains(&format!("handles {handles}")), "{of_pools} {of_vmm}: {made}");
    }
    driver.assert_finished();
}

/// Each generation has its own counts and its own list: what a handle of an ended one holds is not named any more.
#[test]
fn a_rebuild_begins_a_new_report() {
    let driver = session();
    let device = small().open().unwrap();
    let old = take(&device.labelled("old"), MIB).unwrap();
    assert!(take(&device, 9 * MIB).is_err());
    assert!(device.memory().unwrap().pool.unwrap().trims > 0);
    device.rebuild(Duration::from_secs(60)).unwrap();
    assert_eq!(device.memory().unwrap().pool.unwrap().trims, 0);
    assert!(device.memory_report().labels.iter().all(|share| share.label.is_none()), "the self-test has no label");
    let error = take(&device, 9 * MIB).expect_err("of 8");
    assert!(matches!(&error, Error::OutOfMemory { largest, .. } if largest.is_empty()), "{error}");
    drop((old, device));
    driver.assert_finished();
}
