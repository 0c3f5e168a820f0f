//! The operation of the CPU: nearest and linear sampling of planes, each place in one step for all channels.

use super::places::{Beyond, GridSample, Sampling};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::Rejected;
use crate::device::tensor::{Layout, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::tensor_routine::one_tensor;
use crate::libraries::tensor_routine::prelude::*;

/// Each whole number up to this is one of `f32`, and a number of an element one of 32 bits.
const MOST: usize = 1 << 15;

/// Samples planes: `x` has batch, channels, and two axes; `grid` batch, two axes of places, and two coordinates. Both are row-major. On
/// the CPU only.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sample {
    pub(super) dtype: DType,
    pub(super) x: Layout,
    pub(super) grid: Layout,
    pub(super) linear: bool,
    /// Whether the outer elements go on without end; else zeros are there.
    pub(super) border: bool,
    pub(super) align: bool,
}

impl Sample {
    /// Batch, channels, the extents of the elements, and the number of places.
    pub(super) fn sizes(&self) -> Option<([usize; 4], usize)> {
        let (x, grid) = (<[usize; 4]>::try_from(self.x.shape()).ok()?, <[usize; 4]>::try_from(self.grid.shape()).ok()?);
        let [batch, high, width, two] = grid;
        let places = high.checked_mul(width)?;
        (batch == x[0] && two == 2).then_some((x, places))
    }

    fn len(&self) -> Option<usize> {
        let ([batch, channels, ..], places) = self.sizes()?;
        batch.checked_mul(channels)?.checked_mul(places)
    }
}

impl TensorRoutine for Sample {
    const NAME: &'static str = "grid_sample";
    const LIBRARY: &'static str = "dnn";
    const OVERWRITES: bool = true;
    type Raw = ();

    fn operands(&self) -> Operands<'_> {
        let reads = [("x", &self.x), ("grid", &self.grid)];
        let reads = reads.map(|(name, layout)| Operand::inside(name, self.dtype, layout));
        Operands::new(reads, [Operand::exactly("target", self.dtype, self.len().unwrap_or(usize::MAX))])
    }

    fn check_data(&self) -> Result<()> {
        if !matches!(self.dtype, DType::F32 | DType::F64) {
            return Err(Error::invalid("x", format!("elements of {}", self.dtype)));
        }
        let plain = self.x.is_row_major() && self.grid.is_row_major() && !self.x.is_empty();
        match self.sizes() {
            Some(([_, _, high, width], _)) if plain && high <= MOST && width <= MOST => Ok(()),
            _ => {
                let what = format!("extents {:?}, with places of {:?}", self.x.shape(), self.grid.shape());
                Err(Error::invalid("x", what))
            }
        }
    }

    fn cost(&self) -> Cost {
        let len = self.len().unwrap_or(usize::MAX) as u64;
        let all = len.saturating_add(self.x.len() as u64).saturating_add(self.grid.len() as u64);
        Cost { flops: len.saturating_mul(8), bytes: all.saturating_mul(self.dtype.size() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        match self.dtype {
            DType::F64 => super::host::run::<f64>(self, operands),
            _ => super::host::run::<f32>(self, operands),
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("sampling in one pass on a GPU"))
    }
}

tensor_routines!(Sample);

/// The call, if it is one for the loops of the CPU.
pub(super) fn submit<T: Element>(
    dnn: &Dnn,
    x: &TensorRef<'_, T>,
    grid: &TensorRef<'_, T>,
    spec: GridSample,
) -> Option<Result<PendingDispatch<Tensor<T>>>> {
    let border = match spec.beyond {
        Beyond::Zeros => false,
        Beyond::Border => true,
        Beyond::Reflection => return None,
    };
    let linear = match spec.sampling {
        Sampling::Nearest => false,
        Sampling::Linear => true,
        Sampling::Cubic => return None,
    };
    let (x_layout, grid_layout) = (x.layout().clone(), grid.layout().clone());
    let sample = Sample { dtype: T::DTYPE, x: x_layout, grid: grid_layout, linear, border, align: spec.align };
    if !dnn.has_loops() || grid.layout().is_empty() || sample.check_data().is_err() {
        return None;
    }
    Some(send(dnn, [x, grid], sample))
}

fn send<T: Element>(
    dnn: &Dnn,
    [x, grid]: [&TensorRef<'_, T>; 2],
    mut sample: Sample,
) -> Result<PendingDispatch<Tensor<T>>> {
    let ((x, x_layout), (grid, grid_layout)) = (x.operand()?, grid.operand()?);
    let ([batch, channels, ..], [_, high, width, _]) = (x_layout.shape(), grid_layout.shape()) else {
        return Err(missing());
    };
    let output = Layout::row_major([*batch, *channels, *high, *width])?;
    let written = [dnn.device.unwritten::<T>(output.len())?.into()].into_iter().collect();
    (sample.x, sample.grid) = (x_layout, grid_layout);
    let reads = [x.into(), grid.into()].into_iter().collect();
    one_tensor(dnn.device.dispatch(sample, reads, written).map_err(Rejected::into_error)?, output)
}
