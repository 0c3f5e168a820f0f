//! The gradients of a sampling: for the elements and for the grid.

use super::front::{coordinates, corners, rows_at, sizes, told};
use super::places::GridSample;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::Combine;
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{cast, either, formula};
use crate::libraries::expressions::constant;
use crate::libraries::expressions::formula::Recorded;
use crate::libraries::expressions::front::make_one;
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::front::{Call, submit as reduce};
use crate::libraries::reductions::{ReductionKind, SoftmaxElement};

/// `dy` over corners and channels: batch, places, 1, channels.
fn over<'a, T: Element>(
    dy: &TensorRef<'a, T>,
    (batch, channels): (usize, usize),
    places: &[usize],
) -> Result<TensorRef<'a, T>> {
    let wanted: Vec<usize> = [batch, channels].iter().chain(places).copied().collect();
    if dy.shape() != wanted {
        let what = format!("extents {:?} instead of {wanted:?}, those of the result", dy.shape());
        return Err(Error::invalid("dy", what));
    }
    let mut order: Vec<isize> = vec![0];
    order.extend(2..wanted.len() as isize);
    order.push(1);
    dy.permute(order)?.unsqueeze(-2)
}

/// A layout with an axis of its own behind: its elements for all of that.
fn behind(layout: &Layout) -> Result<Layout> {
    layout.unsqueeze(-1)
}

/// A number times a weight; what has the weight 0 does not matter.
fn weighted(dtype: DType, wide: DType) -> Result<Recorded> {
    formula(&[dtype, wide], |inputs| match inputs {
        [x, weight] => vec![either(weight.eq(constant(0.0)), constant(0.0), cast(*x, wide) * *weight, wide)],
        _ => Vec::new(),
    })
}

/// The sum of a formula along an axis.
fn sum<R: Element>(
    dnn: &Dnn,
    reads: [Read<'_>; 2],
    axis: usize,
    (element, finish): (Result<Recorded>, Option<Result<Recorded>>),
) -> Result<PendingDispatch<Tensor<R>>> {
    let axes = [axis as i32];
    let call = Call { kind: ReductionKind::Sum, less: 0, axes: &axes, formula: element, finish };
    reduce(&dnn.device, call, Ok(reads.into_iter().collect()))
}

/// For each corner of a place and each coordinate the derivative of the weight.
fn slopes<T: SoftmaxElement>(
    dnn: &Dnn,
    grid: &TensorRef<'_, T>,
    elements: &[usize],
    spec: GridSample,
) -> Result<Tensor<T::Wide>> {
    let (rank, wide) = (elements.len(), T::Wide::DTYPE);
    let mut extents = grid.shape().to_vec();
    extents.insert(extents.len() - 1, spec.corners(rank));
    let views = coordinates(grid, rank)?.iter().map(|view| view.unsqueeze(-1)).collect::<Result<Vec<_>>>()?;
    let reads = views.iter().map(|view| view.operand().map(|(read, layout)| (read.into(), layout)));
    let reads = reads.collect::<Result<Vec<Read<'_>>>>()?;
    let recorded = formula(&vec![T::DTYPE; rank], |inputs| {
        let inputs: Vec<_> = inputs.iter().map(|x| cast(*x, wide)).collect();
        spec.slope(&inputs, elements, wide).into_iter().collect()
    })?;
    Ok(make_one(&dnn.device, recorded, &reads, &extents)?.into_output())
}

impl Dnn {
    /// The gradient of [`grid_sample`](Self::grid_sample) for `x`, of extents `elements`, by `dy` for its result: each element gets the
    /// sum of `dy` over the places that took it, times its weights there. The sums are in f32, of f64 in f64, in the order of the
    /// places, so that the bits are the same each time, on both engines; halves are rounded once.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{GridSample, Sampling};
    /// let device = windlass::Device::best()?;
    /// let grid = device.tensor([1, 1, 2, 2], [-1.0f32, 0.0, 0.5, 0.0])?;
    /// let dy = device.tensor([1, 1, 1, 2], [1.0f32, 8.0])?;
    /// let linear = GridSample::new(Sampling::Linear).align_corners(true);
    /// let dx = device.dnn().grid_sample_gradient(&dy, &grid, &[1, 1, 1, 3], linear)?.await_result()?;
    /// assert_eq!(device.show(&dx)?.to_string(), "[[[[1. 4. 4.]]]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Costs
    /// As [`grid_sample`](Self::grid_sample), and a sort of the numbers: see [`put`](crate::Device::put).
    ///
    /// # Errors
    /// As [`grid_sample`](Self::grid_sample); [`Error::InvalidArgument`] if the extents of `dy` are not those of the result.
    pub fn grid_sample_gradient<'d, 'g, T: SoftmaxElement>(
        &self,
        dy: impl ReadableTensor<'d, T>,
        grid: impl ReadableTensor<'g, T>,
        elements: &[usize],
        spec: GridSample,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (dy, grid, device, wide) = (dy.into(), grid.into(), &self.device, T::Wide::DTYPE);
        let (places, inner) = sizes(elements, grid.shape()).map_err(told)?;
        let [batch, channels, ..] = elements else { return Err(told(Error::invalid("elements", "no axes"))) };
        let (batch, channels) = (*batch, *channels);
        let dy = over(&dy, (batch, channels), places).map_err(told)?;
        let rows = inner.iter().try_fold(batch, |all, n| all.checked_mul(*n));
        let rows = rows.ok_or_else(|| told(Error::invalid("elements", format!("{elements:?} are too many"))))?;
        let (numbers, weights) = corners(self, &grid, inner, spec).map_err(told)?;
        let mut extents = weights.shape().to_vec();
        extents.push(channels);
        let view = weights.view();
        let ((dy, dy_layout), (weights, weights_layout)) = (dy.operand()?, view.operand()?);
        let reads = [(dy.into(), dy_layout), (weights.into(), behind(&weights_layout).map_err(told)?)];
        let recorded = weighted(T::DTYPE, wide).map_err(told)?;
        let updates: Tensor<T::Wide> = make_one(device, recorded, &reads, &extents)?.into_output();
        let table = device.zeros::<T::Wide>([rows, channels])?;
        let (numbers, updates) = (numbers.reshape([numbers.len()])?, updates.reshape([numbers.len(), channels])?);
        let made = device.put(table, &numbers, &updates, 0, Combine::Add).map_err(Rejected::into_error)?;
        // The corners are rows of the table: see `corners`.
        let sums = made.never_reports().into_output();
        // The channels in front of the elements again.
        let split: Vec<usize> = [batch].iter().chain(inner).chain([&channels]).copied().collect();
        let mut order: Vec<isize> = vec![0, inner.len() as isize + 1];
        order.extend(1..=inner.len() as isize);
        let view = sums.reshape(split)?.permute(order)?;
        let (read, layout) = view.operand()?;
        let rounded = formula(&[wide], |sum| sum.iter().map(|sum| cast(*sum, T::DTYPE)).collect());
        make_one(device, rounded.map_err(told)?, &[(read.into(), layout)], elements)
    }

    /// The gradient of [`grid_sample`](Self::grid_sample) for the grid, by `dy` for its result. It is 0 for [`Sampling::Nearest`], and
    /// for a coordinate that [`Beyond::Border`] or [`Beyond::Reflection`] moved to an outer element.
    ///
    /// [`Sampling::Nearest`]: crate::dnn::Sampling::Nearest
    /// [`Beyond::Border`]: crate::dnn::Beyond::Border
    /// [`Beyond::Reflection`]: crate::dnn::Beyond::Reflection
    ///
    /// # Errors
    /// As [`grid_sample_gradient`](Self::grid_sample_gradient).
    pub fn grid_sample_grid_gradient<'a, 'g, 'd, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        grid: impl ReadableTensor<'g, T>,
        dy: impl ReadableTensor<'d, T>,
        spec: GridSample,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (x, grid, dy, wide) = (x.into(), grid.into(), dy.into(), T::Wide::DTYPE);
        let (places, elements) = sizes(x.shape(), grid.shape()).map_err(told)?;
        let [batch, channels, ..] = x.shape() else { return Err(told(Error::invalid("x", "it has no axes"))) };
        let dy = over(&dy, (*batch, *channels), places).map_err(told)?;
        let rank = elements.len();
        let (numbers, _) = corners(self, &grid, elements, spec).map_err(told)?;
        let taken = rows_at(self, &x, &numbers)?;
        // What the gradient of the weight of each corner is.
        let mut extents = numbers.shape().to_vec();
        extents.push(*channels);
        let view = taken.reshape(&extents)?;
        let ((taken, taken_layout), (dy, dy_layout)) = (view.operand()?, dy.operand()?);
        let product = formula(&[T::DTYPE; 2], |inputs| match inputs {
            [x, dy] => vec![cast(*x, wide) * cast(*dy, wide)],
            _ => Vec::new(),
        });
        let reads = [(taken.into(), taken_layout), (dy.into(), dy_layout)];
        let of_weights: Tensor<T::Wide> = sum(self, reads, rank + 2, (product, None))?.into_output();
        let slopes = slopes(self, &grid, elements, spec).map_err(told)?;
        let (of_weights, slopes) = (of_weights.view(), slopes.view());
        let ((weights, layout), (slopes, slopes_layout)) = (of_weights.operand()?, slopes.operand()?);
        let reads = [(weights.into(), behind(&layout).map_err(told)?), (slopes.into(), slopes_layout)];
        let finish = formula(&[wide], |sum| sum.iter().map(|sum| cast(*sum, T::DTYPE)).collect());
        sum(self, reads, rank + 1, (weighted(wide, wide), Some(finish)))
    }
}
