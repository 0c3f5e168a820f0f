//! The loops over contiguous reals.
//!
//! Each is written over arrays of lanes, which the compiler vectorizes, and is compiled for several instruction sets
//! (`simd`). Multiply-adds are never fused, so all versions give the same bits.

use std::ops::{Add, Mul, Neg};

use num_complex::Complex;

use super::super::simd::{Kernel, run};

/// The type that a kernel computes in.
pub(super) trait Real:
    Copy + Default + PartialEq + Send + Sync + Add<Output = Self> + Mul<Output = Self> + Neg<Output = Self> + Into<f64>
{
}

impl Real for f32 {}

impl Real for f64 {}

/// A scalar that multiplies elements of one real or of two.
#[derive(Clone, Copy)]
pub(super) struct Factor<R> {
    re: R,
    im: R,
    complex: bool,
}

impl<R: Real> Factor<R> {
    pub(super) fn real(re: R) -> Self {
        Self { re, im: R::default(), complex: false }
    }

    pub(super) fn complex(x: Complex<R>) -> Self {
        Self { re: x.re, im: x.im, complex: true }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.re == R::default() && self.im == R::default()
    }
}

/// Lanes of a sum of products of reals: enough to hide the latency of an addition.
pub(super) const LANES: usize = 32;
/// Lanes of a complex sum, which needs two sets.
pub(super) const COMPLEX_LANES: usize = 16;

/// `lanes[l] += term(x[l], y[l])`. Uses an index instead of iterators, because the compiler vectorizes this form.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "l < N, the length of all")]
fn each_lane<R: Copy, S: Real, const N: usize>(lanes: &mut [S; N], x: &[R; N], y: &[R; N], term: impl Fn(R, R) -> S) {
    for l in 0..N {
        lanes[l] = lanes[l] + term(x[l], y[l]);
    }
}

/// `lanes[l] += x[i] * y[i]` for `l = i % LANES`.
pub(super) fn dot<R: Real>(lanes: &mut [R; LANES], x: &[R], y: &[R]) {
    struct Dot<'a, R>(&'a mut [R; LANES], &'a [R], &'a [R]);
    impl<R: Real> Kernel for Dot<'_, R> {
        type Output = ();

        #[inline(always)]
        fn body(self) {
            let Self(out, x, y) = self;
            let mut lanes = *out;
            let ((x, x_tail), (y, y_tail)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
            for (x, y) in x.iter().zip(y) {
                each_lane(&mut lanes, x, y, |x, y| x * y);
            }
            for ((lane, x), y) in lanes.iter_mut().zip(x_tail).zip(y_tail) {
                *lane = *lane + *x * *y;
            }
            *out = lanes;
        }
    }
    run(Dot(lanes, x, y));
}

/// The partial sums of a complex dot product. `straight` holds sums of `x.re * y.re` and `x.im * y.im` alternately,
/// `crossed` of `x.re * y.im` and `x.im * y.re` alternately. Conjugating x changes only the signs with which these are
/// combined at the end.
pub(super) struct ComplexLanes<R> {
    pub(super) straight: [R; COMPLEX_LANES],
    pub(super) crossed: [R; COMPLEX_LANES],
}

impl<R: Real> ComplexLanes<R> {
    pub(super) fn new() -> Self {
        Self { straight: [R::default(); COMPLEX_LANES], crossed: [R::default(); COMPLEX_LANES] }
    }
}

/// Adds the products of the complex numbers in x and y, which are stored as pairs of reals.
pub(super) fn complex_dot<R: Real>(lanes: &mut ComplexLanes<R>, x: &[R], y: &[R]) {
    struct Dot<'a, R>(&'a mut ComplexLanes<R>, &'a [R], &'a [R]);
    impl<R: Real> Dot<'_, R> {
        #[inline(always)]
        fn step(straight: &mut [R], crossed: &mut [R], x: &[R], y: &[R]) {
            let (straight, _) = straight.as_chunks_mut::<2>();
            let (crossed, _) = crossed.as_chunks_mut::<2>();
            let lanes = straight.iter_mut().zip(crossed);
            for (([s0, s1], [c0, c1]), ([x0, x1], [y0, y1])) in lanes.zip(x.as_chunks().0.iter().zip(y.as_chunks().0)) {
                *s0 = *s0 + *x0 * *y0;
                *s1 = *s1 + *x1 * *y1;
                *c0 = *c0 + *x0 * *y1;
                *c1 = *c1 + *x1 * *y0;
            }
        }
    }
    impl<R: Real> Kernel for Dot<'_, R> {
        type Output = ();

        #[inline(always)]
        fn body(self) {
            let Self(out, x, y) = self;
            let (mut straight, mut crossed) = (out.straight, out.crossed);
            let ((x, x_tail), (y, y_tail)) = (x.as_chunks::<COMPLEX_LANES>(), y.as_chunks::<COMPLEX_LANES>());
            for (x, y) in x.iter().zip(y) {
                Self::step(&mut straight, &mut crossed, x, y);
            }
            Self::step(&mut straight, &mut crossed, x_tail, y_tail);
            *out = ComplexLanes { straight, crossed };
        }
    }
    run(Dot(lanes, x, y));
}

/// `lanes[l] += (scale * x[i])^2` for `l = i % LANES`, in f64.
pub(super) fn squares<R: Real>(lanes: &mut [f64; LANES], x: &[R], scale: f64) {
    struct Squares<'a, R>(&'a mut [f64; LANES], &'a [R], f64);
    impl<R: Real> Kernel for Squares<'_, R> {
        type Output = ();

        #[inline(always)]
        fn body(self) {
            let Self(out, x, scale) = self;
            let mut lanes = *out;
            let (x, tail) = x.as_chunks::<LANES>();
            let square = |x: R| {
                let x: f64 = x.into();
                let x = scale * x;
                x * x
            };
            for x in x {
                each_lane(&mut lanes, x, x, |x, _| square(x));
            }
            for (lane, x) in lanes.iter_mut().zip(tail) {
                *lane += square(*x);
            }
            *out = lanes;
        }
    }
    run(Squares(lanes, x, scale));
}

/// `lanes[l] += |x[i]|` for `l = i % LANES`, in f64.
pub(super) fn magnitudes<R: Real>(lanes: &mut [f64; LANES], x: &[R]) {
    struct Magnitudes<'a, R>(&'a mut [f64; LANES], &'a [R]);
    impl<R: Real> Kernel for Magnitudes<'_, R> {
        type Output = ();

        #[inline(always)]
        fn body(self) {
            let Self(out, x) = self;
            let mut lanes = *out;
            let (x, tail) = x.as_chunks::<LANES>();
            let size = |x: R| {
                let x: f64 = x.into();
                x.abs()
            };
            for x in x {
                each_lane(&mut lanes, x, x, |x, _| size(x));
            }
            for (lane, x) in lanes.iter_mut().zip(tail) {
                *lane += size(*x);
            }
            *out = lanes;
        }
    }
    run(Magnitudes(lanes, x));
}

/// `y += factor * x`.
pub(super) fn axpy<R: Real>(factor: Factor<R>, x: &[R], y: &mut [R]) {
    struct Axpy<'a, R>(Factor<R>, &'a [R], &'a mut [R]);
    impl<R: Real> Kernel for Axpy<'_, R> {
        type Output = ();

        #[inline(always)]
        fn body(self) {
            let Self(Factor { re, im, complex }, x, y) = self;
            if complex {
                let (x, y) = (x.as_chunks::<2>().0, y.as_chunks_mut::<2>().0);
                for ([x0, x1], [y0, y1]) in x.iter().zip(y) {
                    *y0 = *y0 + (re * *x0 + -im * *x1);
                    *y1 = *y1 + (re * *x1 + im * *x0);
                }
            } else {
                for (x, y) in x.iter().zip(y) {
                    *y = *y + re * *x;
                }
            }
        }
    }
    run(Axpy(factor, x, y));
}

/// `x *= factor`.
pub(super) fn scal<R: Real>(factor: Factor<R>, x: &mut [R]) {
    struct Scal<'a, R>(Factor<R>, &'a mut [R]);
    impl<R: Real> Kernel for Scal<'_, R> {
        type Output = ();

        #[inline(always)]
        fn body(self) {
            let Self(Factor { re, im, complex }, x) = self;
            if complex {
                for [x0, x1] in x.as_chunks_mut::<2>().0 {
                    (*x0, *x1) = (re * *x0 + -im * *x1, re * *x1 + im * *x0);
                }
            } else {
                x.iter_mut().for_each(|x| *x = re * *x);
            }
        }
    }
    run(Scal(factor, x));
}
