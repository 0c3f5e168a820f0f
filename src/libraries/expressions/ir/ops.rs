//! The operations of an expression.

use super::Id;
use crate::libraries::expressions::{Function, Scalar};
use serde::{Deserialize, Serialize};

/// What a node computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Op {
    /// The element of an input.
    Input(u8),
    /// A scalar whose value comes with each call.
    Parameter(u16),
    /// A scalar that is part of the formula.
    Constant(Scalar),
    /// The position of the element along an axis, `i64`.
    Position(u8),
    /// The number of elements along an axis, `i64`.
    Extent(u8),
    /// The number of the element, counted in row-major order, `i64`.
    Index,
    /// An operation on one value.
    Unary(Unary, Id),
    /// An operation on two values of one type.
    Binary(Binary, Id, Id),
    /// A comparison of two values of one type, which gives `Bool`.
    Compare(Compare, Id, Id),
    /// a * b + c, rounded once.
    Fma(Id, Id, Id),
    /// The second value where the first one is true, the third elsewhere.
    Select(Id, Id, Id),
    /// The value in the node's type.
    Cast(Overflow, Id),
    /// The value's bits in the node's type, which has the same size.
    Bits(Id),
    /// An elementary function.
    Call(Function, Id, Option<Id>),
}

impl Op {
    /// The nodes that it uses.
    pub fn operands(&self) -> impl Iterator<Item = Id> + use<> {
        let all = match *self {
            Op::Input(_) | Op::Parameter(_) | Op::Constant(_) | Op::Position(_) | Op::Extent(_) | Op::Index => {
                [None; 3]
            }
            Op::Unary(_, a) | Op::Cast(_, a) | Op::Bits(a) => [Some(a), None, None],
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => [Some(a), Some(b), None],
            Op::Fma(a, b, c) | Op::Select(a, b, c) => [Some(a), Some(b), Some(c)],
            Op::Call(_, a, b) => [Some(a), b, None],
        };
        all.into_iter().flatten()
    }

    /// The same operation on other nodes.
    pub(crate) fn moved(self, to: impl Fn(Id) -> Id) -> Self {
        match self {
            Op::Unary(op, a) => Op::Unary(op, to(a)),
            Op::Binary(op, a, b) => Op::Binary(op, to(a), to(b)),
            Op::Compare(op, a, b) => Op::Compare(op, to(a), to(b)),
            Op::Fma(a, b, c) => Op::Fma(to(a), to(b), to(c)),
            Op::Select(a, b, c) => Op::Select(to(a), to(b), to(c)),
            Op::Cast(overflow, a) => Op::Cast(overflow, to(a)),
            Op::Bits(a) => Op::Bits(to(a)),
            Op::Call(function, a, b) => Op::Call(function, to(a), b.map(to)),
            leaf => leaf,
        }
    }

    /// The name that errors and texts give it.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Input(_) => "input",
            Op::Parameter(_) => "parameter",
            Op::Constant(_) => "constant",
            Op::Position(_) => "position",
            Op::Extent(_) => "extent",
            Op::Index => "index",
            Op::Unary(op, _) => op.name(),
            Op::Binary(op, ..) => op.name(),
            Op::Compare(op, ..) => op.name(),
            Op::Fma(..) => "fma",
            Op::Select(..) => "select",
            Op::Cast(Overflow::Saturate, _) => "cast",
            Op::Cast(Overflow::Wrap, _) => "cast_wrapping",
            Op::Bits(_) => "bits",
            Op::Call(function, ..) => function.name(),
        }
    }
}

/// What a cast to an integer does with a value that the integer cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Overflow {
    /// The nearest value; NaN gives 0.
    Saturate,
    /// The value, cut to an integer, modulo 2^width; infinities and NaN give 0.
    Wrap,
}

macro_rules! operations { ($(#[$outer:meta])* $enum:ident { $($(#[$meta:meta])* $name:ident $text:literal),* $(,)? }) => {
    $(#[$outer])*
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum $enum { $($(#[$meta])* $name),* }

    impl $enum {
        /// All of them.
        pub const ALL: &'static [$enum] = &[$($enum::$name),*];

        /// The name that errors and texts give it.
        pub const fn name(self) -> &'static str {
            match self { $($enum::$name => $text),* }
        }
    }
} }

operations! {
    /// An operation on one value.
    Unary {
        /// -x; integers wrap.
        Neg "neg",
        /// The magnitude; integers wrap, so that that of `MIN` is `MIN`.
        Abs "abs",
        /// Not of a truth value, or of each bit.
        Not "not",
        /// -1, 0 or 1; a zero keeps its sign, NaN stays NaN.
        Sign "sign",
        /// The square root, correctly rounded.
        Sqrt "sqrt",
        /// The largest integer that is not above.
        Floor "floor",
        /// The smallest integer that is not below.
        Ceil "ceil",
        /// The integer part.
        Trunc "trunc",
        /// The nearest integer, ties away from zero.
        Round "round",
        /// The nearest integer, ties to even.
        RoundEven "round_even",
        /// Whether it is not a number; of a complex number, whether a part is none.
        IsNan "isnan",
        /// Whether it is neither infinite nor NaN; of a complex number, whether both parts are so.
        IsFinite "isfinite",
        /// The complex conjugate.
        Conj "conj",
        /// The real part.
        Re "re",
        /// The imaginary part.
        Im "im",
    }
}

operations! {
    /// An operation on two values of one type.
    Binary {
        /// x + y.
        Add "add",
        /// x - y.
        Sub "sub",
        /// x * y.
        Mul "mul",
        /// x / y; of integers, cut to an integer.
        Div "div",
        /// What remains after division cut to an integer, with the sign of x; exact.
        Rem "rem",
        /// What remains after division rounded down, with the sign of y, as Python's `%`.
        Modulo "modulo",
        /// The smaller one; NaN only if both are (`minimumNumber` of IEEE 754-2019). -0 is below +0.
        Min "min",
        /// The larger one; NaN only if both are (`maximumNumber` of IEEE 754-2019).
        Max "max",
        /// The smaller one; NaN if one is (`minimum` of IEEE 754-2019).
        Minimum "minimum",
        /// The larger one; NaN if one is (`maximum` of IEEE 754-2019).
        Maximum "maximum",
        /// And of truth values or of bits.
        And "and",
        /// Or of truth values or of bits.
        Or "or",
        /// Exclusive or of truth values or of bits.
        Xor "xor",
        /// x shifted to the left by y bits.
        Shl "shl",
        /// x shifted to the right by y bits; a signed one keeps its sign.
        Shr "shr",
        /// The magnitude of x with the sign of y.
        Copysign "copysign",
        /// The complex number of the real part x and the imaginary part y.
        Complex "complex",
    }
}

operations! {
    /// A comparison, which gives `Bool`. With a NaN all but `Ne` are false.
    Compare {
        /// x = y.
        Eq "eq",
        /// Not x = y.
        Ne "ne",
        /// x < y.
        Lt "lt",
        /// x <= y.
        Le "le",
        /// x > y.
        Gt "gt",
        /// x >= y.
        Ge "ge",
    }
}
