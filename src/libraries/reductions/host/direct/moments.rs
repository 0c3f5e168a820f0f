//! Numbers of elements, means and sums of squares, by Welford's update and the join of Chan, Golub and LeVeque: see `spread` in
//! `recipe.rs`.

use super::plain::{Plain, Real};
use super::{Group, LINES, STRIP, Tile, chain, strips};
use crate::libraries::reductions::space::CHAINS;

/// Takes an element; `part` divides by the number of those that the chain then has.
#[inline(always)]
fn take<R: Real>(mean: &mut R, squares: &mut R, x: R, part: impl Fn(R) -> R) {
    let distance = x - *mean;
    *mean = *mean + part(distance);
    *squares = distance.fma(x - *mean, *squares);
}

/// The mean and the squares of two, of `n` and `other` elements: of neither none.
#[inline(always)]
fn joined<R: Real>((mean, squares): (R, R), n: R, (other_mean, other_squares): (R, R), part: R) -> (R, R) {
    let distance = other_mean - mean;
    let share = distance * part;
    (mean + share, (share * distance).fma(n, squares + other_squares))
}

/// `N` chains of `count` elements each: means and squares.
///
/// # Safety
/// The elements are there.
#[inline(always)]
unsafe fn chains<T: Plain, const N: usize>(x: *const T, step: isize, count: usize) -> ([T::Own; N], [T::Own; N]) {
    let (mut mean, mut squares) = ([T::Own::ZERO; N], [T::Own::ZERO; N]);
    for k in 0..count {
        // SAFETY: the caller's promise.
        let x: [_; N] = unsafe { T::open(x.wrapping_offset(k as isize * step)) };
        let all = mean.iter_mut().zip(&mut squares).zip(x);
        let n = T::Own::count(k + 1);
        // To multiply by the inverse of a power of two is to divide by it.
        if (k + 1).is_power_of_two() {
            let inverse = T::Own::count(1) / n;
            all.for_each(|((mean, squares), x)| take(mean, squares, x, |distance| distance * inverse));
        } else {
            all.for_each(|((mean, squares), x)| take(mean, squares, x, |distance| distance / n));
        }
    }
    (mean, squares)
}

/// The moments of a group.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn rows<T: Plain>(group: &Group) {
    let (x, whole, rest) = (group.x.cast::<T>(), group.len / CHAINS, group.len % CHAINS);
    // SAFETY: whole steps of the group.
    let (mut mean, mut squares) = unsafe { chains::<T, CHAINS>(x, CHAINS as isize, whole) };
    let mut count = [T::Own::count(whole); CHAINS];
    if rest > 0 {
        // SAFETY: what follows the whole steps.
        let last = unsafe { T::open_last::<CHAINS>(x.wrapping_add(whole * CHAINS), rest) };
        let n = T::Own::count(whole + 1);
        let own = mean.iter_mut().zip(&mut squares).zip(&mut count);
        for (((mean, squares), count), x) in own.zip(&last).take(rest) {
            take(mean, squares, *x, |distance| distance / n);
            *count = n;
        }
    }
    // Of whole steps all chains have as many elements.
    let (mut half, mut all, part) = (CHAINS / 2, T::Own::count(whole), T::Own::count(1) / T::Own::count(2));
    while half > 0 {
        let (one, two) = (mean.split_at_mut(half), squares.split_at_mut(half));
        let three = count.split_at_mut(half);
        let own = one.0.iter_mut().zip(two.0);
        let other = one.1.iter().zip(two.1.iter());
        if rest == 0 {
            for ((mean, squares), (other_mean, other_squares)) in own.zip(other) {
                (*mean, *squares) = joined((*mean, *squares), all, (*other_mean, *other_squares), part);
            }
        } else {
            for ((((mean, squares), n), other), (other_mean, other_squares)) in
                own.zip(three.0).zip(three.1.iter()).zip(other)
            {
                let all = *n + *other;
                let both = joined((*mean, *squares), *n, (*other_mean, *other_squares), *other / all);
                // What has no element changes nothing. A chain has one if a later one has.
                let is_one = *other == T::Own::ZERO;
                *mean = if is_one { *mean } else { both.0 };
                *squares = if is_one { *squares } else { both.1 };
                *n = all;
            }
        }
        (half, all) = (half / 2, all + all);
    }
    let ([mean, ..], [squares, ..]) = (mean, squares);
    // SAFETY: the accumulators are there (the caller's promise).
    unsafe {
        *group.out[0].cast() = T::Own::count(group.len);
        *group.out[1].cast() = mean.canonical();
        *group.out[2].cast() = squares.canonical();
    }
}

/// The moments of a tile.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
pub(super) unsafe fn columns<T: Plain>(tile: &Tile) {
    let Tile { step, there, len, .. } = *tile;
    let (x, [means, squares]) = (tile.x.cast::<T>(), tile.lines.map(|lines| lines.cast::<T::Own>()));
    let all = there.min(CHAINS).next_power_of_two();
    let (mut depth, mut counts) = (0usize, [0usize; LINES]);
    for turn in 0..all {
        let first = chain(turn, all);
        let count = there.saturating_sub(first).div_ceil(CHAINS);
        let from = x.wrapping_offset(first as isize * step);
        let line = depth * len;
        for at in strips(len) {
            // SAFETY: elements of the chain, of as many results; the lines have the strip.
            unsafe {
                let (mean, square) = chains::<T, STRIP>(from.wrapping_add(at), step * CHAINS as isize, count);
                *means.add(line + at).cast() = mean;
                *squares.add(line + at).cast() = square;
            }
        }
        counts.iter_mut().skip(depth).take(1).for_each(|own| *own = count);
        for _ in 0..turn.trailing_ones() {
            depth -= 1;
            let mut two = counts.iter_mut().skip(depth);
            let (Some(own), Some(other)) = (two.next(), two.next()) else { return };
            if *other == 0 {
                continue;
            }
            let (n, other) = (std::mem::replace(own, *own + *other), *other);
            let (part, n) = (T::Own::count(other) / (T::Own::count(n) + T::Own::count(other)), T::Own::count(n));
            // SAFETY: two lines of each array, one behind the other.
            let [(mean, other_mean), (square, other_square)] = [means, squares].map(|lines| unsafe {
                std::slice::from_raw_parts_mut(lines.add(depth * len), 2 * len).split_at_mut(len)
            });
            let other = other_mean.iter().zip(other_square.iter());
            for ((mean, square), (other_mean, other_square)) in mean.iter_mut().zip(square).zip(other) {
                (*mean, *square) = joined((*mean, *square), n, (*other_mean, *other_square), part);
            }
        }
        depth += 1;
    }
    let [count, mean, square] = tile.out.map(|out| out.cast::<T::Own>());
    for k in 0..len {
        // SAFETY: the first lines, and accumulators for each result.
        unsafe {
            *count.add(k) = T::Own::count(there);
            *mean.add(k) = (*means.add(k)).canonical();
            *square.add(k) = (*squares.add(k)).canonical();
        }
    }
}
