//! The largest elements; the smallest ones and the largest magnitudes are those of other bits. There is no order to keep, so a loop
//! takes the larger numbers and notes beside whether one is NaN.

use super::plain::{Bits, Plain, Real};
use super::{Group, STRIP, Tile, Turn, strips};

/// Rows of a tile that are read together.
const TOGETHER: usize = 16;

type BitsOf<T> = <<T as Plain>::Own as Real>::Bits;
type Found<T, const N: usize> = ([<T as Plain>::Own; N], [BitsOf<T>; N]);

/// An element with the bits that are compared.
#[inline(always)]
fn turned<T: Plain>(x: T::Own, (keep, flip): (BitsOf<T>, BitsOf<T>)) -> T::Own {
    T::Own::from_bits((x.bits() & keep) ^ flip)
}

fn masks<T: Plain>(turn: Turn) -> (BitsOf<T>, BitsOf<T>) {
    (BitsOf::<T>::new(turn.keep), BitsOf::<T>::new(turn.flip))
}

/// Of `count` times `N` elements the largest ones, and where one is NaN.
///
/// # Safety
/// The elements are there.
#[inline(always)]
unsafe fn largest<T: Plain, const N: usize>(
    x: *const T,
    step: isize,
    count: usize,
    masks: (BitsOf<T>, BitsOf<T>),
) -> Found<T, N> {
    let (mut most, mut nan) = ([T::Own::LEAST; N], [BitsOf::<T>::NONE; N]);
    for k in 0..count as isize {
        let mut spare = [T::Own::ZERO; N];
        // SAFETY: the caller's promise.
        let x = unsafe { T::open(x.wrapping_offset(k * step), &mut spare) };
        for ((most, nan), x) in most.iter_mut().zip(&mut nan).zip(x) {
            let x = turned::<T>(*x, masks);
            *most = most.larger(x);
            *nan = *nan | x.nan();
        }
    }
    (most, nan)
}

/// The result, of the largest number and whether there is NaN.
#[inline(always)]
fn result<T: Plain>(most: T::Own, nan: BitsOf<T>, flip: BitsOf<T>) -> T::Own {
    let bits = most.bits() ^ flip;
    T::Own::from_bits(if nan != BitsOf::<T>::NONE { BitsOf::<T>::ALL } else { bits }).canonical()
}

/// The extreme of a group.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn rows<T: Plain>(group: &Group) {
    let (x, whole, rest) = (group.x.cast::<T>(), group.len / STRIP, group.len % STRIP);
    let masks = masks::<T>(group.turn);
    // SAFETY: whole strips of the group.
    let (all, any) = unsafe { largest::<T, STRIP>(x, STRIP as isize, whole, masks) };
    let (mut most, mut nan) = (T::Own::LEAST, BitsOf::<T>::NONE);
    for (x, any) in all.iter().zip(any) {
        most = most.larger(*x);
        nan = nan | any;
    }
    if rest > 0 {
        // SAFETY: what follows the whole strips.
        let last = unsafe { T::open_last::<STRIP>(x.wrapping_add(whole * STRIP), rest) };
        for x in last.iter().take(rest) {
            let x = turned::<T>(*x, masks);
            most = most.larger(x);
            nan = nan | x.nan();
        }
    }
    // SAFETY: the accumulator is there (the caller's promise).
    unsafe { *group.out[0].cast() = result::<T>(most, nan, masks.1) };
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
                *most = most.larger(*own);
                *nan = *nan | any;
            }
        }
    }
    // SAFETY: an accumulator for each result.
    let out = unsafe { std::slice::from_raw_parts_mut(tile.out[0].cast::<T::Own>(), len) };
    for (out, (most, nan)) in out.iter_mut().zip(most.iter().zip(nan.iter())) {
        *out = result::<T>(*most, *nan, masks.1);
    }
}
