//! Hyperbolic functions, from `e^|x| = 2^n (1 + m)` without cancellation: with `1 / (1 + m) = 1 - m / (1 + m)`,
//! `2 sinh = 2^n ((1 - 2^-2n) + m + 2^-2n m / (1 + m))`. In single precision tanh has a shorter form.

use super::exponential::Exponential;
use super::format::Format;
use super::pair::{Pair, at_most, bits, inverse, l, nearest, polynomial, power, power_up, rounded, scale};
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

/// Where the two ways of single precision meet.
const SEAM: f64 = 0.7;
/// From here on tanh is one in single precision.
const LIMIT: f64 = 9.1;

/// In single precision: up to the seam a polynomial, beyond it `1 - 1 / d` with `d = (1 + e^2|x|) / 2`. There the error of the
/// exponential counts little: 40 operations and no division, instead of 65.
#[inline(always)]
fn tanh_short<N: Real>(x: N) -> N {
    let [high, low] = N::Format::LN2_SHORT;
    let y = x.abs();
    let far = at_most(y, LIMIT);
    let (t, n) = rounded(far, 2.0 * N::Format::LOG2_E[0]);
    let u = n.fma(l(-low / 2.0), n.fma(l(-high / 2.0), far));
    // e^2|x| is 2^n (1 + 2 m).
    let m = (u * u).fma(polynomial(u, N::Format::TANH_EXP), u);
    let half = power_up(t, -1);
    let (whole, above) = (half + half, half + l(0.5));
    let d = whole.fma(m, above);
    let rest = whole.fma(m, above - d);
    let r = inverse(d);
    let e = (-rest).fma(r, (-d).fma(r, l(1.0)));
    let large = l::<N>(1.0) - r.fma(e.fma(e, e), r);
    let z = y * y;
    let small = polynomial(z, N::Format::TANH).fma(z * y, y);
    N::select(y.lt(l(SEAM)), small, large).copysign(x)
}

/// `((1 - s) + m) / ((1 + s) + m)` with `e^|2x| = (1 + m) / s`.
#[inline(always)]
pub(super) fn tanh<N: Real>(x: N) -> N {
    if N::Format::IS_SHORT {
        return tanh_short(x);
    }
    let y = x.abs();
    let e = Exponential::new(at_most(y + y, 0.7 * (N::Format::DIGITS + 3) as f64));
    let s: N = power(bits::<N>(0) - e.n_bits);
    let above = e.m.plus_pair(Pair::ordered(l(1.0), -s));
    let below = e.m.plus_pair(Pair::ordered(l(1.0), s));
    above.normal().over(below.normal()).value().copysign(x)
}
