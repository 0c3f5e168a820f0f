//! Copies vectors with increments to contiguous ones, and back.

use crate::core::room::{OrUnwind, collected, filled};
use std::borrow::Cow;

use super::super::level1::{Field, copy};
use super::At;

/// Whether a slice of `len` elements holds the vector.
pub(super) fn holds(at: At, len: usize) -> bool {
    at.n == 0 || (at.n - 1).checked_mul(at.inc.unsigned_abs()).is_some_and(|last| last < len && at.inc != 0)
}

/// The vector as a contiguous one; empty if `x` is too short for it.
pub(super) fn dense<T: Field>(x: &[T], at: At) -> Cow<'_, [T]> {
    if at.inc == 1
        && let Some(x) = x.get(..at.n)
    {
        return Cow::Borrowed(x);
    }
    let mut out = filled(if holds(at, x.len()) { at.n } else { 0 }, T::default()).or_unwind();
    copy(out.len(), x, at.inc, &mut out, 1);
    Cow::Owned(out)
}

/// Calls `f` with the vector as a contiguous one, and writes the result back.
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

/// `y = beta * y`; a zero `beta` does not read y.
pub(super) fn scale<T: Field>(beta: T, y: &mut [T]) {
    if beta == T::default() {
        y.fill(beta);
    } else if beta != T::IDENTITY {
        y.iter_mut().for_each(|y| *y = beta * *y);
    }
}

/// The conjugate of x if `conj` is set. A product with a conjugated matrix is computed as `conj(A * conj(x))`.
pub(super) fn conjugate<T: Field>(conj: bool, x: &[T]) -> Cow<'_, [T]> {
    if conj { Cow::Owned(collected(x.iter().map(|x| x.conj())).or_unwind()) } else { Cow::Borrowed(x) }
}
