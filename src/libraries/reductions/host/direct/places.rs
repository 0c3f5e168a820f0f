//! Where the extreme element is: the largest number of a group first, then the first place that has it, or the first NaN.

use super::Group;
use super::STRIP;
use super::plain::{Bits, Plain, Real};

type BitsOf<T> = <<T as Plain>::Own as Real>::Bits;

/// The place of a group's extreme element, and the element.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn rows<T: Plain>(group: &Group) {
    let (x, whole, rest) = (group.x.cast::<T>(), group.len / STRIP, group.len % STRIP);
    let flip = BitsOf::<T>::new(group.turn.flip);
    let turned = |x: T::Own| T::Own::from_bits(x.bits() ^ flip);
    let (mut most, mut nan) = ([T::Own::LEAST; STRIP], [BitsOf::<T>::NONE; STRIP]);
    for k in 0..whole {
        let mut spare = [T::Own::ZERO; STRIP];
        // SAFETY: a whole strip of the group.
        let x = unsafe { T::open(x.wrapping_add(k * STRIP), &mut spare) };
        for ((most, nan), x) in most.iter_mut().zip(&mut nan).zip(x) {
            let x = turned(*x);
            *most = if x > *most { x } else { *most };
            *nan = *nan | x.nan();
        }
    }
    let mut last = [T::Own::ZERO; STRIP];
    if rest > 0 {
        // SAFETY: what follows the whole strips.
        last = unsafe { T::open_last::<STRIP>(x.wrapping_add(whole * STRIP), rest) };
    }
    let (mut largest, mut any) = (T::Own::LEAST, BitsOf::<T>::NONE);
    for (x, nan) in most.iter().zip(&nan) {
        largest = if *x > largest { *x } else { largest };
        any = any | *nan;
    }
    for x in last.iter().take(rest) {
        largest = if turned(*x) > largest { turned(*x) } else { largest };
        any = any | x.nan();
    }
    let wants_nan = any != BitsOf::<T>::NONE;
    let is_it = |x: T::Own| {
        let is_it = if wants_nan { x.nan() != BitsOf::<T>::NONE } else { turned(x) == largest };
        if is_it { BitsOf::<T>::ALL } else { BitsOf::<T>::NONE }
    };
    let mut found = (whole * STRIP, last, rest);
    for k in 0..whole {
        let mut spare = [T::Own::ZERO; STRIP];
        // SAFETY: as above.
        let x = unsafe { T::open(x.wrapping_add(k * STRIP), &mut spare) };
        let mut here = BitsOf::<T>::NONE;
        for x in x {
            here = here | is_it(*x);
        }
        if here != BitsOf::<T>::NONE {
            found = (k * STRIP, *x, STRIP);
            break;
        }
    }
    let (first, strip, len) = found;
    let at = strip.iter().take(len).position(|x| is_it(*x) != BitsOf::<T>::NONE).unwrap_or(0);
    let value = strip.get(at).copied().unwrap_or(T::Own::LEAST);
    // SAFETY: the accumulators are there (the caller's promise).
    unsafe {
        *group.out[0].cast() = value;
        *group.out[1].cast() = group.first + (first + at) as i64;
    }
}
