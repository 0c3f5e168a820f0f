//! A convolution or one of its gradients with its operands, as what a plan is asked for.

use super::front::{Fused, any, with_fused};
use super::problem::Direction;
use super::run::Call;
use super::spec::{Convolution, Spatial};
use crate::core::element::Element;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, TensorRef};

/// Which of the computations of a convolution is meant, with its operands. [`Dnn::plan_convolution`] tells the plan of it,
/// [`Dnn::autotune_convolution`] measures the engines for it.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::dnn::{Convolution, ConvolutionPass};
/// let device = windlass::Device::best()?;
/// let (x, w) = (device.zeros::<f32>([1, 3, 8, 8])?, device.zeros::<f32>([4, 3, 3, 3])?);
/// let (conv, dy) = (Convolution::new(), device.zeros::<f32>([1, 4, 6, 6])?);
/// for pass in [
///     ConvolutionPass::forward(&x, &w),
///     ConvolutionPass::data(&dy, &w, [8, 8]),
///     ConvolutionPass::filter(&x, &dy, [3, 3]),
/// ] {
///     println!("{}", device.dnn().plan_convolution(&conv, &pass)?.explain()?);
/// }
/// # Ok(()) }
/// ```
///
/// [`Dnn::plan_convolution`]: crate::dnn::Dnn::plan_convolution
/// [`Dnn::autotune_convolution`]: crate::dnn::Dnn::autotune_convolution
#[derive(Clone, Debug)]
pub struct ConvolutionPass<'a, T: Element> {
    direction: Direction,
    reads: [TensorRef<'a, T>; 2],
    fused: Option<Fused<'a, T>>,
    spatial: Option<Vec<usize>>,
}

impl<'a, T: Element> ConvolutionPass<'a, T> {
    fn new(direction: Direction, reads: [TensorRef<'a, T>; 2], spatial: Option<Vec<usize>>) -> Self {
        ConvolutionPass { direction, reads, fused: None, spatial }
    }

    /// [`Dnn::convolve`](crate::dnn::Dnn::convolve), of input and filters.
    pub fn forward(x: impl ReadableTensor<'a, T>, w: impl ReadableTensor<'a, T>) -> Self {
        Self::new(Direction::Forward, [x.into(), w.into()], None)
    }

    /// [`Dnn::convolve_fused`](crate::dnn::Dnn::convolve_fused), with what follows the convolution.
    pub fn fused(x: impl ReadableTensor<'a, T>, w: impl ReadableTensor<'a, T>, fused: Fused<'a, T>) -> Self {
        ConvolutionPass { fused: Some(fused), ..Self::forward(x, w) }
    }

    /// [`Dnn::convolve_data`](crate::dnn::Dnn::convolve_data), of the gradient of the result and the filters, with the spatial extents
    /// of the input.
    pub fn data(dy: impl ReadableTensor<'a, T>, w: impl ReadableTensor<'a, T>, input: impl Spatial) -> Self {
        Self::new(Direction::Data, [dy.into(), w.into()], Some(input.shape()))
    }

    /// [`Dnn::convolve_filter`](crate::dnn::Dnn::convolve_filter), of the input and the gradient of the result, with the spatial extents
    /// of the filters.
    pub fn filter(x: impl ReadableTensor<'a, T>, dy: impl ReadableTensor<'a, T>, window: impl Spatial) -> Self {
        Self::new(Direction::Filter, [x.into(), dy.into()], Some(window.shape()))
    }

    /// The call of it.
    pub(super) fn with<R>(
        &self,
        device: &Device,
        conv: &Convolution,
        f: impl FnOnce(&Call<'_>) -> Result<R>,
    ) -> Result<R> {
        if let Some(fused) = &self.fused {
            return with_fused(device, (conv, &self.reads), fused, f);
        }
        let mut call = Call::new(conv, self.direction, self.reads.each_ref().map(any));
        call.spatial = self.spatial.clone();
        f(&call)
    }
}
