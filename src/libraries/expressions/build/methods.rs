//! The methods of symbols.

use super::choice::Choice;
use super::recording::{operation, select, typed};
use super::symbol::{Operand, Symbol, binary, unary};
use crate::core::element::Element;
use crate::core::truth::Bool;
use crate::libraries::expressions::functions::Function;
use crate::libraries::expressions::ir::{Binary, Compare, Op, Overflow, Unary};
use num_complex::Complex;

/// An element with parts: a complex number has parts of its real type, every other type is its own part.
pub trait Parts: Element {
    /// The type of a part.
    type Part: Element;
}

macro_rules! parts { ($($t:ty),*) => { $(impl Parts for $t { type Part = $t; })* } }
parts!(
    Bool,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    half::f16,
    half::bf16,
    crate::core::fp8::F8E4M3,
    crate::core::fp8::F8E5M2,
    f32,
    f64
);

impl Parts for Complex<f32> {
    type Part = f32;
}

impl Parts for Complex<f64> {
    type Part = f64;
}

macro_rules! methods {
    (unary { $($(#[$u:meta])* $un:ident $uop:ident;)* } binary { $($(#[$b:meta])* $bn:ident $bop:ident;)* }
     compare { $($(#[$c:meta])* $cn:ident $cop:ident;)* } call { $($fn:ident $fop:ident;)* }
     call2 { $($gn:ident $gop:ident;)* }) => {
        impl<T: Element> Symbol<T> {
            $($(#[$u])* #[must_use] pub fn $un(self) -> Symbol<T> { Symbol::new(unary(Unary::$uop, self.raw)) })*
            $($(#[$b])* #[must_use] pub fn $bn(self, other: impl Into<Operand<T>>) -> Symbol<T> {
                Symbol::new(binary(Binary::$bop, self.raw.into(), other.into().raw))
            })*
            $($(#[$c])* #[must_use] pub fn $cn(self, other: impl Into<Operand<T>>) -> Symbol<Bool> {
                let op = Compare::$cop;
                Symbol::new(operation(op.name(), [self.raw.into(), other.into().raw], |[x, y]| Op::Compare(op, x, y)))
            })*
            $(#[doc = concat!("See [`Function::", stringify!($fop), "`].")]
            #[must_use]
            pub fn $fn(self) -> Symbol<T> {
                let op = Function::$fop;
                Symbol::new(operation(op.name(), [self.raw.into()], |[x]| Op::Call(op, x, None)))
            })*
            $(#[doc = concat!("See [`Function::", stringify!($gop), "`].")]
            #[must_use]
            pub fn $gn(self, other: impl Into<Operand<T>>) -> Symbol<T> {
                let op = Function::$gop;
                Symbol::new(operation(op.name(), [self.raw.into(), other.into().raw], |[x, y]| Op::Call(op, x, Some(y))))
            })*
        }
    };
}

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

impl<T: Parts> Symbol<T> {
    /// The magnitude. Of a complex number it is [`Function::Hypot`] of its parts; integers wrap.
    #[must_use]
    pub fn abs(self) -> Symbol<T::Part> {
        if T::DTYPE.is_complex() { self.re().hypot(self.im()) } else { Symbol::new(unary(Unary::Abs, self.raw)) }
    }

    /// The real part of a complex number.
    #[must_use]
    pub fn re(self) -> Symbol<T::Part> {
        Symbol::new(unary(Unary::Re, self.raw))
    }

    /// The imaginary part of a complex number.
    #[must_use]
    pub fn im(self) -> Symbol<T::Part> {
        Symbol::new(unary(Unary::Im, self.raw))
    }

    /// The angle of a complex number: [`Function::Atan2`] of its parts.
    #[must_use]
    pub fn arg(self) -> Symbol<T::Part> {
        self.im().atan2(self.re())
    }
}

impl<T: Element> Symbol<T> {
    /// Whether it is not a number; of a complex number, whether a part is none.
    #[must_use]
    pub fn isnan(self) -> Symbol<Bool> {
        Symbol::new(unary(Unary::IsNan, self.raw))
    }

    /// Whether it is neither infinite nor NaN; of a complex number, whether both parts are so.
    #[must_use]
    pub fn isfinite(self) -> Symbol<Bool> {
        Symbol::new(unary(Unary::IsFinite, self.raw))
    }

    /// `self * factor + summand`, rounded once.
    #[must_use]
    pub fn fma(self, factor: impl Into<Operand<T>>, summand: impl Into<Operand<T>>) -> Symbol<T> {
        let operands = [self.raw.into(), factor.into().raw, summand.into().raw];
        Symbol::new(operation("fma", operands, |[a, b, c]| Op::Fma(a, b, c)))
    }

    /// Between `low` and `high`: `self.maximum(low).minimum(high)`, so NaN stays NaN.
    #[doc(alias = "clip")]
    #[must_use]
    pub fn clamp(self, low: impl Into<Operand<T>>, high: impl Into<Operand<T>>) -> Symbol<T> {
        self.maximum(low).minimum(high)
    }

    /// The value in another type, rounded once; an integer type that does not hold it gets its nearest value, and 0 for
    /// NaN. Floating point is cut to an integer. A complex number loses its imaginary part in a real type.
    #[doc(alias = "astype")]
    #[must_use]
    pub fn cast<R: Element>(self) -> Symbol<R> {
        Symbol::new(typed("cast", self.raw, R::DTYPE, |x| Op::Cast(Overflow::Saturate, x)))
    }

    /// As [`cast`](Self::cast), but an integer type gets the value modulo 2^width, and 0 for NaN and infinities.
    #[must_use]
    pub fn cast_wrapping<R: Element>(self) -> Symbol<R> {
        Symbol::new(typed("cast_wrapping", self.raw, R::DTYPE, |x| Op::Cast(Overflow::Wrap, x)))
    }

    /// The bits of the value as a real type of the same size. Those of a half are of the rounded value.
    #[must_use]
    pub fn bits<R: Element>(self) -> Symbol<R> {
        Symbol::new(typed("bits", self.raw, R::DTYPE, Op::Bits))
    }
}

impl Symbol<f32> {
    /// The complex number of this real part and that imaginary part.
    #[must_use]
    pub fn complex(self, im: impl Into<Operand<f32>>) -> Symbol<Complex<f32>> {
        Symbol::new(binary(Binary::Complex, self.raw.into(), im.into().raw))
    }
}

impl Symbol<f64> {
    /// The complex number of this real part and that imaginary part.
    #[must_use]
    pub fn complex(self, im: impl Into<Operand<f64>>) -> Symbol<Complex<f64>> {
        Symbol::new(binary(Binary::Complex, self.raw.into(), im.into().raw))
    }
}

impl Symbol<Bool> {
    /// `a` where this is true, `b` elsewhere. A number takes the type of the other one; of two numbers the first names the
    /// type. See [`Choice`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([3], [-1.0f32, 0.0, 2.0])?;
    /// let y = device.map(&x, |x| x.gt(0.0).select(1.0f32, 0.0) + x.lt(0.0).select(-x, x))?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[1. 0. 3.]");
    /// # Ok(()) }
    /// ```
    #[doc(alias = "where")]
    #[must_use]
    pub fn select<A: Choice<B>, B>(self, a: A, b: B) -> Symbol<A::Element> {
        let [a, b] = a.both(b);
        Symbol::new(select(self.raw, a.raw, b.raw, A::Element::DTYPE))
    }
}
