//! The table.

use crate::core::element::{DType, Element};
use crate::core::truth::Bool;
use crate::libraries::dnn::formulas::{Value, cast, either};
use crate::libraries::expressions::build::Operand;
use crate::libraries::expressions::{Symbol, constant};

/// sqrt(2 / pi), 1 / sqrt(2 pi) and 1 / sqrt(2), of the normal distribution.
const TWO_OVER_PI: f64 = 0.797_884_560_802_865_4;
const DENSITY: f64 = 0.398_942_280_401_432_7;
const HALF_ROOT: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// The factor of the cube in the approximation of gelu.
const CUBE: f64 = 0.044_715;
/// The two numbers of self-normalising networks (G. Klambauer and others, 2017).
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;

/// A number that is a part of the formula.
fn n(x: f64) -> Operand<f64> {
    constant(x).into()
}

fn choose(x: Value, condition: Symbol<Bool>, a: impl Into<Operand<f64>>, b: impl Into<Operand<f64>>) -> Value {
    either(condition, a, b, x.raw.dtype().unwrap_or(DType::F32))
}

/// 1 where the condition is true, else 0.
fn step(x: Value, condition: Symbol<Bool>) -> Value {
    choose(x, condition, n(1.0), n(0.0))
}

fn gelu_slope(x: Value) -> Value {
    let normal = (x * n(-HALF_ROOT)).erfc() * n(0.5);
    x.fma((x * x * n(-0.5)).exp() * n(DENSITY), normal)
}

fn gelu_tanh_slope(x: Value) -> Value {
    let square = x * x;
    let t = (x * (square * n(CUBE) + n(1.0)) * n(TWO_OVER_PI)).tanh();
    let inner = (square * n(3.0 * CUBE) + n(1.0)) * n(TWO_OVER_PI);
    (t + n(1.0)) * n(0.5) + x * n(0.5) * (-t).fma(t, n(1.0)) * inner
}

fn mish_slope(x: Value) -> Value {
    let t = x.softplus().tanh();
    (x * x.sigmoid()).fma((-t).fma(t, n(1.0)), t)
}

macro_rules! table {
    ($($(#[$meta:meta])* $name:ident $(($($field:ident),+))? |$x:ident| $value:expr, $slope:expr;)*) => {
        /// A function of each element, with its derivative. The numbers of a variant are written in its documentation.
        ///
        /// It is used in a closure over symbols, or by [`Dnn::activate`](crate::dnn::Dnn::activate). At a corner the derivative is
        /// that to the left of it.
        ///
        /// ```
        /// # fn main() -> Result<(), windlass::Error> {
        /// use windlass::dnn::Activation;
        /// let device = windlass::Device::best()?;
        /// let (x, bias) = (device.tensor([3], [-1.0f32, 0.5, 2.0])?, device.tensor([3], [0.5f32, 0.5, 0.5])?);
        /// let y = device.map((&x, &bias), |(x, b)| Activation::Relu.of(x + b))?.await_result()?;
        /// assert_eq!(device.show(&y)?.to_string(), "[0.  1.  2.5]");
        /// # Ok(()) }
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Activation { $($(#[$meta])* $name $(($(table!(@type $field)),+))?,)* }

        impl Activation {
            fn value(self, x: Value) -> Value {
                match self { $(Activation::$name $(($($field),+))? => { let $x = x; $value })* }
            }

            #[allow(unused_variables, reason = "a slope may have fewer numbers")]
            pub(super) fn slope(self, x: Value) -> Value {
                match self { $(Activation::$name $(($($field),+))? => { let $x = x; $slope })* }
            }
        }
    };
    (@type $field:ident) => { f64 };
}

table! {
    /// The larger one of x and 0.
    Relu |x| x.maximum(n(0.0)), step(x, x.gt(n(0.0)));
    /// From 0 to the number.
    ClippedRelu(top) |x| x.maximum(n(0.0)).minimum(top), step(x, x.gt(n(0.0)) & x.le(top));
    /// x, or below 0 so many times x.
    LeakyRelu(a) |x| choose(x, x.le(n(0.0)), x * a, x), choose(x, x.le(n(0.0)), a, n(1.0));
    /// x above the number, else 0.
    ThresholdedRelu(a) |x| choose(x, x.le(a), n(0.0), x), step(x, x.gt(a));
    /// From the first number to the second one.
    HardTanh(low, high) |x| x.maximum(low).minimum(high), step(x, x.gt(low) & x.le(high));
    /// x, or below 0 so many times `e^x - 1`.
    Elu(a) |x| choose(x, x.le(n(0.0)), x.expm1() * a, x), choose(x, x.le(n(0.0)), x.exp() * a, n(1.0));
    /// [`Elu`](Self::Elu) with the two numbers of self-normalising networks.
    Selu |x| choose(x, x.le(n(0.0)), x.expm1() * n(SELU_ALPHA), x) * n(SELU_SCALE),
        choose(x, x.le(n(0.0)), x.exp() * n(SELU_ALPHA), n(1.0)) * n(SELU_SCALE);
    /// x, or below 0 `a (e^(x / a) - 1)`.
    Celu(a) |x| choose(x, x.le(n(0.0)), (x / a).expm1() * a, x), choose(x, x.le(n(0.0)), (x / a).exp(), n(1.0));
    /// x times the normal distribution function.
    Gelu |x| x.gelu(), gelu_slope(x);
    /// Its approximation by tanh.
    GeluTanh |x| x.gelu_tanh(), gelu_tanh_slope(x);
    /// `1 / (1 + e^-x)`.
    Sigmoid |x| x.sigmoid(), x.sigmoid() * (-x).sigmoid();
    /// From 0 to 1 by a line: the first number times x, plus the second one.
    HardSigmoid(a, b) |x| (x * a + b).minimum(n(1.0)).maximum(n(0.0)),
        choose(x, (x * a + b).gt(n(0.0)) & (x * a + b).le(n(1.0)), a, n(0.0));
    /// The logarithm of [`Sigmoid`](Self::Sigmoid).
    LogSigmoid |x| -(-x).softplus(), (-x).sigmoid();
    /// The hyperbolic tangent.
    Tanh |x| x.tanh(), (-x.tanh()).fma(x.tanh(), n(1.0));
    /// x times the sigmoid of so many times x.
    Swish(b) |x| x * (x * b).sigmoid(), {
        let s = (x * b).sigmoid();
        (x * b * s).fma((x * -b).sigmoid(), s)
    };
    /// x times a line from 0 at -3 to 1 at 3.
    HardSwish |x| x * (x / n(6.0) + n(0.5)).minimum(n(1.0)).maximum(n(0.0)),
        choose(x, x.le(n(-3.0)), n(0.0), choose(x, x.gt(n(3.0)), n(1.0), x / n(3.0) + n(0.5)));
    /// `log(1 + e^(b x)) / b`.
    Softplus(b) |x| (x * b).softplus() / b, (x * b).sigmoid();
    /// `x / (1 + |x|)`.
    Softsign |x| x / (x.abs() + n(1.0)), {
        let d = x.abs() + n(1.0);
        n(1.0) / (d * d)
    };
    /// x times tanh of [`Softplus`](Self::Softplus).
    Mish |x| x * x.softplus().tanh(), mish_slope(x);
    /// Nearer to 0 by the second number, and 0 within the first one of it.
    Shrink(limit, bias) |x| choose(x, x.lt(-limit), x + bias, choose(x, x.le(limit), n(0.0), x - bias)),
        step(x, x.lt(-limit) | x.gt(limit));
}

/// A symbol in the type in which it is computed.
pub(super) fn wide<T: Element>(x: Symbol<T>) -> Value {
    let x = Value::new(x.raw);
    match x.raw.dtype() {
        Some(dtype) if dtype.is_narrow() => cast(x, DType::F32),
        _ => x,
    }
}

impl Activation {
    /// The function of a symbol of a floating point type; halves are computed in `f32`.
    #[must_use]
    pub fn of<T: Element>(self, x: Symbol<T>) -> Symbol<T> {
        Symbol::new(cast(self.value(wide(x)), T::DTYPE).raw)
    }

    /// The derivative at a symbol.
    #[must_use]
    pub fn derivative<T: Element>(self, x: Symbol<T>) -> Symbol<T> {
        Symbol::new(cast(self.slope(wide(x)), T::DTYPE).raw)
    }
}
