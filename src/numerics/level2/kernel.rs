//! One pass over a few columns of a matrix: the inner loop of products and triangular solves.

use num_complex::Complex64;
use pulp::{Arch, Simd, WithSimd};

use super::super::level1::Field;

/// `C` columns `a` and the vectors that go with them. `DOT` computes the sums of `a[c] * x`; `AXPY` computes
/// `y += factors[c] * a[c]` for every `c`. A vector that is used is as long as the columns; an unused one may be empty.
pub(super) struct Pass<'a, T, const C: usize, const DOT: bool, const AXPY: bool> {
    pub(super) a: [&'a [T]; C],
    pub(super) factors: [T; C],
    pub(super) x: &'a [T],
    pub(super) y: &'a mut [T],
}

impl<T: Field, const C: usize, const DOT: bool, const AXPY: bool> Pass<'_, T, C, DOT, AXPY> {
    pub(super) fn run(self) -> [Complex64; C] {
        Arch::new().dispatch(self)
    }
}

impl<T: Field, const C: usize, const DOT: bool, const AXPY: bool> WithSimd for Pass<'_, T, C, DOT, AXPY> {
    type Output = [Complex64; C];

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "all slices are cut to one length")]
    fn with_simd<S: Simd>(self, simd: S) -> [Complex64; C] {
        let Pass { a, factors, x, y } = self;
        let len = a.iter().map(|a| a.len()).fold(if DOT { x.len() } else { usize::MAX }, usize::min);
        let len = if AXPY { len.min(y.len()) } else { len };
        let (x, y) = (&x[..if DOT { len } else { 0 }], &mut y[..if AXPY { len } else { 0 }]);
        let ((x, x_tail), (y, y_tail)) = (T::vectors::<S>(x), T::vectors_mut::<S>(y));
        let a = a.map(|a| T::vectors::<S>(&a[..len]));
        let count = if C == 0 { 0 } else { a[0].0.len() };
        // Loops, not maps over arrays: code that is not inlined here is not compiled for the machine's vector
        // instructions.
        let zero = T::splat(simd, T::default());
        let (mut sums, mut by) = ([zero; C], [zero; C]);
        for c in 0..C {
            by[c] = T::splat(simd, factors[c]);
        }
        for i in 0..count {
            if AXPY {
                // The products are summed first. So y, which is larger, is rounded once for all columns.
                let mut sum = zero;
                for c in 0..C {
                    sum = T::fma(simd, by[c], a[c].0[i], sum);
                }
                y[i] = T::plus(simd, y[i], sum);
            }
            if DOT {
                for c in 0..C {
                    sums[c] = T::fma(simd, x[i], a[c].0[i], sums[c]);
                }
            }
        }
        if !a[0].1.is_empty() {
            if AXPY {
                let mut sum = zero;
                for c in 0..C {
                    sum = T::fma(simd, by[c], T::load(simd, a[c].1), sum);
                }
                let sum = T::plus(simd, T::load(simd, y_tail), sum);
                T::store(simd, y_tail, sum);
            }
            if DOT {
                let x = T::load(simd, x_tail);
                for c in 0..C {
                    sums[c] = T::fma(simd, x, T::load(simd, a[c].1), sums[c]);
                }
            }
        }
        let mut totals = [Complex64::default(); C];
        if DOT {
            for c in 0..C {
                totals[c] = T::sum(simd, sums[c]).wide();
            }
        }
        totals
    }
}
