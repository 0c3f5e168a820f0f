//! The calls of a device.

use super::super::{Dnn, DnnElement};
use super::op::Convolve;
use super::problem::{Direction, product, sizes};
use super::run::{Call, Extra, run};
use super::spec::{Convolution, Spatial, spread};
use crate::core::buffer::{AnyBuffers, DeviceBuffer};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{AnyTensorRef, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::libraries::dnn::formulas::formula;
use crate::libraries::reductions::{self, ReductionKind};
use crate::libraries::tensor_routine::{TensorRoutine, one_tensor};

/// What follows a convolution in the same pass: a residual that is added, then a bias for each filter, then the clipping at zero.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::dnn::{Convolution, Fused};
/// let device = windlass::Device::host()?;
/// let (x, w) = (device.tensor([1, 1, 3], [1.0f32, -2.0, 3.0])?, device.tensor([1, 1, 1], [2.0f32])?);
/// let bias = device.tensor([1], [1.0f32])?;
/// let y = device.dnn().convolve_fused(&Convolution::new(), &x, &w, Fused::new().bias(&bias).relu())?.await_result()?;
/// assert_eq!(device.show(&y)?.to_string(), "[[[3. 0. 7.]]]");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Fused<'a, T: Element> {
    pub(super) residual: Option<TensorRef<'a, T>>,
    pub(super) bias: Option<TensorRef<'a, T>>,
    pub(super) relu: bool,
}

impl<T: Element> Default for Fused<'_, T> {
    fn default() -> Self {
        Fused { residual: None, bias: None, relu: false }
    }
}

impl<'a, T: Element> Fused<'a, T> {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tensor of the extents of the result.
    #[must_use]
    pub fn residual(mut self, residual: impl ReadableTensor<'a, T>) -> Self {
        self.residual = Some(residual.into());
        self
    }

    /// Adds a number for each filter: a vector of as many.
    #[must_use]
    pub fn bias(mut self, bias: impl ReadableTensor<'a, T>) -> Self {
        self.bias = Some(bias.into());
        self
    }

    /// Replaces what is less than zero by zero.
    #[must_use]
    pub fn relu(mut self) -> Self {
        self.relu = true;
        self
    }
}

impl Dnn {
    fn new_tensor<T: DnnElement>(&self, call: &Call<'_>) -> Result<PendingDispatch<Tensor<T>>> {
        let (pending, layout) = run(&self.device, call, None).map_err(Rejected::into_error)?;
        one_tensor(pending, layout)
    }

    /// The convolution of `x` by the filters `w`: a new tensor. Does not wait.
    ///
    /// `x` has the axes batch, channels and one to three spatial ones; `w` filters, channels of a group, and as many spatial axes;
    /// the result batch, filters and the spatial axes, of `(n + padding - dilation * (window - 1) - 1) / stride + 1` elements. As
    /// everywhere in this field the window is not turned around (a cross-correlation).
    ///
    /// The axes are always in this order; where their elements lie is what the strides say. Channels may come last in memory
    /// (NHWC), which is faster for halves on a GPU; the result has the order of `x`. Operands with other strides are copied before.
    ///
    /// f16 and bf16 are summed in f32 and rounded once. f32 is not rounded to TF32 unless [`Convolution::tf32`] allows it.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::Convolution;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([1, 1, 2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let w = device.tensor([1, 1, 2, 2], [1.0f32, 0.0, 0.0, 1.0])?;
    /// let y = device.dnn().convolve(&Convolution::new(), &x, &w)?.await_result()?;
    /// assert_eq!((y.shape(), device.show(&y)?.to_string()), (&[1, 1, 1, 2][..], "[[[[6. 8.]]]]".into()));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names the argument: extents that do not fit each other, a window that is larger than the padded
    /// input, zero strides, groups that do not divide the channels; a stale tensor, or one of another device. At the wait
    /// [`Error::LibraryMissing`] without cuDNN 9.8 or newer, [`Error::Unsupported`] with its reason, [`Error::OutOfMemory`].
    pub fn convolve<'x, 'w, T: DnnElement>(
        &self,
        conv: &Convolution,
        x: impl ReadableTensor<'x, T>,
        w: impl ReadableTensor<'w, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (x, w) = (x.into(), w.into());
        self.new_tensor(&Call::new(conv, Direction::Forward, [any(&x), any(&w)]))
    }

    /// As [`convolve`](Self::convolve), into a tensor. Its elements lie one after the other, in either order.
    ///
    /// # Errors
    /// As there; [`Error::InvalidArgument`] for other extents or strides of `y`, which comes back.
    pub fn convolve_into<'x, 'w, T: DnnElement>(
        &self,
        conv: &Convolution,
        x: impl ReadableTensor<'x, T>,
        w: impl ReadableTensor<'w, T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (x, w) = (x.into(), w.into());
        let (buffer, layout, whole) = y.into().operand();
        let call = Call::new(conv, Direction::Forward, [any(&x), any(&w)]);
        let first = |any: AnyBuffers| any.downcast::<DeviceBuffer<T>>().map(|(buffer,)| buffer);
        match run(&self.device, &call, Some((buffer.into(), layout))) {
            Ok((pending, _)) => {
                let back = |any: AnyBuffers| Ok::<_, Error>((whole.tensor(first(any).map_err(Error::from)?),));
                Ok(pending.retype(back)?)
            }
            Err(Rejected { error, back }) => {
                let back = back.and_then(|any| first(any).ok()).map(|buffer| (whole.tensor(buffer),));
                Err(Rejected { error, back })
            }
        }
    }

    /// As [`convolve`](Self::convolve), with what follows it in the same pass: residual, bias and clipping. The sums are in f32 and
    /// rounded once; those of f64, and of no channels at all, are passes of their own.
    ///
    /// # Errors
    /// As there; [`Error::InvalidArgument`] for other extents of residual and bias.
    pub fn convolve_fused<'x, 'w, T: DnnElement>(
        &self,
        conv: &Convolution,
        x: impl ReadableTensor<'x, T>,
        w: impl ReadableTensor<'w, T>,
        fused: Fused<'_, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        with_fused(&self.device, (conv, &[x.into(), w.into()]), &fused, |call| self.new_tensor(call))
    }

    /// The gradient of the input, of that of the result and the filters. `input`: the spatial extents of the input, which the stride
    /// does not tell.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::Convolution;
    /// let device = windlass::Device::best()?;
    /// let (dy, w) = (device.tensor([1, 1, 2], [1.0f32, 10.0])?, device.tensor([1, 1, 2], [1.0f32, 2.0])?);
    /// let dx = device.dnn().convolve_data(&Convolution::new(), &dy, &w, [3])?.await_result()?;
    /// assert_eq!(device.show(&dx)?.to_string(), "[[[ 1. 12. 20.]]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`convolve`](Self::convolve); [`Error::InvalidArgument`] when an input of these extents does not give a result as `dy`.
    pub fn convolve_data<'y, 'w, T: DnnElement>(
        &self,
        conv: &Convolution,
        dy: impl ReadableTensor<'y, T>,
        w: impl ReadableTensor<'w, T>,
        input: impl Spatial,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (dy, w) = (dy.into(), w.into());
        let mut call = Call::new(conv, Direction::Data, [any(&dy), any(&w)]);
        call.spatial = Some(input.shape());
        self.new_tensor(&call)
    }

    /// The gradient of the filters, of the input and the gradient of the result. `window`: the spatial extents of the filters.
    ///
    /// # Errors
    /// As [`convolve_data`](Self::convolve_data).
    pub fn convolve_filter<'x, 'y, T: DnnElement>(
        &self,
        conv: &Convolution,
        x: impl ReadableTensor<'x, T>,
        dy: impl ReadableTensor<'y, T>,
        window: impl Spatial,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (x, dy) = (x.into(), dy.into());
        let mut call = Call::new(conv, Direction::Filter, [any(&x), any(&dy)]);
        call.spatial = Some(window.shape());
        self.new_tensor(&call)
    }

    /// The gradient of the bias, one for each filter: the sum of the gradient of the result over batch and places. It needs no cuDNN,
    /// and has the same bits on both engines.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `dy` has not three to five axes; a stale tensor, or one of another device;
    /// [`Error::OutOfMemory`].
    pub fn convolve_bias<'y, T: DnnElement>(
        &self,
        dy: impl ReadableTensor<'y, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let dy = dy.into();
        sizes("dy", dy.shape()).map_err(Convolve::refused)?;
        let axes: Vec<i32> = (0..dy.rank() as i32).filter(|axis| *axis != 1).collect();
        let read = dy.operand().map(|(read, layout)| [(read.into(), layout)].into_iter().collect());
        let itself = formula(&[T::DTYPE], <[_]>::to_vec);
        let call =
            reductions::front::Call { kind: ReductionKind::Sum, less: 0, axes: &axes, formula: itself, finish: None };
        reductions::front::submit(&self.device, call, read)
    }

    /// The transposed convolution, which is the gradient of the input of a convolution: of `x` with batch, filters and spatial
    /// axes, and `w` with filters, channels of a group and spatial axes. The result has
    /// `(n - 1) * stride - padding + dilation * (window - 1) + 1 + more` elements along a spatial axis; `more` is less than the
    /// stride, and usually 0.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::Convolution;
    /// let device = windlass::Device::best()?;
    /// let (x, w) = (device.tensor([1, 1, 2], [1.0f32, 10.0])?, device.tensor([1, 1, 2], [1.0f32, 2.0])?);
    /// let y = device.dnn().convolve_transposed(&Convolution::new().stride(2), &x, &w, 0)?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[[[ 1.  2. 10. 20.]]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`convolve`](Self::convolve); [`Error::InvalidArgument`] for `more` that is not less than the stride.
    pub fn convolve_transposed<'x, 'w, T: DnnElement>(
        &self,
        conv: &Convolution,
        x: impl ReadableTensor<'x, T>,
        w: impl ReadableTensor<'w, T>,
        more: impl Spatial,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (x, w) = (x.into(), w.into());
        let spatial = enlarged(conv, x.shape(), w.shape(), &more.shape()).map_err(Convolve::refused)?;
        let mut call = Call::new(conv, Direction::Data, [any(&x), any(&w)]);
        (call.spatial, call.is_transposed) = (Some(spatial), true);
        self.new_tensor(&call)
    }
}

/// The call of a convolution with what follows it.
pub(super) fn with_fused<T: Element, R>(
    device: &Device,
    (conv, [x, w]): (&Convolution, &[TensorRef<'_, T>; 2]),
    Fused { residual, bias, relu }: &Fused<'_, T>,
    f: impl FnOnce(&Call<'_>) -> Result<R>,
) -> Result<R> {
    let mut call = Call::new(conv, Direction::Forward, [any(x), any(w)]);
    // The library's passes have a bias.
    let none = match (bias, *relu || residual.is_some()) {
        (None, true) => Some(device.zeros::<T>([w.shape().first().copied().unwrap_or(0)])?),
        _ => None,
    };
    let none = none.as_ref().map(Tensor::view);
    if let Some(bias) = bias.as_ref().or(none.as_ref()) {
        call.extra = Some(Extra { residual: residual.as_ref().map(any), bias: any(bias), relu: *relu });
    }
    f(&call)
}

pub(super) fn any<'a, T: Element>(view: &'a TensorRef<'_, T>) -> AnyTensorRef<'a> {
    view.into()
}

/// The spatial extents of a transposed convolution.
fn enlarged(conv: &Convolution, x: &[usize], w: &[usize], more: &[usize]) -> Result<Vec<usize>> {
    let ((_, input), rank) = sizes("x", x)?;
    let ((_, window), of_w) = sizes("w", w)?;
    if of_w != rank {
        return Err(Error::invalid("w", format!("{of_w} spatial axes, but x has {rank}")));
    }
    let (stride, dilation) = (spread("stride", &conv.stride, rank, 1)?, spread("dilation", &conv.dilation, rank, 1)?);
    let padding = spread("padding", &conv.padding, rank, (0, 0))?;
    let more = spread("more", &Some(more.into()), rank, 0)?;
    let mut all = Vec::new();
    let axes = input.iter().zip(&window).zip(stride.iter().zip(&dilation)).zip(padding.iter().zip(&more));
    for (((n, k), (stride, dilation)), ((before, after), more)) in axes.skip(3 - rank) {
        if *more > 0 && more >= stride {
            return Err(Error::invalid("more", format!("{more}, which is not less than the stride {stride}")));
        }
        let full = || {
            let steps = product([n.checked_sub(1)?, *stride])?;
            let window = product([k.checked_sub(1)?, *dilation])?.checked_add(1)?;
            steps.checked_add(window)?.checked_add(*more)?.checked_sub(*before)?.checked_sub(*after)
        };
        let what = || format!("{n} elements and a window of {k} with {before} and {after} of padding give no result");
        all.push(full().ok_or_else(|| Error::invalid("x", what()))?);
    }
    Ok(all)
}
