//! The spectra of the crate `faer`, instantiated only here: one function for each of the four types.
//!
//! The input is dense (no gaps), finite, not empty and of moderate size; `spectra.rs` ensures that.

use crate::core::room::{OrUnwind, filled, out_of_memory};
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::{evd, svd};
use faer::{MatMut, MatRef, Par};
use num_complex::Complex;

/// From this many rows on, a matrix uses all threads. Below, the threads of `faer` wait for each other longer than they
/// compute.
const PARALLEL: usize = 1024;

fn par(n: usize, threads: usize) -> Par {
    if n >= PARALLEL && threads > 1 { Par::rayon(threads) } else { Par::Seq }
}

/// From dense column-major matrices to dense ones. Returns `false` if it did not converge.
pub(crate) trait Spectral: Sized {
    /// The singular values of an `m x n` A, and U (`m` rows) and V (`n` rows) of as many columns as their lengths say.
    fn svd(
        a: &[Self],
        shape: (usize, usize),
        s: &mut [Self],
        vectors: Option<(&mut [Self], &mut [Self])>,
        threads: usize,
    ) -> bool;
    /// The eigenvalues of the lower triangle of A, ascending, and the vectors.
    fn eigh(a: &[Self], n: usize, w: &mut [Self], vectors: Option<&mut [Self]>, threads: usize) -> bool;
}

/// The same for matrices without symmetry. For a real matrix, the vectors of a pair of conjugate values are two
/// columns: the real and the imaginary part.
pub(crate) trait General: Sized {
    fn eig(a: &[Self], n: usize, w: &mut [Complex<f64>], vectors: Option<&mut [Self]>, threads: usize) -> bool;
}

/// The working memory of one call. (The products inside `faer` pack panels of bounded size in memory of their own.)
fn memory(need: StackReq) -> MemBuffer {
    MemBuffer::try_new(need).map_err(|_| out_of_memory(need.size_bytes())).or_unwind()
}

fn dense<T>(x: &[T], m: usize, n: usize) -> MatRef<'_, T> {
    MatRef::from_column_major_slice(x, m, n)
}

fn dense_mut<T>(x: &mut [T], m: usize) -> MatMut<'_, T> {
    let n = x.len() / m.max(1);
    MatMut::from_column_major_slice_mut(x, m, n)
}

macro_rules! spectral { ($($t:ty),*) => { $(
    impl Spectral for $t {
        fn svd(
            a: &[Self],
            (m, n): (usize, usize),
            s: &mut [Self],
            vectors: Option<(&mut [Self], &mut [Self])>,
            threads: usize,
        ) -> bool {
            let par = par(m.min(n), threads);
            let (u, v) = vectors.map(|(u, v)| (dense_mut(u, m), dense_mut(v, n))).unzip();
            let compute = |x: &Option<MatMut<'_, $t>>| match x {
                None => svd::ComputeSvdVectors::No,
                Some(x) if x.ncols() == m.min(n) => svd::ComputeSvdVectors::Thin,
                Some(_) => svd::ComputeSvdVectors::Full,
            };
            let need = svd::svd_scratch::<$t>(m, n, compute(&u), compute(&v), par, Default::default());
            let mut memory = memory(need);
            let s = DiagMut::from_slice_mut(s);
            svd::svd(dense(a, m, n), s, u, v, par, MemStack::new(&mut memory), Default::default()).is_ok()
        }

        fn eigh(a: &[Self], n: usize, w: &mut [Self], vectors: Option<&mut [Self]>, threads: usize) -> bool {
            let par = par(n, threads);
            let compute = match vectors {
                Some(_) => evd::ComputeEigenvectors::Yes,
                None => evd::ComputeEigenvectors::No,
            };
            let need = evd::self_adjoint_evd_scratch::<$t>(n, compute, par, Default::default());
            let mut memory = memory(need);
            let (u, w) = (vectors.map(|u| dense_mut(u, n)), DiagMut::from_slice_mut(w));
            evd::self_adjoint_evd(dense(a, n, n), w, u, par, MemStack::new(&mut memory), Default::default()).is_ok()
        }
    }
)* } }
spectral! { f32, f64, Complex<f32>, Complex<f64> }

impl General for f64 {
    fn eig(a: &[f64], n: usize, w: &mut [Complex<f64>], vectors: Option<&mut [f64]>, threads: usize) -> bool {
        let par = par(n, threads);
        let compute = if vectors.is_some() { evd::ComputeEigenvectors::Yes } else { evd::ComputeEigenvectors::No };
        let none = evd::ComputeEigenvectors::No;
        let need = evd::evd_scratch::<f64>(n, none, compute, par, Default::default());
        let mut memory = memory(need);
        let (mut re, mut im) = (filled(n, 0.0).or_unwind(), filled(n, 0.0).or_unwind());
        let parts = (DiagMut::from_slice_mut(&mut re), DiagMut::from_slice_mut(&mut im));
        let u = vectors.map(|u| dense_mut(u, n));
        let stack = MemStack::new(&mut memory);
        let done = evd::evd_real(dense(a, n, n), parts.0, parts.1, None, u, par, stack, Default::default());
        w.iter_mut().zip(re.iter().zip(&im)).for_each(|(w, (re, im))| *w = Complex::new(*re, *im));
        done.is_ok()
    }
}

impl General for Complex<f64> {
    fn eig(a: &[Self], n: usize, w: &mut [Complex<f64>], vectors: Option<&mut [Self]>, threads: usize) -> bool {
        let par = par(n, threads);
        let compute = if vectors.is_some() { evd::ComputeEigenvectors::Yes } else { evd::ComputeEigenvectors::No };
        let need = evd::evd_scratch::<Self>(n, evd::ComputeEigenvectors::No, compute, par, Default::default());
        let mut memory = memory(need);
        let (u, w) = (vectors.map(|u| dense_mut(u, n)), DiagMut::from_slice_mut(w));
        let stack = MemStack::new(&mut memory);
        evd::evd_cplx(dense(a, n, n), w, None, u, par, stack, Default::default()).is_ok()
    }
}
