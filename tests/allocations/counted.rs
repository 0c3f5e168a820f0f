//! What dispatches cost the process's allocator.
//!
//! Counted are calls of `alloc`, `alloc_zeroed` and `realloc` by the thread that submits (frees are not), and the bytes
//! alive in the whole process. In steady state a dispatch on the host engine makes **one** allocation, its node. Beside
//! it the queue of ready work (crossbeam's `SegQueue`) takes a block for every 31 pieces of work, and a device with a
//! pool spawns a job when a runner has to be hired: one box of rayon's, and a block of its injector for every 63.
//!
//! One test at a time: the allocator counts for all threads.

use crate::{alone, common, failing};

use common::{Gate, eventually, host, inline, map, up};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use windlass::{Device, DeviceBuffer, GpuRef, await_any};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<i64> = const { Cell::new(0) };
}
static ALIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

fn count(bytes: i64) {
    // A thread that is going away has no counter any more, and is not asked about.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
    let _ = BYTES.try_with(|n| n.set(n.get() + bytes));
    let before = ALIVE.fetch_add(bytes, Ordering::Relaxed);
    PEAK.fetch_max(before + bytes, Ordering::Relaxed);
}

/// The most bytes alive at one time in `f`, beyond those before.
pub(crate) fn peak<R>(f: impl FnOnce() -> R) -> (i64, R) {
    let before = ALIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = f();
    (PEAK.load(Ordering::Relaxed) - before, result)
}

// SAFETY: every call is passed on unchanged, or refused; the counters are atomics and a cell, and allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if failing::refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        count(layout.size() as i64);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if failing::refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        count(layout.size() as i64);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if failing::refuses(size) {
            return std::ptr::null_mut();
        }
        count(size as i64 - layout.size() as i64);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(at, layout, size) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        ALIVE.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations that this thread makes in `f`.
fn allocations<R>(f: impl FnOnce() -> R) -> (u64, R) {
    let before = ALLOCATIONS.with(Cell::get);
    let result = f();
    (ALLOCATIONS.with(Cell::get) - before, result)
}

const DISPATCHES: u64 = 10_000;

fn axpys(device: &Device, x: &GpuRef<f64>, mut y: DeviceBuffer<f64>, n: u64) -> DeviceBuffer<f64> {
    let blas = device.blas();
    for _ in 0..n {
        y = blas.axpy(1.0, x, y).unwrap().into_buffer();
    }
    y
}

#[test]
fn the_counter_counts() {
    let _alone = alone();
    let (n, kept) = allocations(|| (0..10).map(Box::new).collect::<Vec<Box<i32>>>());
    assert!((11..20).contains(&n), "{n}");
    drop(kept);
}

/// On the GPU that `WINDLASS_TEST_DEVICE` names, if it names one.
#[test]
fn a_dispatch_makes_one_allocation_on_a_gpu() {
    let _alone = alone();
    let Some(name) = std::env::var("WINDLASS_TEST_DEVICE").ok().filter(|name| name.starts_with("cuda")) else {
        eprintln!("skipped: WINDLASS_TEST_DEVICE names no GPU");
        return;
    };
    let device = Device::named(&name).unwrap();
    let x = up(&device, [1.0f64; 4]).share();
    let y = up(&device, [0.0f64; 4]);
    // In steady state: as much in flight before as while it is counted, so the ring and the events are there.
    let y = axpys(&device, &x, y, DISPATCHES);
    device.synchronize(Duration::from_secs(60)).unwrap();
    let (n, y) = allocations(|| axpys(&device, &x, y, DISPATCHES / 2));
    println!("{name}: {n} allocations for {} axpy dispatches in flight", DISPATCHES / 2);
    assert_eq!(device.download(&y).unwrap().await_result().unwrap(), [15_000.0; 4]);
    assert!(n <= DISPATCHES / 2 + 64, "{n}");
    let dots = |n| (0..n).map(|_| device.blas().dot(&x, &x).unwrap().await_result().unwrap()).sum::<f64>();
    dots(200);
    let (n, sum) = allocations(|| dots(DISPATCHES));
    println!("{name}: {n} allocations for {DISPATCHES} awaited dot dispatches");
    assert_eq!(sum, 4.0 * DISPATCHES as f64);
    assert!(n <= DISPATCHES + DISPATCHES / 31 + 64, "{n}");
}

#[test]
fn a_pool_adds_one_allocation_for_each_runner_that_the_caller_hires() {
    let _alone = alone();
    for device in [host(2).open().unwrap(), inline().open().unwrap()] {
        let x = up(&device, [1.0f64; 4]).share();
        // Awaited one by one, each dispatch finds the pool idle and hires.
        let dots = |n| (0..n).map(|_| device.blas().dot(&x, &x).unwrap().await_result().unwrap()).sum::<f64>();
        dots(200);
        let (n, _) = allocations(|| dots(DISPATCHES));
        println!("{device:?}: {n} allocations for {DISPATCHES} awaited dot dispatches");
        // The node and the box; a parker when the wait had to sleep; and the blocks of queues now and then, how often
        // depends on who runs when. A fourth for each dispatch would be 10 000 more.
        assert!(n <= 3 * DISPATCHES + DISPATCHES / 8, "{n}");
    }
}

#[test]
fn work_that_has_to_wait_for_other_work_costs_its_node_alone() {
    let _alone = alone();
    let device = host(2).open().unwrap();
    let x = up(&device, [1.0f64; 4]).share();
    let gate = Gate::default();
    let y = gate.hold(&device, axpys(&device, &x, up(&device, [0.0f64; 4]), 200)).into_output();
    gate.await_arrivals(1);
    let (n, y) = allocations(|| axpys(&device, &x, y, DISPATCHES));
    println!("pool of 2: {n} allocations for {DISPATCHES} axpy dispatches behind a gate");
    gate.open();
    assert_eq!(device.download(&y).unwrap().await_result().unwrap(), [10_200.0; 4]);
    // The list of the readers of `x` in flight doubles now and then.
    assert!(n <= DISPATCHES + 64, "{n}");
}

#[test]
fn bytes_alive_go_back_after_work_of_every_kind() {
    let _alone = alone();
    let device = host(2).open().unwrap();
    let work = || {
        for i in 0..200u32 {
            let x = up(&device, vec![1.0f64; 100]);
            let y = device.duplicate(&x).unwrap().into_output();
            let y = device.blas().axpy(f64::from(i), &x, y).unwrap().into_buffer();
            drop(device.blas().nrm2(&y).unwrap());
            std::mem::drop(device.download(&y).unwrap().await_result().unwrap());
        }
        device.synchronize(Duration::from_secs(60)).unwrap();
    };
    work();
    // What a thread has just done with goes when it comes to that.
    crate::common::let_others_run();
    let before = ALIVE.load(Ordering::Relaxed);
    (0..10).for_each(|_| work());
    let grown = || ALIVE.load(Ordering::Relaxed) - before;
    assert!(eventually(10, || grown() < 8192), "{} bytes more after 10 000 dispatches", grown());
}

#[test]
fn waiting_for_any_leaves_nothing_behind_on_work_that_lasts() {
    let _alone = alone();
    let device = host(2).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, up(&device, [0.0f64]));
    gate.await_arrivals(1);
    let mut pendings = vec![held];
    let mut quick = up(&device, [0.0f64]);
    let asleep = crate::common::Asleep::default();
    let mut rounds = |pendings: &mut Vec<_>, n: usize| {
        for _ in 0..n {
            let x = std::mem::replace(&mut quick, device.uninit(0).unwrap().into_buffer());
            // Long enough that the wait has to sleep on both.
            asleep.here();
            let waiter = asleep.clone();
            pendings.push(map(&device, x, move |_| waiter.wait()));
            let (index, answer) = await_any(pendings).unwrap();
            assert_eq!(index, 1);
            quick = answer.unwrap();
        }
        ALIVE.load(Ordering::Relaxed)
    };
    let before = rounds(&mut pendings, 100);
    let grown = rounds(&mut pendings, 2000) - before;
    gate.open();
    // A waker left behind would be 16 bytes in two lists and the sleeper itself: 100 000 bytes and more.
    assert!(grown < 16_384, "{grown} bytes more after 2000 waits for any");
}

#[test]
fn a_timed_wait_that_ran_out_leaves_nothing_behind() {
    let _alone = alone();
    let device = host(1).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, up(&device, [0.0f64]));
    let wait = |n: usize| {
        for _ in 0..n {
            assert!(!held.wait_timeout(Duration::from_micros(50)));
        }
        ALIVE.load(Ordering::Relaxed)
    };
    let before = wait(100);
    let grown = wait(2000) - before;
    assert!(grown < 16_384, "{grown} bytes more after 2000 waits that ran out");
}

/// Pages that nobody has touched cost nothing, so neither does a buffer that nobody has written.
#[test]
#[cfg(target_os = "linux")]
fn memory_that_nobody_has_written_is_not_touched() {
    let _alone = alone();
    let device = host(2).open().unwrap();
    let before = common::footprint().0;
    let zeros = device.zeros::<f64>(1 << 27).unwrap();
    let uninit = device.uninit::<f64>(1 << 27).unwrap();
    let grown = common::footprint().0.saturating_sub(before);
    assert!(grown < 256 << 20, "{grown} bytes of two times 1 GiB were touched");
    for at in [0, 12_345_678, (1 << 27) - 1] {
        let read = device.download(zeros.buffer().as_in().slice(at..at + 1).unwrap()).unwrap();
        assert_eq!(read.await_result().unwrap(), [0.0]);
    }
    drop(uninit);
}

/// Memory that was freed is used again, but never as zeros.
#[test]
fn zeros_are_zeros_where_other_data_was_before() {
    let _alone = alone();
    for device in [host(2).open().unwrap(), inline().open().unwrap()] {
        for len in [1, 1000, 40_000, 1 << 20] {
            for _ in 0..4 {
                let used = device.fill(device.uninit::<u32>(len).unwrap(), 7).unwrap().await_result().unwrap();
                drop(used);
                let zeros = device.zeros::<u32>(len).unwrap();
                let read = device.download(&zeros).unwrap().await_result().unwrap();
                assert!(read.iter().all(|&x| x == 0), "{len} elements");
            }
        }
    }
}

#[test]
fn a_slice_goes_straight_into_a_buffer_at_rest() {
    let _alone = alone();
    const LEN: usize = 1 << 20;
    let device = host(2).open().unwrap();
    let data: Vec<u64> = (0..LEN as u64).collect();
    let mut target = device.zeros::<u64>(LEN).unwrap().into_buffer();
    // A runner that is just leaving has a place yet; one of several times finds it free.
    let mut least = i64::MAX;
    for _ in 0..20 {
        device.synchronize(Duration::from_secs(60)).unwrap();
        let before = BYTES.with(Cell::get);
        target = device.upload_into(&data[..], target).unwrap().await_result().unwrap();
        least = least.min(BYTES.with(Cell::get) - before);
    }
    assert!(least < 65_536, "{least} bytes were allocated for an upload of {}", 8 * LEN);
    assert!(device.download(&target).unwrap().await_result().unwrap() == data);
}

/// The slice is the caller's again when the upload returns, wherever the work is then.
#[test]
fn a_slice_may_change_when_its_upload_has_returned() {
    let _alone = alone();
    for device in [host(1).open().unwrap(), host(3).open().unwrap(), inline().open().unwrap()] {
        for len in [1usize, 5000, 700_000] {
            let mut data = vec![1u64; len];
            let mut target = device.zeros::<u64>(len).unwrap().into_buffer();
            for round in 0..10u64 {
                data.fill(round);
                target = device.upload_into(&data[..], target).unwrap().into_output();
                data.fill(99);
                let read = device.download(&target).unwrap();
                let read = read.await_result().unwrap();
                assert!(read.iter().all(|&x| x == round), "{len} elements, round {round}");
            }
        }
    }
    // Behind work that lasts.
    let device = host(2).open().unwrap();
    let gate = Gate::default();
    let target = gate.hold(&device, device.zeros::<u64>(5000).unwrap().into_buffer()).into_output();
    let mut data = vec![5u64; 5000];
    let target = device.upload_into(&data[..], target).unwrap().into_output();
    data.fill(99);
    gate.open();
    assert!(device.download(&target).unwrap().await_result().unwrap() == [5; 5000]);
}

/// What a download leaves in memory of ours on its way is used for the next.
#[test]
fn downloads_into_a_slice_share_their_memory() {
    let _alone = alone();
    const LEN: usize = 1 << 20;
    let device = host(2).open().unwrap();
    let source = device.upload((0..LEN as u64).collect::<Vec<_>>()).unwrap().into_output();
    let mut target = vec![0u64; LEN];
    device.download(&source).unwrap().await_result_into(&mut target).unwrap();
    let before = ALIVE.load(Ordering::Relaxed);
    for _ in 0..50 {
        target.fill(0);
        device.download(&source).unwrap().await_result_into(&mut target).unwrap();
        assert!(target.iter().enumerate().all(|(i, &x)| x == i as u64));
    }
    let grown = ALIVE.load(Ordering::Relaxed) - before;
    assert!(grown < 8 * LEN as i64, "{grown} bytes more after 50 downloads");
}
