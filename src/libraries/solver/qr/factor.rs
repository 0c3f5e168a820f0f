//! geqrf, and geqp3 with column pivoting.

use super::super::prelude::*;
use super::Qr;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::dense;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::solver) struct Geqrf<T, const PIVOTED: bool> {
    a: Matrix,
    _type: PhantomData<T>,
}

impl<T: SolverElement> Output for Qr<T> {
    type Writes = (T, T, Option<i64>);
    type Host = Matrix;

    fn join((reflectors, tau, columns): Bufs<Self>, matrix: Matrix) -> Result<Self> {
        Ok(Qr { reflectors, tau, columns, matrix })
    }
}

impl<T: SolverElement, const PIVOTED: bool> Geqrf<T, PIVOTED> {
    /// How many columns of each matrix are permuted: none where no element says which.
    fn permuted(of: &Matrix) -> usize {
        if of.rows == 0 { 0 } else { of.cols }
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
        let info = queue.scratch(4)?;
        for k in 0..of.count {
            let a = (of.address::<T>(a.address(), k), of.leading());
            let tau = tau.address() + (k * of.size() * size_of::<T>()) as u64;
            dense::geqrf::<T>(queue, (of.rows, of.cols), a, tau, info)?;
        }
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<Matrix> {
        Ok(self.a)
    }
}

impl Solver {
    /// QR factors in place of A (`geqrf`; `cusolverDnXgeqrf`), of a matrix of any shape or of each of a batch.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A does not lie inside its buffer; a stale or foreign buffer. The buffers come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::Matrix};
    /// let device = Device::host()?;
    /// let a = device.upload([3.0f64, 4.0, 1.0, 2.0, 0.0, 1.0])?.into_output(); // 3 x 2, columns (3 4 1) and (2 0 1)
    /// let qr = device.solver().qr(Matrix::new(3, 2), a)?.await_result()?;
    /// let b = device.upload([5.0f64, 4.0, 2.0])?.into_output(); // the sum of the columns
    /// let solution = qr.solve(&device.solver(), Matrix::new(3, 1), b)?.await_result()?;
    /// let x = device.download(&solution.x)?.await_result()?;
    /// assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 1.0).abs() < 1e-15);
    /// # Ok(()) }
    /// ```
    pub fn qr<T: SolverElement>(&self, of_a: Matrix, a: DeviceBuffer<T>) -> Submitted<Qr<T>> {
        let made = of_a.check("a", a.len()).and_then(|()| self.device.uninit(of_a.size().saturating_mul(of_a.count)));
        match made {
            Ok(tau) => self.geqrf(of_a, a, tau),
            Err(error) => Err(self.refuse(Geqrf::<T, false>::NAME, error, |d| Ok((a, d.uninit(0)?, None)))),
        }
    }

    /// As [`qr`](Self::qr), with a buffer for tau, `min(rows, cols)` elements for each matrix, that the caller gives.
    ///
    /// # Errors
    /// As [`qr`](Self::qr).
    pub fn geqrf<T: SolverElement>(&self, of_a: Matrix, a: DeviceBuffer<T>, tau: DeviceBuffer<T>) -> Submitted<Qr<T>> {
        self.submit(Geqrf::<T, false> { a: of_a, _type: PhantomData }, (), (a, tau, None))
    }

    /// QR factors with column pivoting in place of A (`geqp3`): the moduli on the diagonal of R do not increase, so
    /// that it shows the rank. Only on the host engine.
    ///
    /// # Errors
    /// As [`qr`](Self::qr); on a GPU [`Error::Unsupported`], since cuSOLVER has no such routine.
    pub fn qr_pivoted<T: SolverElement>(&self, of_a: Matrix, a: DeviceBuffer<T>) -> Submitted<Qr<T>> {
        let made = of_a.check("a", a.len()).and_then(|()| {
            let tau = self.device.uninit(of_a.size().saturating_mul(of_a.count))?;
            let permuted = Geqrf::<T, true>::permuted(&of_a);
            Ok((tau, self.device.uninit(permuted.saturating_mul(of_a.count))?))
        });
        match made {
            Ok((tau, columns)) => {
                self.submit(Geqrf::<T, true> { a: of_a, _type: PhantomData }, (), (a, tau, Some(columns)))
            }
            Err(error) => {
                Err(self.refuse(Geqrf::<T, true>::NAME, error, |d| Ok((a, d.uninit(0)?, Some(d.uninit(0)?)))))
            }
        }
    }
}
