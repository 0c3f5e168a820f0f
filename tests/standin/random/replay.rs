//! One seed, one history: every call that a program makes of the driver, and every answer to it, again.
//!
//! One thread runs all programs in turn, and nobody else moves the device: the housekeeping thread sleeps, a wait spins
//! instead of looking at a clock, and each draw of the schedule is the thread's own. What is not replayed is side by side:
//! several threads at once, housekeeping beside them, and a rebuild.

use super::World;
use super::program::Program;
use super::turns::Turns;
use crate::common::{Rng, eventually};
use crate::standin::{Mode, Session, session};
use std::time::Duration;
use windlass::clock::Timing;
use windlass::{Device, RestartPolicy};

/// Nobody but the program looks at the device, or at a clock.
fn still() -> Timing {
    let mut timing = Timing::default();
    timing.sweeps.first = Duration::from_secs(3600);
    timing.waits.spin = Duration::from_secs(3600);
    timing.memory.patience = Duration::ZERO;
    timing
}

/// What a seed's programs did, step by step, and what they called.
fn history(driver: &Session, seed: u64) -> (Vec<String>, Vec<String>) {
    let mut rng = Rng::new(seed);
    let world = World::of(&mut rng);
    driver.reset();
    driver.set_total_memory(64 << 20);
    driver.seed(seed);
    driver.mode(Mode::Seeded);
    let builder = Device::builder().cuda(0).slots(world.slots).restart_policy(RestartPolicy::unlimited());
    let device = builder.timing(still()).open().expect("nothing fails yet");
    for (one_in, code) in &world.chances {
        driver.chance(*one_in, *code);
    }
    driver.log_of_parts();
    let turns = Turns::free();
    let mut programs: Vec<_> = (0..world.threads)
        .map(|thread| Program::new(thread, Rng::new(seed << 8 | thread as u64)).without_rebuilds())
        .collect();
    let mut lines = Vec::new();
    for program in &mut programs {
        let finding = program.run(driver, &device, &turns, world.steps);
        assert_eq!(finding.wrong, None, "seed {seed}: {:#?}", finding.history);
        lines.extend(finding.history);
    }
    driver.log(false);
    let calls = driver.take_log();
    driver.clear();
    driver.mode(Mode::Auto);
    drop(programs);
    let leaked = device.stats().leaked;
    drop(device);
    // What failed while it was given back is counted, and left.
    let left = || driver.left().iter().map(|(_, count)| *count as u64).sum::<u64>();
    assert!(
        eventually(60, || driver.live("contexts") == 0 && left() <= leaked),
        "seed {seed}: {:?} left",
        driver.left()
    );
    assert_eq!(driver.violations(), Vec::<String>::new(), "seed {seed}");
    (lines, calls)
}

/// Where two histories part.
fn parting(first: &[String], second: &[String]) -> Option<String> {
    let at = first.iter().zip(second).position(|(a, b)| a != b).unwrap_or(first.len().min(second.len()));
    let told =
        |lines: &[String]| lines.get(at.saturating_sub(3)..(at + 2).min(lines.len())).unwrap_or_default().join("\n");
    (first != second)
        .then(|| format!("line {at} of {} and {}:\n{}\n--\n{}", first.len(), second.len(), told(first), told(second)))
}

#[test]
fn a_seed_replays_every_call_of_its_programs_and_every_answer() {
    let driver = session();
    let (mut calls, mut failed) = (0, 0);
    for seed in 1..60 {
        let (first, second) = (history(&driver, seed), history(&driver, seed));
        assert_eq!(parting(&first.0, &second.0), None, "steps of seed {seed}");
        assert_eq!(parting(&first.1, &second.1), None, "calls of seed {seed}");
        calls += first.1.len();
        failed += first.0.iter().filter(|line| line.contains("->")).count();
    }
    // It is about something.
    assert!(calls > 10_000 && failed > 50, "{calls} calls, {failed} steps failed");
}
