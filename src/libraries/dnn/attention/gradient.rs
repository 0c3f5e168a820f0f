//! The backward pass as an op.

use super::problem::AttentionProblem;
use crate::libraries::tensor_routine::prelude::*;

/// The gradients of queries, keys and values. Reads these, the result (over the factor of kept weights), its gradient, the logarithms of
/// the sums, then bias, mask and lengths if there are any. The gradients lie as what they are gradients of.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct AttendBackward(pub(in super::super) AttentionProblem);

impl TensorRoutine for AttendBackward {
    const NAME: &'static str = "attend_backward";
    const LIBRARY: &'static str = "dnn";
    const OVERWRITES: bool = true;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let problem = &self.0;
        let inputs @ [q, k, v] = problem.inputs();
        let result = |name| Operand::at_least(name, problem.dtype, problem.reach_of_o());
        let sums = Operand::at_least("log_sums", problem.sums(), problem.rows());
        let reads = inputs.into_iter().chain([result("o"), result("dy"), sums]).chain(problem.others());
        let written = [("dq", q), ("dk", k), ("dv", v)];
        Operands::new(reads, written.map(|(name, of)| Operand::exactly(name, problem.dtype, of.len())))
    }

    fn check_data(&self) -> Result<()> {
        self.0.check()?;
        match self.0.pages {
            Some(_) => Err(Error::invalid("pages", "keys and values in pages have no gradients")),
            None => Ok(()),
        }
    }

    fn cost(&self) -> Cost {
        let problem = &self.0;
        let products = (3 * problem.width as u64).saturating_add(2 * problem.value_width as u64).saturating_mul(2);
        Cost { flops: problem.flops(products), bytes: self.operands().bytes() }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        super::host::backward(&self.0, operands)
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        super::super::native::attend_backward::prepare(&self.0, plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::super::native::attend_backward::enqueue(&self.0, queue)
    }
}

tensor_routines!(AttendBackward);
