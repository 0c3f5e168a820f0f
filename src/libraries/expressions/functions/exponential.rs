//! Exponentials: reduction by multiples of ln 2 in two parts (Cody and Waite), a polynomial, a power of two.

use super::format::Format;
use super::pair::{Pair, bits, clamp, l, nearest, polynomial, power, scale, tiny};
use super::real::Real;

/// `n ln 2 + r`, |r| up to (ln 2)/2.
#[derive(Clone, Copy)]
struct Reduced<N: Real> {
    n: N,
    n_bits: N::Bits,
    r: Pair<N>,
}

impl<N: Real> Reduced<N> {
    /// Reduces a number in [`Format::EXP_RANGE`].
    #[inline(always)]
    fn new(x: N) -> Self {
        let [high, low] = N::Format::LN2_SHORT;
        let (n, n_bits) = nearest(x, N::Format::LOG2_E[0]);
        let exact = n.fma(l(-high), x);
        Reduced { n, n_bits, r: Pair::ordered(exact, n * l(-low)) }
    }

    /// Of `x ln 2`, x in [`Format::EXP2_RANGE`].
    #[inline(always)]
    fn of_binary(x: Pair<N>) -> Self {
        let (n, n_bits) = nearest(x.hi, 1.0);
        Reduced { n, n_bits, r: Pair::new(x.hi - n, x.lo).times_pair(Pair::lit(N::Format::LN2)) }
    }

    /// Its exponential, rounded once beside an error of a few hundredths of the last place.
    #[inline(always)]
    fn exp(&self) -> N {
        let r = self.r.hi;
        let rest = (r * r).fma(polynomial(r, N::Format::EXP), self.r.lo);
        scale(Pair::new(r, rest).under(l(1.0)).value(), self.n_bits)
    }
}

/// An exponential in two parts: `2^n (1 + m)`, `|m|` below 0.42.
#[derive(Clone, Copy)]
pub(super) struct Exponential<N: Real> {
    pub(super) n: N,
    pub(super) n_bits: N::Bits,
    pub(super) m: Pair<N>,
}

impl<N: Real> Exponential<N> {
    /// The exponential of `x` in [`Format::EXP_RANGE`] and a small part.
    #[inline(always)]
    pub(super) fn from_pair(x: Pair<N>) -> Self {
        let reduced = Reduced::new(x.hi);
        Self::with(Reduced { r: reduced.r.plus(x.lo).normal(), ..reduced })
    }

    /// Of one number.
    #[inline(always)]
    pub(super) fn new(x: N) -> Self {
        Self::with(Reduced::new(x))
    }

    /// `2^(x + lo)`, of `x` in [`Format::EXP2_RANGE`].
    #[inline(always)]
    pub(super) fn of_two(x: Pair<N>) -> Self {
        let reduced = Reduced::of_binary(x);
        Self::with(Reduced { r: reduced.r.normal(), ..reduced })
    }

    /// With the square of r in two parts too: `m` has some six digits more than the format.
    #[inline(always)]
    fn with(reduced: Reduced<N>) -> Self {
        let Reduced { n, n_bits, r: Pair { hi: r, lo } } = reduced;
        let square = Pair::product(r, r);
        // The coefficient of the square is 1/2.
        let cubic = N::Format::EXP.split_last().map_or(N::Format::EXP, |(_, rest)| rest);
        let m = Pair::ordered(r, square.hi * l(0.5));
        // The low part of r counts e^r times.
        let rest = (square.hi * r).fma(polynomial(r, cubic), lo.fma(m.hi, lo));
        Exponential { n, n_bits, m: m.plus(square.lo.fma(l(0.5), rest)) }
    }

    /// `1 + m`.
    #[inline(always)]
    pub(super) fn mantissa(&self) -> Pair<N> {
        self.m.under(l(1.0)).normal()
    }
}

/// `e^x`.
#[inline(always)]
pub(super) fn exp<N: Real>(x: N) -> N {
    let [low, high] = N::Format::EXP_RANGE;
    Reduced::new(clamp(x, low, high)).exp()
}

/// `2^x`; exact for integers.
#[inline(always)]
pub(super) fn exp2<N: Real>(x: N) -> N {
    let [low, high] = N::Format::EXP2_RANGE;
    Reduced::of_binary(Pair::new(clamp(x, low, high), l(0.0))).exp()
}

/// `e^x - 1`, without cancellation near zero.
#[inline(always)]
pub(super) fn expm1<N: Real>(x: N) -> N {
    let low = -0.7 * (N::Format::DIGITS + 2) as f64;
    let e = Exponential::new(clamp(x, low, N::Format::EXP_RANGE[1]));
    // Half of the answer, which does not overflow before the answer does: s (1 + m) - 1/2.
    let s: N = power(e.n_bits - bits::<N>(1));
    let whole = Pair::sum(s, l(-0.5));
    let h = Pair::ordered(whole.hi, s * e.m.hi);
    let y = h.hi + s.fma(e.m.lo, h.lo + whole.lo);
    // A small number keeps its last place, and zero its sign.
    N::select(x.abs().lt(l(tiny::<N>())), x, y + y)
}
