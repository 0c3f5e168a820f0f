//! geqrf, and geqp3 with column pivoting.

use super::super::prelude::*;
use super::Qr;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::{dense, small_qr};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::solver) struct Geqrf<T, const PIVOTED: bool> {
    a: Matrix,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Output for Qr<T> {
    type Writes = (Strided<T>, Strided<T>, Option<Strided<i64>>);
    type Host = ();

    fn join((reflectors, tau, columns): Bufs<Self>, (): ()) -> Result<Self> {
        Ok(Qr { reflectors, tau, columns })
    }
}

impl<T: SolverElement, const PIVOTED: bool> Geqrf<T, PIVOTED> {
    /// How many columns of each matrix are permuted: none where no element says which.
    fn permuted(of: &Matrix) -> usize {
        if of.rows == 0 { 0 } else { of.cols }
    }

    /// What is done where the matrices are small.
    fn small(&self) -> Option<Job> {
        let small = !PIVOTED && !self.a.is_empty() && fits_qr::<T>(&[self.a.rows, self.a.cols]);
        small.then(|| Job::new(Task::Factor, &self.a))
    }
}

impl<T: SolverElement, const PIVOTED: bool> Routine for Geqrf<T, PIVOTED> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = if PIVOTED { "geqp3" } else { "geqrf" };
    const OPERANDS: OperandNames = (&[], &["a", "tau", "columns"]);
    type Reads = ();
    type Output = Qr<T>;
    type Raw = ();

    fn check(&self, (): &(), (a, tau, columns): &Spans<(T, T, Option<i64>)>) -> Result<()> {
        self.a.check("a", a.len())?;
        check_len("tau", self.a.size(), self.a.count, tau.len())?;
        let permuted = Self::permuted(&self.a);
        columns.as_ref().map_or(Ok(()), |columns| check_len("columns", permuted, self.a.count, columns.len()))
    }

    fn overwrites_each(&self, (_, tau, columns): &Spans<(T, T, Option<i64>)>, index: usize) -> bool {
        let count = self.a.count;
        match (index, columns) {
            (1, _) => self.a.size().checked_mul(count) == Some(tau.len()),
            (2, Some(columns)) => Self::permuted(&self.a).checked_mul(count) == Some(columns.len()),
            _ => false,
        }
    }

    fn cost(&self) -> Cost {
        let Matrix { rows, cols, count, .. } = self.a;
        cost::<T>(2, [rows, cols, self.a.size()], count, rows.saturating_mul(cols).saturating_mul(2))
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, tau, columns): (&mut [T], &mut [T], Option<&mut [i64]>)) -> Result<()> {
        let of = &self.a;
        if let Some(job) = self.small() {
            let b = (&Matrix::new(0, 0), &mut [][..]);
            small(&job, Operands { a: (of, Memory::Write(a)), tau: Memory::Write(tau), b, info: &mut [] });
            return Ok(());
        }
        let columns = batch::vectors_mut(columns.unwrap_or_default(), Self::permuted(of), of.count);
        let tau = batch::vectors_mut(tau, of.size(), of.count);
        let items = collected(batch::parts_mut(of, a).into_iter().zip(tau).zip(columns))?;
        let work = of.rows.saturating_mul(of.cols).saturating_mul(of.size());
        batch::each(items, work, |((a, tau), columns), threads| match PIVOTED {
            true => T::geqp3(a, tau, columns),
            false => T::geqrf(a, tau, threads),
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        if PIVOTED {
            return Err(Error::unsupported("cuSOLVER has no QR with column pivoting"));
        }
        let (of, (a, tau, _)) = (&self.a, queue.writes());
        if of.is_empty() {
            return Ok(());
        }
        if let Some(job) = self.small() {
            let at = small_qr::Operands { a: (a.address(), of.distance()), tau: tau.address(), b: (0, 0), info: 0 };
            return small_qr::launch::<T>(queue, &job, of.count, at);
        }
        let info = queue.scratch(4)?;
        for k in 0..of.count {
            let a = (of.address::<T>(a.address(), k), of.leading());
            let tau = tau.address() + (k * of.size() * size_of::<T>()) as u64;
            dense::geqrf::<T>(queue, (of.rows, of.cols), a, tau, info)?;
        }
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Solver {
    /// QR factors (`geqrf`; `cusolverDnXgeqrf`), of a matrix of any shape or of each of a batch, in the memory of A if it is given
    /// by value. Of real matrices with at most 64 rows and columns, a batch takes one kernel of our own (see the
    /// [module](crate::solver)).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has less than two axes or is too large for the library; a stale or foreign tensor. The
    /// tensors come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.tensor([3, 2], [3.0f64, 2.0, 4.0, 0.0, 1.0, 1.0])?;
    /// let qr = device.solver().qr(&a)?.await_result()?;
    /// let b = device.tensor([3], [5.0, 4.0, 2.0])?; // the sum of the columns
    /// let x = device.to_vec(&qr.solve(&device.solver(), &b)?.await_result()?.x)?;
    /// assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 1.0).abs() < 1e-15);
    /// # Ok(()) }
    /// ```
    pub fn qr<'a, T: SolverElement>(&self, a: impl GivenTensor<'a, T>) -> Submitted<Qr<T>> {
        self.geqrf::<T, false>(a.into())
    }

    /// QR factors with column pivoting (`geqp3`): the moduli on the diagonal of R do not increase, so that it shows the rank. Only
    /// on the host engine; else as [`qr`](Self::qr).
    ///
    /// # Errors
    /// As [`qr`](Self::qr); on a GPU [`Error::Unsupported`], since cuSOLVER has no such routine.
    pub fn qr_pivoted<'a, T: SolverElement>(&self, a: impl GivenTensor<'a, T>) -> Submitted<Qr<T>> {
        self.geqrf::<T, true>(a.into())
    }

    fn geqrf<T: SolverElement, const PIVOTED: bool>(&self, a: Given<'_, T>) -> Submitted<Qr<T>> {
        let made = self.taken(a, |batch, of| {
            let columns = || self.new_tensor(batch, &[Geqrf::<T, PIVOTED>::permuted(of)]);
            Ok((self.new_tensor(batch, &[of.size()])?, PIVOTED.then(columns).transpose()?))
        });
        match made {
            Ok((of_a, a, (tau, columns))) => {
                self.submit(Geqrf::<T, PIVOTED> { a: of_a, _type: PhantomData }, (), (a, tau, columns))
            }
            Err((error, a)) => {
                Err(self.refuse(Geqrf::<T, PIVOTED>::NAME, error, |d| Ok((a.back(d)?, d.uninit([0])?, None))))
            }
        }
    }
}
