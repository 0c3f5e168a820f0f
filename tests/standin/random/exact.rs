//! One seed, one history, with all threads: those of the programs, the housekeeping, rebuilds. They take turns at each call
//! of the driver and at each wait (`driver/turns.c`), and a seed has a process of its own.

use super::turns::Turns;
use super::{run, seeds};
use crate::common::child::this_test;
use crate::standin::{Mode, in_turns};

#[test]
fn programs_in_turns_agree_with_the_model_whatever_fails() {
    let test = this_test!();
    seeds(200, |seed| {
        in_turns(&test, seed, |driver, seed| run(driver, seed, Mode::Seeded, |_| Turns::free()));
    });
}

#[test]
fn a_seed_replays_all_threads() {
    let test = this_test!();
    let mut histories = Vec::new();
    for seed in 1..=10 {
        let play = || in_turns(&test, seed, |driver, seed| run(driver, seed, Mode::Seeded, |_| Turns::free()));
        let (first, second) = (play(), play());
        // Where addresses change, most histories come again, and some do not.
        assert!(first == second || !first.is_exact, "seed {seed}: {first:?}, {second:?}");
        assert!(first.turns > 500, "seed {seed}: {first:?}");
        assert!(!histories.contains(&first), "seed {seed} is like another");
        histories.push(first);
    }
}
