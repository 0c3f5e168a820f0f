//! Composites, as formulas that neither overflow nor lose the answer.

use super::error::erfc_parts;
use super::exponential::Exponential;
use super::format::{Format, power_of_two};
use super::logarithm::log1p_pair;
use super::pair::{Pair, at_most, clamp, inverse, l, polynomial, power_down, power_up, rounded, scale};
use super::real::Real;

/// `e^-|x|`, and the sigmoid of x: one over `1 + e`, or e over it.
#[inline(always)]
fn logistic<N: Real>(x: Pair<N>) -> (Pair<N>, N::Bits) {
    let e = Exponential::from_pair(Pair::new(-x.hi.abs(), N::select(x.hi.lt(l(0.0)), x.lo, -x.lo)));
    let mantissa = e.mantissa();
    // Below one the exponential is lost beside one long before it is subnormal.
    let down = scale(l::<N>(1.0), e.n_bits);
    let below = mantissa.scaled(down).under(l(1.0));
    let negative = x.hi.lt(l(0.0));
    let above = Pair::select(negative, mantissa, Pair::new(l(1.0), l(0.0)));
    let n = <N::Bits as super::real::Bits>::select(negative, e.n_bits, super::pair::bits::<N>(0));
    (above.over(below), n)
}

/// What [`logistic_short`] is multiplied by, as a power of two: no step meets a number that is subnormal.
const HIGH: i64 = 48;

/// In single precision the sigmoid of x, a small part beside it included, times 2^48: without a division, and with no more in two parts
/// than one unit needs.
#[inline(always)]
fn logistic_short<N: Real>(x: N, rest: Option<N>) -> Pair<N> {
    let [high, low] = N::Format::LN2_SHORT;
    let negative = x.lt(l(0.0));
    let y = -x.abs();
    // e^-|x| is 2^n (1 + p).
    let (t, n) = rounded(y, N::Format::LOG2_E[0]);
    let r_low = match rest {
        Some(rest) => n.fma(l(-low), N::select(negative, rest, -rest)),
        None => n * l(-low),
    };
    let r = Pair::ordered(n.fma(l(-high), y), r_low);
    let p = Pair::ordered(r.hi, (r.hi * r.hi).fma(polynomial(r.hi, N::Format::EXP), r.lo));
    let e = p.under(l(1.0)).scaled(power_up(t, HIGH));
    let one = l::<N>(power_of_two(HIGH));
    let below = e.hi + one;
    let below = Pair::new(below, (e.hi + (one - below)) + e.lo);
    let v = inverse(below.hi);
    let v = v.fma((-below.hi).fma(v, l(1.0)), v);
    let above = Pair::select(negative, e, Pair::new(one, l(0.0))).scaled(one);
    let value = above.hi * v;
    let left = (-value).fma(below.lo, (-value).fma(below.hi, above.hi)) + above.lo;
    Pair::new(value, left * v)
}

/// `x value / 2^48`; x itself above the bound.
#[inline(always)]
fn finish_short<N: Real>(x: N, near: N, value: Pair<N>, bound: f64) -> N {
    let y = value.fused(near).value() * l(power_of_two(-HIGH));
    N::select(l::<N>(bound).lt(x), x, y).copysign(x)
}

/// Where `x e^-x` is zero.
const fn bound<N: Real>() -> f64 {
    -1.1 * N::Format::EXP_RANGE[0]
}

/// x, within the range where the exponential of -|x| counts.
#[inline(always)]
fn in_range<N: Real>(x: N) -> N {
    let bound = bound::<N>();
    clamp(x, -bound, bound)
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(super) fn sigmoid<N: Real>(x: N) -> N {
    if N::Format::IS_SHORT {
        return logistic_short(in_range(x), None).value() * l(power_of_two(-HIGH));
    }
    let (value, n) = logistic(Pair::new(in_range(x), l(0.0)));
    scale(value.value(), n)
}

/// `x sigmoid(x)`.
#[inline(always)]
pub(super) fn silu<N: Real>(x: N) -> N {
    if N::Format::IS_SHORT {
        let near = in_range(x);
        return finish_short(x, near, logistic_short(near, None), bound::<N>());
    }
    let (value, n) = logistic(Pair::new(in_range(x), l(0.0)));
    finish(x, value, n)
}

/// `x value 2^n`, and zero at minus infinity; with the sign of x where it is too small for a number.
#[inline(always)]
fn finish<N: Real>(x: N, value: Pair<N>, n: N::Bits) -> N {
    let y = N::select(x.lt(l(-bound::<N>())), l(-bound::<N>()), x);
    // The remainder of a product with infinity would be NaN.
    N::select(x.is(l(f64::INFINITY)), x, scale(value.times(y).value(), n)).copysign(x)
}

/// In single precision gelu is zero below minus this, and x above it.
const LIMIT: f64 = 14.5;
/// Numbers are multiplied by two to the power of this, twice, so that no step meets one that is subnormal.
const LARGE: i64 = 32;

/// In single precision: with `y = |x|` the tail `y/2 erfc(y / sqrt(2))` is `e^(-y^2 / 2) a W(a)`, `a = y / (y + k)`, each in two parts.
/// The answer is x less the tail, or minus the tail: half as many operations, and no division.
#[inline(always)]
fn gelu_short<N: Real>(x: N) -> N {
    let [high, low] = N::Format::LN2_SHORT;
    let [rest_of_tail @ .., c1, c0] = N::Format::GELU_TAIL else { return x };
    let large = power_of_two(LARGE);
    let y = at_most(x.abs(), LIMIT);
    // e^(-y^2 / 2) is 2^-n (1 + p).
    let square = Pair::product(y, y);
    let (t, n) = rounded(square.hi, N::Format::LOG2_E[0] / 2.0);
    let r = Pair::ordered(n.fma(l(-2.0 * high), square.hi), n.fma(l(-2.0 * low), square.lo));
    let q = polynomial(r.hi, N::Format::GELU_EXP);
    let p = Pair::ordered(r.hi * l(-0.5), r.lo.fma(l(-0.5), (r.hi * r.hi) * q));
    let e = p.under(l(1.0));
    // a, times 2^32.
    let k = l::<N>(N::Format::GELU_CENTRE);
    let sum = y + k;
    let sum = Pair::new(sum, y - (sum - k));
    let v = inverse(sum.hi);
    let v = v.fma((-sum.hi).fma(v, l(1.0)), v);
    let above = y * l(large);
    let a = above * v;
    let a = Pair::new(a, (-a).fma(sum.lo, (-a).fma(sum.hi, above)) * v);
    // W, in 2 a - 1: the last steps of the polynomial in two parts.
    let twice = l::<N>(2.0 / large);
    let t_of_a = a.lo.fma(twice, a.hi.fma(twice, l(-1.0)));
    let (c0_high, c0_low, c1) = (l::<N>(*c0), l::<N>(*c0 - f64::from(*c0 as f32)), l::<N>(*c1));
    let before = polynomial(t_of_a, rest_of_tail);
    let s = before.fma(t_of_a, c1);
    let w = s.fma(t_of_a, c0_high);
    let w_low = s.fma(t_of_a, c0_high - w);
    let w_low = before.fma(t_of_a, c1 - s).fma(t_of_a, w_low) + c0_low;
    let tail = a.scaled(power_down(t, LARGE)).times_fused(Pair::new(w, w_low).times_fused(e));
    let whole = N::select(l::<N>(0.0).lt(x), above, l(0.0)) * l(large);
    let left = whole - tail.hi;
    let value = left + (((whole - left) - tail.hi) - tail.lo);
    N::select(l::<N>(LIMIT).lt(x), x, value * l(1.0 / (large * large))).copysign(x)
}

/// `x/2 erfc(-x / sqrt(2))`.
#[inline(always)]
pub(super) fn gelu<N: Real>(x: N) -> N {
    if N::Format::IS_SHORT {
        return gelu_short(x);
    }
    let bound = 1.5 * N::Format::ERFC_LIMIT;
    let z = clamp(x, -bound, bound);
    let (tail, n) = erfc_parts(Pair::lit(N::Format::ROOT_HALF).times(-z).normal());
    // Where erfc is two the answer is x.
    N::select(l::<N>(bound).lt(x), x, scale(tail.times(z * l(0.5)).value(), n)).copysign(x)
}

/// `x sigmoid(2 u)` with `u = sqrt(2/pi) (x + 0.044715 x^3)`, which is `x/2 (1 + tanh u)`.
#[inline(always)]
pub(super) fn gelu_tanh<N: Real>(x: N) -> N {
    let [factor, cubic] = N::Format::GELU;
    if N::Format::IS_SHORT {
        // Beyond this it is x, or zero.
        const BOUND: f64 = 12.0;
        let z = clamp(x, -BOUND, BOUND);
        let square = Pair::product(z, z);
        let inner = square.fused(l(cubic)).under(l(1.0));
        let u = inner.times_fused(Pair::product(z, l(factor)));
        let hi = in_range(u.hi);
        let value = logistic_short(hi, Some(N::select(hi.is(u.hi), u.lo, l(0.0))));
        return finish_short(x, z, value, BOUND);
    }
    let z = clamp(x, -32.0, 32.0);
    let inner = Pair::product(z, z).times(l(cubic)).plus_pair(Pair::new(l(1.0), l(0.0)));
    let u = inner.times_pair(Pair::product(z, l(factor))).normal();
    let hi = in_range(u.hi);
    let (value, n) = logistic(Pair::new(hi, N::select(hi.is(u.hi), u.lo, l(0.0))));
    finish(x, value, n)
}

/// `max(x, 0) + log(1 + e^-|x|)`.
#[inline(always)]
pub(super) fn softplus<N: Real>(x: N) -> N {
    let e = Exponential::new(-in_range(x).abs());
    let small = scale(e.m.under(l(1.0)).value(), e.n_bits);
    let down = scale(l::<N>(1.0), e.n_bits);
    let log = log1p_pair(e.mantissa().scaled(down));
    let positive = l::<N>(0.0).lt(x);
    let sum = log.plus_pair(Pair::new(N::select(positive, x, l(0.0)), l(0.0))).value();
    let sum = N::select(small.lt(l(power_of_two(-3 * N::Format::DIGITS as i64))), N::select(positive, x, small), sum);
    N::select(x.is_nan(), x, sum)
}
