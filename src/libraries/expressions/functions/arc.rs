//! Inverse circular functions: all from the angle of a point, reduced to an octant and there by the angles 0, atan 1/2 or pi/4.

use super::format::{Format, power_of_two};
use super::pair::{Pair, l, polynomial};
use super::real::Real;

/// The angle, from 0 to pi/2, of a point with coordinates that are not negative.
#[inline(always)]
fn angle<N: Real>(y: Pair<N>, x: Pair<N>) -> Pair<N> {
    let steep = x.hi.lt(y.hi);
    let (a, b) = (Pair::select(steep, x, y), Pair::select(steep, y, x));
    let near_axis = a.hi.lt(b.hi * l(0.25));
    let near_half = a.hi.lt(b.hi * l(0.75));
    let pick =
        |axis: f64, half: f64, diagonal: f64| N::select(near_axis, l(axis), N::select(near_half, l(half), l(diagonal)));
    // tan(angle - atan c) = (a - c b) / (b + c a): products with c are exact.
    let c = pick(0.0, 0.5, 1.0);
    let t = a.plus_pair(b.scaled(-c)).over(a.scaled(c).under(b.hi).plus(b.lo));
    let z = t.hi * t.hi;
    let t = t.plus(t.hi * z * polynomial(z, N::Format::ATAN));
    let ([h0, h1], [q0, q1]) = (N::Format::ATAN_HALF, N::Format::QUARTER_PI);
    let within = t.under(pick(0.0, h0, q0)).plus(pick(0.0, h1, q1));
    Pair::select(steep, from(N::Format::HALF_PI[0], N::Format::HALF_PI[1], within), within)
}

/// A constant less an angle.
#[inline(always)]
fn from<N: Real>(high: f64, low: f64, angle: Pair<N>) -> Pair<N> {
    angle.negated().under(l(high)).plus(l(low))
}

#[inline(always)]
fn single<N: Real>(x: N) -> Pair<N> {
    Pair::new(x, l(0.0))
}

/// `sqrt(1 - x^2)`, x up to one.
#[inline(always)]
fn leg<N: Real>(x: N) -> Pair<N> {
    let square = Pair::product(x, x).negated();
    square.under(l(1.0)).normal().root()
}

/// The inverse tangent.
#[inline(always)]
pub(super) fn atan<N: Real>(x: N) -> N {
    let y = x.abs();
    // An infinite coordinate would give NaN.
    let value = angle(single(N::select(y.lt(l(f64::INFINITY)), y, l(1.0))), single(l(1.0)));
    let value = N::select(y.is(l(f64::INFINITY)), l(N::Format::HALF_PI[0]), value.value());
    N::select(x.is_nan(), x, value.copysign(x))
}

/// The inverse sine: the angle of `(sqrt(1 - x^2), x)`.
#[inline(always)]
pub(super) fn asin<N: Real>(x: N) -> N {
    let y = x.abs();
    let value = angle(single(y), leg(y)).value().copysign(x);
    N::select(y.le(l(1.0)), value, l(f64::NAN))
}

/// The inverse cosine: the angle of `(x, sqrt(1 - x^2))`.
#[inline(always)]
pub(super) fn acos<N: Real>(x: N) -> N {
    let y = x.abs();
    let value = angle(leg(y), single(y));
    let [high, low] = N::Format::PI;
    let value = Pair::select(x.lt(l(0.0)), from(high, low, value), value).value();
    N::select(y.le(l(1.0)), value, l(f64::NAN))
}

/// The angle of the point `(x, y)`, from -pi to pi.
#[inline(always)]
pub(super) fn atan2<N: Real>(y: N, x: N) -> N {
    let (v, u) = (y.abs(), x.abs());
    let steep = u.lt(v);
    let large = N::select(steep, v, u);
    let small = N::select(steep, u, v);
    // Infinite coordinates count as one beside zero, and two as equal; two zeros lie on the axis.
    let infinite = large.is(l(f64::INFINITY));
    let small = N::select(infinite, N::select(small.is(l(f64::INFINITY)), l(1.0), l(0.0)), small);
    let large = N::select(infinite | large.is(l(0.0)), l(1.0), large);
    // Sums stay in range; and the remainder of a quotient, as long as the quotient itself is normal.
    let quarter = (N::Format::BIAS + 1) / 4;
    let down = l::<N>(power_of_two(4 * quarter - 4)).le(large);
    let up = large.lt(l(power_of_two(quarter - 4)));
    let factor = N::select(down, l(power_of_two(-8)), N::select(up, l(power_of_two(3 * quarter)), l(1.0)));
    let (large, small) = (large * factor, small * factor);
    let (v, u) = (N::select(steep, large, small), N::select(steep, small, large));
    let value = angle(single(v), single(u));
    let [high, low] = N::Format::PI;
    let left = l::<N>(1.0).copysign(x).lt(l(0.0));
    let value = Pair::select(left, from(high, low, value), value).value().copysign(y);
    N::select(x.is_nan() | y.is_nan(), x + y, value)
}
