//! Two sums beside each other: of the gradients of normalised elements, and of their products with these elements. See `../../pairs.rs`;
//! what a formula does not have is a number that changes no bit.

use super::plain::{Plain, Real};
use super::sums::halve;
use super::{STRIP, chain, strips};
use crate::libraries::reductions::space::CHAINS;

/// A group of one result.
pub(in super::super) struct Group {
    /// Elements, gradients, weights; then means and inverse deviations, of the type in which the others are computed.
    pub(in super::super) operands: [*const u8; 5],
    /// From a step of chains to the next one: [`CHAINS`], or 0 if that many elements are all that an operand has.
    pub(in super::super) steps: [usize; 5],
    /// The elements, at least one.
    pub(in super::super) len: usize,
    /// Where the sum of gradients goes, and that of products; the first one may be null.
    pub(in super::super) out: [*mut u8; 2],
}

/// A group of results that lie side by side, at least [`STRIP`]. All of them have the same mean and inverse deviation.
pub(in super::super) struct Tile {
    /// Elements, gradients, means and inverse deviations.
    pub(in super::super) operands: [*const u8; 4],
    /// From an element of a result to the next one.
    pub(in super::super) steps: [isize; 4],
    /// The elements of a result, at least one.
    pub(in super::super) there: usize,
    /// The results.
    pub(in super::super) len: usize,
    /// Two arrays of [`LINES`](super::LINES) lines, each of as many numbers as there are results, and up to a whole strip.
    pub(in super::super) lines: [*mut u8; 2],
    /// Where sums of gradients go, and those of products, one for each result; the first one may be null.
    pub(in super::super) out: [*mut u8; 2],
}

/// Chains whose sums stay in registers.
const SOME: usize = 16;

/// Elements of a chain of a tile that are read together: each is of another row, far away.
const TOGETHER: usize = 8;

/// Takes an element of each chain.
///
/// # Safety
/// There are `N` means and inverse deviations.
#[inline(always)]
unsafe fn take<R: Real, S: Real + From<R>, const N: usize>(
    own: &mut [[S; N]; 2],
    [x, dy, weight]: &[[R; N]; 3],
    [mean, inverse]: [*const R; 2],
) {
    let [sum, products] = own;
    for k in 0..N {
        // SAFETY: all of them have `N` numbers.
        unsafe {
            let g = S::from(*dy.get_unchecked(k) * *weight.get_unchecked(k));
            let normal = S::from((*x.get_unchecked(k) - *mean.add(k)) * *inverse.add(k));
            let (sum, products) = (sum.get_unchecked_mut(k), products.get_unchecked_mut(k));
            *sum = *sum + g;
            *products = *products + g * normal;
        }
    }
}

/// The sums of [`SOME`] chains from `first` on.
///
/// # Safety
/// As of [`rows`].
#[inline(always)]
unsafe fn chains<T: Plain, S: Real + From<T::Own>>(group: &Group, first: usize) -> [[S; SOME]; 2] {
    let mut own = [[S::NO_SUMMAND; SOME]; 2];
    let ([x, dy, weight, mean, inverse], [a, b, c, d, e]) = (group.operands, group.steps);
    // The steps in which all these chains have an element.
    let count = (group.len + CHAINS - first - SOME) / CHAINS;
    for step in 0..count {
        // SAFETY: these elements are there.
        unsafe {
            let x = T::open(x.cast::<T>().add(first + step * a));
            let dy = T::open(dy.cast::<T>().add(first + step * b));
            let weight = T::open(weight.cast::<T>().add(first + step * c));
            let mean = mean.cast::<T::Own>().add(first + step * d);
            take(&mut own, &[x, dy, weight], [mean, inverse.cast::<T::Own>().add(first + step * e)]);
        }
    }
    let rest = group.len.saturating_sub(first + count * CHAINS);
    if rest > 0 {
        let mut last = own;
        let mut stats = [[T::Own::ZERO; SOME]; 2];
        // SAFETY: so many elements are left, fewer than the chains.
        unsafe {
            let x = T::open_last(x.cast::<T>().add(first + count * a), rest);
            let dy = T::open_last(dy.cast::<T>().add(first + count * b), rest);
            let weight = T::open_last(weight.cast::<T>().add(first + count * c), rest);
            let [mean, inverse] =
                [mean.cast::<T::Own>().add(first + count * d), inverse.cast::<T::Own>().add(first + count * e)];
            std::ptr::copy_nonoverlapping(mean, stats[0].as_mut_ptr(), rest);
            std::ptr::copy_nonoverlapping(inverse, stats[1].as_mut_ptr(), rest);
            take(&mut last, &[x, dy, weight], [stats[0].as_ptr(), stats[1].as_ptr()]);
            std::ptr::copy_nonoverlapping(last[0].as_ptr(), own[0].as_mut_ptr(), rest);
            std::ptr::copy_nonoverlapping(last[1].as_ptr(), own[1].as_mut_ptr(), rest);
        }
    }
    own
}

/// Joins all chains, into an accumulator if there is one.
///
/// # Safety
/// It is there, or null.
#[inline(always)]
unsafe fn join<S: Real>(own: &mut [S; CHAINS], out: *mut u8) {
    halve::<_, 32>(own);
    halve::<_, 16>(own);
    halve::<_, 8>(own);
    halve::<_, 4>(own);
    halve::<_, 2>(own);
    halve::<_, 1>(own);
    if !out.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *out.cast() = own[0].canonical() };
    }
}

/// The sums of a group.
///
/// # Safety
/// The elements are there and aligned, or [`CHAINS`] of them, of which as many are read as the group has. So are the accumulators. The CPU
/// has the vectors.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn rows<T: Plain, S: Real + From<T::Own>>(group: &Group) {
    let mut sums = [[S::NO_SUMMAND; CHAINS]; 2];
    for first in (0..group.len.min(CHAINS)).step_by(SOME) {
        // SAFETY: the caller's promise; `first` is below the chains, whose number is a multiple.
        unsafe {
            let [sum, products] = chains::<T, S>(group, first);
            *sums[0].as_mut_ptr().add(first).cast() = sum;
            *sums[1].as_mut_ptr().add(first).cast() = products;
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        join(&mut sums[0], group.out[0]);
        join(&mut sums[1], group.out[1]);
    }
}

/// Joins a line with the one behind it.
///
/// # Safety
/// Both are there, of `len` numbers each.
#[inline(always)]
unsafe fn join_lines<R: Real>(lines: *mut R, len: usize) {
    // SAFETY: the caller's promise.
    let (one, two) = unsafe { std::slice::from_raw_parts_mut(lines, 2 * len) }.split_at_mut(len);
    for (one, two) in one.iter_mut().zip(two) {
        *one = *one + *two;
    }
}

/// Writes the accumulators of `len` results, if that is wanted. Strips that overlap have the same sums there.
///
/// # Safety
/// The line is there, a strip for each, and the accumulators or null.
#[inline(always)]
unsafe fn store<R: Real>(line: *const R, out: *mut u8, len: usize) {
    if out.is_null() {
        return;
    }
    for (nth, at) in strips(len).enumerate() {
        // SAFETY: the caller's promise.
        let (own, out) = unsafe {
            let own = std::slice::from_raw_parts(line.add(nth * STRIP), STRIP);
            (own, std::slice::from_raw_parts_mut(out.cast::<R>().add(at), STRIP))
        };
        for (out, own) in out.iter_mut().zip(own) {
            *out = own.canonical();
        }
    }
}

/// The sums of a tile.
///
/// # Safety
/// As of [`rows`]; the lines are there.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn columns<T: Plain>(tile: &Tile) {
    let ([x, dy, mean, inverse], [a, b, c, d]) = (tile.operands, tile.steps);
    let (len, all) = (tile.len.next_multiple_of(STRIP), tile.there.min(CHAINS).next_power_of_two());
    let (sums, products) = (tile.lines[0].cast::<T::Own>(), tile.lines[1].cast::<T::Own>());
    let (one, mut depth) = ([T::Own::count(1); STRIP], 0);
    for turn in 0..all {
        // SAFETY: a line of each array.
        unsafe {
            std::slice::from_raw_parts_mut(sums.add(depth * len), len).fill(T::Own::NO_SUMMAND);
            std::slice::from_raw_parts_mut(products.add(depth * len), len).fill(T::Own::NO_SUMMAND);
        }
        for from in (chain(turn, all)..tile.there).step_by(TOGETHER * CHAINS) {
            for (nth, at) in strips(tile.len).enumerate() {
                let line = depth * len + nth * STRIP;
                // SAFETY: a strip of the lines, and elements of as many results, which have the same mean and inverse deviation.
                unsafe {
                    let sums = sums.add(line).cast::<[T::Own; STRIP]>();
                    let products = products.add(line).cast::<[T::Own; STRIP]>();
                    let mut own = [*sums, *products];
                    for row in (from..tile.there.min(from + TOGETHER * CHAINS)).step_by(CHAINS) {
                        let row = row as isize;
                        let x = T::open(x.cast::<T>().wrapping_offset(row * a).wrapping_add(at));
                        let dy = T::open(dy.cast::<T>().wrapping_offset(row * b).wrapping_add(at));
                        let mean = [*mean.cast::<T::Own>().wrapping_offset(row * c); STRIP];
                        let inverse = [*inverse.cast::<T::Own>().wrapping_offset(row * d); STRIP];
                        take(&mut own, &[x, dy, one], [mean.as_ptr(), inverse.as_ptr()]);
                    }
                    [*sums, *products] = own;
                }
            }
        }
        for _ in 0..turn.trailing_ones() {
            depth -= 1;
            // SAFETY: two lines of each array, one behind the other.
            unsafe {
                join_lines(sums.add(depth * len), len);
                join_lines(products.add(depth * len), len);
            }
        }
        depth += 1;
    }
    // SAFETY: the first lines, and accumulators for each result (the caller's promise).
    unsafe {
        store(sums, tile.out[0], tile.len);
        store(products, tile.out[1], tile.len);
    }
}
