//! Least squares of any rank, by singular values: gelsd.

use super::prelude::*;
#[cfg(feature = "cuda")]
use super::svd::cuda as svd;
use crate::core::op::Verdict;
#[cfg(feature = "cuda")]
use crate::libraries::blas::native::product;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::calls;
#[cfg(feature = "cuda")]
use crate::libraries::solver::native::kernels;

/// The solutions of least squares of a matrix, or of each of a batch.
#[derive(Debug)]
pub struct Lstsq<T: SolverElement> {
    /// The buffer that held B: X, in the first `cols` rows.
    pub x: DeviceBuffer<T>,
    /// The sum of squares of each column of `B - A * X`, for each matrix as many as B has columns.
    pub residuals: DeviceBuffer<T::Real>,
    /// How many singular values of each matrix are above `rcond` times the largest.
    pub ranks: DeviceBuffer<i32>,
    /// The singular values, descending, `min(rows, cols)` for each matrix.
    pub values: DeviceBuffer<T::Real>,
    /// The buffer that held A. Its contents are undefined: an operation that reads it is refused.
    pub a: DeviceBuffer<T>,
}

impl<T: SolverElement> Output for Lstsq<T> {
    type Writes = (T, T, T::Real, T::Real, i32);
    type Host = ();

    fn join((a, x, values, residuals, ranks): Bufs<Self>, (): ()) -> Result<Self> {
        Ok(Lstsq { x, residuals, ranks, values, a })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Gelsd<T> {
    a: Matrix,
    b: Matrix,
    rcond: Option<f64>,
    _type: PhantomData<T>,
}

type Written<T> =
    (T, T, <T as crate::libraries::blas::BlasElement>::Real, <T as crate::libraries::blas::BlasElement>::Real, i32);

impl<T: SolverElement> Gelsd<T> {
    fn limit(&self) -> f64 {
        let epsilon = if size_of::<T::Real>() == size_of::<f32>() { f32::EPSILON.into() } else { f64::EPSILON };
        self.rcond.unwrap_or(self.a.rows.max(self.a.cols) as f64 * epsilon)
    }
}

impl<T: SolverElement> Routine for Gelsd<T> {
    type Front = crate::libraries::solver::Solver;
    const NAME: &'static str = "gelsd";
    const OPERANDS: OperandNames = (&[], &["a", "b", "s", "residuals", "ranks"]);
    const LEAVES_UNDEFINED: &'static [usize] = &[0];
    const BLOCKING: bool = true;
    type Reads = ();
    type Output = Lstsq<T>;
    type Raw = First;

    fn check(&self, (): &(), (a, b, s, residuals, ranks): &Spans<Written<T>>) -> Result<()> {
        if let Some(rcond) = self.rcond.filter(|rcond| !(*rcond >= 0.0 && rcond.is_finite())) {
            return Err(Error::invalid("rcond", format!("{rcond}, but it must be finite and at least 0")));
        }
        self.a.check("a", a.len())?;
        self.b.check("b", b.len())?;
        self.b.check_beside("b", self.a.rows.max(self.a.cols), &self.a)?;
        check_len("values", self.a.size(), self.a.count, s.len())?;
        check_len("residuals", self.b.cols, self.a.count, residuals.len())?;
        check_len("ranks", 1, self.a.count, ranks.len())
    }

    fn overwrites_each(&self, (_, _, s, residuals, ranks): &Spans<Written<T>>, index: usize) -> bool {
        let count = self.a.count;
        match index {
            2 => self.a.size().checked_mul(count) == Some(s.len()),
            3 => self.b.cols.checked_mul(count) == Some(residuals.len()),
            4 => count == ranks.len(),
            _ => false,
        }
    }

    fn cost(&self) -> Cost {
        let (Matrix { rows, cols, count, .. }, nrhs) = (self.a, self.b.cols);
        let columns = self.a.size().saturating_add(nrhs);
        cost::<T>(15, [rows, cols, columns], count, rows.saturating_mul(cols.saturating_add(nrhs)).saturating_mul(2))
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (): (),
        (a, b, s, residuals, ranks): <Written<T> as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<First> {
        let (of_a, of_b, limit) = (&self.a, &self.b, self.limit());
        let mut info = vec![0; of_a.count];
        let values = batch::vectors_mut(s, of_a.size(), of_a.count);
        let residuals = batch::vectors_mut(residuals, of_b.cols, of_a.count);
        let items: Vec<_> = batch::parts(of_a, a).into_iter().zip(batch::parts_mut(of_b, b)).collect();
        let items = items.into_iter().zip(values).zip(residuals).zip(ranks.iter_mut().zip(&mut info)).collect();
        let work = of_a.rows.saturating_mul(of_a.cols).saturating_mul(of_a.size()).saturating_mul(5);
        batch::each(items, work, |((((a, b), s), residuals), (rank, info)), threads| {
            (*info, *rank) = T::gelsd(a, b, s, residuals, limit, threads);
        });
        Ok(first(&info))
    }

    /// `X = V * S^-1 * U^H * B`, and `B - A * X` with a copy of A.
    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (of_a, of_b, limit) = (&self.a, &self.b, self.limit());
        let (a, b, s, residuals, ranks) = *queue.writes();
        let (Matrix { rows: m, cols: n, .. }, k, nrhs) = (*of_a, of_a.size(), of_b.cols);
        let (element, real) = (size_of::<T>(), size_of::<T::Real>());
        let info = queue.scratch(4 * of_a.count.max(1))?;
        if k == 0 {
            calls::no_infos(queue, info, of_a.count)?;
        }
        let (copy, u, vh) = (svd::room::<T>(queue, m, n)?, svd::room::<T>(queue, m, k)?, svd::room::<T>(queue, k, n)?);
        let (c, x) = (svd::room::<T>(queue, k, nrhs)?, svd::room::<T>(queue, n, nrhs)?);
        for i in 0..of_a.count {
            let a = (of_a.address::<T>(a.address(), i), of_a.leading());
            let b = (of_b.address::<T>(b.address(), i), of_b.leading());
            let values = s.address() + (i * k * real) as u64;
            let (rank, sums) = (ranks.address() + 4 * i as u64, residuals.address() + (i * nrhs * real) as u64);
            if k == 0 {
                // SAFETY: the rank lies inside its buffer (checked), X in scratch of this dispatch.
                unsafe {
                    queue.fill(rank, 4, &[0])?;
                    queue.fill(x.0, n * nrhs * element, &[0])?;
                }
            } else {
                // SAFETY: A lies inside its buffer (checked), the copy in scratch of this dispatch.
                unsafe { kernels::copy_matrix::<T>(queue, Copy::All, a, copy, (m, n)) }?;
                svd::thin::<T>(queue, (m, n), a, values, [u, vh], info + 4 * i as u64)?;
                kernels::count_above::<T>(queue, values, k, limit, rank)?;
                if nrhs > 0 {
                    // SAFETY: B lies inside its buffer (checked), everything else in scratch of this dispatch.
                    unsafe {
                        product::<T>(queue, (true, false), (1.0, 0.0), (k, nrhs, m), [u, b, c])?;
                        kernels::divide_rows::<T>(queue, c, (k, nrhs), values, limit)?;
                        product::<T>(queue, (true, false), (1.0, 0.0), (n, nrhs, k), [vh, c, x])?;
                        product::<T>(queue, (false, false), (-1.0, 1.0), (m, nrhs, n), [copy, x, b])?;
                    }
                }
            }
            kernels::sum_squares::<T>(queue, b, (m, nrhs), sums)?;
            if nrhs > 0 {
                // SAFETY: X lies in scratch of this dispatch, B inside its buffer (checked), with `n` rows or more.
                unsafe { kernels::copy_matrix::<T>(queue, Copy::All, x, b, (n, nrhs)) }?;
            }
        }
        calls::verdict(queue, info, of_a.count)
    }

    fn finish(&self, raw: First) -> Result<()> {
        Meaning::NotConverged.verdict(raw)
    }
}

impl Solver {
    /// Least squares for an A of any shape and rank, by its singular values (`gelsd`; NumPy's `lstsq`): of all X that
    /// make `||A * X - B||` least, the one of least norm, in the first `cols` rows of B, which has `max(rows, cols)`.
    /// With it come the sum of squares of each column of `B - A * X`, the rank, and the singular values. (NumPy gives
    /// residuals only for a full rank; here they are always computed.)
    ///
    /// Singular values of at most `rcond` times the largest count as zero; by default `rcond` is `max(rows, cols)`
    /// times the machine epsilon of the type. A is consumed. On a GPU the singular values come from
    /// [`SvdMethod::Bidiagonal`](super::SvdMethod).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `rcond` is negative or not finite, the shapes do not agree, or something does not
    /// lie inside its buffer; [`Error::OutOfMemory`]; a stale or foreign buffer. At the wait [`Error::NotConverged`],
    /// also if A holds a NaN or an infinity. All buffers come back; what A and B hold then is not specified.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::Matrix};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f64; 6])?.into_output(); // 3 x 2 of ones: rank one
    /// let b = device.upload([1.0f64, 2.0, 3.0])?.into_output();
    /// let answer = device.solver().lstsq(None, Matrix::new(3, 2), a, Matrix::new(3, 1), b)?.await_result()?;
    /// let x = device.download(&answer.x)?.await_result()?;
    /// assert!((x[0] - 1.0).abs() < 1e-14 && (x[1] - 1.0).abs() < 1e-14);
    /// assert_eq!(device.download(&answer.ranks)?.await_result()?, [1]);
    /// # Ok(()) }
    /// ```
    pub fn lstsq<T: SolverElement>(
        &self,
        rcond: Option<f64>,
        of_a: Matrix,
        a: DeviceBuffer<T>,
        of_b: Matrix,
        b: DeviceBuffer<T>,
    ) -> Submitted<Lstsq<T>, Verdict> {
        let op = Gelsd { a: of_a, b: of_b, rcond, _type: PhantomData };
        let made = of_a.check("a", a.len()).and_then(|()| {
            let values = self.device.uninit(of_a.size().saturating_mul(of_a.count))?;
            let residuals = self.device.uninit(of_b.cols.saturating_mul(of_a.count))?;
            Ok((values, residuals, self.device.uninit(of_a.count)?))
        });
        match made {
            Ok((values, residuals, ranks)) => self.submit(op, (), (a, b, values, residuals, ranks)),
            Err(error) => {
                Err(self.refuse(Gelsd::<T>::NAME, error, |d| Ok((a, b, d.uninit(0)?, d.uninit(0)?, d.uninit(0)?))))
            }
        }
    }
}
