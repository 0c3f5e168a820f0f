//! Calls that block: the submission returns at once, order holds, and nothing else is held up.

use super::ops::{AddOne, BLOCKING, ENQUEUE};
use crate::common::{LONG, down, eventually, up};
use crate::standin::{Mode, device, session};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use windlass::{
    Device, DeviceBuffer, Error,
    op::{InFlight, Op},
    trace::{OpInfo, Trace},
};

#[test]
fn what_follows_a_call_that_blocks_is_enqueued_after_it_and_the_rest_passes() {
    let driver = session();
    for mode in [Mode::Auto, Mode::Eager, Mode::Background] {
        driver.reset();
        driver.mode(mode);
        let device = device(2);
        let (x, y) = (up(&device, [1.0f32; 4]), up(&device, [100.0f32; 4]));
        let (op, hold) = AddOne::<BLOCKING>::held();
        let pending = device.dispatch(op, (), (x,)).unwrap();
        hold.await_arrival();
        assert!(!pending.is_ready() && !pending.wait_timeout(Duration::from_millis(5)));
        let (x, verdict) = pending.into_parts();
        // Read, written and read again behind it.
        let y = device.blas().axpy(10.0, &x.0, y).unwrap().into_buffer();
        let x = device.blas().scal(3.0, x.0).unwrap().into_buffer();
        let data = device.download(&x).unwrap();
        assert!(!data.is_ready());
        // What has nothing to do with it is not held up.
        let other = device.blas().scal(2.0, up(&device, [7.0f32; 4])).unwrap().await_result().unwrap().into_buffer();
        assert_eq!(down(&device, &other), [14.0; 4]);
        assert!(!verdict.is_ready());
        hold.go_on();
        assert_eq!(data.await_result().unwrap(), [6.0; 4]);
        verdict.await_result().unwrap();
        assert_eq!((down(&device, &y), down(&device, &x)), (vec![120.0; 4], vec![6.0; 4]));
        drop((x, y, other, device));
        driver.assert_finished();
    }
}

#[test]
fn the_half_of_a_call_that_blocks_runs_on_a_thread_and_a_stream_of_its_own() {
    let driver = session();
    let device = device(1);
    let streams = device.stats().streams;
    let (ran_on, told) = channel();
    let me = std::thread::current().id();
    let run = |device: &Device| {
        let op = AddOne::<BLOCKING> { ran_on: Some(ran_on.clone()), ..AddOne::default() };
        let x = device.dispatch(op, (), (up(device, [1.0f32; 4]),)).unwrap().await_result().unwrap();
        assert_eq!(down(device, &x), [2.0; 4]);
        told.recv_timeout(LONG).unwrap()
    };
    assert_ne!(run(&device), me);
    assert!(device.stats().streams > streams, "it was on the only slot");
    // An op that only enqueues does so on the submitter's thread, and needs no other stream.
    let op = AddOne::<ENQUEUE> { ran_on: Some(ran_on.clone()), ..AddOne::default() };
    drop(device.dispatch(op, (), (up(&device, [1.0f32; 4]),)).unwrap().await_result().unwrap());
    assert_eq!(told.recv_timeout(LONG).unwrap(), me);
    drop(device);
    driver.assert_finished();
}

/// More calls than there are streams for them: the rest is parked, occupies no thread, and its turn comes.
#[test]
fn many_calls_that_block_hold_up_nobody_and_all_have_their_turn() {
    let driver = session();
    let device = device(2);
    let held: Vec<_> = (0..8).map(|_| AddOne::<BLOCKING>::held()).collect();
    let (ops, holds): (Vec<_>, Vec<_>) = held.into_iter().unzip();
    let work: Vec<_> =
        ops.into_iter().map(|op| device.dispatch(op, (), (up(&device, [1.0f32; 4]),)).unwrap()).collect();
    // All are held to the end of the check: a call that may go on makes room for the next.
    let more = || holds.iter().filter(|hold| hold.has_arrived()).count();
    let mut arrived = 0;
    assert!(eventually(30, || {
        arrived += more();
        arrived == 2
    }));
    let free: Vec<_> = (0..4).map(|i| device.fill(device.uninit::<f32>(8).unwrap(), i as f32).unwrap()).collect();
    let free: Vec<_> = free.into_iter().map(|pending| pending.await_result().unwrap()).collect();
    assert_eq!(down(&device, &free[3]), [3.0; 8]);
    assert_eq!(more(), 0, "there are two streams for them");
    drop(holds);
    for pending in work {
        assert_eq!(down(&device, &pending.await_result().unwrap()), [2.0; 4]);
    }
    drop((free, device));
    driver.assert_finished();
}

#[test]
fn a_chain_of_calls_that_block_is_in_order_however_long_it_is() {
    let driver = session();
    for mode in [Mode::Auto, Mode::Background] {
        driver.reset();
        driver.mode(mode);
        let device = device(2);
        let (op, hold) = AddOne::<BLOCKING>::held();
        let mut x = device.dispatch(op, (), (up(&device, [0.0f32; 4]),)).unwrap().into_output();
        let mut want = 1.0;
        for i in 0..60 {
            x = match i % 3 {
                0 => device.dispatch(AddOne::<BLOCKING>::default(), (), (x,)).unwrap().into_output(),
                1 => device.blas().scal(0.5, x).unwrap().into_buffer(),
                _ => device.dispatch(AddOne::<ENQUEUE>::default(), (), (x,)).unwrap().into_output(),
            };
            want = if i % 3 == 1 { want * 0.5 } else { want + 1.0 };
        }
        hold.go_on();
        assert_eq!(down(&device, &x), [want; 4]);
        drop((x, device));
        driver.assert_finished();
    }
}

#[test]
fn what_is_not_enqueued_counts_as_in_flight_and_is_waited_for() {
    let driver = session();
    let device = Device::builder().cuda(0).slots(2).in_flight(InFlight::Busy(3)).open().unwrap();
    let [x, y, z, refused] = [(); 4].map(|()| up(&device, [1.0f32; 4]));
    device.synchronize(LONG).unwrap();
    let (op, hold) = AddOne::<BLOCKING>::held();
    let first = device.dispatch(op, (), (x,)).unwrap();
    hold.await_arrival();
    let (op, second_hold) = AddOne::<BLOCKING>::held();
    let second = device.dispatch(op, (), (y,)).unwrap();
    second_hold.await_arrival();
    assert_eq!(device.stats().in_flight, 2);
    assert!(matches!(device.synchronize(Duration::from_millis(5)), Err(Error::Timeout { .. })));
    let third = device.dispatch(AddOne::<BLOCKING>::default(), (), (z,)).unwrap();
    let busy = device.dispatch(AddOne::<ENQUEUE>::default(), (), (refused,));
    assert!(matches!(busy.unwrap_err().error, Error::Busy { in_flight: 3, limit: 3, .. }));
    // What is submitted after the look is not waited for, and what was is, to its end on the device.
    drop((hold, second_hold));
    driver.mode(Mode::Auto);
    device.synchronize(LONG).unwrap();
    assert!(first.is_ready() && second.is_ready() && third.is_ready());
    assert!(eventually(30, || device.stats().in_flight == 0));
    drop((first, second, third, device));
    driver.assert_finished();
}

/// After the enqueue of an `AddOne`, reads what it writes through another handle, and waits for that.
#[derive(Default)]
struct Reads {
    with: Mutex<Option<(Device, DeviceBuffer<f32>)>>,
    answer: Mutex<Option<(bool, Vec<f32>)>>,
}

impl Trace for Reads {
    fn after_enqueue(&self, op: &OpInfo) {
        let with = if op.op == AddOne::<BLOCKING>::NAME { self.with.lock().unwrap().take() } else { None };
        if let Some((device, x)) = with {
            let refused = matches!(device.synchronize(LONG), Err(Error::Unsupported { .. }));
            let data = device.download(&x).unwrap().await_timeout(LONG).expect("it waits for the hook");
            *self.answer.lock().unwrap() = Some((refused, data.unwrap()));
        }
    }
}

/// The hook runs on a helper, when the operation can already be followed and nothing of it is locked.
#[test]
fn a_hook_after_a_late_enqueue_may_wait_for_what_follows_the_operation() {
    let driver = session();
    let reads = Arc::new(Reads::default());
    let device = Device::builder().cuda(0).slots(2).trace(reads.clone()).open().unwrap();
    let x = up(&device, [1.0f32; 4]);
    // SAFETY: one operation after the other uses them, and neither is split or joined.
    *reads.with.lock().unwrap() = Some((device.clone(), unsafe { x.alias() }));
    let x = device.dispatch(AddOne::<BLOCKING>::default(), (), (x,)).unwrap().await_result().unwrap();
    assert!(eventually(30, || reads.answer.lock().unwrap().is_some()));
    assert_eq!(reads.answer.lock().unwrap().take(), Some((true, vec![2.0; 4])));
    drop((x, device));
    driver.assert_finished();
}

#[derive(Default)]
struct Told([AtomicUsize; 4]);

impl Trace for Told {
    fn before_enqueue(&self, _: &OpInfo) {
        self.0[0].fetch_add(1, Ordering::SeqCst);
    }
    fn after_enqueue(&self, _: &OpInfo) {
        self.0[1].fetch_add(1, Ordering::SeqCst);
    }
    fn before_complete(&self, _: &OpInfo) {
        self.0[2].fetch_add(1, Ordering::SeqCst);
    }
    fn after_complete(&self, _: &OpInfo, _: Duration) {
        self.0[3].fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_trace_is_told_once_of_each_step_and_of_no_end_where_nothing_was_enqueued() {
    let driver = session();
    let told = Arc::new(Told::default());
    let device = Device::builder().cuda(0).slots(2).trace(told.clone()).open().unwrap();
    let seen = || told.0.each_ref().map(|count| count.load(Ordering::SeqCst));
    let x = up(&device, [1.0f32; 4]);
    device.synchronize(LONG).unwrap();
    assert!(eventually(30, || seen()[3] == seen()[0]));
    let base = seen();
    let since = || std::array::from_fn::<usize, 4, _>(|i| seen()[i] - base[i]);
    let (op, hold) = AddOne::<BLOCKING>::held();
    let pending = device.dispatch(op, (), (x,)).unwrap();
    hold.await_arrival();
    assert_eq!(since(), [1, 0, 0, 0]);
    hold.go_on();
    let x = pending.await_result().unwrap();
    assert!(eventually(30, || since() == [1, 1, 1, 1]));
    let op = AddOne::<BLOCKING> { before: Some(super::ops::Trouble::Fails), ..AddOne::default() };
    let x = device.dispatch(op, (), (x,)).unwrap().await_result().unwrap_err().back.unwrap();
    device.synchronize(LONG).unwrap();
    assert_eq!(since(), [2, 1, 1, 1]);
    drop((x, device));
    driver.assert_finished();
}
