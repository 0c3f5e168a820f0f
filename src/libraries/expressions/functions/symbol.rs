//! The trait of arithmetic, over the values of a [`Low`] that the thread holds while a function is expanded.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use super::format::{Double, Format, Single};
use super::real::{Bits, Real};
use super::reduction::is_far;
use super::table::{self, Binary, Unary, binary_functions, unary_functions};
use super::{Function, complex};
use crate::libraries::expressions::low::{Lane, Low, LowOp, Value};

thread_local! {
    static LOW: RefCell<Low> = RefCell::default();
}

/// Leaves of the expansion are calls, not inlined: a function has hundreds of them.
fn with<T>(f: impl FnOnce(&mut Low) -> T) -> T {
    LOW.with_borrow_mut(f)
}

/// A floating-point value.
#[derive(Clone, Copy, Debug)]
struct Number<F>(Value, PhantomData<F>);
/// Its bits.
#[derive(Clone, Copy, Debug)]
struct Word<F>(Value, PhantomData<F>);
/// 0 or 1.
#[derive(Clone, Copy, Debug)]
struct Truth<F>(Value, PhantomData<F>);

const fn real<F: Format>() -> Lane {
    if F::WIDTH == 32 { Lane::F32 } else { Lane::F64 }
}

const fn word<F: Format>() -> Lane {
    if F::WIDTH == 32 { Lane::U32 } else { Lane::U64 }
}

#[inline(never)]
fn same<const N: usize>(op: LowOp, operands: [Value; N]) -> Value {
    with(|low| low.same(op, operands))
}

#[inline(never)]
fn compare<F>(op: LowOp, a: Value, b: Value) -> Truth<F> {
    Truth(with(|low| low.compare(op, a, b)), PhantomData)
}

fn number<F>(value: Value) -> Number<F> {
    Number(value, PhantomData)
}

fn bits<F>(value: Value) -> Word<F> {
    Word(value, PhantomData)
}

impl<F: Format> Real for Number<F> {
    type Format = F;
    type Bits = Word<F>;
    type Mask = Truth<F>;

    #[inline(never)]
    fn lit(x: f64) -> Self {
        let pattern = if F::WIDTH == 32 { u64::from((x as f32).to_bits()) } else { x.to_bits() };
        number(with(|low| low.constant(real::<F>(), pattern)))
    }
    fn fma(self, b: Self, c: Self) -> Self {
        number(same(LowOp::Fma, [self.0, b.0, c.0]))
    }
    fn sqrt(self) -> Self {
        number(same(LowOp::Sqrt, [self.0]))
    }
    fn abs(self) -> Self {
        number(same(LowOp::Abs, [self.0]))
    }
    fn copysign(self, sign: Self) -> Self {
        number(same(LowOp::Copysign, [self.0, sign.0]))
    }
    #[inline(never)]
    fn bits(self) -> Word<F> {
        bits(with(|low| low.reinterpret(self.0, word::<F>())))
    }
    fn lt(self, than: Self) -> Truth<F> {
        compare(LowOp::Lt, self.0, than.0)
    }
    fn le(self, than: Self) -> Truth<F> {
        compare(LowOp::Le, self.0, than.0)
    }
    fn is(self, other: Self) -> Truth<F> {
        compare(LowOp::Eq, self.0, other.0)
    }
    fn is_nan(self) -> Truth<F> {
        compare(LowOp::Ne, self.0, self.0)
    }
    fn select(mask: Truth<F>, yes: Self, no: Self) -> Self {
        number(same(LowOp::Select, [mask.0, yes.0, no.0]))
    }
}

impl<F: Format> Bits for Word<F> {
    type Real = Number<F>;

    #[inline(never)]
    fn lit(x: i64) -> Self {
        bits(with(|low| low.constant(word::<F>(), x.cast_unsigned())))
    }
    /// There is no such operation: from halves.
    #[inline(never)]
    fn mul_high(self, b: Self) -> Self {
        with(|low| {
            let half = low.number(Lane::U64, 32);
            if F::WIDTH == 32 {
                let [a, b] = [self.0, b.0].map(|v| low.convert(v, Lane::U64));
                let product = low.same(LowOp::Mul, [a, b]);
                let high = low.same(LowOp::Shr, [product, half]);
                return bits(low.convert(high, Lane::U32));
            }
            let mask = low.constant(Lane::U64, u64::from(u32::MAX));
            let [(a0, a1), (b0, b1)] =
                [self.0, b.0].map(|v| (low.same(LowOp::And, [v, mask]), low.same(LowOp::Shr, [v, half])));
            let [p00, p01, p10, p11] =
                [(a0, b0), (a0, b1), (a1, b0), (a1, b1)].map(|(a, b)| low.same(LowOp::Mul, [a, b]));
            // The middle: none of these sums overflows.
            let carry = low.same(LowOp::Shr, [p00, half]);
            let low10 = low.same(LowOp::And, [p10, mask]);
            let middle = low.same(LowOp::Add, [p01, carry]);
            let middle_low = low.same(LowOp::And, [middle, mask]);
            let middle_low = low.same(LowOp::Add, [middle_low, low10]);
            let parts = [middle, p10, middle_low].map(|v| low.same(LowOp::Shr, [v, half]));
            bits(parts.into_iter().fold(p11, |sum, part| low.same(LowOp::Add, [sum, part])))
        })
    }
    fn shl(self, by: u32) -> Self {
        self.shl_by(Self::lit(by.into()))
    }
    fn shr(self, by: u32) -> Self {
        self.shr_by(Self::lit(by.into()))
    }
    fn shl_by(self, by: Self) -> Self {
        bits(same(LowOp::Shl, [self.0, by.0]))
    }
    fn shr_by(self, by: Self) -> Self {
        bits(same(LowOp::Shr, [self.0, by.0]))
    }
    fn is(self, other: Self) -> Truth<F> {
        compare(LowOp::Eq, self.0, other.0)
    }
    fn below(self, other: Self) -> Truth<F> {
        compare(LowOp::Lt, self.0, other.0)
    }
    fn select(mask: Truth<F>, yes: Self, no: Self) -> Self {
        bits(same(LowOp::Select, [mask.0, yes.0, no.0]))
    }
    #[inline(never)]
    fn real(self) -> Number<F> {
        number(with(|low| low.reinterpret(self.0, real::<F>())))
    }
}

macro_rules! operators {
    ($type:ident: $($trait:ident $method:ident),*) => { $(
        impl<F> $trait for $type<F> {
            type Output = Self;
            fn $method(self, b: Self) -> Self {
                Self(same(LowOp::$trait, [self.0, b.0]), PhantomData)
            }
        }
    )* };
}
operators!(Number: Add add, Sub sub, Mul mul, Div div);
operators!(Word: Add add, Sub sub, Mul mul);

macro_rules! bitwise {
    ($type:ident: $($trait:ident $method:ident $op:ident),*) => { $(
        impl<F> $trait for $type<F> {
            type Output = Self;
            fn $method(self, b: Self) -> Self {
                Self(same(LowOp::$op, [self.0, b.0]), PhantomData)
            }
        }
    )* };
}
bitwise!(Word: BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor);
bitwise!(Truth: BitAnd bitand And, BitOr bitor Or);

impl<F> Neg for Number<F> {
    type Output = Self;
    fn neg(self) -> Self {
        number(same(LowOp::Neg, [self.0]))
    }
}

impl<F> Not for Truth<F> {
    type Output = Self;
    fn not(self) -> Self {
        let one = with(|low| low.number(Lane::U8, 1));
        Truth(same(LowOp::Xor, [self.0, one]), PhantomData)
    }
}

/// A function of one number; it is `function`, which names its far form.
fn one<U: Unary, F: Format>(x: Value, function: Function) -> Value {
    let x = number::<F>(x);
    let value = U::call(x);
    if U::FAR { same(LowOp::Far(function), [is_far(x).0, x.0, value.0]) } else { value.0 }
}

fn two<B: Binary, F: Format>(x: Value, y: Value) -> Value {
    B::call(number::<F>(x), number::<F>(y)).0
}

/// Records into `low`.
fn within<T>(low: &mut Low, f: impl FnOnce() -> T) -> T {
    let outer = LOW.replace(mem::take(low));
    let value = f();
    *low = LOW.replace(outer);
    value
}

macro_rules! unary_value {
    ($($type:ident $call:path $(, $far:path)?;)*) => {
        fn unary<F: Format>(function: Function, x: Value) -> Option<Value> {
            match function {
                $(Function::$type => Some(one::<table::$type, F>(x, function)),)*
                _ => None,
            }
        }

        fn far<F: Format>(function: Function, x: Value) -> Value {
            match function {
                $($(Function::$type => { let _ = stringify!($far); table::$type::far(number::<F>(x)).0 })?)*
                _ => x,
            }
        }
    };
}
unary_functions!(unary_value);

macro_rules! binary_value {
    ($($type:ident $call:path;)*) => {
        fn binary<F: Format>(function: Function, x: Value, y: Value) -> Value {
            match function {
                $(Function::$type => two::<table::$type, F>(x, y),)*
                _ => x,
            }
        }
    };
}
binary_functions!(binary_value);

fn value<F: Format>(function: Function, x: Value, y: Value) -> Value {
    unary::<F>(function, x).unwrap_or_else(|| binary::<F>(function, x, y))
}

/// Appends a function's arithmetic.
pub(super) fn expand(function: Function, lane: Lane, x: Value, y: Value, low: &mut Low) -> Value {
    within(low, || if lane == Lane::F32 { value::<Single>(function, x, y) } else { value::<Double>(function, x, y) })
}

/// Appends the arithmetic of a function's form for large numbers.
pub(super) fn expand_far(function: Function, lane: Lane, x: Value, low: &mut Low) -> Value {
    within(low, || if lane == Lane::F32 { far::<Single>(function, x) } else { far::<Double>(function, x) })
}

fn exp_of<F: Format>([re, im]: [Value; 2], [cosine, sine]: [Value; 2]) -> [Value; 2] {
    let [re, im, cosine, sine] = [re, im, cosine, sine].map(number::<F>);
    let (re, im) = complex::exp_with(re, im, cosine, sine);
    [re.0, im.0]
}

/// Appends the exponential of a complex number, from the cosine and sine of its imaginary part.
pub(super) fn expand_exp(z: [Value; 2], turn: [Value; 2], lane: Lane, low: &mut Low) -> [Value; 2] {
    within(low, || if lane == Lane::F32 { exp_of::<Single>(z, turn) } else { exp_of::<Double>(z, turn) })
}
