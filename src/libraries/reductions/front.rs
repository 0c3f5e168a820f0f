//! The calls of a device.

use super::axes::{Axes, Mask};
use super::kind::Reduction;
use super::op::Reduce;
use super::shape::{Asked, Planned};
use super::{
    AllTrue, AnyTrue, ArgMax, ArgMin, CountNonzero, LogSumExp, Max, Mean, Min, Norm1, Norm2, NormInf, Prod, Std, Sum,
    Var,
};
use crate::core::buffer::{AnyBuffers, AnyIns};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::tensor::{AnyTensor, ReadableTensor, Tensor};
use crate::libraries::expressions::build::{Symbol, Symbols, sealed};
use crate::libraries::expressions::formula::{Kept, Recorded, record};
use crate::libraries::expressions::operands::{Inputs, Read};
use crate::libraries::tensor_routine::TensorRoutine;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// What is reduced, and how; compiled once for all types.
pub(in crate::libraries) struct Call<'c> {
    pub(in crate::libraries) kind: super::ReductionKind,
    pub(in crate::libraries) less: u64,
    pub(in crate::libraries) axes: &'c dyn Mask,
    pub(in crate::libraries) formula: Result<Recorded>,
    pub(in crate::libraries) finish: Option<Result<Recorded>>,
}

/// The operation, and the layout of the result.
pub(super) fn operation(call: Call<'_>, reads: &[Read<'_>]) -> Result<(Reduce, Arc<Planned>)> {
    let Call { kind, less, axes, formula, finish } = call;
    let Recorded { kept: formula, scalars } = formula?;
    let (finish, finish_scalars) = match finish.transpose()? {
        Some(Recorded { kept, scalars }) => (Some(kept), scalars),
        None => (None, Vec::new()),
    };
    let planned = Planned::of(Asked { kind, formula, finish, axes }, reads)?;
    Ok((Reduce { shape: planned.shape.clone(), less, scalars, finish_scalars }, planned))
}

pub(in crate::libraries) fn submit<R: Element>(
    device: &Device,
    call: Call<'_>,
    reads: Result<SmallVec<[Read<'_>; 8]>>,
) -> Result<PendingDispatch<Tensor<R>>> {
    let reads = reads.map_err(Reduce::refused)?;
    let (reduce, planned) = operation(call, &reads).map_err(Reduce::refused)?;
    let layout = &planned.result;
    let buffer = device.unwritten::<R>(layout.len())?;
    let ins: AnyIns<'_> = reads.iter().map(|(read, _)| *read).collect();
    let submitted = device.dispatch(reduce, ins, [buffer.into()].into_iter().collect());
    let pending = submitted.map_err(Rejected::into_error)?;
    pending
        .retype(|buffers| <Symbol<R> as sealed::Outputs>::tie(buffers, layout))
        .map_err(|any: AnyBuffers| Error::from(any))
}

/// As [`submit`], with a result of the type that the call gives.
#[cfg(feature = "tensor")]
pub(in crate::libraries) fn submit_any(
    device: &Device,
    call: Call<'_>,
    reads: SmallVec<[Read<'_>; 8]>,
) -> Result<PendingDispatch<AnyBuffers>> {
    any(device, call, &reads).map(|(pending, _)| pending)
}

/// As [`submit`], with a result of the type that the call gives, at once.
pub(in crate::libraries) fn tensor_any(device: &Device, call: Call<'_>, reads: &[Read<'_>]) -> Result<AnyTensor> {
    let (pending, planned) = any(device, call, reads)?;
    let buffer = pending.into_output().into_iter().next();
    let buffer = buffer.ok_or_else(|| Error::library("internal error: no result"))?;
    Ok(AnyTensor::from_buffer(buffer, planned.result.clone())?)
}

fn any(device: &Device, call: Call<'_>, reads: &[Read<'_>]) -> Result<(PendingDispatch<AnyBuffers>, Arc<Planned>)> {
    let (reduce, planned) = operation(call, reads).map_err(Reduce::refused)?;
    let (buffer, _) = device.uninit_any(reduce.shape.result_type(), planned.result.shape())?.into_parts();
    let ins: AnyIns<'_> = reads.iter().map(|(read, _)| *read).collect();
    Ok((device.dispatch(reduce, ins, [buffer].into_iter().collect())?, planned))
}

/// The formula that gives its input, recorded once for each type.
pub(in crate::libraries) fn itself<T: Element>() -> Result<Recorded> {
    static KNOWN: [OnceLock<Arc<Kept>>; DType::Bool as usize + 1] =
        [const { OnceLock::new() }; DType::Bool as usize + 1];
    let place = KNOWN.get(T::DTYPE as usize);
    if let Some(kept) = place.and_then(OnceLock::get) {
        return Ok(Recorded { kept: kept.clone(), scalars: Vec::new() });
    }
    let recorded = record(&[T::DTYPE], |open| vec![open.input(0)])?;
    let _ = place.map(|place| place.set(recorded.kept.clone()));
    Ok(recorded)
}

/// Reductions.
impl Device {
    /// One of the [reductions](crate::reductions) of a tensor.
    fn reduce_one<'a, T: Element, K: Reduction<T>>(
        &self,
        x: impl ReadableTensor<'a, T>,
        axes: &impl Axes,
        kind: K,
    ) -> Result<PendingDispatch<Tensor<K::Output>>> {
        let x = x.into();
        let read = x.operand().map(|(part, layout)| [(part.into(), layout)].into_iter().collect());
        let call = Call { kind: kind.kind(), less: kind.less(), axes, formula: itself::<T>(), finish: None };
        submit(self, call, read)
    }

    /// Reduces a formula of tensors along axes: the closure makes the elements, which are never stored. Inputs and closure are
    /// those of [`map`](Self::map), with one output.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::reductions::{All, Max, Sum};
    /// let device = windlass::Device::best()?;
    /// let (x, y) = (device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0])?, device.tensor([2], [0.0f32, 5.0])?);
    /// let distance = device.reduce((&x, &y), -1, |(x, y)| (x - y).abs(), Sum)?.await_result()?;
    /// assert_eq!(device.show(&distance)?.to_string(), "[4. 4.]");
    /// let farthest = device.reduce((&x, &y), All, |(x, y)| (x - y).abs(), Max)?.await_result()?;
    /// assert_eq!(device.item(&farthest)?, 3.0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names the operation in the closure that has no meaning, inputs that are not broadcast to
    /// each other, and an axis that is not there or is named twice; [`Min`], [`Max`], [`ArgMin`] and [`ArgMax`] of no
    /// element; a stale tensor, or one of another device; [`Error::OutOfMemory`].
    pub fn reduce<I: Inputs, T: Element, K: Reduction<T>>(
        &self,
        inputs: I,
        axes: impl Axes,
        element: impl FnOnce(I::Symbols) -> Symbol<T>,
        kind: K,
    ) -> Result<PendingDispatch<Tensor<K::Output>>> {
        let formula = closure::<I::Symbols, T>(element);
        let call = Call { kind: kind.kind(), less: kind.less(), axes: &axes, formula, finish: None };
        inputs.with(|reads| submit(self, call, reads))
    }

    /// As [`reduce`](Self::reduce), followed by a formula of each result.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::reductions::Mean;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [3.0f32, 3.0, 0.0, 4.0])?;
    /// let scale = device.reduce_then(&x, 1, |x| x * x, Mean, |mean| (mean + 1.0).rsqrt())?.await_result()?;
    /// assert!(device.allclose(&scale, &device.tensor([2], [0.1f32.sqrt(), 1.0 / 3.0])?, 1e-6, 0.0)?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn reduce_then<I: Inputs, T: Element, K: Reduction<T>, R: Element>(
        &self,
        inputs: I,
        axes: impl Axes,
        element: impl FnOnce(I::Symbols) -> Symbol<T>,
        kind: K,
        finish: impl FnOnce(Symbol<K::Output>) -> Symbol<R>,
    ) -> Result<PendingDispatch<Tensor<R>>> {
        let formula = closure::<I::Symbols, T>(element);
        let finish = Some(closure::<Symbol<K::Output>, R>(finish));
        let call = Call { kind: kind.kind(), less: kind.less(), axes: &axes, formula, finish };
        inputs.with(|reads| submit(self, call, reads))
    }
}

/// Records a closure that gives one value.
fn closure<I: Symbols, R: Element>(f: impl FnOnce(I) -> Symbol<R>) -> Result<Recorded> {
    record(I::DTYPES, |open| sealed::Symbols::raws(f(I::inputs(open, 0))))
}

macro_rules! methods { ($($(#[$meta:meta])* $name:ident $kind:ident $(($($argument:ident: $t:ty),*))? => $value:expr;)*) => {
    impl Device { $(
        $(#[$meta])*
        ///
        /// # Errors
        /// As [`reduce`](Self::reduce).
        pub fn $name<'a, T: Element>(
            &self,
            x: impl ReadableTensor<'a, T>,
            axes: impl Axes,
            $($($argument: $t),*)?
        ) -> Result<PendingDispatch<Tensor<<$kind as Reduction<T>>::Output>>>
        where
            $kind: Reduction<T>,
        {
            self.reduce_one(x, &axes, $value)
        }
    )* }
} }

methods! {
    /// The sum along axes: `i64` of signed integers and [`Bool`](crate::Bool), `u64` of unsigned ones.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::reductions::All;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 3], [1i32, 2, 3, 4, 5, 6])?;
    /// assert_eq!(device.show(&device.sum(&x, 0)?.await_result()?)?.to_string(), "[5 7 9]");
    /// assert_eq!(device.show(&device.sum(&x, [-1])?.await_result()?)?.to_string(), "[ 6 15]");
    /// assert_eq!(device.item(&device.sum(&x, All)?.await_result()?)?, 21i64);
    /// # Ok(()) }
    /// ```
    sum Sum => Sum;
    /// The product along axes, of the types of [`sum`](Self::sum).
    prod Prod => Prod;
    /// The mean along axes: `f64` of integers, NaN of no element.
    mean Mean => Mean;
    /// The variance along axes: see [`Var`]. `ddof` is 0 for that of a population, 1 for that of a sample.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([4], [1.0f64, 2.0, 3.0, 4.0])?;
    /// assert_eq!(device.item(&device.var(&x, 0, 0)?.await_result()?)?, 1.25);
    /// # Ok(()) }
    /// ```
    var Var(ddof: u32) => Var { ddof };
    /// The standard deviation along axes: the root of [`var`](Self::var).
    std Std(ddof: u32) => Std { ddof };
    /// The smallest element along axes; NaN if one is.
    min Min => Min;
    /// The largest element along axes; NaN if one is.
    max Max => Max;
    /// The number of the smallest element along axes, counted in their order: of equal ones the first, of the first NaN if there
    /// is one.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 3], [3.0f32, 1.0, 1.0, 0.0, f32::NAN, -1.0])?;
    /// assert_eq!(device.show(&device.argmin(&x, 1)?.await_result()?)?.to_string(), "[1 1]");
    /// # Ok(()) }
    /// ```
    argmin ArgMin => ArgMin;
    /// The number of the largest element along axes; see [`argmin`](Self::argmin).
    argmax ArgMax => ArgMax;
    /// Whether no element along the axes is zero.
    all_true AllTrue => AllTrue;
    /// Whether an element along the axes is not zero.
    any_true AnyTrue => AnyTrue;
    /// How many elements along the axes are not zero.
    count_nonzero CountNonzero => CountNonzero;
    /// The sum of magnitudes along axes.
    norm1 Norm1 => Norm1;
    /// The Euclidean norm along axes; it neither overflows nor vanishes where the result is representable.
    norm2 Norm2 => Norm2;
    /// The largest magnitude along axes.
    norm_inf NormInf => NormInf;
    /// log(sum(exp(x))) along axes, without overflow.
    logsumexp LogSumExp => LogSumExp;
}
