//! The parts of a fused product: one sum of products, and the activations, by other formulas than the engine's.

use super::terms::Factor;
use super::value::Value;

/// A sum of products.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// Its real and imaginary part.
    pub value: [f64; 2],
    /// The sum of the magnitudes of its terms.
    pub size: f64,
}

/// The sum of `x * y` in double-double; `conj` says which of the factors are conjugated.
pub fn sum_of_products<X: Value, Y: Value>(terms: impl Iterator<Item = (X, Y)>, conj: [bool; 2]) -> Sum {
    let (x, y): (Vec<X>, Vec<Y>) = terms.unzip();
    let (sum, sizes) = Factor::new(x, conj[0]).times(&Factor::new(y, conj[1]));
    Sum { value: [sum.re.to_f64(), sum.im.to_f64()], size: sizes }
}

/// The share of `x` that GELU lets through, `(1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y))`, and the derivative of `y`.
fn share(x: f64) -> (f64, f64) {
    let root = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
    let argument = root * (x + 0.044715 * x.powi(3));
    (1.0 / (1.0 + (-2.0 * argument).exp()), root * (1.0 + 3.0 * 0.044715 * x * x))
}

/// GELU in its approximation with tanh.
pub fn gelu(x: f64) -> f64 {
    x * share(x).0
}

/// The derivative of [`gelu`].
pub fn gelu_slope(x: f64) -> f64 {
    let (share, slope) = share(x);
    share + 2.0 * x * slope * share * (1.0 - share)
}
