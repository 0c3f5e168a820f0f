//! Views of matrices: a pointer, a shape and two strides, so that a matrix can be transposed and cut without a copy.
//!
//! All of the unsafe code of `level3` is here, and relies on one invariant: **every element that the shape and strides
//! of a view reach lies in the slice from which the view was made, and an element that a mutable view reaches is
//! reached by no other view in use.** `new` establishes it, and splitting keeps it: a part reaches a subset, and the
//! two sides of a split reach disjoint ones.

use std::marker::PhantomData;

use gemm::Parallelism;

use super::super::gemm::Native;
use super::super::spec::{Trans, span};

/// A read-only view of a matrix, or of its conjugate.
pub(crate) struct Mat<'a, T> {
    at: *const T,
    rows: usize,
    cols: usize,
    row_step: isize,
    col_step: isize,
    conj: bool,
    _slice: PhantomData<&'a [T]>,
}

/// A mutable view of a matrix.
pub(crate) struct MatMut<'a, T> {
    at: *mut T,
    rows: usize,
    cols: usize,
    row_step: isize,
    col_step: isize,
    _slice: PhantomData<&'a mut [T]>,
}

impl<T> Clone for Mat<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Mat<'_, T> {}

// SAFETY: a `Mat` is equivalent to a shared slice.
unsafe impl<T: Sync> Send for Mat<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Mat<'_, T> {}
// SAFETY: a `MatMut` is equivalent to an exclusive slice.
unsafe impl<T: Send> Send for MatMut<'_, T> {}

/// The column stride for `cols` columns that are `ld` apart. A single column needs none, so any `ld` is accepted.
fn step(cols: usize, ld: usize) -> isize {
    if cols > 1 { isize::try_from(ld).unwrap_or(0) } else { 1 }
}

impl<'a, T: Native> Mat<'a, T> {
    /// The column-major matrix in `x`; `None` if `x` is too short for it or `ld` is less than `rows`.
    pub(crate) fn new(x: &'a [T], rows: usize, cols: usize, ld: usize) -> Option<Self> {
        let fits = span(rows, cols, ld)? <= x.len();
        let col_step = step(cols, ld);
        fits.then_some(Mat { at: x.as_ptr(), rows, cols, row_step: 1, col_step, conj: false, _slice: PhantomData })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    pub(crate) fn is_conj(&self) -> bool {
        self.conj
    }

    /// Transposed.
    pub(crate) fn t(self) -> Self {
        let Mat { rows, cols, row_step, col_step, .. } = self;
        Mat { rows: cols, cols: rows, row_step: col_step, col_step: row_step, ..self }
    }

    /// Conjugated, if `yes`.
    pub(crate) fn conj(self, yes: bool) -> Self {
        Mat { conj: self.conj ^ yes, ..self }
    }

    /// `op(self)`.
    pub(crate) fn op(self, trans: Trans) -> Self {
        match trans {
            Trans::No => self,
            Trans::Yes => self.t(),
            Trans::Conj => self.t().conj(true),
        }
    }

    /// The rows before `at`, and the others.
    pub(crate) fn split_rows(self, at: usize) -> (Self, Self) {
        let at = at.min(self.rows);
        // A part without rows reaches nothing. Its pointer is not moved, because it might leave the slice.
        let offset = if at < self.rows { at as isize * self.row_step } else { 0 };
        let low = Mat { at: self.at.wrapping_offset(offset), rows: self.rows - at, ..self };
        (Mat { rows: at, ..self }, low)
    }

    /// The columns before `at`, and the others.
    pub(crate) fn split_cols(self, at: usize) -> (Self, Self) {
        let (left, right) = self.t().split_rows(at);
        (left.t(), right.t())
    }

    /// The part of `rows` rows and `cols` columns that begins at (`i`, `j`), clipped to the matrix.
    pub(crate) fn block(self, (i, j): (usize, usize), (rows, cols): (usize, usize)) -> Self {
        self.split_rows(i).1.split_rows(rows).0.split_cols(j).1.split_cols(cols).0
    }

    /// Element (`i`, `j`); zero outside.
    #[inline(always)]
    pub(crate) fn get(&self, i: usize, j: usize) -> T {
        if i >= self.rows || j >= self.cols {
            return T::default();
        }
        let offset = i as isize * self.row_step + j as isize * self.col_step;
        // SAFETY: (`i`, `j`) is in the shape, so the invariant holds for it.
        let x = unsafe { *self.at.offset(offset) };
        if self.conj { x.conj() } else { x }
    }

    /// Column `j` as stored (not conjugated); `None` if its elements are not contiguous.
    pub(crate) fn column(&self, j: usize) -> Option<&'a [T]> {
        if j >= self.cols || (self.row_step != 1 && self.rows > 1) {
            return None;
        }
        // Without rows nothing is reached, and a column after the first would begin outside the slice.
        if self.rows == 0 {
            return Some(&[]);
        }
        // SAFETY: a column with steps of one is a slice of `rows` elements, all reached by the shape, and shared for 'a.
        Some(unsafe { std::slice::from_raw_parts(self.at.offset(j as isize * self.col_step), self.rows) })
    }

    /// Whether the rows are contiguous rather than the columns.
    pub(crate) fn is_row_major(&self) -> bool {
        self.col_step == 1 && self.row_step != 1
    }
}

impl<'a, T: Native> MatMut<'a, T> {
    /// The column-major matrix in `x`; `None` if `x` is too short for it, or its columns would overlap.
    pub(crate) fn new(x: &'a mut [T], rows: usize, cols: usize, ld: usize) -> Option<Self> {
        let fits = span(rows, cols, ld)? <= x.len();
        let col_step = step(cols, ld);
        fits.then_some(MatMut { at: x.as_mut_ptr(), rows, cols, row_step: 1, col_step, _slice: PhantomData })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    /// The same view with a shorter lifetime.
    pub(crate) fn reborrow(&mut self) -> MatMut<'_, T> {
        MatMut { _slice: PhantomData, ..*self }
    }

    /// A read-only view with a shorter lifetime.
    pub(crate) fn as_ref(&self) -> Mat<'_, T> {
        let MatMut { at, rows, cols, row_step, col_step, .. } = *self;
        Mat { at, rows, cols, row_step, col_step, conj: false, _slice: PhantomData }
    }

    /// Transposed.
    pub(crate) fn t(self) -> Self {
        let MatMut { at, rows, cols, row_step, col_step, _slice } = self;
        MatMut { at, rows: cols, cols: rows, row_step: col_step, col_step: row_step, _slice }
    }

    /// The rows before `at`, and the others.
    pub(crate) fn split_rows(self, at: usize) -> (Self, Self) {
        let at = at.min(self.rows);
        let offset = if at < self.rows { at as isize * self.row_step } else { 0 };
        let low = MatMut { at: self.at.wrapping_offset(offset), rows: self.rows - at, ..self };
        (MatMut { rows: at, ..self }, low)
    }

    /// The columns before `at`, and the others.
    pub(crate) fn split_cols(self, at: usize) -> (Self, Self) {
        let (left, right) = self.t().split_rows(at);
        (left.t(), right.t())
    }

    /// Element (`i`, `j`); zero outside.
    #[inline(always)]
    pub(crate) fn get(&self, i: usize, j: usize) -> T {
        self.as_ref().get(i, j)
    }

    /// Sets element (`i`, `j`); does nothing outside the matrix.
    #[inline(always)]
    pub(crate) fn set(&mut self, i: usize, j: usize, x: T) {
        if i < self.rows && j < self.cols {
            let offset = i as isize * self.row_step + j as isize * self.col_step;
            // SAFETY: (`i`, `j`) is in the shape, so the invariant holds for it; the view is borrowed exclusively.
            unsafe { *self.at.offset(offset) = x }
        }
    }

    /// Column `j`; `None` if its elements are not contiguous.
    pub(crate) fn column_mut(&mut self, j: usize) -> Option<&mut [T]> {
        if j >= self.cols || (self.row_step != 1 && self.rows > 1) {
            return None;
        }
        if self.rows == 0 {
            return Some(&mut []);
        }
        // SAFETY: as for `Mat::column`; the view is borrowed exclusively.
        Some(unsafe { std::slice::from_raw_parts_mut(self.at.offset(j as isize * self.col_step), self.rows) })
    }

    /// Two different columns; `None` if their elements are not contiguous.
    pub(crate) fn two_columns(&mut self, j: usize, k: usize) -> Option<(&mut [T], &mut [T])> {
        let (low, high) = (j.min(k), j.max(k));
        if low == high || high >= self.cols {
            return None;
        }
        // Two disjoint borrows of one view, split between the columns.
        let (left, right) = self.reborrow().split_cols(high);
        let (x, y) = (left.into_column(low)?, right.into_column(0)?);
        Some(if j < k { (x, y) } else { (y, x) })
    }

    fn into_column(self, j: usize) -> Option<&'a mut [T]> {
        if j >= self.cols || (self.row_step != 1 && self.rows > 1) {
            return None;
        }
        if self.rows == 0 {
            return Some(&mut []);
        }
        // SAFETY: as for `column_mut`; the view is consumed, so the slice takes over its lifetime.
        Some(unsafe { std::slice::from_raw_parts_mut(self.at.offset(j as isize * self.col_step), self.rows) })
    }

    /// Whether the rows are contiguous rather than the columns.
    pub(crate) fn is_row_major(&self) -> bool {
        self.as_ref().is_row_major()
    }

    /// `self = factor * self`; a zero factor does not read `self`.
    pub(crate) fn scale(&mut self, factor: T) {
        if factor != T::ONE {
            self.each(|x| if factor == T::default() { factor } else { factor * x });
        }
    }

    /// Replaces every element `x` by `f(x)`.
    pub(crate) fn each(&mut self, f: impl Fn(T) -> T + Copy) {
        if self.is_row_major() {
            return self.reborrow().t().each(f);
        }
        for j in 0..self.cols {
            if let Some(column) = self.column_mut(j) {
                column.iter_mut().for_each(|x| *x = f(*x));
                continue;
            }
            for i in 0..self.rows {
                self.set(i, j, f(self.get(i, j)));
            }
        }
    }

    /// `self = alpha * a * b + beta * self` on up to `threads` threads; does nothing if the shapes do not agree. A zero
    /// `beta` does not read `self`.
    pub(crate) fn product(&mut self, alpha: T, a: Mat<'_, T>, b: Mat<'_, T>, beta: T, threads: usize) {
        let (m, n, k) = (self.rows, self.cols, a.cols);
        if a.rows != m || b.cols != n || b.rows != k || m == 0 || n == 0 {
            return;
        }
        if k == 0 {
            return self.scale(beta);
        }
        crate::numerics::gemm::probe_panels::<T>([m, n, k]);
        let parallelism = if threads > 1 { Parallelism::Rayon(threads) } else { Parallelism::None };
        // SAFETY: shapes agree, and by the invariant everything that they reach lies in the views' slices, of which
        // `self`'s is exclusive. `Native` is implemented for the four types that `gemm::gemm` has kernels for. The
        // first factor of `gemm::gemm` scales C and the second the product.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                self.at,
                self.col_step,
                self.row_step,
                beta != T::default(),
                a.at,
                a.col_step,
                a.row_step,
                b.at,
                b.col_step,
                b.row_step,
                beta,
                alpha,
                false,
                a.conj,
                b.conj,
                parallelism,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column stride so large that computing the address of a column fails the checks of a debug build.
    const FAR: usize = isize::MAX as usize / size_of::<f64>() + 1;

    #[test]
    fn columns_of_no_rows_are_empty_and_lie_nowhere() {
        let mut none: [f64; 0] = [];
        for j in 0..2 {
            assert_eq!(Mat::new(&none, 0, 2, FAR).unwrap().column(j), Some(&[][..]));
            assert_eq!(MatMut::new(&mut none, 0, 2, FAR).unwrap().column_mut(j), Some(&mut [][..]));
            assert_eq!(MatMut::new(&mut none, 0, 2, FAR).unwrap().into_column(j), Some(&mut [][..]));
        }
        assert_eq!(MatMut::new(&mut none, 0, 3, FAR).unwrap().two_columns(1, 2), Some((&mut [][..], &mut [][..])));
        assert_eq!(Mat::new(&none, 0, 2, FAR).unwrap().column(2), None);
    }
}
