//! Sums over vectors: the tree of leaves; dot and nrm2.

use num_complex::Complex64;

use super::super::parallel::both;
use super::element::{Element, Room, direct, load};
use super::kernel::{self, COMPLEX_LANES, ComplexLanes, LANES, Real};
use super::view::View;
use super::{PARALLEL, PIECE};

/// Elements that one set of lanes sums. `LEAF` and `PIECE` are multiples of every number of lanes. So an element goes
/// to the same lane however its leaf is cut into pieces, and the increment does not change the sum.
pub(super) const LEAF: usize = 4096;
const _: () = assert!(LEAF.is_multiple_of(PIECE) && PIECE.is_multiple_of(LANES) && PIECE.is_multiple_of(COMPLEX_LANES));

/// Combines the leaves of `from..to` along a tree whose shape depends only on the number of leaves.
pub(super) fn tree<S: Send>(
    from: usize,
    to: usize,
    leaf: &(impl Fn(usize, usize) -> S + Sync),
    join: &(impl Fn(S, S) -> S + Sync),
) -> S {
    let len = to - from;
    if len <= LEAF {
        return leaf(from, to);
    }
    let middle = from + len.div_ceil(LEAF) / 2 * LEAF;
    let left = || tree(from, middle, leaf, join);
    let right = || tree(middle, to, leaf, join);
    if len > PARALLEL {
        let (mut one, mut two) = (None, None);
        both(|| one = Some(left()), || two = Some(right()));
        if let (Some(left), Some(right)) = (one, two) {
            return join(left, right);
        }
    }
    join(left(), right())
}

/// The sum of the lanes in f64; the addition of so few terms costs no accuracy.
pub(super) fn total<R: Real>(lanes: &[R]) -> f64 {
    lanes.iter().map(|x| (*x).into()).sum()
}

/// The sum of `x_i * y_i`, or of `conj(x_i) * y_i`.
pub(super) fn dot<T: Element>(n: usize, x: &[T], incx: isize, y: &[T], incy: isize, conj: bool) -> Complex64 {
    let (Some(mut xv), Some(mut yv)) = (View::new(n, incx, x.len()), View::new(n, incy, y.len())) else {
        return Complex64::default();
    };
    if incx < 0 && incy < 0 {
        // The same pairs in reverse order, in which the elements may be contiguous.
        (xv, yv) = (xv.reversed(n), yv.reversed(n));
    }
    let leaf = |from: usize, to: usize| {
        if T::PARTS == 1 {
            let mut lanes = [T::Real::default(); LANES];
            pairs(x, xv, y, yv, from, to, |x, y| kernel::dot(&mut lanes, x, y));
            return Complex64::new(total(&lanes), 0.0);
        }
        let mut lanes = ComplexLanes::new();
        pairs(x, xv, y, yv, from, to, |x, y| kernel::complex_dot(&mut lanes, x, y));
        lanes.product(conj)
    };
    tree(0, n, &leaf, &|a, b| a + b)
}

/// The sum of the lanes at even indices, and of those at odd ones.
pub(super) fn halves<R: Real>(lanes: &[R; COMPLEX_LANES]) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for [even, odd] in lanes.as_chunks::<2>().0 {
        let parts: [f64; 2] = [(*even).into(), (*odd).into()];
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    sums
}

/// Calls `f` with the elements `from..to` of both vectors as reals: all at once if no copy is needed, else piece by
/// piece.
fn pairs<T: Element>(
    x: &[T],
    xv: View,
    y: &[T],
    yv: View,
    from: usize,
    to: usize,
    mut f: impl FnMut(&[T::Real], &[T::Real]),
) {
    if let (Some(x), Some(y)) = (direct(x, xv, from, to), direct(y, yv, from, to)) {
        return f(x, y);
    }
    let (mut x_room, mut y_room): (Room<_>, Room<_>) =
        ([T::Real::default(); 2 * PIECE], [T::Real::default(); 2 * PIECE]);
    for from in (from..to).step_by(PIECE) {
        let to = to.min(from + PIECE);
        f(load(x, xv, from, to, &mut x_room), load(y, yv, from, to, &mut y_room));
    }
}

/// Calls `f` with the elements `from..to` as reals: all at once if no copy is needed, else piece by piece.
fn pieces<T: Element>(x: &[T], view: View, from: usize, to: usize, mut f: impl FnMut(&[T::Real])) {
    if let Some(x) = direct(x, view, from, to) {
        return f(x);
    }
    let mut room: Room<_> = [T::Real::default(); 2 * PIECE];
    for from in (from..to).step_by(PIECE) {
        f(load(x, view, from, to.min(from + PIECE), &mut room));
    }
}

/// The sum of the magnitudes of the parts, in f64; zero for `incx == 0`.
pub(super) fn magnitudes<T: Element>(n: usize, x: &[T], incx: isize) -> f64 {
    let Some(view) = (incx != 0).then(|| View::new(n, incx, x.len())).flatten() else {
        return 0.0;
    };
    let leaf = |from: usize, to: usize| {
        let mut lanes = [0.0; LANES];
        pieces(x, view, from, to, |x| kernel::magnitudes(&mut lanes, x));
        total(&lanes)
    };
    tree(0, n, &leaf, &|a, b| a + b)
}

/// If a sum of squares is at least this, underflow did no relevant harm: each square lost at most 2^-1075, and fewer
/// than 2^64 of them together less than 2^-100 of the sum.
const SAFE: f64 = f64::from_bits((1023 - 900) << 52);

/// The Euclidean norm.
///
/// The first pass sums the squares in f64, unscaled. This is accurate enough for every f32 vector, and for every f64
/// vector whose norm is not extreme. Otherwise (also after an overflow, or if all is zero), a second pass finds the
/// largest element and a third sums the squares scaled by a power of two near it.
pub(super) fn nrm2<T: Element>(n: usize, x: &[T], incx: isize) -> f64 {
    let Some(view) = (incx != 0).then(|| View::new(n, incx, x.len())).flatten() else {
        return 0.0;
    };
    let sum = |scale: f64| {
        let leaf = |from: usize, to: usize| {
            let mut lanes = [0.0; LANES];
            pieces(x, view, from, to, |x| kernel::squares(&mut lanes, x, scale));
            total(&lanes)
        };
        tree(0, n, &leaf, &|a, b| a + b)
    };
    let plain = sum(1.0);
    // Squares are never negative, so infinities cannot cancel: a NaN here comes from x.
    if plain.is_nan() || (SAFE..f64::INFINITY).contains(&plain) {
        return plain.sqrt();
    }
    let leaf = |from: usize, to: usize| {
        let mut most = 0.0_f64;
        pieces(x, view, from, to, |x| most = x.iter().fold(most, |most, x| most.max((*x).into().abs())));
        most
    };
    let most = tree(0, n, &leaf, &f64::max);
    if most == 0.0 || most == f64::INFINITY {
        return most;
    }
    // The power of two that scales `most` to [1, 2), or, for a subnormal, as close to it as possible.
    let exponent = ((most.to_bits() >> 52) as i64 - 1023).max(-1022);
    let scale = f64::from_bits(((1023 - exponent).clamp(1, 2046) as u64) << 52);
    sum(scale).sqrt() / scale
}
