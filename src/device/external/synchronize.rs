//! The operation that makes a stream of others follow work of ours, or the other way round. It changes nothing.

use super::ForeignStream;
#[cfg(feature = "dlpack")]
use crate::core::buffer::AnyIn;
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIns, Dyn};
use crate::core::device_info::DeviceKind;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::Spans;
use crate::core::sync::{Arc, AtomicBool, Ordering};
use crate::device::Device;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut, WritesOf};

/// Which of two streams goes first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// The foreign one.
    Foreign,
    /// Ours.
    Ours,
}

struct Synchronize {
    stream: Option<usize>,
    first: First,
    /// The streams have met.
    met: Arc<AtomicBool>,
}

impl Op for Synchronize {
    const NAME: &'static str = "synchronize";
    const LIBRARY: &'static str = "external";
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, _: &Spans<Dyn>, _: &Spans<WritesOf<Self>>) -> Result<()> {
        Ok(())
    }

    fn capturable(&self) -> Result<(), &'static str> {
        Err("it meets a stream of another library")
    }

    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Ok(())
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        #[cfg(feature = "cuda")]
        if let Some(stream) = self.stream {
            // SAFETY: the maker of the `ForeignStream` has promised that it is a stream, and lives until the call returns, which
            // waits for this.
            unsafe {
                queue.synchronize_with(std::ptr::with_exposed_provenance_mut(stream), self.first == First::Ours)
            }?;
            self.met.store(true, Ordering::Release);
        }
        let _ = queue;
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Memory of other libraries: waiting.
impl Device {
    /// The number of its GPU.
    #[cfg(feature = "dlpack")]
    pub(crate) fn ordinal(&self) -> Option<usize> {
        self.epoch().label.strip_prefix("cuda:")?.parse().ok()
    }

    /// Refuses what has no memory or no streams that others could use.
    pub(crate) fn check_foreign(&self, stream: ForeignStream) -> Result<()> {
        if self.recording().is_some() {
            return Err(Error::unsupported("memory of other libraries while a program is recorded: take it before"));
        }
        if self.epoch().engine.is_isolated() {
            return Err(Error::unsupported(
                "memory of other libraries on an isolated device, whose memory another process has",
            ));
        }
        if self.kind() != DeviceKind::Cuda && stream.place().is_some() {
            return Err(Error::invalid(
                "stream",
                "a CUDA stream, but the device is the CPU: use `ForeignStream::Idle`",
            ));
        }
        Ok(())
    }

    /// Lets a stream and all work on a buffer meet.
    pub(crate) fn synchronize_with(
        &self,
        buffer: AnyBuffer,
        stream: ForeignStream,
        first: First,
    ) -> Result<AnyBuffer, Rejected<AnyBuffer>> {
        let one = |buffers: AnyBuffers| buffers.into_iter().next();
        let back =
            |rejected: Rejected<AnyBuffers>| Rejected { error: rejected.error, back: rejected.back.and_then(one) };
        if let Err(error) = self.check_foreign(stream) {
            return Err(Rejected::new(error, buffer));
        }
        if first == First::Ours && buffer.is_captured() {
            let what = "a program has captured its memory, and may replay while others write it: drop the program, or hand out a copy";
            return Err(Rejected::new(Error::invalid("buffer", what), buffer));
        }
        let met = Arc::new(AtomicBool::new(false));
        let op = Synchronize { stream: stream.place(), first, met: met.clone() };
        let buffers: AnyBuffers = [buffer].into_iter().collect();
        let pending = self.dispatch(op, AnyIns::new(), buffers).map_err(back)?;
        // Work that follows what is not enqueued yet is enqueued later.
        let buffers = match met.load(Ordering::Acquire) {
            true => pending.into_output(),
            false => pending.await_result().map_err(back)?,
        };
        one(buffers).ok_or_else(|| Error::library("internal error: a buffer is lost").into())
    }

    /// The same for memory that is only read: a foreign stream follows its last writers, and a later writer follows the
    /// foreign stream.
    #[cfg(feature = "dlpack")]
    pub(crate) fn synchronize_reading_with(&self, part: AnyIn<'_>, stream: ForeignStream, first: First) -> Result<()> {
        self.check_foreign(stream)?;
        let met = Arc::new(AtomicBool::new(false));
        let op = Synchronize { stream: stream.place(), first, met: met.clone() };
        let reads: AnyIns<'_> = [part].into_iter().collect();
        let pending = self.dispatch(op, reads, AnyBuffers::default())?;
        if !met.load(Ordering::Acquire) {
            pending.await_result()?;
        }
        Ok(())
    }
}
