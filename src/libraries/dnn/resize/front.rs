//! The call.

use super::weights::{Interpolation, Resize};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{cast, formula};
use crate::libraries::expressions::Symbol;
use crate::libraries::reductions::front::{Call, submit as reduce};
use crate::libraries::reductions::{ReductionKind, SoftmaxElement};

fn told(error: Error) -> Error {
    error.in_op("resize", "dnn")
}

impl Dnn {
    /// A tensor with other extents, whose elements are made of those of `x` along each axis by itself. `scales` say how many new
    /// elements come from an old one; without them they are the quotients of the extents. Halves are rounded after each axis. An axis that keeps its
    /// extent and has the scale 1 stays as it is.
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
        let rank = x.rank();
        if extents.len() != rank || scales.is_some_and(|scales| scales.len() != rank) {
            let what = format!("{} of them, and scales {scales:?}, for {rank} axes", extents.len());
            return Err(told(Error::invalid("extents", what)));
        }
        let mut last: Option<PendingDispatch<Tensor<T>>> = None;
        for (axis, (n, m)) in x.extents().iter().zip(extents).enumerate() {
            // Of no elements any scale will do.
            let even = if *m == 0 { 1.0 } else { *m as f64 / (*n).max(1) as f64 };
            let scale = scales.and_then(|scales| scales.get(axis).copied()).unwrap_or(even);
            let stays = n == m && scale == 1.0;
            if stays {
                continue;
            }
            last = Some(match last.take() {
                None => along(self, &x, axis, *m, scale, resize)?,
                Some(before) => {
                    let before = before.into_output();
                    along(self, &before.view(), axis, *m, scale, resize)?
                }
            });
        }
        match last {
            Some(made) => Ok(made),
            None => self.device.map(&x, |x: Symbol<T>| x),
        }
    }
}

/// One axis.
fn along<T: SoftmaxElement>(
    dnn: &Dnn,
    x: &TensorRef<'_, T>,
    axis: usize,
    m: usize,
    scale: f64,
    resize: Resize,
) -> Result<PendingDispatch<Tensor<T>>> {
    let (device, n) = (&dnn.device, x.extents().get(axis).copied().unwrap_or(0));
    let taps = resize.taps(n, m, scale).map_err(told)?;
    let indices = device.tensor([taps.indices.len()], taps.indices)?;
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
    let mut extents = layout.extents().to_vec();
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
            vec![cast(*x, wide).fma(weight, share)]
        }
        _ => Vec::new(),
    });
    let finish = formula(&[wide], |sum| sum.iter().map(|sum| cast(*sum, T::DTYPE)).collect());
    let axes = [axis as i32 + 1];
    let call = Call { kind: ReductionKind::Sum, less: 0, axes: &axes, formula: element, finish: Some(finish) };
    reduce(device, call, Ok(reads.into_iter().collect()))
}
