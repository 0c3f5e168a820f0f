//! Copies and fills on a dispatch's stream.

use super::queue::Queue;
use crate::core::error::{Error, Result};
use crate::core::rows::Rows;
use crate::core::sync::Arc;
use crate::engines::cuda::memory::{Arriving, Piece, Reserved, Staged, Staging};
use crate::engines::cuda::wait::Landed;
use cudarc::driver::sys::CUDA_MEMCPY2D;

/// The driver's numbers of the kinds of memory.
const HOST: u32 = 1;
const DEVICE: u32 = 2;

/// A rectangle within the device.
fn rectangle(
    (to, to_pitch): (u64, usize),
    (from, from_pitch): (u64, usize),
    width: usize,
    rows: usize,
) -> CUDA_MEMCPY2D {
    // SAFETY: a plain C struct for which zero is a value of every field but the memory types, which are set next.
    let mut copy = unsafe {
        let mut copy = std::mem::MaybeUninit::<CUDA_MEMCPY2D>::zeroed();
        (&raw mut (*copy.as_mut_ptr()).srcMemoryType).cast::<u32>().write(DEVICE);
        (&raw mut (*copy.as_mut_ptr()).dstMemoryType).cast::<u32>().write(DEVICE);
        copy.assume_init()
    };
    // For a single row the distance has no meaning, but the driver requires that a pitch covers the width.
    let pitch = |pitch: usize| if rows == 1 { width } else { pitch };
    (copy.srcDevice, copy.srcPitch) = (from, pitch(from_pitch));
    (copy.dstDevice, copy.dstPitch) = (to, pitch(to_pitch));
    (copy.WidthInBytes, copy.Height) = (width, rows);
    copy
}

impl Queue<'_> {
    /// Copies `bytes` bytes within the device.
    ///
    /// # Safety
    /// Both ranges have `bytes` bytes and lie in memory of this device that this dispatch may access: an operand, its
    /// scratch, its result, or a variable of a module that it holds. It may write the range at `to`.
    pub(crate) unsafe fn copy(&mut self, to: u64, from: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let stream = self.stream();
        // SAFETY: the caller's promise; memory that a dispatch may access lives until the dispatch has completed.
        let code = unsafe { self.core.context.api.memcpy_dtod_async(to, from, bytes, stream) };
        self.check("cuMemcpyDtoDAsync", code)
    }

    /// Fills `count` elements with one value. Patterns of 1, 2 or 4 bytes use the driver's fills. A longer one is
    /// written once and then doubled by copies.
    ///
    /// # Safety
    /// As [`copy`](Self::copy), for `count * value.len()` bytes at `to`, which is aligned as the elements require.
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
    pub(super) unsafe fn memset(&mut self, to: u64, value: &[u8], count: usize) -> Result<()> {
        let stream = self.stream();
        let api = self.core.context.api;
        // SAFETY: the caller's promise.
        let code = unsafe {
            match *value {
                [b] => api.memset_d8_async(to, b, count, stream),
                [a, b] => api.memset_d16_async(to, u16::from_ne_bytes([a, b]), count, stream),
                [a, b, c, d] => api.memset_d32_async(to, u32::from_ne_bytes([a, b, c, d]), count, stream),
                _ => {
                    return Err(Error::unsupported(format!(
                        "a fill pattern must have 1, 2 or 4 bytes, not {}",
                        value.len()
                    )));
                }
            }
        };
        self.check("cuMemsetAsync", code)
    }

    /// Copies staged host data to the device, one element after the other or as rows. The block is kept until the copy has completed.
    ///
    /// # Safety
    /// As [`copy`](Self::copy), for all staged bytes; of `rows`, for as many of them, without the gaps.
    pub(crate) unsafe fn copy_from_staging(&mut self, to: u64, rows: Option<Rows>, staging: Staging) -> Result<()> {
        let Some(block) = staging.block else { return Ok(()) };
        self.not_in_a_graph("a copy of host data")?;
        let stream = self.stream();
        let (from, len) = (block.at.0, staging.len);
        self.left.keep_block(block);
        let Some(rows) = rows else {
            // SAFETY: the block is pinned, holds `len` bytes, and is kept by the task; the caller vouches for the target.
            let code = unsafe { self.core.context.api.memcpy_htod_async(to, from.cast(), len, stream) };
            return self.check("cuMemcpyHtoDAsync", code);
        };
        let mut done = 0;
        for (place, width, count) in rows.rectangles(0, len) {
            let mut copy = rectangle((to + place as u64, rows.pitch), (0, width), width, count);
            // SAFETY: a C enum of 32 bits.
            unsafe { (&raw mut copy.srcMemoryType).cast::<u32>().write(HOST) };
            copy.srcHost = from.wrapping_add(done).cast();
            // SAFETY: as above; the rectangles are the bytes of the range, one after the other.
            let code = unsafe { self.core.context.api.memcpy_2d_async(&copy, stream) };
            self.check("cuMemcpy2DAsync", code)?;
            done += width * count;
        }
        Ok(())
    }

    /// Copies device data to the reserved pinned memory. Each piece has its own ticket (the last one that of the
    /// dispatch), so the host can read the first piece while later ones are still in flight.
    ///
    /// # Safety
    /// As [`copy`](Self::copy), for all reserved bytes; of `rows`, for as many of them, without the gaps.
    pub(crate) unsafe fn copy_to_staging(&mut self, from: u64, rows: Option<Rows>, reserved: Reserved) -> Result<()> {
        self.not_in_a_graph("a copy to the host")?;
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
                outcome = match rows {
                    None => {
                        let (to, from) = (block.at.0.cast(), from + arriving.bytes as u64);
                        // SAFETY: the block is pinned and holds `len` bytes; it is kept by the task; the caller vouches for the
                        // source.
                        let code = unsafe { self.core.context.api.memcpy_dtoh_async(to, from, len, stream) };
                        self.check("cuMemcpyDtoHAsync", code)
                    }
                    // SAFETY: as above.
                    Some(rows) => unsafe {
                        self.copy_rows_to_host(block.at.0.cast(), (from, rows), arriving.bytes, len)
                    },
                };
            }
            // The last piece arrives with the dispatch itself: its mark is set when the dispatch is recorded.
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
        // Also after a failure: the ring must keep the memory that the device may still write.
        self.left.landed = Landed::Staged(Staged(Arc::new(arriving)));
        outcome
    }

    /// Copies bytes `at..at + len` of the rows to the host.
    ///
    /// # Safety
    /// As [`copy`](Self::copy), for these bytes; `to` is pinned memory of `len` bytes that the dispatch keeps.
    unsafe fn copy_rows_to_host(
        &mut self,
        to: *mut std::ffi::c_void,
        (from, rows): (u64, Rows),
        at: usize,
        len: usize,
    ) -> Result<()> {
        let stream = self.stream();
        let mut done = 0;
        for (place, width, count) in rows.rectangles(at, len) {
            let mut copy = rectangle((0, width), (from + place as u64, rows.pitch), width, count);
            // SAFETY: a C enum of 32 bits.
            unsafe { (&raw mut copy.dstMemoryType).cast::<u32>().write(HOST) };
            copy.dstHost = to.wrapping_byte_add(done);
            // SAFETY: the caller's promise; the rectangles are the bytes of the range, one after the other.
            let code = unsafe { self.core.context.api.memcpy_2d_async(&copy, stream) };
            self.check("cuMemcpy2DAsync", code)?;
            done += width * count;
        }
        Ok(())
    }

    /// Returns a column-major matrix of bytes whose columns begin at multiples of `align`: the given one if its columns
    /// do, else a copy in scratch. The result is an address and the distance between columns.
    ///
    /// # Safety
    /// As [`copy_columns`](Self::copy_columns), for the matrix that is read.
    pub(crate) unsafe fn align_columns(
        &mut self,
        from: u64,
        rows: usize,
        cols: usize,
        ld: usize,
        align: usize,
    ) -> Result<(u64, usize)> {
        let Some(to) = self.room_for_columns(from, rows, cols, ld, align)? else { return Ok((from, ld)) };
        // SAFETY: the scratch holds `cols` columns of that pitch; the caller vouches for what is read.
        unsafe { self.copy_columns(to, (from, ld), rows, cols) }?;
        Ok(to)
    }

    /// Allocates scratch for a copy of a column-major matrix of bytes, so that the columns of the copy begin at
    /// multiples of `align`. Returns its address and the distance between its columns. `None` if no copy is needed: the
    /// matrix is aligned already, or empty.
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
        let bytes = pitch
            .checked_mul(cols)
            .ok_or_else(|| Error::invalid("ld", "the size of an aligned copy of the matrix overflows"))?;
        Ok(Some((self.scratch(bytes)?, pitch)))
    }

    /// Copies a column-major matrix of bytes. Each side is given by an address and the distance between columns.
    ///
    /// # Safety
    /// As [`copy`](Self::copy), for both matrices.
    pub(crate) unsafe fn copy_columns(
        &mut self,
        (to, to_ld): (u64, usize),
        (from, from_ld): (u64, usize),
        rows: usize,
        cols: usize,
    ) -> Result<()> {
        let copy = rectangle((to, to_ld), (from, from_ld), rows, cols);
        let stream = self.stream();
        // SAFETY: the caller's promise.
        let code = unsafe { self.core.context.api.memcpy_2d_async(&copy, stream) };
        self.check("cuMemcpy2DAsync", code)
    }
}
