//! Factors of symmetric and Hermitian matrices that need not be definite: sytrf, hetrf, and solutions.

use super::cholesky::Shape;
use super::prelude::*;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::collected;
use crate::libraries::flags::Symmetry;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::dense;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::kernels;

/// The factors `A = L * D * L^T` (or `L^H`) with interchanges, D of blocks of one or two rows, of a matrix or of each
/// of a batch, in the memory of A. Form and pivots are those of LAPACK's `sytrf` and `hetrf`.
#[derive(Debug)]
pub struct Ldl<T: SolverElement> {
    factors: Tensor<T>,
    pivots: Tensor<i64>,
    info: Tensor<i32>,
    uplo: Uplo,
    symmetry: Symmetry,
}

/// The triangle, and the kind of symmetry.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct LdlShape {
    pub(super) shape: Shape,
    pub(super) symmetry: Symmetry,
}

#[cfg(feature = "host")]
impl LdlShape {
    fn on_host(&self) -> (bool, bool) {
        (self.shape.uplo == Uplo::Upper, self.symmetry == Symmetry::Hermitian)
    }
}

#[cfg(feature = "cuda")]
impl Symmetry {
    pub(super) fn refuse_hermitian<T: SolverElement>(self) -> Result<()> {
        if self == Symmetry::Hermitian && T::DTYPE.is_complex() {
            return Err(Error::unsupported("an indefinite Hermitian matrix: cuSOLVER factors these from CUDA 13.4 on"));
        }
        Ok(())
    }
}

impl<T: SolverElement> Output for Ldl<T> {
    type Writes = (Strided<T>, Strided<i64>, Strided<i32>);
    type Host = (Uplo, Symmetry);

    fn join((factors, pivots, info): Bufs<Self>, (uplo, symmetry): (Uplo, Symmetry)) -> Result<Self> {
        Ok(Ldl { factors, pivots, info, uplo, symmetry })
    }
}

impl<T: SolverElement> Ldl<T> {
    /// L and D, in the triangle of A.
    pub fn factors(&self) -> &Tensor<T> {
        &self.factors
    }

    /// `n` pivots for each matrix, counted from 1; two that are negative and equal belong to a block of two rows.
    pub fn pivots(&self) -> &Tensor<i64> {
        &self.pivots
    }

    /// For each matrix the first zero on the diagonal of D, counted from 1, or 0.
    pub fn info(&self) -> &Tensor<i32> {
        &self.info
    }

    /// Factors, pivots and infos.
    pub fn into_parts(self) -> (Tensor<T>, Tensor<i64>, Tensor<i32>) {
        (self.factors, self.pivots, self.info)
    }

    /// Solves `A * X = B` (`sytrs`, `hetrs`; `cusolverDnXsytrs`), in the memory of B if it is given by value. A B of one axis is a
    /// vector.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], with both shapes, when B has not as many rows as A, or another batch; a stale or foreign
    /// tensor. B comes back.
    pub fn solve<'b>(&self, solver: &Solver, b: impl GivenTensor<'b, T>) -> Submitted<Tensor<T>> {
        self.sytrs(solver, b.into())
    }

    fn sytrs(&self, solver: &Solver, b: Given<'_, T>) -> Submitted<Tensor<T>> {
        let (uplo, symmetry) = (self.uplo, self.symmetry);
        let factors = || Ok((matrices_of("a", &self.factors)?, elements_of("pivots", &self.pivots)?));
        solver.with_factors(Sytrs::<T>::NAME, factors(), b, &self.factors, |((a, factors), pivots), b, x| {
            let shape = LdlShape { shape: Shape { uplo, a }, symmetry };
            solver.submit(Sytrs { shape, b, _type: PhantomData }, (factors, pivots), (x,))
        })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Sytrf<T> {
    pub(super) shape: LdlShape,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Routine for Sytrf<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "sytrf";
    const OPERANDS: OperandNames = (&[], &["a", "pivots", "info"]);
    const BLOCKING: bool = true;
    type Reads = ();
    type Output = Ldl<T>;
    type Raw = First;

    fn check(&self, (): &(), (a, pivots, info): &Spans<(T, i64, i32)>) -> Result<()> {
        let Shape { a: of, .. } = self.shape.shape;
        self.shape.shape.check(a.len())?;
        check_len("pivots", of.rows, of.count, pivots.len())?;
        check_len("info", 1, of.count, info.len())
    }

    fn overwrites_each(&self, (_, pivots, info): &Spans<(T, i64, i32)>, index: usize) -> bool {
        let Matrix { rows: n, count, .. } = self.shape.shape.a;
        match index {
            1 => n.checked_mul(count) == Some(pivots.len()),
            2 => count == info.len(),
            _ => false,
        }
    }

    fn cost(&self) -> Cost {
        let Matrix { rows: n, count, .. } = self.shape.shape.a;
        let all = cost::<T>(1, [n; 3], count, n.saturating_mul(n));
        Cost { flops: all.flops / 2, ..all }
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, pivots, info): (&mut [T], &mut [i64], &mut [i32])) -> Result<First> {
        let (of, (upper, hermitian)) = (&self.shape.shape.a, self.shape.on_host());
        let pivots = batch::vectors_mut(pivots, of.rows, of.count);
        let items = collected(batch::parts_mut(of, a).into_iter().zip(pivots).zip(info.iter_mut()))?;
        batch::each(items, batch::cube(of.rows) / 3, |((a, pivots), info), _| {
            *info = T::sytrf(upper, hermitian, a, pivots);
        });
        Ok(first(info.get(..of.count).unwrap_or_default()))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        self.shape.symmetry.refuse_hermitian::<T>()?;
        let (of, (a, pivots, info)) = (&self.shape.shape.a, queue.writes());
        let (n, info) = (of.rows, info.address());
        if of.is_empty() {
            calls::no_infos(queue, info, of.count)?;
            return calls::verdict(queue, info, of.count);
        }
        let short = queue.scratch(n.saturating_mul(size_of::<i32>()))?;
        for k in 0..of.count {
            let a = (of.address::<T>(a.address(), k), of.leading());
            dense::sytrf::<T>(queue, self.shape.shape.uplo, n, a, short, info + 4 * k as u64)?;
            kernels::widen(queue, short, pivots.address() + 8 * (k * n) as u64, n)?;
        }
        calls::verdict(queue, info, of.count)
    }

    fn finish(&self, raw: First) -> Result<(Uplo, Symmetry)> {
        Meaning::Singular.verdict(raw).map(|()| (self.shape.shape.uplo, self.shape.symmetry))
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Sytrs<T> {
    pub(super) shape: LdlShape,
    pub(super) b: Matrix,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Routine for Sytrs<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "sytrs";
    const OPERANDS: OperandNames = (&["a", "pivots"], &["b"]);
    const BLOCKING: bool = true;
    type Reads = (T, i64);
    type Output = Tensor<T>;
    type Raw = ();

    fn check(&self, (a, pivots): &Spans<(T, i64)>, (b,): &Spans<(T,)>) -> Result<()> {
        let of = &self.shape.shape.a;
        self.shape.shape.check(a.len())?;
        check_len("pivots", of.rows, of.count, pivots.len())?;
        self.b.check("b", b.len())?;
        self.b.check_beside("b", of.rows, of)
    }

    fn cost(&self) -> Cost {
        let (n, nrhs) = (self.shape.shape.a.rows, self.b.cols);
        cost::<T>(3, [n, n, nrhs], self.b.count, n.saturating_mul(n.saturating_add(nrhs)))
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, pivots): (&[T], &[i64]), (b,): (&mut [T],)) -> Result<()> {
        let (of, (upper, hermitian)) = (&self.shape.shape.a, self.shape.on_host());
        if self.b.is_empty() {
            return Ok(());
        }
        let factors = batch::parts(of, a).into_iter().zip(batch::vectors(pivots, of.rows, of.count));
        let items = collected(factors.zip(batch::parts_mut(&self.b, b)))?;
        let work = of.rows.saturating_mul(of.rows).saturating_mul(self.b.cols);
        batch::each(items, work, |((a, pivots), b), _| T::sytrs(upper, hermitian, a, pivots, b));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        self.shape.symmetry.refuse_hermitian::<T>()?;
        let ((a, pivots), (b,)) = (queue.reads(), queue.writes());
        let (of_a, of_b, n) = (&self.shape.shape.a, &self.b, self.b.rows);
        if of_b.is_empty() {
            return Ok(());
        }
        let (kept, info) = (kernels::keep_pivots(queue, pivots.address(), n, of_a.count, true)?, queue.scratch(4)?);
        for k in 0..of_a.count {
            let a = (of_a.address::<T>(a.address(), k), of_a.leading());
            let b = (of_b.address::<T>(b.address(), k), of_b.leading());
            let pivots = kept + 8 * (k * n) as u64;
            dense::sytrs::<T>(queue, self.shape.shape.uplo, (n, of_b.cols), a, pivots, b, info)?;
        }
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Solver {
    /// The factors of symmetric or Hermitian matrices, of which A holds the triangle that `uplo` names, by Bunch and Kaufman's
    /// pivoting (`sytrf`, `hetrf`; `cusolverDn<t>sytrf`), in the memory of A if it is given by value. On a GPU the bits may
    /// differ from one call to the next: the library's documentation promises equal bits only for other routines. The solutions
    /// are equally accurate each time.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A is not square; a stale or foreign tensor; on a GPU [`Error::Unsupported`] for
    /// Hermitian matrices of a complex type, which cuSOLVER factors only from CUDA 13.4 on. At the wait [`Error::Singular`]
    /// with the first zero on the diagonal of D; the factors are complete all the same. All tensors come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, solver::Symmetry};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [0.0f64, 1.0, 1.0, 0.0])?;
    /// let ldl = device.solver().ldl(Uplo::Lower, Symmetry::Symmetric, a)?.await_result()?;
    /// let x = ldl.solve(&device.solver(), device.tensor([2], [3.0, 4.0])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&x)?, [4.0, 3.0]);
    /// # Ok(()) }
    /// ```
    pub fn ldl<'a, T: SolverElement>(
        &self,
        uplo: Uplo,
        symmetry: Symmetry,
        a: impl GivenTensor<'a, T>,
    ) -> Submitted<Ldl<T>, Verdict> {
        self.sytrf(uplo, symmetry, a.into())
    }

    fn sytrf<T: SolverElement>(&self, uplo: Uplo, symmetry: Symmetry, a: Given<'_, T>) -> Submitted<Ldl<T>, Verdict> {
        let made = self.taken(a, |batch, of| Ok((self.new_tensor(batch, &[of.rows])?, self.new_tensor(batch, &[])?)));
        match made {
            Ok((of_a, a, (pivots, info))) => {
                let shape = LdlShape { shape: Shape { uplo, a: of_a }, symmetry };
                self.submit(Sytrf { shape, _type: PhantomData }, (), (a, pivots, info))
            }
            Err((error, a)) => {
                Err(self.refuse(Sytrf::<T>::NAME, error, |d| Ok((a.back(d)?, d.uninit([0])?, d.uninit([0])?))))
            }
        }
    }
}
