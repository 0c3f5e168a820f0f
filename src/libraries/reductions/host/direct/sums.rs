//! Sums of elements, of their magnitudes, and of their squares.

use super::plain::{Plain, Real};
use super::{Group, STRIP, Tile, chain, strips};
use crate::libraries::reductions::space::CHAINS;

/// What is added of an element.
pub(super) trait Summand {
    type X: Plain;
    type Sum: Real;
    fn of(x: <Self::X as Plain>::Own) -> Self::Sum;
}

pub(super) struct Itself<T>(T);
pub(super) struct Size<T>(T);
pub(super) struct Square<T>(T);

impl<T: Plain> Summand for Itself<T> {
    type X = T;
    type Sum = T::Own;
    #[inline(always)]
    fn of(x: T::Own) -> T::Own {
        x
    }
}

impl<T: Plain> Summand for Size<T> {
    type X = T;
    type Sum = T::Own;
    #[inline(always)]
    fn of(x: T::Own) -> T::Own {
        x.abs()
    }
}

impl<T: Plain<Own = f32>> Summand for Square<T> {
    type X = T;
    type Sum = f64;
    #[inline(always)]
    fn of(x: f32) -> f64 {
        f64::from(x) * f64::from(x)
    }
}

/// `N` chains of `count` elements each, one at a distance of `step` from the other.
///
/// # Safety
/// The elements are there.
#[inline(always)]
unsafe fn chains<S: Summand, const N: usize>(x: *const S::X, step: isize, count: usize) -> [S::Sum; N] {
    let mut own = [S::Sum::NO_SUMMAND; N];
    for k in 0..count as isize {
        // SAFETY: the caller's promise.
        let x: [_; N] = unsafe { S::X::open(x.wrapping_offset(k * step)) };
        for (own, x) in own.iter_mut().zip(x) {
            *own = *own + S::of(x);
        }
    }
    own
}

/// Joins the chains of the second half of `2 * HALF` to those of the first.
#[inline(always)]
pub(super) fn halve<R: Real, const HALF: usize>(own: &mut [R; CHAINS]) {
    let (one, two) = own.split_at_mut(HALF);
    for (one, two) in one.iter_mut().zip(two).take(HALF) {
        *one = *one + *two;
    }
}

/// The sum of a group.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn rows<S: Summand>(group: &Group) {
    let (x, whole, rest) = (group.x.cast::<S::X>(), group.len / CHAINS, group.len % CHAINS);
    // SAFETY: whole steps of the group.
    let mut own: [S::Sum; CHAINS] = unsafe { chains::<S, CHAINS>(x, CHAINS as isize, whole) };
    if rest > 0 {
        // SAFETY: what follows the whole steps.
        let last = unsafe { S::X::open_last::<CHAINS>(x.wrapping_add(whole * CHAINS), rest) };
        for (own, x) in own.iter_mut().zip(&last).take(rest) {
            *own = *own + S::of(*x);
        }
    }
    halve::<_, 32>(&mut own);
    halve::<_, 16>(&mut own);
    halve::<_, 8>(&mut own);
    halve::<_, 4>(&mut own);
    halve::<_, 2>(&mut own);
    halve::<_, 1>(&mut own);
    let [all, ..] = own;
    // SAFETY: the accumulator is there (the caller's promise).
    unsafe { *group.out[0].cast() = all.canonical() };
}

/// The sums of a tile.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn columns<S: Summand>(tile: &Tile) {
    let Tile { step, there, len, .. } = *tile;
    let (x, lines) = (tile.x.cast::<S::X>(), tile.lines[0].cast::<S::Sum>());
    let all = there.min(CHAINS).next_power_of_two();
    let mut depth = 0;
    for turn in 0..all {
        let first = chain(turn, all);
        let count = there.saturating_sub(first).div_ceil(CHAINS);
        let from = x.wrapping_offset(first as isize * step);
        let line = lines.wrapping_add(depth * len);
        for at in strips(len) {
            // SAFETY: elements of the chain, of as many results; the line has the strip.
            unsafe {
                *line.add(at).cast() = chains::<S, STRIP>(from.wrapping_add(at), step * CHAINS as isize, count);
            }
        }
        for _ in 0..turn.trailing_ones() {
            depth -= 1;
            // SAFETY: two lines, one behind the other.
            let (one, two) =
                unsafe { std::slice::from_raw_parts_mut(lines.add(depth * len), 2 * len) }.split_at_mut(len);
            for (one, two) in one.iter_mut().zip(two) {
                *one = *one + *two;
            }
        }
        depth += 1;
    }
    // SAFETY: the first line, and an accumulator for each result.
    let (own, out) = unsafe {
        (std::slice::from_raw_parts(lines, len), std::slice::from_raw_parts_mut(tile.out[0].cast::<S::Sum>(), len))
    };
    for (out, own) in out.iter_mut().zip(own) {
        *out = own.canonical();
    }
}
