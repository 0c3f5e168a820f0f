//! The values of a closure, with their types, and what can stand beside them.

use super::recording::{Raw, RawOperand, operation};
use crate::core::element::Element;
use crate::core::truth::Bool;
use crate::libraries::expressions::ir::{Binary, Op, Unary};
use crate::libraries::expressions::scalar::Scalar;
use half::{bf16, f16};
use num_complex::Complex;
use std::marker::PhantomData;
use std::ops;

/// A value in the closure of a formula: an element of an input, or what was computed.
///
/// It can be copied freely and used as often as needed. Operators and methods record what is done; they compute nothing, and
/// never fail or panic: the first error is kept, and returned by the call that takes the closure. Nothing is promoted:
/// operands of two types do not compile, [`cast`](Self::cast) changes a type. A number beside a symbol takes the symbol's
/// type if that holds it, and is a parameter of the formula: another value is no other kernel. [`constant`] makes one a part
/// of the formula.
pub struct Symbol<T> {
    pub(crate) raw: Raw,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for Symbol<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Symbol<T> {}

impl<T: Element> std::fmt::Debug for Symbol<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Symbol<{}>", T::DTYPE)
    }
}

impl<T> Symbol<T> {
    pub(crate) fn new(raw: Raw) -> Self {
        Symbol { raw, element: PhantomData }
    }
}

/// What an operation takes beside a symbol: another symbol, a number, or a [`constant`].
pub struct Operand<T> {
    pub(crate) raw: RawOperand,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for Operand<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Operand<T> {}

impl<T: Element> std::fmt::Debug for Operand<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.raw {
            RawOperand::Symbol(_) => write!(f, "Symbol<{}>", T::DTYPE),
            RawOperand::Parameter(scalar) | RawOperand::Constant(scalar) => write!(f, "{scalar:?}"),
        }
    }
}

impl<T> Operand<T> {
    fn from_raw(raw: RawOperand) -> Self {
        Operand { raw, element: PhantomData }
    }
}

/// A number that is a part of the formula; see [`constant`].
#[derive(Clone, Copy, Debug)]
pub struct Constant(pub(crate) Scalar);

/// Makes a number a part of the formula, so that another value is another formula, and the compiler may use it.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::expressions::{Formula, Symbol, constant};
/// let half = Formula::new(|x: Symbol<f32>| x * constant(0.5))?;
/// let third = Formula::new(|x: Symbol<f32>| x * constant(1.0 / 3.0))?;
/// assert!(half.scalars().is_empty() && half.expr() != third.expr());
/// # Ok(()) }
/// ```
pub fn constant(value: impl Into<Scalar>) -> Constant {
    Constant(value.into())
}

/// Makes a number an operand, to stand on the left of an operator: `scalar(rate) * x` with a rate of type `f32`, for
/// which `rate * x` does not exist.
pub fn scalar<T: Element>(value: T) -> Operand<T> {
    Operand::from_raw(RawOperand::Parameter(Scalar::new(value)))
}

impl<T> From<Symbol<T>> for Operand<T> {
    fn from(symbol: Symbol<T>) -> Self {
        Operand::from_raw(RawOperand::Symbol(symbol.raw))
    }
}

impl<T> From<Constant> for Operand<T> {
    fn from(constant: Constant) -> Self {
        Operand::from_raw(RawOperand::Constant(constant.0))
    }
}

impl<T> From<Scalar> for Operand<T> {
    fn from(scalar: Scalar) -> Self {
        Operand::from_raw(RawOperand::Parameter(scalar))
    }
}

macro_rules! numbers { ($($t:ty),*) => { $(
    impl<T> From<$t> for Operand<T> {
        fn from(value: $t) -> Self {
            Operand::from_raw(RawOperand::Parameter(value.into()))
        }
    }
)* } }
numbers!(bool, Bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>);

pub(in crate::libraries) fn unary(op: Unary, x: Raw) -> Raw {
    operation(op.name(), [x.into()], |[x]| Op::Unary(op, x))
}

pub(in crate::libraries) fn binary(op: Binary, x: RawOperand, y: RawOperand) -> Raw {
    operation(op.name(), [x, y], |[x, y]| Op::Binary(op, x, y))
}

macro_rules! binary_operators { ($($trait:ident $method:ident $op:ident;)*) => { $(
    impl<T, R: Into<Operand<T>>> ops::$trait<R> for Symbol<T> {
        type Output = Symbol<T>;
        fn $method(self, other: R) -> Symbol<T> {
            Symbol::new(binary(Binary::$op, self.raw.into(), other.into().raw))
        }
    }
    impl<T> ops::$trait<Symbol<T>> for Operand<T> {
        type Output = Symbol<T>;
        fn $method(self, other: Symbol<T>) -> Symbol<T> {
            Symbol::new(binary(Binary::$op, self.raw, other.raw.into()))
        }
    }
    from_the_left!($trait $method $op: Constant, bool, Bool, i32, f64, Complex<f32>, Complex<f64>);
)* } }

// To the left of an operator stand one type of integers and one of floating point, so that the compiler knows the type
// of a literal there, as in `(1.0 - x).sqrt()`. With more of them it would ask for it. `scalar` is for the others.
macro_rules! from_the_left { ($trait:ident $method:ident $op:ident: $($t:ty),*) => { $(
    impl<T> ops::$trait<Symbol<T>> for $t {
        type Output = Symbol<T>;
        fn $method(self, other: Symbol<T>) -> Symbol<T> {
            Symbol::new(binary(Binary::$op, Operand::<T>::from(self).raw, other.raw.into()))
        }
    }
)* } }

binary_operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
    Rem rem Rem;
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
    Shl shl Shl;
    Shr shr Shr;
}

impl<T> ops::Neg for Symbol<T> {
    type Output = Symbol<T>;
    fn neg(self) -> Symbol<T> {
        Symbol::new(unary(Unary::Neg, self.raw))
    }
}

impl<T> ops::Not for Symbol<T> {
    type Output = Symbol<T>;
    fn not(self) -> Symbol<T> {
        Symbol::new(unary(Unary::Not, self.raw))
    }
}
