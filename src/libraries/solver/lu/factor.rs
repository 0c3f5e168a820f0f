//! getrf.

use super::super::Inverse;
use super::super::given::sizes;
use super::super::prelude::*;
use super::Lu;
use super::invert::Getri;
use crate::core::dispatch::PendingDispatch;
use crate::core::op::Verdict;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::batched;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::dense;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::solver) struct Getrf<T> {
    a: Matrix,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Output for Lu<T> {
    type Writes = (Strided<T>, Strided<i64>, Strided<i32>);
    type Host = ();

    fn join((factors, pivots, info): Bufs<Self>, (): ()) -> Result<Self> {
        Ok(Lu { factors, pivots, info })
    }
}

impl<T: SolverElement> Routine for Getrf<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "getrf";
    const OPERANDS: OperandNames = (&[], &["a", "pivots", "info"]);
    type Reads = ();
    type Output = Lu<T>;
    type Raw = First;

    fn check(&self, (): &(), (a, pivots, info): &Spans<(T, i64, i32)>) -> Result<()> {
        self.a.check("a", a.len())?;
        check_len("pivots", self.a.size(), self.a.count, pivots.len())?;
        check_len("info", 1, self.a.count, info.len())
    }

    fn overwrites_each(&self, (_, pivots, info): &Spans<(T, i64, i32)>, index: usize) -> bool {
        match index {
            1 => self.a.size().checked_mul(self.a.count) == Some(pivots.len()),
            2 => self.a.count == info.len(),
            _ => false,
        }
    }

    fn cost(&self) -> Cost {
        let Matrix { rows, cols, count, .. } = self.a;
        cost::<T>(1, [rows, cols, self.a.size()], count, rows.saturating_mul(cols).saturating_mul(2))
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, pivots, info): (&mut [T], &mut [i64], &mut [i32])) -> Result<First> {
        let of = &self.a;
        if let Some(job) = System::new::<T>(Row::Lu, of, None) {
            let (a, b) = ((of, Memory::Write(a)), (&Matrix::new(0, 0), &mut [][..]));
            systems(&job, Systems { a, pivots: Memory::Write(pivots), b, info: &mut *info });
            return Ok(first(info.get(..of.count).unwrap_or_default()));
        }
        let pivots = batch::vectors_mut(pivots, of.size(), of.count);
        let items = collected(batch::parts_mut(of, a).into_iter().zip(pivots).zip(info.iter_mut()))?;
        batch::each(items, batch::cube(of.size()), |((a, pivots), info), threads| {
            *info = T::lu_factor(a, pivots, threads);
        });
        Ok(first(info.get(..of.count).unwrap_or_default()))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of, size, (a, pivots, info)) = (&self.a, self.a.size(), queue.writes());
        let (pivots, info) = (pivots.address(), info.address());
        if let Some(job) = System::new::<T>(Row::Lu, of, None) {
            let at = small_lu::At::new((of, a.address())).pivots(pivots).info(info);
            return small_lu::launch_told::<T>(queue, &job, of.count, at);
        }
        if of.is_empty() {
            calls::no_infos(queue, info, of.count)?;
        } else if !batched::lu_batched::<T>(queue, of, a.address(), pivots, info)? {
            for k in 0..of.count {
                let a = (of.address::<T>(a.address(), k), of.leading());
                dense::getrf::<T>(queue, (of.rows, of.cols), a, pivots + 8 * (k * size) as u64, info + 4 * k as u64)?;
            }
        }
        calls::verdict(queue, info, of.count)
    }

    fn finish(&self, raw: First) -> Result<()> {
        Meaning::Singular.verdict(raw)
    }
}

impl Solver {
    /// LU factors with partial pivoting (`getrf`; `cusolverDnXgetrf`), of a matrix of any shape or of each of a batch, in the
    /// memory of A if it is given by value. Of real matrices with at most 32 rows and columns, a batch takes one kernel of our own (see
    /// the [module](crate::solver)).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has less than two axes or is too large for the library; a stale or foreign tensor. At the
    /// wait [`Error::Singular`] with the first zero on the diagonal of U (of the first such matrix of a batch): the factors are
    /// complete all the same. On a GPU, of larger or complex matrices, also with a subnormal pivot whose reciprocal overflows. All tensors come back: A or
    /// its factors, the pivots, and an info for each matrix.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Transpose};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [1.0f64, 1.0, 2.0, 4.0])?;
    /// let lu = device.solver().lu(&a)?.await_result()?;
    /// assert_eq!(device.show(lu.factors())?.to_string(), "[[ 2.   4. ]\n [ 0.5 -1. ]]");
    /// assert_eq!(device.to_vec(lu.pivots())?, [2, 2]);
    /// let x = lu.solve(&device.solver(), Transpose::No, device.tensor([2], [3.0, 8.0])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&x)?, [2.0, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn lu<'a, T: SolverElement>(&self, a: impl GivenTensor<'a, T>) -> Submitted<Lu<T>, Verdict> {
        self.getrf(a.into())
    }

    fn getrf<T: SolverElement>(&self, a: Given<'_, T>) -> Submitted<Lu<T>, Verdict> {
        let made = self.taken(a, |batch, of| Ok((self.new_tensor(batch, &[of.size()])?, self.new_tensor(batch, &[])?)));
        match made {
            Ok((of_a, a, (pivots, info))) => self.submit(Getrf { a: of_a, _type: PhantomData }, (), (a, pivots, info)),
            Err((error, a)) => {
                Err(self.refuse(Getrf::<T>::NAME, error, |d| Ok((a.back(d)?, d.uninit([0])?, d.uninit([0])?))))
            }
        }
    }

    /// The inverse of each matrix, by its LU factors ([`lu`](Self::lu), [`Lu::inverse`], whose bits it has). Does not wait. Of real matrices
    /// with at most 32 rows, a batch takes one kernel of our own.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A is not square, or as [`lu`](Self::lu); at the wait [`Error::Singular`], and then as
    /// [`Lu::inverse`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.tensor([2, 2], [2.0f64, 1.0, 0.0, 4.0])?;
    /// let inverse = device.solver().inverse(&a)?.await_result()?;
    /// assert_eq!(device.show(&inverse.matrix)?.to_string(), "[[ 0.5   -0.125]\n [ 0.     0.25 ]]");
    /// # Ok(()) }
    /// ```
    pub fn inverse<'a, T: SolverElement>(
        &self,
        a: impl GivenTensor<'a, T>,
    ) -> Result<PendingDispatch<Inverse<T>, Verdict>> {
        let a = a.into();
        let (batch, of) = sizes("a", a.layout()).map_err(|error| error.in_op(Getrf::<T>::NAME, "solver"))?;
        of.check_square("a").map_err(|error| error.in_op(Getrf::<T>::NAME, "solver"))?;
        if System::new::<T>(Row::Inverse, &of, Some(&of)).is_some() {
            let (c, info) = (self.new_matrices(batch, of.rows, of.rows)?, self.new_tensor(batch, &[])?);
            let (_, a, ()) =
                self.taken(a, |_, _| Ok(())).map_err(|(error, _)| error.in_op(Getri::<T>::NAME, "solver"))?;
            return Getri::submitted(self, &a, None, (c, info));
        }
        // A zero on the diagonal of U is found again.
        let ((factors, pivots, info), _) = self.getrf(a)?.into_parts();
        Lu::from_parts(factors, pivots, info).inverse(self)
    }
}
