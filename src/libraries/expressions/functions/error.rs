//! The error function and its complement. Beyond 1/2, `(1 + 2x) e^(x^2) erfc x` is a polynomial in `(x - k) / (x + k)`
//! (Shepherd and Laframboise 1981).

use super::exponential::Exponential;
use super::format::{Format, power_of_two};
use super::pair::{Pair, at_most, bits, l, polynomial, scale};
use super::real::{Bits, Real};

/// Where the two ways meet.
const SEAM: f64 = 0.5;

/// |x| up to 1/2.
#[inline(always)]
fn erf_near<N: Real>(x: N) -> Pair<N> {
    // Remainders of the smallest numbers would be subnormal.
    let digits = N::Format::DIGITS as i64;
    let small = x.abs().lt(l(power_of_two(2 + digits - N::Format::BIAS)));
    let x = N::select(small, x * l(power_of_two(2 * digits)), x);
    let z = x * x;
    let [high, low] = N::Format::TWO_OVER_ROOT_PI;
    let product = Pair::product(x, l(high));
    let value = product.plus((x * z).fma(polynomial(z, N::Format::ERF), x * l(low)));
    // Rounded before it is scaled back.
    let back = N::select(small, l(power_of_two(-2 * digits)), l(1.0));
    value.normal().scaled(back)
}

/// `erfc x = 2^n value`, x from 1/2 to [`Format::ERFC_LIMIT`].
#[inline(always)]
fn erfc_far<N: Real>(x: Pair<N>) -> (Pair<N>, N::Bits) {
    let k = l::<N>(N::Format::ERFC_CENTRE);
    let t = (x.hi - k) / (x.hi + k);
    let (last, rest) = match N::Format::ERFC.split_last() {
        Some((last, rest)) => (*last, rest),
        None => (0.0, N::Format::ERFC),
    };
    let g = Pair::ordered(l(last), t * polynomial(t, rest));
    let square = x.times_pair(x).negated().normal();
    let e = Exponential::from_pair(square);
    let twice = Pair::sum(x.hi + x.hi, l(1.0)).plus(x.lo + x.lo);
    (g.times_pair(e.mantissa()).over(twice), e.n_bits)
}

/// The error function.
#[inline(always)]
pub(super) fn erf<N: Real>(x: N) -> N {
    let y = x.abs();
    let near = y.lt(l(SEAM));
    let small = erf_near(N::select(near, y, l(0.0))).value();
    let far = at_most(N::select(near, l(SEAM), y), N::Format::ERF_LIMIT);
    let (value, n) = erfc_far(Pair::new(far, l(0.0)));
    let value = value.scaled(super::pair::power(n));
    let large = value.negated().under(l(1.0)).value();
    let value = N::select(near, small, large);
    N::select(x.is_nan(), x, value.copysign(x))
}

/// `erfc x = 2^n value`, of `x` with a part that is small beside it. NaN stays.
#[inline(always)]
pub(super) fn erfc_parts<N: Real>(x: Pair<N>) -> (Pair<N>, N::Bits) {
    let y = x.hi.abs();
    let near = y.lt(l(SEAM));
    let small = erf_near(N::select(near, x.hi, l(0.0)));
    let small = small.negated().under(l(1.0));
    let inside = (!near) & y.lt(l(N::Format::ERFC_LIMIT));
    let far = N::select(near, l(SEAM), at_most(y, N::Format::ERFC_LIMIT));
    let negative = x.hi.lt(l(0.0));
    let rest = N::select(inside, N::select(negative, -x.lo, x.lo), l(0.0));
    let (value, n) = erfc_far(Pair::new(far, rest));
    let mirrored = value.scaled(scale(l::<N>(1.0), n)).negated().under(l(2.0));
    let whole = near | negative;
    let value = Pair::select(near, small, Pair::select(negative, mirrored, value));
    let value = Pair::select(x.hi.is_nan(), x, value);
    (value, N::Bits::select(whole, bits::<N>(0), n))
}

/// `1 - erf x`, also where that is small.
#[inline(always)]
pub(super) fn erfc<N: Real>(x: N) -> N {
    let (value, n) = erfc_parts(Pair::new(x, l(0.0)));
    scale(value.value(), n)
}
