//! Inverses of triangles: trtri.

use super::Inverse;
use super::cholesky::Shape;
use super::prelude::*;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::dense;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::kernels;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Trtri<T> {
    shape: Shape,
    diag: Diag,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Trtri<T> {
    /// What is done where the matrices are small.
    fn small(&self) -> Option<System> {
        let (upper, unit) = (self.shape.uplo == Uplo::Upper, self.diag == Diag::Unit);
        System::new::<T>(Row::TriangleInverse { upper, unit }, &self.shape.a, None)
    }
}

impl<T: SolverElement> Routine for Trtri<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "trtri";
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
        let all = cost::<T>(1, [n; 3], count, n.saturating_mul(n));
        Cost { flops: all.flops / 2, ..all }
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, info): (&mut [T], &mut [i32])) -> Result<First> {
        let (of, upper, unit) = (&self.shape.a, self.shape.uplo == Uplo::Upper, self.diag == Diag::Unit);
        if let Some(job) = self.small() {
            systems(&job, Systems::alone((of, a), &mut *info));
            return Ok(first(info.get(..of.count).unwrap_or_default()));
        }
        let items = collected(batch::parts_mut(of, a).into_iter().zip(info.iter_mut()))?;
        batch::each(items, batch::cube(of.rows) / 6, |(a, info), threads| *info = T::trtri(upper, unit, a, threads));
        Ok(first(info.get(..of.count).unwrap_or_default()))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of, (a, info)) = (&self.shape.a, queue.writes());
        let info = info.address();
        if let Some(job) = self.small() {
            let at = small_lu::At::new((of, a.address())).info(info);
            return small_lu::launch_told::<T>(queue, &job, of.count, at);
        }
        if of.is_empty() {
            calls::no_infos(queue, info, of.count)?;
        } else {
            let (n, ld, uplo) = (of.rows, of.leading(), self.shape.uplo);
            let element = size_of::<T>();
            // The library writes more than the triangle (seen on an H100), so it works on a copy. It is no larger than A.
            let copy = queue.scratch(n * n * element)?;
            // A strict triangle is the whole triangle of a matrix that begins one row lower, or one column further right.
            let (back, skip_copy, skip) = match (self.diag, uplo) {
                (Diag::NonUnit, _) => (n, 0, 0),
                (Diag::Unit, Uplo::Lower) => (n - 1, 1, 1),
                (Diag::Unit, Uplo::Upper) => (n - 1, n, ld),
            };
            for k in 0..of.count {
                let a = of.address::<T>(a.address(), k);
                // SAFETY: the triangle of A lies inside the operand (checked), the copy is scratch of this dispatch.
                unsafe { kernels::copy_matrix::<T>(queue, Copy::Triangle(uplo), (a, ld), (copy, n), (n, n)) }?;
                dense::trtri::<T>(queue, (uplo, self.diag), n, (copy, n), info + 4 * k as u64)?;
                let (from, to) = (copy + (skip_copy * element) as u64, a + (skip * element) as u64);
                // SAFETY: as above; what is skipped leaves `back` rows and columns.
                unsafe { kernels::copy_matrix::<T>(queue, Copy::Triangle(uplo), (from, n), (to, ld), (back, back)) }?;
            }
        }
        calls::verdict(queue, info, of.count)
    }

    fn finish(&self, raw: First) -> Result<()> {
        Meaning::Singular.verdict(raw)
    }
}

impl Solver {
    /// The inverse of a triangular matrix (`trtri`; `cusolverDnXtrtri`), or of each of a batch, in the memory of A if it is given
    /// by value. The other triangle, and a unit diagonal, are neither read nor written.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A is not square; a stale or foreign tensor; at the wait [`Error::Singular`] with the
    /// first zero on the diagonal, and then A is unchanged. The tensor comes back, and an info for each matrix.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Diag, Uplo};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [2.0f64, 7.0, 1.0, 4.0])?;
    /// let inverse = device.solver().trtri(Uplo::Lower, Diag::NonUnit, &a)?.await_result()?;
    /// assert_eq!(device.to_vec(&inverse.matrix)?, [0.5, 7.0, -0.125, 0.25]);
    /// # Ok(()) }
    /// ```
    pub fn trtri<'a, T: SolverElement>(
        &self,
        uplo: Uplo,
        diag: Diag,
        a: impl GivenTensor<'a, T>,
    ) -> Submitted<Inverse<T>, Verdict> {
        self.inverted(uplo, diag, a.into())
    }

    fn inverted<T: SolverElement>(&self, uplo: Uplo, diag: Diag, a: Given<'_, T>) -> Submitted<Inverse<T>, Verdict> {
        match self.taken(a, |batch, _| self.new_tensor(batch, &[])) {
            Ok((of_a, a, info)) => {
                self.submit(Trtri { shape: Shape { uplo, a: of_a }, diag, _type: PhantomData }, (), (a, info))
            }
            Err((error, a)) => Err(self.refuse(Trtri::<T>::NAME, error, |d| Ok((a.back(d)?, d.uninit([0])?)))),
        }
    }
}
