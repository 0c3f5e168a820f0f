//! Batch normalisation with the statistics of a whole training.

use super::affine::Affine;
use super::front::{check_epsilon, told};
use super::layout::Axes;
use super::moments::wide;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element as _};
use crate::core::error::{Error, Rejected, Result};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{cast, complex, formula, parts};
use crate::libraries::expressions::Symbol;
use crate::libraries::expressions::front::make_one;
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::SoftmaxElement;

/// How [`Dnn::update_running`] mixes the moments of a batch with those so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Running {
    /// The part of the new ones: 0.1 is usual.
    pub momentum: f64,
    /// The epsilon with which the batch was normalised.
    pub epsilon: f64,
    /// How many elements share moments; the variance becomes that of a sample of so many. 0 leaves it that of a population.
    pub sample: usize,
}

impl Dnn {
    /// Batch normalisation by known statistics of each channel, axis 1: `(x - mean) / sqrt(variance + epsilon) * weight + bias`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::Affine;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([1, 2, 2], [1.0f32, 3.0, 10.0, 30.0])?;
    /// let (mean, variance) = (device.tensor([2], [2.0f32, 20.0])?, device.tensor([2], [1.0f32, 100.0])?);
    /// let y = device.dnn().batch_norm(&x, &mean, &variance, 0.0, &Affine::none())?.await_result()?;
    /// assert_eq!(device.show(y.reshape([4])?)?.to_string(), "[-1.  1. -1.  1.]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`norm`](Self::norm).
    pub fn batch_norm<'a, 'm, 'v, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        mean: impl ReadableTensor<'m, T::Wide>,
        variance: impl ReadableTensor<'v, T::Wide>,
        epsilon: f64,
        affine: &Affine<'_, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        check_epsilon(epsilon)?;
        let (x, mean, variance) = (x.into(), mean.into(), variance.into());
        let ((x, layout), (mean, mean_layout), (variance, variance_layout)) =
            (x.operand()?, mean.operand()?, variance.operand()?);
        let axes = Axes::channels(layout.shape()).map_err(told)?;
        let mut reads: Vec<Read<'_>> = vec![
            (x.into(), layout.clone()),
            (mean.into(), axes.weight("mean", &mean_layout).map_err(told)?),
            (variance.into(), axes.weight("variance", &variance_layout).map_err(told)?),
        ];
        let own = wide(T::DTYPE);
        let mut types = vec![T::DTYPE, own, own];
        let [weight, bias] = affine.reads()?;
        let there = [weight.is_some(), bias.is_some()];
        for ((read, layout), name) in weight.into_iter().zip(["weight"]).chain(bias.into_iter().zip(["bias"])) {
            reads.push((read, axes.weight(name, &layout).map_err(told)?));
            types.push(T::DTYPE);
        }
        let recorded = formula(&types, |inputs| {
            let wide = |k: usize| inputs.get(k).map(|value| cast(*value, own));
            let (Some(x), Some(mean), Some(variance)) = (wide(0), wide(1), wide(2)) else { return Vec::new() };
            let y = (x - mean) / (variance + epsilon).sqrt();
            let y = if let (true, Some(weight)) = (there[0], wide(3)) { y * weight } else { y };
            let bias = if there[1] { wide(if there[0] { 4 } else { 3 }) } else { None };
            vec![cast(bias.map_or(y, |bias| y + bias), T::DTYPE)]
        });
        make_one(&self.device, recorded.map_err(told)?, &reads, layout.shape())
    }

    /// The gradient of [`batch_norm`](Self::batch_norm) for `x`, by `dy` for its result: `dy * weight / sqrt(variance + epsilon)`. The
    /// statistics are no part of the training, and the bias does not matter. For weight and bias,
    /// [`norm_weight_gradient`](Self::norm_weight_gradient) takes the [`moments_of`](Self::moments_of) these statistics.
    ///
    /// # Errors
    /// As [`norm`](Self::norm).
    pub fn batch_norm_gradient<'d, 'v, T: SoftmaxElement>(
        &self,
        dy: impl ReadableTensor<'d, T>,
        variance: impl ReadableTensor<'v, T::Wide>,
        epsilon: f64,
        affine: &Affine<'_, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        check_epsilon(epsilon)?;
        let (dy, variance) = (dy.into(), variance.into());
        let ((dy, layout), (variance, variance_layout)) = (dy.operand()?, variance.operand()?);
        let axes = Axes::channels(layout.shape()).map_err(told)?;
        let own = wide(T::DTYPE);
        let mut types = vec![T::DTYPE, own];
        let mut reads: Vec<Read<'_>> = vec![
            (dy.into(), layout.clone()),
            (variance.into(), axes.weight("variance", &variance_layout).map_err(told)?),
        ];
        let [weight, _] = affine.reads()?;
        if let Some((read, layout)) = weight {
            reads.push((read, axes.weight("weight", &layout).map_err(told)?));
            types.push(T::DTYPE);
        }
        let recorded = formula(&types, |inputs| {
            let wide = |k: usize| inputs.get(k).map(|value| cast(*value, own));
            let (Some(dy), Some(variance)) = (wide(0), wide(1)) else { return Vec::new() };
            let dx = dy / (variance + epsilon).sqrt();
            vec![cast(wide(2).map_or(dx, |weight| dx * weight), T::DTYPE)]
        });
        make_one(&self.device, recorded.map_err(told)?, &reads, layout.shape())
    }

    /// The statistics of each channel as the moments of a batch that has them, for elements of so many axes: mean as real part, inverse
    /// deviation as imaginary part, with the extent 1 along all axes but the channels.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::NormKind;
    /// let device = windlass::Device::best()?;
    /// let (x, dy) = (device.tensor([2, 1], [1.0f32, 5.0])?, device.tensor([2, 1], [1.0f32, 1.0])?);
    /// let (mean, variance) = (device.tensor([1], [1.0f32])?, device.tensor([1], [4.0f32])?);
    /// let moments = device.dnn().moments_of::<f32>(&mean, &variance, 0.0, 2)?.into_output();
    /// let (dw, db) = device.dnn().norm_weight_gradient(&x, &dy, &moments, NormKind::Batch)?.await_result()?;
    /// assert_eq!([device.item(dw.reshape([])?)?, device.item(db.reshape([])?)?], [2.0, 2.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for statistics that are no two vectors of the same length, fewer than 2 axes, an epsilon that is
    /// negative; a stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn moments_of<'m, 'v, T: SoftmaxElement>(
        &self,
        mean: impl ReadableTensor<'m, T::Wide>,
        variance: impl ReadableTensor<'v, T::Wide>,
        epsilon: f64,
        rank: usize,
    ) -> Result<PendingDispatch<Tensor<T::Pair>>> {
        check_epsilon(epsilon)?;
        let (mean, variance) = (mean.into(), variance.into());
        let [channels] = mean.shape() else {
            return Err(told(Error::invalid("mean", format!("extents {:?}; a vector is needed", mean.shape()))));
        };
        if rank < 2 {
            return Err(told(Error::invalid("rank", format!("{rank} axes: the channels are axis 1"))));
        }
        let mut extents = vec![1; rank];
        extents.iter_mut().skip(1).take(1).for_each(|n| *n = *channels);
        let axes = Axes::channels(&extents).map_err(told)?;
        let ((mean, mean_layout), (variance, variance_layout)) = (mean.operand()?, variance.operand()?);
        let reads: [Read<'_>; 2] = [
            (mean.into(), axes.weight("mean", &mean_layout).map_err(told)?),
            (variance.into(), axes.weight("variance", &variance_layout).map_err(told)?),
        ];
        let recorded = formula(&[wide(T::DTYPE); 2], |inputs| match inputs {
            [mean, variance] => vec![complex(*mean, (*variance + epsilon).rsqrt())],
            _ => Vec::new(),
        });
        make_one(&self.device, recorded.map_err(told)?, &reads, &extents)
    }

    /// Statistics of a whole training with those of a batch mixed in: `(1 - momentum) * old + momentum * new`, mean and variance,
    /// in place. `moments` is what [`norm`](Self::norm) gave for [`NormKind::Batch`](super::super::NormKind::Batch).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for extents that are not the channels; the tensors come back. A stale tensor, or one of another
    /// device.
    #[expect(clippy::type_complexity, reason = "mean and variance in, the same out")]
    pub fn update_running<'m, T: SoftmaxElement>(
        &self,
        moments: impl ReadableTensor<'m, T::Pair>,
        (mean, variance): (Tensor<T::Wide>, Tensor<T::Wide>),
        running: Running,
    ) -> Submitted<(Tensor<T::Wide>, Tensor<T::Wide>)> {
        let moments = moments.into();
        let Running { momentum, epsilon, sample } = running;
        let factor = if sample > 1 { sample as f64 / (sample as f64 - 1.0) } else { 1.0 };
        let channels = moments.layout().len();
        let view = match moments.reshape([channels]) {
            Ok(view) => view,
            Err(error) => return Err(Rejected::new(told(error), (mean, variance))),
        };
        if mean.shape() != [channels] || variance.shape() != [channels] {
            let what = format!("extents {:?} and {:?} for {channels} channels", mean.shape(), variance.shape());
            let error = told(Error::invalid("running", what));
            return Err(Rejected::new(error, (mean, variance)));
        }
        update::<T>(self, &view, (mean, variance), [momentum, epsilon, factor])
    }
}

#[expect(clippy::type_complexity, reason = "mean and variance in, the same out")]
fn update<T: SoftmaxElement>(
    dnn: &Dnn,
    moments: &TensorRef<'_, T::Pair>,
    running: (Tensor<T::Wide>, Tensor<T::Wide>),
    [momentum, epsilon, factor]: [f64; 3],
) -> Submitted<(Tensor<T::Wide>, Tensor<T::Wide>)> {
    dnn.device.update(running, moments, |(mean, variance), moments: Symbol<T::Pair>| {
        let own = T::Wide::DTYPE;
        let [new, inverse] = parts(Symbol::new(moments.raw)).map(|x| cast(x, DType::F64));
        let spread = (inverse * inverse * epsilon - 1.0) / (inverse * inverse) * -factor;
        let mixed = |old: Symbol<T::Wide>, new: Symbol<f64>| -> Symbol<T::Wide> {
            let old = cast(Symbol::new(old.raw), DType::F64);
            Symbol::new(cast(old * (1.0 - momentum) + new * momentum, own).raw)
        };
        (mixed(mean, new), mixed(variance, spread))
    })
}
