//! One call that factors and solves: gesv, posv, gels.

use super::prelude::*;
use super::{Solved, Symmetry};
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::{OrUnwind, collected, filled};
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::{calls, dense, kernels, small_qr};

/// What is known of a matrix, which decides how it is factored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Structure {
    /// Nothing: LU with partial pivoting if it is square, else least squares by QR.
    General,
    /// Symmetric or Hermitian and positive definite, given by this triangle: Cholesky.
    PositiveDefinite(Uplo),
    /// Symmetric, given by this triangle: factors by Bunch and Kaufman's pivoting.
    Symmetric(Uplo),
    /// Hermitian, given by this triangle: the same pivoting. For real types the same as `Symmetric`.
    Hermitian(Uplo),
}

impl Structure {
    /// The triangle and the symmetry, if Bunch and Kaufman's pivoting is used.
    fn indefinite(self) -> Option<(Uplo, Symmetry)> {
        match self {
            Structure::Symmetric(uplo) => Some((uplo, Symmetry::Symmetric)),
            Structure::Hermitian(uplo) => Some((uplo, Symmetry::Hermitian)),
            Structure::General | Structure::PositiveDefinite(_) => None,
        }
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Gesv<T> {
    structure: Structure,
    a: Matrix,
    b: Matrix,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Gesv<T> {
    /// What is done where the matrices are small, but not square.
    fn small(&self) -> Option<Job> {
        let Matrix { rows, cols, .. } = self.a;
        let small = self.structure == Structure::General && rows != cols && !self.a.is_empty();
        (small && fits_qr::<T>(&[rows, cols, self.b.cols])).then(|| Job::new(Task::Least, &self.a).beside(&self.b))
    }

    /// What is done where they are small and square.
    fn system(&self) -> Option<System> {
        let row = match self.structure {
            Structure::General if self.a.rows == self.a.cols => Row::Solve,
            Structure::PositiveDefinite(uplo) => Row::PositiveSolve { upper: uplo == Uplo::Upper },
            _ => return None,
        };
        System::new::<T>(row, &self.a, Some(&self.b))
    }
}

impl<T: SolverElement> Routine for Gesv<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "gesv";
    const OPERANDS: OperandNames = (&[], &["a", "b", "info"]);
    type Reads = ();
    type Output = Solved<T>;
    type Raw = First;

    fn check(&self, (): &(), (a, b, info): &Spans<(T, T, i32)>) -> Result<()> {
        self.a.check("a", a.len())?;
        if self.structure != Structure::General {
            self.a.check_square("a")?;
        }
        self.b.check("b", b.len())?;
        self.b.check_beside("b", self.a.rows.max(self.a.cols), &self.a)?;
        check_len("info", 1, self.a.count, info.len())
    }

    fn overwrites_each(&self, (.., info): &Spans<(T, T, i32)>, index: usize) -> bool {
        index == 2 && self.a.count == info.len()
    }

    fn cost(&self) -> Cost {
        let (Matrix { rows, cols, count, .. }, nrhs) = (self.a, self.b.cols);
        cost::<T>(1, [rows, cols, cols.saturating_add(nrhs.saturating_mul(3))], count, rows.saturating_mul(cols))
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, b, info): (&mut [T], &mut [T], &mut [i32])) -> Result<First> {
        let (of_a, of_b, structure) = (&self.a, &self.b, self.structure);
        if let Some(job) = self.small() {
            let (a, b) = ((of_a, Memory::Write(a)), (of_b, b));
            small(&job, Operands { a, tau: Memory::Read(&[]), b, info: &mut *info });
            return Ok(first(info.get(..of_a.count).unwrap_or_default()));
        }
        if let Some(job) = self.system() {
            let (a, b) = ((of_a, Memory::Write(a)), (of_b, b));
            systems(&job, Systems { a, pivots: Memory::Read(&[]), b, info: &mut *info });
            return Ok(first(info.get(..of_a.count).unwrap_or_default()));
        }
        let items =
            collected(batch::parts_mut(of_a, a).into_iter().zip(batch::parts_mut(of_b, b)).zip(info.iter_mut()))?;
        batch::each(items, batch::cube(of_a.size()), |((a, b), info), threads| {
            *info = match structure {
                Structure::General if of_a.rows == of_a.cols => {
                    T::gesv(a, &mut filled(of_a.rows, 0).or_unwind(), b, threads)
                }
                Structure::General => T::gels(a, b, threads),
                Structure::PositiveDefinite(uplo) => T::posv(uplo == Uplo::Upper, a, b, threads),
                // `Sysv` solves these.
                Structure::Symmetric(_) | Structure::Hermitian(_) => 0,
            };
        });
        Ok(first(info.get(..of_a.count).unwrap_or_default()))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of_a, of_b, (a, b, info)) = (&self.a, &self.b, queue.writes());
        let info = info.address();
        if of_a.is_empty() {
            calls::no_infos(queue, info, of_a.count)?;
            return calls::verdict(queue, info, of_a.count);
        }
        if let Some(job) = self.small() {
            let (a, b) = ((a.address(), of_a.distance()), (b.address(), of_b.distance()));
            small_qr::launch::<T>(queue, &job, of_a.count, small_qr::Operands { a, tau: 0, b, info })?;
            return calls::verdict(queue, info, of_a.count);
        }
        if let Some(job) = self.system() {
            let at = small_lu::At::new((of_a, a.address())).beside((of_b, b.address())).info(info);
            return small_lu::launch_told::<T>(queue, &job, of_a.count, at);
        }
        for k in 0..of_a.count {
            let a = (of_a.address::<T>(a.address(), k), of_a.leading());
            let b = (of_b.address::<T>(b.address(), k), of_b.leading());
            self.enqueue_one(queue, a, b, info + 4 * k as u64)?;
        }
        calls::verdict(queue, info, of_a.count)
    }

    fn finish(&self, raw: First) -> Result<()> {
        match self.structure {
            Structure::PositiveDefinite(_) => Meaning::NotPositiveDefinite.verdict(raw),
            _ => Meaning::Singular.verdict(raw),
        }
    }
}

#[cfg(feature = "cuda")]
impl<T: SolverElement> Gesv<T> {
    fn enqueue_one(&self, queue: &mut Enqueue<'_, Call<Self>>, a: At, b: At, info: u64) -> Result<()> {
        let (Matrix { rows: m, cols: n, .. }, nrhs) = (self.a, self.b.cols);
        let (unused, element) = (queue.scratch(4)?, size_of::<T>());
        match self.structure {
            Structure::PositiveDefinite(uplo) => {
                dense::potrf::<T>(queue, uplo, n, a, info)?;
                if nrhs == 0 { Ok(()) } else { dense::potrs::<T>(queue, uplo, (n, nrhs), a, b, unused) }
            }
            Structure::General if m == n => {
                let pivots = queue.scratch(n.saturating_mul(size_of::<i64>()))?;
                dense::getrf::<T>(queue, (n, n), a, pivots, info)?;
                if nrhs == 0 {
                    Ok(())
                } else {
                    dense::getrs::<T>(queue, Transpose::No, (n, nrhs), a, pivots, b, unused)
                }
            }
            Structure::General if m > n => {
                let tau = queue.scratch(n.saturating_mul(element))?;
                dense::geqrf::<T>(queue, (m, n), a, tau, unused)?;
                if nrhs > 0 {
                    dense::ormqr::<T>(queue, (true, Transpose::Conjugate), [m, nrhs, n], (a, tau), b, unused)?;
                }
                dense::solve_upper::<T>(queue, Transpose::No, (n, nrhs, m), a, b, info)
            }
            _ => {
                // A^H = Q * R, so X = Q * R^-H * B.
                let h = queue.scratch(m.saturating_mul(n).saturating_mul(element))?;
                let tau = queue.scratch(m.saturating_mul(element))?;
                // SAFETY: A lies inside its buffer (checked), the copy in scratch of this dispatch.
                unsafe { kernels::copy_matrix::<T>(queue, Copy::Adjoint, a, (h, n), (m, n)) }?;
                dense::geqrf::<T>(queue, (n, m), (h, n), tau, unused)?;
                dense::solve_upper::<T>(queue, Transpose::Conjugate, (m, nrhs, n), (h, n), b, info)?;
                for j in 0..nrhs {
                    let below = b.0 + ((j * b.1 + m) * element) as u64;
                    // SAFETY: what is below the first `m` of the `n` rows of a column of B, inside its buffer (checked).
                    unsafe { queue.fill(below, (n - m) * element, &[0]) }?;
                }
                if nrhs == 0 {
                    return Ok(());
                }
                dense::ormqr::<T>(queue, (true, Transpose::No), [n, nrhs, m], ((h, n), tau), b, unused)
            }
        }
    }
}

/// The same for symmetric or Hermitian matrices that need not be definite. cuSOLVER's factorization waits for the GPU.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Sysv<T> {
    structure: Structure,
    a: Matrix,
    b: Matrix,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Sysv<T> {
    fn triangle(&self) -> (Uplo, Symmetry) {
        self.structure.indefinite().unwrap_or((Uplo::Lower, Symmetry::Symmetric))
    }
}

impl<T: SolverElement> Routine for Sysv<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "sysv";
    const OPERANDS: OperandNames = (&[], &["a", "b", "info"]);
    const BLOCKING: bool = true;
    type Reads = ();
    type Output = Solved<T>;
    type Raw = First;

    fn check(&self, (): &(), (a, b, info): &Spans<(T, T, i32)>) -> Result<()> {
        self.a.check("a", a.len())?;
        self.a.check_square("a")?;
        self.b.check("b", b.len())?;
        self.b.check_beside("b", self.a.rows, &self.a)?;
        check_len("info", 1, self.a.count, info.len())
    }

    fn overwrites_each(&self, (.., info): &Spans<(T, T, i32)>, index: usize) -> bool {
        index == 2 && self.a.count == info.len()
    }

    fn cost(&self) -> Cost {
        let (Matrix { rows: n, count, .. }, nrhs) = (self.a, self.b.cols);
        cost::<T>(1, [n, n, n.saturating_add(nrhs.saturating_mul(3))], count, n.saturating_mul(n))
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, b, info): (&mut [T], &mut [T], &mut [i32])) -> Result<First> {
        let (of_a, of_b, (uplo, symmetry)) = (&self.a, &self.b, self.triangle());
        let (upper, hermitian) = (uplo == Uplo::Upper, symmetry == Symmetry::Hermitian);
        let items =
            collected(batch::parts_mut(of_a, a).into_iter().zip(batch::parts_mut(of_b, b)).zip(info.iter_mut()))?;
        batch::each(items, batch::cube(of_a.rows), |(((a, n, _, lda), b), info), _| {
            let mut pivots = filled(n, 0).or_unwind();
            *info = T::sytrf(upper, hermitian, (&mut *a, n, n, lda), &mut pivots);
            if *info == 0 {
                T::sytrs(upper, hermitian, (a, n, n, lda), &pivots, b);
            }
        });
        Ok(first(info.get(..of_a.count).unwrap_or_default()))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of_a, of_b, (a, b, info)) = (&self.a, &self.b, queue.writes());
        let ((uplo, symmetry), n, info) = (self.triangle(), of_a.rows, info.address());
        symmetry.refuse_hermitian::<T>()?;
        if of_a.is_empty() {
            calls::no_infos(queue, info, of_a.count)?;
            return calls::verdict(queue, info, of_a.count);
        }
        let (short, long) = (queue.scratch(n.saturating_mul(4))?, queue.scratch(n.saturating_mul(8))?);
        let unused = queue.scratch(4)?;
        for k in 0..of_a.count {
            let a = (of_a.address::<T>(a.address(), k), of_a.leading());
            let b = (of_b.address::<T>(b.address(), k), of_b.leading());
            dense::sytrf::<T>(queue, uplo, n, a, short, info + 4 * k as u64)?;
            kernels::widen(queue, short, long, n)?;
            if of_b.cols > 0 {
                dense::sytrs::<T>(queue, uplo, (n, of_b.cols), a, long, b, unused)?;
            }
        }
        calls::verdict(queue, info, of_a.count)
    }

    fn finish(&self, raw: First) -> Result<()> {
        Meaning::Singular.verdict(raw)
    }
}

impl Solver {
    /// Solves `A * X = B` by the factorization that fits the structure of A: `gesv`, `posv`, `sysv` or `gels`. One dispatch,
    /// for one matrix or each of a batch; of what is given by value, A is replaced by its factors and B by X. A B of one axis is
    /// a vector.
    ///
    /// An A that is not square must have full rank; use [`lstsq`](Self::lstsq) otherwise. With more rows than columns X makes
    /// `||A * X - B||` least, and is in the first rows of B; with fewer it is the solution of least norm, and is larger than B, which is always copied.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], with both shapes, when B has not as many rows as A, or another batch; when A is not square,
    /// but has a structure; a stale or foreign tensor. At the wait [`Error::Singular`] or [`Error::NotPositiveDefinite`];
    /// then what the tensors hold of that matrix is not specified (of small matrices the [module](crate::solver) says it). An A that is not square is singular if a column (a row, if there are fewer rows than columns) is
    /// by rounding a combination of those before it: what R has on its diagonal is at most `max(rows, cols)` machine
    /// epsilons times the norm of the column. A, B and an info for each matrix come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::Structure};
    /// let device = Device::host()?;
    /// let (a, b) = (device.tensor([2, 2], [3.0f64, 1.0, 1.0, 2.0])?, device.tensor([2, 1], [9.0, 8.0])?);
    /// let x = device.solver().solve(Structure::General, &a, &b)?.await_result()?.x;
    /// assert!(device.allclose(&x, &device.tensor([2, 1], [2.0, 3.0])?, 1e-14, 0.0)?);
    /// # Ok(()) }
    /// ```
    pub fn solve<'a, 'b, T: SolverElement>(
        &self,
        structure: Structure,
        a: impl GivenTensor<'a, T>,
        b: impl GivenTensor<'b, T>,
    ) -> Submitted<Solved<T>, Verdict> {
        self.gesv(structure, a.into(), b.into())
    }

    fn gesv<T: SolverElement>(
        &self,
        structure: Structure,
        a: Given<'_, T>,
        b: Given<'_, T>,
    ) -> Submitted<Solved<T>, Verdict> {
        match self.taken_with(a, b, |batch, _| self.new_tensor(batch, &[])) {
            Ok((a, b, (of_a, of_b, info))) if structure.indefinite().is_some() => {
                self.submit(Sysv { structure, a: of_a, b: of_b, _type: PhantomData }, (), (a, b, info))
            }
            Ok((a, b, (of_a, of_b, info))) => {
                self.submit(Gesv { structure, a: of_a, b: of_b, _type: PhantomData }, (), (a, b, info))
            }
            Err((error, a, b)) => {
                Err(self.refuse(Gesv::<T>::NAME, error, |d| Ok((a.back(d)?, b.back(d)?, d.uninit([0])?))))
            }
        }
    }
}
