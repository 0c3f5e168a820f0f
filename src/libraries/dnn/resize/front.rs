//! The call.

use super::blend;
use super::weights::{Interpolation, Resize, Taps};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{cast, either, formula};
use crate::libraries::expressions::{Symbol, constant};
use crate::libraries::reductions::front::{Call, submit as reduce};
use crate::libraries::reductions::{ReductionKind, SoftmaxElement};

fn told(error: Error) -> Error {
    error.in_op("resize", "dnn")
}

impl Dnn {
    /// A tensor with other extents, whose elements are made of those of `x` along each axis by itself. `scales` say how many new
    /// elements come from an old one; without them they are the quotients of the extents. Halves are rounded after each axis. An axis that
    /// keeps its extent and has the scale 1 stays as it is, unless it is cropped. An element of weight 0 does not matter.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{Interpolation, Resize};
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([1, 2], [0.0f32, 4.0])?;
    /// let y = device.dnn().resize(&x, &[1, 4], None, Resize::new(Interpolation::Linear))?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[[0. 1. 3. 4.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of extents or scales than there are axes, an axis without elements, a scale that
    /// is not positive; a stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn resize<'a, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        extents: &[usize],
        scales: Option<&[f64]>,
        resize: Resize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x = x.into();
        let axes = axes(x.shape(), extents, scales, resize)?.into_iter();
        let taps = axes.map(|Axis { axis, n, m, scale }| Ok((axis, resize.taps(n, m, scale).map_err(told)?)));
        let taps = taps.collect::<Result<Vec<_>>>()?;
        if !matches!(resize.interpolation, Interpolation::Nearest(_)) && blend::fits(self, &x, &taps) {
            return blend::run(self, &x, &taps, resize.outside);
        }
        let mut last: Option<PendingDispatch<Tensor<T>>> = None;
        for (axis, taps) in &taps {
            last = Some(then(last, &x, |x| along(self, x, *axis, taps, resize))?);
        }
        match last {
            Some(made) => Ok(made),
            None => self.device.map(&x, |x: Symbol<T>| x),
        }
    }

    /// The gradient of [`resize`](Self::resize) for its operand, of extents `elements`, by `dy` for its result: each element gets the
    /// sum of `dy` over the new elements that were made of it, times their weights. Halves are rounded after each axis.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::{Interpolation, Resize};
    /// let device = windlass::Device::best()?;
    /// let dy = device.tensor([1, 4], [1.0f32, 1.0, 1.0, 8.0])?;
    /// let dx = device.dnn().resize_gradient(&dy, &[1, 2], None, Resize::new(Interpolation::Linear))?.await_result()?;
    /// assert_eq!(device.show(&dx)?.to_string(), "[[2. 9.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Costs
    /// Each axis that changes takes at most some five times the memory of the larger one of both tensors: the sums are of lists, in their
    /// order, so that the bits are the same each time, on both engines.
    ///
    /// # Errors
    /// As [`resize`](Self::resize).
    pub fn resize_gradient<'d, T: SoftmaxElement>(
        &self,
        dy: impl ReadableTensor<'d, T>,
        elements: &[usize],
        scales: Option<&[f64]>,
        resize: Resize,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let dy = dy.into();
        let mut last: Option<PendingDispatch<Tensor<T>>> = None;
        // Zeros are added for no elements.
        let inner = Resize { outside: 0.0, interpolation: Interpolation::Linear, ..resize };
        let mut nothing = dy.layout().is_empty();
        for Axis { axis, n, m, scale } in axes(elements, dy.shape(), scales, resize)?.into_iter().rev() {
            let steps = resize.taps(n, m, scale).and_then(|taps| taps.transposed(n)).map_err(told)?;
            nothing |= steps.is_empty();
            for taps in steps.iter().filter(|_| !nothing) {
                last = Some(then(last.take(), &dy, |dy| along(self, dy, axis, taps, inner))?);
            }
        }
        match last.filter(|_| !nothing) {
            Some(made) => Ok(made),
            None if nothing => self.device.map(&self.device.zeros::<T>(elements)?, |x: Symbol<T>| x),
            None => self.device.map(&dy, |dy: Symbol<T>| dy),
        }
    }
}

/// An axis that changes: its old and its new elements.
struct Axis {
    axis: usize,
    n: usize,
    m: usize,
    scale: f64,
}

fn axes(from: &[usize], to: &[usize], scales: Option<&[f64]>, resize: Resize) -> Result<Vec<Axis>> {
    let rank = from.len();
    if to.len() != rank || scales.is_some_and(|scales| scales.len() != rank) {
        let what = format!("{} of them, and scales {scales:?}, for {rank} axes", to.len());
        return Err(told(Error::invalid("extents", what)));
    }
    let one = |(axis, (n, m)): (usize, (&usize, &usize))| {
        // Of no elements any scale will do.
        let even = if *m == 0 { 1.0 } else { *m as f64 / (*n).max(1) as f64 };
        let scale = scales.and_then(|scales| scales.get(axis).copied()).unwrap_or(even);
        match resize.has(axis) {
            true => Ok((n != m || scale != 1.0 || resize.crops(*n)).then_some(Axis { axis, n: *n, m: *m, scale })),
            false if n == m => Ok(None),
            false => {
                let what = format!("axis {axis} from {n} to {m} elements, but it is none of `Resize::axes`");
                Err(told(Error::invalid("extents", what)))
            }
        }
    };
    if let Some(axis) = (rank..Layout::MAX_RANK).find(|axis| resize.axes.is_some() && resize.has(*axis)) {
        return Err(told(Error::invalid("axes", format!("axis {axis}, but the rank is {rank}"))));
    }
    from.iter().zip(to).enumerate().filter_map(|of| one(of).transpose()).collect()
}

/// A step of the first tensor, or of what was made of it so far.
fn then<T: Element>(
    before: Option<PendingDispatch<Tensor<T>>>,
    x: &TensorRef<'_, T>,
    step: impl FnOnce(&TensorRef<'_, T>) -> Result<PendingDispatch<Tensor<T>>>,
) -> Result<PendingDispatch<Tensor<T>>> {
    match before {
        None => step(x),
        Some(before) => {
            let before = before.into_output();
            step(&before.view())
        }
    }
}

/// One axis: each new element is the sum of those that it takes, times their weights.
fn along<T: SoftmaxElement>(
    dnn: &Dnn,
    x: &TensorRef<'_, T>,
    axis: usize,
    taps: &Taps,
    resize: Resize,
) -> Result<PendingDispatch<Tensor<T>>> {
    let (device, m) = (&dnn.device, taps.outside.len());
    let indices = device.tensor([taps.indices.len()], &taps.indices[..])?;
    // SAFETY: an index was bounded by the elements of the axis, of which there are some.
    let taken = unsafe { device.take_unchecked(x, &indices, axis as isize) }?;
    let beyond = taps.outside.contains(&true);
    if matches!(resize.interpolation, Interpolation::Nearest(_)) && !beyond {
        return Ok(taken);
    }
    let taken = taken.into_output();
    let (view, wide) = (taken.view(), T::Wide::DTYPE);
    let (read, layout) = view.operand()?;
    // The elements that one takes are an axis of their own, behind the others' place.
    let mut extents = layout.shape().to_vec();
    extents.splice(axis..axis + 1, [m, taps.each]);
    let layout = Layout::row_major(&extents).map_err(told)?;
    let weights = device.tensor([2, m, taps.each], {
        let beyond = |k: usize| taps.outside.get(k / taps.each).copied().unwrap_or(false);
        let own = taps.weights.iter().enumerate().map(|(k, weight)| if beyond(k) { 0.0 } else { *weight });
        let share = |k: usize| if beyond(k) { resize.outside / taps.each as f64 } else { 0.0 };
        own.chain((0..taps.weights.len()).map(share)).collect::<Vec<f64>>()
    })?;
    let over = |which: usize| {
        let mut strides = vec![0; extents.len()];
        strides.iter_mut().skip(axis).zip([taps.each as isize, 1]).for_each(|(own, stride)| *own = stride);
        match extents.contains(&0) {
            true => Layout::row_major(&extents),
            false => Layout::new(&extents, strides, which * m * taps.each),
        }
    };
    let weights_view = weights.view();
    let (weights_read, _) = weights_view.operand()?;
    let reads = [
        (read.into(), layout),
        (weights_read.into(), over(0).map_err(told)?),
        (weights_read.into(), over(1).map_err(told)?),
    ];
    let element = formula(&[T::DTYPE, f64::DTYPE, f64::DTYPE], |inputs| match inputs {
        [x, weight, share] => {
            let [weight, share] = [weight, share].map(|value| cast(*value, wide));
            vec![either(weight.eq(constant(0.0)), share, cast(*x, wide).fma(weight, share), wide)]
        }
        _ => Vec::new(),
    });
    let finish = formula(&[wide], |sum| sum.iter().map(|sum| cast(*sum, T::DTYPE)).collect());
    let axes = [axis as i32 + 1];
    let call = Call { kind: ReductionKind::Sum, less: 0, axes: &axes, formula: element, finish: Some(finish) };
    reduce(device, call, Ok(reads.into_iter().collect()))
}
