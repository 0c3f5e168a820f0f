//! The operation, and one that only asks the library for its plan.

use super::super::call::Call;
use super::super::call::Into as Last;
use super::super::element::Factor;
use super::super::plan::Plan;
use super::shape::Shape;
use crate::core::op::{Spans, Wire};
use crate::core::sync::Arc;
use crate::device::Device;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut, WritesOf};
use crate::libraries::tensor_routine::prelude::*;

/// Contracts two tensors into a third. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in super::super) struct Contraction {
    #[serde(with = "super::shape")]
    pub(in super::super) shape: Arc<Shape>,
    pub(in super::super) factors: [Factor; 2],
}

impl Contraction {
    pub(in super::super) fn new(shape: Arc<Shape>, factors: [Factor; 2]) -> Self {
        Contraction { shape, factors }
    }

    /// Whether what is written is read, too: if it is multiplied by something else than 0.
    pub(in super::super) fn reads_c(&self) -> bool {
        let [_, beta] = &self.factors;
        // Minus zero is a zero.
        let is_zero =
            |part: &[u8]| part.iter().rev().skip(1).all(|byte| *byte == 0) && part.last().is_none_or(|b| b & 0x7f == 0);
        let size = if matches!(self.shape.dtype, DType::F64 | DType::C64) { 8 } else { 4 };
        !beta.chunks(size).all(is_zero)
    }
}

impl TensorRoutine for Contraction {
    const NAME: &'static str = "contraction";
    const LIBRARY: &'static str = "tensor";
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let [a, b, c] = &self.shape.sides;
        let dtype = self.shape.dtype;
        let reads = [Operand::inside("a", dtype, &a.layout), Operand::inside("b", dtype, &b.layout)];
        Operands::new(reads, [Operand::inside("c", dtype, &c.layout)])
    }

    fn check_data(&self) -> Result<()> {
        self.shape.check()
    }

    fn overwrites_each(&self, writes: &[AnySpan], index: usize) -> bool {
        !self.reads_c() && writes.get(index).is_some_and(|span| self.shape.made().len() == span.len())
    }

    fn cost(&self) -> Cost {
        let each = if self.shape.dtype.is_complex() { 8 } else { 2 };
        let elements: usize = self.shape.sides.iter().map(|side| side.layout.len()).sum();
        Cost {
            flops: self.shape.products().saturating_mul(each),
            bytes: (elements as u64).saturating_mul(self.shape.dtype.size() as u64),
        }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        super::host::run(self, operands)
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, reads: &[AnySpan], writes: &[AnySpan], plans: &mut Prepare<'_>) {
        let places = reads.iter().chain(writes).map(|span| span.address());
        plans.plan(&super::super::native::Key::new(self.shape.clone(), places));
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::super::native::enqueue(self, queue)
    }
}

tensor_routines!(Contraction);

/// Makes the library's plan of a contraction, and nothing else: what the library refuses is known before a plan of ours has it.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct Probe {
    #[serde(with = "super::shape")]
    shape: Arc<Shape>,
}

impl Probe {
    /// Whether the library takes all its contractions of a plan. Waits for its plans, which the first call would do as well.
    pub(in super::super) fn all(device: &Device, plan: &Plan) -> bool {
        let shapes = plan.steps.iter().filter_map(|step| match &step.call {
            Call::CuTensor(shape) => Some(shape.clone()),
            Call::Into(into) => match &**into {
                Last::CuTensor(shape) => Some(shape.clone()),
                _ => None,
            },
            _ => None,
        });
        shapes.into_iter().all(|shape| {
            let pending = device.dispatch(Probe { shape }, (), ());
            pending.is_ok_and(|pending| pending.await_result().is_ok())
        })
    }
}

impl Op for Probe {
    const NAME: &'static str = "prepare";
    const LIBRARY: &'static str = <Contraction as TensorRoutine>::LIBRARY;
    const PREPARED: bool = true;
    type Reads = ();
    type Output = ();
    type Raw = ();

    fn check(&self, (): &(), (): &()) -> Result<()> {
        self.shape.check()
    }

    fn host(&self, (): Slices<'_, Self>, (): SlicesMut<'_, Self>) -> Result<()> {
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, (): &Spans<()>, (): &Spans<WritesOf<Self>>, plans: &mut Prepare<'_>) {
        // Addresses that are as aligned as those of new buffers.
        plans.plan(&super::super::native::Key::new(self.shape.clone(), [0; 3].into_iter()));
    }

    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Ok(())
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}
