//! Numbers at even distances between two ends.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::Tensor;
use crate::libraries::arrays::untyped::{Value, cast, select, value};
use crate::libraries::expressions::Function;
use crate::libraries::expressions::Scalar;
use crate::libraries::expressions::build::recording::operation;
use crate::libraries::expressions::build::{RawOperand, Symbol, position};
use crate::libraries::expressions::formula::{Recorded, record};
use crate::libraries::expressions::front::make_one;
use crate::libraries::expressions::ir::Op;
use crate::libraries::reductions::{Max, Reduction};

/// The number at each place, as NumPy computes it in `f64`; or a power of `base` that has it as its exponent.
fn formula(dtype: DType, [start, stop]: [f64; 2], n: usize, base: Option<f64>) -> Result<Recorded> {
    record(&[], |_| {
        let place = value(position(0));
        let at = cast(place, DType::F64);
        let (delta, parts) = (stop - start, n.saturating_sub(1) as f64);
        let step = delta / parts;
        let moved = match n {
            0 | 1 => at * delta,
            // A distance that is too small for a step.
            _ if step == 0.0 => at / parts * delta,
            _ => at * step,
        };
        let inner = moved + start;
        let last = n.saturating_sub(1) as i64;
        let made = if n > 1 { select(place.eq(last), [stop.into(), inner.into()], DType::F64) } else { inner };
        let made = match base {
            Some(base) => power(base, made),
            None if dtype.is_integer() => made.floor(),
            None => made,
        };
        vec![cast(made, dtype).raw]
    })
}

/// A number to the power of a value.
fn power(base: f64, exponent: Value) -> Value {
    let operands = [RawOperand::Parameter(Scalar::new(base)), exponent.raw.into()];
    Symbol::new(operation(Function::Pow.name(), operands, |[x, y]| Op::Call(Function::Pow, x, Some(y))))
}

impl Device {
    /// `n` numbers at even distances from `start` to `stop`, both included: NumPy's `linspace`, with its bits. They are computed in
    /// `f64` and rounded once; integers are rounded down.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.linspace::<f32>(0.0, 1.0, 5)?.await_result()?;
    /// assert_eq!(device.show(&x)?.to_string(), "[0.   0.25 0.5  0.75 1.  ]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn linspace<T: Element>(&self, start: f64, stop: f64, n: usize) -> Result<PendingDispatch<Tensor<T>>>
    where
        Max: Reduction<T, Output = T>,
    {
        make_one(self, formula(T::DTYPE, [start, stop], n, None)?, &[], &[n])
    }

    /// Powers of `base` whose exponents are [`linspace`](Self::linspace): NumPy's `logspace`. The error of a power is that of
    /// [`Function::Pow`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.logspace::<f64>(0.0, 3.0, 4, 2.0)?.await_result()?;
    /// assert_eq!(device.show(&x)?.to_string(), "[1. 2. 4. 8.]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`linspace`](Self::linspace).
    pub fn logspace<T: Element>(&self, start: f64, stop: f64, n: usize, base: f64) -> Result<PendingDispatch<Tensor<T>>>
    where
        Max: Reduction<T, Output = T>,
    {
        make_one(self, formula(T::DTYPE, [start, stop], n, Some(base))?, &[], &[n])
    }
}
