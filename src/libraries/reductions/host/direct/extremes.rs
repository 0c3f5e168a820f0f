//! The largest elements; the smallest ones and the largest magnitudes are those of other bits. There is no order to keep, so a loop
//! takes the larger numbers and notes beside whether one is NaN. Which of zeros it takes depends on their order: where that is
//! all there is, the elements are read again.

use super::plain::{Bits, Plain, Real};
use super::{Group, STRIP, Tile, Turn, strips};

/// Rows of a tile that are read together.
const TOGETHER: usize = 16;

pub(super) type BitsOf<T> = <<T as Plain>::Own as Real>::Bits;
type Found<T, const N: usize> = ([<T as Plain>::Own; N], [BitsOf<T>; N]);
pub(super) type Masks<T> = (BitsOf<T>, BitsOf<T>);

/// An element with the bits that are compared.
#[inline(always)]
pub(super) fn turned<T: Plain>(x: T::Own, (keep, flip): Masks<T>) -> T::Own {
    T::Own::from_bits((x.bits() & keep) ^ flip)
}

pub(super) fn masks<T: Plain>(turn: Turn) -> Masks<T> {
    (BitsOf::<T>::new(turn.keep), BitsOf::<T>::new(turn.flip))
}

/// Of `count` times `N` elements the largest ones, and where one is NaN.
///
/// # Safety
/// The elements are there.
#[inline(always)]
unsafe fn largest<T: Plain, const N: usize>(x: *const T, step: isize, count: usize, masks: Masks<T>) -> Found<T, N> {
    let (mut most, mut nan) = ([T::Own::LEAST; N], [BitsOf::<T>::NONE; N]);
    for k in 0..count as isize {
        // SAFETY: the caller's promise.
        let x: [_; N] = unsafe { T::open(x.wrapping_offset(k * step)) };
        for ((most, nan), x) in most.iter_mut().zip(&mut nan).zip(x) {
            let x = turned::<T>(x, masks);
            *most = larger(x, *most);
            *nan = *nan | x.nan();
        }
    }
    (most, nan)
}

/// Where an element of `count` times `N` is the positive zero.
///
/// # Safety
/// The elements are there.
#[inline(always)]
unsafe fn zeros<T: Plain, const N: usize>(x: *const T, step: isize, count: usize, masks: Masks<T>) -> [BitsOf<T>; N] {
    let mut found = [BitsOf::<T>::NONE; N];
    for k in 0..count as isize {
        // SAFETY: the caller's promise.
        let x: [_; N] = unsafe { T::open(x.wrapping_offset(k * step)) };
        for (found, x) in found.iter_mut().zip(x) {
            *found = *found | turned::<T>(x, masks).is(T::Own::ZERO);
        }
    }
    found
}

/// The result, of the largest number, whether there is NaN, and of zeros whether there is a positive one.
#[inline(always)]
fn result<T: Plain>(most: T::Own, nan: BitsOf<T>, positive: BitsOf<T>, flip: BitsOf<T>) -> T::Own {
    let is_zero = most == T::Own::ZERO;
    let zero = if positive != BitsOf::<T>::NONE { T::Own::ZERO } else { T::Own::NO_SUMMAND };
    let bits = if is_zero { zero } else { most }.bits() ^ flip;
    T::Own::from_bits(if nan != BitsOf::<T>::NONE { BitsOf::<T>::ALL } else { bits }).canonical()
}

/// The larger number, of neither NaN.
#[inline(always)]
fn larger<R: Real>(x: R, y: R) -> R {
    if x > y { x } else { y }
}

/// The larger numbers of the two halves of `2 * HALF`.
#[inline(always)]
fn halve<R: Real, const HALF: usize>(x: &mut [R; STRIP]) {
    let (one, two) = x.split_at_mut(HALF);
    for (one, two) in one.iter_mut().zip(two).take(HALF) {
        *one = larger(*two, *one);
    }
}

/// The largest number of a strip, of which none is NaN.
#[inline(always)]
fn of_lanes<R: Real>(mut x: [R; STRIP]) -> R {
    halve::<_, 16>(&mut x);
    halve::<_, 8>(&mut x);
    halve::<_, 4>(&mut x);
    halve::<_, 2>(&mut x);
    halve::<_, 1>(&mut x);
    let [x, ..] = x;
    x
}

/// The largest element of a group, turned, and whether one is NaN.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[inline(always)]
pub(super) unsafe fn of_group<T: Plain>(x: *const T, len: usize, masks: Masks<T>) -> (T::Own, BitsOf<T>) {
    let (whole, rest) = (len / STRIP, len % STRIP);
    // SAFETY: whole strips of the group.
    let (all, any) = unsafe { largest::<T, STRIP>(x, STRIP as isize, whole, masks) };
    let (mut most, mut nan) = (of_lanes(all), any.iter().fold(BitsOf::<T>::NONE, |nan, any| nan | *any));
    if rest > 0 {
        // SAFETY: what follows the whole strips.
        let last = unsafe { T::open_last::<STRIP>(x.wrapping_add(whole * STRIP), rest) };
        for x in last.iter().take(rest) {
            (most, nan) = (larger(turned::<T>(*x, masks), most), nan | x.nan());
        }
    }
    (most, nan)
}

/// The extreme of a group.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn rows<T: Plain>(group: &Group) {
    let (x, masks) = (group.x.cast::<T>(), masks::<T>(group.turn));
    // SAFETY: the caller's promise.
    let (most, nan) = unsafe { of_group(x, group.len, masks) };
    let mut positive = BitsOf::<T>::NONE;
    if most == T::Own::ZERO {
        let whole = group.len / STRIP;
        // SAFETY: the elements of the group.
        unsafe {
            for found in zeros::<T, STRIP>(x, STRIP as isize, whole, masks) {
                positive = positive | found;
            }
            for k in whole * STRIP..group.len {
                let [found] = zeros::<T, 1>(x.wrapping_add(k), 0, 1, masks);
                positive = positive | found;
            }
        }
    }
    // SAFETY: the accumulator is there (the caller's promise).
    unsafe { *group.out[0].cast() = result::<T>(most, nan, positive, masks.1) };
}

/// The extremes of a tile.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn columns<T: Plain>(tile: &Tile) {
    let (x, len) = (tile.x.cast::<T>(), tile.len);
    let masks = masks::<T>(tile.turn);
    // SAFETY: a line of each array.
    let (most, nan) = unsafe {
        (
            std::slice::from_raw_parts_mut(tile.lines[0].cast::<T::Own>(), len),
            std::slice::from_raw_parts_mut(tile.lines[1].cast::<BitsOf<T>>(), len),
        )
    };
    most.fill(T::Own::LEAST);
    nan.fill(BitsOf::<T>::NONE);
    for first in (0..tile.there).step_by(TOGETHER) {
        let count = (tile.there - first).min(TOGETHER);
        let from = x.wrapping_offset(first as isize * tile.step);
        for at in strips(len) {
            // SAFETY: elements of as many results, for which the lines have numbers.
            let ((own, any), most, nan) = unsafe {
                let own = largest::<T, STRIP>(from.wrapping_add(at), tile.step, count, masks);
                let (most, nan) = (most.as_mut_ptr().add(at), nan.as_mut_ptr().add(at));
                (own, &mut *most.cast::<[T::Own; STRIP]>(), &mut *nan.cast::<[BitsOf<T>; STRIP]>())
            };
            // To take an element twice, where strips overlap, changes nothing.
            for ((most, nan), (own, any)) in most.iter_mut().zip(nan).zip(own.iter().zip(any)) {
                *most = larger(*own, *most);
                *nan = *nan | any;
            }
        }
    }
    for at in strips(len) {
        let mut positive = [BitsOf::<T>::NONE; STRIP];
        // SAFETY: a strip of the lines, whose elements are there, and of the accumulators.
        unsafe {
            let most = &*most.as_ptr().add(at).cast::<[T::Own; STRIP]>();
            let nan = &*nan.as_ptr().add(at).cast::<[BitsOf<T>; STRIP]>();
            if most.contains(&T::Own::ZERO) {
                positive = zeros::<T, STRIP>(x.wrapping_add(at), tile.step, tile.there, masks);
            }
            let out = &mut *tile.out[0].cast::<T::Own>().add(at).cast::<[T::Own; STRIP]>();
            for ((out, positive), (most, nan)) in out.iter_mut().zip(positive).zip(most.iter().zip(nan)) {
                *out = result::<T>(*most, *nan, positive, masks.1);
            }
        }
    }
}
