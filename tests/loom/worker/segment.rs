//! `src/core/segment.rs` as a model sees it: words that loom watches, bytes whose every use it checks, and a futex.

use crate::sync::{AtomicU32, AtomicU64, Condvar, Mutex, Ordering};
use loom::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

pub(crate) struct Segment {
    words: BTreeMap<usize, AtomicU64>,
    halves: BTreeMap<usize, AtomicU32>,
    /// Bytes from `start` on, each watched by itself.
    start: usize,
    bytes: Vec<UnsafeCell<u8>>,
    /// The kernel's lock of a futex: a sleeper looks at the word and lies down under it.
    futex: Mutex<()>,
    woken: Condvar,
}

// SAFETY: loom checks every access to `bytes`.
unsafe impl Sync for Segment {}

impl Segment {
    /// With words at these offsets and no others.
    pub(crate) fn new(words: &[usize], halves: &[usize], bytes: Range<usize>) -> Self {
        Segment {
            words: words.iter().map(|offset| (*offset, AtomicU64::new(0))).collect(),
            halves: halves.iter().map(|offset| (*offset, AtomicU32::new(0))).collect(),
            start: bytes.start,
            bytes: bytes.map(|_| UnsafeCell::new(0)).collect(),
            futex: Mutex::default(),
            woken: Condvar::default(),
        }
    }

    /// As large as anybody wants.
    pub(crate) fn len(&self) -> usize {
        usize::MAX
    }

    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        &self.words[&offset]
    }

    pub(crate) fn half(&self, offset: usize) -> &AtomicU32 {
        &self.halves[&offset]
    }

    pub(crate) fn sleep(&self, offset: usize, expected: u32, _: Duration) {
        let mut guard = self.futex.lock();
        if self.half(offset).load(Ordering::Relaxed) == expected {
            self.woken.wait(&mut guard);
        }
    }

    pub(crate) fn wake(&self, _: usize) {
        drop(self.futex.lock());
        self.woken.notify_all();
    }

    pub(crate) unsafe fn put(&self, offset: usize, bytes: &[u8]) {
        for (cell, byte) in self.bytes[offset - self.start..].iter().zip(bytes) {
            cell.with_mut(|cell| unsafe { *cell = *byte });
        }
    }

    pub(crate) unsafe fn take(&self, offset: usize, bytes: &mut [u8]) {
        for (cell, byte) in self.bytes[offset - self.start..].iter().zip(bytes) {
            cell.with(|cell| *byte = unsafe { *cell });
        }
    }
}
