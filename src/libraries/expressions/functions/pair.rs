//! Numbers of twice the precision, as sums of two (Dekker 1971; Joldes, Muller and Popescu 2017).

use super::format::Format;
use super::real::{Bits, Real};

/// A constant.
#[inline(always)]
pub(super) fn l<N: Real>(x: f64) -> N {
    N::lit(x)
}

/// An integer constant.
#[inline(always)]
pub(super) fn bits<N: Real>(x: i64) -> N::Bits {
    N::Bits::lit(x)
}

/// `hi + lo`, lo at most some last places of hi.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<N> {
    pub(super) hi: N,
    pub(super) lo: N,
}

impl<N: Real> Pair<N> {
    #[inline(always)]
    pub(super) fn new(hi: N, lo: N) -> Self {
        Pair { hi, lo }
    }

    /// A constant in two parts.
    #[inline(always)]
    pub(super) fn lit(parts: [f64; 2]) -> Self {
        let [hi, lo] = parts;
        Pair { hi: l(hi), lo: l(lo) }
    }

    /// `a + b`, exactly.
    #[inline(always)]
    pub(super) fn sum(a: N, b: N) -> Self {
        let hi = a + b;
        let part = hi - a;
        Pair { hi, lo: (a - (hi - part)) + (b - part) }
    }

    /// `a + b`, exactly if `|a| >= |b|` or `a` is zero.
    #[inline(always)]
    pub(super) fn ordered(a: N, b: N) -> Self {
        let hi = a + b;
        Pair { hi, lo: b - (hi - a) }
    }

    /// `a * b`, exactly.
    #[inline(always)]
    pub(super) fn product(a: N, b: N) -> Self {
        let hi = a * b;
        Pair { hi, lo: a.fma(b, -hi) }
    }

    /// With a part that is small beside this.
    #[inline(always)]
    pub(super) fn plus(self, lo: N) -> Self {
        Pair { hi: self.hi, lo: self.lo + lo }
    }

    /// `a + self`, |a| being the larger.
    #[inline(always)]
    pub(super) fn under(self, a: N) -> Self {
        Pair::ordered(a, self.hi).plus(self.lo)
    }

    #[inline(always)]
    pub(super) fn plus_pair(self, b: Self) -> Self {
        Pair::sum(self.hi, b.hi).plus(self.lo + b.lo)
    }

    #[inline(always)]
    pub(super) fn times_pair(self, b: Self) -> Self {
        let p = Pair::product(self.hi, b.hi);
        p.plus(self.hi.fma(b.lo, self.lo * b.hi))
    }

    /// The same by sums that are rounded with their products.
    #[inline(always)]
    pub(super) fn times_fused(self, b: Self) -> Self {
        let p = self.fused(b.hi);
        Pair { hi: p.hi, lo: self.hi.fma(b.lo, p.lo) }
    }

    /// [`times`](Self::times) by a sum that is rounded with its product.
    #[inline(always)]
    pub(super) fn fused(self, b: N) -> Self {
        let p = Pair::product(self.hi, b);
        Pair { hi: p.hi, lo: self.lo.fma(b, p.lo) }
    }

    #[inline(always)]
    pub(super) fn times(self, b: N) -> Self {
        let p = Pair::product(self.hi, b);
        p.plus(self.lo * b)
    }

    /// `self / b`, one division.
    #[inline(always)]
    pub(super) fn over(self, b: Self) -> Self {
        let inverse = l::<N>(1.0) / b.hi;
        let hi = self.hi * inverse;
        let rest = (-hi).fma(b.hi, self.hi) + (-hi).fma(b.lo, self.lo);
        Pair { hi, lo: rest * inverse }
    }

    /// The square root of a positive number, or zero.
    #[inline(always)]
    pub(super) fn root(self) -> Self {
        let hi = self.hi.sqrt();
        let rest = (-hi).fma(hi, self.hi) + self.lo;
        Pair { hi, lo: N::select(hi.is(l(0.0)), hi, rest / (hi + hi)) }
    }

    /// Times a power of two.
    #[inline(always)]
    pub(super) fn scaled(self, by: N) -> Self {
        Pair { hi: self.hi * by, lo: self.lo * by }
    }

    /// Without overlap; hi is the larger.
    #[inline(always)]
    pub(super) fn normal(self) -> Self {
        Pair::ordered(self.hi, self.lo)
    }

    #[inline(always)]
    pub(super) fn negated(self) -> Self {
        Pair { hi: -self.hi, lo: -self.lo }
    }

    /// Rounded.
    #[inline(always)]
    pub(super) fn value(self) -> N {
        self.hi + self.lo
    }

    #[inline(always)]
    pub(super) fn select(mask: N::Mask, yes: Self, no: Self) -> Self {
        Pair { hi: N::select(mask, yes.hi, no.hi), lo: N::select(mask, yes.lo, no.lo) }
    }
}

/// Horner's rule, the highest coefficient first.
#[inline(always)]
pub(super) fn polynomial<N: Real>(x: N, coefficients: &'static [f64]) -> N {
    let mut rest = coefficients.iter();
    let mut sum: N = l(rest.next().copied().unwrap_or(0.0));
    for c in rest {
        sum = sum.fma(x, l(*c));
    }
    sum
}

/// `2^n`, for an exponent in range.
#[inline(always)]
pub(super) fn power<N: Real>(n: N::Bits) -> N {
    (n + bits::<N>(N::Format::BIAS)).shl(N::Format::DIGITS - 1).real()
}

/// `x 2^n`, also where `2^n` is out of range: rounded once where x is near one.
#[inline(always)]
pub(super) fn scale<N: Real>(x: N, n: N::Bits) -> N {
    // Half of n, rounded down, by a shift without sign.
    let half = (n + bits::<N>(4096)).shr(1) - bits::<N>(2048);
    x * power(half) * power(n - half)
}

/// From `low` to `high`; NaN stays.
#[inline(always)]
pub(super) fn clamp<N: Real>(x: N, low: f64, high: f64) -> N {
    at_most(N::select(x.lt(l(low)), l(low), x), high)
}

/// NaN stays.
#[inline(always)]
pub(super) fn at_most<N: Real>(x: N, high: f64) -> N {
    N::select(l::<N>(high).lt(x), l(high), x)
}

/// The integer nearest to `x * factor`: as a number, and as bits.
#[inline(always)]
pub(super) fn nearest<N: Real>(x: N, factor: f64) -> (N, N::Bits) {
    let (t, n) = rounded(x, factor);
    (n, t.bits() - bits::<N>(N::Format::MAGIC_BITS))
}

/// The integer nearest to `x * factor`: in the last bits of a number, and as a number.
#[inline(always)]
pub(super) fn rounded<N: Real>(x: N, factor: f64) -> (N, N) {
    let t = x.fma(l(factor), l(N::Format::MAGIC));
    (t, t - l(N::Format::MAGIC))
}

/// `2^(n + by)` of an integer in the last bits of a number: what stands before it is shifted out.
#[inline(always)]
pub(super) fn power_up<N: Real>(t: N, by: i64) -> N {
    let digits = N::Format::DIGITS - 1;
    (t.bits().shl(digits) + bits::<N>((N::Format::BIAS + by) << digits)).real()
}

/// `2^(by - n)`.
#[inline(always)]
pub(super) fn power_down<N: Real>(t: N, by: i64) -> N {
    let digits = N::Format::DIGITS - 1;
    (bits::<N>((N::Format::BIAS + by) << digits) - t.bits().shl(digits)).real()
}

/// About `1 / x` of a positive number of single precision: the difference of a constant and its bits is within an eighth, and a step of
/// the third order leaves an error of 0.0018.
#[inline(always)]
pub(super) fn inverse<N: Real>(x: N) -> N {
    let r = (bits::<N>(0x7ef3_11c7) - x.bits()).real();
    let e = (-x).fma(r, l(1.0));
    r.fma(e.fma(e, e), r)
}

/// A small integer that is not negative, as a number.
#[inline(always)]
pub(super) fn convert<N: Real>(n: N::Bits) -> N {
    (n + bits::<N>(N::Format::MAGIC_BITS)).real() - l(N::Format::MAGIC)
}

/// `2^-DIGITS`: a number below it is lost beside one.
pub(super) const fn tiny<N: Real>() -> f64 {
    super::format::power_of_two(-(N::Format::DIGITS as i64))
}

/// The smallest normal number.
pub(super) const fn smallest<N: Real>() -> f64 {
    super::format::power_of_two(1 - N::Format::BIAS)
}
