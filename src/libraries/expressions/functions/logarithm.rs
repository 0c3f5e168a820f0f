//! Logarithms: `x = 2^e m` with m from sqrt(1/2) to sqrt(2), then `log m = 2 atanh(f / (2 + f))` with `f = m - 1`, the quotient
//! in two parts.

use super::format::{Format, power_of_two};
use super::pair::{Pair, bits, convert, l, polynomial, power, smallest, tiny};
use super::real::{Bits, Real};

/// `x = 2^e m`: x positive, finite and normal.
#[derive(Clone, Copy)]
pub(super) struct Split<N: Real> {
    pub(super) m: N,
    /// The exponent plus the bias, as bits.
    pub biased: N::Bits,
    pub e: N,
}

impl<N: Real> Split<N> {
    #[inline(always)]
    pub(super) fn new(x: N) -> Self {
        let one = bits::<N>(N::Format::ONE);
        let shifted = x.bits() + (one - l::<N>(N::Format::ROOT_HALF[0]).bits());
        let biased = shifted.shr(N::Format::DIGITS - 1);
        let m = (x.bits() - biased.shl(N::Format::DIGITS - 1) + one).real();
        Split { m, biased, e: convert::<N>(biased) - l(N::Format::BIAS as f64) }
    }

    /// Of a number that may be subnormal.
    #[inline(always)]
    pub(super) fn any(x: N) -> Self {
        let digits = N::Format::DIGITS as i64;
        let small = x.lt(l(smallest::<N>()));
        let split = Split::new(N::select(small, x * l(power_of_two(digits)), x));
        Split { e: split.e - N::select(small, l(digits as f64), l(0.0)), ..split }
    }
}

/// `log(1 + f)`, f from sqrt(1/2) - 1 to sqrt(2) - 1.
#[inline(always)]
fn log_near_one<N: Real>(f: Pair<N>) -> Pair<N> {
    let s = f.over(f.under(l(2.0)));
    let z = s.hi * s.hi;
    let q = z.fma(polynomial(z, N::Format::LOG), l(N::Format::TWO_THIRDS[0]));
    Pair::new(s.hi + s.hi, (s.hi * z).fma(q, s.lo + s.lo))
}

/// The same of one number, without a quotient, which takes a processor as long as the whole polynomial.
#[inline(always)]
fn log_near_one_directly<N: Real>(f: N) -> Pair<N> {
    let square = Pair::product(f, f);
    let rest = (f * square.hi).fma(polynomial(f, N::Format::LOG_DIRECT), square.lo * l(-0.5));
    Pair::ordered(f, square.hi * l(-0.5)).plus(rest)
}

/// With the cubic term in two parts too: ten digits more.
#[inline(always)]
fn log_near_one_closely<N: Real>(f: N) -> Pair<N> {
    let s = Pair::new(f, l(0.0)).over(Pair::ordered(l(2.0), f)).normal();
    let z = s.times_pair(s);
    let cube = s.times_pair(z);
    let third = cube.times_pair(Pair::lit(N::Format::TWO_THIRDS));
    let rest = cube.hi * z.hi * polynomial(z.hi, N::Format::LOG);
    let sum = third.plus(rest).under(s.hi + s.hi);
    sum.plus(s.lo + s.lo)
}

/// `e ln 2 + y`.
#[inline(always)]
fn with_exponent<N: Real>(e: N, y: Pair<N>) -> Pair<N> {
    let [high, low] = N::Format::LN2_SHORT;
    y.under(e * l(high)).plus(e * l(low))
}

/// `log(1 + w)`, of a finite w above -1.
#[inline(always)]
pub(super) fn log1p_pair<N: Real>(w: Pair<N>) -> Pair<N> {
    let u = Pair::sum(l(1.0), w.hi).plus(w.lo);
    let split = Split::new(u.hi);
    // Beside a large number the low part is lost, and 2^-e may be out of range.
    let large = l::<N>(power_of_two(2 * N::Format::DIGITS as i64)).lt(u.hi);
    let down = N::select(large, l(0.0), power(bits::<N>(N::Format::BIAS) - split.biased));
    let f = Pair::ordered(split.m - l(1.0), u.lo * down);
    // Near zero, w itself has more digits.
    let f = Pair::select(split.e.is(l(0.0)), w, f);
    with_exponent(split.e, log_near_one(f))
}

/// `log(2^k x)` of a positive finite x.
#[inline(always)]
pub(super) fn log_pair<N: Real>(x: N, k: N) -> Pair<N> {
    let split = Split::any(x);
    with_exponent(split.e + k, log_near_one(Pair::new(split.m - l(1.0), l(0.0))))
}

/// `log2 x` to ten digits more than two numbers of the format give elsewhere; x positive and finite.
#[inline(always)]
pub(super) fn log2_closely<N: Real>(x: N) -> Pair<N> {
    let split = Split::any(x);
    let y = log_near_one_closely(split.m - l(1.0)).normal().times_pair(Pair::lit(N::Format::LOG2_E));
    y.under(split.e).normal()
}

/// What holds for zero, negative numbers, infinity and NaN.
#[inline(always)]
fn edges<N: Real>(x: N, y: N) -> N {
    let y = N::select(x.lt(l(f64::INFINITY)), y, x);
    let y = N::select(x.lt(l(0.0)), l(f64::NAN), y);
    N::select(x.is(l(0.0)), l(f64::NEG_INFINITY), y)
}

/// The natural logarithm.
#[inline(always)]
pub(super) fn log<N: Real>(x: N) -> N {
    let split = Split::any(x);
    let f = split.m - l(1.0);
    let is_short = !N::Format::LOG_DIRECT.is_empty();
    let y = if is_short { log_near_one_directly(f) } else { log_near_one(Pair::new(f, l(0.0))) };
    edges(x, with_exponent(split.e, y).value())
}

/// The logarithm to the base 2; exact for powers of two.
#[inline(always)]
pub(super) fn log2<N: Real>(x: N) -> N {
    let split = Split::any(x);
    let y = log_near_one(Pair::new(split.m - l(1.0), l(0.0))).times_pair(Pair::lit(N::Format::LOG2_E));
    edges(x, y.under(split.e).value())
}

/// The logarithm to the base 10; exact for powers of ten.
#[inline(always)]
pub(super) fn log10<N: Real>(x: N) -> N {
    edges(x, log_pair(x, l(0.0)).normal().times_pair(Pair::lit(N::Format::LOG10_E)).value())
}

/// `log(1 + x)`, without cancellation near zero.
#[inline(always)]
pub(super) fn log1p<N: Real>(x: N) -> N {
    let y = log1p_pair(Pair::new(x, l(0.0))).value();
    let y = N::select(x.lt(l(f64::INFINITY)), y, x);
    let y = N::select(x.lt(l(-1.0)), l(f64::NAN), y);
    let y = N::select(x.is(l(-1.0)), l(f64::NEG_INFINITY), y);
    N::select(x.abs().lt(l(tiny::<N>())), x, y)
}
