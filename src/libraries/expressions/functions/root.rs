//! Roots: an approximation, then one step of Newton's method with the remainder computed exactly.

use super::format::{Format, power_of_two};
use super::pair::{Pair, bits, convert, l, nearest, polynomial, power, smallest};
use super::real::{Bits, Real};

/// `1 / sqrt(x)`; of a zero, infinity of its sign.
#[inline(always)]
pub(super) fn rsqrt<N: Real>(x: N) -> N {
    // The remainders of small numbers would be subnormal.
    let step = N::Format::DIGITS as i64;
    let small = x.lt(l(power_of_two(4 * step - N::Format::BIAS)));
    let z = N::select(small, x * l(power_of_two(4 * step)), x);
    let root = z.sqrt();
    let y = l::<N>(1.0) / root;
    let rest = (-root).fma(root, z) * y * y;
    let y = y.fma((-root).fma(y, l(1.0)) - rest * l(0.5), y);
    let y = N::select(small, y * l(power_of_two(2 * step)), y);
    let y = N::select(x.lt(l(f64::INFINITY)), y, N::select(x.is_nan(), x, l(0.0)));
    let y = N::select(x.lt(l(0.0)), l(f64::NAN), y);
    N::select(x.is(l(0.0)), l::<N>(f64::INFINITY).copysign(x), y)
}

/// `x = 2^(3 k) m` with m from 1/2 to 4; `m^(-1/3)` by a polynomial and Halley's iteration.
#[inline(always)]
pub(super) fn cbrt<N: Real>(x: N) -> N {
    let third = N::Format::DIGITS as i64 / 3 + 1;
    let y = x.abs();
    let small = y.lt(l(smallest::<N>()));
    let z = N::select(small, y * l(power_of_two(3 * third)), y);
    let biased = z.bits().shr(N::Format::DIGITS - 1);
    let one = bits::<N>(N::Format::ONE);
    let mantissa = (z.bits() - biased.shl(N::Format::DIGITS - 1) + one).real();
    let e = convert::<N>(biased) - l(N::Format::BIAS as f64);
    let (k, k_bits) = nearest(e, 1.0 / 3.0);
    let (_, left) = nearest(k.fma(l(-3.0), e), 1.0);
    let m: N = mantissa * power(left);
    let mut r = polynomial(m, N::Format::CBRT);
    let steps = if N::Format::DIGITS == 24 { 1 } else { 2 };
    for _ in 0..steps {
        let h = (-(m * r * r)).fma(r, l(1.0));
        r = (r * h).fma(h.fma(l(2.0 / 9.0), l(1.0 / 3.0)), r);
    }
    let square = r * r;
    let root = m * square;
    let twice = Pair::product(root, root);
    let rest = (-root).fma(twice.hi, m) - root * twice.lo;
    let root = (rest * square).fma(l(1.0 / 3.0), root);
    let value = root * power(k_bits);
    let value = N::select(small, value * l(power_of_two(-third)), value);
    N::select((l::<N>(0.0).lt(y)) & y.lt(l(f64::INFINITY)), value.copysign(x), x + x)
}

/// `sqrt(x^2 + y^2)`, with squares and their sum in two parts; infinite if either is, even beside NaN.
#[inline(always)]
pub(super) fn hypot<N: Real>(x: N, y: N) -> N {
    let (x, y) = (x.abs(), y.abs());
    let swap = x.lt(y);
    let (a, b) = (N::select(swap, y, x), N::select(swap, x, y));
    // Squares and their remainders stay in range: a large number is scaled down, a small one up.
    let quarter = (N::Format::BIAS + 1) / 4;
    let down = l::<N>(power_of_two(2 * quarter - 4)).le(a);
    let up = a.lt(l(power_of_two(4 - quarter)));
    let by = |d: i64, u: i64| N::select(down, l::<N>(power_of_two(d)), N::select(up, l(power_of_two(u)), l(1.0)));
    let (factor, back) = (by(-2 * quarter - 4, quarter * 5 / 2), by(2 * quarter + 4, -quarter * 5 / 2));
    let (p, q) = (a * factor, b * factor);
    let square = Pair::product(p, p).plus_pair(Pair::product(q, q));
    let root = square.root().value() * back;
    let infinite = x.is(l(f64::INFINITY)) | y.is(l(f64::INFINITY));
    let value = N::select(x.is_nan() | y.is_nan(), x + y, root);
    N::select(infinite, l(f64::INFINITY), value)
}
