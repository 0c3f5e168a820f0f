//! What the routines of several libraries share, so that the file of a routine contains only its data, its checks, one
//! library call and one host call. (The routines of `blas` also have compute modes, and scalars by value or on the
//! device; so they have a trait of their own.)

use crate::core::buffer::Elems;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Internal, OpKind, OperandNames, Output, Raw, Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{HostOf, Op, Slices, SlicesMut, WritesOf};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The library to which the routines of a front belong.
pub(crate) trait Front: 'static {
    /// As [`Op::LIBRARY`]; also the name of the cargo feature.
    const LIBRARY: &'static str;
    /// Whether it has a pool of handles.
    const IS_POOLED: bool = false;
    /// Whether its calls can be captured: as [`Op::capturable`].
    const CAPTURABLE: Result<(), &'static str> = Ok(());
}

/// One routine as plain data, which can be sent to a worker process; [`Call`] makes an [`Op`] from it.
pub(crate) trait Routine: Serialize + DeserializeOwned + Sized + Send + Sync + 'static {
    /// The front to which the routine belongs.
    type Front: Front;
    /// The routine's name.
    const NAME: &'static str;
    /// As [`Op::OPERANDS`].
    const OPERANDS: OperandNames;
    /// The element types that it reads.
    type Reads: Elems;
    /// Its output.
    type Output: Output;
    /// The part of the output that the device leaves for the host.
    type Raw: Raw;

    /// As [`Op::LEAVES_UNDEFINED`].
    const LEAVES_UNDEFINED: &'static [usize] = &[];

    /// Whether its CUDA implementation contains a call that waits for the GPU.
    const BLOCKING: bool = false;

    /// As [`Op::IN_HOST_PROGRAMS`].
    const IN_HOST_PROGRAMS: bool = false;

    /// Whether its CUDA implementation calls the library. If the library has a pool of handles, the routine then uses
    /// the stream of one of them.
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
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let _ = queue;
        Err(Error::unsupported(format!("`{}` runs on the host engine only", Self::NAME)))
    }

    /// As [`Op::finish`].
    fn finish(&self, raw: Self::Raw) -> Result<<Self::Output as Output>::Host>;
}

/// The element types that a routine writes.
pub(crate) type Writes<R> = <<R as Routine>::Output as Output>::Writes;

/// Makes an op from a routine.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "R: Routine")]
pub(crate) struct Call<R>(pub(crate) R);

impl<R: Routine> Op for Call<R> {
    const NAME: &'static str = R::NAME;
    const OPERANDS: OperandNames = R::OPERANDS;
    const LIBRARY: &'static str = R::Front::LIBRARY;
    const KIND: OpKind = if R::BLOCKING { OpKind::Blocking } else { OpKind::Enqueue };
    const POOLED: Internal = if R::CALLS && R::Front::IS_POOLED { Internal::YES } else { Internal::NO };
    const IN_HOST_PROGRAMS: Internal = if R::IN_HOST_PROGRAMS { Internal::YES } else { Internal::NO };
    const LEAVES_UNDEFINED: &'static [usize] = R::LEAVES_UNDEFINED;
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

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.0.cuda(queue)
    }

    fn capturable(&self) -> Result<(), &'static str> {
        match R::Front::CAPTURABLE {
            Ok(()) if R::BLOCKING && !R::IN_HOST_PROGRAMS => Err("a call in its CUDA half waits for the GPU"),
            library => library,
        }
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, raw: R::Raw) -> Result<HostOf<Self>> {
        self.0.finish(raw)
    }
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
impl crate::engines::worker::Registry {
    /// Registers the routine.
    pub(crate) fn call<R: Routine>(&mut self) {
        self.add::<Call<R>>();
    }
}
