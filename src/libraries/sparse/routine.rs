//! What the operations have in common, so that one's file is its data, its checks and its two halves.

use super::Sparse;
use crate::buffer::Elems;
use crate::op::{Bufs, Cost, HostOf, Op, OperandNames, Output, Raw, Slices, SlicesMut, Spans, WritesOf};
use crate::{Enqueue, Error, Result, Submitted, Wire};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One operation: plain data, so that it crosses to a worker process as it is. [`Call`] makes an [`Op`] of it.
pub(super) trait Routine: Serialize + DeserializeOwned + Sized + Send + Sync + 'static {
    /// The operation's name.
    const NAME: &'static str;
    /// As [`Op::OPERANDS`].
    const OPERANDS: OperandNames;
    /// The element types it reads.
    type Reads: Elems;
    /// What it gives.
    type Output: Output;
    /// What the device leaves for the host.
    type Raw: Raw;

    /// As [`Op::check`].
    fn check(&self, reads: &Spans<Self::Reads>, writes: &Spans<Writes<Self>>) -> Result<()>;

    /// As [`Op::overwrites_each`].
    fn overwrites(&self, writes: &Spans<Writes<Self>>, index: usize) -> bool {
        let _ = (writes, index);
        false
    }

    /// As [`Op::cost`].
    fn cost(&self) -> Cost;

    /// As [`Op::host`].
    #[cfg(feature = "host")]
    fn host(
        &self,
        reads: <Self::Reads as Elems>::Slices<'_>,
        writes: <Writes<Self> as Elems>::SlicesMut<'_>,
    ) -> Result<Self::Raw>;

    /// As [`Op::cuda`].
    #[cfg(feature = "sparse")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let _ = queue;
        Err(Error::unsupported(format!("`{}` has no CUDA half yet: only the host engine does it", Self::NAME)))
    }

    /// As [`Op::finish`].
    fn finish(&self, raw: Self::Raw) -> Result<<Self::Output as Output>::Host>;
}

/// The element types that an operation writes.
pub(super) type Writes<R> = <<R as Routine>::Output as Output>::Writes;

/// An operation of this library.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "R: Routine")]
pub(super) struct Call<R>(pub(super) R);

impl<R: Routine> Op for Call<R> {
    const NAME: &'static str = R::NAME;
    const OPERANDS: OperandNames = R::OPERANDS;
    const LIBRARY: &'static str = "sparse";
    type Reads = R::Reads;
    type Output = R::Output;
    type Raw = R::Raw;

    fn check(&self, reads: &Spans<Self::Reads>, writes: &Spans<WritesOf<Self>>) -> Result<()> {
        self.0.check(reads, writes)
    }

    fn overwrites_each(&self, writes: &Spans<WritesOf<Self>>, index: usize) -> bool {
        self.0.overwrites(writes, index)
    }

    fn cost(&self) -> Cost {
        self.0.cost()
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<R::Raw> {
        self.0.host(reads, writes)
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<R::Raw> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "sparse")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.0.cuda(queue)
    }

    #[cfg(not(feature = "sparse"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no cuSPARSE front (feature `sparse`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, raw: R::Raw) -> Result<HostOf<Self>> {
        self.0.finish(raw)
    }
}

#[cfg(all(feature = "worker-program", target_os = "linux"))]
impl crate::worker::Registry {
    /// Knows the operation from now on.
    pub(super) fn sparse<R: Routine>(&mut self) {
        self.add::<Call<R>>();
    }
}

impl Sparse {
    /// Submits an operation.
    pub(super) fn submit<R: Routine>(
        &self,
        routine: R,
        reads: <R::Reads as Elems>::Ins<'_>,
        writes: Bufs<R::Output>,
    ) -> Submitted<R::Output> {
        self.device.dispatch(Call(routine), reads, writes)
    }
}
