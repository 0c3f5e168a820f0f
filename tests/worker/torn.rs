//! Orders that were cut in the middle, or never were any, before a worker that lives: it ends, says why, and is replaced.

use crate::common::{down, eventually, let_others_run, up};
use crate::ops::{Deed, submit};
use crate::{LONG, alone, isolated};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use windlass::{Error, health::Phase};

// Where the rings of orders lie in a worker's memory, as `src/engines/worker/shared/layout.rs` and `src/engines/worker/shared/ring.rs` have it.
const LANES: usize = 16;
const ORDERS: usize = 4096;
const TAIL: usize = 64;
const DATA: usize = 256;
const CAPACITY: usize = 4 << 20;
const RUN: u8 = 3;

/// The client's end of one lane of orders.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lane(usize);

impl Lane {
    /// Those of the only worker of this process. (What is left of one before may go while it is looked at.)
    #[track_caller]
    fn all() -> Vec<Lane> {
        let controls = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let controls = maps.lines().filter(|line| line.contains("memfd:windlass-control"));
            let base = |line: &str| usize::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
            controls.map(base).collect::<Vec<_>>()
        };
        assert!(eventually(10, || controls().len() == 1), "{} workers", controls().len());
        let base = controls()[0];
        (0..LANES).map(move |lane| Lane(base + ORDERS + lane * (DATA + CAPACITY))).collect()
    }

    fn word(self, offset: usize) -> &'static AtomicU64 {
        // SAFETY: inside a mapping of this process that lives as long as the device of the test; words are aligned.
        unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(self.0 + offset) }
    }

    fn tail(self) -> u64 {
        self.word(TAIL).load(SeqCst)
    }

    fn read(self, at: u64, len: usize) -> Vec<u8> {
        // SAFETY: as above, and inside the lane: no test writes as much as it holds. Its reader writes no orders.
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(self.0 + DATA + at as usize), len) }
            .to_vec()
    }

    /// The orders to run something, from one on. (What gives memory back is sent by whoever comes by.)
    fn runs(self, mut from: u64) -> Vec<Vec<u8>> {
        let mut runs = Vec::new();
        while from < self.tail() {
            let len = u32::from_le_bytes(self.read(from, 4).try_into().unwrap()) as usize;
            runs.push(self.read(from + 4, len));
            from += (len as u64 + 4).next_multiple_of(8);
        }
        assert!(runs.iter().all(|frame| frame.len() > 8), "the rings of orders lie otherwise: {runs:?}");
        runs.retain(|frame| frame[0] == RUN);
        runs
    }

    /// Writes what its writer would not, and moves the tail by `by`.
    fn tear(self, len: u32, frame: &[u8], by: u64) {
        let bytes = [&len.to_le_bytes(), frame].concat();
        let to = std::ptr::with_exposed_provenance_mut::<u8>(self.0 + DATA + self.tail() as usize);
        // SAFETY: as above; nobody else writes here meanwhile.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.word(TAIL).fetch_add(by, SeqCst);
    }
}

#[test]
fn a_worker_that_is_given_a_torn_order_says_so_and_is_replaced() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let padded = |len: usize| (len as u64 + 4).next_multiple_of(8);
    type Tear<'a> = &'a dyn Fn(Lane);
    let tears: [(&str, Tear<'_>); 7] = [
        ("an order has no header", &|lane| lane.tear(0, &[], 8)),
        ("20 bytes, but 8 bytes were written", &|lane| lane.tear(20, &[3; 4], 8)),
        ("4294967295 bytes", &|lane| lane.tear(u32::MAX, &[3; 12], 16)),
        ("bytes were written", &|lane| lane.tear(8, &[3; 12], 1 << 40)),
        ("unknown kind 200", &|lane| lane.tear(8, &[200, 0, 0, 0, 0, 0, 0, 0], 16)),
        // One that follows order 1 of lane 200.
        ("names a lane that does not exist", &|lane| {
            lane.tear(16, &[RUN, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 200], 24)
        }),
        ("received an invalid order", &|lane| {
            let frame = lane.runs(0).pop().unwrap();
            let half = &frame[..8 + usize::from(frame[1]) * 8 + 2]; // its head, and the first of its body
            lane.tear(half.len() as u32, half, padded(half.len()));
        }),
    ];
    // Nothing is given back on this lane before its worker is lost: others would write that to it, whenever they came by.
    let mut kept = Vec::new();
    for (generation, (want, tear)) in (0u64..).zip(tears) {
        let before: Vec<_> = Lane::all().into_iter().map(|lane| (lane, lane.tail())).collect();
        let pending = submit(&device, Deed::Sleep(600_000)).unwrap();
        let mut used = before.into_iter().filter(|(lane, tail)| !lane.runs(*tail).is_empty());
        let (lane, _) = used.next().expect("the rings of orders lie elsewhere");
        assert!(used.next().is_none(), "of one thread");
        if generation % 2 == 0 {
            let_others_run(); // asleep, and awake
        }
        tear(lane);
        let error = pending.await_result().unwrap_err().error;
        let Error::ContextPoisoned { cause, .. } = &error else { panic!("{want}: {error:?}") };
        assert!(cause.contains("received an invalid order") && cause.contains(want), "{want}: {error}");
        let health = device.wait_healthy(LONG).unwrap();
        assert_eq!((health.phase, health.generation), (Phase::Healthy, generation + 1));
        kept.clear();
        kept.push(up(&device, [generation]));
        assert_eq!(down(&device, &kept[0]), [generation]);
    }
    drop(kept);
    crate::common::assert_back_at(&device, (0, 0, 0));
}

// Where the answers lie, as `src/engines/worker/shared/answers.rs` has it.
const ANSWERS: usize = (ORDERS + LANES * (DATA + CAPACITY)).next_multiple_of(4096);
const PLACES: usize = 1 << 18;
const STARTED: usize = 8;

/// The only place that the worker is at: its state, and since when it has been at it.
#[track_caller]
fn at_work() -> (&'static AtomicU32, &'static AtomicU64) {
    let base = Lane::all()[0].0 - ORDERS + ANSWERS + 64 + PLACES * 4;
    let started = |place: usize| {
        // SAFETY: inside a mapping of this process that lives as long as the device of the test; words are aligned.
        unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(base + place * 128 + STARTED) }
    };
    let mut found = None;
    assert!(eventually(20, || {
        found = (0..64).find(|place| started(*place).load(SeqCst) != 0);
        found.is_some()
    }));
    let place = found.unwrap();
    // SAFETY: as above.
    (unsafe { &*std::ptr::with_exposed_provenance::<AtomicU32>(base + place * 128) }, started(place))
}

#[test]
fn an_answer_that_nobody_gives_ends_the_worker_and_says_why() {
    let _alone = alone();
    for state in [4, 77, u32::MAX] {
        let device = isolated().open().unwrap();
        let pending = submit(&device, Deed::Sleep(600_000)).unwrap();
        at_work().0.store(state, SeqCst);
        let error = pending.await_result().unwrap_err().error;
        let Error::ContextPoisoned { cause, .. } = &error else { panic!("{error:?}") };
        assert!(cause.contains("overwritten") && cause.contains(&format!("an answer is {state}")), "{error}");
        assert!(eventually(60, || device.generation() == 1), "its worker goes on");
        device.wait_healthy(LONG).unwrap();
        assert_eq!(down(&device, &up(&device, [5u8])), [5]);
    }
}

#[test]
fn the_watchdog_notices_what_has_no_answer_though_nobody_is_at_it() {
    let _alone = alone();
    let device = isolated().watchdog(Duration::from_millis(300)).open().unwrap();
    let pending = submit(&device, Deed::Sleep(600_000)).unwrap();
    at_work().1.store(0, SeqCst);
    let error = pending.await_result().unwrap_err().error;
    assert!(matches!(&error, Error::ContextPoisoned { cause, .. } if cause.contains("watchdog")), "{error}");
    device.wait_healthy(LONG).unwrap();
    assert_eq!(down(&device, &up(&device, [5u8])), [5]);
}
