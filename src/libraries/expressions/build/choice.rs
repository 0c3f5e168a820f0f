//! The two values of a `select`, of which the first that has a type gives it to the other.

use super::symbol::{Constant, Operand, Symbol};
use crate::core::element::Element;
use crate::core::truth::Bool;
use crate::libraries::expressions::scalar::Scalar;
use half::{bf16, f16};
use num_complex::Complex;

mod sealed {
    pub trait Choice<B> {}
}

/// What [`Symbol::select`] takes besides `B`: a symbol or a number. A number beside a symbol takes its type (to the left of one
/// stands a literal, or a [`scalar`](super::scalar)); of two numbers the first has the type that its text says, as `1.0f32`
/// does. Sealed.
#[diagnostic::on_unimplemented(
    message = "`select` does not choose between `{Self}` and `{B}`",
    note = "both have one type: `cast` changes it; of two numbers the first one names the type, as in `select(1.0f32, 0.0)`",
    note = "a number to the left of a symbol is a literal, or `scalar(x)`"
)]
pub trait Choice<B>: sealed::Choice<B> {
    /// The type of both.
    type Element: Element;
    #[doc(hidden)]
    fn both(self, b: B) -> [Operand<Self::Element>; 2];
}

macro_rules! typed { ($($t:ident)*) => { $(
    impl<T: Element, B: Into<Operand<T>>> sealed::Choice<B> for $t<T> {}
    impl<T: Element, B: Into<Operand<T>>> Choice<B> for $t<T> {
        type Element = T;
        fn both(self, b: B) -> [Operand<T>; 2] {
            [self.into(), b.into()]
        }
    }
)* } }
typed! { Symbol Operand }

macro_rules! beside { ($($n:ty),*) => { $(
    impl<T: Element> sealed::Choice<Symbol<T>> for $n {}
    impl<T: Element> Choice<Symbol<T>> for $n {
        type Element = T;
        fn both(self, b: Symbol<T>) -> [Operand<T>; 2] {
            [self.into(), b.into()]
        }
    }
)* } }
// As to the left of an operator: one type of integers and one of floating point, so that the compiler knows the type of a
// literal, as in `select(0.0, x)`. `scalar` is for the others.
beside!(Scalar, Constant, bool, Bool, i32, f64, Complex<f32>, Complex<f64>);

macro_rules! numbers { ($($n:ty: $t:ty,)*) => { $(
    impl sealed::Choice<$n> for $n {}
    impl Choice<$n> for $n {
        type Element = $t;
        fn both(self, b: $n) -> [Operand<$t>; 2] {
            [self.into(), b.into()]
        }
    }
)* } }
numbers! {
    bool: Bool,
    Bool: Bool,
    i8: i8,
    i16: i16,
    i32: i32,
    i64: i64,
    u8: u8,
    u16: u16,
    u32: u32,
    u64: u64,
    f16: f16,
    bf16: bf16,
    f32: f32,
    f64: f64,
    Complex<f32>: Complex<f32>,
    Complex<f64>: Complex<f64>,
}
