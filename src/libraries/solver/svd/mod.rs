//! Singular values and vectors.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(feature = "cuda")]
mod polar;

use super::method::{Reached, SvdMethod};
use super::prelude::*;
use super::verdict;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::{collected, filled};
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::kernels;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::small_spectra;

/// Which vectors to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Vectors {
    /// None: only the values.
    None,
    /// As many as there are values.
    #[default]
    Thin,
    /// All columns of two square matrices U and V.
    Full,
}

/// `A = U * diag(s) * V^H` of a matrix, or of each of a batch.
#[derive(Debug)]
pub struct Svd<T: SolverElement> {
    /// The singular values, descending, `min(rows, cols)` for each matrix.
    pub values: Tensor<T::Real>,
    /// U, which has `rows` rows.
    pub u: Option<Tensor<T>>,
    /// `V^H`, which has `cols` columns.
    pub vh: Option<Tensor<T>>,
    /// The tensor that held A. Its contents are undefined: an operation that reads it is refused.
    pub a: Tensor<T>,
    /// An info for each matrix: all zero.
    pub info: Tensor<i32>,
    reached: Reached,
}

/// What an SVD computes.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct SvdShape {
    pub(super) a: Matrix,
    pub(super) vectors: Vectors,
    pub(super) method: SvdMethod,
}

impl SvdShape {
    /// How many singular values each matrix has.
    pub(super) fn values(&self) -> usize {
        match self.method {
            SvdMethod::Randomized(how) => how.rank,
            _ => self.a.size(),
        }
    }

    /// Whether matrices are small enough for a kernel and loops of our own, which wait for nothing.
    fn is_small<T: SolverElement>(&self) -> bool {
        self.method == SvdMethod::Auto && !self.a.is_empty() && fits::<T>(&[self.a.rows, self.a.cols])
    }

    /// Where U lies.
    pub(super) fn u(&self) -> Matrix {
        let Matrix { rows, count, .. } = self.a;
        Matrix::new(rows, if self.vectors == Vectors::Full { rows } else { self.values() }).batch(count)
    }

    /// Where `V^H` lies.
    pub(super) fn vh(&self) -> Matrix {
        let Matrix { cols, count, .. } = self.a;
        Matrix::new(if self.vectors == Vectors::Full { cols } else { self.values() }, cols).batch(count)
    }
}

impl<T: SolverElement> Svd<T> {
    /// How many sweeps the Jacobi method made, the most of a batch. `None` for the other methods, and for a batch that
    /// was one call of the library, which does not report it.
    pub fn sweeps(&self) -> Option<usize> {
        self.reached.sweeps.map(|sweeps| sweeps as usize)
    }

    /// The method's own estimate of its error, the largest of a batch. For rotations: what is left off the diagonal of
    /// `U^H * A * V`. For the polar decomposition: how far the values were moved. `None` if the method gives no
    /// estimate.
    pub fn error(&self) -> Option<f64> {
        self.reached.error
    }
}

impl<T: SolverElement> Output for Svd<T> {
    type Writes = (Strided<T>, Strided<T::Real>, Option<Strided<T>>, Option<Strided<T>>, Strided<i32>);
    type Host = Reached;

    fn join((a, values, u, vh, info): Bufs<Self>, reached: Reached) -> Result<Self> {
        Ok(Svd { values, u, vh, a, info, reached })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Gesvd<T, const SMALL: bool> {
    pub(super) shape: SvdShape,
    _type: PhantomData<T>,
}

type Written<T> = (T, <T as crate::libraries::blas::BlasElement>::Real, Option<T>, Option<T>, i32);

impl<T: SolverElement, const SMALL: bool> Routine for Gesvd<T, SMALL> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = if SMALL { "gesvdj_batched" } else { "gesvd" };
    const OPERANDS: OperandNames = (&[], &["a", "s", "u", "vh", "info"]);
    const LEAVES_UNDEFINED: &'static [usize] = &[0];
    const BLOCKING: bool = !SMALL;
    type Reads = ();
    type Output = Svd<T>;
    /// The verdict, and the packed [`Reached`].
    type Raw = num_complex::Complex<f64>;

    fn check(&self, (): &(), (a, s, u, vh, info): &Spans<Written<T>>) -> Result<()> {
        let of = &self.shape.a;
        of.check("a", a.len())?;
        self.shape.method.check(of.size())?;
        check_len("values", self.shape.values(), of.count, s.len())?;
        if let Some(u) = u {
            self.shape.u().check("u", u.len())?;
        }
        if let Some(vh) = vh {
            self.shape.vh().check("vh", vh.len())?;
        }
        check_len("info", 1, of.count, info.len())
    }

    fn overwrites_each(&self, (_, s, u, vh, info): &Spans<Written<T>>, index: usize) -> bool {
        let of = &self.shape.a;
        let fills = |of: Matrix, x: Option<usize>| x.is_some_and(|len| of.fills(len));
        match index {
            1 => self.shape.values().checked_mul(of.count) == Some(s.len()),
            2 if u.is_some() => fills(self.shape.u(), u.as_ref().map(|u| u.len())),
            3 => fills(self.shape.vh(), vh.as_ref().map(|vh| vh.len())),
            2 | 4 => of.count == info.len(),
            _ => false,
        }
    }

    fn cost(&self) -> Cost {
        let Matrix { rows, cols, count, .. } = self.shape.a;
        let thirds = if self.shape.vectors == Vectors::None { 4 } else { 12 };
        cost::<T>(thirds, [rows, cols, self.shape.a.size()], count, rows.saturating_mul(cols).saturating_mul(3))
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (): (),
        (a, s, u, vh, info): <Written<T> as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<Self::Raw> {
        let (of, method) = (&self.shape.a, &self.shape.method);
        if SMALL && self.shape.is_small::<T>() {
            let (of_u, of_vh) = (self.shape.u(), self.shape.vh());
            let vectors = u.zip(vh).map(|(u, vh)| [(&of_u, u), (&of_vh, vh)]);
            small_svd((of, a), (s, info), vectors);
            let reached = Reached::default().pack();
            return Ok(verdict::pack(first(info.get(..of.count).unwrap_or_default()), reached));
        }
        let values = batch::vectors_mut(s, self.shape.values(), of.count);
        let (u, vh) =
            (u.map(|u| batch::parts_mut(&self.shape.u(), u)), vh.map(|vh| batch::parts_mut(&self.shape.vh(), vh)));
        let vectors: Vec<_> = match u.zip(vh) {
            Some((u, vh)) => collected(u.into_iter().zip(vh).map(Some))?,
            None => collected((0..of.count).map(|_| None))?,
        };
        let mut reached = filled(of.count, Reached::default())?;
        let items: Vec<_> = collected(batch::parts(of, a).into_iter().zip(values).zip(vectors))?;
        let items = collected(items.into_iter().zip(info.iter_mut().zip(&mut reached)))?;
        let work = of.rows.saturating_mul(of.cols).saturating_mul(of.size()).saturating_mul(4);
        batch::each(items, work, |(((a, s), vectors), (info, reached)), threads| {
            (*info, *reached) = T::svd(a, s, vectors, method, threads);
        });
        let reached = reached.into_iter().fold(Reached::default(), Reached::and);
        Ok(verdict::pack(first(info.get(..of.count).unwrap_or_default()), reached.pack()))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of, (a, s, u, vh, info)) = (&self.shape.a, queue.writes());
        let (info, mut reached) = (info.address(), Reached::default());
        let method = self.shape.method.on_gpu((of.rows, of.cols), of.is_batch());
        let vectors = u.as_ref().zip(vh.as_ref()).map(|(u, vh)| [u.address(), vh.address()]);
        if of.is_empty() {
            calls::no_infos(queue, info, of.count)?;
            for (of, x) in [self.shape.u(), self.shape.vh()].into_iter().zip(vectors.into_iter().flatten()) {
                for k in 0..of.count {
                    let to = (of.address::<T>(x, k), of.leading());
                    // SAFETY: the matrix lies inside its buffer (checked).
                    unsafe { kernels::copy_matrix::<T>(queue, Copy::Identity, to, to, (of.rows, of.cols)) }?;
                }
            }
        } else if SMALL && self.shape.is_small::<T>() {
            let vectors = vectors.map(|[u, vh]| [(self.shape.u(), u), (self.shape.vh(), vh)]);
            small_spectra::svd::<T>(queue, (of, a.address()), (s.address(), info), vectors)?;
        } else if let Some(jacobi) = cuda::in_one_call(&self.shape, method) {
            cuda::batched::<T>(queue, &self.shape, jacobi, (a.address(), s.address()), vectors, info)?;
        } else {
            for k in 0..of.count {
                let a = (of.address::<T>(a.address(), k), of.leading());
                let s = s.address() + (k * self.shape.values() * size_of::<T::Real>()) as u64;
                let vectors = vectors.map(|[u, vh]| {
                    [(self.shape.u(), u), (self.shape.vh(), vh)].map(|(of, x)| (of.address::<T>(x, k), of.leading()))
                });
                reached =
                    reached.and(cuda::one::<T>(queue, (&self.shape, method), a, s, vectors, info + 4 * k as u64)?);
            }
        }
        calls::verdict(queue, info, of.count)?;
        let result = queue.result()?;
        for (at, bytes) in [(8, reached.pack() as u32), (12, (reached.pack() >> 32) as u32)] {
            // SAFETY: a word of the second half of the result.
            unsafe { queue.fill(result + at, 1, &bytes.to_ne_bytes()) }?;
        }
        Ok(())
    }

    fn finish(&self, raw: Self::Raw) -> Result<Reached> {
        let (first, reached) = verdict::unpack(raw);
        Meaning::NotConverged.verdict(first).map(|()| Reached::unpack(reached))
    }
}

impl Solver {
    /// The singular values of A, and the vectors asked for, of a matrix of any shape or of each of a batch, by the method that
    /// suits the engine and the size ([`SvdMethod::Auto`]). Real matrices with at most 32 rows and columns are decomposed by rotations
    /// of our own, with the same bits on every device, alone and in a batch (see the [module](crate::solver)). An A that is given by
    /// value is used up.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has less than two axes or is too large for the library; [`Error::OutOfMemory`]; a stale
    /// or foreign tensor. At the wait [`Error::NotConverged`], also if A holds a NaN or an infinity. All tensors come back;
    /// what A holds is not specified.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::Vectors};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 3], [0.0f64, 3.0, 0.0, 2.0, 0.0, 0.0])?;
    /// let svd = device.solver().svd(Vectors::Thin, &a)?.await_result()?;
    /// assert!(device.allclose(&svd.values, &device.tensor([2], [3.0, 2.0])?, 1e-15, 0.0)?);
    /// assert_eq!(svd.vh.map(|vh| vh.shape().to_vec()), Some(vec![2, 3]));
    /// # Ok(()) }
    /// ```
    pub fn svd<'a, T: SolverElement>(
        &self,
        vectors: Vectors,
        a: impl GivenTensor<'a, T>,
    ) -> Submitted<Svd<T>, Verdict> {
        self.gesvd(SvdMethod::Auto, vectors, a.into())
    }

    /// [`svd`](Self::svd) by the given method. A randomized decomposition gives as many values and vectors as its rank,
    /// and no full set of vectors.
    ///
    /// # Errors
    /// As [`svd`](Self::svd); [`Error::InvalidArgument`] also for invalid options. [`Error::NotConverged`] if the
    /// Jacobi method used up its sweeps: the result so far comes back. On a GPU [`Error::Unsupported`] if the library
    /// lacks the method.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::{Jacobi, Randomized, SvdMethod, Vectors}};
    /// let device = Device::host()?;
    /// let a = device.tensor([3, 2], [1.0f64, 0.0, 0.0, 1e-8, 0.0, 0.0])?;
    /// let jacobi = SvdMethod::Jacobi(Jacobi::new().sweeps(20));
    /// let svd = device.solver().svd_by(jacobi, Vectors::Thin, &a)?.await_result()?;
    /// assert_eq!(device.to_vec(&svd.values)?, [1.0, 1e-8]);
    /// assert!(svd.sweeps().is_some());
    ///
    /// let largest = SvdMethod::Randomized(Randomized::new(1));
    /// let svd = device.solver().svd_by(largest, Vectors::None, &a)?.await_result()?;
    /// assert!((device.item(&svd.values)? - 1.0).abs() < 1e-14);
    /// # Ok(()) }
    /// ```
    pub fn svd_by<'a, T: SolverElement>(
        &self,
        method: SvdMethod,
        vectors: Vectors,
        a: impl GivenTensor<'a, T>,
    ) -> Submitted<Svd<T>, Verdict> {
        self.gesvd(method, vectors, a.into())
    }

    pub(super) fn gesvd<T: SolverElement>(
        &self,
        method: SvdMethod,
        vectors: Vectors,
        a: Given<'_, T>,
    ) -> Submitted<Svd<T>, Verdict> {
        let made = self.taken(a, |batch, of| {
            method.check(of.size())?;
            if matches!(method, SvdMethod::Randomized(_)) && vectors == Vectors::Full {
                let what = "a randomized decomposition has no full set of vectors: use `Vectors::Thin`";
                return Err(Error::invalid("vectors", what));
            }
            let shape = SvdShape { a: *of, vectors, method };
            let room = |of: Matrix| match vectors {
                Vectors::None => Ok(None),
                _ => self.new_matrices(batch, of.rows, of.cols).map(Some),
            };
            let values = self.new_tensor(batch, &[shape.values()])?;
            Ok((values, room(shape.u())?, room(shape.vh())?, self.new_tensor(batch, &[])?))
        });
        match made {
            Ok((of_a, a, (values, u, vh, info))) => {
                let (shape, writes) = (SvdShape { a: of_a, vectors, method }, (a, values, u, vh, info));
                if shape.is_small::<T>() {
                    return self.submit(Gesvd::<T, true> { shape, _type: PhantomData }, (), writes);
                }
                self.submit(Gesvd::<T, false> { shape, _type: PhantomData }, (), writes)
            }
            Err((error, a)) => Err(self.refuse(Gesvd::<T, false>::NAME, error, |d| {
                Ok((a.back(d)?, d.uninit([0])?, None, None, d.uninit([0])?))
            })),
        }
    }
}
