//! The forward pass as an op.

use super::net::RecurrentProblem;
use crate::libraries::tensor_routine::prelude::*;

/// A recurrent net. Reads the input and the parameters, then the initial states and cells if there are any; writes the states of all
/// steps, the last states and the last cells, then the reserve if a backward pass follows.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct Recur(pub(in super::super) RecurrentProblem);

/// Why an op cannot be captured.
pub(super) const LENGTHS: &str = "cuDNN copies the lengths of the sequences from host memory";

impl TensorRoutine for Recur {
    const NAME: &'static str = "recur";
    const LIBRARY: &'static str = "dnn";
    const CAPTURABLE: Result<(), &'static str> = Err(LENGTHS);
    const OVERWRITES: bool = true;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        self.0.forward()
    }

    fn check_data(&self) -> Result<()> {
        self.0.check()
    }

    fn cost(&self) -> Cost {
        Cost { flops: self.0.work().saturating_mul(2), bytes: self.operands().bytes() }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        super::host::forward(&self.0, operands)
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        super::super::native::recurrent::prepare(&self.0, false, plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::super::native::recurrent::forward(&self.0, queue)
    }
}

tensor_routines!(Recur);
