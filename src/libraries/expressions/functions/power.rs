//! Powers: `2^(y log2 x)` with the logarithm in two parts, and the cases of C99's Annex F.

use super::exponential::Exponential;
use super::format::{Format, power_of_two};
use super::logarithm::log2_closely;
use super::pair::{Pair, clamp, l, scale, smallest};
use super::real::Real;

/// `y` rounded to an integer, |y| below `2^DIGITS`.
#[inline(always)]
fn rounded<N: Real>(y: N) -> N {
    let magic = l::<N>(power_of_two(N::Format::DIGITS as i64 - 1));
    let whole = (y.abs() + magic) - magic;
    N::select(y.abs().lt(magic), whole.copysign(y), y)
}

/// `x^y`.
#[inline(always)]
pub(super) fn pow<N: Real>(x: N, y: N) -> N {
    let (one, zero, infinity) = (l::<N>(1.0), l::<N>(0.0), l::<N>(f64::INFINITY));
    let a = x.abs();
    let ordinary = zero.lt(a) & a.lt(infinity);
    let base = N::select(ordinary, a, one);
    let [low, high] = N::Format::EXP2_RANGE;
    // An exponent beyond this gives zero or infinity for every base but one, and its products stay finite.
    let bound = power_of_two(N::Format::DIGITS as i64 + 12);
    // A tiny exponent gives one; its products would be subnormal.
    let exponent = clamp(y, -bound, bound);
    let exponent =
        N::select(y.abs().lt(l(smallest::<N>() * power_of_two(2 * N::Format::DIGITS as i64))), zero, exponent);
    let product = log2_closely(base).times(exponent).normal();
    let inside = clamp(product.hi, low, high);
    let rest = N::select(inside.is(product.hi), product.lo, zero);
    let result = Exponential::of_two(Pair::new(inside, rest));
    let value = scale(result.m.under(one).value(), result.n_bits);
    // Zero and infinity as bases: by the sign of the exponent.
    let small_base = a.lt(one);
    let falls = (small_base & zero.lt(y)) | (one.lt(a) & y.lt(zero));
    let extreme = N::select(falls, zero, infinity);
    let value = N::select(ordinary, value, extreme);
    // A negative base: with an odd exponent the value is negative, with one that is no integer NaN.
    let whole = rounded(y).is(y);
    let half = y * l(0.5);
    let odd = whole & !rounded(half).is(half);
    let negative = one.copysign(x).lt(zero);
    let value = N::select(negative & odd, -value, value);
    let value = N::select(x.lt(zero) & ordinary & !whole, l(f64::NAN), value);
    let value = N::select(x.is_nan() | y.is_nan(), x + y, value);
    let one_to_infinity = a.is(one) & y.abs().is(infinity);
    N::select(x.is(one) | y.is(zero) | one_to_infinity, one, value)
}
