//! The operation of the CPU: rows of scores, the classes of each side by side. Of each row the pair of its sum, or its gradients.

use crate::core::buffer::AnyIns;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::Rejected;
use crate::device::tensor::{Layout, Tensor};
use crate::libraries::dnn::Dnn;
use crate::libraries::tensor_routine::one_tensor;
use crate::libraries::tensor_routine::prelude::*;

/// Classes that are treated at once, and a row has at least.
pub(super) const CHUNK: usize = 64;

/// Makes of each row of scores the largest one and the logarithm of the sum of the exponentials of the distances from it; or, of these,
/// the labels and their factors, the gradients for the scores. On the CPU only.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ScoreRows {
    dtype: DType,
    scores: Layout,
    gradients: bool,
}

impl ScoreRows {
    /// If scores of this layout are rows for the loops of the CPU.
    pub(super) fn new(dnn: &Dnn, dtype: DType, scores: &Layout, gradients: bool) -> Option<Self> {
        let rows = ScoreRows { dtype, scores: scores.clone(), gradients };
        (dnn.has_loops() && rows.check_data().is_ok()).then_some(rows)
    }

    /// Rows and classes.
    fn sizes(&self) -> Option<[usize; 2]> {
        let [rows, classes, rest @ ..] = self.scores.shape() else { return None };
        let fits = self.scores.is_row_major() && *rows > 0 && *classes >= CHUNK && rest.iter().all(|n| *n == 1);
        fits.then_some([*rows, *classes])
    }

    const fn pair(&self) -> DType {
        match self.dtype {
            DType::F64 => DType::C64,
            _ => DType::C32,
        }
    }

    /// Submits it, of scores, and for gradients labels, pairs and factors, with a result of these extents.
    pub(super) fn submit<R: Element>(
        self,
        dnn: &Dnn,
        reads: AnyIns<'_>,
        extents: &[usize],
    ) -> Result<PendingDispatch<Tensor<R>>> {
        let output = Layout::row_major(extents)?;
        let written = [dnn.device.unwritten::<R>(output.len())?.into()].into_iter().collect();
        one_tensor(dnn.device.dispatch(self, reads, written).map_err(Rejected::into_error)?, output)
    }
}

impl TensorRoutine for ScoreRows {
    const NAME: &'static str = "loss";
    const LIBRARY: &'static str = "dnn";
    const OVERWRITES: bool = true;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let ([rows, _], pair) = (self.sizes().unwrap_or([usize::MAX; 2]), self.pair());
        let of_labels = [("labels", DType::I64), ("sums", pair), ("factors", self.dtype)];
        let of_labels = of_labels.into_iter().filter(|_| self.gradients);
        let of_labels = of_labels.map(|(name, dtype)| Operand::exactly(name, dtype, rows));
        let target = match self.gradients {
            true => Operand::exactly("target", self.dtype, self.scores.len()),
            false => Operand::exactly("target", pair, rows),
        };
        let scores = Operand::inside("scores", self.dtype, &self.scores);
        Operands::new(std::iter::once(scores).chain(of_labels), [target])
    }

    fn check_data(&self) -> Result<()> {
        match (self.dtype, self.sizes()) {
            (DType::F32 | DType::F64, Some(_)) => Ok(()),
            (dtype, _) => Err(Error::invalid("scores", format!("extents {:?} of {dtype}", self.scores.shape()))),
        }
    }

    fn cost(&self) -> Cost {
        let bytes = self.operands().bytes();
        Cost { flops: (self.scores.len() as u64).saturating_mul(4), bytes }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        let sizes = self.sizes().ok_or_else(missing)?;
        match self.dtype {
            DType::F64 => super::host::run::<f64>(sizes, self.scores.offset(), self.gradients, operands),
            _ => super::host::run::<f32>(sizes, self.scores.offset(), self.gradients, operands),
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("rows of scores in one pass on a GPU"))
    }
}

tensor_routines!(ScoreRows);
