//! What the routines over tensors share. The number of their operands and the element types are known when the program runs; so a
//! routine describes them once, as data ([`Operands`]), and its check, the types in traces and the names in errors follow from that.
//!
//! A host half takes [`Checked`] operands and a CUDA half the queue of its dispatch. Both are made for operations that run, and these
//! were all admitted by [`TensorRoutine::check`]: those that were submitted or recorded, that a worker process or a file gave, and
//! those that are made of two ([`Step::checked`](crate::engines::tape::Step::checked)). So nothing is looked at twice.

#[cfg(feature = "host")]
mod checked;
mod operands;

#[cfg(feature = "host")]
pub(crate) use checked::Checked;
pub(crate) use operands::{Operand, Operands};

use crate::core::buffer::{AnyBuffers, AnySpan, DeviceBuffer};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Raw};
use crate::device::tensor::{Layout, Tensor};
#[cfg(feature = "cuda")]
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::engines::op::Op;
use crate::engines::op::Prepare;
use crate::engines::tape::Fuse;
use serde::Serialize;
use serde::de::DeserializeOwned;
use smallvec::SmallVec;

/// One routine as plain data; `tensor_routines!` makes an [`Op`](crate::op::Op) of it. It may come from anywhere, and is admitted by
/// [`check`](Self::check).
pub(crate) trait TensorRoutine: Serialize + DeserializeOwned + Sized + Send + Sync + 'static {
    /// As [`Op::NAME`](crate::op::Op::NAME).
    const NAME: &'static str;
    /// As [`Op::LIBRARY`](crate::op::Op::LIBRARY).
    const LIBRARY: &'static str;
    /// As [`Op::PREPARED`](crate::op::Op::PREPARED).
    const PREPARED: bool = true;
    /// Whether it writes all elements of what it writes, if those are as many as it needs, and reads none of them.
    const OVERWRITES: bool = false;
    /// As [`Op::LEAVES_UNDEFINED`](crate::op::Op::LEAVES_UNDEFINED).
    const LEAVES_UNDEFINED: &'static [usize] = &[];
    /// As [`Op::FUSE`](crate::op::Op::FUSE).
    const FUSE: Fuse = Fuse::NONE;
    /// As [`Op::capturable`](crate::op::Op::capturable).
    const CAPTURABLE: Result<(), &'static str> = Ok(());
    /// Whether the GPU's work needs the routine until it is complete, and not its kernels alone.
    const OUTLIVES_ENQUEUE: bool = std::mem::needs_drop::<Self>();
    /// What the device leaves for the host.
    type Raw: Raw;

    /// What it reads and writes. The data may not have been checked yet: sums and products saturate.
    fn operands(&self) -> Operands<'_>;

    /// Checks everything but the operands.
    fn check_data(&self) -> Result<()>;

    /// Checks the operands, after the data.
    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        self.operands().check(reads, writes)
    }

    /// As [`Op::check`](crate::op::Op::check): the one way to operands that are [`Checked`].
    fn check(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        self.check_data()?;
        self.check_operands(reads, writes)
    }

    /// As [`Op::overwrites_each`](crate::op::Op::overwrites_each).
    fn overwrites_each(&self, writes: &[AnySpan], index: usize) -> bool {
        Self::OVERWRITES && self.operands().is_whole(writes, index)
    }

    /// As [`Op::is_prompt`](crate::op::Op::is_prompt).
    fn is_prompt(&self) -> bool {
        false
    }

    /// As [`Op::dtypes`](crate::op::Op::dtypes).
    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let types = |all: &[Operand<'_>]| {
            crate::core::intern::types(&all.iter().map(|operand| operand.dtype).collect::<SmallVec<[DType; 8]>>())
        };
        let Operands { reads, writes } = self.operands();
        (types(&reads), types(&writes))
    }

    /// As [`Op::operand_name`](crate::op::Op::operand_name).
    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        let Operands { reads, writes } = self.operands();
        let operand = match index.checked_sub(read_count) {
            None => reads.get(index),
            Some(index) => writes.get(index),
        };
        operand.map(|operand| operand.name.to_string())
    }

    /// As [`Op::cost`](crate::op::Op::cost).
    fn cost(&self) -> Cost;

    /// As [`Op::host`](crate::op::Op::host).
    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<Self::Raw>;

    /// As [`Op::prepare`](crate::op::Op::prepare).
    fn prepare(&self, reads: &[AnySpan], writes: &[AnySpan], plans: &mut Prepare<'_>) {
        let _ = (reads, writes, plans);
    }

    /// As [`Op::cuda`](crate::op::Op::cuda).
    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()>
    where
        Self: Op;

    /// The numerical verdict.
    fn finish(&self, raw: Self::Raw) -> Result<()> {
        let _ = raw;
        Ok(())
    }

    /// The error of a call that submits the routine.
    fn refused(error: Error) -> Error {
        error.in_op(Self::NAME, Self::LIBRARY)
    }
}

/// The work of a routine that writes one buffer, as a tensor of this layout.
pub(crate) fn one_tensor<T: Element, V>(
    pending: PendingDispatch<AnyBuffers, V>,
    layout: Layout,
) -> Result<PendingDispatch<Tensor<T>, V>> {
    pending.retype(|buffers| {
        let (buffer,) = buffers.downcast::<DeviceBuffer<T>>()?;
        Ok((Tensor::from(buffer).with_layout(layout)?,))
    })
}

/// What the file of a routine uses.
pub(crate) mod prelude {
    #[cfg(feature = "host")]
    pub(crate) use super::Checked;
    #[cfg(any(feature = "host", feature = "cuda"))]
    pub(crate) use super::missing;
    pub(crate) use super::{Operand, Operands, TensorRoutine, tensor_routines};
    pub(crate) use crate::core::buffer::AnySpan;
    pub(crate) use crate::core::element::DType;
    pub(crate) use crate::core::error::{Error, Result};
    pub(crate) use crate::core::op::Cost;
    #[cfg(feature = "cuda")]
    pub(crate) use crate::engines::cuda_enqueue::Enqueue;
    #[cfg(feature = "cuda")]
    pub(crate) use crate::engines::op::Prepare;
    pub(crate) use serde::{Deserialize, Serialize};
}

/// The error for an operand that a check has counted, which no caller sees.
#[cold]
#[cfg_attr(not(feature = "dnn"), allow(dead_code, reason = "a build without engines runs no routine"))]
pub(crate) fn missing() -> Error {
    Error::library("internal error: an operand is missing")
}

/// Makes an [`Op`](crate::op::Op) of each of these routines. (Not by a generic type around them, for the name of an operation's type is
/// how another executable finds it.)
macro_rules! tensor_routines {
    ($($routine:ty),* $(,)?) => { const _: () = {
        use $crate::core::buffer::{AnyBuffers, Dyn};
        use $crate::core::element::DType;
        use $crate::core::error::Result;
        use $crate::core::op::{Cost, Retention, Spans, Wire};
        use $crate::engines::cuda_enqueue::Enqueue;
        use $crate::engines::op::{Op, Prepare, Slices, SlicesMut};
        use $crate::engines::tape::Fuse;
        use $crate::libraries::tensor_routine::TensorRoutine;

        $(impl Op for $routine {
            const NAME: &'static str = <Self as TensorRoutine>::NAME;
            const LIBRARY: &'static str = <Self as TensorRoutine>::LIBRARY;
            const PREPARED: bool = <Self as TensorRoutine>::PREPARED;
            const LEAVES_UNDEFINED: &'static [usize] = <Self as TensorRoutine>::LEAVES_UNDEFINED;
            const FUSE: Fuse = <Self as TensorRoutine>::FUSE;
            type Reads = Dyn;
            type Output = AnyBuffers;
            type Raw = <Self as TensorRoutine>::Raw;

            fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
                TensorRoutine::check(self, reads, writes)
            }

            fn overwrites_each(&self, writes: &Spans<Dyn>, index: usize) -> bool {
                TensorRoutine::overwrites_each(self, writes, index)
            }

            fn is_prompt(&self) -> bool {
                TensorRoutine::is_prompt(self)
            }

            fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
                TensorRoutine::dtypes(self)
            }

            fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
                TensorRoutine::operand_name(self, index, read_count)
            }

            fn cost(&self) -> Cost {
                TensorRoutine::cost(self)
            }

            #[cfg(feature = "host")]
            fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<Self::Raw> {
                // SAFETY: such lists are made of the operands of an operation that runs, and what runs was checked: see
                // `Operation::host`.
                let operands = unsafe { $crate::libraries::tensor_routine::Checked::by(self, reads, writes) }?;
                TensorRoutine::host(self, operands)
            }

            #[cfg(not(feature = "host"))]
            fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<Self::Raw> {
                Err($crate::core::error::Error::unsupported("this build has no host engine (feature `host`)"))
            }

            fn prepare(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>, plans: &mut Prepare<'_>) {
                TensorRoutine::prepare(self, reads, writes, plans);
            }

            fn capturable(&self) -> Result<(), &'static str> {
                <Self as TensorRoutine>::CAPTURABLE
            }

            #[cfg(feature = "cuda")]
            fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
                TensorRoutine::cuda(self, queue)
            }

            #[cfg(not(feature = "cuda"))]
            fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
                Err($crate::core::error::Error::unsupported("this build has no CUDA engine (feature `cuda`)"))
            }

            fn keeps(&mut self) -> Retention {
                if <Self as TensorRoutine>::OUTLIVES_ENQUEUE { Retention::ALL } else { Retention::NOTHING }
            }

            fn wire() -> Option<Wire<Self>> {
                Wire::plain()
            }

            fn finish(&self, raw: Self::Raw) -> Result<()> {
                TensorRoutine::finish(self, raw)
            }
        })*
    }; };
}
pub(crate) use tensor_routines;
