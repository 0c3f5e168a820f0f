//! A convolution as an op.

use super::sizing::Sizing;
use crate::libraries::tensor_routine::prelude::*;

/// A convolution or a gradient of one. Reads two tensors, then the residual and the bias if there are any.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct Convolve(pub(in super::super) Sizing);

impl super::Direction {
    /// The names of the operands: the two that are read, and the result.
    pub(super) fn names(self) -> [&'static str; 3] {
        match self {
            super::Direction::Forward => ["x", "w", "y"],
            super::Direction::Data => ["dy", "w", "dx"],
            super::Direction::Filter => ["x", "dy", "dw"],
        }
    }
}

impl TensorRoutine for Convolve {
    const NAME: &'static str = "convolve";
    const LIBRARY: &'static str = "dnn";
    /// The device needs the plan alone.
    const OUTLIVES_ENQUEUE: bool = false;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let problem = &self.0;
        let ([one, other, result], names) = (problem.lens(), problem.direction.names());
        let operand = |name, len| Operand::exactly(name, problem.dtype, len);
        let mut all = Operands::default();
        all.reads.push(operand(names[0], one));
        all.reads.push(operand(names[1], other));
        all.writes.push(operand(names[2], result));
        if problem.residual {
            all.reads.push(operand("residual", problem.count(problem.y())));
        }
        if problem.bias {
            all.reads.push(operand("bias", problem.filters));
        }
        all
    }

    fn check_data(&self) -> Result<()> {
        self.0.check()
    }

    fn overwrites_each(&self, writes: &[AnySpan], index: usize) -> bool {
        let [.., result] = self.0.lens();
        writes.get(index).is_some_and(|span| span.len() == result)
    }

    fn cost(&self) -> Cost {
        Cost { flops: self.0.work().saturating_mul(2), bytes: self.operands().bytes() }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        super::host::run(&self.0, operands)
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, _: &[AnySpan], _: &[AnySpan], plans: &mut Prepare<'_>) {
        // The library plans nothing that has no elements.
        if self.0.is_planned() {
            plans.plan(&self.0);
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        super::super::native::convolve::enqueue(self, queue)
    }
}

tensor_routines!(Convolve);
