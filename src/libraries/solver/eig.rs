//! Spectra of matrices without symmetry: geev.

use super::prelude::*;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::range;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::spectra;

/// Which vectors of a general matrix to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Eigenvectors {
    /// None: only the values.
    None,
    /// The right ones: `A * x = lambda * x`.
    #[default]
    Right,
}

/// Eigenvalues and right vectors of a matrix, or of each of a batch.
///
/// The vectors have norm one, also if the matrix is defective: then some are equal up to rounding. For a real matrix they are real: of two conjugate eigenvalues the first has the positive
/// imaginary part, and the two columns are the real and the imaginary part of its vector, as in LAPACK.
#[derive(Debug)]
#[non_exhaustive]
pub struct Eig<T: SolverElement> {
    /// The eigenvalues, `n` for each matrix, in no particular order.
    pub values: Tensor<T::Complex>,
    /// The right vectors as columns, if they were asked for.
    pub vectors: Option<Tensor<T>>,
    /// The tensor that held A. Its contents are undefined: an operation that reads it is refused.
    pub a: Tensor<T>,
    /// An info for each matrix: all zero.
    pub info: Tensor<i32>,
}

impl<T: SolverElement> Output for Eig<T> {
    type Writes = (Strided<T>, Strided<T::Complex>, Option<Strided<T>>, Strided<i32>);
    type Host = ();

    fn join((a, values, vectors, info): Bufs<Self>, (): ()) -> Result<Self> {
        Ok(Eig { values, vectors, a, info })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Geev<T> {
    pub(super) a: Matrix,
    _type: PhantomData<T>,
}

type Written<T> = (T, <T as SolverElement>::Complex, Option<T>, i32);

impl<T: SolverElement> Geev<T> {
    /// Where the vectors lie.
    pub(super) fn vectors(&self) -> Matrix {
        Matrix::new(self.a.rows, self.a.rows).batch(self.a.count)
    }
}

impl<T: SolverElement> Routine for Geev<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "geev";
    const OPERANDS: OperandNames = (&[], &["a", "w", "vectors", "info"]);
    const LEAVES_UNDEFINED: &'static [usize] = &[0];
    const BLOCKING: bool = true;
    type Reads = ();
    type Output = Eig<T>;
    type Raw = First;

    fn check(&self, (): &(), (a, w, vectors, info): &Spans<Written<T>>) -> Result<()> {
        self.a.check("a", a.len())?;
        self.a.check_square("a")?;
        check_len("values", self.a.rows, self.a.count, w.len())?;
        if let Some(vectors) = vectors {
            self.vectors().check("vectors", vectors.len())?;
        }
        check_len("info", 1, self.a.count, info.len())
    }

    fn overwrites_each(&self, (_, w, vectors, info): &Spans<Written<T>>, index: usize) -> bool {
        let Matrix { rows: n, count, .. } = self.a;
        match (index, vectors) {
            (1, _) => n.checked_mul(count) == Some(w.len()),
            (2, Some(vectors)) => self.vectors().fills(vectors.len()),
            (2 | 3, _) => count == info.len(),
            _ => false,
        }
    }

    fn cost(&self) -> Cost {
        let Matrix { rows: n, count, .. } = self.a;
        cost::<T>(30, [n; 3], count, n.saturating_mul(n).saturating_mul(2))
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (): (),
        (a, w, vectors, info): <Written<T> as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<First> {
        let of = &self.a;
        let values = batch::vectors_mut(w, of.rows, of.count);
        let vectors: Vec<_> = match vectors {
            Some(vectors) => collected(batch::parts_mut(&self.vectors(), vectors).into_iter().map(Some))?,
            None => collected((0..of.count).map(|_| None))?,
        };
        let items: Vec<_> = collected(batch::parts(of, a).into_iter().zip(values).zip(vectors))?;
        let items = collected(items.into_iter().zip(info.iter_mut()))?;
        batch::each(items, batch::cube(of.rows).saturating_mul(10), |(((a, w), vectors), info), threads| {
            *info = T::eig(a, T::parts(w), vectors, threads);
        });
        Ok(first(info.get(..of.count).unwrap_or_default()))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of, (a, w, vectors, info)) = (&self.a, queue.writes());
        let info = info.address();
        if of.is_empty() {
            calls::no_infos(queue, info, of.count)?;
            return calls::verdict(queue, info, of.count);
        }
        for k in 0..of.count {
            let a = (of.address::<T>(a.address(), k), of.leading());
            let w = w.address() + (k * of.rows * size_of::<T::Complex>()) as u64;
            let x = vectors.as_ref().map_or(0, |x| self.vectors().address::<T>(x.address(), k));
            let largest = range::bring_into_range::<T>(queue, Group::one(a, (of.rows, of.rows)))?;
            spectra::geev::<T>(queue, of.rows, a, w, x, info + 4 * k as u64)?;
            range::bring_back::<T::Complex>(queue, largest, w, of.rows, 1)?;
        }
        calls::verdict(queue, info, of.count)
    }

    fn finish(&self, raw: First) -> Result<()> {
        Meaning::NotConverged.verdict(raw)
    }
}

impl Solver {
    /// The eigenvalues of square matrices and, if asked for, the right vectors (`geev`; `cusolverDnXgeev`). On the host f32 is
    /// computed in f64, and the residual of each vector is checked. On a GPU it is not: for the smallest eigenvalue of a graded matrix
    /// (1e-33 of the norm) cuSOLVER of CUDA 13.0 gave a vector that is no eigenvector, on an H200.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A is not square; a stale or foreign tensor. At
    /// the wait [`Error::NotConverged`], also if A holds a NaN or an infinity; for these cuSOLVER reports an internal
    /// error, so on a GPU it is [`Error::LibraryError`]. All tensors come back; what A holds is not specified.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::Eigenvectors};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [0.0f64, -1.0, 1.0, 0.0])?; // a quarter of a turn
    /// let eig = device.solver().eig(Eigenvectors::Right, a)?.await_result()?;
    /// let values = device.to_vec(&eig.values)?;
    /// assert!((values[0] * values[1] - 1.0).norm() < 1e-15 && (values[0] + values[1]).norm() < 1e-15);
    /// # Ok(()) }
    /// ```
    pub fn eig<'a, T: SolverElement>(
        &self,
        vectors: Eigenvectors,
        a: impl GivenTensor<'a, T>,
    ) -> Submitted<Eig<T>, Verdict> {
        self.geev(vectors, a.into())
    }

    fn geev<T: SolverElement>(&self, vectors: Eigenvectors, a: Given<'_, T>) -> Submitted<Eig<T>, Verdict> {
        let made = self.taken(a, |batch, of| {
            of.check_square("a")?;
            let right = || self.new_matrices(batch, of.rows, of.rows);
            let vectors = (vectors == Eigenvectors::Right).then(right).transpose()?;
            Ok((self.new_tensor(batch, &[of.rows])?, vectors, self.new_tensor(batch, &[])?))
        });
        match made {
            Ok((of_a, a, (values, vectors, info))) => {
                self.submit(Geev { a: of_a, _type: PhantomData }, (), (a, values, vectors, info))
            }
            Err((error, a)) => {
                Err(self.refuse(Geev::<T>::NAME, error, |d| Ok((a.back(d)?, d.uninit([0])?, None, d.uninit([0])?))))
            }
        }
    }
}
