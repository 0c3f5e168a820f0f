//! How late a wait ends, for work of 50 us to 1 s, and what it costs in processor time.
//!
//! A kernel keeps the device busy for a set time; late is what the wait took beyond the median of a spinning wait on the same
//! work. The aim: at the 95th percentile no later than 50 us or 0.5 % of the time, whichever is more.

use crate::harness::{Bench, Goal, Unit, median};
use crate::ops::Busy;
use crate::raw::NO_TIMING_BLOCKING;
use std::time::{Duration, Instant};
use windlass::Wait;

/// Nanoseconds of work, and how often it is waited for.
const WORK: [(u64, usize); 7] = [
    (50_000, 1000),
    (200_000, 1000),
    (1_000_000, 500),
    (2_000_000, 300),
    (10_000_000, 100),
    (100_000_000, 20),
    (1_000_000_000, 3),
];

pub(crate) fn run(bench: &mut Bench) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let (stream, blocking) = (raw.stream(), raw.event(NO_TIMING_BLOCKING));
    for (ns, rounds) in WORK {
        let name = format!("adaptive wait of {:?}, late at p95", Duration::from_nanos(ns));
        if !bench.wants(&name) {
            continue;
        }
        let rounds = bench.rounds(rounds).max(3);
        let wait = |how: Wait| {
            let begin = Instant::now();
            device.waiting(how).dispatch(Busy(ns), (), ()).unwrap().await_result().unwrap();
            begin.elapsed().as_nanos() as f64
        };
        // A thread learns how long work of a name lasts from its last 20 to 39 waits.
        if ns <= 100_000_000 {
            for _ in 0..40 {
                wait(Wait::Adaptive);
            }
        }
        let (mut spun, mut ours, mut theirs, mut spent) = (Vec::new(), Vec::new(), Vec::new(), Duration::ZERO);
        for _ in 0..rounds {
            spun.push(wait(Wait::Spin));
            let before = processor_time();
            ours.push(wait(Wait::Adaptive));
            spent += processor_time().saturating_sub(before);
            let begin = Instant::now();
            raw.launch_busy(stream, ns);
            raw.record(blocking, stream);
            raw.synchronize(blocking);
            theirs.push(begin.elapsed().as_nanos() as f64);
        }
        let exact = median(&spun);
        let late = |samples: &mut [f64]| {
            samples.sort_by(f64::total_cmp);
            samples[(samples.len() * 95 / 100).min(samples.len() - 1)] - exact
        };
        let goal = Goal::AtMost(f64::max(50_000.0, 0.005 * ns as f64));
        bench.compare(&name, Unit::Ns, goal, &[late(&mut ours)], &[late(&mut theirs)]);
        let share = 100.0 * spent.as_nanos() as f64 / (rounds as f64 * exact);
        println!(
            "  {:<58} {share:>9.1} % of a core",
            format!("processor time of the waits of {:?}", Duration::from_nanos(ns))
        );
    }
}

/// Of the calling thread.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: valid for the write.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
