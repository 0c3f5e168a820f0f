//! Vectors with increments as contiguous ones.

use std::borrow::Cow;

use super::super::level1::{Field, copy};
use super::At;

/// Whether `len` elements hold the vector.
pub(super) fn holds(at: At, len: usize) -> bool {
    at.n == 0 || (at.n - 1).checked_mul(at.inc.unsigned_abs()).is_some_and(|last| last < len && at.inc != 0)
}

/// The vector, contiguous; nothing where `x` does not hold it.
pub(super) fn dense<T: Field>(x: &[T], at: At) -> Cow<'_, [T]> {
    if at.inc == 1
        && let Some(x) = x.get(..at.n)
    {
        return Cow::Borrowed(x);
    }
    let mut out = vec![T::default(); if holds(at, x.len()) { at.n } else { 0 }];
    copy(out.len(), x, at.inc, &mut out, 1);
    Cow::Owned(out)
}

/// Calls `f` with the vector, contiguous, and puts back what it made of it.
pub(super) fn modify<T: Field>(y: &mut [T], at: At, f: impl FnOnce(&mut [T])) {
    if at.inc == 1
        && let Some(y) = y.get_mut(..at.n)
    {
        return f(y);
    }
    if !holds(at, y.len()) {
        return;
    }
    let mut room = dense(y, at).into_owned();
    f(&mut room);
    copy(at.n, &room, 1, y, at.inc);
}

/// `y = beta * y`, without reading y where `beta` is zero.
pub(super) fn scale<T: Field>(beta: T, y: &mut [T]) {
    if beta == T::default() {
        y.fill(beta);
    } else if beta != T::IDENTITY {
        y.iter_mut().for_each(|y| *y = beta * *y);
    }
}

/// The conjugates where asked for: products with a conjugated matrix are the conjugates of those with the matrix.
pub(super) fn conjugate<T: Field>(conj: bool, x: &[T]) -> Cow<'_, [T]> {
    if conj { x.iter().map(|x| x.conj()).collect() } else { Cow::Borrowed(x) }
}
