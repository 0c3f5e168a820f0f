//! Where the extreme element is: the largest number of each part first, then the first place of the part that has it, or the first
//! NaN.

use super::extremes::{BitsOf, Masks, masks, of_group, turned};
use super::plain::{Bits, Plain, Real};
use super::{Group, STRIP, Tile, strips};

/// The elements of a part: few, so that it does not take long to look for one; of halves more, which are looked at faster.
const fn part<T>() -> usize {
    if size_of::<T>() < 4 { 32 * STRIP } else { 8 * STRIP }
}

/// The first element that is it, of as many as a part has or fewer, and its place.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[inline(always)]
unsafe fn first<T: Plain>(x: *const T, len: usize, is_it: impl Fn(T::Own) -> bool) -> (usize, T::Own) {
    for at in (0..len).step_by(STRIP) {
        let there = (len - at).min(STRIP);
        // SAFETY: the elements of a strip, or what follows the whole ones.
        let x: [_; STRIP] = unsafe {
            if there < STRIP { T::open_last(x.wrapping_add(at), there) } else { T::open(x.wrapping_add(at)) }
        };
        // A bit for each.
        let bit = |(k, x): (usize, &T::Own)| if is_it(*x) { 1u32 << k } else { 0 };
        let found = x.iter().enumerate().map(bit).fold(0, |all, bit| all | bit);
        let nth = found.trailing_zeros() as usize;
        if nth < there {
            return (at + nth, x.get(nth).copied().unwrap_or(T::Own::LEAST));
        }
    }
    (0, T::Own::LEAST)
}

/// The place of the extreme element, and the element. There may be more than a group has.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn rows<T: Plain>(group: &Group) {
    let (x, masks): (_, Masks<T>) = (group.x.cast::<T>(), masks::<T>(group.turn));
    let (mut from, mut most) = (0, None);
    for at in (0..group.len).step_by(part::<T>()) {
        // SAFETY: the caller's promise.
        let (own, nan) = unsafe { of_group(x.wrapping_add(at), (group.len - at).min(part::<T>()), masks) };
        if nan != BitsOf::<T>::NONE {
            (from, most) = (at, None);
            break;
        }
        if most.is_none_or(|most| own > most) {
            (from, most) = (at, Some(own));
        }
    }
    // SAFETY: the caller's promise; the accumulators are there.
    unsafe {
        let (x, len) = (x.wrapping_add(from), (group.len - from).min(part::<T>()));
        let (at, value) = match most {
            Some(most) => first(x, len, |x| turned::<T>(x, masks) == most),
            None => first(x, len, |x| x.nan() != BitsOf::<T>::NONE),
        };
        *group.out[0].cast() = value;
        *group.out[1].cast() = group.first + (from + at) as i64;
    }
}

/// Rows of a tile that are read together.
const TOGETHER: usize = 16;

/// The places of the extreme elements of a tile, and the elements. One that is not a number is larger than all others.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn columns<T: Plain>(tile: &Tile) {
    let (x, len, masks): (_, _, Masks<T>) = (tile.x.cast::<T>(), tile.len, masks::<T>(tile.turn));
    let lines = (tile.lines[0].cast::<T::Own>(), tile.lines[1].cast::<BitsOf<T>>());
    for first in (0..tile.there).step_by(TOGETHER) {
        let from = x.wrapping_offset(first as isize * tile.step);
        for at in strips(len) {
            // SAFETY: a strip of the lines.
            let (most, place) = unsafe {
                (&mut *lines.0.add(at).cast::<[T::Own; STRIP]>(), &mut *lines.1.add(at).cast::<[BitsOf<T>; STRIP]>())
            };
            let (mut own, mut found) =
                if first == 0 { ([T::Own::LEAST; STRIP], [BitsOf::<T>::NONE; STRIP]) } else { (*most, *place) };
            for k in 0..(tile.there - first).min(TOGETHER) {
                // SAFETY: elements of as many results.
                let x: [_; STRIP] = unsafe { T::open(from.wrapping_offset(k as isize * tile.step).wrapping_add(at)) };
                let number = BitsOf::<T>::new((first + k) as u64);
                for ((own, found), x) in own.iter_mut().zip(&mut found).zip(x) {
                    let x = turned::<T>(x, masks);
                    let takes = (x > *own || x.nan() != BitsOf::<T>::NONE) && own.nan() == BitsOf::<T>::NONE;
                    (*own, *found) = if takes { (x, number) } else { (*own, *found) };
                }
            }
            // To take an element twice, where strips overlap, changes nothing.
            (*most, *place) = (own, found);
        }
    }
    let (value, place) = (tile.out[0].cast::<T::Own>(), tile.out[1].cast::<i64>());
    for k in 0..len {
        // SAFETY: the lines and the accumulators have a number for each result.
        unsafe {
            *value.add(k) = turned::<T>(*lines.0.add(k), masks);
            *place.add(k) = tile.first + (*lines.1.add(k)).number();
        }
    }
}
