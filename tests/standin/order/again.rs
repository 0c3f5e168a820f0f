//! Memory that was dropped and is had again, with no call of the driver: in which order, and what is counted of it.

use crate::common::{down, eventually, up};
use crate::standin::{Driver, Launch, Mode, Session, session};
use std::time::Duration;
use windlass::{Device, DeviceBuffer, DeviceBuilder, Error};

const ALLOCATE: &str = "cuMemAllocFromPoolAsync";
const LEN: usize = 1000;

fn builder(slots: usize) -> DeviceBuilder {
    Device::builder().cuda(0).slots(slots)
}

fn open(slots: usize) -> (Session, Device) {
    let driver = session();
    (driver, builder(slots).open().unwrap())
}

fn filled(device: &Device, x: DeviceBuffer<f32>, value: f32) -> DeviceBuffer<f32> {
    let ((x,), _verdict) = device.fill(x, value).unwrap().into_parts();
    x.into_buffer()
}

fn finish(driver: &Driver, device: Device) {
    assert!(eventually(4, || device.stats().allocations == 0), "freed by nobody");
    drop(device);
    driver.assert_finished();
}

/// Its first use may be on another stream than its last one was.
#[test]
fn a_first_use_on_another_slot_waits_for_what_used_the_memory_before() {
    // The housekeeping thread may come between, and free it.
    assert!((0..20).any(|_| use_again_elsewhere()), "never had again");
}

/// False where the memory was freed first.
fn use_again_elsewhere() -> bool {
    let (driver, device) = open(2);
    let (w, v) = (up(&device, vec![1.0f32; LEN]), up(&device, vec![2.0f32; 4]));
    let x = up(&device, vec![0.0f32; LEN]);
    device.synchronize(Duration::from_secs(60)).unwrap();
    driver.mode(Mode::Manual);
    let w = filled(&device, w, 3.0);
    // Where `w` was filled.
    let x = device.copy(&w, x).unwrap().into_parts().0.0;
    let (op, hold) = Launch::held(c"add_one_f32");
    let (y, w, had) = std::thread::scope(|scope| {
        let (device, w) = (&device, w);
        // On the other slot, which is leased until it is told to fail: it leaves no work there.
        let other = scope.spawn(move || device.dispatch(op, (), (v,)).map(drop).map_err(|rejected| rejected.error));
        hold.await_arrival();
        drop(x);
        let (y, calls) = driver.calls_in(|| device.uninit::<f32>(LEN).unwrap());
        let had = count(&calls, ALLOCATE) == 0;
        // Behind that, so that whoever follows would not go there.
        let w = (0..3).fold(w, |w, turn| filled(device, w, turn as f32));
        hold.go_on(false);
        assert!(matches!(other.join().unwrap(), Err(Error::Unsupported { .. })));
        (y, w, had)
    });
    let (y, calls) = driver.calls_in(|| filled(&device, y.into_buffer(), 7.0));
    // Where the housekeeping thread had the slot that is told of, it was written on the other, which need not wait.
    let waits = count(&calls, "cuStreamWaitEvent");
    assert!(waits <= 1, "{calls:?}");
    driver.mode(Mode::Auto);
    assert_eq!((down(&device, &y), down(&device, &w)), (vec![7.0; LEN], vec![2.0; LEN]));
    drop((y, w));
    finish(&driver, device);
    had && waits == 1
}

fn count(calls: &[String], name: &str) -> usize {
    calls.iter().filter(|call| *call == name).count()
}

/// It is not on the list of any slot before.
#[test]
fn memory_in_use_on_two_slots_is_not_had_again_before_both_are_done() {
    let (driver, device) = open(2);
    driver.mode(Mode::Manual);
    let x = filled(&device, device.uninit::<f32>(LEN).unwrap().into_buffer(), 1.0);
    // Something behind it, so that the next one goes to the other slot, which waits.
    let x = filled(&device, x, 2.0);
    let w = up(&device, vec![0.0f32; LEN]);
    let (left, right) = x.split_at(LEN / 2).unwrap();
    let (one, two) = w.split_at(LEN / 2).unwrap();
    let (one, two) = (device.copy(&left, one).unwrap().into_output(), device.copy(&right, two).unwrap().into_output());
    let busy = device.stats().slots_busy;
    drop((left, right));
    let many: Vec<_> =
        (0..6).map(|turn| filled(&device, device.uninit(LEN).unwrap().into_buffer(), turn as f32)).collect();
    driver.mode(Mode::Auto);
    assert_eq!(busy, 2);
    assert_eq!(down(&device, &one.into_buffer().join(two.into_buffer()).unwrap()), [2.0; LEN]);
    many.iter().enumerate().for_each(|(turn, x)| assert_eq!(down(&device, x), [turn as f32; LEN]));
    drop(many);
    finish(&driver, device);
}

/// Nothing of what it costs is forgotten, and nothing counted twice.
#[test]
fn what_is_had_again_stays_counted_once_and_keeps_to_the_limit() {
    let driver = session();
    let bytes = 4 * LEN as u64;
    let device = builder(1).memory_limit(bytes + 100).open().unwrap();
    let counted = || (device.stats().bytes_used, device.stats().bytes_peak, device.stats().allocations);
    driver.mode(Mode::Manual);
    let mut x = filled(&device, device.uninit::<f32>(LEN).unwrap().into_buffer(), 0.0);
    let (x, calls) = driver.calls_in(|| {
        for turn in 1..=50 {
            drop(x);
            x = device.uninit::<f32>(LEN).expect("what waits is there for it").into_buffer();
            assert_eq!(counted(), (bytes, bytes, 1));
            x = filled(&device, x, turn as f32);
        }
        x
    });
    // The housekeeping thread may have come between now and then.
    assert!(count(&calls, ALLOCATE) < 50, "{} allocations", count(&calls, ALLOCATE));
    let error = device.uninit::<u8>(101).expect_err("past the limit");
    assert!(matches!(error, Error::OutOfMemory { requested: 101, .. }), "{error:?}");
    driver.mode(Mode::Auto);
    assert_eq!(down(&device, &x), [50.0; LEN]);
    drop(x);
    assert!(eventually(4, || counted() == (0, bytes, 0)), "{:?}", counted());
    finish(&driver, device);
}

/// Also where many of another size wait.
#[test]
fn what_waits_to_be_had_again_is_there_for_who_asks_for_another_size() {
    let driver = session();
    let device = builder(2).memory_limit(64 * LEN as u64).open().unwrap();
    for turn in 0..10 {
        let many: Vec<_> = (0..64).map(|_| device.zeros::<u8>(LEN).unwrap()).collect();
        drop(many);
        let all = device.zeros::<u8>(64 * LEN).unwrap_or_else(|error| panic!("turn {turn}: {error:?}"));
        assert_eq!(down(&device, &all), [0; 64 * LEN]);
    }
    finish(&driver, device);
}

/// What it was before, parted or failed or with aliases, it is no more.
#[test]
fn what_is_had_again_begins_anew() {
    // Each is one allocation, and another where the housekeeping thread came between.
    assert!((0..20).any(|_| begin_anew() < 4), "never had again");
}

/// How many allocations it took.
fn begin_anew() -> u64 {
    let (driver, device) = open(1);
    driver.mode(Mode::Manual);
    let allocated = driver.calls_of(ALLOCATE);
    let again = |what: &str| {
        let x = device.uninit::<f32>(LEN).unwrap();
        assert!(device.download(&x).is_err(), "{what}: never written");
        x
    };
    let x = filled(&device, device.uninit::<f32>(LEN).unwrap().into_buffer(), 1.0);
    let (left, right) = x.split_at(300).unwrap();
    drop(filled(&device, left, 2.0));
    drop(right);
    let x = filled(&device, again("a split").into_buffer(), 3.0);
    // SAFETY: both go at once.
    drop((unsafe { x.alias() }, x));
    let x = filled(&device, again("an alias").into_buffer(), 4.0);
    let (op, hold) = Launch::held(c"add_one_f32");
    hold.go_on(false);
    let (x, _) = x.split_at(LEN).unwrap();
    let failed = device.dispatch(op, (), (x,)).map(drop).expect_err("it was told to fail");
    drop(failed);
    let (left, right) = filled(&device, again("a failure").into_buffer(), 5.0).split_at(1).unwrap();
    let x = left.join(right).unwrap();
    let allocations = driver.calls_of(ALLOCATE) - allocated;
    driver.mode(Mode::Auto);
    assert_eq!(down(&device, &x), [5.0; LEN]);
    drop(x);
    finish(&driver, device);
    allocations
}

/// The epoch's end frees what is in use, and what waits.
#[test]
fn a_device_goes_with_memory_that_was_had_again() {
    for alive in [false, true] {
        let (driver, device) = open(1);
        driver.mode(Mode::Manual);
        drop(filled(&device, device.uninit::<f32>(LEN).unwrap().into_buffer(), 1.0));
        let x = filled(&device, device.uninit::<f32>(LEN).unwrap().into_buffer(), 2.0);
        let y = filled(&device, device.uninit::<f32>(LEN).unwrap().into_buffer(), 3.0);
        drop(y);
        let x = alive.then_some(x);
        drop(device);
        driver.mode(Mode::Auto);
        if alive {
            assert!(eventually(4, || driver.live("contexts") == 0));
        }
        drop(x);
        driver.assert_finished();
    }
}

/// Threads that hand it to one another.
#[test]
fn threads_have_each_others_memory_again_in_order() {
    let driver = session();
    for mode in [Mode::Auto, Mode::Background] {
        driver.reset();
        driver.mode(mode);
        let device = builder(3).open().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let device = &device;
                scope.spawn(move || {
                    for turn in 0..60 {
                        let value = (100 * thread + turn) as f32;
                        let x = filled(device, device.uninit::<f32>(LEN).unwrap().into_buffer(), value);
                        let y = device.copy(&x, device.uninit::<f32>(LEN).unwrap()).unwrap().into_output();
                        drop(x);
                        if turn % 4 == 0 {
                            assert_eq!(down(device, &y), [value; LEN]);
                        }
                    }
                });
            }
        });
        finish(&driver, device);
    }
}
