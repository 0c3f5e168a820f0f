//! `src/engines/worker/shared/ring.rs`: one writes orders, another reads them.

use super::ring::{Pushed, Ring};
use super::segment::Segment;
use crate::bounded;
use crate::sync::Arc;
use loom::thread;
use std::time::Duration;

/// The ring's own words, and where its bytes begin.
const WORDS: [usize; 2] = [0, 64];
const ASLEEP: usize = 128;
const DATA: usize = 256;

fn ends(capacity: usize) -> (Ring, Ring) {
    let segment = Arc::new(Segment::new(&WORDS, &[ASLEEP], DATA..DATA + capacity));
    (Ring::new(segment.clone(), 0, capacity), Ring::new(segment, 0, capacity))
}

/// Reads the next order; sleeps until there is one. Nobody but the writer ends the sleep.
fn next(ring: &Ring, frame: &mut Vec<u8>) {
    while !ring.pop(frame).unwrap() {
        ring.wait(Duration::ZERO, Duration::MAX);
    }
}

/// Breaks: a `push` without its fence, or a `wait` without its own or without the last look, leaves the reader asleep beside
/// an order; a tail that is stored or loaded `Relaxed` has bytes read while they are written.
#[test]
fn a_reader_that_falls_asleep_is_woken_by_the_last_order() {
    bounded(3, || {
        let (writer, reader) = ends(64);
        let thread = thread::spawn(move || {
            let mut frame = Vec::new();
            for want in 1..=2u8 {
                next(&reader, &mut frame);
                assert_eq!(frame, [want; 3]);
            }
        });
        for n in 1..=2u8 {
            assert_eq!(writer.push(&[&[n], &[n; 2]]), Pushed::Done);
        }
        thread.join().unwrap();
    });
}

/// Frames of 12 bytes and their length in a ring of 32: one fits at a time with another half of it, so the writer finds the
/// ring full, and the second frame lies around the end. Breaks: a head that is stored before the bytes were read, or loaded
/// or stored `Relaxed`, has them written over while they are read; room that is counted too large as well.
#[test]
fn a_full_ring_is_written_on_only_where_it_was_read() {
    bounded(2, || {
        let (writer, reader) = ends(32);
        let thread = thread::spawn(move || {
            let mut frame = Vec::new();
            for want in 1..=3u8 {
                while !reader.pop(&mut frame).unwrap() {
                    thread::yield_now();
                }
                assert_eq!(frame, [want; 16]);
            }
        });
        for n in 1..=3u8 {
            loop {
                match writer.push(&[&[n; 16]]) {
                    Pushed::Done => break,
                    Pushed::Full => thread::yield_now(),
                    Pushed::TooLong => unreachable!("it is half the ring"),
                }
            }
        }
        thread.join().unwrap();
    });
}

/// Both at once: the reader sleeps when the ring is empty, the writer waits when it is full.
#[test]
fn neither_waits_for_ever_when_the_ring_is_full_and_empty_in_turns() {
    bounded(2, || {
        let (writer, reader) = ends(32);
        let thread = thread::spawn(move || {
            let mut frame = Vec::new();
            for want in 1..=3u8 {
                next(&reader, &mut frame);
                assert_eq!(frame, [want; 16]);
            }
        });
        for n in 1..=3u8 {
            while writer.push(&[&[n; 16]]) != Pushed::Done {
                thread::yield_now();
            }
        }
        thread.join().unwrap();
    });
}
