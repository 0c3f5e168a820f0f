//! What the closure of a recording works with.

use super::outcome::Later;
use super::tape::Tape;
use crate::dispatch::PendingHost;
use crate::engine::Epoch;
use crate::sync::Arc;
use crate::{Device, DeviceBuffer, Element, Error, GpuRef, Result};
use std::ops::Deref;

/// A device whose operations are recorded instead of submitted: it has all its methods and fronts.
///
/// Buffers that it makes are the recording's: [`uninit`](Device::uninit) and [`zeros`](Device::zeros) name temporaries,
/// which have no memory of their own until the program is made, and [`input`](Self::input), [`operand`](Self::operand) and
/// [`output`](Self::output) what each replay is given. A buffer of the device itself may be read: the program keeps it and
/// reads what it holds at each replay.
///
/// Pendings are ready at once. [`into_output`](crate::PendingDispatch::into_output) and
/// [`await_result`](crate::PendingDispatch::await_result) give the buffers on; what only the device can tell, such as the
/// number of a `nrm2`, comes with each replay: see [`later`](Self::later).
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

    /// Names a buffer of `len` elements that each replay is given to read.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the size overflows.
    pub fn input<T: Element>(&self, len: usize) -> Result<GpuRef<T>> {
        let region = self.tape.operand::<T>(&self.epoch(), len, (true, false))?;
        Ok(DeviceBuffer::new(region, 0, len).share())
    }

    /// Names a buffer of `len` elements that each replay is given, which may be read and written, and comes back from it.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn operand<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let region = self.tape.operand::<T>(&self.epoch(), len, (false, false))?;
        Ok(DeviceBuffer::new(region, 0, len))
    }

    /// Names a buffer of `len` elements that each replay is given and writes whole; it may be one that was never written.
    ///
    /// # Errors
    /// As [`input`](Self::input). The recording fails where its operations do not overwrite all of it.
    pub fn output<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let region = self.tape.operand::<T>(&self.epoch(), len, (false, true))?;
        Ok(DeviceBuffer::new(region, 0, len))
    }

    /// The number of the operation that is recorded next: see [`Program::set`](crate::Program::set).
    pub fn position(&self) -> usize {
        self.tape.len()
    }

    /// Names what a recorded operation leaves for the host: its number, or its verdict. Each replay has it, see
    /// [`Replayed::get`](crate::Replayed::get). Of a pending with buffers, [`split`](crate::PendingDispatch::split) gives
    /// those and what is to be passed here.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a pending of something else, or of an operation that leaves nothing.
    pub fn later<H>(&self, pending: impl Into<PendingHost<H>>) -> Result<Later<H>> {
        let task = pending.into().into_task();
        match task.map(|task| (task.recorded(), task)) {
            Some((Some((recording, answer)), task)) if recording == self.id => Ok(Later { recording, answer, task }),
            _ => Err(Error::invalid(
                "pending",
                "nothing comes later of it: its operation leaves nothing, or was not recorded here",
            )),
        }
    }
}
