//! Parameters of distributions of floats, checked in the type of the numbers.

use crate::core::element::Element;
use crate::core::error::{Error, Result};
use half::{bf16, f16};

/// An element type that has parameters.
pub(super) trait Float: Element {
    /// The number that the type holds for `x`, 0 and infinity included.
    fn held(x: f64) -> f64;
}

macro_rules! floats { ($($t:ty: |$x:ident| $held:expr;)*) => { $(
    impl Float for $t {
        fn held($x: f64) -> f64 {
            $held
        }
    }
)* } }
floats! {
    f16: |x| f64::from(f16::from_f64(x));
    bf16: |x| f64::from(bf16::from_f64(x));
    f32: |x| f64::from(x as f32);
    f64: |x| x;
}

/// Refuses a scale that is not 0, but that the type rounds to 0: all numbers would be equal.
pub(super) fn held<T: Float>(argument: &'static str, x: f64) -> Result<()> {
    if x == 0.0 || T::held(x) != 0.0 {
        return Ok(());
    }
    Err(Error::invalid(argument, format!("{x} is 0 in {}: scale the numbers, or draw them as f64", T::DTYPE)))
}

/// Refuses a parameter if the greatest number to which it leads is infinite in the type.
pub(super) fn reached<T: Float>(argument: &'static str, x: f64, greatest: f64) -> Result<()> {
    if T::held(greatest).is_finite() {
        return Ok(());
    }
    let reason = format!(
        "with {x} the numbers may reach {greatest:e}, which {} cannot hold: scale them, or draw them as f64",
        T::DTYPE
    );
    Err(Error::invalid(argument, reason))
}
