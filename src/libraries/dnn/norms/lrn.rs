//! Local response normalisation (A. Krizhevsky and others, 2012).

use super::front::told;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{Value, cast, formula};
use crate::libraries::dnn::pooling::{Divide, Pass, Pool, one};
use crate::libraries::expressions::formula::Recorded;
use crate::libraries::expressions::front::make_one;
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::SoftmaxElement;

/// The settings of [`Dnn::response_norm`]: `x / (k + alpha / size * sum of squares)^beta`, the sum over so many neighbouring
/// channels. Of an even number one more lies behind the channel than before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseNorm {
    /// Channels.
    pub size: usize,
    /// The factor of the mean square.
    pub alpha: f64,
    /// The exponent.
    pub beta: f64,
    /// What is added.
    pub k: f64,
}

/// The layout with axis 1 as the last one, or the last one as axis 1.
fn turned(layout: &Layout, away: bool) -> Result<Layout> {
    let (mut extents, mut strides) = (layout.shape().to_vec(), layout.strides().to_vec());
    let last = extents.len() - 1;
    let (from, to) = if away { (1, last) } else { (last, 1) };
    let (n, stride) = (extents.remove(from), strides.remove(from));
    extents.insert(to, n);
    strides.insert(to, stride);
    Layout::new(extents, strides, layout.offset())
}

fn operand<'x, T: Element>(x: &'x TensorRef<'_, T>) -> Result<Read<'x>> {
    let (part, layout) = x.operand()?;
    Ok((part.into(), layout))
}

impl ResponseNorm {
    fn check(&self, extents: &[usize]) -> Result<()> {
        if extents.len() < 2 {
            let what = format!("extents {extents:?}: there is no axis 1, which has the channels");
            return Err(told(Error::invalid("x", what)));
        }
        if extents.get(1) == Some(&0) {
            return Err(told(Error::invalid("x", format!("extents {extents:?}: it has no channels"))));
        }
        if self.size == 0 {
            return Err(told(Error::invalid("size", "0 channels")));
        }
        Ok(())
    }

    /// Sums over neighbouring channels of a tensor; the windows of the gradient are turned.
    fn sums<W: Element>(&self, dnn: &Dnn, x: &Tensor<W>, back: bool) -> Result<Tensor<W>> {
        let (fewer, more) = ((self.size - 1) / 2, self.size / 2);
        let (before, after) = if back { (more, fewer) } else { (fewer, more) };
        let pool = Pool::new([self.size]).stride([1]).padding_between([before], [after]);
        let view = x.view();
        let (read, layout) = operand(&view)?;
        let layout = turned(&layout, true).map_err(told)?;
        let extents = layout.shape().to_vec();
        let sums = one(&dnn.device, Pass::Sum(Divide::Never), &pool, &extents, vec![(read, layout)]);
        // What the windows refuse, the caller has called `size`.
        let sums = sums.map_err(|error| match error {
            Error::InvalidArgument { argument, reason, .. } if argument == "window" => {
                told(Error::invalid("size", reason))
            }
            other => other,
        });
        Ok(sums?.into_output())
    }

    fn base(&self, sum: Value) -> Value {
        sum * (self.alpha / self.size as f64) + self.k
    }
}

/// Makes a tensor of operands; the sums have their channels as last axis.
fn made<T: Element, W: Element>(
    dnn: &Dnn,
    recorded: Result<Recorded>,
    reads: &[Read<'_>],
    sums: &[&Tensor<W>],
) -> Result<PendingDispatch<Tensor<T>>> {
    let extents = reads.first().map(|(_, layout)| layout.shape().to_vec()).unwrap_or_default();
    let views: Vec<TensorRef<'_, W>> = sums.iter().map(|sums| sums.view()).collect();
    let mut all = reads.to_vec();
    for view in &views {
        let (read, layout) = operand(view)?;
        all.push((read, turned(&layout, false).map_err(told)?));
    }
    make_one(&dnn.device, recorded.map_err(told)?, &all, &extents)
}

impl Dnn {
    /// Each element over a power of the mean square of neighbouring channels, axis 1. Three dispatches.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::ResponseNorm;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([1, 3], [1.0f32, 2.0, 2.0])?;
    /// let norm = ResponseNorm { size: 1, alpha: 1.0, beta: 1.0, k: 1.0 };
    /// let y = device.dnn().response_norm(&x, norm)?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[[0.5 0.4 0.4]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] without an axis 1, or of no channels; a stale tensor, or one of another device;
    /// [`Error::OutOfMemory`].
    pub fn response_norm<'a, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        norm: ResponseNorm,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x = x.into();
        norm.check(x.shape())?;
        let sums = squares::<T>(self, &x, norm)?;
        let wide = T::Wide::DTYPE;
        let recorded = formula(&[T::DTYPE, wide], |inputs| match inputs {
            [x, sum] => vec![cast(cast(*x, wide) / norm.base(*sum).pow(norm.beta), T::DTYPE)],
            _ => Vec::new(),
        });
        made(self, recorded, &[operand(&x)?], &[&sums])
    }

    /// The gradient of [`response_norm`](Self::response_norm) for `x`, by `dy` for its result. Five dispatches.
    ///
    /// # Errors
    /// As [`response_norm`](Self::response_norm).
    pub fn response_norm_gradient<'a, 'd, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        dy: impl ReadableTensor<'d, T>,
        norm: ResponseNorm,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (x, dy) = (x.into(), dy.into());
        norm.check(x.shape())?;
        let sums = squares::<T>(self, &x, norm)?;
        let wide = T::Wide::DTYPE;
        let types: [DType; 3] = [T::DTYPE, T::DTYPE, wide];
        let shares = formula(&types, |inputs| match inputs {
            [x, dy, sum] => {
                let base = norm.base(*sum);
                vec![cast(*x, wide) * cast(*dy, wide) / base.pow(norm.beta + 1.0)]
            }
            _ => Vec::new(),
        });
        let reads = [operand(&x)?, operand(&dy)?];
        let shares: Tensor<T::Wide> = made(self, shares, &reads, &[&sums])?.into_output();
        let around = norm.sums(self, &shares, true)?;
        let factor = 2.0 * norm.alpha * norm.beta / norm.size as f64;
        let own = formula(&[T::DTYPE, T::DTYPE, wide, wide], |inputs| match inputs {
            [x, dy, sum, around] => {
                let direct = cast(*dy, wide) / norm.base(*sum).pow(norm.beta);
                vec![cast(direct - cast(*x, wide) * *around * factor, T::DTYPE)]
            }
            _ => Vec::new(),
        });
        made(self, own, &reads, &[&sums, &around])
    }
}

/// The sums of squares, with the channels as last axis.
fn squares<T: SoftmaxElement>(dnn: &Dnn, x: &TensorRef<'_, T>, norm: ResponseNorm) -> Result<Tensor<T::Wide>> {
    let square =
        formula(&[T::DTYPE], |inputs| inputs.iter().map(|x| cast(*x, T::Wide::DTYPE)).map(|x| x * x).collect());
    let squares: Tensor<T::Wide> = made::<T::Wide, T::Wide>(dnn, square, &[operand(x)?], &[])?.into_output();
    norm.sums(dnn, &squares, false)
}
