//! Operations of sparse vectors, whose indices are sorted and not repeated.

use super::super::element::{Number, SparseElement, SparseIndex};
use super::spmv::update;
use super::{at, put};

/// `y = alpha * x + beta * y`.
pub(crate) fn axpby<T: SparseElement, I: SparseIndex>(
    alpha: T::Scalar,
    (indices, values): (&[I], &[T]),
    beta: T::Scalar,
    y: &mut [T],
) {
    let mut entries = indices.iter().zip(values).peekable();
    for (place, y) in y.iter_mut().enumerate() {
        let x = entries.next_if(|(index, _)| index.place() == place).map_or(T::default(), |(_, x)| *x);
        update(y, alpha, x.widen(), beta);
    }
}

/// `x = y` at the indices of x.
pub(crate) fn gather<T: SparseElement, I: SparseIndex>(y: &[T], indices: &[I], values: &mut [T]) {
    values.iter_mut().zip(indices).for_each(|(value, index)| *value = at(y, index.place()));
}

/// `y = x` at the indices of x.
pub(crate) fn scatter<T: SparseElement, I: SparseIndex>((indices, values): (&[I], &[T]), y: &mut [T]) {
    indices.iter().zip(values).for_each(|(index, value)| put(y, index.place(), *value));
}

/// The sum of `x_i * y_i`; x is conjugated if `conj` is set.
pub(crate) fn dot<T: SparseElement, I: SparseIndex>((indices, values): (&[I], &[T]), conj: bool, y: &[T]) -> T {
    let terms = indices.iter().zip(values).map(|(index, x)| x.widen().conj_if(conj) * at(y, index.place()).widen());
    T::narrow(terms.fold(T::Scalar::default(), |sum, term| sum + term))
}

/// `x, y = c * x + s * y, c * y - s * x` at the indices of x.
pub(crate) fn rot<T: SparseElement, I: SparseIndex>(
    (c, s): (T::Scalar, T::Scalar),
    indices: &[I],
    values: &mut [T],
    y: &mut [T],
) {
    for (index, x) in indices.iter().zip(values) {
        let (old_x, old_y) = (x.widen(), at(y, index.place()).widen());
        *x = T::narrow(c * old_x + s * old_y);
        put(y, index.place(), T::narrow(c * old_y - s * old_x));
    }
}
