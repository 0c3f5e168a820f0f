//! Pseudo-inverses.

use super::prelude::*;
#[cfg(feature = "cuda")]
use super::svd::cuda as svd;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::{collected, filled};
#[cfg(feature = "cuda")]
use crate::libraries::blas::native::product;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::kernels;

/// The pseudo-inverses of matrices.
#[derive(Debug)]
#[non_exhaustive]
pub struct PseudoInverse<T: SolverElement> {
    /// The pseudo-inverse of each matrix, `cols x rows`.
    pub matrix: Tensor<T>,
    /// The tensor that held A. Its contents are undefined: an operation that reads it is refused.
    pub a: Tensor<T>,
}

impl<T: SolverElement> Output for PseudoInverse<T> {
    type Writes = (Strided<T>, Strided<T>);
    type Host = ();

    fn join((a, matrix): Bufs<Self>, (): ()) -> Result<Self> {
        Ok(PseudoInverse { matrix, a })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Pinv<T> {
    a: Matrix,
    tolerance: Option<f64>,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Pinv<T> {
    /// Where the pseudo-inverses lie.
    fn inverse(&self) -> Matrix {
        Matrix::new(self.a.cols, self.a.rows).batch(self.a.count)
    }
}

impl<T: SolverElement> Routine for Pinv<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "pinv";
    const BLOCKING: bool = true;
    const OPERANDS: OperandNames = (&[], &["a", "c"]);
    const LEAVES_UNDEFINED: &'static [usize] = &[0];
    type Reads = ();
    type Output = PseudoInverse<T>;
    type Raw = First;

    fn check(&self, (): &(), (a, c): &Spans<(T, T)>) -> Result<()> {
        self.a.check("a", a.len())?;
        self.inverse().check("inverse", c.len())
    }

    fn overwrites_each(&self, (_, c): &Spans<(T, T)>, index: usize) -> bool {
        index == 1 && self.inverse().fills(c.len())
    }

    fn cost(&self) -> Cost {
        let Matrix { rows, cols, count, .. } = self.a;
        cost::<T>(15, [rows, cols, self.a.size()], count, rows.saturating_mul(cols).saturating_mul(2))
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, c): (&mut [T], &mut [T])) -> Result<First> {
        let of = &self.a;
        let mut info = filled(of.count, 0)?;
        let items =
            collected(batch::parts(of, a).into_iter().zip(batch::parts_mut(&self.inverse(), c)).zip(&mut info))?;
        let work = of.rows.saturating_mul(of.cols).saturating_mul(of.size()).saturating_mul(5);
        batch::each(items, work, |((a, c), info), threads| *info = T::pinv(a, c, self.tolerance, threads));
        Ok(first(&info))
    }

    /// `V * S^-1 * U^H`.
    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of, to, (a, c)) = (&self.a, self.inverse(), *queue.writes());
        let (Matrix { rows: m, cols: n, .. }, k) = (*of, of.size());
        let info = queue.scratch(4 * of.count.max(1))?;
        if of.is_empty() {
            calls::no_infos(queue, info, of.count)?;
            return calls::verdict(queue, info, of.count);
        }
        let epsilon = if size_of::<T::Real>() == size_of::<f32>() { f32::EPSILON.into() } else { f64::EPSILON };
        let tolerance = self.tolerance.unwrap_or(m.max(n) as f64 * epsilon);
        let (u, vh) = (svd::room::<T>(queue, m, k)?, svd::room::<T>(queue, k, n)?);
        let values = queue.scratch(k.saturating_mul(size_of::<T::Real>()))?;
        for i in 0..of.count {
            let a = (of.address::<T>(a.address(), i), of.leading());
            svd::thin::<T>(queue, (m, n), a, values, [u, vh], info + 4 * i as u64)?;
            kernels::divide_rows::<T>(queue, vh, (k, n), values, tolerance)?;
            let c = (to.address::<T>(c.address(), i), to.leading());
            // SAFETY: U and `V^H` lie in scratch of this dispatch, the inverse inside its buffer (checked).
            unsafe { product::<T>(queue, (true, true), (1.0, 0.0), (n, m, k), [vh, u, c]) }?;
        }
        calls::verdict(queue, info, of.count)
    }

    fn finish(&self, raw: First) -> Result<()> {
        Meaning::NotConverged.verdict(raw)
    }
}

impl Solver {
    /// The pseudo-inverse of each matrix, by its singular values: those up to `tolerance` times the largest count as zero (by
    /// default `max(rows, cols)` times the machine precision of the type).
    ///
    /// # Errors
    /// As [`svd`](Self::svd).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let pinv = device.solver().pinv(None, device.tensor([2, 1], [3.0f64, 4.0])?)?.await_result()?.matrix;
    /// assert!(device.allclose(&pinv, &device.tensor([1, 2], [0.12, 0.16])?, 1e-15, 0.0)?);
    /// # Ok(()) }
    /// ```
    pub fn pinv<'a, T: SolverElement>(
        &self,
        tolerance: Option<f64>,
        a: impl GivenTensor<'a, T>,
    ) -> Submitted<PseudoInverse<T>, Verdict> {
        self.pseudo_inverse(tolerance, a.into())
    }

    fn pseudo_inverse<T: SolverElement>(
        &self,
        tolerance: Option<f64>,
        a: Given<'_, T>,
    ) -> Submitted<PseudoInverse<T>, Verdict> {
        match self.taken(a, |batch, of| self.new_matrices(batch, of.cols, of.rows)) {
            Ok((of_a, a, c)) => self.submit(Pinv { a: of_a, tolerance, _type: PhantomData }, (), (a, c)),
            Err((error, a)) => Err(self.refuse(Pinv::<T>::NAME, error, |d| Ok((a.back(d)?, d.uninit([0])?)))),
        }
    }
}
