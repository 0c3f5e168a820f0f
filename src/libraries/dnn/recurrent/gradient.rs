//! The backward pass as an op.

use super::net::RecurrentProblem;
use super::op::LENGTHS;
use crate::libraries::tensor_routine::prelude::*;

/// The gradients of a recurrent net. Reads what the forward pass has read, the states of all steps and their gradient, then the
/// gradients of the last states and cells if there are any; uses up the reserve, and writes the gradients of the input, of the
/// parameters, and of the initial states and cells.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct RecurBackward {
    pub(in super::super) problem: RecurrentProblem,
    pub(in super::super) given: [bool; 2],
}

impl TensorRoutine for RecurBackward {
    const NAME: &'static str = "recur_backward";
    const LIBRARY: &'static str = "dnn";
    /// The reserve.
    const LEAVES_UNDEFINED: &'static [usize] = &[0];
    const CAPTURABLE: Result<(), &'static str> = Err(LENGTHS);
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        self.problem.backward(self.given)
    }

    fn check_data(&self) -> Result<()> {
        self.problem.check()
    }

    fn overwrites_each(&self, writes: &[AnySpan], index: usize) -> bool {
        index > 0 && self.operands().is_whole(writes, index)
    }

    fn cost(&self) -> Cost {
        Cost { flops: self.problem.work().saturating_mul(4), bytes: self.operands().bytes() }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        super::host::backward(&self.problem, self.given, operands)
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        super::super::native::recurrent::prepare(&self.problem, true, plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::super::native::recurrent::backward(&self.problem, self.given, queue)
    }
}

tensor_routines!(RecurBackward);
