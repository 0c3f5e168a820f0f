//! What the routines that compute one number have in common: the dispatch returns it, or it stays on the device.

use super::super::Blas;
#[cfg(feature = "cuda")]
use super::super::routine::Queue;
use super::super::routine::Routine;
use crate::core::buffer::{DeviceBuffer, Elems};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Output, Raw, Spans};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Part, Tensor};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A routine that computes one number.
pub(super) trait Reduction: Serialize + DeserializeOwned + Sized + Send + Sync + 'static {
    /// The routine's name.
    const NAME: &'static str;
    /// The names of the operands that it reads.
    const READS: &'static [&'static str];
    /// The element types it reads.
    type Reads: Elems;
    /// The number as the device computes it.
    type Number: Element;
    /// The number as it is read back to the host.
    type Raw: Raw + From<Self::Number> + Into<Self::Answer>;
    /// The number as the caller gets it.
    type Answer: Output<Writes = (), Host = Self::Answer> + Send;

    /// As [`Routine::check`].
    fn check(&self, reads: &Spans<Self::Reads>) -> Result<()>;

    /// As [`Routine::cost`].
    fn cost(&self) -> Cost;

    /// Whether there are no elements; the number is then zero.
    fn is_empty(&self) -> bool;

    /// The number, on the host engine.
    #[cfg(feature = "host")]
    fn host(&self, reads: <Self::Reads as Elems>::Slices<'_>) -> Self::Number;

    /// Enqueues the library's routine, which writes the number to `result` in device memory. Called only if there are
    /// elements.
    #[cfg(feature = "cuda")]
    fn cuda<R: Routine<Reads = Self::Reads>>(
        &self,
        queue: &mut Queue<'_, '_, R>,
        result: *mut std::ffi::c_void,
    ) -> Result<()>;
}

/// The dispatch returns the number.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "R: Reduction")]
pub(super) struct Returned<R>(pub(super) R);

impl<R: Reduction> Routine for Returned<R> {
    const NAME: &'static str = R::NAME;
    const OPERANDS: OperandNames = (R::READS, &[]);
    type Reads = R::Reads;
    type Output = R::Answer;
    type Raw = R::Raw;

    fn check(&self, reads: &Spans<Self::Reads>, (): &()) -> Result<()> {
        self.0.check(reads)
    }

    fn cost(&self) -> Cost {
        self.0.cost()
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: <Self::Reads as Elems>::Slices<'_>, (): ()) -> Result<R::Raw> {
        Ok(if self.0.is_empty() { R::Number::default() } else { self.0.host(reads) }.into())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        if self.0.is_empty() {
            return queue.zero_result();
        }
        let result = queue.result()?;
        self.0.cuda(queue, result as *mut _)
    }
}

/// The number stays on the device, in the first element of a buffer.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "R: Reduction")]
pub(super) struct OnDevice<R>(pub(super) R);

impl<R: Reduction> Routine for OnDevice<R> {
    const NAME: &'static str = R::NAME;
    const OPERANDS: OperandNames = (R::READS, &["result"]);
    type Reads = R::Reads;
    type Output = DeviceBuffer<R::Number>;
    type Raw = ();

    fn check(&self, reads: &Spans<Self::Reads>, (result,): &Spans<(R::Number,)>) -> Result<()> {
        if result.is_empty() {
            return Err(Error::invalid("result", "0 elements, but the result takes 1"));
        }
        self.0.check(reads)
    }

    fn overwrites(&self, (result,): &Spans<(R::Number,)>) -> bool {
        result.len() == 1
    }

    fn cost(&self) -> Cost {
        self.0.cost()
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: <Self::Reads as Elems>::Slices<'_>, (result,): (&mut [R::Number],)) -> Result<()> {
        let number = if self.0.is_empty() { R::Number::default() } else { self.0.host(reads) };
        result.iter_mut().take(1).for_each(|result| *result = number);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (result,) = *queue.writes();
        if self.0.is_empty() {
            // SAFETY: an operand, which has an element (checked).
            return unsafe { queue.fill(result.address(), 1, bytemuck::bytes_of(&R::Number::default())) };
        }
        self.0.cuda(queue, result.address() as *mut _)
    }
}

impl Blas {
    /// Submits a reduction, if it could be made of its operands, that returns its number.
    pub(super) fn returns<R: Reduction>(
        &self,
        made: Result<(R, <R::Reads as Elems>::Ins<'_>)>,
    ) -> Result<PendingDispatch<R::Answer, <R::Raw as Raw>::Left>> {
        let (reduction, reads) = made.map_err(|error| error.in_op(R::NAME, "blas"))?;
        self.submit(Returned(reduction), reads, ())
    }

    /// The same, with the number left in the first element of `result`.
    pub(super) fn leaves<R: Reduction>(
        &self,
        made: Result<(R, <R::Reads as Elems>::Ins<'_>)>,
        result: Part<R::Number>,
    ) -> Submitted<Tensor<R::Number>> {
        self.writes(made.map(|(reduction, reads)| (OnDevice(reduction), reads)), result)
    }
}
