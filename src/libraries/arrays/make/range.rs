//! Numbers by a step.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::device::Device;
use crate::device::tensor::Tensor;
use crate::libraries::arrays::untyped::{Value, cast, select, value, wide};
use crate::libraries::expressions::Scalar;
use crate::libraries::expressions::build::recording::typed;
use crate::libraries::expressions::build::{Operand, Symbol, position};
use crate::libraries::expressions::formula::{Recorded, record};
use crate::libraries::expressions::front::make_one;
use crate::libraries::expressions::ir::{Op, Overflow};
use crate::libraries::reductions::{Max, Reduction};
use half::{bf16, f16};

fn zero_step() -> Error {
    Error::invalid("step", "0, which leads nowhere: `Device::full` repeats a number")
}

/// How many integers there are from `start` to before `stop`.
fn count([start, stop, step]: [i128; 3]) -> Result<usize> {
    if step == 0 {
        return Err(zero_step());
    }
    let (distance, step) = if step > 0 { (stop - start, step) } else { (start - stop, -step) };
    let count = if distance <= 0 { 0 } else { (distance - 1) / step + 1 };
    usize::try_from(count).map_err(|_| Error::invalid("stop", format!("{count} numbers, more than a tensor can have")))
}

/// How many numbers there are.
fn count_real([start, stop, step]: [f64; 3]) -> Result<usize> {
    if step == 0.0 {
        return Err(zero_step());
    }
    let count = ((stop - start) / step).ceil();
    match count {
        _ if count.is_nan() => {
            let what = format!("{start} to {stop} by {step} is no number of elements: give finite numbers");
            Err(Error::invalid("stop", what))
        }
        _ if count >= isize::MAX as f64 => {
            Err(Error::invalid("stop", format!("{count} numbers, more than a tensor can have")))
        }
        // One that is negative is 0.
        count => Ok(count as usize),
    }
}

/// A number of a floating-point type.
fn real(x: Scalar) -> f64 {
    let [word, _] = x.words();
    if x.dtype() == DType::F64 { f64::from_bits(word) } else { f32::from_bits(word as u32).into() }
}

/// The nearest number of a type.
fn rounded(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::F32 => (x as f32).into(),
        DType::F16 => f16::from_f64(x).into(),
        DType::Bf16 => bf16::from_f64(x).into(),
        DType::F8E4M3 => F8E4M3::from_f64(x).to_f32().into(),
        DType::F8E5M2 => F8E5M2::from_f64(x).to_f32().into(),
        _ => x,
    }
}

/// The difference of two numbers, in the type in which the elements are computed.
fn difference(dtype: DType, next: f64, start: f64) -> f64 {
    if dtype == DType::F64 { next - start } else { (next as f32 - start as f32).into() }
}

/// The formula of the elements, and how many there are.
fn range(start: Scalar, stop: Scalar, step: Scalar) -> Result<(Recorded, usize)> {
    let dtype = start.dtype();
    let number = |x: Scalar| -> Operand<f64> { x.into() };
    if dtype.is_integer() {
        let n = count([start, stop, step].map(Scalar::integer))?;
        let recorded = record(&[], |_| {
            let at = typed("cast_wrapping", position(0).raw, dtype, |x| Op::Cast(Overflow::Wrap, x));
            let at: Value = Symbol::new(at);
            vec![(at * number(step) + number(start)).raw]
        })?;
        return Ok((recorded, n));
    }
    let n = count_real([start, stop, step].map(real))?;
    // NumPy's rule: two elements are made, and the others are at multiples of their distance.
    let first = real(start);
    let second = rounded(dtype, first + real(step));
    let distance = difference(dtype, second, first);
    let own = wide(dtype);
    let recorded = record(&[], |_| {
        let place = value(position(0));
        let at = cast(place, own) * distance + first;
        let at = select(place.eq(1), [second.into(), at.into()], own);
        vec![cast(select(place.eq(0), [first.into(), at.into()], own), dtype).raw]
    })?;
    Ok((recorded, n))
}

impl Device {
    /// The numbers from `start` to before `stop` by `step`, which may be negative: NumPy's `arange`, with its bits. Of floating-point
    /// numbers there are `ceil((stop - start) / step)`, so that rounding may let the last one reach `stop`:
    /// [`linspace`](Self::linspace) takes the number of elements instead.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// assert_eq!(device.show(&device.arange(10, 0, -3)?.await_result()?)?.to_string(), "[10  7  4  1]");
    /// assert_eq!(device.show(&device.arange(0.0, 1.0, 0.25)?.await_result()?)?.to_string(), "[0.   0.25 0.5  0.75]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a step of 0, numbers that say no length, and more elements than a tensor can have;
    /// [`Error::OutOfMemory`].
    pub fn arange<T: Element>(&self, start: T, stop: T, step: T) -> Result<PendingDispatch<Tensor<T>>>
    where
        Max: Reduction<T, Output = T>,
    {
        let (recorded, n) = range(Scalar::new(start), Scalar::new(stop), Scalar::new(step))?;
        make_one(self, recorded, &[], &[n])
    }
}
