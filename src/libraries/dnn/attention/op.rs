//! The forward pass as an op.

use super::problem::AttentionProblem;
use crate::libraries::tensor_routine::prelude::*;

/// Attention. Reads queries, keys and values, then bias, mask, sink, pages and lengths if there are any; writes the result, and the
/// logarithms of the sums if they are wanted.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct Attend(pub(in super::super) AttentionProblem);

impl TensorRoutine for Attend {
    const NAME: &'static str = "attend";
    const LIBRARY: &'static str = "dnn";
    const OVERWRITES: bool = true;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let problem = &self.0;
        let sums = problem.stats.then(|| Operand::exactly("log_sums", problem.sums(), problem.rows()));
        let o = Operand::exactly("o", problem.dtype, problem.reach_of_o());
        Operands::new(problem.inputs().into_iter().chain(problem.others()), [o].into_iter().chain(sums))
    }

    fn check_data(&self) -> Result<()> {
        self.0.check()
    }

    fn cost(&self) -> Cost {
        let problem = &self.0;
        let products = (problem.width as u64).saturating_add(problem.value_width as u64).saturating_mul(2);
        Cost { flops: problem.flops(products), bytes: self.operands().bytes() }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        super::host::forward(&self.0, operands)
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        super::super::native::attend::prepare(&self.0, plans);
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::super::native::attend::enqueue(&self.0, queue)
    }
}

tensor_routines!(Attend);
