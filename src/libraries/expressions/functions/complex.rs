//! The exponential of a complex number, given as real and imaginary part. Magnitude and angle are `hypot` and `atan2`.

use super::exponential::Exponential;
use super::format::{Format, power_of_two};
use super::pair::{bits, clamp, l, scale};
use super::real::{Bits, Real};

/// `e^re cos im` and `e^re sin im`, from the sine and cosine: with the power of two last, so that neither factor overflows
/// alone, and with the cases of C99's Annex G.
#[inline(always)]
pub(super) fn exp_with<N: Real>(re: N, im: N, cosine: N, sine: N) -> (N, N) {
    let (zero, infinity) = (l::<N>(0.0), l::<N>(f64::INFINITY));
    // The sine or cosine may be as small as the last place of pi: twice the range.
    let [low, high] = N::Format::EXP_RANGE;
    let e = Exponential::new(clamp(re, 2.0 * low, 2.0 * high));
    let mantissa = e.mantissa().value();
    // Scaled up first: the product would be subnormal for a small angle. Then the power in four parts, for its range is twice
    // that of a number.
    let up = 2 * N::Format::DIGITS as i64;
    let n = e.n_bits - bits::<N>(up);
    let half = (n + bits::<N>(8192)).shr(1) - bits::<N>(4096);
    let times = |part: N| scale(scale(part * l(power_of_two(up)) * mantissa, half), n - half);
    let (x, y) = (times(cosine), times(sine));
    let upper = re.is(infinity);
    let lower = re.is(-infinity);
    let plain = im.abs().lt(infinity);
    // Signs of sine and cosine on infinity or zero; without an angle, plus.
    let size = N::select(upper, infinity, zero);
    let (side_x, side_y) = (
        N::select(plain, size.copysign(cosine), size),
        N::select(plain, size.copysign(sine), N::select(upper, l(f64::NAN), size)),
    );
    let x = N::select(upper | lower, side_x, x);
    let y = N::select(upper | lower, side_y, y);
    let x = N::select(re.is_nan(), re, x);
    let y = N::select(re.is_nan(), re, y);
    (x, N::select(im.is(zero), im, y))
}
