//! The API that the closure of a recording uses.

use super::outcome::Later;
use super::tape::Tape;
use crate::core::buffer::{DeviceBuffer, GpuRef};
use crate::core::dispatch::PendingHost;
use crate::core::element::Element;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::Device;
use std::ops::Deref;

/// A device whose operations are recorded instead of submitted: it has all its methods and fronts.
///
/// Buffers that it makes belong to the recording: [`uninit`](Device::uninit) and [`zeros`](Device::zeros) name
/// temporaries, which have no memory of their own until the program is made. [`input`](Self::input),
/// [`operand`](Self::operand) and [`output`](Self::output) name buffers that each replay is given. Operations may also
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

    /// Names a buffer of `len` elements that each replay is given and only reads.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the size overflows.
    pub fn input<T: Element>(&self, len: usize) -> Result<GpuRef<T>> {
        let region = self.tape.operand::<T>(&self.epoch(), len, (true, false))?;
        Ok(DeviceBuffer::new(region, 0, len).share())
    }

    /// Names a buffer of `len` elements that each replay is given. It may be read and written, and the replay returns
    /// it.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn operand<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let region = self.tape.operand::<T>(&self.epoch(), len, (false, false))?;
        Ok(DeviceBuffer::new(region, 0, len))
    }

    /// Names a buffer of `len` elements that each replay is given and overwrites completely; it may be one that was
    /// never written.
    ///
    /// # Errors
    /// As [`input`](Self::input). The recording fails if its operations do not overwrite all of it.
    pub fn output<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let region = self.tape.operand::<T>(&self.epoch(), len, (false, true))?;
        Ok(DeviceBuffer::new(region, 0, len))
    }

    /// The number of the operation that is recorded next: see [`Program::set`](crate::Program::set).
    pub fn position(&self) -> usize {
        self.tape.len()
    }

    /// Names what a recorded operation leaves for the host: its number, or its verdict. Each replay returns it, see
    /// [`Replayed::get`](crate::Replayed::get). For a pending with buffers, [`split`](crate::PendingDispatch::into_parts)
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
