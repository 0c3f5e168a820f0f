//! Composites, as formulas that neither overflow nor lose the answer.

use super::error::erfc_parts;
use super::exponential::Exponential;
use super::format::{Format, power_of_two};
use super::logarithm::log1p_pair;
use super::pair::{Pair, clamp, l, scale};
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
    let (value, n) = logistic(Pair::new(in_range(x), l(0.0)));
    scale(value.value(), n)
}

/// `x sigmoid(x)`.
#[inline(always)]
pub(super) fn silu<N: Real>(x: N) -> N {
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

/// `x/2 erfc(-x / sqrt(2))`.
#[inline(always)]
pub(super) fn gelu<N: Real>(x: N) -> N {
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
