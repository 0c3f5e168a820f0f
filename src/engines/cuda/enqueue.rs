//! What an op's CUDA half works with.

use super::api::Code;
use super::pinned::Block;
use super::slot::{Shared, State};
use super::staging::{Arriving, Piece, Reserved, Staged, Staging};
use super::task::Landed;
use super::{Core, fault};
use crate::dispatch::raw::Raw;
use crate::engine::Epoch;
use crate::op::plan::{AnyPlan, unprepared};
use crate::op::{Contained, Made, Op, PlanKey, Spans, WritesOf};
use crate::sync::Arc;
use crate::{Element, Error, Result, Span};
use cudarc::driver::sys::CUDA_MEMCPY2D;
use cudarc::driver::sys::CUstream;
use smallvec::SmallVec;

/// A leased stream, with this dispatch's operands: what [`Op::cuda`](crate::Op::cuda) enqueues its work on.
///
/// The stream already waits for everything that the operands must follow. The half enqueues and returns; it waits for
/// nothing. Calls of the driver or of a library are made with [`stream`](Self::stream) and are `unsafe` where they
/// stand, and so is here what takes an address: whose memory that is, only the caller knows.
pub struct Enqueue<'q, O: Op> {
    pub(crate) core: &'q Arc<Core>,
    pub(crate) epoch: &'q Arc<Epoch>,
    pub(crate) shared: &'q Arc<Shared>,
    pub(crate) state: &'q mut State,
    reads: &'q Spans<O::Reads>,
    writes: &'q Spans<WritesOf<O>>,
    plans: &'q [AnyPlan],
    phase: usize,
    made: Option<&'q Made>,
    pub(super) landed: Landed,
    pub(super) keep: SmallVec<[Block; 1]>,
    pub(crate) kept: super::task::Kept,
    pub(super) scratch: SmallVec<[u64; 2]>,
    result_asked: bool,
    pub(super) untouched: bool,
}

#[cold]
fn not_made(index: usize) -> Error {
    Error::library(format!("no buffer {index} of that type was made between the phases"))
}

/// Bytes of a slot's device memory for results.
const RESULT: usize = 256;

impl<O: Op> std::fmt::Debug for Enqueue<'_, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Enqueue({} on stream {} of {}", O::NAME, self.shared.index, self.epoch.label)?;
        write!(f, ", generation {})", self.epoch.generation)
    }
}

impl<'q, O: Op> Enqueue<'q, O> {
    pub(super) fn new(
        core: &'q Arc<Core>,
        epoch: &'q Arc<Epoch>,
        (shared, state): (&'q Arc<Shared>, &'q mut State),
        (reads, writes): (&'q Spans<O::Reads>, &'q Spans<WritesOf<O>>),
        landed: Landed,
        (plans, phase, made): (&'q [AnyPlan], usize, Option<&'q Made>),
    ) -> Self {
        Enqueue {
            core,
            epoch,
            shared,
            state,
            reads,
            writes,
            plans,
            phase,
            made,
            landed,
            keep: SmallVec::new(),
            kept: SmallVec::new(),
            scratch: SmallVec::new(),
            result_asked: false,
            untouched: true,
        }
    }

    /// Where the operands to be read lie, in device memory.
    pub fn reads(&self) -> &'q Spans<O::Reads> {
        self.reads
    }

    /// Where the operands to be written lie, in device memory.
    pub fn writes(&self) -> &'q Spans<WritesOf<O>> {
        self.writes
    }

    /// Which phase it is of an op that is [`Kind::Phased`](crate::Kind::Phased), counted from 0.
    pub fn phase(&self) -> usize {
        self.phase
    }

    /// Where the buffer lies that [`Op::next`](crate::Op::next) has made at this place, counted from 0.
    ///
    /// # Errors
    /// [`Error::LibraryError`] when it made none there, or of another type.
    pub fn made<T: Element>(&self, index: usize) -> Result<Span<T>> {
        self.made.and_then(|made| made.span(index)).ok_or_else(|| not_made(index))
    }

    /// The address of the memory between phases that [`Op::next`](crate::Op::next) has made at this place, counted from 0.
    ///
    /// # Errors
    /// [`Error::LibraryError`] when it made none there.
    pub fn made_scratch(&self, index: usize) -> Result<u64> {
        self.made.and_then(|made| made.scratch(index)).ok_or_else(|| not_made(index))
    }

    /// The plan that [`Op::prepare`](crate::Op::prepare) asked for at this place, counted from 0. It is kept until the
    /// work is over.
    ///
    /// # Errors
    /// [`Error::LibraryError`] when it asked for none there, or by a key of another type.
    pub fn plan<K: PlanKey>(&self, index: usize) -> Result<&'q K::Plan> {
        let plan = self.plans.get(index).and_then(|plan| plan.downcast_ref::<Contained<K::Plan>>());
        plan.map(|plan| &**plan).ok_or_else(|| unprepared(index))
    }

    /// The stream, for calls of your own. The device's context is current. Everything enqueued on it must be over when
    /// the stream is, and must touch nothing but the operands, [`scratch`](Self::scratch) and [`result`](Self::result).
    pub fn stream(&mut self) -> CUstream {
        self.touch();
        self.state.stream.0
    }

    /// Something may be on the stream from here on: a failure leaves the operands as they are now, and nothing is tried
    /// again.
    pub(crate) fn touch(&mut self) {
        self.untouched = false;
    }

    pub(crate) fn check(&self, call: &str, code: Code) -> Result<()> {
        code.ok().map_err(|code| fault::classify(self.epoch, code, call))
    }

    /// Device memory for this dispatch alone, at least 256-byte aligned. Freed behind its work.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn scratch(&mut self, bytes: usize) -> Result<u64> {
        let address = self.room(bytes.max(1))?;
        self.scratch.push(address);
        Ok(address)
    }

    fn room(&self, bytes: usize) -> Result<u64> {
        let address = self.core.raw_alloc(self.state, bytes);
        address.map_err(|code| fault::refused(self.epoch, code, "cuMemAllocFromPoolAsync", bytes))
    }

    /// Device memory that the op's [`Raw`] is to be written to; copied to the host behind the work.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Unsupported`] for a `Raw` that does not fit.
    pub fn result(&mut self) -> Result<u64> {
        if O::Raw::BYTES == 0 || O::Raw::BYTES > super::pinned::SLOT {
            return Err(Error::unsupported(format!("a result of {} bytes", O::Raw::BYTES)));
        }
        self.result_asked = true;
        match self.state.result {
            Some(address) => Ok(address),
            None => {
                let address = self.room(RESULT)?;
                self.state.result = Some(address);
                Ok(address)
            }
        }
    }

    /// The result is all zero bits.
    ///
    /// # Errors
    /// As [`result`](Self::result).
    pub fn zero_result(&mut self) -> Result<()> {
        let address = self.result()?;
        // SAFETY: the slot's own memory, which holds a result (checked by `result`).
        unsafe { self.memset(address, &[0], O::Raw::BYTES) }
    }

    /// Behind the work: the result on its way to pinned memory.
    pub(super) fn bring_result(&mut self) -> Result<()> {
        let (Landed::Slot(slot), true, Some(address)) = (&self.landed, self.result_asked, self.state.result) else {
            return match (&self.landed, O::Raw::BYTES) {
                (Landed::Slot(_), 1..) => Err(Error::library("the CUDA half left no result")),
                _ => Ok(()),
            };
        };
        // SAFETY: the slot is pinned and kept by the task, which the ring keeps; the address is the slot's own memory.
        let code = unsafe {
            self.core.context.api.memcpy_dtoh_async(slot.at.0.cast(), address, O::Raw::BYTES, self.state.stream.0)
        };
        self.check("cuMemcpyDtoHAsync", code)
    }

    /// Copies `bytes` bytes within the device.
    ///
    /// # Safety
    /// Both ranges are of that length and lie in memory of this device that this dispatch may touch: an operand, its
    /// scratch, its result, or a variable of a module that it holds; and what is written, it may write.
    pub(crate) unsafe fn copy(&mut self, to: u64, from: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let stream = self.stream();
        // SAFETY: the caller's promise; what a dispatch may touch lives until it is done.
        let code = unsafe { self.core.context.api.memcpy_dtod_async(to, from, bytes, stream) };
        self.check("cuMemcpyDtoDAsync", code)
    }

    /// Fills `count` elements with one value. Patterns of 1, 2 or 4 bytes are the driver's own; longer ones are written
    /// once and doubled by copies.
    ///
    /// # Safety
    /// As [`copy`](Self::copy), of `count` times as many bytes as `value` has, aligned as its elements are.
    pub(crate) unsafe fn fill(&mut self, to: u64, count: usize, value: &[u8]) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let total = count * value.len();
        if let Some((&first, rest)) = value.split_first()
            && rest.iter().all(|b| *b == first)
        {
            // SAFETY: the caller's promise.
            return unsafe { self.memset(to, &[first], total) };
        }
        match value.len() {
            // SAFETY: the caller's promise.
            2 | 4 => return unsafe { self.memset(to, value, count) },
            _ => {}
        }
        if let Some((low, high)) = value.split_at_checked(4)
            && high.chunks(4).all(|c| c == low)
        {
            // SAFETY: the caller's promise.
            return unsafe { self.memset(to, low, total / 4) };
        }
        let words = value.chunks(4).enumerate();
        for (i, word) in words {
            // SAFETY: a word of the first element.
            unsafe { self.memset(to + 4 * i as u64, word, 1) }?;
        }
        let mut done = value.len();
        while done < total {
            let more = done.min(total - done);
            // SAFETY: both lie in the range that the caller promised, the second behind the first.
            unsafe { self.copy(to + done as u64, to, more) }?;
            done += more;
        }
        Ok(())
    }

    /// # Safety
    /// As [`fill`](Self::fill).
    unsafe fn memset(&mut self, to: u64, value: &[u8], count: usize) -> Result<()> {
        let stream = self.stream();
        let api = self.core.context.api;
        // SAFETY: the caller's promise.
        let code = unsafe {
            match *value {
                [b] => api.memset_d8_async(to, b, count, stream),
                [a, b] => api.memset_d16_async(to, u16::from_ne_bytes([a, b]), count, stream),
                [a, b, c, d] => api.memset_d32_async(to, u32::from_ne_bytes([a, b, c, d]), count, stream),
                _ => return Err(Error::unsupported(format!("a pattern of {} bytes", value.len()))),
            }
        };
        self.check("cuMemsetAsync", code)
    }

    /// Staged host data to the device. The block is kept until the copy is over.
    ///
    /// # Safety
    /// As [`copy`](Self::copy), of as many bytes as were staged.
    pub(crate) unsafe fn copy_from_staging(&mut self, to: u64, staging: Staging) -> Result<()> {
        let Some(block) = staging.block else { return Ok(()) };
        let stream = self.stream();
        // SAFETY: the block is pinned, holds `len` bytes, and is kept on the task; the target is the caller's
        // promise.
        let code = unsafe { self.core.context.api.memcpy_htod_async(to, block.at.0.cast(), staging.len, stream) };
        self.keep.push(block);
        self.check("cuMemcpyHtoDAsync", code)
    }

    /// Device data to the reserved pinned memory, each piece with a ticket of its own, so that the host can begin with
    /// the first while the last is on its way.
    ///
    /// # Safety
    /// As [`copy`](Self::copy), of as many bytes as were reserved.
    pub(crate) unsafe fn copy_to_staging(&mut self, from: u64, reserved: Reserved) -> Result<()> {
        let stream = self.stream();
        let mut arriving = Arriving {
            pieces: Vec::with_capacity(reserved.blocks.len()),
            bytes: 0,
            slot: self.shared.clone(),
            end: std::sync::OnceLock::new(),
        };
        let mut outcome = Ok(());
        let mut pieces = reserved.blocks.into_iter().peekable();
        while let Some((block, len)) = pieces.next() {
            if outcome.is_ok() {
                // SAFETY: the block is pinned and holds `len` bytes; it is kept on the task; the source is
                // the caller's promise.
                let code = unsafe {
                    self.core.context.api.memcpy_dtoh_async(
                        block.at.0.cast(),
                        from + arriving.bytes as u64,
                        len,
                        stream,
                    )
                };
                outcome = self.check("cuMemcpyDtoHAsync", code);
            }
            // The last piece arrives with the dispatch itself: its mark is set when it is recorded.
            arriving.bytes += len;
            let mut piece = Piece { block, len, mark: None };
            if pieces.peek().is_some() {
                let (ticket, event, code) = self.state.record(self.shared);
                self.state.ring.push(ticket, event, None);
                outcome = outcome.and_then(|()| self.check("cuEventRecord", code));
                piece.mark = Some((ticket, event));
            }
            arriving.pieces.push(piece);
        }
        // Also after a failure: the ring keeps what the device may still write.
        self.landed = Landed::Staged(Staged(Arc::new(arriving)));
        outcome
    }

    /// A column-major matrix of bytes whose columns begin at multiples of `align`: the one given if its do, else a copy.
    ///
    /// # Safety
    /// As [`copy_columns`](Self::copy_columns), of what is read.
    pub(crate) unsafe fn align_columns(
        &mut self,
        from: u64,
        rows: usize,
        cols: usize,
        ld: usize,
        align: usize,
    ) -> Result<(u64, usize)> {
        let Some(to) = self.room_for_columns(from, rows, cols, ld, align)? else { return Ok((from, ld)) };
        // SAFETY: the room holds `cols` columns of that pitch; what is read is the caller's promise.
        unsafe { self.copy_columns(to, (from, ld), rows, cols) }?;
        Ok(to)
    }

    /// Room for a copy of a column-major matrix of bytes whose columns begin at multiples of `align`: an address and the
    /// distance of columns; `None` where they do so already.
    pub(crate) fn room_for_columns(
        &mut self,
        from: u64,
        rows: usize,
        cols: usize,
        ld: usize,
        align: usize,
    ) -> Result<Option<(u64, usize)>> {
        let aligned = from.is_multiple_of(align as u64) && (cols <= 1 || ld.is_multiple_of(align));
        if rows == 0 || cols == 0 || aligned {
            return Ok(None);
        }
        let pitch = rows.next_multiple_of(align);
        let bytes = pitch.checked_mul(cols).ok_or_else(|| Error::invalid("ld", "an aligned copy overflows"))?;
        Ok(Some((self.scratch(bytes)?, pitch)))
    }

    /// Copies a column-major matrix of bytes; both sides are an address and the distance of columns.
    ///
    /// # Safety
    /// As [`copy`](Self::copy), of both matrices.
    pub(crate) unsafe fn copy_columns(
        &mut self,
        (to, to_ld): (u64, usize),
        (from, from_ld): (u64, usize),
        rows: usize,
        cols: usize,
    ) -> Result<()> {
        const DEVICE: u32 = 2;
        // SAFETY: a plain C struct for which zero is a value of every field but the memory types, which are set next.
        let mut copy = unsafe {
            let mut copy = std::mem::MaybeUninit::<CUDA_MEMCPY2D>::zeroed();
            (&raw mut (*copy.as_mut_ptr()).srcMemoryType).cast::<u32>().write(DEVICE);
            (&raw mut (*copy.as_mut_ptr()).dstMemoryType).cast::<u32>().write(DEVICE);
            copy.assume_init()
        };
        // Of a single column the distance says nothing, and the driver wants it to hold the rows.
        let pitch = |ld: usize| if cols == 1 { rows } else { ld };
        (copy.srcDevice, copy.srcPitch) = (from, pitch(from_ld));
        (copy.dstDevice, copy.dstPitch) = (to, pitch(to_ld));
        (copy.WidthInBytes, copy.Height) = (rows, cols);
        let stream = self.stream();
        // SAFETY: the caller's promise.
        let code = unsafe { self.core.context.api.memcpy_2d_async(&copy, stream) };
        self.check("cuMemcpy2DAsync", code)
    }
}
