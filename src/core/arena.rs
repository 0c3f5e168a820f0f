//! Shared memory for bulk data: uploads to the worker and downloads from it.
//!
//! The client cuts blocks from one large segment and tells the worker where they lie. The segment reserves addresses
//! for the whole staging limit, but a page takes memory only when it is first used. Blocks are cut from the lowest
//! range that fits, so that the same pages are reused. The pages of a large block are returned to the system with it.

use crate::core::harsh;
use crate::core::parallel;
use crate::core::process;
use crate::core::segment::Segment;
use crate::core::sync::{Arc, AtomicBool, Mutex, Ordering};
use std::collections::BTreeMap;

/// Bytes to copy out at a time. Shorter downloads are copied out when they are done.
pub(crate) const PIECE: usize = 8 << 20;
/// Blocks begin and end at page boundaries: they are registered with a GPU's driver, and returned to the system.
const PAGE: usize = 4096;
/// Blocks of this size or larger return their pages to the system.
const LARGE: usize = 64 << 20;

/// The client's side, which cuts the blocks.
#[derive(Debug)]
pub(crate) struct Arena {
    segment: Arc<Segment>,
    /// Free ranges by offset; adjacent ones are merged.
    free: Mutex<BTreeMap<usize, usize>>,
    /// Of the process that cuts blocks. A process forked from it shares the pages.
    fork_generation: u32,
}

impl Arena {
    pub(crate) fn new(segment: Arc<Segment>) -> Arc<Self> {
        let free = Mutex::new(BTreeMap::from([(0, segment.len() / PAGE * PAGE)]));
        Arc::new(Arena { segment, free, fork_generation: process::fork_generation() })
    }

    /// The size of the largest possible block.
    pub(crate) fn bytes(&self) -> usize {
        self.segment.len() / PAGE * PAGE
    }

    /// A block of `len` bytes, or `None` while there is not enough free memory.
    pub(crate) fn block(self: &Arc<Self>, len: usize) -> Option<Block> {
        let taken = len.max(1).checked_next_multiple_of(PAGE)?;
        let mut free = self.free.lock();
        let (&offset, &room) = free.iter().find(|(_, room)| **room >= taken)?;
        free.remove(&offset);
        if room > taken {
            free.insert(offset + taken, room - taken);
        }
        drop(free);
        if let Some(at) = self.segment.at(offset, len) {
            // SAFETY: inside the mapping, and nobody has been told of the block.
            unsafe { harsh::spoil(at.as_ptr(), len) };
        }
        Some(Block { arena: self.clone(), offset, len, taken })
    }

    fn give(&self, offset: usize, len: usize) {
        // A forked child's block is the parent's, which still reads it. And in the child the lock may be held by a
        // thread that does not exist there.
        if process::forked_since(self.fork_generation) {
            return;
        }
        if len >= LARGE {
            self.segment.forget(offset, len);
        }
        let mut free = self.free.lock();
        let (mut begin, mut end) = (offset, offset + len);
        if let Some((&before, &room)) = free.range(..offset).next_back()
            && before + room == offset
        {
            free.remove(&before);
            begin = before;
        }
        if let Some(room) = free.remove(&end) {
            end += room;
        }
        free.insert(begin, end - begin);
    }
}

/// Some bytes of the segment, owned until dropped.
#[derive(Debug)]
pub struct Block {
    arena: Arc<Arena>,
    offset: usize,
    len: usize,
    taken: usize,
}

impl Block {
    /// Where it lies, for the worker: offset and length.
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.offset as u64, self.len as u64)
    }

    /// Bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// This is a child that was forked since; the parent may use the memory for something else.
    pub(crate) fn is_forked(&self) -> bool {
        process::forked_since(self.arena.fork_generation)
    }

    /// Copies as many of `bytes` as fit into the block, with several threads. Call before the worker is told of the
    /// block.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        let len = bytes.len().min(self.len);
        if let Some(at) = self.arena.segment.at(self.offset, len) {
            // SAFETY: inside the mapping; this block owns the bytes and is borrowed exclusively.
            unsafe { parallel::copy(at.as_ptr(), bytes.as_ptr(), len) };
        }
    }

    /// Copies the first `len` bytes to `target`, with several threads. False if the block is shorter. Call after the
    /// worker has answered: it does not write the block any more.
    ///
    /// # Safety
    /// `target` is valid for writes of `len` bytes, and no other thread touches it meanwhile.
    pub(crate) unsafe fn copy_to(&self, target: *mut u8, len: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.copy_part(0, target, len) }
    }

    /// The same for `len` bytes from `start`, which the worker must not write any more.
    ///
    /// # Safety
    /// As [`copy_to`](Self::copy_to).
    pub(crate) unsafe fn copy_part(&self, start: usize, target: *mut u8, len: usize) -> bool {
        let inside = start.checked_add(len).is_some_and(|end| end <= self.len) && !self.is_forked();
        let Some(at) = self.arena.segment.at(self.offset + start, len).filter(|_| inside) else { return false };
        // SAFETY: inside the mapping, where the worker does not write (see above); the caller vouches for the target.
        unsafe { parallel::copy(target, at.as_ptr(), len) };
        true
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.arena.give(self.offset, self.taken);
    }
}

/// Where a process reports how much of a download is there.
pub(crate) trait Arrivals: std::fmt::Debug + Send + Sync {
    /// The first `bytes` bytes are in the block.
    fn arrive(&self, bytes: u64);
}

/// A block as the worker sees it: lent to the worker until it answers.
#[derive(Clone, Debug)]
pub(crate) struct Lent {
    segment: Arc<Segment>,
    offset: usize,
    len: usize,
    /// A GPU was given access to it.
    touched: Arc<AtomicBool>,
    /// Where to report how many bytes are filled, while the rest is being filled.
    told: Option<Arc<dyn Arrivals>>,
}

impl Lent {
    /// The block that an order names; `None` if it does not lie inside the segment.
    pub(crate) fn new(segment: &Arc<Segment>, (offset, len): (u64, u64)) -> Option<Self> {
        let (offset, len) = (usize::try_from(offset).ok()?, usize::try_from(len).ok()?);
        segment.at(offset, len)?;
        Some(Lent { segment: segment.clone(), offset, len, touched: Arc::default(), told: None })
    }

    /// Reports the bytes filled so far to the thread that waits for the answer to this order.
    pub(crate) fn telling(self, arrivals: Arc<dyn Arrivals>) -> Self {
        Lent { told: Some(arrivals), ..self }
    }

    /// Bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A GPU is given access to it now.
    #[cfg(feature = "cuda")]
    pub(crate) fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed);
    }

    /// A GPU was given access to it, and may still use it.
    #[cfg(feature = "cuda")]
    pub(crate) fn is_touched(&self) -> bool {
        self.touched.load(Ordering::Relaxed)
    }

    /// Where it lies in the segment.
    #[cfg(feature = "cuda")]
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.len
    }

    /// The address of the segment's bytes from `start` to `end` (or to the segment's end, if that comes first), and
    /// their number.
    #[cfg(feature = "cuda")]
    pub(crate) fn segment_from(&self, start: usize, end: usize) -> Option<(std::ptr::NonNull<u8>, usize)> {
        let len = end.min(self.segment.len()).checked_sub(start)?;
        Some((self.segment.at(start, len)?, len))
    }

    /// The bytes, as the client wrote them.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self.segment.at(self.offset, self.len) {
            // SAFETY: inside the mapping; the client does not touch a lent block until the worker has answered.
            Some(at) => unsafe { std::slice::from_raw_parts(at.as_ptr(), self.len) },
            None => &[],
        }
    }

    /// Writes the bytes and reports each piece, so that the waiting thread copies it out while the next is written. One
    /// op writes a block, once.
    pub(crate) fn fill(&self, bytes: &[u8]) {
        let bytes = bytes.get(..self.len).unwrap_or(bytes);
        let mut done = 0;
        for piece in bytes.chunks(PIECE) {
            if let Some(arrivals) = self.told.as_ref().filter(|_| done > 0) {
                arrivals.arrive(done as u64);
            }
            // SAFETY: the block is lent to this op alone, and the client reads a part only after it was reported.
            unsafe { self.segment.put(self.offset + done, piece) };
            done += piece.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arena(pages: usize) -> Arc<Arena> {
        Arena::new(Arc::new(Segment::create("windlass-test", pages * PAGE).unwrap().0))
    }

    fn read(block: &Block) -> Vec<u8> {
        let mut bytes = vec![0; block.len()];
        // SAFETY: `bytes` is as long as the block.
        assert!(unsafe { block.copy_to(bytes.as_mut_ptr(), bytes.len()) });
        // SAFETY: nothing is written: the block is too short.
        assert!(!unsafe { block.copy_to(bytes.as_mut_ptr(), bytes.len() + 1) });
        bytes
    }

    #[test]
    fn blocks_do_not_overlap_and_their_room_comes_back_whole() {
        let arena = arena(8);
        let mut blocks: Vec<_> = (0..8).map(|_| arena.block(PAGE).unwrap()).collect();
        assert!(arena.block(1).is_none());
        for (i, block) in blocks.iter_mut().enumerate() {
            block.fill(&[i as u8; 2 * PAGE]);
        }
        assert!(blocks.iter().enumerate().all(|(i, block)| read(block) == [i as u8; PAGE]));
        for order in [[3, 4, 0, 2, 1, 0, 1, 0], [0; 8], [7, 6, 5, 4, 3, 2, 1, 0]] {
            order.into_iter().for_each(|at| drop(blocks.remove(at)));
            assert_eq!(*arena.free.lock(), BTreeMap::from([(0, 8 * PAGE)]));
            blocks = (0..8).map(|_| arena.block(PAGE).unwrap()).collect();
        }
    }

    #[test]
    fn a_block_is_found_where_it_fits_and_none_is_longer_than_the_segment() {
        let arena = arena(4);
        let (a, b) = (arena.block(1).unwrap(), arena.block(2 * PAGE - 1).unwrap());
        assert_eq!((a.place(), b.place()), ((0, 1), (PAGE as u64, 2 * PAGE as u64 - 1)));
        drop(a);
        assert!(
            arena.block(2 * PAGE).is_none() && arena.block(5 * PAGE).is_none() && arena.block(usize::MAX).is_none()
        );
        assert_eq!(arena.block(0).unwrap().place(), (0, 0));
    }

    #[test]
    fn what_is_lent_lies_inside() {
        let arena = arena(2);
        let block = arena.block(100).unwrap();
        let lent = Lent::new(&arena.segment, block.place()).unwrap();
        lent.fill(&[7; 200]);
        assert_eq!((&read(&block)[..], lent.bytes()), (&[7u8; 100][..], &[7u8; 100][..]));
        assert!(Lent::new(&arena.segment, (PAGE as u64, 2 * PAGE as u64)).is_none());
        assert!(Lent::new(&arena.segment, (u64::MAX, 1)).is_none());
    }

    /// Remembers the last report.
    #[derive(Debug, Default)]
    struct Last(std::sync::atomic::AtomicU64);

    impl Arrivals for Last {
        fn arrive(&self, bytes: u64) {
            self.0.store(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn who_waits_for_a_large_block_is_told_of_each_piece_before_the_last() {
        let arena = arena((2 * PIECE + PAGE) / PAGE);
        for (len, told) in [(PIECE, 0), (PIECE + 1, PIECE), (2 * PIECE + 7, 2 * PIECE)] {
            let last = Arc::new(Last::default());
            let block = arena.block(len).unwrap();
            let lent = Lent::new(&arena.segment, block.place()).unwrap();
            let bytes: Vec<u8> = (0..len).map(|i| (i / 4099) as u8).collect();
            lent.telling(last.clone()).fill(&bytes);
            assert_eq!(last.0.load(Ordering::Relaxed), told as u64);
            assert!(read(&block) == bytes, "{len}");
        }
    }
}
