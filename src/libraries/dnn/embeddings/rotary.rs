//! Rotary embedding (J. Su and others, 2021).

use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::tensor::{AxisSlice, Layout, ReadableTensor, Tensor, TensorRef};
use crate::libraries::dnn::Dnn;
use crate::libraries::dnn::formulas::{cast, either, formula};
use crate::libraries::expressions::front::make_one;
use crate::libraries::expressions::operands::Read;
use crate::libraries::expressions::{constant, position};
use crate::libraries::reductions::SoftmaxElement;

/// Which elements [`Dnn::rotary`] turns as a pair, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotary {
    /// An element of the first half, and that at its place in the second half.
    Halves,
    /// Neighbours.
    Neighbours,
    /// [`Halves`](Self::Halves) turned back, which is the gradient.
    HalvesBack,
    /// [`Neighbours`](Self::Neighbours) turned back.
    NeighboursBack,
}

impl Rotary {
    const fn is_near(self) -> bool {
        matches!(self, Rotary::Neighbours | Rotary::NeighboursBack)
    }

    const fn is_back(self) -> bool {
        matches!(self, Rotary::HalvesBack | Rotary::NeighboursBack)
    }
}

fn told(error: Error) -> Error {
    error.in_op("rotary", "dnn")
}

/// The layout with its last axis as pairs, and with the elements of a pair changed.
fn paired(layout: &Layout, near: bool, turned: bool) -> Result<Layout> {
    let (mut extents, mut strides) = (layout.shape().to_vec(), layout.strides().to_vec());
    let (n, stride) = (extents.pop().unwrap_or(0), strides.pop().unwrap_or(0));
    let half = n / 2;
    let (pair, own) = if near { (stride, 2 * stride) } else { (stride * half as isize, stride) };
    let sign = if turned { -1 } else { 1 };
    extents.extend(if near { [half, 2] } else { [2, half] });
    strides.extend(if near { [own, pair * sign] } else { [pair * sign, own] });
    if extents.contains(&0) {
        return Layout::row_major(extents);
    }
    let offset = layout.offset() as isize + if turned { pair } else { 0 };
    Layout::new(extents, strides, offset.unsigned_abs())
}

/// The layout of factors, one for each pair, broadcast to the elements.
fn factors(layout: &Layout, near: bool, extents: &[usize]) -> Result<Layout> {
    let (mut own, mut strides) = (layout.shape().to_vec(), layout.strides().to_vec());
    let at = if near { own.len() } else { own.len().saturating_sub(1) };
    own.insert(at, 1);
    strides.insert(at, 0);
    Layout::new(own, strides, layout.offset())?.broadcast(extents)
}

impl Dnn {
    /// Turns pairs of elements along the last axis: `(a cos - b sin, a sin + b cos)`.
    ///
    /// `cosine` and `sine` have an element for each pair along their last axis, and are broadcast along the others. Elements beyond the
    /// pairs are copied, by a second dispatch.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::Rotary;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([1, 4], [1.0f32, 2.0, 3.0, 4.0])?;
    /// let (cosine, sine) = (device.tensor([2], [0.0f32, 1.0])?, device.tensor([2], [1.0f32, 0.0])?);
    /// let y = device.dnn().rotary(&x, &cosine, &sine, Rotary::Halves)?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[[-3.  2.  1.  4.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the factors do not fit; a stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn rotary<'a, 'c, 's, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        cosine: impl ReadableTensor<'c, T>,
        sine: impl ReadableTensor<'s, T>,
        rotary: Rotary,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (x, cosine, sine) = (x.into(), cosine.into(), sine.into());
        let pairs = cosine.shape().last().copied().unwrap_or(0);
        let all = x.shape().last().copied().unwrap_or(0);
        let Some(turned) = pairs.checked_mul(2).filter(|turned| *turned <= all && x.rank() > 0) else {
            let what = format!("{pairs} pairs of {all} elements along the last axis of {:?}", x.shape());
            return Err(told(Error::invalid("cosine", what)));
        };
        let last = x.rank() - 1;
        if turned == all {
            return turn(self, &x, (&cosine, &sine), rotary);
        }
        let along = |range: std::ops::Range<usize>| {
            let mut slices: Vec<AxisSlice> = vec![AxisSlice::from(..); last];
            slices.push(range.into());
            x.slice(slices).map_err(told)
        };
        let (part, rest) = (along(0..turned)?, along(turned..all)?);
        let made = turn(self, &part, (&cosine, &sine), rotary)?.into_output();
        self.device.concat([made.view(), rest], last as isize)
    }
}

fn turn<T: SoftmaxElement>(
    dnn: &Dnn,
    x: &TensorRef<'_, T>,
    (cosine, sine): (&TensorRef<'_, T>, &TensorRef<'_, T>),
    rotary: Rotary,
) -> Result<PendingDispatch<Tensor<T>>> {
    let ((x, layout), (cosine, cosines), (sine, sines)) = (x.operand()?, cosine.operand()?, sine.operand()?);
    let near = rotary.is_near();
    let [own, other] = [false, true].map(|turned| paired(&layout, near, turned).map_err(told));
    let (own, other) = (own?, other?);
    let extents = own.shape().to_vec();
    let reads: [Read<'_>; 4] = [
        (x.into(), own),
        (x.into(), other),
        (cosine.into(), factors(&cosines, near, &extents).map_err(told)?),
        (sine.into(), factors(&sines, near, &extents).map_err(told)?),
    ];
    let axis = extents.len() - if near { 1 } else { 2 };
    let (wide, back) = (T::Wide::DTYPE, rotary.is_back());
    let recorded = formula(&[T::DTYPE; 4], |inputs| match inputs {
        [x, other, cosine, sine] => {
            let [x, other, cosine, sine] = [x, other, cosine, sine].map(|value| cast(*value, wide));
            let first = position(axis as u8).eq(constant(0));
            let signs = if back { (constant(1.0), constant(-1.0)) } else { (constant(-1.0), constant(1.0)) };
            let sign = either(first, signs.0, signs.1, wide);
            vec![cast(x.fma(cosine, other * sine * sign), T::DTYPE)]
        }
        _ => Vec::new(),
    });
    let whole = layout.shape().to_vec();
    let made = make_one::<T>(&dnn.device, recorded.map_err(told)?, &reads, &extents)?;
    made.retype(|(y,)| {
        let (buffer, _) = y.into_parts();
        Tensor::from_buffer(buffer, &whole).map(|y| (y,)).map_err(|rejected| rejected.error)
    })
}
