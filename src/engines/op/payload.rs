//! An operation in a task.
//!
//! A task is one allocation, and its machinery is compiled once and not for each operation. So the operation lies in it
//! as bytes: there are tasks for a few numbers of bytes, and [`in_class`] takes the smallest that fits. What is larger than
//! the largest, or aligned to more than a word, is in a block of its own.

use super::memory::Present;
use super::{Facts, OpMemory, OpRef, Operation};
use crate::core::buffer::Places;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Memory is counted in these.
type Word = u128;

/// An operation, and its operands' spans or not, in `WORDS` words of 16 bytes or in a block of its own.
pub(crate) struct Payload<const WORDS: usize> {
    /// (An operation may change what is behind a lock in it.)
    words: UnsafeCell<[MaybeUninit<Word>; WORDS]>,
    facts: &'static Facts,
    /// The block; null if it lies in the words.
    block: *mut u8,
    has: Present,
    /// What there is memory for.
    content: Content,
}

// SAFETY: it owns an operation and its spans, of types that are both `Send` and `Sync` (`Op`, `Elems::Spans`).
unsafe impl<const WORDS: usize> Send for Payload<WORDS> {}
// SAFETY: as above; nothing but the operation's own code changes it while it is shared.
unsafe impl<const WORDS: usize> Sync for Payload<WORDS> {}

/// Whether a task has the spans too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Op,
    Both,
}

impl Facts {
    /// The memory of this part.
    #[inline]
    pub(crate) fn layout(&self, content: Content) -> Layout {
        if content == Content::Op { self.op } else { self.both }
    }
}

impl<const WORDS: usize> Payload<WORDS> {
    /// Without an operation.
    pub(crate) fn empty(facts: &'static Facts) -> Self {
        let words = UnsafeCell::new([MaybeUninit::uninit(); WORDS]);
        Payload { words, facts, block: Self::block(facts.both), has: Present::default(), content: Content::Both }
    }

    /// A block, for what does not lie in the words.
    #[inline]
    fn block(layout: Layout) -> *mut u8 {
        if layout.size() <= WORDS * size_of::<Word>() && layout.align() <= align_of::<Word>() {
            return std::ptr::null_mut();
        }
        let layout = block_layout(layout);
        // SAFETY: the size is not zero.
        let block = unsafe { alloc(layout) };
        if block.is_null() { handle_alloc_error(layout) } else { block }
    }

    /// What `from` holds, moved into a payload that passes through the stack.
    pub(crate) fn boxed(from: &mut OpMemory<'_>) -> Self {
        let mut payload = MaybeUninit::uninit();
        // SAFETY: there is memory for it, and it is whole afterwards.
        unsafe {
            Self::fill(payload.as_mut_ptr(), from, Content::Both);
            payload.assume_init()
        }
    }

    /// Makes a payload at `to`, without a copy of the words, and moves there what `from` holds of this part.
    ///
    /// # Safety
    /// There is memory for a payload, which nobody else uses.
    #[inline]
    pub(crate) unsafe fn fill(to: *mut Self, from: &mut OpMemory<'_>, content: Content) {
        let facts = from.facts();
        let layout = facts.layout(content);
        let block = Self::block(layout);
        // SAFETY: there is memory for all fields. The part fits, in the words or in the block, and lies nowhere else yet.
        unsafe {
            (&raw mut (*to).facts).write(facts);
            (&raw mut (*to).block).write(block);
            (&raw mut (*to).content).write(content);
            let at = if block.is_null() { (&raw mut (*to).words).cast::<u8>() } else { block };
            let at = NonNull::new_unchecked(at);
            let spans = if content == Content::Both { Some(at.byte_add(facts.spans_at)) } else { None };
            (&raw mut (*to).has).write(from.move_to(at, spans));
        }
    }

    #[inline]
    fn at(&self) -> NonNull<u8> {
        let at = if self.block.is_null() { self.words.get().cast::<u8>() } else { self.block };
        // SAFETY: the address of a field, or a block that was allocated.
        unsafe { NonNull::new_unchecked(at) }
    }

    /// Where the spans lie; only if there is memory for both.
    #[inline]
    fn spans(&self) -> NonNull<u8> {
        let behind = if self.content == Content::Both { self.facts.spans_at } else { 0 };
        // SAFETY: this lies in the memory for both.
        unsafe { self.at().byte_add(behind) }
    }

    /// Passes the address of each operand to `visit`, which may change it.
    ///
    /// # Safety
    /// Nobody else uses the spans meanwhile.
    pub(crate) unsafe fn places(&self, visit: &mut Places<'_>) {
        if self.has.spans {
            // SAFETY: they are there, and nobody else uses them.
            unsafe { (self.facts.places)(self.spans(), visit) };
        }
    }

    #[inline]
    pub(crate) fn facts(&self) -> &'static Facts {
        self.facts
    }

    #[inline]
    pub(crate) fn op(&self) -> Option<OpRef<'_>> {
        // SAFETY: it is there, and stays as long as this is borrowed.
        self.has.op.then(|| unsafe { OpRef::new(self.facts, self.at()) })
    }

    #[inline]
    pub(crate) fn operation(&self) -> Option<Operation<'_>> {
        let has = self.has.op && self.has.spans;
        // SAFETY: both are there, and stay as long as this is borrowed.
        has.then(|| unsafe { Operation::new(self.facts, self.at(), self.spans()) })
    }

    /// As a place for both; `None` if there is memory for the operation alone.
    pub(crate) fn memory(&mut self) -> Option<OpMemory<'_>> {
        let (at, spans) = (self.at(), self.spans());
        // SAFETY: there is memory for both, and this value is borrowed exclusively.
        (self.content == Content::Both).then(|| unsafe { OpMemory::new(self.facts, at, spans, &mut self.has) })
    }
}

impl<const WORDS: usize> Drop for Payload<WORDS> {
    fn drop(&mut self) {
        let (at, spans) = (self.at(), self.spans());
        // SAFETY: what is there lies at these addresses, and is dropped here only.
        unsafe { self.has.drop(self.facts, at, spans) };
        if !self.block.is_null() {
            // SAFETY: it was allocated with this layout.
            unsafe { dealloc(self.block, block_layout(self.facts.layout(self.content))) };
        }
    }
}

/// The layout of a block: a block has at least one byte.
fn block_layout(layout: Layout) -> Layout {
    if layout.size() > 0 { layout } else { Layout::from_size_align(1, layout.align()).unwrap_or(layout) }
}

/// Evaluates an expression with the number of words `$words` of the smallest task that has memory for `$content` of the
/// operation with the table `$facts`.
macro_rules! in_class {
    ($facts:expr, $content:expr, $words:ident => $make:expr) => {
        match $facts.layout($content).size() {
            ..=32 => {
                const $words: usize = 2;
                $make
            }
            ..=64 => {
                const $words: usize = 4;
                $make
            }
            ..=128 => {
                const $words: usize = 8;
                $make
            }
            ..=256 => {
                const $words: usize = 16;
                $make
            }
            ..=512 => {
                const $words: usize = 32;
                $make
            }
            _ => {
                const $words: usize = 0;
                $make
            }
        }
    };
}
pub(crate) use in_class;

#[cfg(test)]
mod tests {
    use super::super::{Op, Slices, SlicesMut, StackOp};
    use super::*;
    use crate::core::buffer::DeviceBuffer;
    use crate::core::error::Result;
    use crate::core::op::Spans;
    use crate::core::sync::Arc;

    /// Holds something to drop, and `N` bytes.
    struct Mine<const N: usize>(Arc<()>, [u8; N]);

    impl<const N: usize> Op for Mine<N> {
        const NAME: &'static str = "mine";
        type Reads = (crate::core::buffer::List<f32>,);
        type Output = DeviceBuffer<f64>;
        type Raw = ();
        fn check(&self, _: &Spans<Self::Reads>, _: &Spans<(f64,)>) -> Result<()> {
            Ok(())
        }
        fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
            Ok(())
        }
        fn finish(&self, (): ()) -> Result<()> {
            Ok(())
        }
    }

    /// Moves an op through a payload of so many words and back.
    fn moved<const N: usize, const WORDS: usize>(content: Content) {
        let count = Arc::new(());
        let mut held = StackOp::new(Mine(count.clone(), [7; N]));
        let mut payload = Box::new(MaybeUninit::<Payload<WORDS>>::uninit());
        // SAFETY: there is memory for it, and it is whole afterwards.
        let payload = unsafe {
            Payload::fill(payload.as_mut_ptr(), &mut held.memory(), content);
            payload.assume_init()
        };
        assert!(held.memory().op().is_none());
        drop(held);
        assert_eq!(Arc::strong_count(&count), 2);
        let op = payload.op().unwrap().any().downcast::<Mine<N>>().unwrap();
        assert!(Arc::ptr_eq(&op.0, &count) && op.1.iter().all(|byte| *byte == 7));
        assert!(payload.op().unwrap().any().downcast::<u8>().is_none());
        drop(payload);
        assert_eq!(Arc::strong_count(&count), 1);
    }

    #[test]
    fn an_operation_lies_in_the_words_or_in_a_block_and_is_dropped_once() {
        for content in [Content::Op, Content::Both] {
            moved::<0, 2>(content);
            moved::<100, 8>(content);
            moved::<100, 32>(content);
            moved::<5000, 0>(content);
            moved::<5000, 32>(content);
        }
        let held = StackOp::new(Mine(Arc::new(()), [0; 3]));
        drop(held);
        drop(Payload::<0>::empty(Facts::of::<Mine<9>>()));
    }
}
