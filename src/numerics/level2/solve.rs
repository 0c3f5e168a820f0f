//! Triangular systems of one right-hand side.

use std::ops::Range;

use super::super::Trans;
use super::super::level1::Field;
use super::super::parallel::{self, Parts, each_part};
use super::dense::{holds, modify};
use super::product::axpys;
use super::stored::Stored;
use super::{At, PARALLEL, TASK};

/// Unknowns that are solved for one after the other before the rest of the system follows, by all threads.
const BLOCK: usize = 64;

/// `x = op(A)^-1 * x` with a triangle A, whose diagonal is taken as ones if `unit`. A zero on the diagonal divides.
pub(crate) fn trsv<T: Field>(stored: Stored, trans: Trans, unit: bool, a: &[T], x: &mut [T], at: At) {
    let n = stored.cols;
    if !stored.fits(a.len()) || !holds(at, x.len()) || at.n != n || stored.rows != n {
        return;
    }
    modify(x, at, |x| {
        let blocks = n.div_ceil(BLOCK);
        // An upper triangle is solved from its last unknown on, a transposed one from its first.
        let backwards = stored.upper() == (trans == Trans::No);
        for i in 0..blocks {
            let i = if backwards { blocks - 1 - i } else { i };
            let block = i * BLOCK..((i + 1) * BLOCK).min(n);
            if trans == Trans::No {
                forward(&stored, unit, a, x, block, backwards);
            } else {
                transposed(&stored, trans == Trans::Conj, unit, a, x, block, backwards);
            }
        }
    });
}

fn order(block: Range<usize>, backwards: bool) -> impl Iterator<Item = usize> {
    let (start, end) = (block.start, block.end);
    block.map(move |j| if backwards { start + end - 1 - j } else { j })
}

/// The block's unknowns, and then what they take from the others.
fn forward<T: Field>(stored: &Stored, unit: bool, a: &[T], x: &mut [T], block: Range<usize>, backwards: bool) {
    for j in order(block.clone(), backwards) {
        let (column, diagonal) = stored.beside(j);
        let column = column.within(&block);
        let Some(unknown) = x.get_mut(j) else { return };
        if !unit {
            *unknown = unknown.over(a.get(diagonal).copied().unwrap_or_default());
        }
        let factor = -*unknown;
        T::axpy(factor, column.of(a), column.rows_mut(x, 0));
    }
    let rows = stored.rows_of(&block);
    let rest = if backwards { rows.start..block.start } else { block.end..rows.end.max(block.end) };
    let (solved, others) = if backwards {
        let (others, solved) = x.split_at_mut(block.start.min(x.len()));
        (solved, others.get_mut(rest.clone()).unwrap_or_default())
    } else {
        let (solved, others) = x.split_at_mut(block.end.min(x.len()));
        (solved.get_mut(block.start..).unwrap_or_default(), others.get_mut(..rest.len()).unwrap_or_default())
    };
    let subtract = |first: usize, x: &mut [T]| {
        let factor = |j: usize| -solved.get(j - block.start).copied().unwrap_or_default();
        axpys(first..first + x.len(), block.clone(), a, &factor, &|j| stored.beside(j).0, x);
    };
    if others.len().saturating_mul(block.len()) >= PARALLEL && rayon::current_num_threads() > 1 {
        let rows = TASK / BLOCK;
        let (first, least) = (rest.start, rows.max(others.len().div_ceil(4 * rayon::current_num_threads())));
        each_part(others, Parts::of(least), &|i, x| subtract(first + i * least, x));
    } else {
        subtract(rest.start, others);
    }
}

/// What the solved unknowns take from the block's, and then these.
fn transposed<T: Field>(
    stored: &Stored,
    conj: bool,
    unit: bool,
    a: &[T],
    x: &mut [T],
    block: Range<usize>,
    backwards: bool,
) {
    let outside = if backwards { block.end..stored.rows } else { 0..block.start };
    let taken = |j: usize, x: &[T]| {
        let column = stored.beside(j).0.within(&outside);
        T::rounded(T::dot(conj, column.of(a), column.rows(x)))
    };
    let sums: Vec<T> = {
        let x: &[T] = x;
        if outside.len().saturating_mul(block.len()) >= PARALLEL && rayon::current_num_threads() > 1 {
            parallel::map(block.len(), &|i| taken(block.start + i, x))
        } else {
            block.clone().map(|j| taken(j, x)).collect()
        }
    };
    for j in order(block.clone(), backwards) {
        let (column, diagonal) = stored.beside(j);
        let column = column.within(&block);
        let inside = T::rounded(T::dot(conj, column.of(a), column.rows(x)));
        let sum = sums.get(j - block.start).copied().unwrap_or_default();
        let Some(unknown) = x.get_mut(j) else { return };
        *unknown = *unknown - sum - inside;
        if !unit {
            *unknown = unknown.over(a.get(diagonal).copied().unwrap_or_default().conj_if(conj));
        }
    }
}
