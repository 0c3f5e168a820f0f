//! The leased stream that an op's CUDA half works with: the methods of [`Enqueue`].

use super::queue::{EnqueueOn, Queue};
use crate::core::buffer::Span;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::op::Spans;
use crate::engines::op::{Enqueue, Op, PlanKey, QueueRef, WritesOf};
use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A CUDA stream as C knows it (`CUstream`, `cudaStream_t`): what [`Enqueue::stream`] lends for calls of your own.
///
/// ```
/// # use std::ffi::c_void;
/// use windlass::op::StreamPtr;
/// # #[allow(non_camel_case_types)] struct CUstream_st;
/// fn launch(stream: StreamPtr) {
///     let raw: *mut c_void = stream.as_ptr();
///     let typed: *mut CUstream_st = stream.as_ptr().cast(); // as cudarc and other bindings have it
/// #   let _ = (raw, typed);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct StreamPtr(*mut c_void);

impl StreamPtr {
    /// The pointer. It is a stream of the device until the call that it was lent to returns.
    pub fn as_ptr(self) -> *mut c_void {
        self.0
    }
}

impl<'q> Queue<'q> {
    /// The queue for an operation's CUDA half, which knows no engine.
    #[inline]
    pub(crate) fn untyped(&'q mut self) -> QueueRef<'q> {
        // SAFETY: it is a queue, borrowed exclusively for `'q`.
        unsafe { QueueRef::new(NonNull::from(self).cast()) }
    }
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
    #[inline]
    fn deref(&self) -> &Queue<'q> {
        // SAFETY: the queue that `untyped` was given; this borrow of `self` is one of it.
        unsafe { self.queue.at().cast().as_ref() }
    }
}

#[doc(hidden)]
impl<O: Op> DerefMut for Enqueue<'_, O> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: as above; `self` is borrowed exclusively.
        unsafe { self.queue.at().cast().as_mut() }
    }
}

impl<'q, O: Op> Enqueue<'q, O> {
    /// The operands that are read: their places in device memory.
    pub fn reads(&self) -> &'q Spans<O::Reads> {
        &self.spans.0
    }

    /// The operands that are written: their places in device memory.
    pub fn writes(&self) -> &'q Spans<WritesOf<O>> {
        &self.spans.1
    }

    /// The number of the current phase of an op that is [`OpKind::Phased`](crate::op::OpKind::Phased), counted from 0.
    pub fn phase(&self) -> usize {
        self.phase
    }

    /// The place in device memory of a buffer that [`Op::next`](crate::op::Op::next) made. `index` is its number among
    /// these buffers, counted from 0.
    ///
    /// # Errors
    /// [`Error::LibraryError`](crate::Error::LibraryError) if there is no such buffer, or if its element type is not
    /// `T`.
    pub fn made<T: Element>(&self, index: usize) -> Result<Span<T>> {
        (**self).made(index)
    }

    /// The address of scratch memory that [`Op::next`](crate::op::Op::next) made for the later phases. `index` is its
    /// number among these allocations, counted from 0.
    ///
    /// # Errors
    /// [`Error::LibraryError`](crate::Error::LibraryError) if there is no such memory.
    pub fn made_scratch(&self, index: usize) -> Result<u64> {
        (**self).made_scratch(index)
    }

    /// A plan that [`Op::prepare`](crate::op::Op::prepare) asked for. `index` is its number among these plans, counted from
    /// 0. The plan is kept until the work has completed.
    ///
    /// # Errors
    /// [`Error::LibraryError`](crate::Error::LibraryError) if there is no such plan, or if its key is not of type `K`.
    pub fn plan<K: PlanKey>(&self, index: usize) -> Result<&'q K::Plan> {
        (**self).plan::<K>(index)
    }

    /// The stream, for your own calls. The device's context is current. All work that these calls start must have
    /// completed when the stream's work has. It may access only the operands, [`scratch`](Self::scratch) and
    /// [`result`](Self::result).
    pub fn stream(&mut self) -> StreamPtr {
        StreamPtr((**self).stream().cast())
    }

    /// The number of devices that the dispatch has: more than one for
    /// [`Device::dispatch_across`](crate::Device::dispatch_across).
    pub fn devices(&self) -> usize {
        (**self).devices()
    }

    /// The stream of one of the dispatch's devices, counted from 0 in their order. The first is the one that the methods
    /// of this type use. Each stream waits for the work that the operands *on its device* must follow; see
    /// [`follow`](Self::follow).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if there is no such device; an error of the driver.
    pub fn on(&mut self, device: usize) -> Result<EnqueueOn<'_>> {
        (**self).on(device)
    }

    /// Makes the stream of the device `later` wait for all that is on the stream of the device `earlier` by now, and so
    /// for the work that the operands there must follow. Work that reads or writes an operand of another device needs it
    /// before, and that device needs it after the work. (A kernel can access the memory of another device only if there is
    /// a path between them. The first [`copy_peer`](crate::Device::copy_peer) from that device opens it.)
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if there is no such device; an error of the driver.
    pub fn follow(&mut self, later: usize, earlier: usize) -> Result<()> {
        (**self).follow_on(later, earlier)
    }

    /// Allocates device memory for this dispatch alone, at least 256-byte aligned. It is freed after the dispatch's
    /// work, in stream order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn scratch(&mut self, bytes: usize) -> Result<u64> {
        (**self).scratch(bytes)
    }

    /// Device memory that the work must write the op's [`Raw`](crate::op::Op::Raw) to. It is copied to the host after the
    /// work.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory); [`Error::Unsupported`](crate::Error::Unsupported) for a `Raw`
    /// that does not fit.
    pub fn result(&mut self) -> Result<u64> {
        (**self).result()
    }

    /// Enqueues a fill of the result with zero bits.
    ///
    /// # Errors
    /// As [`result`](Self::result).
    pub fn zero_result(&mut self) -> Result<()> {
        (**self).zero_result()
    }

    /// Launches the kernel `name` of `ptx` on the dispatch's stream.
    ///
    /// # Errors
    /// The driver refuses the PTX, the kernel is not in it, or the dimensions or the shared memory exceed the device's
    /// limits.
    ///
    /// # Safety
    /// `args` match the kernel's parameters in number, order and size. The kernel accesses only the dispatch's
    /// operands, [`scratch`](Self::scratch) and [`result`](Self::result), and does not write operands that the dispatch
    /// only reads.
    pub unsafe fn launch(
        &mut self,
        ptx: &'static crate::engines::cuda::Ptx,
        name: &'static std::ffi::CStr,
        dims: crate::core::launch::LaunchDims,
        args: &[crate::engines::cuda::KernelArg],
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { (**self).launch(ptx, name, dims, args) }
    }
}
