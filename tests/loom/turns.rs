//! `src/engines/cuda/streams/turns.rs`, and what its users do (`members.rs`, `late/job.rs`): nobody is parked while a turn is free,
//! and no turn is had twice.

use crate::bounded;
use crate::subject::turns::Turns;
use crate::sync::{Arc, AtomicUsize, Ordering};
use loom::thread;

/// What a helper does with a job: takes a turn or is parked; then the work, the turn back, and whoever was parked.
fn run(turns: &Turns<usize>, ran: &[AtomicUsize], held: &AtomicUsize, most: usize, job: usize) {
    let mut next = Some(job);
    while let Some(job) = next {
        let Some(turn) = turns.take_or_park(&job) else { return };
        assert!(held.fetch_add(1, Ordering::AcqRel) < most, "a turn was had twice");
        ran[job].fetch_add(1, Ordering::Relaxed);
        held.fetch_sub(1, Ordering::AcqRel);
        next = turns.give_back(turn);
    }
}

fn all_run(count: usize, jobs: usize) {
    bounded(3, move || {
        let turns = Arc::new(Turns::new(count));
        let ran: Arc<Vec<AtomicUsize>> = Arc::new((0..jobs).map(|_| AtomicUsize::new(0)).collect());
        let held = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (1..jobs)
            .map(|job| {
                let (turns, ran, held) = (turns.clone(), ran.clone(), held.clone());
                thread::spawn(move || run(&turns, &ran, &held, count, job))
            })
            .collect();
        run(&turns, &ran, &held, count, 0);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(ran.iter().all(|ran| ran.load(Ordering::Relaxed) == 1), "a job was forgotten");
    });
}

/// Breaks: to park in another critical section than the look for a free turn, or to give a turn back in another than the
/// look for who is parked.
#[test]
fn one_turn_for_three_jobs_forgets_none() {
    all_run(1, 3);
}

#[test]
fn two_turns_for_three_jobs_forget_none() {
    all_run(2, 3);
}
