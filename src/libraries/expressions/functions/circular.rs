//! Sine, cosine and tangent. Each has two forms: for angles near zero, which is fast, and for the rare large ones; see
//! [`is_far`](super::reduction::is_far).

use super::format::Format;
use super::pair::{Pair, bits, l, polynomial};
use super::real::{Bits, Real};
use super::reduction::Reduced;

/// Of a reduced angle.
struct Turned<N: Real> {
    sine: Pair<N>,
    cosine: Pair<N>,
    odd: N::Mask,
    quadrant: N::Bits,
}

impl<N: Real> Turned<N> {
    #[inline(always)]
    fn new(reduced: Reduced<N>) -> Self {
        let Reduced { quadrant, angle } = reduced;
        let r = angle.hi;
        let square = Pair::product(r, r);
        let z = square.hi;
        let half = z * l(0.5);
        let whole = Pair::ordered(l(1.0), -half);
        // The cubic term apart, for it counts most.
        let (cubic, others) = N::Format::SIN.split_last().map_or((0.0, N::Format::SIN), |(last, rest)| (*last, rest));
        let cube = r * z;
        let small = (cube * z).fma(polynomial(z, others), angle.lo * whole.hi);
        let sine = Pair::new(r, cube.fma(l(cubic), small));
        let rest = square.lo.fma(l(-0.5), (-r).fma(angle.lo, whole.lo));
        let cosine = Pair::new(whole.hi, (z * z).fma(polynomial(z, N::Format::COS), rest));
        let odd = !(quadrant & bits::<N>(1)).is(bits::<N>(0));
        Turned { sine, cosine, odd, quadrant }
    }

    /// The sine after `extra` more quarter turns.
    #[inline(always)]
    fn sine(&self, extra: i64) -> N {
        let (even, odd) = if extra % 2 == 0 { (self.sine, self.cosine) } else { (self.cosine, self.sine) };
        let value = Pair::select(self.odd, odd, even).value();
        let sign = (self.quadrant + bits::<N>(extra)).shr(1).shl(N::Format::WIDTH - 1);
        (value.bits() ^ sign).real()
    }

    #[inline(always)]
    fn tangent(&self) -> N {
        let above = Pair::select(self.odd, self.cosine, self.sine);
        let below = Pair::select(self.odd, self.sine.negated(), self.cosine);
        above.normal().over(below.normal()).value()
    }
}

/// What holds for zero, which keeps its sign, and for infinity and NaN, which give NaN.
#[inline(always)]
fn edges<N: Real>(x: N, value: N) -> N {
    let value = N::select(x.is(l(0.0)), x, value);
    N::select(x.abs().lt(l(f64::INFINITY)), value, l(f64::NAN))
}

/// The sine, |x| up to [`Format::CODY_WAITE_LIMIT`].
#[inline(always)]
pub(super) fn sin<N: Real>(x: N) -> N {
    edges(x, Turned::new(Reduced::near(x)).sine(0))
}

/// The cosine, |x| up to [`Format::CODY_WAITE_LIMIT`].
#[inline(always)]
pub(super) fn cos<N: Real>(x: N) -> N {
    edges_of_even(x, Turned::new(Reduced::near(x)).sine(1))
}

/// The tangent, |x| up to [`Format::CODY_WAITE_LIMIT`].
#[inline(always)]
pub(super) fn tan<N: Real>(x: N) -> N {
    edges(x, Turned::new(Reduced::near(x)).tangent())
}

#[inline(always)]
fn edges_of_even<N: Real>(x: N, value: N) -> N {
    N::select(x.abs().lt(l(f64::INFINITY)), value, l(f64::NAN))
}

/// Of a large angle.
#[inline(always)]
pub(super) fn sin_far<N: Real>(x: N) -> N {
    Turned::new(Reduced::far(x)).sine(0)
}

/// Of a large angle.
#[inline(always)]
pub(super) fn cos_far<N: Real>(x: N) -> N {
    Turned::new(Reduced::far(x)).sine(1)
}

/// Of a large angle.
#[inline(always)]
pub(super) fn tan_far<N: Real>(x: N) -> N {
    Turned::new(Reduced::far(x)).tangent()
}
