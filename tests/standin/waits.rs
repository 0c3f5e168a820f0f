//! Ways of waiting on the CUDA engine, and of not waiting.

use crate::common;
use crate::standin;

use common::{Asleep, down, eventually, lasts_an_hour, let_others_run, up};
use standin::{Mode, device, endless, launch, session};
use std::sync::Arc;
use std::time::Duration;
use windlass::clock::{ManualClock, Timing};
use windlass::{
    Device, DeviceBuffer, Error, PendingDispatch, Wait, await_any,
    op::{Enqueue, InFlight, LaunchDims, Op, Ptx, Slices, SlicesMut, Spans},
};

const POLICIES: [Wait; 5] = [Wait::Adaptive, Wait::Spin, Wait::Yield, Wait::Block, Wait::Rayon];
const SHORT: Duration = Duration::from_millis(3);
const LONG: Duration = Duration::from_secs(60);

#[test]
fn every_policy_waits_until_it_is_over_and_no_longer_than_it_may() {
    let driver = session();
    for how in POLICIES {
        let clock = ManualClock::new();
        let device = Device::builder().cuda(0).slots(2).wait(how).timing(Timing::by(clock)).open().unwrap();
        let pending = endless(&device);
        assert!(!lasts_an_hour(clock, |hour| pending.wait_timeout(hour)), "{how:?}");
        let pending =
            lasts_an_hour(clock, |hour| pending.await_timeout(hour)).expect_err("it runs until it is released");
        let x = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| pending.await_result().unwrap());
            let_others_run();
            assert!(!waiter.is_finished(), "{how:?}");
            driver.release();
            waiter.join().unwrap()
        });
        assert_eq!(down(&device, &launch(&device, c"add_one_f32", x).await_result().unwrap()), [1.0; 4]);
        let dot = device.blas().dot(&up(&device, [2.0f64; 4]), &up(&device, [3.0f64; 4])).unwrap();
        assert_eq!(dot.await_result().unwrap(), 24.0, "{how:?}");
        drop(device);
        driver.assert_finished();
        driver.reset();
    }
}

#[test]
fn blocking_sleeps_in_the_driver_and_a_limit_polls() {
    let driver = session();
    let device = Device::builder().cuda(0).slots(2).wait(Wait::Block).open().unwrap();
    let pending = endless(&device);
    let pending = pending.await_timeout(SHORT).expect_err("still running");
    assert_eq!(driver.calls_of("cuEventSynchronize"), 0, "a limit cannot be given to the driver");
    for round in 1..=3 {
        let waiters: Vec<_> = (0..3).map(|_| endless(&device)).collect();
        std::thread::scope(|scope| {
            let wait = |pending: PendingDispatch<DeviceBuffer<f32>>| {
                let before = driver.calls_here();
                drop(pending.await_result().unwrap());
                driver.calls_here() - before
            };
            let threads: Vec<_> = waiters.into_iter().map(|pending| scope.spawn(move || wait(pending))).collect();
            let sleep = eventually(5, || driver.calls_of("cuEventSynchronize") == 3 * round);
            let_others_run();
            driver.release();
            // Who does not sleep asks at every look.
            let calls = threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap();
            assert!(sleep && calls < 30, "{sleep}, {calls} calls of one that waits");
        });
        assert!(driver.live("streams") <= 2 + 3, "streams for blocking are used again");
    }
    pending.await_result().unwrap();
    drop(device);
    driver.assert_finished();
}

#[test]
fn any_of_several_is_found_among_gpu_and_host_work() {
    let driver = session();
    let (gpu, host) = (device(4), Device::host().unwrap());
    let fast = || gpu.fill(gpu.zeros::<f32>(4).unwrap(), 1.0).unwrap().into();
    let mut pendings: Vec<PendingDispatch<DeviceBuffer<f32>>> = vec![endless(&gpu), fast(), endless(&gpu)];
    pendings.push(host.fill(host.zeros::<f32>(4).unwrap(), 2.0).unwrap().into());
    for _ in 0..2 {
        let (_, answer) = await_any(&mut pendings).unwrap();
        answer.unwrap();
    }
    assert_eq!(pendings.len(), 2);
    let asleep = Asleep::default();
    std::thread::scope(|scope| {
        asleep.here();
        scope.spawn(|| {
            asleep.wait();
            driver.release();
        });
        while let Some((_, answer)) = await_any(&mut pendings) {
            answer.unwrap();
        }
    });
    assert!(await_any(&mut pendings).is_none());
    drop((gpu, host, pendings));
    driver.assert_finished();
}

/// Also when nobody ever calls the device again.
#[test]
fn what_dropped_pendings_held_is_given_back_by_housekeeping() {
    let driver = session();
    let device = device(2);
    driver.mode(Mode::Manual);
    let keep = up(&device, vec![1.0f64; 1000]);
    for _ in 0..10 {
        drop(device.download(&keep).unwrap());
        drop(device.blas().dot(&keep, &keep).unwrap());
        drop(device.blas().scal(2.0, up(&device, vec![0.0f64; 1000])).unwrap());
        let ((_buffer,), verdict) = device.blas().scal(2.0, up(&device, vec![0.0f64; 1000])).unwrap().into_parts();
        common::forget(verdict);
    }
    let stats = device.stats();
    assert!(stats.in_flight >= 30, "{stats:?}");
    driver.mode(Mode::Background);
    let idle = || (device.stats().in_flight, device.stats().parked, device.stats().allocations) == (0, 0, 1);
    assert!(eventually(4, idle), "{:?}", device.stats());
    let (pinned, hits) = (device.stats().pinned_bytes, device.stats().staging_hits);
    for _ in 0..4 {
        drop(device.download(&keep).unwrap().await_result().unwrap());
    }
    assert_eq!(device.stats().pinned_bytes, pinned, "the staging came back");
    assert!(device.stats().staging_hits >= hits + 4);
    drop((keep, device));
    driver.assert_finished();
}

static EMPTY: Ptx = Ptx::new(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry empty() { ret; }\n");

/// An op that owns something, which the device might read.
struct Owning {
    _it: Arc<()>,
}

impl Op for Owning {
    const NAME: &'static str = "owning";
    type Reads = ();
    type Output = DeviceBuffer<f32>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(f32,)>) -> Result<(), Error> {
        Ok(())
    }
    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<(), Error> {
        Err(Error::unsupported("a kernel of the simulated device"))
    }
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<(), Error> {
        // SAFETY: the kernel has no parameters and touches nothing.
        unsafe { queue.launch(&EMPTY, c"empty", LaunchDims::for_elements(1)?, &[]) }
    }
    fn finish(&self, (): ()) -> Result<(), Error> {
        Ok(())
    }
}

#[test]
fn what_an_op_owns_lives_until_its_work_is_over_whatever_becomes_of_its_pending() {
    let driver = session();
    let device = device(1);
    let x = up(&device, [1.0f32; 4]);
    device.synchronize(LONG).unwrap();
    let mine = Arc::new(());
    driver.mode(Mode::Manual);
    let x = device.dispatch(Owning { _it: mine.clone() }, (), (x,)).unwrap().into_output();
    // What comes behind it reaps what is over, and so does the housekeeping.
    let x = (0..200).fold(x, |x, _| device.fill(x, 2.0).unwrap().into_buffer());
    let_others_run();
    assert_eq!(Arc::strong_count(&mine), 2);
    driver.mode(Mode::Background);
    assert!(eventually(4, || Arc::strong_count(&mine) == 1), "kept for ever");
    drop((x, device));
    driver.assert_finished();
}

#[test]
fn a_timed_handle_measures_the_device_and_others_do_not() {
    let driver = session();
    let device = device(2);
    let (x, y) = (up(&device, [1.0f32; 64]), up(&device, [0.0f32; 64]));
    let timed = device.timed().blas().axpy(1.0, &x, y).unwrap().await_timed().unwrap();
    // The simulated clock gives each command a microsecond; one lies between the two events.
    assert!(timed.device.is_some_and(|time| time >= Duration::from_nanos(900) && time < LONG), "{:?}", timed.device);
    let plain = device.blas().axpy(1.0, &x, timed.output).unwrap().await_timed().unwrap();
    assert_eq!(plain.device, None);
    let scalar = device.timed().blas().nrm2(&x).unwrap().await_timed().unwrap();
    assert!(scalar.output == 8.0 && scalar.device.is_some());
    let made = driver.live("events");
    for _ in 0..200 {
        device.timed().blas().nrm2(&x).unwrap().await_timed().unwrap().device.expect("measured");
    }
    assert!(driver.live("events") <= made + 8, "timers are used again");
    drop((x, plain, device));
    driver.assert_finished();
}

#[test]
fn a_hundred_thousand_dispatches_are_submitted_before_the_first_is_awaited() {
    let driver = session();
    driver.races(false); // tested elsewhere; here it would only take time
    driver.mode(Mode::Background);
    let device = device(3);
    let x = up(&device, [1.0f32; 2]);
    let mut sums: Vec<_> = (0..4).map(|_| up(&device, [0.0f32; 2])).collect();
    let mut pendings = Vec::with_capacity(100_000);
    for i in 0..100_000 {
        let ((y,), pending) = device.blas().axpy(1.0, &x, sums.swap_remove(i % 4)).unwrap().into_parts();
        sums.push(y.into_buffer());
        pendings.push(pending);
    }
    pendings.into_iter().for_each(|pending| pending.await_result().unwrap());
    let total: f32 = sums.iter().map(|y| down(&device, y)[0]).sum();
    assert_eq!(total, 100_000.0);
    assert_eq!(device.stats().dispatches, 100_000 + 5 + 4);
    drop((x, sums, device));
    driver.assert_finished();
}

#[test]
fn a_bound_on_work_in_flight_waits_or_refuses_by_what_the_device_has_finished() {
    let driver = session();
    let busy = Device::builder().cuda(0).slots(2).in_flight(InFlight::Busy(4)).open().unwrap();
    let x = up(&busy, [1.0f32; 4]);
    busy.synchronize(LONG).unwrap();
    driver.mode(Mode::Manual);
    let pendings: Vec<_> = (0..4).map(|_| busy.blas().nrm2(&x).unwrap()).collect();
    let error = busy.blas().nrm2(&x).map(drop).expect_err("four are in flight");
    assert!(matches!(error, Error::Busy { in_flight: 4, limit: 4, .. }) && error.is_retryable(), "{error:?}");
    driver.mode(Mode::Eager);
    // Another thread may be asking the device just now, and then this one looks again.
    let mut more = None;
    let admitted = eventually(5, || {
        more = busy.blas().nrm2(&x).ok();
        more.is_some()
    });
    assert!(admitted, "what is done does not count, awaited or not");
    assert_eq!(more.unwrap().await_result().unwrap(), 2.0);
    pendings.into_iter().for_each(|pending| assert_eq!(pending.await_result().unwrap(), 2.0));
    drop((x, busy));
    driver.assert_finished();

    driver.reset();
    let wait = Device::builder().cuda(0).slots(2).in_flight(InFlight::Wait(3)).open().unwrap();
    let x = up(&wait, [1.0f32; 4]);
    // Everything is submitted before anything is awaited, past the bound: it counts completions, not waits.
    let pendings: Vec<_> = (0..200).map(|_| wait.blas().nrm2(&x).unwrap()).collect();
    assert!(wait.stats().in_flight <= 3);
    pendings.into_iter().for_each(|pending| assert_eq!(pending.await_result().unwrap(), 2.0));
    drop((x, wait));
    driver.assert_finished();
}

/// The last handle of the device goes while work is in flight: what was submitted is still answered.
#[test]
fn a_device_dropped_with_work_in_flight_still_answers_it_and_then_goes() {
    let driver = session();
    for mode in [Mode::Manual, Mode::Background, Mode::Eager] {
        driver.reset();
        let device = device(3);
        driver.mode(mode);
        let (x, y) = (up(&device, vec![2.0f64; 500]), up(&device, vec![1.0f64; 500]));
        let sum = device.blas().axpy(1.0, &x, y).unwrap();
        let (dot, data) = (device.blas().dot(&x, &x).unwrap(), device.download(&x).unwrap());
        let (late_dot, late_data) = (device.blas().dot(&x, &x).unwrap(), device.download(&x).unwrap());
        drop(device);
        let_others_run();
        driver.mode(Mode::Background);
        assert_eq!(dot.await_result().unwrap(), 2000.0);
        assert_eq!(data.await_result().unwrap(), vec![2.0; 500]);
        drop((x, sum.await_result().unwrap()));
        // Everything native goes but what the results lie in; they are read afterwards.
        assert!(eventually(4, || driver.live("streams") == 0));
        assert_eq!(late_dot.await_result().unwrap(), 2000.0);
        assert_eq!(late_data.await_result().unwrap(), vec![2.0; 500]);
        driver.assert_finished();
    }
}

/// Making pinned memory may wait for all that the GPU is doing, so nobody's slot is held meanwhile.
#[test]
fn room_for_results_is_made_before_a_slot_is_leased() {
    let driver = session();
    let device = device(1);
    let (x, y) = (up(&device, [1.0f32; 4]), up(&device, [2.0f32; 4]));
    assert_eq!(device.blas().dot(&x, &y).unwrap().await_result().unwrap(), 8.0);
    driver.mode(Mode::Manual);
    let held = driver.hold("cuMemHostAlloc");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (before, submitted) = (driver.calls_of("cuMemHostAlloc"), device.stats().dispatches);
        let many = scope.spawn(|| (0..1100).map(|_| device.blas().dot(&x, &y).unwrap()).collect::<Vec<_>>());
        assert!(eventually(20, || driver.calls_of("cuMemHostAlloc") > before), "1024 slots are made at once");
        assert!(device.stats().dispatches > submitted + 1000);
        // The only slot: it is free for others.
        let other = scope.spawn(|| {
            let filled = device.fill(device.uninit(4).unwrap(), 1.0f32).unwrap();
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            filled
        });
        let free = eventually(2, || done.load(std::sync::atomic::Ordering::Relaxed));
        drop(held);
        driver.mode(Mode::Background);
        assert_eq!(other.join().unwrap().await_result().unwrap().len(), 4);
        many.join().unwrap().into_iter().for_each(|dot| assert_eq!(dot.await_result().unwrap(), 8.0));
        assert!(free, "the slot was held while pinned memory was made");
    });
    drop((x, y, device));
    driver.assert_finished();
}

/// The event of a completion serves a later one when it is over. Who was about to sleep on it does not wait for that.
#[test]
fn a_blocked_wait_does_not_sleep_on_an_event_that_was_used_again() {
    let driver = session();
    let device = Device::builder().cuda(0).slots(1).wait(Wait::Block).open().unwrap();
    let x = up(&device, [0.0f32; 4]);
    let first = endless(&device);
    let held = driver.hold("cuStreamWaitEvent");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let calls = driver.calls_of("cuStreamWaitEvent");
        let waiter = scope.spawn(|| {
            let answer = first.await_result().map(drop);
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            answer
        });
        assert!(eventually(5, || driver.calls_of("cuStreamWaitEvent") > calls));
        driver.release();
        device.synchronize(LONG).unwrap(); // somebody else sees that it is over
        let events = driver.live("events");
        let second = launch(&device, c"endless", x); // the event that was freed last is the next to be used
        let used_again = driver.live("events") == events;
        drop(held);
        let answered = eventually(2, || done.load(std::sync::atomic::Ordering::Relaxed));
        let running = !second.is_ready();
        driver.release();
        waiter.join().unwrap().unwrap();
        // Looked at until it is over: to wait for it would take a stream as well.
        assert!(eventually(5, || second.is_ready()));
        second.await_result().unwrap();
        assert!(used_again && running);
        assert!(answered, "it slept until the other kernel's end");
    });
    // Its stream has nothing left to wait for, once the device has come to that, and serves the next.
    driver.mode(Mode::Eager);
    driver.mode(Mode::Auto);
    let (third, calls) = (endless(&device), driver.calls_of("cuEventSynchronize"));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| third.await_result().map(drop));
        let sleeps = eventually(5, || driver.calls_of("cuEventSynchronize") > calls);
        let streams = device.stats().streams;
        driver.release();
        waiter.join().unwrap().unwrap();
        assert_eq!((sleeps, streams), (true, 2));
    });
    drop(device);
    driver.assert_finished();
}

/// What has been submitted by then, on every slot; nothing that comes later.
#[test]
fn synchronizing_waits_for_what_was_submitted_before_it() {
    let driver = session();
    for slots in [1, 2] {
        driver.reset();
        let device = device(slots);
        let x = up(&device, [3.0f32; 4]);
        let y = up(&device, [1.0f32; 4]);
        device.synchronize(LONG).unwrap();
        driver.await_rest(); // from here on nobody calls but who waits
        driver.mode(Mode::Manual);
        let norms: Vec<_> = (0..5).map(|_| device.blas().nrm2(&x).unwrap()).collect();
        assert!(matches!(device.synchronize(SHORT), Err(Error::Timeout { .. })));
        std::thread::scope(|scope| {
            let device = &device;
            let before = driver.calls();
            let waiter = scope.spawn(move || device.synchronize(LONG));
            // It has seen what there is, and looks at it again and again.
            assert!(common::eventually(20, || driver.calls() > before + 200));
            assert!(!waiter.is_finished());
            let later = launch(device, c"endless", y);
            driver.mode(Mode::Background);
            waiter.join().unwrap().unwrap();
            assert!(!later.is_ready() && device.stats().in_flight > 0, "{slots} slots");
            driver.release();
            drop(later.await_result().unwrap());
        });
        norms.into_iter().for_each(|norm| assert_eq!(norm.await_result().unwrap(), 6.0));
        drop((x, device));
        driver.assert_finished();
    }
}
