//! What a link holds after a loss, and what its watchdog measures.

use super::super::active_clock::ActiveClock;
use super::super::stall::{Faults, Stalls};
use super::*;
use crate::core::clock::ManualClock;
use crate::core::sync::AtomicU32;
use crate::engines::worker::shared::DONE;
use crate::engines::worker::shared::order;

/// A dispatch that a thread has claimed and never settles.
#[derive(Default)]
struct Claimed(AtomicU32);

impl Flight for Claimed {
    fn place(&self) -> &AtomicU32 {
        &self.0
    }
    fn retire(&self) -> bool {
        false
    }
    fn name(&self) -> &'static str {
        "claimed"
    }
}

fn link(clock: ManualClock) -> Arc<Link> {
    let segment = |len| Segment::create("windlass-test", len).unwrap().0;
    let bell = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    let mut timing = Timing::by(clock);
    timing.watch.settling = Duration::ZERO; // no thread settles in these tests
    let timing = timing.keep();
    Link::new(0, segment(layout::CONTROL), segment(1 << 20), Arc::new(bell), Arc::new(Counters::new(None, timing)))
}

/// A thread that has claimed an answered dispatch may still be reading the answer.
#[test]
fn a_loss_lets_go_of_the_answers_only_once_all_are_settled() {
    for claimed in [true, false] {
        let link = link(ManualClock::new());
        let flight = Arc::new(Claimed::default());
        let entered: Arc<dyn Flight> = flight.clone();
        let after = Follows::default().ahead(0, |_| 0);
        if claimed {
            let sent = link.lanes[0].send(&link, order::MEMORY, &entered, &after, &[]).unwrap();
            assert!(matches!(sent, Sent::Done(..)));
        }
        let place = flight.0.load(Ordering::Relaxed);
        link.answers.answer(place, DONE, &[7; 64], None);
        link.clear_up(link.lose());
        assert_eq!(link.answers.bytes(place), if claimed { [7; 64] } else { [0; 64] });
        assert_eq!(link.lanes[0].progress.carried(), if claimed { 0 } else { u64::MAX });
        let again = link.lanes[0].send(&link, order::MEMORY, &entered, &after, &[]).unwrap();
        assert!(matches!(again, Sent::Over));
    }
}

#[test]
fn a_first_use_is_left_out_of_the_watchdogs_time_until_it_takes_too_long() {
    let (clock, pause) = (ManualClock::new(), Duration::from_secs(30));
    let link = link(clock);
    let since = link.control.word(layout::first_use(3));
    let slowest = || {
        clock.advance(pause);
        link.slowest(Duration::ZERO).unwrap().0
    };
    assert!(matches!(link.lanes[0].tell(&link, order::ALLOC, &[]), Ok(Sent::Done(..))));
    assert_eq!([slowest(), slowest()], [Duration::ZERO, pause]);
    // A first use in another lane: it may block all threads in the driver.
    since.store(link.timing.clock.nanos(), Ordering::Relaxed);
    assert_eq!([slowest(), slowest(), slowest()], [Duration::ZERO; 3]);
    // After four steps of 30 s the first use has taken two minutes: it counts as hung.
    assert_eq!([slowest(), slowest()], [pause, 2 * pause]);
    since.store(0, Ordering::Relaxed);
    assert_eq!(slowest(), 3 * pause);
}

/// The worker's thread that would see its completion is blocked in the driver behind the first use.
#[test]
fn what_runs_beside_a_first_use_is_not_held_to_have_run_all_that_time() {
    let (clock, pause) = (ManualClock::new(), Duration::from_secs(30));
    let link = link(clock);
    let flight: Arc<dyn Flight> = Arc::new(Claimed::default());
    let sent = link.lanes[0].send(&link, order::MEMORY, &flight, &Follows::default().ahead(0, |_| 0), &[]);
    assert!(matches!(sent, Ok(Sent::Done(..))));
    link.answers.start_at(flight.place().load(Ordering::Relaxed), link.timing.clock.nanos());
    let slowest = || {
        clock.advance(pause);
        link.slowest(Duration::ZERO).unwrap()
    };
    assert_eq!(slowest(), (pause, "claimed"));
    let since = link.control.word(layout::first_use(3));
    since.store(link.timing.clock.nanos(), Ordering::Relaxed);
    assert_eq!([slowest().0, slowest().0], [Duration::ZERO; 2]);
    since.store(0, Ordering::Relaxed);
    assert_eq!([slowest().0, slowest().0], [pause, 2 * pause]);
}

/// A dispatch that was sent and that the worker has begun.
fn begun(link: &Link) -> Arc<dyn Flight> {
    let flight: Arc<dyn Flight> = Arc::new(Claimed::default());
    let sent = link.lanes[0].send(link, order::MEMORY, &flight, &Follows::default().ahead(0, |_| 0), &[]);
    assert!(matches!(sent, Ok(Sent::Done(..))));
    link.answers.start_at(flight.place().load(Ordering::Relaxed), link.timing.clock.nanos());
    flight
}

#[test]
fn what_a_gpu_may_have_run_only_after_another_operation_is_timed_from_that_ones_end() {
    for on_gpu in [false, true] {
        let (clock, pause) = (ManualClock::new(), Duration::from_secs(1));
        let link = link(clock);
        link.on_gpu.store(on_gpu, Ordering::Relaxed);
        let slowest = || {
            clock.advance(pause);
            link.slowest(Duration::ZERO).unwrap().0
        };
        let first = begun(&link);
        clock.advance(pause);
        let second = begun(&link);
        assert_eq!(slowest(), 2 * pause);
        link.answers.answer(first.place().load(Ordering::Relaxed), DONE, &[0; 64], None);
        assert_eq!([slowest(), slowest()], if on_gpu { [Duration::ZERO, pause] } else { [2 * pause, 3 * pause] });
        // What begins later, and ends, is no excuse: an operation without end is found among any number of short ones.
        let third = begun(&link);
        assert_eq!(slowest(), if on_gpu { 2 * pause } else { 4 * pause });
        link.answers.answer(third.place().load(Ordering::Relaxed), DONE, &[0; 64], None);
        assert_eq!(slowest(), if on_gpu { 3 * pause } else { 5 * pause });
        drop(second);
    }
}

#[test]
fn a_stall_of_the_driver_does_not_count_until_it_is_no_stall() {
    let (clock, step) = (ManualClock::new(), Duration::from_millis(100));
    let link = link(clock);
    let (faults, mut stalls) = (Faults::default(), Stalls::default());
    let mut active = ActiveClock::new(clock.clock().now());
    let mut pass = |steps: u32| {
        for _ in 0..steps {
            clock.advance(step);
            active.tick(clock.clock().now(), step);
            stalls.look(&link, &faults, &mut active);
        }
        active.lived(Duration::from_secs(100))
    };
    let before = pass(1);
    link.answers.ask_at(link.timing.clock.nanos());
    assert_eq!(pass(4), before - 4 * step, "the driver does not answer");
    link.answers.ask_at(0);
    assert_eq!(pass(4), before - 4 * step);
    // A driver that hangs is an end, after ten seconds more.
    link.answers.ask_at(link.timing.clock.nanos());
    let hung = pass(99);
    assert_eq!(hung, before - 103 * step);
    assert_eq!(pass(20), hung, "no longer excused");
}

#[test]
fn a_fault_on_another_gpu_does_not_count() {
    let (clock, step) = (ManualClock::new(), Duration::from_millis(100));
    for (on_gpu, own, excused) in [(true, false, true), (true, true, false), (false, false, false)] {
        let link = link(clock);
        link.on_gpu.store(on_gpu, Ordering::Relaxed);
        let (faults, mut stalls) = (Faults::default(), Stalls::default());
        let mut active = ActiveClock::new(clock.clock().now());
        let mut pass = |steps: u32| {
            for _ in 0..steps {
                clock.advance(step);
                active.tick(clock.clock().now(), step);
                stalls.look(&link, &faults, &mut active);
            }
            active.lived(Duration::from_millis(2_000))
        };
        assert_eq!(pass(20), Duration::from_millis(2_000));
        faults.note(link.pid + u32::from(!own), clock.clock().now());
        assert_eq!(pass(10), Duration::from_millis(if excused { 1_000 } else { 2_000 }));
        assert_eq!(pass(20), Duration::from_millis(2_000), "it is past");
    }
}
