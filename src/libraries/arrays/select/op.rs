//! The operation: the places of true elements, or the slices at which a vector is true, and how many there are.

use crate::device::tensor::Layout;
use crate::libraries::tensor_routine::prelude::*;

/// Chooses by truth values. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from. What is written is row-major,
/// with zeros behind what is chosen. On the CPU only.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::libraries::arrays) struct Choose {
    /// Row-major; a vector, if slices are chosen.
    pub(super) condition: Layout,
    /// If there are none, the places are written: a row for each axis of the condition.
    pub(super) slices: Option<Slices>,
}

/// What slices are chosen of: a row-major tensor, along an axis.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::libraries::arrays) struct Slices {
    pub(super) dtype: DType,
    pub(super) x: Layout,
    pub(super) axis: usize,
}

impl Choose {
    /// The type of what is written.
    pub(super) fn dtype(&self) -> DType {
        self.slices.as_ref().map_or(DType::I64, |slices| slices.dtype)
    }

    /// Its extents, for the largest number of what is chosen.
    pub(super) fn extents(&self) -> Vec<usize> {
        let Some(slices) = &self.slices else { return vec![self.condition.rank(), self.condition.len()] };
        let mut extents = slices.x.shape().to_vec();
        extents.get_mut(slices.axis).into_iter().for_each(|n| *n = self.condition.len());
        extents
    }
}

impl TensorRoutine for Choose {
    const NAME: &'static str = "choose";
    const LIBRARY: &'static str = "arrays";
    const OVERWRITES: bool = true;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let len = self.extents().into_iter().fold(1, usize::saturating_mul);
        let x = self.slices.as_ref().map(|slices| Operand::inside("x", slices.dtype, &slices.x));
        let condition = Operand::inside("condition", DType::Bool, &self.condition);
        let written = [Operand::exactly("chosen", self.dtype(), len), Operand::exactly("count", DType::I64, 1)];
        Operands::new([condition].into_iter().chain(x), written)
    }

    fn check_data(&self) -> Result<()> {
        if !self.condition.is_row_major() {
            return Err(Error::invalid("condition", "it is not row-major"));
        }
        let Some(Slices { x, axis, .. }) = &self.slices else { return Ok(()) };
        if !x.is_row_major() {
            return Err(Error::invalid("x", "it is not row-major"));
        }
        let n = x.shape().get(*axis).copied();
        let n = n.ok_or_else(|| Error::invalid("axis", format!("axis {axis}, but the rank is {}", x.rank())))?;
        if self.condition.rank() != 1 || self.condition.len() > n {
            let what = format!("extents {:?}, but it is a vector of at most {n} elements", self.condition.shape());
            return Err(Error::invalid("condition", what));
        }
        Ok(())
    }

    fn is_prompt(&self) -> bool {
        // Less than what it takes to wake a thread.
        self.operands().bytes() <= 1 << 13
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.operands().bytes() }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        let (reads, written) = operands.starts();
        let ([truth, x @ ..], &[to, count]) = (&reads[..], &written[..]) else { return Err(missing()) };
        // SAFETY: the operands were checked: the layouts, which have no gaps, lie inside them, and they are aligned for their types.
        // Those that are written are exclusively ours, and as long as they have to be.
        unsafe {
            let chosen = super::host::choose(self, *truth, x.first().copied(), to)?;
            count.cast::<i64>().write(chosen as i64);
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("a choice in one pass on a GPU"))
    }
}

tensor_routines!(Choose);
