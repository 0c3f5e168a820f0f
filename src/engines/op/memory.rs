//! The memory of an operation and of its operands' spans, until a task has them.

#[cfg(target_os = "linux")]
use super::facts::Crossing;
use super::{Facts, Op, OpRef, Operation, SpansOf};
#[cfg(target_os = "linux")]
use crate::core::buffer::Receive;
use crate::core::error::{Error, Result};
#[cfg(target_os = "linux")]
use crate::core::op::Incoming;
#[cfg(feature = "cuda")]
use crate::core::op::Retention;
use crate::core::op::quietly;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// The error for an operation that is not there any more, which no caller sees.
#[cold]
pub(crate) fn taken() -> Error {
    Error::library("internal error: the operation was already submitted")
}

/// Which of the two are there.
#[derive(Clone, Copy, Default)]
pub(super) struct Present {
    pub(super) op: bool,
    pub(super) spans: bool,
}

impl Present {
    /// Drops what is there.
    ///
    /// # Safety
    /// What is there lies at these addresses, and nobody uses it any more.
    pub(super) unsafe fn drop(&mut self, facts: &Facts, op: NonNull<u8>, spans: NonNull<u8>) {
        let has = std::mem::take(self);
        if let Some(drop) = facts.drop_spans.filter(|_| has.spans) {
            // SAFETY: they are there, and dropped here only.
            unsafe { drop(spans) };
        }
        if let Some(drop) = facts.drop.filter(|_| has.op) {
            // SAFETY: as above. (It is of a user's type, whose drop may panic.)
            quietly(&mut || unsafe { drop(op) });
        }
    }
}

/// Where an operation and its operands' spans lie, or will lie.
pub(crate) struct OpMemory<'a> {
    facts: &'static Facts,
    op: NonNull<u8>,
    spans: NonNull<u8>,
    has: &'a mut Present,
}

impl<'a> OpMemory<'a> {
    /// # Safety
    /// For `'a` there is memory for both at these addresses, which nobody else uses, and what `has` says is there.
    #[inline]
    pub(super) unsafe fn new(facts: &'static Facts, op: NonNull<u8>, spans: NonNull<u8>, has: &'a mut Present) -> Self {
        OpMemory { facts, op, spans, has }
    }

    #[inline]
    pub(crate) fn facts(&self) -> &'static Facts {
        self.facts
    }

    #[inline]
    pub(crate) fn op(&self) -> Option<OpRef<'_>> {
        // SAFETY: it is there, and stays as long as this is borrowed.
        self.has.op.then(|| unsafe { OpRef::new(self.facts, self.op) })
    }

    #[inline]
    pub(crate) fn operation(&self) -> Option<Operation<'_>> {
        // SAFETY: both are there, and stay as long as this is borrowed.
        (self.has.op && self.has.spans).then(|| unsafe { Operation::new(self.facts, self.op, self.spans) })
    }

    /// See [`Op::keeps`](crate::op::Op::keeps).
    #[cfg(feature = "cuda")]
    pub(crate) fn keeps(&mut self) -> Retention {
        match self.has.op {
            // SAFETY: it is there, and borrowed exclusively.
            true => unsafe { (self.facts.keeps)(self.op) },
            false => Retention::ALL,
        }
    }

    /// Whether the op can be sent to another process.
    #[cfg(target_os = "linux")]
    pub(crate) fn crosses(&self) -> bool {
        // SAFETY: this asks only; there is no address.
        unsafe { (self.facts.cross)(Crossing::Possible) }.unwrap_or(false)
    }

    /// Decodes the op.
    #[cfg(target_os = "linux")]
    pub(crate) fn decode(&mut self, incoming: Incoming<'_>) -> Result<()> {
        self.clear();
        // SAFETY: there is memory for an op, and none lies there.
        if !unsafe { (self.facts.cross)(Crossing::Decode(self.op, incoming)) }? {
            return Err(Error::unsupported(
                "the operation cannot run on an isolated device: `Op::wire` is not implemented",
            ));
        }
        self.has.op = true;
        Ok(())
    }

    /// Reads the operands that have arrived, and returns how many of them are read. `None` if they do not match the op.
    #[cfg(target_os = "linux")]
    pub(crate) fn receive(&mut self, from: &mut Receive<'_, '_>) -> Option<usize> {
        if self.has.spans {
            return None;
        }
        // SAFETY: there is memory for the spans, and none lie there.
        let read_count = unsafe { (self.facts.receive)(self.spans, from) }?;
        self.has.spans = true;
        Some(read_count)
    }

    /// Drops what is there.
    pub(crate) fn clear(&mut self) {
        // SAFETY: it lies there; this borrow is the only one.
        unsafe { self.has.drop(self.facts, self.op, self.spans) };
    }

    /// Moves the op to `to`, and the spans if an address is given for them. What is not there does not move; the answer says
    /// what did.
    ///
    /// # Safety
    /// There is memory for them, apart from this place.
    #[inline]
    pub(super) unsafe fn move_to(&mut self, to: NonNull<u8>, spans: Option<NonNull<u8>>) -> Present {
        let moved = Present { op: self.has.op, spans: self.has.spans && spans.is_some() };
        if moved.op {
            // SAFETY: an op lies here and there is memory for it there. From now on it is there.
            unsafe { to.copy_from_nonoverlapping(self.op, self.facts.op.size()) };
            self.has.op = false;
        }
        if let Some(to) = spans.filter(|_| moved.spans) {
            // SAFETY: as above.
            unsafe { to.copy_from_nonoverlapping(self.spans, self.facts.spans) };
            self.has.spans = false;
        }
        moved
    }
}

/// An operation of a known type and its operands' spans, on the stack of the thread that submits it. They may be large, and
/// every function on the way would copy them: so they stay here until a task has them.
pub(crate) struct StackOp<O: Op> {
    op: MaybeUninit<O>,
    spans: MaybeUninit<SpansOf<O>>,
    has: Present,
}

impl<O: Op> StackOp<O> {
    #[inline]
    pub(crate) fn new(op: O) -> Self {
        StackOp { op: MaybeUninit::new(op), spans: MaybeUninit::uninit(), has: Present { op: true, spans: false } }
    }

    /// Sets the spans.
    #[inline]
    pub(crate) fn set(&mut self, spans: SpansOf<O>) {
        if std::mem::needs_drop::<SpansOf<O>>() && self.has.spans {
            // SAFETY: they are there.
            unsafe { self.spans.assume_init_drop() };
        }
        self.spans.write(spans);
        self.has.spans = true;
    }

    /// The op, unless a task has it.
    #[allow(dead_code, reason = "a build may have no library that asks")]
    pub(crate) fn op(&self) -> Option<&O> {
        // SAFETY: it is there.
        self.has.op.then(|| unsafe { self.op.assume_init_ref() })
    }

    #[inline]
    pub(crate) fn memory(&mut self) -> OpMemory<'_> {
        let (op, spans) = (NonNull::from(&mut self.op).cast(), NonNull::from(&mut self.spans).cast());
        // SAFETY: both are places of this value, which is borrowed exclusively.
        unsafe { OpMemory::new(Facts::of::<O>(), op, spans, &mut self.has) }
    }
}

impl<O: Op> Drop for StackOp<O> {
    #[inline]
    fn drop(&mut self) {
        // Most often a task has the op, and the spans of most ops need no drop.
        if std::mem::needs_drop::<SpansOf<O>>() && self.has.spans {
            self.has.spans = false;
            // SAFETY: they are there, and dropped here only.
            unsafe { self.spans.assume_init_drop() };
        }
        if std::mem::needs_drop::<O>() && self.has.op {
            self.memory().clear();
        }
    }
}
