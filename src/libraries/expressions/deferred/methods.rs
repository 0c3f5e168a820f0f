//! The functions of tensors, views and expressions: those of a [`Symbol`](crate::expressions::Symbol).

use super::operators::{binary, unary};
use super::{Deferred, Term, TermChoice};
use crate::core::element::Element;
use crate::core::truth::Bool;
use crate::device::tensor::{Tensor, TensorRef};
use crate::libraries::expressions::build::Parts;
use crate::libraries::expressions::functions::Function;
use crate::libraries::expressions::ir::{Binary, Compare, Op, Overflow, Unary};
use num_complex::Complex;

// A tensor is borrowed by what is made of it; an expression is not.
macro_rules! methods_of { ($t:ty, $receiver:ty, |$x:ident| $deferred:expr; $($rest:tt)*) => {
    methods_of! { @ $t, $receiver, |$x| $deferred; $($rest)* }
};
(@ $t:ty, $receiver:ty, |$x:ident| $deferred:expr;
 unary { $($(#[$u:meta])* $un:ident $uop:ident;)* } binary { $($(#[$b:meta])* $bn:ident $bop:ident;)* }
 compare { $($(#[$c:meta])* $cn:ident $cop:ident;)* } call { $($fn:ident $fop:ident;)* }
 call2 { $($gn:ident $gop:ident;)* }) => {
    impl<'a, T: Element> $t {
        $($(#[$u])* pub fn $un(self: $receiver) -> Deferred<'a, T> {
            let $x = self;
            unary(Unary::$uop, $deferred)
        })*
        $($(#[$b])* pub fn $bn(self: $receiver, other: impl Into<Term<'a, T>>) -> Deferred<'a, T> {
            let $x = self;
            binary(Binary::$bop, $deferred, other.into())
        })*
        $($(#[$c])* pub fn $cn(self: $receiver, other: impl Into<Term<'a, T>>) -> Deferred<'a, Bool> {
            let ($x, op, other) = (self, Compare::$cop, other.into());
            $deferred.then(op.name(), |x| [x, other.operand()], false, |[x, y]| Op::Compare(op, x, y))
        })*
        $(#[doc = concat!("See [`Function::", stringify!($fop), "`].")]
        pub fn $fn(self: $receiver) -> Deferred<'a, T> {
            let ($x, op) = (self, Function::$fop);
            $deferred.then(op.name(), |x| [x], false, |[x]| Op::Call(op, x, None))
        })*
        $(#[doc = concat!("See [`Function::", stringify!($gop), "`].")]
        pub fn $gn(self: $receiver, other: impl Into<Term<'a, T>>) -> Deferred<'a, T> {
            let ($x, op, other) = (self, Function::$gop, other.into());
            $deferred.then(op.name(), |x| [x, other.operand()], false, |[x, y]| Op::Call(op, x, Some(y)))
        })*

        /// Whether it is not a number; of a complex number, whether a part is none.
        pub fn isnan(self: $receiver) -> Deferred<'a, Bool> {
            let $x = self;
            unary(Unary::IsNan, $deferred)
        }

        /// Whether it is neither infinite nor NaN; of a complex number, whether both parts are so.
        pub fn isfinite(self: $receiver) -> Deferred<'a, Bool> {
            let $x = self;
            unary(Unary::IsFinite, $deferred)
        }

        /// `self * factor + summand`, rounded once.
        pub fn fma(self: $receiver, factor: impl Into<Term<'a, T>>, summand: impl Into<Term<'a, T>>) -> Deferred<'a, T> {
            let ($x, factor, summand) = (self, factor.into(), summand.into());
            $deferred.then("fma", |x| [x, factor.operand(), summand.operand()], false, |[a, b, c]| Op::Fma(a, b, c))
        }

        /// Between `low` and `high`: `self.maximum(low).minimum(high)`, so NaN stays NaN.
        #[doc(alias = "clip")]
        pub fn clamp(self: $receiver, low: impl Into<Term<'a, T>>, high: impl Into<Term<'a, T>>) -> Deferred<'a, T> {
            let $x = self;
            binary(Binary::Minimum, binary(Binary::Maximum, $deferred, low.into()), high.into())
        }

        /// The value in another type, rounded once; an integer type that does not hold it gets its nearest value, and 0 for NaN.
        #[doc(alias = "astype")]
        pub fn cast<R: Element>(self: $receiver) -> Deferred<'a, R> {
            let $x = self;
            $deferred.then("cast", |x| [x], true, |[x]| Op::Cast(Overflow::Saturate, x))
        }

        /// As [`cast`](Self::cast), but an integer type gets the value modulo 2^width, and 0 for NaN and infinities.
        pub fn cast_wrapping<R: Element>(self: $receiver) -> Deferred<'a, R> {
            let $x = self;
            $deferred.then("cast_wrapping", |x| [x], true, |[x]| Op::Cast(Overflow::Wrap, x))
        }

        /// The bits of the value as a real type of the same size.
        pub fn bits<R: Element>(self: $receiver) -> Deferred<'a, R> {
            let $x = self;
            $deferred.then("bits", |x| [x], true, |[x]| Op::Bits(x))
        }

        /// The magnitude; of a complex number [`Function::Hypot`] of its parts. Integers wrap.
        pub fn abs(self: $receiver) -> Deferred<'a, T::Part>
        where
            T: Parts,
        {
            if T::DTYPE.is_complex() {
                let (re, im) = (self.re(), self.im());
                let op = Function::Hypot;
                return re.then(op.name(), |x| [x, Term::from(im).operand()], false, |[x, y]| Op::Call(op, x, Some(y)));
            }
            let $x = self;
            unary(Unary::Abs, $deferred)
        }

        /// The real part of a complex number.
        pub fn re(self: $receiver) -> Deferred<'a, T::Part>
        where
            T: Parts,
        {
            let $x = self;
            unary(Unary::Re, $deferred)
        }

        /// The imaginary part of a complex number.
        pub fn im(self: $receiver) -> Deferred<'a, T::Part>
        where
            T: Parts,
        {
            let $x = self;
            unary(Unary::Im, $deferred)
        }

        /// The angle of a complex number: [`Function::Atan2`] of its parts.
        pub fn arg(self: $receiver) -> Deferred<'a, T::Part>
        where
            T: Parts,
        {
            let (re, im) = (self.re(), self.im());
            let op = Function::Atan2;
            im.then(op.name(), |y| [y, Term::from(re).operand()], false, |[y, x]| Op::Call(op, y, Some(x)))
        }
    }
} }

macro_rules! methods { ($($rest:tt)*) => {
    methods_of! { Tensor<T>, &'a Self, |x| Deferred::from_view(x.view()); $($rest)* }
    methods_of! { TensorRef<'_, T>, &'a Self, |x| Deferred::from_view(x.view()); $($rest)* }
    methods_of! { Deferred<'a, T>, &Self, |x| x.clone(); $($rest)* }
} }

methods! {
    unary {
        /// -1, 0 or 1; a zero keeps its sign, NaN stays NaN.
        sign Sign;
        /// The square root, correctly rounded.
        sqrt Sqrt;
        /// The largest integer that is not above.
        floor Floor;
        /// The smallest integer that is not below.
        ceil Ceil;
        /// The integer part.
        trunc Trunc;
        /// The nearest integer, ties away from zero.
        round Round;
        /// The nearest integer, ties to even.
        round_even RoundEven;
        /// The complex conjugate.
        conj Conj;
    }
    binary {
        /// What remains after division rounded down, with the sign of `other`.
        modulo Modulo;
        /// The smaller one; NaN only if both are.
        min Min;
        /// The larger one; NaN only if both are.
        max Max;
        /// The smaller one; NaN if one is.
        minimum Minimum;
        /// The larger one; NaN if one is.
        maximum Maximum;
        /// The magnitude of this with the sign of `other`.
        copysign Copysign;
    }
    compare {
        /// Whether both are equal.
        eq Eq;
        /// Whether they are not equal.
        ne Ne;
        /// Whether this is less.
        lt Lt;
        /// Whether this is less or equal.
        le Le;
        /// Whether this is greater.
        gt Gt;
        /// Whether this is greater or equal.
        ge Ge;
    }
    call {
        exp Exp;
        exp2 Exp2;
        expm1 Expm1;
        log Log;
        log2 Log2;
        log10 Log10;
        log1p Log1p;
        rsqrt Rsqrt;
        cbrt Cbrt;
        sin Sin;
        cos Cos;
        tan Tan;
        asin Asin;
        acos Acos;
        atan Atan;
        sinh Sinh;
        cosh Cosh;
        tanh Tanh;
        asinh Asinh;
        acosh Acosh;
        atanh Atanh;
        erf Erf;
        erfc Erfc;
        sigmoid Sigmoid;
        gelu Gelu;
        gelu_tanh GeluTanh;
        silu Silu;
        softplus Softplus;
    }
    call2 {
        pow Pow;
        hypot Hypot;
        atan2 Atan2;
    }
}

macro_rules! truths { ($($t:ty, $receiver:ty, |$x:ident| $deferred:expr;)*) => { $(
    impl<'a> $t {
        /// `a` where this is true, `b` elsewhere. A number takes the type of the other one; see
        /// [`TermChoice`](crate::expressions::TermChoice).
        #[doc(alias = "where")]
        pub fn select<A: TermChoice<'a, B>, B>(self: $receiver, a: A, b: B) -> Deferred<'a, A::Element> {
            let ($x, both) = (self, a.both(b));
            super::select($deferred, both)
        }
    }
)* } }
truths! {
    Tensor<Bool>, &'a Self, |x| Deferred::from_view(x.view());
    TensorRef<'_, Bool>, &'a Self, |x| Deferred::from_view(x.view());
    Deferred<'a, Bool>, &Self, |x| x.clone();
}

macro_rules! complex { ($([$p:ty] $t:ty, $receiver:ty, |$x:ident| $deferred:expr;)*) => { $(
    impl<'a> $t {
        /// The complex number of this real part and that imaginary part.
        pub fn complex(self: $receiver, im: impl Into<Term<'a, $p>>) -> Deferred<'a, Complex<$p>> {
            let ($x, im, op) = (self, im.into(), Binary::Complex);
            $deferred.then(op.name(), |x| [x, im.operand()], false, |[x, y]| Op::Binary(op, x, y))
        }
    }
)* } }
complex! {
    [f32] Tensor<f32>, &'a Self, |x| Deferred::from_view(x.view());
    [f32] Deferred<'a, f32>, &Self, |x| x.clone();
    [f64] Tensor<f64>, &'a Self, |x| Deferred::from_view(x.view());
    [f64] Deferred<'a, f64>, &Self, |x| x.clone();
}
