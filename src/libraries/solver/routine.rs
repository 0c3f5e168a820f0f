//! What the routines have in common, so that one's file is its data, its check, one library call and one host call.

use crate::buffer::Elems;
use crate::op::{Cost, HostOf, Internal, Kind, Op, OperandNames, Output, Raw, Slices, SlicesMut, Spans, WritesOf};
use crate::{Enqueue, Error, Result, Wire};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One routine as plain data; [`Call`] makes an [`Op`] of it.
pub(super) trait Routine: Serialize + DeserializeOwned + Sized + Send + Sync + 'static {
    /// The routine's name.
    const NAME: &'static str;
    /// As [`Op::OPERANDS`].
    const OPERANDS: OperandNames;
    /// The element types it reads.
    type Reads: Elems;
    /// What it gives.
    type Output: Output;
    /// What the device leaves for the host.
    type Raw: Raw;

    /// A call of its CUDA half waits for the GPU.
    const BLOCKING: bool = false;

    /// Its CUDA half calls the library: it is enqueued on the stream of a handle.
    const CALLS: bool = true;

    /// As [`Op::check`].
    fn check(&self, reads: &Spans<Self::Reads>, writes: &Spans<Writes<Self>>) -> Result<()>;

    /// As [`Op::overwrites_each`].
    fn overwrites_each(&self, writes: &Spans<Writes<Self>>, index: usize) -> bool {
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
    #[cfg(feature = "solver")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let _ = queue;
        Err(Error::unsupported(format!("`{}` runs on the host engine alone", Self::NAME)))
    }

    /// As [`Op::finish`].
    fn finish(&self, raw: Self::Raw) -> Result<<Self::Output as Output>::Host>;
}

/// The element types that a routine writes.
pub(super) type Writes<R> = <<R as Routine>::Output as Output>::Writes;

/// A routine as an op.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "R: Routine")]
pub(super) struct Call<R>(pub(super) R);

impl<R: Routine> Op for Call<R> {
    const NAME: &'static str = R::NAME;
    const OPERANDS: OperandNames = R::OPERANDS;
    const LIBRARY: &'static str = "solver";
    const KIND: Kind = if R::BLOCKING { Kind::Blocking } else { Kind::Enqueue };
    const POOLED: Internal = if R::CALLS { Internal::YES } else { Internal::NO };
    type Reads = R::Reads;
    type Output = R::Output;
    type Raw = R::Raw;

    fn check(&self, reads: &Spans<Self::Reads>, writes: &Spans<WritesOf<Self>>) -> Result<()> {
        self.0.check(reads, writes)
    }

    fn overwrites_each(&self, writes: &Spans<WritesOf<Self>>, index: usize) -> bool {
        self.0.overwrites_each(writes, index)
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

    #[cfg(feature = "solver")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.0.cuda(queue)
    }

    #[cfg(not(feature = "solver"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no cuSOLVER front (feature `solver`)"))
    }

    fn capturable(&self) -> Result<(), &'static str> {
        Err("cuSOLVER promises of no call that it can be recorded")
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
    /// Knows the routine from now on.
    pub(super) fn solver_routine<R: Routine>(&mut self) {
        self.add::<Call<R>>();
    }
}

/// Floating-point operations and bytes: `thirds` of `a * b * c` multiply-adds for each of `count` matrices of `T`, and so
/// many elements that move.
pub(super) fn cost<T: crate::Element>(thirds: usize, sizes: [usize; 3], count: usize, moved: usize) -> Cost {
    let product = |all: &[usize]| all.iter().fold(1u64, |all, size| all.saturating_mul(*size as u64));
    // A complex multiply-add is four multiplications and four additions.
    let each = if T::DTYPE.is_complex() { 8 } else { 2 };
    let flops = product(&sizes).saturating_mul(each).saturating_mul(thirds as u64) / 3;
    let bytes = product(&[moved, count, size_of::<T>()]);
    Cost { flops: flops.saturating_mul(count as u64), bytes }
}
