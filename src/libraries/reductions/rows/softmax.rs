//! Softmax: a reduction to the largest element and the sum of exponentials, and a formula that takes both.

use super::super::axes::{Keep, check_axis};
use super::super::front::{Call, itself};
use super::super::kind::ReductionKind;
use super::{Spread, submit};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::Result;
#[cfg(any(feature = "host", feature = "cuda"))]
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::tensor::{ReadableTensor, Tensor};
use crate::libraries::expressions::build::{Open, Raw, Symbol, constant};
#[cfg(any(feature = "host", feature = "cuda"))]
use crate::libraries::expressions::formula::Kept;
use crate::libraries::expressions::formula::{Recorded, record};
#[cfg(any(feature = "host", feature = "cuda"))]
use crate::libraries::expressions::ir::Expr;
use crate::libraries::expressions::operands::Read;
use half::{bf16, f16};
use num_complex::Complex;
use std::sync::OnceLock;

/// An element of which [`Device::softmax`] is made, and that is normalised: a floating point number of 16 bits or more. Sealed.
pub trait SoftmaxElement: Element + sealed::SoftmaxElement {
    /// In what it is computed: `f32`, or `f64` for `f64`.
    type Wide: Element;
    /// A complex number of such parts: of softmax the largest element and the sum, of normalisation the mean and the inverse
    /// deviation.
    type Pair: Element;
}

mod sealed {
    pub trait SoftmaxElement {}
}

macro_rules! exponentials { ($($t:ty: $part:ty),*) => { $(
    impl sealed::SoftmaxElement for $t {}
    impl SoftmaxElement for $t {
        type Wide = $part;
        type Pair = Complex<$part>;
    }
)* } }
exponentials!(f16: f32, bf16: f32, f32: f32, f64: f64);

const PLACES: usize = 2 * (DType::Bool as usize + 1);

/// A formula of each type: of softmax, and of its logarithm.
type Known = [OnceLock<Recorded>; PLACES];

/// Records a formula the first time.
fn kept<T: Element>(
    known: &'static Known,
    logarithm: bool,
    types: &[DType],
    make: impl FnOnce(&Open) -> Vec<Raw>,
) -> Result<Recorded> {
    let again = |known: &Recorded| Recorded { kept: known.kept.clone(), scalars: known.scalars.clone() };
    let place = known.get(2 * T::DTYPE as usize + usize::from(logarithm));
    if let Some(known) = place.and_then(OnceLock::get) {
        return Ok(again(known));
    }
    let recorded = record(types, make)?;
    let _ = place.map(|place| place.set(again(&recorded)));
    Ok(recorded)
}

/// The logarithm, or the inverse, of a row's sum instead of the sum.
fn finish<T: SoftmaxElement>(logarithm: bool) -> Result<Recorded> {
    static KNOWN: Known = [const { OnceLock::new() }; PLACES];
    kept::<T>(&KNOWN, logarithm, &[T::Pair::DTYPE], |open| {
        let pair = Symbol::<f64>::new(open.input(0));
        let sum = Symbol::<f64>::new(pair.im().raw);
        let of_sum = if logarithm { sum.log() } else { constant(1) / sum };
        vec![pair.re().complex(of_sum).raw]
    })
}

/// Of an element and what [`finish`] gives, the new element.
fn made<T: SoftmaxElement>(logarithm: bool) -> Result<Recorded> {
    static KNOWN: Known = [const { OnceLock::new() }; PLACES];
    kept::<T>(&KNOWN, logarithm, &[T::DTYPE, T::Pair::DTYPE], |open| {
        // The recording knows the types: those here have no meaning.
        let [x, pair] = [0, 1].map(|k| Symbol::<f64>::new(open.input(k)));
        let (largest, of_sum) = (pair.re(), pair.im());
        let x = match T::Pair::DTYPE {
            DType::C32 => Symbol::new(x.cast::<f32>().raw),
            _ => x,
        };
        let distance = x - largest;
        let y = if logarithm { distance - of_sum } else { distance.exp() * of_sum };
        vec![y.cast::<T>().raw]
    })
}

/// If these are the formulas of softmax: of the exponential of an element's distance and what a row has, the new element.
#[cfg(any(feature = "host", feature = "cuda"))]
pub(super) fn of_exponential(dtype: DType, finish: &Expr, made: &Expr) -> Result<Option<Arc<Kept>>> {
    match dtype {
        DType::F16 => of_exponential_of::<f16>(finish, made),
        DType::Bf16 => of_exponential_of::<bf16>(finish, made),
        DType::F32 => of_exponential_of::<f32>(finish, made),
        DType::F64 => of_exponential_of::<f64>(finish, made),
        _ => Ok(None),
    }
}

#[cfg(any(feature = "host", feature = "cuda"))]
fn of_exponential_of<T: SoftmaxElement>(of_row: &Expr, of_element: &Expr) -> Result<Option<Arc<Kept>>> {
    if finish::<T>(false)?.kept.expr != *of_row || made::<T>(false)?.kept.expr != *of_element {
        return Ok(None);
    }
    let recorded = record(&[T::Wide::DTYPE, T::Pair::DTYPE], |open| {
        let [exponential, pair] = [0, 1].map(|k| Symbol::<f64>::new(open.input(k)));
        vec![(exponential * pair.im()).cast::<T>().raw]
    });
    Ok(Some(recorded?.kept))
}

fn softmax<T: SoftmaxElement>(
    device: &Device,
    (x, layout): Read<'_>,
    axis: i32,
    logarithm: bool,
) -> Result<PendingDispatch<Tensor<T>>> {
    let name = if logarithm { "log_softmax" } else { "softmax" };
    check_axis(axis, layout.shape().len()).map_err(|error| error.in_op(name, "expressions"))?;
    let kind = ReductionKind::Exponentials;
    let finish = Some(finish::<T>(logarithm));
    let call = Call { kind, less: 0, axes: &Keep(axis), formula: itself::<T>(), finish };
    let spread = Spread { call, formula: made::<T>(logarithm) };
    submit::<T, T::Pair>(device, spread, &[(x, layout)], &[])?.retype(|(y, _)| Ok((y,)))
}

/// Rows: softmax.
impl Device {
    /// exp(x) divided by its sum along an axis, without overflow.
    ///
    /// The exponentials are multiplied by the inverse of their sum. Where an element is +inf or NaN, or all
    /// are -inf, the results along the axis are NaN.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([2, 2], [0.0f32, 0.0, 1000.0, -1000.0])?;
    /// let y = device.softmax(&x, -1)?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[[0.5 0.5]\n [1.  0. ]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an axis that is not there; a stale tensor, or one of another
    /// device; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn softmax<'a, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        axis: i32,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x = x.into();
        let (part, layout) = x.operand()?;
        softmax(self, (part.into(), layout), axis, false)
    }

    /// The logarithm of [`softmax`](Self::softmax): x - logsumexp(x), in one step from the largest element.
    ///
    /// # Errors
    /// As [`softmax`](Self::softmax).
    pub fn log_softmax<'a, T: SoftmaxElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        axis: i32,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x = x.into();
        let (part, layout) = x.operand()?;
        softmax(self, (part.into(), layout), axis, true)
    }
}
