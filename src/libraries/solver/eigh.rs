//! Spectra of symmetric and Hermitian matrices: syevd, syevdx, sygvd.

use super::method::EighMethod;
use super::method::Reached;
use super::prelude::*;
use super::verdict;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::{collected, filled};
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::range;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::small_spectra;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::spectra;

/// Which part of a spectrum to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Range {
    /// All of it.
    #[default]
    All,
    /// The eigenvalues with these indices: from the first to before the second, in ascending order, counted from 0.
    Indices(usize, usize),
    /// Those above the first number and not above the second.
    Values(f64, f64),
}

/// Eigenvalues, ascending, and vectors of a symmetric or Hermitian matrix, or of each of a batch.
#[derive(Debug)]
pub struct Eigh<T: SolverElement> {
    /// The eigenvalues in the requested range.
    pub values: Tensor<T::Real>,
    /// The vectors as columns, if they were asked for, in the memory of A.
    pub vectors: Tensor<T>,
    /// An info for each matrix: all zero.
    pub info: Tensor<i32>,
    reached: Reached,
}

impl<T: SolverElement> Eigh<T> {
    /// How many sweeps the Jacobi method made, the most of a batch. `None` for the other method, and for a batch that
    /// was one call of the library, which does not report it.
    pub fn sweeps(&self) -> Option<usize> {
        self.reached.sweeps.map(|sweeps| sweeps as usize)
    }
}

impl<T: SolverElement> Output for Eigh<T> {
    type Writes = (Strided<T>, Strided<T::Real>, Strided<i32>);
    /// How many eigenvalues lie in the range.
    type Host = (usize, Reached);

    fn join((vectors, values, info): Bufs<Self>, (count, reached): Self::Host) -> Result<Self> {
        Ok(Eigh { values: head(values, -1, count)?, vectors: head(vectors, -1, count)?, info, reached })
    }
}

/// An eigenvalue problem: which triangle is used, whether vectors are computed, and which part of the spectrum.
///
/// ```
/// use windlass::{Uplo, solver::{EighSpec, Range}};
/// let largest_two = EighSpec::new(Uplo::Lower).range(Range::Indices(8, 10)); // of ten
/// # let _ = largest_two;
/// ```
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct EighSpec {
    pub(super) uplo: Uplo,
    pub(super) vectors: bool,
    pub(super) range: Range,
    pub(super) method: EighMethod,
}

impl EighSpec {
    /// All eigenvalues and vectors of matrices that are given by this triangle.
    pub fn new(uplo: Uplo) -> Self {
        EighSpec { uplo, vectors: true, range: Range::All, method: EighMethod::Auto }
    }

    /// Computes no vectors.
    pub fn values_only(mut self) -> Self {
        self.vectors = false;
        self
    }

    /// A part of the spectrum, of a single matrix.
    pub fn range(mut self, range: Range) -> Self {
        self.range = range;
        self
    }

    /// The method of computation.
    pub fn method(mut self, method: EighMethod) -> Self {
        self.method = method;
        self
    }

    /// For a problem of which all values are computed, by the one method that there is.
    pub(super) fn check_whole(&self) -> Result<()> {
        if self.range != Range::All {
            return Err(Error::invalid("range", "all eigenvalues of a pair of matrices are computed, or none"));
        }
        match self.method {
            EighMethod::Auto => Ok(()),
            other => {
                Err(Error::invalid("method", format!("{other:?}, but for pairs of matrices only `Auto` is there")))
            }
        }
    }

    /// Whether matrices are small enough for a kernel and loops of our own, and all that is asked of them is what these do.
    fn is_small<T: SolverElement>(&self, of: &Matrix) -> bool {
        let usual = self.range == Range::All && self.method == EighMethod::Auto;
        usual && !of.is_empty() && fits::<T>(&[of.rows])
    }

    fn check(&self, of: &Matrix) -> Result<()> {
        of.check_square("a")?;
        if let EighMethod::Jacobi(jacobi) = self.method {
            jacobi.check()?;
            if self.range != Range::All {
                return Err(Error::invalid("range", "`Jacobi` computes all eigenvalues: use `Tridiagonal` for a part"));
            }
        }
        let n = of.rows;
        let batch = self.range != Range::All && of.count != 1;
        match self.range {
            _ if batch => {
                Err(Error::invalid("range", "a part of the spectrum is computed for one matrix only, not for a batch"))
            }
            Range::Indices(from, to) if from > to || to > n => {
                Err(Error::invalid("range", format!("{from}..{to} is not a range of the {n} eigenvalues")))
            }
            Range::Values(from, to) if from.is_nan() || to.is_nan() || from > to => {
                Err(Error::invalid("range", format!("the values from {from} to {to} are not a range")))
            }
            _ => Ok(()),
        }
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Syevd<T, const BATCHED: bool> {
    a: Matrix,
    pub(super) spec: EighSpec,
    _type: PhantomData<T>,
}

type Written<T> = (T, <T as crate::libraries::blas::BlasElement>::Real, i32);

impl<T: SolverElement, const BATCHED: bool> Routine for Syevd<T, BATCHED> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = if BATCHED { "syev_batched" } else { "syevd" };
    const OPERANDS: OperandNames = (&[], &["a", "w", "info"]);
    const BLOCKING: bool = !BATCHED;
    type Reads = ();
    type Output = Eigh<T>;
    /// The verdict, and the number of eigenvalues; the upper half of that holds the number of sweeps plus one, or 0 if
    /// unknown.
    type Raw = num_complex::Complex<f64>;

    fn check(&self, (): &(), (a, w, info): &Spans<Written<T>>) -> Result<()> {
        let Matrix { rows: n, count, .. } = self.a;
        self.a.check("a", a.len())?;
        self.spec.check(&self.a)?;
        check_len("values", n, count, w.len())?;
        check_len("info", 1, count, info.len())
    }

    fn overwrites_each(&self, (_, w, info): &Spans<Written<T>>, index: usize) -> bool {
        let Matrix { rows: n, count, .. } = self.a;
        match index {
            1 => n.checked_mul(count) == Some(w.len()),
            2 => count == info.len(),
            _ => false,
        }
    }

    fn cost(&self) -> Cost {
        let Matrix { rows: n, count, .. } = self.a;
        let thirds = if self.spec.vectors { 12 } else { 2 };
        cost::<T>(thirds, [n; 3], count, n.saturating_mul(n).saturating_mul(2))
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (): (),
        (a, w, info): <Written<T> as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<Self::Raw> {
        let (of, vectors, upper) = (&self.a, self.spec.vectors, self.spec.uplo == Uplo::Upper);
        if self.spec.is_small::<T>(of) {
            small_eigh((vectors, upper), of, (a, w, info));
            return Ok(verdict::pack(first(info.get(..of.count).unwrap_or_default()), of.rows));
        }
        let values = batch::vectors_mut(w, of.rows, of.count);
        let mut sweeps = filled(of.count, 0)?;
        let items = collected(batch::parts_mut(of, a).into_iter().zip(values).zip(info.iter_mut().zip(&mut sweeps)))?;
        batch::each(items, batch::cube(of.rows).saturating_mul(2), |((a, w), (info, sweeps)), threads| {
            let (found, reached) = T::eigh(upper, a, w, vectors, &self.spec.method, threads);
            (*info, *sweeps) = (found, reached.sweeps.map_or(0, |sweeps| sweeps.saturating_add(1)));
        });
        let first = first(info.get(..of.count).unwrap_or_default());
        let found = if first == 0 { self.select(a, w) } else { of.rows };
        Ok(verdict::pack(first, found | ((sweeps.into_iter().max().unwrap_or(0) as usize) << 32)))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of, (a, w, info)) = (&self.a, queue.writes());
        let (n, info, how) = (of.rows, info.address(), (self.spec.vectors, self.spec.uplo));
        let (mut found, mut sweeps, method) = (n, 0, self.spec.method.on_gpu(n, BATCHED));
        if of.is_empty() {
            calls::no_infos(queue, info, of.count)?;
        } else if self.spec.is_small::<T>(of) {
            small_spectra::eigh::<T>(queue, how, of, [a.address(), w.address(), info])?;
        } else if BATCHED {
            let (a, w) = ((a.address(), of.leading()), w.address());
            let group = Group { at: a, step: of.distance(), size: (n, n), count: of.count, part: Some(how.1) };
            let largest = range::bring_into_range::<T>(queue, group)?;
            match method {
                EighMethod::Jacobi(jacobi) => {
                    spectra::syevj_batched::<T>(queue, (how.0, how.1, jacobi), (n, of.count), a, w, info)
                }
                _ => spectra::syev_batched::<T>(queue, how, (n, of.count), a, w, info),
            }?;
            range::bring_back::<T::Real>(queue, largest, w, n, of.count)?;
        } else {
            for k in 0..of.count {
                let a = (of.address::<T>(a.address(), k), of.leading());
                let (w, info) = (w.address() + (k * n * size_of::<T::Real>()) as u64, info + 4 * k as u64);
                // The bounds of an interval are those of the matrix as it is.
                let largest = match self.spec.range {
                    Range::Values(..) => None,
                    _ => {
                        Some(range::bring_into_range::<T>(queue, Group { part: Some(how.1), ..Group::one(a, (n, n)) })?)
                    }
                };
                found = match (self.spec.range, method) {
                    (_, EighMethod::Jacobi(jacobi)) => {
                        sweeps = sweeps.max(
                            spectra::syevj::<T>(queue, (how.0, how.1, jacobi), n, a, w, info)?.0.saturating_add(1),
                        );
                        n
                    }
                    (Range::All, _) => spectra::syevd::<T>(queue, how, n, a, w, info).map(|()| n)?,
                    (Range::Indices(from, to), _) if from == to => calls::no_infos(queue, info, 1).map(|()| 0)?,
                    (range, _) => spectra::syevdx::<T>(queue, (how.0, how.1, range), n, a, w, info)?,
                };
                if let Some(largest) = largest {
                    range::bring_back::<T::Real>(queue, largest, w, found, 1)?;
                }
            }
        }
        calls::verdict(queue, info, of.count)?;
        let (result, found) = (queue.result()?, u32::try_from(found).unwrap_or(u32::MAX));
        for (at, word) in [(8, found), (12, sweeps)] {
            // SAFETY: a word of the second half of the result.
            unsafe { queue.fill(result + at, 1, &word.to_ne_bytes()) }?;
        }
        Ok(())
    }

    fn finish(&self, raw: Self::Raw) -> Result<(usize, Reached)> {
        let (first, packed) = verdict::unpack(raw);
        let (found, sweeps) = (packed as u32 as usize, ((packed >> 32) as u32).checked_sub(1));
        Meaning::NotConverged.verdict(first).map(|()| (found, Reached { sweeps, error: None }))
    }
}

#[cfg(feature = "host")]
impl<T: SolverElement, const BATCHED: bool> Syevd<T, BATCHED> {
    /// Moves the requested part of the spectrum to the front, and returns its size.
    fn select(&self, a: &mut [T], w: &mut [T::Real]) -> usize {
        use crate::numerics::Field;
        let n = self.a.rows;
        let value = |w: &[T::Real], i: usize| -> f64 { w.get(i).map_or(f64::NAN, |w| Field::wide(*w).re) };
        let (from, to) = match self.spec.range {
            Range::All => return n,
            Range::Indices(from, to) => (from, to),
            Range::Values(above, to) => {
                let from = (0..n).find(|i| value(w, *i) > above).unwrap_or(n);
                (from, (from..n).find(|i| value(w, *i) > to).unwrap_or(n))
            }
        };
        w.copy_within(from..to, 0);
        if self.spec.vectors {
            let ld = self.a.leading();
            for j in 0..to - from {
                let (source, target) = ((from + j) * ld, j * ld);
                a.copy_within(source..source + n, target);
            }
        }
        to - from
    }
}

impl Solver {
    /// The eigenvalues of symmetric or Hermitian matrices, and the vectors (`syevd`, `syevdx`; `cusolverDnXsyevd`,
    /// `cusolverDnXsyevdx`, for a batch `cusolverDnXsyevBatched`; by rotations `cusolverDn<t>syevj` and
    /// `cusolverDn<t>syevjBatched`). All eigenvalues of real matrices with at most 32 rows are computed by rotations of our own, with
    /// the same bits on every device, alone and in a batch (see the [module](crate::solver)). An A that is given by value is used up.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A is not square, or for an invalid range; a stale or foreign tensor. At the wait
    /// [`Error::NotConverged`], also if A holds a NaN or an infinity, or if the Jacobi method used up its sweeps. All tensors
    /// come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, solver::EighSpec};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [2.0f64, 1.0, 1.0, 2.0])?;
    /// let eigh = device.solver().eigh(EighSpec::new(Uplo::Lower), &a)?.await_result()?;
    /// assert!(device.allclose(&eigh.values, &device.tensor([2], [1.0, 3.0])?, 1e-15, 0.0)?);
    /// assert_eq!(eigh.vectors.shape(), [2, 2]);
    /// # Ok(()) }
    /// ```
    pub fn eigh<'a, T: SolverElement>(
        &self,
        spec: EighSpec,
        a: impl GivenTensor<'a, T>,
    ) -> Submitted<Eigh<T>, Verdict> {
        self.syevd(spec, a.into())
    }

    fn syevd<T: SolverElement>(&self, spec: EighSpec, a: Given<'_, T>) -> Submitted<Eigh<T>, Verdict> {
        let made = self.taken(a, |batch, of| {
            spec.check(of)?;
            Ok((self.new_tensor(batch, &[of.rows])?, self.new_tensor(batch, &[])?))
        });
        match made {
            Ok((of_a, a, (values, info))) if of_a.is_batch() || spec.is_small::<T>(&of_a) => {
                self.submit(Syevd::<T, true> { a: of_a, spec, _type: PhantomData }, (), (a, values, info))
            }
            Ok((of_a, a, (values, info))) => {
                self.submit(Syevd::<T, false> { a: of_a, spec, _type: PhantomData }, (), (a, values, info))
            }
            Err((error, a)) => {
                Err(self.refuse(Syevd::<T, false>::NAME, error, |d| Ok((a.back(d)?, d.uninit([0])?, d.uninit([0])?))))
            }
        }
    }
}
