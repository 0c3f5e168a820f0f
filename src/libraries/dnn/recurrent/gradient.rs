//! The backward pass as an op.

use super::net::Scene;
use super::op::{LENGTHS, LIBRARY, Operands, bytes, check_all, name, types};
use crate::core::buffer::{AnyBuffers, Dyn};
use crate::core::element::DType;
#[cfg(not(all(feature = "host", feature = "cuda")))]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::core::op::{Cost, Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Prepare, Slices, SlicesMut};
use serde::{Deserialize, Serialize};

/// The gradients of a recurrent net. Reads what the forward pass has read, the states of all steps and their gradient, then the
/// gradients of the last states and cells if there are any; uses up the reserve, and writes the gradients of the input, of the
/// parameters, and of the initial states and cells.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct RecurBackward {
    pub(in super::super) scene: Scene,
    pub(in super::super) given: [bool; 2],
}

impl RecurBackward {
    pub(super) const OP: &'static str = "recur_backward";

    fn operands(&self) -> Operands {
        self.scene.backward(self.given)
    }
}

impl Op for RecurBackward {
    const NAME: &'static str = RecurBackward::OP;
    const LIBRARY: &'static str = LIBRARY;
    const PREPARED: bool = true;
    /// The reserve.
    const LEAVES_UNDEFINED: &'static [usize] = &[0];
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        self.scene.check()?;
        check_all(&self.operands(), reads, writes)
    }

    fn overwrites_each(&self, writes: &Spans<Dyn>, index: usize) -> bool {
        let (_, written) = self.operands();
        index > 0 && writes.get(index).map(|span| span.len()) == written.get(index).map(|(_, _, len)| *len)
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        types(self.operands())
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        name(self.operands(), index, read_count)
    }

    fn cost(&self) -> Cost {
        Cost { flops: self.scene.work().saturating_mul(4), bytes: bytes(&self.operands()) }
    }

    fn capturable(&self) -> Result<(), &'static str> {
        Err(LENGTHS)
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        super::host::backward(&self.scene, self.given, &reads, writes)
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &Spans<Dyn>, _: &Spans<Dyn>, plans: &mut Prepare<'_>) {
        super::super::native::recurrent::prepare(&self.scene, true, plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::super::native::recurrent::backward(&self.scene, self.given, queue)
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no CUDA engine (feature `cuda`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}
