//! What an op's CUDA half works with.

use super::queue::Queue;
use crate::dispatch::SpansOf;
use crate::op::{Op, PlanKey, Spans, WritesOf};
use crate::{Element, Result, Span};
use cudarc::driver::sys::CUstream;
use std::ops::{Deref, DerefMut};

/// A leased stream, with this dispatch's operands: what [`Op::cuda`](crate::Op::cuda) enqueues its work on.
///
/// The stream already waits for everything that the operands must follow. The half enqueues and returns; it waits for
/// nothing. Calls of the driver or of a library are made with [`stream`](Self::stream) and are `unsafe` where they
/// stand, and so is here what takes an address: whose memory that is, only the caller knows.
pub struct Enqueue<'q, O: Op> {
    queue: Queue<'q>,
    spans: &'q SpansOf<O>,
}

impl<O: Op> std::fmt::Debug for Enqueue<'_, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Enqueue({} on stream {} of {}", O::NAME, self.shared.index, self.epoch.label)?;
        write!(f, ", generation {})", self.epoch.generation)
    }
}

#[doc(hidden)]
impl<'q, O: Op> Deref for Enqueue<'q, O> {
    type Target = Queue<'q>;
    fn deref(&self) -> &Queue<'q> {
        &self.queue
    }
}

#[doc(hidden)]
impl<O: Op> DerefMut for Enqueue<'_, O> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.queue
    }
}

impl<'q, O: Op> Enqueue<'q, O> {
    pub(crate) fn new(queue: Queue<'q>, spans: &'q SpansOf<O>) -> Self {
        Enqueue { queue, spans }
    }

    /// Where the operands to be read lie, in device memory.
    pub fn reads(&self) -> &'q Spans<O::Reads> {
        &self.spans.0
    }

    /// Where the operands to be written lie, in device memory.
    pub fn writes(&self) -> &'q Spans<WritesOf<O>> {
        &self.spans.1
    }

    /// Which phase it is of an op that is [`Kind::Phased`](crate::Kind::Phased), counted from 0.
    pub fn phase(&self) -> usize {
        self.queue.phase
    }

    /// Where the buffer lies that [`Op::next`](crate::Op::next) has made at this place, counted from 0.
    ///
    /// # Errors
    /// [`Error::LibraryError`](crate::Error::LibraryError) when it made none there, or of another type.
    pub fn made<T: Element>(&self, index: usize) -> Result<Span<T>> {
        self.queue.made(index)
    }

    /// The address of the memory between phases that [`Op::next`](crate::Op::next) has made at this place, counted from 0.
    ///
    /// # Errors
    /// [`Error::LibraryError`](crate::Error::LibraryError) when it made none there.
    pub fn made_scratch(&self, index: usize) -> Result<u64> {
        self.queue.made_scratch(index)
    }

    /// The plan that [`Op::prepare`](crate::Op::prepare) asked for at this place, counted from 0. It is kept until the
    /// work is over.
    ///
    /// # Errors
    /// [`Error::LibraryError`](crate::Error::LibraryError) when it asked for none there, or by a key of another type.
    pub fn plan<K: PlanKey>(&self, index: usize) -> Result<&'q K::Plan> {
        self.queue.plan::<K>(index)
    }

    /// The stream, for calls of your own. The device's context is current. Everything enqueued on it must be over when
    /// the stream is, and must touch nothing but the operands, [`scratch`](Self::scratch) and [`result`](Self::result).
    pub fn stream(&mut self) -> CUstream {
        self.queue.stream()
    }

    /// Device memory for this dispatch alone, at least 256-byte aligned. Freed behind its work.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn scratch(&mut self, bytes: usize) -> Result<u64> {
        self.queue.scratch(bytes)
    }

    /// Device memory that the op's [`Raw`](crate::Op::Raw) is to be written to; copied to the host behind the work.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory); [`Error::Unsupported`](crate::Error::Unsupported) for a `Raw` that
    /// does not fit.
    pub fn result(&mut self) -> Result<u64> {
        self.queue.result()
    }

    /// The result is all zero bits.
    ///
    /// # Errors
    /// As [`result`](Self::result).
    pub fn zero_result(&mut self) -> Result<()> {
        self.queue.zero_result()
    }

    /// Launches the kernel `name` of `ptx` on the dispatch's stream.
    ///
    /// # Errors
    /// PTX that the driver refuses, a kernel that is not in it, dimensions or shared memory past the device's limits.
    ///
    /// # Safety
    /// `args` are the kernel's parameters in number, order and size, and the kernel reads and writes only the dispatch's
    /// operands (writing none that is only read) and its [`scratch`](Self::scratch) and [`result`](Self::result).
    pub unsafe fn launch(
        &mut self,
        ptx: &'static super::Ptx,
        name: &'static std::ffi::CStr,
        dims: crate::launch::LaunchDims,
        args: &[super::KernelArg],
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.queue.launch(ptx, name, dims, args) }
    }
}
