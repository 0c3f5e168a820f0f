//! `src/engines/worker/shared/answers.rs`: the worker answers, the client sleeps, and the worker may be gone.

use super::answers::{Answers, DONE, LOST, PENDING, PLACES, SPILLED, WAITED};
use super::segment::Segment;
use crate::bounded;
use crate::sync::{Arc, Ordering};
use loom::thread;
use std::time::Duration;

/// Where the list of finished places begins, and the places.
const LIST: usize = 64;
const TABLE: usize = LIST + PLACES * 4;

/// The two sides' view of the first `places` places.
fn answers(places: usize) -> Answers {
    let at = |place: usize| TABLE + place * 128;
    let own =
        (0..places).flat_map(|place| [8, 16, 24].into_iter().chain((64..128).step_by(8)).map(move |o| at(place) + o));
    let words: Vec<_> = std::iter::once(0).chain(own).collect();
    let halves: Vec<_> = (0..places).flat_map(|place| [at(place), LIST + place * 4]).collect();
    Answers::new(Arc::new(Segment::new(&words, &halves, 0..0)), 0)
}

/// Sleeps until it is answered, and gives the flag.
fn await_answer(answers: &Answers, place: u32) -> u32 {
    while answers.sleep(place, Duration::MAX, || true) {}
    answers.state(place).load(Ordering::Acquire)
}

/// Breaks: an answer that does not look whether anybody waits, or looks before it is given, leaves the sleeper asleep; a flag
/// that is set or read `Relaxed` comes before the bytes.
#[test]
fn a_sleeper_is_woken_by_its_answer_and_finds_it_whole() {
    bounded(3, || {
        let worker = answers(1);
        let client = worker.clone();
        client.reset(0);
        let thread = thread::spawn(move || {
            worker.answer(0, DONE, &[7; 64], Some(Duration::from_nanos(5)));
        });
        assert_eq!(await_answer(&client, 0), DONE);
        assert_eq!((client.bytes(0), client.time(0)), ([7; 64], Some(Duration::from_nanos(5))));
        thread.join().unwrap();
    });
}

/// The worker is killed while one waits, and has written its last answer or not. Breaks: a `lose` that stores without a look
/// takes an answer away; one that does not wake leaves the sleeper asleep.
#[test]
fn who_waits_while_the_worker_ends_is_told_once_and_an_answer_stays() {
    bounded(3, || {
        let worker = answers(2);
        let (client, monitor) = (worker.clone(), worker.clone());
        (0..2).for_each(|place| client.reset(place));
        let answered = thread::spawn(move || worker.answer(0, DONE, &[3; 64], None));
        let lost = thread::spawn(move || {
            // What was answered when the worker was seen to be gone.
            let before = monitor.state(0).load(Ordering::Acquire);
            monitor.lose(2);
            let after = monitor.state(0).load(Ordering::Acquire);
            assert!(before != DONE || after == DONE, "the answer was taken away");
        });
        assert_eq!(await_answer(&client, 1), LOST);
        let first = await_answer(&client, 0);
        assert!(first == DONE || first == LOST);
        answered.join().unwrap();
        lost.join().unwrap();
    });
}

/// Two of the worker's threads answer at a time. Breaks: a place that is listed before its flag is set; a count that is
/// read and stored in two steps.
#[test]
fn each_answer_is_listed_once_and_is_there_when_it_is_listed() {
    bounded(3, || {
        let client = answers(2);
        (0..2).for_each(|place| client.reset(place));
        let workers = [(0, DONE), (1, SPILLED)].map(|(place, state)| {
            let worker = client.clone();
            thread::spawn(move || worker.answer(place, state, &[place as u8; 64], None))
        });
        let mut found = Vec::new();
        while found.len() < 2 {
            match client.finished(found.len() as u64) {
                Some(place) => {
                    let state = client.state(place).load(Ordering::Acquire);
                    assert!(state != PENDING && state != WAITED, "listed before it was answered");
                    assert_eq!(client.bytes(place), [place as u8; 64]);
                    found.push(place);
                }
                None => thread::yield_now(),
            }
        }
        found.sort_unstable();
        assert_eq!(found, [0, 1]);
        assert_eq!(client.finished(0), None, "taken out of the list");
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}
