//! Captured memory on the CUDA engine: work that is enqueued at once and late, on several streams.

use super::session;
use crate::common::{captures, halves_that_are_overwritten_beside_replays};
use crate::standin::{Mode, device};

#[test]
fn random_histories_of_captured_memory_equal_the_sequential_model() {
    for mode in [Mode::Auto, Mode::Background] {
        let driver = session();
        driver.mode(mode);
        for slots in [1, 4] {
            let device = device(slots);
            for seed in 1..=40 {
                println!("seed {seed} on {slots} slots");
                assert!(captures(&device, seed, 60) > 0);
            }
        }
        driver.assert_finished();
    }
}

#[test]
fn halves_are_overwritten_beside_replays_on_another_thread() {
    let driver = session();
    driver.mode(Mode::Background);
    halves_that_are_overwritten_beside_replays(&device(4), 64, 300);
    driver.assert_finished();
}
