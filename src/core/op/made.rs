//! Buffers that an op makes while it runs, because only the device knows how large they must be.

use crate::core::buffer::shift::lead;
use crate::core::buffer::{DeviceBuffer, InitState, Region, Span, View};
use crate::core::element::{DType, Element};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use std::collections::VecDeque;

/// What comes after a phase of an op that is [`OpKind::Phased`](crate::op::OpKind::Phased).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another phase, after which [`Op::next`](crate::op::Op::next) is called again.
    Phase,
    /// The last phase: its result is the result of the op.
    Last,
}

/// Makes buffers between the phases of an op, or in its host half.
pub struct Make<'m> {
    epoch: &'m Arc<Epoch>,
    /// The label of the call.
    label: Option<&'static str>,
    made: &'m mut Made,
}

/// The buffers that an op has made, in the order in which it made them.
#[derive(Debug, Default)]
pub struct Made {
    outputs: VecDeque<Piece>,
    scratch: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    region: Arc<Region>,
    len: usize,
    dtype: DType,
}

impl<'m> Make<'m> {
    pub(crate) fn new(epoch: &'m Arc<Epoch>, label: Option<&'static str>, made: &'m mut Made) -> Self {
        Make { epoch, label, made }
    }

    /// Makes a buffer of `len` elements that becomes part of the op's result. On a GPU, the next phase finds it by
    /// [`Enqueue::made`](crate::op::Enqueue::made), counted from 0, and writes all of it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::InvalidArgument`] when the size overflows.
    pub fn buffer<T: Element>(&mut self, len: usize) -> Result<()> {
        let piece = self.piece::<T>(len, lead(size_of::<T>()))?;
        self.made.outputs.push_back(piece);
        Ok(())
    }

    /// Allocates `bytes` bytes of scratch memory, which lasts through all phases and is freed with the last one. On a
    /// GPU, the next phases find it by [`Enqueue::made_scratch`](crate::op::Enqueue::made_scratch), counted from 0.
    ///
    /// # Errors
    /// As [`buffer`](Self::buffer).
    pub fn scratch(&mut self, bytes: usize) -> Result<()> {
        let piece = self.piece::<u8>(bytes, 0)?;
        self.made.scratch.push(piece);
        Ok(())
    }

    /// Makes a buffer that holds `data`, in a host half.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Unsupported`] on a GPU.
    pub fn filled<T: Element>(&mut self, data: &[T]) -> Result<()> {
        if !self.epoch.engine.is_host() {
            return Err(Error::unsupported("`Make::filled` works only in a host half, not on a GPU"));
        }
        let piece = self.piece::<T>(data.len(), lead(size_of::<T>()))?;
        let bytes: &[u8] = bytemuck::cast_slice(data);
        // SAFETY: newly allocated memory of this process, `bytes.len()` bytes long, that nothing else refers to.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), piece.region.allocation.address as *mut u8, bytes.len())
        };
        self.made.outputs.push_back(piece);
        Ok(())
    }

    fn piece<T: Element>(&self, len: usize, lead: usize) -> Result<Piece> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes = bytes
            .ok_or_else(|| Error::invalid("len", format!("the byte size of {len} {} elements overflows", T::DTYPE)))?;
        self.epoch.go_on()?;
        let (allocation, track) = self.epoch.engine.make(self.epoch, bytes, lead)?;
        allocation.name(self.label);
        let region = Region::new(allocation, self.epoch.clone(), InitState::Valid, track, 0..bytes);
        Ok(Piece { region, len, dtype: T::DTYPE })
    }
}

impl std::fmt::Debug for Make<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Make({:?})", self.made)
    }
}

impl Made {
    /// Takes the next buffer, in the order in which they were made.
    ///
    /// # Errors
    /// [`Error::LibraryError`] if none is left, or if it has another element type.
    pub fn take<T: Element>(&mut self) -> Result<DeviceBuffer<T>> {
        match self.outputs.pop_front() {
            Some(Piece { region, len, dtype }) if dtype == T::DTYPE => Ok(DeviceBuffer::new(region, 0, len)),
            Some(piece) => {
                let error =
                    format!("the next buffer has the element type {}, but {} was requested", piece.dtype, T::DTYPE);
                self.outputs.push_front(piece);
                Err(Error::library(error))
            }
            None => Err(Error::library("more buffers were taken than were made")),
        }
    }

    /// How many buffers are left.
    pub fn len(&self) -> usize {
        self.outputs.len()
    }

    /// Whether no buffer is left.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// The span of an output; `None` if there is none at `index`, or if it has another element type.
    #[cfg(feature = "cuda")]
    pub(crate) fn span<T: Element>(&self, index: usize) -> Option<Span<T>> {
        let piece = self.outputs.get(index).filter(|piece| piece.dtype == T::DTYPE)?;
        Some(Span::new(&piece.region, 0, piece.len))
    }

    /// The address of scratch memory.
    #[cfg(feature = "cuda")]
    pub(crate) fn scratch(&self, index: usize) -> Option<u64> {
        Some(self.scratch.get(index)?.region.allocation.address)
    }

    /// All outputs and scratch memory, as operands that a phase writes.
    #[cfg(feature = "cuda")]
    pub(crate) fn views(&self) -> impl Iterator<Item = View<'_>> {
        let all = self.outputs.iter().chain(&self.scratch);
        all.map(|piece| {
            let mut view = View::new(&piece.region, (0, piece.region.window.len()), true);
            view.overwritten = true;
            view
        })
    }

    /// Frees the scratch memory, ordered after the last phase.
    #[cfg(feature = "cuda")]
    pub(crate) fn let_scratch_go(&mut self) {
        self.scratch.clear();
    }
}
