//! getrf.

use super::super::prelude::*;
use super::Lu;
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
    type Writes = (T, i64, i32);
    type Host = Matrix;

    fn join((factors, pivots, info): Bufs<Self>, matrix: Matrix) -> Result<Self> {
        Ok(Lu { factors, pivots, info, matrix })
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

    fn finish(&self, raw: First) -> Result<Matrix> {
        Meaning::Singular.verdict(raw).map(|()| self.a)
    }
}

impl Solver {
    /// LU factors with partial pivoting, in place of A (`getrf`; `cusolverDnXgetrf`), of a matrix of any shape or of each of a
    /// batch.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A does not lie inside its buffer; a stale or foreign buffer. At the wait
    /// [`Error::Singular`] with the first zero on the diagonal of U (of the first such matrix of a batch): the factors are
    /// complete all the same. On a GPU also with a subnormal pivot whose reciprocal overflows. All buffers come back: A or
    /// its factors, the pivots, and an info for each matrix.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Transpose, solver::Matrix};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f64, 2.0, 1.0, 4.0])?.into_output(); // [1 1; 2 4]
    /// let lu = device.solver().lu(Matrix::square(2), a)?.await_result()?;
    /// assert_eq!(device.download(lu.factors())?.await_result()?, [2.0, 0.5, 4.0, -1.0]);
    /// assert_eq!(device.download(lu.pivots())?.await_result()?, [2, 2]);
    /// let b = device.upload([3.0f64, 8.0])?.into_output();
    /// let x = lu.solve(&device.solver(), Transpose::No, Matrix::new(2, 1), b)?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?, [2.0, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn lu<T: SolverElement>(&self, of_a: Matrix, a: DeviceBuffer<T>) -> Submitted<Lu<T>, Verdict> {
        let made = of_a.check("a", a.len()).and_then(|()| {
            let pivots = self.device.uninit(of_a.size().saturating_mul(of_a.count))?;
            Ok((pivots, self.device.uninit(of_a.count)?))
        });
        match made {
            Ok((pivots, info)) => self.getrf(of_a, a, pivots, info),
            Err(error) => Err(self.refuse(Getrf::<T>::NAME, error, |d| Ok((a, d.uninit(0)?, d.uninit(0)?)))),
        }
    }

    /// As [`lu`](Self::lu), with buffers for the pivots (`min(rows, cols)` for each matrix) and the infos (one for each) that the
    /// caller gives.
    ///
    /// # Errors
    /// As [`lu`](Self::lu), and when the buffer of the pivots or of the infos is too short.
    pub fn getrf<T: SolverElement>(
        &self,
        of_a: Matrix,
        a: DeviceBuffer<T>,
        pivots: DeviceBuffer<i64>,
        info: DeviceBuffer<i32>,
    ) -> Submitted<Lu<T>, Verdict> {
        self.submit(Getrf { a: of_a, _type: PhantomData }, (), (a, pivots, info))
    }
}
