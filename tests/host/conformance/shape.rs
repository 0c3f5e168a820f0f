//! The shapes of products, and matrices to fill them.

use crate::common::{Rng, conjugated, op};
use windlass::blas::GemmElement;
use windlass::reference::{GemmSpec, Trans};
use windlass::tensor::Layout;
use windlass::{DeviceBuffer, Element, Gemm, Tensor, TensorRef, Transpose};

pub(crate) const SIZES: [usize; 8] = [0, 1, 2, 3, 5, 17, 64, 100];
pub(crate) const TRANSPOSES: [Transpose; 3] = [Transpose::No, Transpose::Yes, Transpose::Conjugate];

/// A product whose leading dimensions exceed what is needed by `gaps`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) trans: [Transpose; 2],
    pub(crate) gaps: [usize; 3],
}

impl Shape {
    /// Sizes from [`SIZES`], anything transposed, gaps more often than not.
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let [m, n, k] = [(); 3].map(|()| rng.pick(&SIZES));
        let trans = [(); 2].map(|()| rng.pick(&TRANSPOSES));
        Shape { m, n, k, trans, gaps: [(); 3].map(|()| rng.pick(&[0, 1, 3, 7])) }
    }

    fn rows(&self) -> [(usize, usize); 3] {
        let stored = |trans, rows, cols| if trans == Transpose::No { (rows, cols) } else { (cols, rows) };
        [stored(self.trans[0], self.m, self.k), stored(self.trans[1], self.k, self.n), (self.m, self.n)]
    }

    pub(crate) fn leading(&self) -> [usize; 3] {
        let rows = self.rows();
        [0, 1, 2].map(|i| rows[i].0.max(1) + self.gaps[i])
    }

    /// What the front takes beside the views.
    pub(crate) fn call<T: GemmElement>(&self, alpha: T::Scalar, beta: T::Scalar) -> Gemm<'static, T> {
        self.conjugated(Gemm::new().alpha(alpha).beta(beta))
    }

    pub(crate) fn conjugated<'a, T: GemmElement>(&self, spec: Gemm<'a, T>) -> Gemm<'a, T> {
        conjugated(spec, self.trans)
    }

    /// A and B in these buffers, as they are multiplied.
    pub(crate) fn factors<'a, T: Element>(
        &self,
        a: &'a DeviceBuffer<T>,
        b: &'a DeviceBuffer<T>,
    ) -> [TensorRef<'a, T>; 2] {
        let [lda, ldb, _] = self.leading();
        [op(a, self.trans[0], (self.m, self.k), lda), op(b, self.trans[1], (self.k, self.n), ldb)]
    }

    pub(crate) fn c<T: Element>(&self, c: DeviceBuffer<T>) -> Tensor<T> {
        c.with_layout(Layout::columns(self.m, self.n).ld(self.leading()[2])).unwrap()
    }

    /// For the oracle.
    pub(crate) fn spec<S>(&self, alpha: S, beta: S) -> GemmSpec<S> {
        let trans = |t| match t {
            Transpose::No => Trans::No,
            Transpose::Yes => Trans::Yes,
            Transpose::Conjugate => Trans::Conj,
        };
        let [lda, ldb, ldc] = self.leading();
        let (op_a, op_b) = (trans(self.trans[0]), trans(self.trans[1]));
        GemmSpec { m: self.m, n: self.n, k: self.k, op_a, lda, op_b, ldb, ldc, alpha, beta }
    }

    /// A, B or C (0, 1, 2) of `sample`s, with `padding` between the columns and behind the last.
    pub(crate) fn matrix<T: Copy>(&self, which: usize, padding: T, mut sample: impl FnMut() -> T) -> Vec<T> {
        let ((rows, cols), ld) = (self.rows()[which], self.leading()[which]);
        let len = if rows == 0 || cols == 0 { 0 } else { ld * (cols - 1) + rows };
        let inside = |at: usize| at % ld < rows && at / ld < cols;
        (0..len + self.gaps[which]).map(|at| if inside(at) { sample() } else { padding }).collect()
    }

    /// Whether place `at` of C's buffer is no element of C.
    pub(crate) fn outside(&self, at: usize) -> bool {
        let ld = self.leading()[2];
        at % ld >= self.m || at / ld >= self.n
    }
}
