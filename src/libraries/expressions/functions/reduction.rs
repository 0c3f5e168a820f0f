//! An angle less the nearest multiple of pi/2.

use super::format::Format;
use super::pair::{Pair, bits, convert, l, nearest};
use super::real::{Bits, Real};

/// `x - quadrant * pi/2`, |angle| up to pi/4 and a little.
#[derive(Clone, Copy)]
pub(super) struct Reduced<N: Real> {
    /// Of which the last two bits count.
    pub(super) quadrant: N::Bits,
    pub(super) angle: Pair<N>,
}

impl<N: Real> Reduced<N> {
    /// With pi/2 in three parts (Cody and Waite), |x| up to [`Format::CODY_WAITE_LIMIT`]. The first product leaves no error:
    /// the difference is below one, and a multiple of the last place of pi/2.
    #[inline(always)]
    pub(super) fn near(x: N) -> Self {
        let [first, second, third] = N::Format::HALF_PI;
        let (n, quadrant) = nearest(x, N::Format::TWO_OVER_PI);
        let exact = n.fma(l(-first), x);
        let product = Pair::product(n, l(-second));
        let angle = Pair::sum(exact, product.hi);
        Reduced { quadrant, angle: angle.plus(n.fma(l(-third), product.lo)) }
    }

    /// For every finite x from 2^-7 on, by integers (Payne and Hanek): the product of the significand with those digits of 2/pi
    /// that give neither whole turns nor anything small.
    #[inline(always)]
    pub(super) fn far(x: N) -> Self {
        let width = N::Format::WIDTH as i64;
        let (half, digits) = (N::Format::WIDTH / 2, N::Format::DIGITS);
        let y = x.abs().bits();
        let fraction = (1i64 << (digits - 1)) - 1;
        let significand = (y & bits::<N>(fraction)) | bits::<N>(fraction + 1);
        // x = significand * 2^e. Digits of 2/pi of weight 2^(2 - e) and above give whole turns; a word of zeros stands before them.
        let e = y.shr(digits - 1) - bits::<N>(N::Format::BIAS + digits as i64 - 1);
        let start = e + bits::<N>(width - 2);
        let index = start.shr(if width == 32 { 5 } else { 6 });
        let shift = start & bits::<N>(width - 1);
        let words = Self::window(index);
        let window = |k: usize| -> N::Bits {
            let (Some(high), Some(low)) = (words.get(k), words.get(k + 1)) else { return bits::<N>(0) };
            // In two steps, so that no shift is by the width.
            high.shl_by(shift) | low.shr(1).shr_by(bits::<N>(width - 1) - shift)
        };
        let (w2, w1, w0) = (window(0), window(1), window(2));
        // significand * window, without what lies above: quarter turns stand in the first two bits.
        let (p0, carry0) = (w0 * significand, w0.mul_high(significand));
        let low1 = w1 * significand;
        let p1 = low1 + carry0;
        let one_if = |mask| N::Bits::select(mask, bits::<N>(1), bits::<N>(0));
        let p2 = w2 * significand + w1.mul_high(significand) + one_if(p1.below(low1));
        let top = N::Format::WIDTH - 2;
        let (r2, r1, r0) = (p2.shl(2) | p1.shr(top), p1.shl(2) | p0.shr(top), p0.shl(2));
        // The rest, as a number with sign: beyond half a quarter turn it is less the next one.
        let next = r2.shr(N::Format::WIDTH - 1);
        let quadrant = p2.shr(top) + next;
        // Of a negative rest take the complement, which is its size less one last bit.
        let flip = bits::<N>(0) - next;
        let mut sum = Pair::new(l(0.0), l(0.0));
        let mut weight = -1;
        for word in [r2 ^ flip, r1 ^ flip, r0 ^ flip] {
            // Parts so small that they are numbers without rounding; DIGITS - 2 bits fit, the format's half word does.
            for part in [word.shr(half), word & bits::<N>((1 << half) - 1)] {
                let value = convert::<N>(part) * l(super::format::power_of_two(weight * i64::from(half)));
                let next = Pair::ordered(sum.hi, value);
                sum = Pair::new(next.hi, sum.lo + next.lo);
                weight -= 1;
            }
        }
        let angle = sum.normal().times_pair(Pair::lit([N::Format::HALF_PI[0], N::Format::HALF_PI[1]]));
        let negative = !next.is(bits::<N>(0));
        let angle = Pair::select(negative, angle.negated(), angle);
        // The sign of x turns both.
        let turned = x.lt(l(0.0));
        Reduced {
            quadrant: N::Bits::select(turned, bits::<N>(0) - quadrant, quadrant),
            angle: Pair::select(turned, angle.negated(), angle),
        }
    }

    /// Four words of 2/pi from `index`, zeros before the first and after the last.
    fn window(index: N::Bits) -> [N::Bits; 4] {
        let word = |at: usize| at.checked_sub(1).and_then(|i| N::Format::TWO_OVER_PI_BITS.get(i)).copied().unwrap_or(0);
        let mut out = [0, 1, 2, 3].map(|k| bits::<N>(word(k).cast_signed()));
        for at in 1..N::Format::TWO_OVER_PI_BITS.len() {
            let here = index.is(bits::<N>(at as i64));
            for (k, slot) in out.iter_mut().enumerate() {
                *slot = N::Bits::select(here, bits::<N>(word(at + k).cast_signed()), *slot);
            }
        }
        out
    }
}

/// Where [`Reduced::near`] does not hold, and the number is finite.
#[inline(always)]
pub(super) fn is_far<N: Real>(x: N) -> N::Mask {
    let y = x.abs();
    l::<N>(N::Format::CODY_WAITE_LIMIT).lt(y) & y.lt(l(f64::INFINITY))
}
