//! The API that the closure of a recording uses.

use super::outcome::Later;
use super::tape::Tape;
use crate::core::buffer::DeviceBuffer;
use crate::core::dispatch::PendingHost;
use crate::core::element::Element;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::tensor::{IntoLayout, Layout, Tensor, TensorRef};
use std::ops::Deref;

/// A device whose operations are recorded instead of submitted: it has all its methods and fronts.
///
/// Buffers that it makes belong to the recording: [`uninit`](Device::uninit) and [`zeros`](Device::zeros) name
/// temporaries, which have no memory of their own until the program is made. [`input`](Self::input),
/// [`operand`](Self::operand) and [`output`](Self::output) name tensors that each replay is given. Operations may also
/// read a buffer of the device itself, or a slice of one: the program keeps it as a captured window, and each replay reads
/// its current contents.
///
/// Pendings are ready at once. [`into_output`](crate::PendingDispatch::into_output) and
/// [`await_result`](crate::PendingDispatch::await_result) return the buffers. A result that only the device can
/// compute, such as the number of a `nrm2`, comes with each replay: see [`later`](Self::later).
#[derive(Debug)]
pub struct Recorder {
    device: Device,
    tape: Arc<Tape>,
    id: u64,
}

impl Deref for Recorder {
    type Target = Device;
    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Recorder {
    pub(super) fn new(device: Device, tape: Arc<Tape>, id: u64) -> Self {
        Recorder { device, tape, id }
    }

    fn epoch(&self) -> Arc<Epoch> {
        self.device.epoch()
    }

    /// Names a tensor that each replay is given and only reads: a shape (row-major), or a [`Layout`] of another kind. A replay refuses
    /// a tensor of another shape, and one that lies in another way.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the size overflows.
    pub fn input<T: Element>(&self, layout: impl IntoLayout) -> Result<TensorRef<'static, T>> {
        Ok(self.named::<T>(layout.into_layout()?, (true, false))?.share())
    }

    /// Names a tensor that each replay is given, as [`input`](Self::input) does. It may be read and written, and the replay returns
    /// it.
    ///
    /// # Errors
    /// As [`input`](Self::input); [`Error::InvalidArgument`] for a layout with two elements in one place.
    pub fn operand<T: Element>(&self, layout: impl IntoLayout) -> Result<Tensor<T>> {
        self.named(layout.into_layout()?, (false, false))
    }

    /// Names a tensor that each replay is given and overwrites completely, as [`input`](Self::input) does; it may be one that was
    /// never written.
    ///
    /// # Errors
    /// As [`operand`](Self::operand). The recording fails if its operations do not overwrite all of its memory.
    pub fn output<T: Element>(&self, layout: impl IntoLayout) -> Result<Tensor<T>> {
        self.named(layout.into_layout()?, (false, true))
    }

    fn named<T: Element>(&self, layout: Layout, (reads, fresh): (bool, bool)) -> Result<Tensor<T>> {
        if !reads && !layout.is_distinct() {
            return Err(Error::invalid("layout", format!("{layout:?} has two elements in one place, and is written")));
        }
        let (first, len) = layout.span();
        let layout = layout.moved_down(first);
        let region = self.tape.operand::<T>(&self.epoch(), (len, &layout), (reads, fresh))?;
        Ok(Tensor::from_parts(DeviceBuffer::new(region, 0, len), layout))
    }

    /// The number of the operation that is recorded next: see [`Program::set`](crate::Program::set).
    pub fn position(&self) -> usize {
        self.tape.len()
    }

    /// Names what a recorded operation leaves for the host: its number, or its verdict. Each replay returns it, see
    /// [`Replayed::get`](crate::program::Replayed::get). For a pending with buffers, [`split`](crate::PendingDispatch::into_parts)
    /// returns the buffers and the part to pass here.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a pending that was not recorded here, or of an operation that leaves nothing.
    pub fn later<H>(&self, pending: impl Into<PendingHost<H>>) -> Result<Later<H>> {
        let task = pending.into().into_task();
        match task.map(|task| (task.hold.recorded(), task.conclude)) {
            Some((Some((recording, answer)), conclude)) if recording == self.id => {
                Ok(Later { recording, answer, conclude })
            }
            _ => Err(Error::invalid("pending", "its operation has no result for the host, or was not recorded here")),
        }
    }
}
