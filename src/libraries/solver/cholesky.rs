//! Cholesky factors: potrf, potrs, potri.

use super::Inverse;
use super::given::sizes;
use super::prelude::*;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::batched;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::dense;

/// The factor of a symmetric or Hermitian positive definite matrix, or of each of a batch, in the memory of A.
///
/// `A = L * L^H` with L in the lower triangle, or `A = U^H * U` with U in the upper one. The other triangle stays as it was.
#[derive(Debug)]
pub struct Cholesky<T: SolverElement> {
    factor: Tensor<T>,
    info: Tensor<i32>,
    uplo: Uplo,
}

/// A matrix of which only one triangle is used.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Shape {
    pub(super) uplo: Uplo,
    pub(super) a: Matrix,
}

impl Shape {
    pub(super) fn check(&self, len: usize) -> Result<()> {
        self.a.check("a", len)?;
        self.a.check_square("a")
    }
}

impl<T: SolverElement> Output for Cholesky<T> {
    type Writes = (Strided<T>, Strided<i32>);
    type Host = Uplo;

    fn join((factor, info): Bufs<Self>, uplo: Uplo) -> Result<Self> {
        Ok(Cholesky { factor, info, uplo })
    }
}

impl<T: SolverElement> Cholesky<T> {
    /// A factor that was made elsewhere. The operations that use it check it.
    pub fn from_parts(uplo: Uplo, factor: Tensor<T>, info: Tensor<i32>) -> Self {
        Cholesky { factor, info, uplo }
    }

    /// L or U.
    pub fn factor(&self) -> &Tensor<T> {
        &self.factor
    }

    /// For each matrix the order of the leading minor that is not positive, or 0.
    pub fn info(&self) -> &Tensor<i32> {
        &self.info
    }

    /// The triangle that the factor is in.
    pub fn uplo(&self) -> Uplo {
        self.uplo
    }

    /// The factor and the infos.
    pub fn into_parts(self) -> (Tensor<T>, Tensor<i32>) {
        (self.factor, self.info)
    }

    /// Solves `A * X = B` with this factor (`potrs`; `cusolverDnXpotrs`), in the memory of B if it is given by value. A B of one
    /// axis is a vector.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], with both shapes, when B has not as many rows as A, or another batch; a stale or foreign
    /// tensor. B comes back.
    pub fn solve<'b>(&self, solver: &Solver, b: impl GivenTensor<'b, T>) -> Submitted<Tensor<T>> {
        self.potrs(solver, b.into())
    }

    fn potrs(&self, solver: &Solver, b: Given<'_, T>) -> Submitted<Tensor<T>> {
        let (uplo, factor) = (self.uplo, matrices_of("a", &self.factor));
        solver.with_factors(Potrs::<T>::NAME, factor, b, &self.factor, |(a, factor), b, x| {
            solver.submit(Potrs { shape: Shape { uplo, a }, triangle: None, b, _type: PhantomData }, (factor,), (x,))
        })
    }

    /// The inverse of A in place of its factor, in the same triangle (`potri`; `cusolverDn<t>potri`).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a factor that is not square or whose columns are not contiguous; at the wait
    /// [`Error::Singular`] if the factor has a zero on its diagonal. The tensor comes back, and an info for each matrix.
    pub fn inverse(self, solver: &Solver) -> Submitted<Inverse<T>, Verdict> {
        let info = sizes("a", self.factor.layout()).and_then(|(batch, _)| solver.new_tensor(batch, &[]));
        match Matrix::of("a", self.factor.layout()).and_then(|a| Ok((a, info?))) {
            Ok((a, info)) => {
                let shape = Shape { uplo: self.uplo, a };
                solver.submit(Potri { shape, _type: PhantomData }, (), (self.factor, info))
            }
            Err(error) => Err(solver.refuse(Potri::<T>::NAME, error, |d| Ok((self.factor, d.uninit([0])?)))),
        }
    }

    /// The determinants, with their logarithms; see [`Determinant`](super::Determinant).
    ///
    /// # Errors
    /// The device's own error.
    pub fn det(&self, solver: &Solver) -> Result<super::PendingDeterminants<T>> {
        super::determinant::of_cholesky(solver, self)
    }
}

macro_rules! triangle { ($($name:ident)*) => { $(
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(bound = "")]
    pub(super) struct $name<T> {
        shape: Shape,
        _type: PhantomData<T>,
    }
)* } }
triangle! { Potrf Potri }

impl<T: SolverElement> Routine for Potrf<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "potrf";
    const OPERANDS: OperandNames = (&[], &["a", "info"]);
    type Reads = ();
    type Output = Cholesky<T>;
    type Raw = First;

    fn check(&self, (): &(), (a, info): &Spans<(T, i32)>) -> Result<()> {
        self.shape.check(a.len())?;
        check_len("info", 1, self.shape.a.count, info.len())
    }

    fn overwrites_each(&self, (_, info): &Spans<(T, i32)>, index: usize) -> bool {
        index == 1 && self.shape.a.count == info.len()
    }

    fn cost(&self) -> Cost {
        let Matrix { rows: n, count, .. } = self.shape.a;
        let half = cost::<T>(1, [n; 3], count, n.saturating_mul(n));
        Cost { flops: half.flops / 2, ..half }
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, info): (&mut [T], &mut [i32])) -> Result<First> {
        let (of, upper) = (&self.shape.a, self.shape.uplo == Uplo::Upper);
        if let Some(job) = System::new::<T>(Row::Cholesky { upper }, of, None) {
            systems(&job, Systems::alone((of, a), &mut *info));
            return Ok(first(info.get(..of.count).unwrap_or_default()));
        }
        let items = collected(batch::parts_mut(of, a).into_iter().zip(info.iter_mut()))?;
        batch::each(items, batch::cube(of.rows) / 3, |(a, info), threads| *info = T::potrf(upper, a, threads));
        Ok(first(info.get(..of.count).unwrap_or_default()))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of, (a, info)) = (&self.shape.a, queue.writes());
        let (a, info) = (a.address(), info.address());
        if let Some(job) = System::new::<T>(Row::Cholesky { upper: self.shape.uplo == Uplo::Upper }, of, None) {
            return small_lu::launch_told::<T>(queue, &job, of.count, small_lu::At::new((of, a)).info(info));
        }
        if of.is_empty() {
            calls::no_infos(queue, info, of.count)?;
        } else if !batched::cholesky_batched::<T>(queue, self.shape.uplo, of, a, info)? {
            for k in 0..of.count {
                let a = (of.address::<T>(a, k), of.leading());
                dense::potrf::<T>(queue, self.shape.uplo, of.rows, a, info + 4 * k as u64)?;
            }
        }
        calls::verdict(queue, info, of.count)
    }

    fn finish(&self, raw: First) -> Result<Uplo> {
        Meaning::NotPositiveDefinite.verdict(raw).map(|()| self.shape.uplo)
    }
}

impl<T: SolverElement> Routine for Potri<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "potri";
    const OPERANDS: OperandNames = (&[], &["a", "info"]);
    type Reads = ();
    type Output = Inverse<T>;
    type Raw = First;

    fn check(&self, (): &(), (a, info): &Spans<(T, i32)>) -> Result<()> {
        self.shape.check(a.len())?;
        check_len("info", 1, self.shape.a.count, info.len())
    }

    fn overwrites_each(&self, (_, info): &Spans<(T, i32)>, index: usize) -> bool {
        index == 1 && self.shape.a.count == info.len()
    }

    fn cost(&self) -> Cost {
        let Matrix { rows: n, count, .. } = self.shape.a;
        cost::<T>(2, [n; 3], count, n.saturating_mul(n))
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, info): (&mut [T], &mut [i32])) -> Result<First> {
        let (of, upper) = (&self.shape.a, self.shape.uplo == Uplo::Upper);
        if let Some(job) = System::new::<T>(Row::CholeskyInverse { upper }, of, None) {
            systems(&job, Systems::alone((of, a), &mut *info));
            return Ok(first(info.get(..of.count).unwrap_or_default()));
        }
        let items = collected(batch::parts_mut(of, a).into_iter().zip(info.iter_mut()))?;
        batch::each(items, batch::cube(of.rows), |(a, info), threads| *info = T::potri(upper, a, threads));
        Ok(first(info.get(..of.count).unwrap_or_default()))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of, (a, info)) = (&self.shape.a, queue.writes());
        let info = info.address();
        if let Some(job) = System::new::<T>(Row::CholeskyInverse { upper: self.shape.uplo == Uplo::Upper }, of, None) {
            let at = small_lu::At::new((of, a.address())).info(info);
            return small_lu::launch_told::<T>(queue, &job, of.count, at);
        }
        if of.is_empty() {
            calls::no_infos(queue, info, of.count)?;
        } else {
            for k in 0..of.count {
                let a = (of.address::<T>(a.address(), k), of.leading());
                dense::potri::<T>(queue, self.shape.uplo, of.rows, a, info + 4 * k as u64)?;
            }
        }
        calls::verdict(queue, info, of.count)
    }

    fn finish(&self, raw: First) -> Result<()> {
        Meaning::Singular.verdict(raw)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Potrs<T> {
    shape: Shape,
    /// In place of a factor a triangle, which is solved with alone: whether it is transposed. Only of small matrices.
    triangle: Option<bool>,
    b: Matrix,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Potrs<T> {
    /// A triangle of small matrices, or of one that all right sides share.
    pub(super) fn triangle(shape: Shape, transposed: bool, b: Matrix) -> Self {
        Potrs { shape, triangle: Some(transposed), b, _type: PhantomData }
    }

    /// What is done where the matrices are small.
    fn small(&self) -> Option<System> {
        let upper = self.shape.uplo == Uplo::Upper;
        let row = match self.triangle {
            Some(transposed) => Row::Triangle { upper, transposed },
            None => Row::CholeskySolve { upper },
        };
        System::new::<T>(row, &self.shape.a, Some(&self.b))
    }
}

impl<T: SolverElement> Routine for Potrs<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "potrs";
    const OPERANDS: OperandNames = (&["a"], &["b"]);
    type Reads = (T,);
    type Output = Tensor<T>;
    type Raw = ();

    fn check(&self, (a,): &Spans<(T,)>, (b,): &Spans<(T,)>) -> Result<()> {
        self.shape.a.check_read("a", a.len())?;
        self.shape.a.check_square("a")?;
        self.b.check("b", b.len())?;
        if self.small().is_none() && (self.triangle.is_some() || self.shape.a.is_shared()) {
            return Err(Error::invalid("a", "a triangle, or one for all, but the matrices are not small"));
        }
        self.b.check_beside("b", self.shape.a.rows, &self.shape.a)
    }

    fn cost(&self) -> Cost {
        let (n, nrhs) = (self.shape.a.rows, self.b.cols);
        cost::<T>(3, [n, n, nrhs], self.shape.a.count, n.saturating_mul(n.saturating_add(nrhs)))
    }

    #[cfg(feature = "host")]
    fn host(&self, (a,): (&[T],), (b,): (&mut [T],)) -> Result<()> {
        let (of_a, of_b, upper) = (&self.shape.a, &self.b, self.shape.uplo == Uplo::Upper);
        if of_b.is_empty() {
            return Ok(());
        }
        if let Some(job) = self.small() {
            let (a, pivots) = ((of_a, Memory::Read(a)), Memory::Read(&[][..]));
            systems(&job, Systems { a, pivots, b: (of_b, b), info: &mut [] });
            return Ok(());
        }
        let items = collected(batch::parts(of_a, a).into_iter().zip(batch::parts_mut(of_b, b)))?;
        let work = of_a.rows.saturating_mul(of_a.rows).saturating_mul(of_b.cols);
        batch::each(items, work, |(a, b), threads| T::potrs(upper, a, b, threads));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((a,), (b,)) = (queue.reads(), queue.writes());
        let (of_a, of_b) = (&self.shape.a, &self.b);
        if of_b.is_empty() {
            return Ok(());
        }
        if let Some(job) = self.small() {
            let at = small_lu::At::new((of_a, a.address())).beside((of_b, b.address()));
            return small_lu::launch::<T>(queue, &job, of_a.count, at);
        }
        let info = queue.scratch(4)?;
        for k in 0..of_a.count {
            let a = (of_a.address::<T>(a.address(), k), of_a.leading());
            let b = (of_b.address::<T>(b.address(), k), of_b.leading());
            dense::potrs::<T>(queue, self.shape.uplo, (of_a.rows, of_b.cols), a, b, info)?;
        }
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Solver {
    /// The Cholesky factor of the matrix of which A holds the triangle that `uplo` names (`potrf`; `cusolverDnXpotrf`), or of each
    /// of a batch, in the memory of A if it is given by value. The imaginary parts of the diagonal are not read. Of real matrices with at
    /// most 32 rows, a batch takes one kernel of our own (see the [module](crate::solver)).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A is not square; a stale or foreign tensor. At the wait
    /// [`Error::NotPositiveDefinite`] with the order of the first leading minor that is not. Both tensors come back: the infos, and A,
    /// whose triangle is then what it was in a matrix of the kernel's sizes, NaN if it held a NaN or an infinity, and undefined in
    /// larger and complex ones.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [4.0f64, 7.0, 2.0, 5.0])?; // only the lower triangle counts
    /// let l = device.solver().cholesky(Uplo::Lower, &a)?.await_result()?;
    /// assert_eq!(device.to_vec(l.factor())?, [2.0, 7.0, 1.0, 2.0]);
    /// let x = l.solve(&device.solver(), device.tensor([2], [8.0, 12.0])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&x)?, [1.0, 2.0]);
    /// assert!((l.det(&device.solver())?.await_result()?[0].value().re - 16.0).abs() < 1e-12);
    /// # Ok(()) }
    /// ```
    pub fn cholesky<'a, T: SolverElement>(
        &self,
        uplo: Uplo,
        a: impl GivenTensor<'a, T>,
    ) -> Submitted<Cholesky<T>, Verdict> {
        self.potrf(uplo, a.into())
    }

    fn potrf<T: SolverElement>(&self, uplo: Uplo, a: Given<'_, T>) -> Submitted<Cholesky<T>, Verdict> {
        match self.taken(a, |batch, _| self.new_tensor(batch, &[])) {
            Ok((of_a, a, info)) => {
                self.submit(Potrf { shape: Shape { uplo, a: of_a }, _type: PhantomData }, (), (a, info))
            }
            Err((error, a)) => Err(self.refuse(Potrf::<T>::NAME, error, |d| Ok((a.back(d)?, d.uninit([0])?)))),
        }
    }
}
