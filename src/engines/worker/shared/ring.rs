//! Orders to the worker: a ring of bytes in shared memory, with one writer and one reader at a time.
//!
//! ```text
//!   head    bytes read so far, ever                writer: free bytes = capacity - (tail - head)
//!   tail    bytes written so far, ever             frame:  length (4), bytes, padding to a multiple of 8
//!   asleep  1 while the reader sleeps on it        the writer takes the 1 away and wakes
//! ```
//!
//! **Race "last order"**: the reader says that it is asleep and looks at the tail once more. The writer moves the tail
//! and then looks whether the reader is asleep. Both have a full fence in between, so one of them sees the other.
//!
//! The reader trusts no length: a frame that does not fit what is there is an error, not a read past the end.

use crate::core::clock::Clock;
use crate::core::error::{Error, Result};
use crate::core::segment::Segment;
use crate::core::sync::{Arc, Ordering, fence};
use std::time::Duration;

/// The ring's own words come first.
const HEAD: usize = 0;
const TAIL: usize = 64;
const ASLEEP: usize = 128;
const DATA: usize = 256;

/// Polls between two readings of the clock.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 64 };

/// Bytes that a ring of this capacity takes in its segment.
pub(crate) const fn footprint(capacity: usize) -> usize {
    DATA + capacity
}

/// Bytes that the reader of the ring at `base` has read, ever.
pub(crate) fn read_so_far(segment: &Segment, base: usize) -> u64 {
    segment.word(base + HEAD).load(Ordering::Relaxed)
}

/// One end of the ring.
pub(crate) struct Ring {
    segment: Arc<Segment>,
    base: usize,
    capacity: usize,
}

/// What pushing did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    Done,
    /// Not enough space now.
    Full,
    /// It will never fit.
    TooLong,
}

impl Ring {
    /// A ring at `base` of the segment; `capacity` is a power of two.
    pub(crate) fn new(segment: Arc<Segment>, base: usize, capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two() && base + footprint(capacity) <= segment.len());
        Ring { segment, base, capacity }
    }

    /// The longest frame.
    pub(crate) fn longest(&self) -> usize {
        self.capacity / 2
    }

    /// Writes one frame made of `parts`. One writer at a time: the caller holds a lock.
    pub(crate) fn push(&self, parts: &[&[u8]]) -> Pushed {
        let len: usize = parts.iter().map(|p| p.len()).sum();
        if len > self.longest() {
            return Pushed::TooLong;
        }
        let (head, tail) = (self.segment.word(self.base + HEAD), self.segment.word(self.base + TAIL));
        let end = tail.load(Ordering::Relaxed);
        let needed = (len + 4).next_multiple_of(8);
        let used = end.wrapping_sub(head.load(Ordering::Acquire));
        if used > self.capacity as u64 || needed as u64 > self.capacity as u64 - used {
            return Pushed::Full;
        }
        let mut at = end;
        at = self.write(at, &(len as u32).to_le_bytes());
        for part in parts {
            at = self.write(at, part);
        }
        tail.store(end.wrapping_add(needed as u64), Ordering::Release);
        fence(Ordering::SeqCst); // race "last order"
        let asleep = self.segment.half(self.base + ASLEEP);
        if asleep.load(Ordering::Relaxed) != 0 && asleep.swap(0, Ordering::AcqRel) != 0 {
            self.segment.wake(self.base + ASLEEP);
        }
        Pushed::Done
    }

    /// Reads the next frame into `frame`. False when there is none.
    pub(crate) fn pop(&self, frame: &mut Vec<u8>) -> Result<bool> {
        let (head, tail) = (self.segment.word(self.base + HEAD), self.segment.word(self.base + TAIL));
        let begin = head.load(Ordering::Relaxed);
        let there = tail.load(Ordering::Acquire).wrapping_sub(begin);
        if there == 0 {
            return Ok(false);
        }
        let mut len = [0u8; 4];
        self.read(begin, &mut len);
        let len = u32::from_le_bytes(len) as usize;
        let needed = (len + 4).next_multiple_of(8);
        if len > self.longest() || needed as u64 > there || there > self.capacity as u64 {
            return Err(Error::library(format!(
                "corrupt ring: an order of {len} bytes, but {there} bytes were written"
            )));
        }
        frame.clear();
        frame.resize(len, 0);
        self.read(begin + 4, frame);
        head.store(begin.wrapping_add(needed as u64), Ordering::Release);
        Ok(true)
    }

    /// Waits for a frame: polls for `spin`, then sleeps for at most `limit`. True if there is a frame; may return
    /// early.
    pub(crate) fn wait(&self, spin: Duration, limit: Duration) -> bool {
        let start = Clock::SYSTEM.start();
        loop {
            for _ in 0..LOOKS {
                if !self.is_empty() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if start.elapsed() >= spin {
                break;
            }
            // With few cores, the thread that will write or answer may need this core.
            std::thread::yield_now();
        }
        let asleep = self.segment.half(self.base + ASLEEP);
        // Stores would do: in the modification order of this word, the writer's swap comes right after the 1 that it
        // takes away. (The model checker knows that for swaps only.)
        asleep.swap(1, Ordering::Relaxed);
        fence(Ordering::SeqCst); // race "last order"
        if self.is_empty() {
            self.segment.sleep(self.base + ASLEEP, 1, limit);
        }
        asleep.swap(0, Ordering::Relaxed);
        !self.is_empty()
    }

    fn is_empty(&self) -> bool {
        let (head, tail) = (self.segment.word(self.base + HEAD), self.segment.word(self.base + TAIL));
        tail.load(Ordering::Acquire) == head.load(Ordering::Relaxed)
    }

    /// Where `len` bytes at stream position `at` lie: the ranges before and after the wrap.
    fn places(&self, at: u64, len: usize) -> [(usize, usize); 2] {
        let from = (at % self.capacity as u64) as usize;
        let first = len.min(self.capacity - from);
        [(from, first), (0, len - first)]
    }

    fn write(&self, at: u64, bytes: &[u8]) -> u64 {
        let [(from, first), (again, rest)] = self.places(at, bytes.len());
        let (one, two) = bytes.split_at(first);
        for (to, part) in [(from, one), (again, two)] {
            // SAFETY: the reader does not touch these bytes before the tail has moved past them, and no other writer
            // runs.
            unsafe { self.segment.put(self.base + DATA + to, part) };
        }
        debug_assert_eq!(rest, two.len());
        at.wrapping_add(bytes.len() as u64)
    }

    fn read(&self, at: u64, bytes: &mut [u8]) {
        let [(from, first), (again, _)] = self.places(at, bytes.len());
        let (one, two) = bytes.split_at_mut(first);
        for (at, part) in [(from, one), (again, two)] {
            // SAFETY: the writer does not touch these bytes before the head has moved past them.
            unsafe { self.segment.take(self.base + DATA + at, part) };
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    fn ends(capacity: usize) -> (Ring, Ring) {
        let len = footprint(capacity);
        let (one, file) = Segment::create("windlass-test", len).unwrap();
        let two = Segment::map(&file, len).unwrap();
        (Ring::new(Arc::new(one), 0, capacity), Ring::new(Arc::new(two), 0, capacity))
    }

    #[test]
    fn frames_of_every_length_cross_in_order_and_around_the_end() {
        let (writer, reader) = ends(1 << 10);
        let mut frame = Vec::new();
        for round in 0..3 {
            for len in 0..=512usize {
                let sent: Vec<u8> = (0..len).map(|i| (i + len + round) as u8).collect();
                let (a, b) = sent.split_at(len / 3);
                assert_eq!(writer.push(&[a, b]), Pushed::Done);
                assert!(reader.pop(&mut frame).unwrap());
                assert_eq!(frame, sent);
            }
        }
        assert!(!reader.pop(&mut frame).unwrap());
    }

    #[test]
    fn a_full_ring_refuses_and_takes_again_once_something_was_read() {
        let (writer, reader) = ends(1 << 8);
        let mut pushed = 0;
        while writer.push(&[&[pushed; 20]]) == Pushed::Done {
            pushed += 1;
        }
        assert_eq!(pushed, 10, "24 bytes each in 256");
        assert_eq!(writer.push(&[&[0; 129]]), Pushed::TooLong);
        let mut frame = Vec::new();
        assert!(reader.pop(&mut frame).unwrap() && frame == [0; 20]);
        assert_eq!(writer.push(&[&[pushed; 20]]), Pushed::Done);
        for want in 1..=pushed {
            assert!(reader.pop(&mut frame).unwrap() && frame == [want; 20]);
        }
    }

    #[test]
    fn a_frame_that_was_cut_is_an_error_and_reads_nothing_past_its_end() {
        let (writer, reader) = ends(1 << 8);
        assert_eq!(writer.push(&[&[1; 20]]), Pushed::Done);
        writer.segment.word(TAIL).store(8, Ordering::Release); // the writer died in the middle
        let mut frame = Vec::new();
        assert!(reader.pop(&mut frame).unwrap_err().to_string().contains("20 bytes, but 8 bytes"));
        writer.segment.word(TAIL).store(u64::MAX / 2, Ordering::Release);
        assert!(reader.pop(&mut frame).is_err());
    }

    #[test]
    fn a_reader_that_sleeps_is_woken_by_every_order() {
        let (writer, reader) = ends(1 << 12);
        let count = 2000u32;
        let thread = std::thread::spawn(move || {
            let mut frame = Vec::new();
            for want in 0..count {
                while !reader.pop(&mut frame).unwrap() {
                    // It may be woken early.
                    let (start, most) = (Clock::SYSTEM.start(), Duration::from_secs(60));
                    assert!(reader.wait(Duration::ZERO, most) || start.elapsed() < most, "nobody woke the reader");
                }
                assert_eq!(frame, want.to_le_bytes());
            }
        });
        for i in 0..count {
            while writer.push(&[&i.to_le_bytes()]) == Pushed::Full {
                std::thread::yield_now();
            }
            // Now and then: waits until the reader has read all, and sleeps or is about to.
            while i % 100 == 0 && writer.segment.half(ASLEEP).load(Ordering::Relaxed) == 0 && !thread.is_finished() {
                std::thread::yield_now();
            }
        }
        thread.join().unwrap();
    }
}
