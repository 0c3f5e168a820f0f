//! The call.

use super::direct;
use super::places::GridSample;
use crate::core::buffer::AnyBuffers;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{cast, either, formula};
use crate::libraries::dnn::pooling::tied;
use crate::libraries::expressions::constant;
use crate::libraries::expressions::front::made_any;
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::front::{Call, submit as reduce};
use crate::libraries::reductions::{ReductionKind, SoftmaxElement};

pub(super) fn told(error: Error) -> Error {
    error.in_op("grid_sample", "dnn")
}

/// The extents of the places, and of the elements.
pub(super) fn sizes<'e>(x: &'e [usize], grid: &'e [usize]) -> Result<(&'e [usize], &'e [usize])> {
    let ([batch, _, elements @ ..], [of_grid, places @ .., axes]) = (x, grid) else {
        return Err(Error::invalid("x", format!("extents {x:?}; batch, channels and one to three axes are needed")));
    };
    let rank = elements.len();
    if !(1..=3).contains(&rank) {
        return Err(Error::invalid("x", format!("extents {x:?}; batch, channels and one to three axes are needed")));
    }
    if of_grid != batch || *axes != rank || places.len() != rank {
        let what =
            format!("extents {grid:?}; {batch} batches, {rank} axes of places and {rank} coordinates are needed");
        return Err(Error::invalid("grid", what));
    }
    let nothing = [batch, &x.get(1).copied().unwrap_or(0)].contains(&&0) || places.contains(&0);
    if elements.contains(&0) && !nothing {
        return Err(Error::invalid("x", format!("extents {x:?}: there is nothing to take")));
    }
    Ok((places, elements))
}

/// A layout, or none of no elements.
fn strided(extents: &[usize], strides: &[usize]) -> Result<Layout> {
    if extents.contains(&0) {
        return Layout::row_major(extents);
    }
    Layout::new(extents, strides.iter().map(|n| *n as isize).collect::<Vec<_>>(), 0)
}

/// The coordinates along each axis of the elements, over the corners.
pub(super) fn coordinates<'g, T: Element>(grid: &TensorRef<'g, T>, rank: usize) -> Result<Vec<TensorRef<'g, T>>> {
    // The last coordinate of a place is that along the first axis.
    (0..rank).rev().map(|d| grid.index(-1, d as isize)?.unsqueeze(-1)).collect()
}

/// All channels of the elements with these numbers, a row for each.
pub(super) fn rows_at<T: Element>(dnn: &Dnn, x: &TensorRef<'_, T>, numbers: &Tensor<i64>) -> Result<Tensor<T>> {
    let device = &dnn.device;
    // Batch and elements, then channels: a row for each element.
    let mut order: Vec<isize> = vec![0];
    order.extend(2..x.rank() as isize);
    order.push(1);
    let last = device.contiguous(x.permute(order)?)?.into_output();
    let channels = last.shape().last().copied().unwrap_or(0);
    let count = last.shape().iter().rev().skip(1).product::<usize>();
    let rows = last.reshape([count, channels])?;
    let numbers = numbers.reshape([numbers.len()])?;
    // SAFETY: a number is that of a batch times its elements, plus one that was bounded by them. Where there are none, there are no
    // numbers.
    Ok(unsafe { device.take_unchecked(&rows, &numbers, 0) }?.into_output())
}

/// Numbers of elements and weights: batches, places, corners.
pub(super) fn corners<T: SoftmaxElement>(
    dnn: &Dnn,
    grid: &TensorRef<'_, T>,
    elements: &[usize],
    spec: GridSample,
) -> Result<(Tensor<i64>, Tensor<T::Wide>)> {
    let (rank, wide) = (elements.len(), T::Wide::DTYPE);
    let mut extents = grid.shape().to_vec();
    if let Some(last) = extents.last_mut() {
        *last = spec.corners(rank);
    }
    let layout = Layout::row_major(&extents)?;
    let views = coordinates(grid, rank)?;
    let reads = views.iter().map(|view| view.operand().map(|(read, layout)| (read.into(), layout)));
    let reads = reads.collect::<Result<Vec<Read<'_>>>>()?;
    let recorded = formula(&vec![T::DTYPE; rank], |inputs| {
        let inputs: Vec<_> = inputs.iter().map(|x| cast(*x, wide)).collect();
        spec.corner(&inputs, elements, wide).to_vec()
    })?;
    let mut buffers = AnyBuffers::default();
    buffers.push(dnn.device.unwritten::<i64>(layout.len())?.into());
    buffers.push(dnn.device.unwritten::<T::Wide>(layout.len())?.into());
    let made = made_any(&dnn.device, recorded, &reads, buffers, &layout)?;
    let made = made.retype::<(Tensor<i64>, Tensor<T::Wide>), _>(|buffers: AnyBuffers| {
        let mut buffers = buffers.into_iter();
        let tensors = (tied::<i64>(buffers.next(), &extents), tied::<T::Wide>(buffers.next(), &extents));
        Ok::<_, Error>((tensors.0.map_err(Error::from)?, tensors.1.map_err(Error::from)?))
    })?;
    Ok(made.into_output())
}

impl Dnn {
    /// The elements of `x` at the places of a grid, as a new tensor: PyTorch's `grid_sample`. `x` has batch, channels and one to three
    /// axes; `grid` batch, as many axes, and for each place the coordinates, from -1 to 1, the last axis of `x` first. The result has
    /// batch, channels, and the axes of the grid.
    ///
    /// Coordinates and weights are computed in f32, of f64 in f64; the sums are rounded once. An element of weight 0 does not matter.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{GridSample, Sampling};
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([1, 1, 1, 3], [1.0f32, 2.0, 4.0])?;
    /// // The second place is in the middle between the last two elements.
    /// let grid = device.tensor([1, 1, 2, 2], [-1.0f32, 0.0, 0.5, 0.0])?;
    /// let y = device.dnn().grid_sample(&x, &grid, GridSample::new(Sampling::Linear).align_corners(true))?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[[[[1. 3.]]]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Costs
    /// On the CPU nearest and linear sampling of planes of f32 and f64 that lie row-major takes one pass. Else a copy of `x` with the channels last; a number, a weight and all channels of an element for each place and each of the elements
    /// around it: 1, 2 or 4 along each axis.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for extents that do not fit each other, or places where there are no elements; a stale tensor, or one
    /// of another device; [`Error::OutOfMemory`].
    pub fn grid_sample<'a, 'g, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        grid: impl ReadableTensor<'g, T>,
        spec: GridSample,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (x, grid) = (x.into(), grid.into());
        let wide = T::Wide::DTYPE;
        let (places, elements) = sizes(x.shape(), grid.shape()).map_err(told)?;
        let [batch, channels, ..] = x.shape() else { return Err(told(Error::invalid("x", "it has no axes"))) };
        let (batch, channels, rank) = (*batch, *channels, elements.len());
        if let Some(done) = direct::submit(self, &x, &grid, spec) {
            return done;
        }
        let (numbers, weights) = corners(self, &grid, elements, spec).map_err(told)?;
        let each = spec.corners(rank);
        let taken = rows_at(self, &x, &numbers)?;
        let (taken, weights) = (taken.view(), weights.view());
        let ((taken, _), (weights, _)) = (taken.operand()?, weights.operand()?);
        let count: usize = places.iter().product();
        let mut extents = vec![batch, channels];
        extents.extend(places);
        extents.push(each);
        let (mut far, mut steps) = (count * each, vec![]);
        for n in places {
            far /= (*n).max(1);
            steps.push(far);
        }
        let over = |width: usize, own: usize| {
            let mut strides = vec![count * each * width, own];
            strides.extend(steps.iter().chain([&1]).map(|step| step * width));
            strided(&extents, &strides)
        };
        let reads: [Read<'_>; 2] =
            [(taken.into(), over(channels, 1).map_err(told)?), (weights.into(), over(1, 0).map_err(told)?)];
        let element = formula(&[T::DTYPE, wide], |inputs| match inputs {
            [x, weight] => vec![either(weight.eq(constant(0.0)), *weight, cast(*x, wide) * *weight, wide)],
            _ => Vec::new(),
        });
        let finish = formula(&[wide], |sum| sum.iter().map(|sum| cast(*sum, T::DTYPE)).collect());
        let axes = [rank as i32 + 2];
        let call = Call { kind: ReductionKind::Sum, less: 0, axes: &axes, formula: element, finish: Some(finish) };
        reduce(&self.device, call, Ok(reads.into_iter().collect()))
    }
}
