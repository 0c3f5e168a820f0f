//! Where the extreme element is: numbers side by side, each with the step that it was found in, or the first NaN.

use super::extremes::{BitsOf, Masks, masks, turned};
use super::plain::{Bits, Plain, Real};
use super::{Group, STRIP, Tile, strips};

/// The first element that is it, and its place.
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

/// The largest of so many numbers side by side, each the first of those that are as large, and the number of its step.
struct Lanes<T: Plain> {
    own: [T::Own; LANES],
    step: [BitsOf<T>; LANES],
    nan: [BitsOf<T>; LANES],
}

/// Few enough that the three arrays of [`Lanes`] stay in registers.
const LANES: usize = STRIP / 2;

impl<T: Plain> Lanes<T> {
    /// Takes numbers that are [turned](turned).
    #[inline(always)]
    fn take(&mut self, x: &[T::Own; LANES], step: usize) {
        let number = BitsOf::<T>::new(step as u64);
        for (((own, at), nan), x) in self.own.iter_mut().zip(&mut self.step).zip(&mut self.nan).zip(x) {
            (*own, *at) = if *x > *own { (*x, number) } else { (*own, *at) };
            *nan = *nan | x.nan();
        }
    }
}

/// The place of the extreme element, and the element. There may be more than a group has, but fewer than 2^32.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn rows<T: Plain>(group: &Group) {
    let (x, masks): (_, Masks<T>) = (group.x.cast::<T>(), masks::<T>(group.turn));
    let none = [BitsOf::<T>::NONE; LANES];
    let mut lanes = Lanes::<T> { own: [T::Own::LEAST; LANES], step: none, nan: none };
    let (whole, rest) = (group.len / LANES, group.len % LANES);
    for step in 0..whole {
        // SAFETY: elements of the group.
        let x: [_; LANES] = unsafe { T::open(x.wrapping_add(step * LANES)) };
        lanes.take(&x.map(|x| turned::<T>(x, masks)), step);
    }
    if rest > 0 {
        // SAFETY: what follows the whole ones.
        let last: [_; LANES] = unsafe { T::open_last(x.wrapping_add(whole * LANES), rest) };
        let mut last = last.map(|x| turned::<T>(x, masks));
        // What is not there takes no place.
        last.iter_mut().skip(rest).for_each(|x| *x = T::Own::LEAST);
        lanes.take(&last, whole);
    }
    let mut most = (T::Own::LEAST, usize::MAX);
    for (lane, (own, step)) in lanes.own.iter().zip(lanes.step).enumerate() {
        let place = step.number() as usize * LANES + lane;
        if *own > most.0 || (*own == most.0 && place < most.1) {
            most = (*own, place);
        }
    }
    let any_nan = lanes.nan.iter().fold(BitsOf::<T>::NONE, |any, nan| any | *nan) != BitsOf::<T>::NONE;
    // SAFETY: the caller's promise; the place is one of the group's, the accumulators are there.
    unsafe {
        let (at, value) = if any_nan {
            first(x, group.len, |x| x.nan() != BitsOf::<T>::NONE)
        } else {
            let [value] = T::open(x.wrapping_add(most.1));
            (most.1, value)
        };
        *group.out[0].cast() = value;
        *group.out[1].cast() = group.first + at as i64;
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
