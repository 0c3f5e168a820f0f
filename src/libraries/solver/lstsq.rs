//! Least squares of any rank, by singular values: gelsd.

use super::output::solutions;
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
#[non_exhaustive]
pub struct Lstsq<T: SolverElement> {
    /// X, in the memory of B.
    pub x: Tensor<T>,
    /// The sum of squares of each column of `B - A * X`, for each matrix as many as B has columns; one, if B is a vector.
    pub residuals: Tensor<T::Real>,
    /// How many singular values of each matrix are above `rcond` times the largest.
    pub ranks: Tensor<i32>,
    /// The singular values, descending, `min(rows, cols)` for each matrix.
    pub values: Tensor<T::Real>,
    /// The tensor that held A. Its contents are undefined: an operation that reads it is refused.
    pub a: Tensor<T>,
}

impl<T: SolverElement> Output for Lstsq<T> {
    type Writes = (Strided<T>, Strided<T>, Strided<T::Real>, Strided<T::Real>, Strided<i32>);
    type Host = ();

    fn join((a, x, values, residuals, ranks): Bufs<Self>, (): ()) -> Result<Self> {
        Ok(Lstsq { x: solutions(x, &a)?, residuals, ranks, values, a })
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
    /// make `||A * X - B||` least, the one of least norm. With it come the sum of squares of each column of `B - A * X`, the
    /// rank, and the singular values. (NumPy gives residuals only for a full rank; here they are always computed.)
    ///
    /// Singular values of at most `rcond` times the largest count as zero; by default `rcond` is `max(rows, cols)`
    /// times the machine epsilon of the type. So columns whose sizes differ by more than that count as dependent: scale each column to
    /// norm 1, and the rows of X back. On a GPU the singular values come from
    /// [`SvdMethod::Bidiagonal`](super::SvdMethod). A B of one axis is a vector. X is in the first rows of a B that is given by
    /// value, unless A has fewer rows than columns: then X is larger than B, which is always copied.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `rcond` is negative or not finite, or, with both shapes, when B has not as many rows as A,
    /// or another batch; [`Error::OutOfMemory`]; a stale or foreign tensor. At the wait [`Error::NotConverged`],
    /// also if A holds a NaN or an infinity. All tensors come back; what A and B hold then is not specified.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.full([3, 2], 1.0f64)?; // rank one
    /// let b = device.tensor([3], [1.0f64, 2.0, 3.0])?;
    /// let answer = device.solver().lstsq(None, a, b)?.await_result()?;
    /// let x = device.to_vec(&answer.x)?;
    /// assert!((x[0] - 1.0).abs() < 1e-14 && (x[1] - 1.0).abs() < 1e-14);
    /// assert_eq!(device.item(&answer.ranks)?, 1);
    /// # Ok(()) }
    /// ```
    pub fn lstsq<'a, 'b, T: SolverElement>(
        &self,
        rcond: Option<f64>,
        a: impl GivenTensor<'a, T>,
        b: impl GivenTensor<'b, T>,
    ) -> Submitted<Lstsq<T>, Verdict> {
        self.gelsd(rcond, a.into(), b.into())
    }

    fn gelsd<T: SolverElement>(
        &self,
        rcond: Option<f64>,
        a: Given<'_, T>,
        b: Given<'_, T>,
    ) -> Submitted<Lstsq<T>, Verdict> {
        let columns = match b.layout().shape() {
            [_] => None,
            shape => shape.last().copied(),
        };
        let made = self.taken_with(a, b, |batch, of| {
            let residuals = self.new_tensor(batch, columns.as_slice())?;
            Ok((self.new_tensor(batch, &[of.size()])?, residuals, self.new_tensor(batch, &[])?))
        });
        match made {
            Ok((a, b, (of_a, of_b, (values, residuals, ranks)))) => {
                let op = Gelsd { a: of_a, b: of_b, rcond, _type: PhantomData };
                self.submit(op, (), (a, b, values, residuals, ranks))
            }
            Err((error, a, b)) => Err(self.refuse(Gelsd::<T>::NAME, error, |d| {
                let none = || d.uninit([0]);
                Ok((a.back(d)?, b.back(d)?, none()?, none()?, d.uninit([0])?))
            })),
        }
    }
}
