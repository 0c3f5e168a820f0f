//! Operations that change a vector in place: axpy and scal.

use super::super::parallel::{Parts, each_part};
use super::element::{Element, Room, direct, load, modify};
use super::kernel::{self, Factor};
use super::view::View;
use super::{PARALLEL, PIECE};

/// Elements per task for a large vector.
const CHUNK: usize = PARALLEL / 8;

/// `y = factor * x + y`.
pub(super) fn axpy<T: Element>(n: usize, factor: Factor<T::Real>, x: &[T], incx: isize, y: &mut [T], incy: isize) {
    let Some(mut xv) = View::new(n, incx, x.len()) else {
        return;
    };
    if factor.is_zero() || View::new(n, incy, y.len()).is_none() {
        return;
    }
    if incy < 0 {
        // Goes through y in ascending order, so that y can be cut into chunks.
        xv = xv.reversed(n);
    }
    if incy == 0 {
        // One element takes every addition, in order.
        (0..n).for_each(|i| axpy_part(factor, x, xv, i, i + 1, y, 1));
        return;
    }
    chunks(n, incy.unsigned_abs(), y, |from, to, y, step| axpy_part(factor, x, xv, from, to, y, step));
}

/// `x = factor * x`.
pub(super) fn scal<T: Element>(n: usize, factor: Factor<T::Real>, x: &mut [T], incx: isize) {
    if incx == 0 || View::new(n, incx, x.len()).is_none() {
        return;
    }
    chunks(n, incx.unsigned_abs(), x, |from, to, x, step| {
        if step == 1
            && let Some(reals) = x.get_mut(..to - from).and_then(T::reals_mut)
        {
            return kernel::scal(factor, reals);
        }
        let Some(view) = View::new(to - from, step, x.len()) else {
            return;
        };
        for at in (0..to - from).step_by(PIECE) {
            modify(x, view, at, (to - from).min(at + PIECE), |x| kernel::scal(factor, x));
        }
    });
}

/// Cuts `n` elements that lie `step` apart into parts and calls `f(from, to, part, step)` with each: the elements
/// `from..to` begin at the start of `part`. Large vectors are split among threads.
pub(super) fn chunks<T: Send>(n: usize, step: usize, y: &mut [T], f: impl Fn(usize, usize, &mut [T], isize) + Sync) {
    let signed = isize::try_from(step).unwrap_or(isize::MAX);
    if n <= PARALLEL {
        return f(0, n, y, signed);
    }
    each_part(y, Parts::with_size(CHUNK.saturating_mul(step)), &|i, part| {
        let from = i.saturating_mul(CHUNK).min(n);
        let to = from.saturating_add(CHUNK).min(n);
        if from < to {
            f(from, to, part, signed);
        }
    });
}

/// Adds `factor` times the elements `from..to` of x to as many elements of y, from the start of y.
fn axpy_part<T: Element>(factor: Factor<T::Real>, x: &[T], xv: View, from: usize, to: usize, y: &mut [T], step: isize) {
    let Some(yv) = View::new(to - from, step, y.len()) else {
        return;
    };
    if step == 1
        && let Some(x) = direct(x, xv, from, to)
        && let Some(y) = y.get_mut(..to - from).and_then(T::reals_mut)
    {
        return kernel::axpy(factor, x, y);
    }
    let mut room: Room<_> = [T::Real::default(); 2 * PIECE];
    for at in (from..to).step_by(PIECE) {
        let end = to.min(at + PIECE);
        let x = load(x, xv, at, end, &mut room);
        modify(y, yv, at - from, end - from, |y| kernel::axpy(factor, x, y));
    }
}
