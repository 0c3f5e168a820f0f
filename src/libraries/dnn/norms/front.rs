//! The calls.

use super::affine::Affine;
use super::layout::Axes;
use super::moments::{Formulas, wide};
use crate::core::buffer::{AnyBuffers, DeviceBuffer};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, ReadableTensor, Tensor};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{cast, kept, parts};
use crate::libraries::expressions::front::made_any;
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::front::{Call, submit as reduce};
use crate::libraries::reductions::pairs::Taken;
use crate::libraries::reductions::rows::{Spread, submit};
use crate::libraries::reductions::{Keep, ReductionKind, SoftmaxElement};

/// Which elements are normalised together. Channels are axis 1 of a tensor, groups of them neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NormKind {
    /// Those of the last axes, so many, by mean and deviation. Weight and bias have their extents.
    Layer(usize),
    /// Those of the last axes, so many, by the root of the mean square. Weight and bias have their extents.
    Rms(usize),
    /// Those of a group of channels in one element of the batch, axis 0: so many groups. Weight and bias are of each channel.
    Group(usize),
    /// Those of a channel in one element of the batch.
    Instance,
    /// Those of a channel in the whole batch.
    Batch,
}

impl NormKind {
    fn axes(self, extents: &[usize]) -> Result<Axes> {
        match self {
            NormKind::Layer(count) | NormKind::Rms(count) => Axes::last(extents, count),
            NormKind::Group(groups) => Axes::groups(extents, groups),
            // A tensor without channels has nothing to divide.
            NormKind::Instance => Axes::groups(extents, extents.get(1).copied().unwrap_or(1).max(1)),
            NormKind::Batch => Axes::channels(extents),
        }
    }

    const fn taken(self) -> Taken {
        match self {
            NormKind::Rms(_) => Taken::Root,
            _ => Taken::Moments,
        }
    }
}

/// The error of a call.
pub(super) fn told(error: Error) -> Error {
    error.in_op("norm", "dnn")
}

pub(super) fn check_epsilon(epsilon: f64) -> Result<()> {
    if epsilon.is_finite() && epsilon >= 0.0 {
        return Ok(());
    }
    Err(told(Error::invalid("epsilon", format!("{epsilon} is negative or not finite"))))
}

/// A row-major tensor with other extents.
fn reshaped<T: Element>(x: Tensor<T>, extents: &[usize]) -> Result<Tensor<T>> {
    let (buffer, _): (DeviceBuffer<T>, _) = x.into_parts();
    Tensor::from_buffer(buffer, extents).map_err(|rejected| rejected.error)
}

/// A row with its reduction.
#[expect(clippy::type_complexity, reason = "the elements and their moments")]
fn spread<T: SoftmaxElement>(
    dnn: &Dnn,
    axes: &Axes,
    formulas: Formulas,
    reads: &[Read<'_>],
    more: &[Read<'_>],
) -> Result<PendingDispatch<(Tensor<T>, Tensor<T::Pair>)>> {
    let reduced = Keep(axes.reduced.clone());
    let (kind, finish) = (formulas.kind, Some(formulas.finish));
    let call = Call { kind, less: 0, axes: &reduced, formula: formulas.element, finish };
    let pending = submit::<T, T::Pair>(&dnn.device, Spread { call, formula: formulas.spread }, reads, more)?;
    pending.retype(|(y, stats)| Ok((reshaped(y, &axes.whole)?, stats)))
}

impl Dnn {
    /// Normalised elements, times a weight, plus a bias: `(x - mean) / sqrt(variance + epsilon) * weight + bias`, or
    /// `x / sqrt(mean(x^2) + epsilon) * weight + bias`. The variance is that of a population.
    ///
    /// The second tensor has for the elements that are normalised together their mean as real part, and the inverse deviation as
    /// imaginary part; [`norm_gradient`](Self::norm_gradient) takes it. Its axes that are normalised have the extent 1; those of
    /// [`NormKind::Group`] and [`NormKind::Instance`] are batch, groups, channels of a group, and the axes behind.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{Affine, NormKind};
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [1.0f32, 3.0, 10.0, 30.0])?;
    /// let (y, moments) = device.dnn().norm(&x, NormKind::Layer(1), 0.0, &Affine::none())?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[[-1.  1.]\n [-1.  1.]]");
    /// let mean = device.map(&moments, |moments| moments.re())?.await_result()?;
    /// assert_eq!(device.show(&mean)?.to_string(), "[[ 2.]\n [20.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for axes or groups that do not fit, extents of weight or bias that do not, an epsilon that is
    /// negative; a stale tensor, or one of another device; [`Error::OutOfMemory`].
    #[expect(clippy::type_complexity, reason = "the elements and their moments")]
    pub fn norm<'a, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        norm: NormKind,
        epsilon: f64,
        affine: &Affine<'_, T>,
    ) -> Result<PendingDispatch<(Tensor<T>, Tensor<T::Pair>)>> {
        check_epsilon(epsilon)?;
        let x = x.into();
        let (read, layout) = x.operand()?;
        let axes = norm.axes(layout.shape()).map_err(told)?;
        let [weight, bias] = affine.reads()?;
        let there = [weight.is_some(), bias.is_some()];
        let mut more: Vec<Read<'_>> = Vec::new();
        for ((read, layout), name) in weight.into_iter().zip(["weight"]).chain(bias.into_iter().zip(["bias"])) {
            more.push((read, axes.weight(name, &layout).map_err(told)?));
        }
        let formulas = norm.taken().forward(T::DTYPE, there, axes.count(), epsilon);
        let x = (read.into(), axes.tensor("x", &layout).map_err(told)?);
        spread(self, &axes, formulas, &[x], &more)
    }

    /// The gradient of [`norm`](Self::norm) for `x`, by `dy` for its result and the moments that it gave. The bias does not matter.
    ///
    /// # Errors
    /// As [`norm`](Self::norm).
    pub fn norm_gradient<'a, 'd, 'm, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        dy: impl ReadableTensor<'d, T>,
        moments: impl ReadableTensor<'m, T::Pair>,
        norm: NormKind,
        affine: &Affine<'_, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (x, dy, moments) = (x.into(), dy.into(), moments.into());
        let ((x, x_layout), (dy, dy_layout), (moments, moments_layout)) =
            (x.operand()?, dy.operand()?, moments.operand()?);
        let axes = norm.axes(x_layout.shape()).map_err(told)?;
        let mut reads: Vec<Read<'_>> = vec![
            (x.into(), axes.tensor("x", &x_layout).map_err(told)?),
            (dy.into(), axes.tensor("dy", &dy_layout).map_err(told)?),
            (moments.into(), axes.moment("moments", &moments_layout).map_err(told)?),
        ];
        let [weight, _] = affine.reads()?;
        let has_weight = weight.is_some();
        if let Some((read, layout)) = weight {
            reads.push((read, axes.weight("weight", &layout).map_err(told)?));
        }
        let formulas = norm.taken().backward(T::DTYPE, has_weight, axes.count());
        let made = spread::<T>(self, &axes, formulas, &reads, &[])?;
        made.retype(|(dx, _)| Ok((dx,)))
    }

    /// The gradients of [`norm`](Self::norm) for weight and bias, by `dy` for its result and the moments that it gave.
    ///
    /// # Errors
    /// As [`norm`](Self::norm).
    pub fn norm_weight_gradient<'a, 'd, 'm, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        dy: impl ReadableTensor<'d, T>,
        moments: impl ReadableTensor<'m, T::Pair>,
        norm: NormKind,
    ) -> Result<PendingDispatch<(Tensor<T>, Tensor<T>)>> {
        let (x, dy, moments) = (x.into(), dy.into(), moments.into());
        let ((x, x_layout), (dy, dy_layout), (moments, moments_layout)) =
            (x.operand()?, dy.operand()?, moments.operand()?);
        let axes = norm.axes(x_layout.shape()).map_err(told)?;
        let reads: Vec<Read<'_>> = vec![
            (x.into(), axes.tensor("x", &x_layout).map_err(told)?),
            (dy.into(), axes.tensor("dy", &dy_layout).map_err(told)?),
            (moments.into(), axes.moment("moments", &moments_layout).map_err(told)?),
        ];
        let (shared, element) = (axes.shared(), norm.taken().weights(T::DTYPE));
        let call = Call { kind: ReductionKind::Sum, less: 0, axes: &shared, formula: element, finish: None };
        let sums: Tensor<T::Pair> = reduce(&self.device, call, Ok(reads.into_iter().collect()))?.into_output();
        let sums = reshaped(sums, &axes.weights())?;
        let split = kept(("norm weights apart", T::DTYPE, [0; 3]), &[T::Pair::DTYPE], |inputs| {
            let Some(sums) = inputs.first().copied() else { return Vec::new() };
            let [bias, weight] = parts(sums);
            vec![cast(weight, T::DTYPE), cast(bias, T::DTYPE)]
        });
        let view = sums.view();
        let (read, layout) = view.operand()?;
        debug_assert_eq!(wide(T::DTYPE), T::Wide::DTYPE);
        two::<T>(self, split, (read.into(), layout))
    }
}

/// A formula of one operand that makes two tensors.
fn two<T: Element>(
    dnn: &Dnn,
    recorded: Result<crate::libraries::expressions::formula::Recorded>,
    read: Read<'_>,
) -> Result<PendingDispatch<(Tensor<T>, Tensor<T>)>> {
    let extents = read.1.shape().to_vec();
    let layout = Layout::row_major(&extents).map_err(told)?;
    let mut buffers = AnyBuffers::default();
    for _ in 0..2 {
        buffers.push(dnn.device.unwritten::<T>(layout.len())?.into());
    }
    made_any(&dnn.device, recorded.map_err(told)?, &[read], buffers, &layout)?.retype(|buffers: AnyBuffers| {
        let mut buffers = buffers.into_iter();
        let tied = |buffer| crate::libraries::dnn::pooling::tied::<T>(buffer, &extents).map_err(Error::from);
        Ok((tied(buffers.next())?, tied(buffers.next())?))
    })
}
