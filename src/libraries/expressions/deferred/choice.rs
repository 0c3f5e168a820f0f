//! The two values of a `select`, of which the first that has a type gives it to the other.

use super::{Deferred, Term};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::truth::Bool;
use crate::device::tensor::{Tensor, TensorRef};
use half::{bf16, f16};
use num_complex::Complex;

mod sealed {
    pub trait TermChoice<B> {}
}

/// What `select` takes besides `B`: a tensor, a view, an expression, or a number. A number beside one of these takes its
/// type; of two numbers the first one has the type that its text says, as `1.0f32` does. Sealed.
#[diagnostic::on_unimplemented(
    message = "`select` does not choose between `{Self}` and `{B}`",
    note = "both have one type of elements: `cast` changes it; of two numbers the first one names the type, as in `select(1.0f32, 0.0)`"
)]
pub trait TermChoice<'a, B>: sealed::TermChoice<B> {
    /// The type of both.
    type Element: Element;
    #[doc(hidden)]
    fn both(self, b: B) -> [Term<'a, Self::Element>; 2];
}

/// What has a type of elements.
pub trait Typed<'a>: Into<Term<'a, Self::Element>> {
    /// The type.
    type Element: Element;
}

macro_rules! typed { ($([$($g:tt)*] $t:ty;)*) => { $(
    impl<'a, $($g)* T: Element> Typed<'a> for $t {
        type Element = T;
    }
    impl<'a, $($g)* T: Element, B: Into<Term<'a, T>>> sealed::TermChoice<B> for $t {}
    impl<'a, $($g)* T: Element, B: Into<Term<'a, T>>> TermChoice<'a, B> for $t {
        type Element = T;
        fn both(self, b: B) -> [Term<'a, T>; 2] {
            [self.into(), b.into()]
        }
    }
)* } }
typed! {
    [] &'a Tensor<T>;
    [] &'a PendingDispatch<Tensor<T>>;
    [] PendingDispatch<Tensor<T>>;
    ['b,] &'a TensorRef<'b, T>;
    [] TensorRef<'a, T>;
    [] Deferred<'a, T>;
    ['b,] &'b Deferred<'a, T>;
}

// As to the left of an operator: one type of integers and one of floating point, so that the compiler knows the type of a
// literal, as in `select(0.0, &x)`.
macro_rules! beside { ($($n:ty),*) => { $(
    impl<'a, B: Typed<'a>> sealed::TermChoice<B> for $n {}
    impl<'a, B: Typed<'a>> TermChoice<'a, B> for $n {
        type Element = B::Element;
        fn both(self, b: B) -> [Term<'a, B::Element>; 2] {
            [self.into(), b.into()]
        }
    }
)* } }
beside!(bool, Bool, i32, f64, Complex<f32>, Complex<f64>);

macro_rules! numbers { ($($n:ty: $t:ty,)*) => { $(
    impl sealed::TermChoice<$n> for $n {}
    impl<'a> TermChoice<'a, $n> for $n {
        type Element = $t;
        fn both(self, b: $n) -> [Term<'a, $t>; 2] {
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
