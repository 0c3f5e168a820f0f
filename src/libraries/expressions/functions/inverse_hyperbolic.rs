//! Inverse hyperbolic functions, as `log(1 + w)` with w in two parts.

use super::format::{Format, power_of_two};
use super::logarithm::{log_pair, log1p_pair};
use super::pair::{Pair, l, tiny};
use super::real::Real;

/// Where the square of a number loses one, and before it overflows.
const fn large<N: Real>() -> f64 {
    power_of_two(N::Format::DIGITS as i64 + 6)
}

/// `w = x + x^2 / (1 + sqrt(1 + x^2))`; `log 2x` for large x.
#[inline(always)]
pub(super) fn asinh<N: Real>(x: N) -> N {
    let y = x.abs();
    let big = l::<N>(large::<N>()).lt(y);
    let z = N::select(big, l(1.0), y);
    let square = Pair::product(z, z);
    let root = square.plus_pair(Pair::new(l(1.0), l(0.0))).root();
    let w = square.over(root.plus_pair(Pair::new(l(1.0), l(0.0)))).plus_pair(Pair::new(z, l(0.0)));
    let value = N::select(big, log_pair(y, l(1.0)).value(), log1p_pair(w).value());
    let value = N::select(y.lt(l(f64::INFINITY)), value, y);
    N::select(y.lt(l(tiny::<N>())), y, value).copysign(x)
}

/// `w = t + sqrt(t (t + 2))` with `t = x - 1`.
#[inline(always)]
pub(super) fn acosh<N: Real>(x: N) -> N {
    let big = l::<N>(large::<N>()).lt(x);
    let t = Pair::sum(N::select(big, l(1.0), x), l(-1.0));
    let w = t.times_pair(Pair::sum(t.hi, l(2.0)).plus(t.lo)).normal().root().plus_pair(t);
    let value = N::select(big, log_pair(x, l(1.0)).value(), log1p_pair(w).value());
    let value = N::select(x.lt(l(f64::INFINITY)), value, x);
    N::select(x.lt(l(1.0)), l(f64::NAN), value)
}

/// `w = 2x / (1 - x)`, and half of the logarithm.
#[inline(always)]
pub(super) fn atanh<N: Real>(x: N) -> N {
    let y = x.abs();
    let inside = y.lt(l(1.0));
    let z = N::select(inside, y, l(0.0));
    let w = Pair::new(z + z, l(0.0)).over(Pair::ordered(l(1.0), -z)).normal();
    let value = log1p_pair(w).scaled(l(0.5)).value();
    let value = N::select(inside, value, N::select(y.is(l(1.0)), l(f64::INFINITY), l(f64::NAN)));
    N::select(y.lt(l(tiny::<N>())), y, value).copysign(x)
}
