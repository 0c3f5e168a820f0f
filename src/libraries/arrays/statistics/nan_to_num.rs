//! Numbers in the place of what is none.

use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::{AnyTensorRef, ReadableTensor, Tensor, TensorRef};
use crate::libraries::arrays::untyped::{Untyped, Value, select};
use crate::libraries::expressions::build::{Operand, Parts, Symbol};
use crate::libraries::expressions::ir::{Binary, Op};
use crate::libraries::expressions::{Scalar, build::recording::operation};

/// The largest finite number of a floating-point type.
fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MAX,
        DType::F16 => half::f16::MAX.into(),
        DType::Bf16 => half::bf16::MAX.into(),
        DType::F8E4M3 => 448.0,
        DType::F8E5M2 => 57344.0,
        _ => f32::MAX.into(),
    }
}

fn formula<'a>(x: &AnyTensorRef<'a>, [nan, above, below]: [Scalar; 3]) -> Result<Untyped<'a>> {
    let (dtype, part) = (x.dtype(), x.dtype().part());
    let number = |x: Scalar| -> Operand<f64> { x.into() };
    let replaced = |x: Value| {
        let above = select(x.eq(f64::INFINITY), [number(above), x.into()], part);
        let both = select(x.eq(f64::NEG_INFINITY), [number(below), above.into()], part);
        select(x.ne(x), [number(nan), both.into()], part)
    };
    Untyped::new([x], |[x]| {
        if dtype.is_complex() {
            let parts = [replaced(x.re()).raw.into(), replaced(x.im()).raw.into()];
            return Symbol::new(operation("complex", parts, |[re, im]| Op::Binary(Binary::Complex, re, im)));
        }
        if dtype.is_float() { replaced(x) } else { x }
    })
}

impl Device {
    /// The elements with `nan` in the place of each NaN, and numbers in that of the infinities: NumPy's `nan_to_num`. `infinities` are
    /// those for the positive and the negative one; without them they are the largest and the lowest finite number of the type. Of
    /// complex numbers each part is looked at by itself; integers are copied.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([3], [f32::NAN, f32::NEG_INFINITY, 2.0])?;
    /// let y = device.nan_to_num(&x, 0.0, Some([9.0, -9.0]))?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[ 0. -9.  2.]");
    /// assert_eq!(device.to_vec(device.nan_to_num(&x, 0.0, None)?)?, [0.0, f32::MIN, 2.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A stale tensor, or one of another device; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn nan_to_num<'a, T: Parts>(
        &self,
        x: impl ReadableTensor<'a, T>,
        nan: T::Part,
        infinities: Option<[T::Part; 2]>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x: TensorRef<'a, T> = x.into();
        let [above, below] = match infinities {
            Some(numbers) => numbers.map(Scalar::new),
            None => [1.0, -1.0].map(|sign: f64| Scalar::new(sign * largest(T::Part::DTYPE))),
        };
        formula(&(&x).into(), [Scalar::new(nan), above, below])?.make(self)
    }
}
