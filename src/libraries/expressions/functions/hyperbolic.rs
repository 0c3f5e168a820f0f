//! Hyperbolic functions, from `e^|x| = 2^n (1 + m)` without cancellation: with `1 / (1 + m) = 1 - m / (1 + m)`,
//! `2 sinh = 2^n ((1 - 2^-2n) + m + 2^-2n m / (1 + m))`.

use super::exponential::Exponential;
use super::format::Format;
use super::pair::{Pair, at_most, bits, l, nearest, power, scale};
use super::real::Real;

/// `2^n (1 + m)` plus or minus its inverse, halved.
#[inline(always)]
fn half_sum<N: Real>(x: N, sign: f64) -> N {
    let e = Exponential::new(at_most(x.abs(), N::Format::EXP_RANGE[1] + 1.0));
    let ratio = e.m.normal().over(e.mantissa());
    let (_, n) = nearest(at_most(e.n, N::Format::DIGITS as f64), 1.0);
    let down: N = power(bits::<N>(0) - n);
    let square = down * down;
    let whole = Pair::ordered(l(1.0), square * l(sign));
    let back = ratio.scaled(square * l(-sign));
    let parts = e.m.plus_pair(back);
    scale(parts.under(whole.hi).plus(whole.lo).value(), e.n_bits - bits::<N>(1))
}

/// The hyperbolic sine.
#[inline(always)]
pub(super) fn sinh<N: Real>(x: N) -> N {
    half_sum(x, -1.0).copysign(x)
}

/// The hyperbolic cosine.
#[inline(always)]
pub(super) fn cosh<N: Real>(x: N) -> N {
    half_sum(x, 1.0)
}

/// `((1 - s) + m) / ((1 + s) + m)` with `e^|2x| = (1 + m) / s`.
#[inline(always)]
pub(super) fn tanh<N: Real>(x: N) -> N {
    let y = x.abs();
    let e = Exponential::new(at_most(y + y, 0.7 * (N::Format::DIGITS + 3) as f64));
    let s: N = power(bits::<N>(0) - e.n_bits);
    let above = e.m.plus_pair(Pair::ordered(l(1.0), -s));
    let below = e.m.plus_pair(Pair::ordered(l(1.0), s));
    above.normal().over(below.normal()).value().copysign(x)
}
