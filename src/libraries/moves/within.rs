//! Numbers that must lie in a range, looked at where nothing else does it: the numbers of slices that have no elements, and labels.
//!
//! The operation reads the numbers and leaves what it writes as it is: so the wait for a result says what was wrong with its numbers.

use crate::core::buffer::{AnyIns, DeviceBuffer};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::Rejected;
use crate::core::op::Verdict;
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, Layout, Tensor};
use crate::libraries::tensor_routine::one_tensor;
use crate::libraries::tensor_routine::prelude::*;

/// What the numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::libraries) enum Numbers {
    /// Of slices along an axis; negative ones count from the end.
    Slices { axis: usize },
    /// Of classes, or this one, which is none.
    Labels { ignored: Option<i64> },
    /// Of bins, of which there are as many as are needed: see [`Device::bincount`].
    Bins,
}

/// Checks numbers, which lie one after the other. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::libraries) struct Within {
    pub(super) index: DType,
    pub(super) target: DType,
    pub(super) numbers: Numbers,
    /// The numbers are below this; those of bins are not negative.
    pub(super) end: usize,
}

impl Within {
    /// The number that is none, if elements of the type can be it.
    fn ignored(&self) -> Option<i64> {
        let Numbers::Labels { ignored } = self.numbers else { return None };
        ignored.filter(|ignored| *ignored >= 0 || self.index.is_signed())
    }

    fn counts_from_end(&self) -> bool {
        matches!(self.numbers, Numbers::Slices { .. }) && self.index.is_signed()
    }

    fn name(&self) -> &'static str {
        match self.numbers {
            Numbers::Slices { .. } => "indices",
            Numbers::Labels { .. } => "labels",
            Numbers::Bins => "x",
        }
    }

    #[cfg(feature = "host")]
    fn first<I: Copy + Into<i128>>(&self, numbers: &[I]) -> u64 {
        let end = if self.numbers == Numbers::Bins { i128::MAX } else { self.end as i128 };
        let ignored = self.ignored().map(i128::from);
        let is_wrong = |number: &I| {
            let number: i128 = (*number).into();
            let from_start = if number < 0 && self.counts_from_end() { number + end } else { number };
            Some(number) != ignored && !(0..end).contains(&from_start)
        };
        numbers.iter().position(is_wrong).map_or(0, |place| !(place as u64))
    }
}

impl TensorRoutine for Within {
    const NAME: &'static str = "within";
    const LIBRARY: &'static str = "copy";
    const PREPARED: bool = false;
    /// 0, or the complement of the place of the first number that is out of range.
    type Raw = u64;

    fn operands(&self) -> Operands<'_> {
        Operands::new([Operand::any(self.name(), self.index)], [Operand::any("target", self.target)])
    }

    fn check_data(&self) -> Result<()> {
        match self.index {
            DType::I32 | DType::I64 | DType::U32 | DType::U64 => Ok(()),
            other => Err(Error::invalid(self.name(), format!("{other} is no type of a number"))),
        }
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<u64> {
        Ok(match self.index {
            DType::I32 => self.first::<i32>(operands.elements(0)?),
            DType::U32 => self.first::<u32>(operands.elements(0)?),
            DType::I64 => self.first::<i64>(operands.elements(0)?),
            _ => self.first::<u64>(operands.elements(0)?),
        })
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        use crate::core::launch::LaunchDims;
        use crate::engines::cuda::Ptx;
        static KERNEL: Ptx = Ptx::new(include_str!("within.ptx"));
        let verdict = queue.verdict()?;
        let is_bins = self.numbers == Numbers::Bins;
        let Some(numbers) = queue.reads().first().filter(|numbers| !numbers.is_empty()) else { return Ok(()) };
        if is_bins && !self.index.is_signed() {
            return Ok(());
        }
        // The negative ones are not below that.
        let end = if is_bins { 1 << 63 } else { self.end as u64 };
        let kind: u64 = match self.index {
            DType::I32 => 0,
            DType::U32 => 1,
            _ => 2,
        };
        let args = [
            numbers.address().into(),
            numbers.len().into(),
            kind.into(),
            end.into(),
            u64::from(self.counts_from_end()).into(),
            u64::from(self.ignored().is_some()).into(),
            self.ignored().unwrap_or(0).cast_unsigned().into(),
            verdict.into(),
        ];
        // SAFETY: the arguments are the kernel's parameters in order and type: it reads the numbers, of a type with as many bytes (the op's
        // check), and writes the result, which has 8 bytes.
        unsafe { queue.launch(&KERNEL, c"within", LaunchDims::for_elements(numbers.len())?, &args) }
    }

    fn finish(&self, raw: u64) -> Result<()> {
        let what = match (raw, self.numbers) {
            (0, _) => return Ok(()),
            (_, Numbers::Slices { axis }) => format!("out of range for axis {axis} of {} elements", self.end),
            (_, Numbers::Labels { ignored: None }) => {
                format!("no class of {}; `LabelLoss::ignore` names the number of labels that do not count", self.end)
            }
            (_, Numbers::Labels { ignored: Some(ignored) }) => format!("no class of {}, nor {ignored}", self.end),
            (_, Numbers::Bins) => "negative: there is no bin for it".to_owned(),
        };
        Err(Error::invalid(self.name(), format!("number {} of them is {what}", !raw)))
    }
}

tensor_routines!(Within);

/// A result whose wait tells the first of these numbers that is not below `end`.
pub(in crate::libraries) fn checked<T: Element>(
    device: &Device,
    result: Tensor<T>,
    view: &AnyTensorRef<'_>,
    (numbers, end): (Numbers, usize),
) -> Result<PendingDispatch<Tensor<T>, Verdict>> {
    let dense = if view.layout().is_row_major() { None } else { Some(device.contiguous_any(view)?) };
    let dense: Option<AnyTensorRef<'_>> = dense.as_ref().map(Into::into);
    let (part, _) = dense.as_ref().unwrap_or(view).operand()?;
    let (buffer, layout): (DeviceBuffer<T>, Layout) = result.into_parts();
    let reads: AnyIns<'_> = [part].into_iter().collect();
    let within = Within { index: view.dtype(), target: T::DTYPE, numbers, end };
    let submitted = device.dispatch(within, reads, [buffer.into()].into_iter().collect());
    one_tensor(submitted.map_err(Rejected::into_error)?, layout)
}
