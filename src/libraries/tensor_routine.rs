//! What the routines over tensors share. The number of their operands and the element types are known when the program runs; so a
//! routine describes them once, as data ([`Operands`]), and its check, the types in traces and the names in errors follow from that.
//!
//! A host half takes [`Checked`] operands and a CUDA half the queue of its dispatch. Both are made for operations that run, and these
//! were all admitted by [`TensorRoutine::check`]: those that were submitted or recorded, that a worker process or a file gave, and
//! those that are made of two ([`Step::checked`](crate::engines::tape::Step::checked)). So nothing is looked at twice.

use crate::core::buffer::{AnyBuffers, AnySlice, AnySliceMut, AnySpan, DeviceBuffer};
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
use std::fmt::{Display, Formatter};

/// One routine as plain data; `tensor_routines!` makes an [`Op`](crate::Op) of it. It may come from anywhere, and is admitted by
/// [`check`](Self::check).
pub(crate) trait TensorRoutine: Serialize + DeserializeOwned + Sized + Send + Sync + 'static {
    /// As [`Op::NAME`](crate::Op::NAME).
    const NAME: &'static str;
    /// As [`Op::LIBRARY`](crate::Op::LIBRARY).
    const LIBRARY: &'static str;
    /// As [`Op::PREPARED`](crate::Op::PREPARED).
    const PREPARED: bool = true;
    /// Whether it writes all elements of what it writes, if those are as many as it needs, and reads none of them.
    const OVERWRITES: bool = false;
    /// As [`Op::LEAVES_UNDEFINED`](crate::Op::LEAVES_UNDEFINED).
    const LEAVES_UNDEFINED: &'static [usize] = &[];
    /// As [`Op::FUSE`](crate::Op::FUSE).
    const FUSE: Fuse = Fuse::NONE;
    /// As [`Op::capturable`](crate::Op::capturable).
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

    /// As [`Op::check`](crate::Op::check): the one way to operands that are [`Checked`].
    fn check(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        self.check_data()?;
        self.check_operands(reads, writes)
    }

    /// As [`Op::overwrites_each`](crate::Op::overwrites_each).
    fn overwrites_each(&self, writes: &[AnySpan], index: usize) -> bool {
        Self::OVERWRITES && self.operands().is_whole(writes, index)
    }

    /// As [`Op::is_prompt`](crate::Op::is_prompt).
    fn is_prompt(&self) -> bool {
        false
    }

    /// As [`Op::dtypes`](crate::Op::dtypes).
    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let types = |all: &[Operand<'_>]| {
            crate::core::intern::types(&all.iter().map(|operand| operand.dtype).collect::<SmallVec<[DType; 8]>>())
        };
        let Operands { reads, writes } = self.operands();
        (types(&reads), types(&writes))
    }

    /// As [`Op::operand_name`](crate::Op::operand_name).
    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        let Operands { reads, writes } = self.operands();
        let operand = match index.checked_sub(read_count) {
            None => reads.get(index),
            Some(index) => writes.get(index),
        };
        operand.map(|operand| operand.name.to_string())
    }

    /// As [`Op::cost`](crate::Op::cost).
    fn cost(&self) -> Cost;

    /// As [`Op::host`](crate::Op::host).
    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<Self::Raw>;

    /// As [`Op::prepare`](crate::Op::prepare).
    fn prepare(&self, reads: &[AnySpan], writes: &[AnySpan], plans: &mut Prepare<'_>) {
        let _ = (reads, writes, plans);
    }

    /// As [`Op::cuda`](crate::Op::cuda).
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

/// What a routine reads and writes, in order.
#[derive(Debug, Default)]
pub(crate) struct Operands<'r> {
    pub(crate) reads: SmallVec<[Operand<'r>; 4]>,
    pub(crate) writes: SmallVec<[Operand<'r>; 2]>,
}

/// An operand, as its routine needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'r> {
    name: Name,
    pub(crate) dtype: DType,
    elements: Elements<'r>,
}

/// The name of an operand in errors.
#[derive(Clone, Copy, Debug)]
enum Name {
    Word(&'static str),
    Numbered(&'static str, usize),
}

/// What the buffer of an operand must hold.
#[derive(Clone, Copy, Debug)]
enum Elements<'r> {
    Any,
    Exactly(usize),
    AtLeast(usize),
    Inside(&'r Layout),
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Word(word) => f.write_str(word),
            Name::Numbered(word, number) => write!(f, "{word} {number}"),
        }
    }
}

impl<'r> Operand<'r> {
    /// A buffer of any length.
    pub(crate) fn any(name: &'static str, dtype: DType) -> Self {
        Operand { name: Name::Word(name), dtype, elements: Elements::Any }
    }

    /// As many elements; `usize::MAX`, which no buffer has, for a number that overflows.
    pub(crate) fn exactly(name: &'static str, dtype: DType, len: usize) -> Self {
        Operand { elements: Elements::Exactly(len), ..Self::any(name, dtype) }
    }

    /// As many elements or more.
    pub(crate) fn at_least(name: &'static str, dtype: DType, len: usize) -> Self {
        Operand { elements: Elements::AtLeast(len), ..Self::any(name, dtype) }
    }

    /// The elements that a layout names.
    pub(crate) fn inside(name: &'static str, dtype: DType, layout: &'r Layout) -> Self {
        Operand { elements: Elements::Inside(layout), ..Self::any(name, dtype) }
    }

    /// One of several of a kind, which the routine checks itself.
    pub(crate) fn numbered(kind: &'static str, number: usize, dtype: DType) -> Self {
        Operand { name: Name::Numbered(kind, number), dtype, elements: Elements::Any }
    }

    /// The elements that it needs.
    pub(crate) fn len(&self) -> usize {
        match self.elements {
            Elements::Any => 0,
            Elements::Exactly(len) | Elements::AtLeast(len) => len,
            Elements::Inside(layout) => layout.len(),
        }
    }

    fn check(&self, span: &AnySpan) -> Result<()> {
        let refused = |what: String| Err(Error::invalid(self.name.to_string(), what));
        if span.dtype() != self.dtype {
            return refused(format!("its elements are {}, not {}", span.dtype(), self.dtype));
        }
        match self.elements {
            Elements::Exactly(len) if len != span.len() => {
                refused(format!("{} elements where {len} are needed", span.len()))
            }
            Elements::AtLeast(len) if len > span.len() => {
                refused(format!("{} elements, which are too few", span.len()))
            }
            Elements::Inside(layout) => layout.check_inside(self.name, span.len()),
            _ => Ok(()),
        }
    }

    fn check_apart(&self, span: &AnySpan, other: &Operand<'_>, at: &AnySpan) -> Result<()> {
        if at.overlaps(span) {
            let what = format!("it lies in the memory of `{}`", other.name);
            return Err(Error::invalid(self.name.to_string(), what));
        }
        Ok(())
    }
}

impl<'r> Operands<'r> {
    pub(crate) fn new(
        reads: impl IntoIterator<Item = Operand<'r>>,
        writes: impl IntoIterator<Item = Operand<'r>>,
    ) -> Self {
        // Loops rather than `collect`, which makes a call for each element.
        let mut all = Operands::default();
        for operand in reads {
            all.reads.push(operand);
        }
        for operand in writes {
            all.writes.push(operand);
        }
        all
    }

    /// Checks number, types and lengths, and that what is written lies in the memory of no other operand.
    pub(crate) fn check(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        if reads.len() != self.reads.len() || writes.len() != self.writes.len() {
            return Err(Error::invalid("operands", format!("{} read and {} written", reads.len(), writes.len())));
        }
        for (operand, span) in self.reads.iter().zip(reads) {
            operand.check(span)?;
        }
        for (k, (operand, span)) in self.writes.iter().zip(writes).enumerate() {
            operand.check(span)?;
            for (other, at) in self.reads.iter().zip(reads) {
                operand.check_apart(span, other, at)?;
            }
            for (other, at) in self.writes.iter().zip(writes).take(k) {
                operand.check_apart(span, other, at)?;
            }
        }
        Ok(())
    }

    /// Whether this operand that is written has as many elements as it needs.
    pub(crate) fn is_whole(&self, writes: &[AnySpan], index: usize) -> bool {
        self.writes.get(index).zip(writes.get(index)).is_some_and(|(operand, span)| operand.len() == span.len())
    }

    /// The bytes of all operands.
    pub(crate) fn bytes(&self) -> u64 {
        let of = |operand: &Operand<'_>| (operand.len() as u64).saturating_mul(operand.dtype.size() as u64);
        self.reads.iter().chain(&self.writes).map(of).fold(0, u64::saturating_add)
    }
}

/// The operands of a routine in host memory, which its check has admitted: as many as it needs, of its types, aligned for them, with
/// all elements that it names; what is written is exclusively the holder's.
#[cfg(feature = "host")]
#[derive(Debug)]
pub(crate) struct Checked<'r, 'w> {
    pub(crate) reads: SmallVec<[AnySlice<'r>; 8]>,
    pub(crate) writes: SmallVec<[AnySliceMut<'w>; 4]>,
    _admitted: (),
}

/// The elements of all operands: those that are read, and those that are written.
#[cfg(feature = "host")]
type Typed<'r, 'w, R, W> = (Vec<&'r [R]>, Vec<&'w mut [W]>);

#[cfg(feature = "host")]
impl<'r, 'w> Checked<'r, 'w> {
    /// With debug assertions the check runs once more, so that every test is one of the way that its operations came.
    ///
    /// # Safety
    /// [`TensorRoutine::check`] has admitted the routine with these operands.
    pub(crate) unsafe fn by<R: TensorRoutine>(
        routine: &R,
        reads: SmallVec<[AnySlice<'r>; 8]>,
        writes: SmallVec<[AnySliceMut<'w>; 4]>,
    ) -> Result<Self> {
        if cfg!(debug_assertions) {
            let read: SmallVec<[AnySpan; 8]> = reads.iter().map(AnySlice::span).collect();
            let written: SmallVec<[AnySpan; 4]> = writes.iter().map(AnySliceMut::span).collect();
            routine.check(&read, &written)?;
        }
        Ok(Checked { reads, writes, _admitted: () })
    }

    /// Where all the operands begin: those that are read, and those that are written.
    pub(crate) fn starts(self) -> (SmallVec<[*const u8; 8]>, SmallVec<[*mut u8; 4]>) {
        let reads = self.reads.iter().map(|slice| slice.bytes().as_ptr()).collect();
        (reads, self.writes.into_iter().map(|slice| slice.into_raw().0).collect())
    }

    /// The same, of as many operands.
    pub(crate) fn places<const READS: usize, const WRITES: usize>(
        self,
    ) -> Result<([*const u8; READS], [*mut u8; WRITES])> {
        let (reads, writes) = self.starts();
        match (reads[..].try_into(), writes[..].try_into()) {
            (Ok(reads), Ok(writes)) => Ok((reads, writes)),
            _ => Err(missing()),
        }
    }

    /// The elements of all operands, if those that are read are of one type, and those that are written of one.
    pub(crate) fn typed<R: Element, W: Element>(self) -> Result<Typed<'r, 'w, R, W>> {
        let reads = self.reads.iter().map(|slice| slice.downcast()).collect::<Option<_>>().ok_or_else(missing)?;
        let writes = self.writes.into_iter().map(|slice| slice.downcast()).collect::<Option<_>>();
        Ok((reads, writes.ok_or_else(missing)?))
    }

    /// The elements of an operand that is read.
    pub(crate) fn elements<T: Element>(&self, index: usize) -> Result<&'r [T]> {
        self.reads.get(index).and_then(|slice| slice.downcast()).ok_or_else(missing)
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

/// Makes an [`Op`](crate::Op) of each of these routines. (Not by a generic type around them, for the name of an operation's type is
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
