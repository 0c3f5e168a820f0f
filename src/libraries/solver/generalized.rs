//! `A * x = lambda * B * x` with a symmetric or Hermitian A and a positive definite B: sygvd.

use super::cholesky::Shape;
use super::eigh::EighSpec;
use super::prelude::*;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::spectra;

/// Eigenvalues, ascending, and vectors of a pair of matrices, or of each of a batch of pairs: `X^H * B * X` is the identity.
#[derive(Debug)]
#[non_exhaustive]
pub struct Generalized<T: SolverElement> {
    /// The eigenvalues, `n` for each pair.
    pub values: Tensor<T::Real>,
    /// The vectors as columns, if they were asked for, in the memory of A.
    pub vectors: Tensor<T>,
    /// The Cholesky factor of B, in the triangle that was given, in the memory of B.
    pub factor: Tensor<T>,
    /// An info for each pair: all zero.
    pub info: Tensor<i32>,
}

impl<T: SolverElement> Output for Generalized<T> {
    type Writes = (Strided<T>, Strided<T>, Strided<T::Real>, Strided<i32>);
    type Host = ();

    fn join((vectors, factor, values, info): Bufs<Self>, (): ()) -> Result<Self> {
        Ok(Generalized { values, vectors, factor, info })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Sygvd<T> {
    pub(super) shape: Shape,
    pub(super) b: Matrix,
    pub(super) vectors: bool,
    _type: PhantomData<T>,
}

type Written<T> = (T, T, <T as crate::libraries::blas::BlasElement>::Real, i32);

impl<T: SolverElement> Routine for Sygvd<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "sygvd";
    const OPERANDS: OperandNames = (&[], &["a", "b", "w", "info"]);
    const BLOCKING: bool = true;
    type Reads = ();
    type Output = Generalized<T>;
    type Raw = First;

    fn check(&self, (): &(), (a, b, w, info): &Spans<Written<T>>) -> Result<()> {
        let Matrix { rows: n, count, .. } = self.shape.a;
        self.shape.check(a.len())?;
        self.b.check("b", b.len())?;
        self.b.check_square("b")?;
        self.b.check_beside("b", n, &self.shape.a)?;
        check_len("values", n, count, w.len())?;
        check_len("info", 1, count, info.len())
    }

    fn overwrites_each(&self, (.., w, info): &Spans<Written<T>>, index: usize) -> bool {
        let Matrix { rows: n, count, .. } = self.shape.a;
        match index {
            2 => n.checked_mul(count) == Some(w.len()),
            3 => count == info.len(),
            _ => false,
        }
    }

    fn cost(&self) -> Cost {
        let Matrix { rows: n, count, .. } = self.shape.a;
        cost::<T>(if self.vectors { 20 } else { 8 }, [n; 3], count, n.saturating_mul(n).saturating_mul(4))
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (): (),
        (a, b, w, info): <Written<T> as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<First> {
        let (of, vectors, upper) = (&self.shape.a, self.vectors, self.shape.uplo == Uplo::Upper);
        let values = batch::vectors_mut(w, of.rows, of.count);
        let pairs = batch::parts_mut(of, a).into_iter().zip(batch::parts_mut(&self.b, b));
        let items = collected(pairs.zip(values).zip(info.iter_mut()))?;
        batch::each(items, batch::cube(of.rows).saturating_mul(3), |(((a, b), w), info), threads| {
            *info = T::sygvd(upper, a, b, w, vectors, threads);
        });
        Ok(first(info.get(..of.count).unwrap_or_default()))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of, (a, b, w, info)) = (&self.shape.a, queue.writes());
        let info = info.address();
        if of.is_empty() {
            calls::no_infos(queue, info, of.count)?;
            return calls::verdict(queue, info, of.count);
        }
        for k in 0..of.count {
            let a = (of.address::<T>(a.address(), k), of.leading());
            let b = (self.b.address::<T>(b.address(), k), self.b.leading());
            let w = w.address() + (k * of.rows * size_of::<T::Real>()) as u64;
            let how = (self.vectors, self.shape.uplo);
            spectra::sygvd::<T>(queue, how, of.rows, [a, b], w, info + 4 * k as u64)?;
        }
        calls::verdict(queue, info, of.count)
    }

    fn finish(&self, raw: First) -> Result<()> {
        let n = self.shape.a.rows as u64;
        match Meaning::NotConverged.verdict(raw) {
            // Above n it is n plus the order of a leading minor of B.
            Err(Error::NotConverged { count, matrix, site }) if count > n => {
                Err(Error::NotPositiveDefinite { order: count - n, matrix, site })
            }
            verdict => verdict,
        }
    }
}

impl Solver {
    /// The eigenvalues of `A * x = lambda * B * x`, the vectors, and the Cholesky factor of B (`sygvd`, `hegvd`;
    /// `cusolverDn<t>sygvd`). Only the triangle of both matrices that the specification names is read; the other triangle of
    /// an A that is given by value is written too.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a part of the spectrum or a method other than `Auto`, which pairs do not have; when A is
    /// not square, or, with both shapes, when B has another size or batch; a stale or foreign tensor. At the wait [`Error::NotPositiveDefinite`] for B, or
    /// [`Error::NotConverged`]. All tensors come back.
    pub fn eigh_generalized<'a, 'b, T: SolverElement>(
        &self,
        spec: EighSpec,
        a: impl GivenTensor<'a, T>,
        b: impl GivenTensor<'b, T>,
    ) -> Submitted<Generalized<T>, Verdict> {
        self.sygvd(spec, a.into(), b.into())
    }

    fn sygvd<T: SolverElement>(
        &self,
        spec: EighSpec,
        a: Given<'_, T>,
        b: Given<'_, T>,
    ) -> Submitted<Generalized<T>, Verdict> {
        let made = self.taken_with(a, b, |batch, of| {
            spec.check_whole()?;
            of.check_square("a")?;
            Ok((self.new_tensor(batch, &[of.rows])?, self.new_tensor(batch, &[])?))
        });
        match made {
            Ok((a, b, (of_a, of_b, (values, info)))) => {
                let shape = Shape { uplo: spec.uplo, a: of_a };
                let op = Sygvd { shape, b: of_b, vectors: spec.vectors, _type: PhantomData };
                self.submit(op, (), (a, b, values, info))
            }
            Err((error, a, b)) => {
                Err(self
                    .refuse(Sygvd::<T>::NAME, error, |d| Ok((a.back(d)?, b.back(d)?, d.uninit([0])?, d.uninit([0])?))))
            }
        }
    }
}
