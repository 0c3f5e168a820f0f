//! Many small LU factorizations, and solutions and inverses from them: getrf, getrs, getri, matinv, batched.

#[cfg(feature = "blas")]
use super::super::routine::Queue;
use super::super::routine::Routine;
use super::super::{Blas, BlasElement, Transpose};
use super::batch::{Operand, check_int};
#[cfg(feature = "host")]
use crate::numerics::level3::batch;
use crate::op::{Cost, Spans};
use crate::{DeviceBuffer, Error, In, Result, Submitted};
use std::marker::PhantomData;

/// A batch of `n x n` matrices A, and beside each a second matrix: the right sides of [`Blas::getrs_batched`], the inverse
/// of [`Blas::getri_batched`] and [`Blas::matinv_batched`].
///
/// The pivots of matrix `i` are the `n` numbers from `i * n` on: row `r` was swapped with row `pivots[r]`, counted from 1,
/// as LAPACK has it. The info of matrix `i` is number `i`: zero, or the place, counted from 1, of a zero on the diagonal of
/// U, which makes the matrix singular: its factors are complete, its inverse is not. Nothing waits to look at them: they
/// stay on the device like any result.
///
/// Unless set: leading dimensions leave no gaps and each matrix begins where the one before it ends. All sizes fit 32-bit
/// integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct Lu {
    n: usize,
    count: usize,
    lda: Option<usize>,
    stride_a: Option<usize>,
    ldb: Option<usize>,
    stride_b: Option<usize>,
}

impl Lu {
    /// `count` matrices of `n x n`.
    pub fn new(n: usize, count: usize) -> Self {
        Lu { n, count, lda: None, stride_a: None, ldb: None, stride_b: None }
    }

    /// Elements between the columns of A.
    pub fn lda(mut self, lda: usize) -> Self {
        self.lda = Some(lda);
        self
    }

    /// Elements from one A to the next.
    pub fn stride_a(mut self, stride: usize) -> Self {
        self.stride_a = Some(stride);
        self
    }

    /// Elements between the columns of the second matrix.
    pub fn ldb(mut self, ldb: usize) -> Self {
        self.ldb = Some(ldb);
        self
    }

    /// Elements from one second matrix to the next.
    pub fn stride_b(mut self, stride: usize) -> Self {
        self.stride_b = Some(stride);
        self
    }

    /// A.
    fn a(&self) -> Operand {
        let ld = self.lda.unwrap_or(self.n.max(1));
        let stride = self.stride_a.unwrap_or(ld.saturating_mul(self.n));
        Operand { name: "a", rows: self.n, cols: self.n, ld, stride }
    }

    /// The second matrix, of so many columns.
    fn b(&self, name: &'static str, cols: usize) -> Operand {
        let ld = self.ldb.unwrap_or(self.n.max(1));
        Operand { name, rows: self.n, cols, ld, stride: self.stride_b.unwrap_or(ld.saturating_mul(cols)) }
    }

    fn check_sizes(&self) -> Result<()> {
        check_int("n", self.n)?;
        check_int("count", self.count)?;
        check_int("lda", self.a().ld)
    }

    fn check_pivots(&self, pivots: usize) -> Result<()> {
        let need = self.n.saturating_mul(self.count);
        if pivots >= need {
            return Ok(());
        }
        let what = format!("{pivots} elements, but {} matrices of {} rows have {need}", self.count, self.n);
        Err(Error::invalid("pivots", what))
    }

    fn check_info(&self, info: usize) -> Result<()> {
        if info >= self.count {
            return Ok(());
        }
        Err(Error::invalid("info", format!("{info} elements, but there are {} matrices", self.count)))
    }

    /// `times` for each matrix, in thirds of the cube of `n`.
    fn cost<T: BlasElement>(&self, thirds: u64, matrices: u64) -> Cost {
        let (n, count) = (self.n as u64, self.count as u64);
        let each = if T::DTYPE.is_complex() { 4 } else { 1 };
        let square = n.saturating_mul(n).saturating_mul(count);
        let flops = square.saturating_mul(n).saturating_mul(thirds * each) / 3;
        Cost { flops, bytes: square.saturating_mul(matrices).saturating_mul(size_of::<T>() as u64) }
    }

    /// Multiply-adds of one matrix.
    #[cfg(feature = "host")]
    fn work(&self) -> usize {
        self.n.saturating_mul(self.n).saturating_mul(self.n)
    }
}

/// The infos of matrices without elements: of each, whatever their number.
#[cfg(feature = "host")]
fn regular(info: &mut [i32], count: usize) -> Result<()> {
    info.iter_mut().take(count).for_each(|info| *info = 0);
    Ok(())
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Factor<T>(Lu, PhantomData<T>);

impl<T: BlasElement> Routine for Factor<T> {
    const NAME: &'static str = "getrf_batched";
    type Reads = ();
    type Output = (DeviceBuffer<T>, DeviceBuffer<i32>, DeviceBuffer<i32>);
    type Raw = ();

    fn check(&self, (): &(), (a, pivots, info): &Spans<(T, i32, i32)>) -> Result<()> {
        self.0.check_sizes()?;
        self.0.a().check(self.0.count, a.len(), true)?;
        self.0.check_pivots(pivots.len())?;
        self.0.check_info(info.len())
    }

    fn overwrites_each(&self, (_, pivots, info): &Spans<(T, i32, i32)>, index: usize) -> bool {
        let Lu { n, count, .. } = self.0;
        match index {
            0 => false,
            1 => n.checked_mul(count) == Some(pivots.len()),
            _ => count == info.len(),
        }
    }

    fn cost(&self) -> Cost {
        self.0.cost::<T>(2, 2)
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (a, pivots, info): (&mut [T], &mut [i32], &mut [i32])) -> Result<()> {
        let (Lu { n, count, .. }, of_a) = (self.0, self.0.a());
        if n == 0 {
            return regular(info, count);
        }
        let a = batch::parts_mut(a, of_a.stride, count);
        let pivots = batch::parts_mut(pivots, n, count);
        let items: Vec<_> = a.into_iter().zip(pivots).zip(info).collect();
        batch::each(items, self.0.work(), |((a, pivots), info)| *info = T::getrf(n, a, of_a.ld, pivots));
        Ok(())
    }

    #[cfg(feature = "blas")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (Lu { n, count, .. }, of_a, (a, pivots, info)) = (self.0, self.0.a(), *queue.writes());
        if count == 0 {
            return Ok(());
        }
        if n == 0 {
            // SAFETY: an operand, which has `count` numbers (checked).
            return unsafe { queue.fill(info.address(), count, &[0; 4]) };
        }
        let [a] = queue.arrays([&of_a.addresses::<T>(count, a.address())])?;
        let (n, lda, count) = (n as i32, of_a.ld as i32, count as i32);
        let (pivots, info) = (pivots.address() as *mut _, info.address() as *mut _);
        // SAFETY: matrices, pivots and info lie inside their buffers (checked) and the array of addresses in scratch,
        // which live until this work is done; the sizes were checked to fit.
        queue.typed(crate::cuda::PointerMode::Host, |api, handle| unsafe {
            api.getrf_batched(T::LETTER, handle, n, a, lda, pivots, info, count)
        })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Solve<T> {
    lu: Lu,
    trans: Transpose,
    nrhs: usize,
    _type: PhantomData<T>,
}

impl<T: BlasElement> Routine for Solve<T> {
    const NAME: &'static str = "getrs_batched";
    type Reads = (T, i32);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, pivots): &Spans<Self::Reads>, (b,): &Spans<(T,)>) -> Result<()> {
        self.lu.check_sizes()?;
        check_int("nrhs", self.nrhs)?;
        let of_b = self.lu.b("b", self.nrhs);
        check_int("ldb", of_b.ld)?;
        self.lu.a().check(self.lu.count, a.len(), false)?;
        self.lu.check_pivots(pivots.len())?;
        of_b.check(self.lu.count, b.len(), true)
    }

    fn cost(&self) -> Cost {
        let cost = self.lu.cost::<T>(6, 2);
        let (n, nrhs) = (self.lu.n.max(1) as u64, self.nrhs as u64);
        Cost { flops: cost.flops / n * nrhs, ..cost }
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, pivots): (&[T], &[i32]), (b,): (&mut [T],)) -> Result<()> {
        let (Lu { n, count, .. }, of_a, of_b) = (self.lu, self.lu.a(), self.lu.b("b", self.nrhs));
        if n == 0 || self.nrhs == 0 {
            return Ok(());
        }
        let b = batch::parts_mut(b, of_b.stride, count);
        let factors = batch::parts(a, of_a.stride, count).zip(batch::parts(pivots, n, count));
        let work = n.saturating_mul(n).saturating_mul(self.nrhs);
        batch::each(factors.zip(b).collect(), work, |((a, pivots), b)| {
            T::getrs(n, self.nrhs, self.trans.on_host(), (a, of_a.ld), pivots, (b, of_b.ld));
        });
        Ok(())
    }

    #[cfg(feature = "blas")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, pivots), (b,)) = (*queue.reads(), *queue.writes());
        let (Lu { n, count, .. }, of_a, of_b) = (self.lu, self.lu.a(), self.lu.b("b", self.nrhs));
        if n == 0 || count == 0 || self.nrhs == 0 {
            return Ok(());
        }
        let (a, b) = (of_a.addresses::<T>(count, a.address()), of_b.addresses::<T>(count, b.address()));
        let [a, b] = queue.arrays([&a, &b])?;
        let pivots = queue.keep_pivots(pivots.address(), n, count)?;
        let (trans, n, nrhs, count) = (self.trans.code::<T>(), n as i32, self.nrhs as i32, count as i32);
        let (lda, ldb, pivots) = (of_a.ld as i32, of_b.ld as i32, pivots as *const _);
        let mut refused = 0i32;
        let info = (&raw mut refused).cast();
        // SAFETY: matrices lie inside their buffers (checked), pivots, each a row, and the arrays of addresses in scratch,
        // which live until this work is done; `info` is host memory that the call alone writes; the sizes were checked to fit.
        queue.typed(crate::cuda::PointerMode::Host, |api, handle| unsafe {
            api.getrs_batched(T::LETTER, handle, trans, n, nrhs, a, lda, pivots, b, ldb, info, count)
        })?;
        match refused {
            0 => Ok(()),
            which => Err(Error::library(format!("getrs refused its argument {which}"))),
        }
    }
}

/// From the factors (getri), or from the matrices themselves (matinv).
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Invert<T, const FACTORED: bool>(Lu, PhantomData<T>);

/// The most rows that the library inverts at once.
#[cfg(feature = "blas")]
const MATINV_MOST: usize = 32;

impl<T: BlasElement, const FACTORED: bool> Routine for Invert<T, FACTORED> {
    const NAME: &'static str = if FACTORED { "getri_batched" } else { "matinv_batched" };
    type Reads = (T, Option<i32>);
    type Output = (DeviceBuffer<T>, DeviceBuffer<i32>);
    type Raw = ();

    fn check(&self, (a, pivots): &Spans<Self::Reads>, (c, info): &Spans<(T, i32)>) -> Result<()> {
        let (lu, of_c) = (self.0, self.0.b("c", self.0.n));
        lu.check_sizes()?;
        check_int("ldb", of_c.ld)?;
        lu.a().check(lu.count, a.len(), false)?;
        if let Some(pivots) = pivots {
            lu.check_pivots(pivots.len())?;
        }
        of_c.check(lu.count, c.len(), true)?;
        lu.check_info(info.len())
    }

    fn overwrites_each(&self, (c, info): &Spans<(T, i32)>, index: usize) -> bool {
        match index {
            0 => self.0.b("c", self.0.n).fills(self.0.count, c.len()),
            _ => self.0.count == info.len(),
        }
    }

    fn cost(&self) -> Cost {
        self.0.cost::<T>(if FACTORED { 4 } else { 6 }, 2)
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, pivots): (&[T], Option<&[i32]>), (c, info): (&mut [T], &mut [i32])) -> Result<()> {
        let (Lu { n, count, .. }, of_a, of_c) = (self.0, self.0.a(), self.0.b("c", self.0.n));
        if n == 0 {
            return regular(info, count);
        }
        let c = batch::parts_mut(c, of_c.stride, count);
        if let Some(pivots) = pivots {
            let factors = batch::parts(a, of_a.stride, count).zip(batch::parts(pivots, n, count));
            batch::each(factors.zip(c).zip(info).collect(), self.0.work(), |(((a, pivots), c), info)| {
                *info = T::getri(n, (a, of_a.ld), pivots, (c, of_c.ld));
            });
            return Ok(());
        }
        let items = batch::parts(a, of_a.stride, count).zip(c).zip(info).collect();
        batch::each(items, self.0.work(), |((a, c), info)| {
            let (mut factors, mut pivots) = (vec![T::default(); n.saturating_mul(n)], vec![0; n]);
            T::copy(n, n, (a, of_a.ld), (&mut factors, n.max(1)));
            T::getrf(n, &mut factors, n.max(1), &mut pivots);
            *info = T::getri(n, (&factors, n.max(1)), &pivots, (c, of_c.ld));
        });
        Ok(())
    }

    #[cfg(feature = "blas")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, pivots), (c, info)) = (*queue.reads(), *queue.writes());
        let (Lu { n, count, .. }, mut of_a, of_c) = (self.0, self.0.a(), self.0.b("c", self.0.n));
        if count == 0 {
            return Ok(());
        }
        if n == 0 {
            // SAFETY: an operand, which has `count` numbers (checked).
            return unsafe { queue.fill(info.address(), count, &[0; 4]) };
        }
        let c = of_c.addresses::<T>(count, c.address());
        let (info, size, ldc, number) = (info.address() as *mut _, n as i32, of_c.ld as i32, count as i32);
        let host = crate::cuda::PointerMode::Host;
        if pivots.is_none() && n <= MATINV_MOST {
            let [a, c] = queue.arrays([&of_a.addresses::<T>(count, a.address()), &c])?;
            // SAFETY: matrices and info lie inside their buffers (checked) and the arrays of addresses in scratch, which
            // live until this work is done; the sizes were checked to fit.
            return queue.typed(host, |api, handle| unsafe {
                api.matinv_batched(T::LETTER, handle, size, a, of_a.ld as i32, c, ldc, info, number)
            });
        }
        let (factors, pivots) = match pivots {
            Some(pivots) => (of_a.addresses::<T>(count, a.address()), queue.keep_pivots(pivots.address(), n, count)?),
            None => {
                // The factors go to a copy: what is read stays as it is.
                let copy;
                (copy, of_a) = queue.copies(&of_a, count, &a)?;
                (of_a.addresses::<T>(count, copy), queue.scratch(n.saturating_mul(count).saturating_mul(4))?)
            }
        };
        let ([a, c], lda, given) = (queue.arrays([&factors, &c])?, of_a.ld as i32, FACTORED);
        if !given {
            // SAFETY: as above; the copy and its pivots lie in scratch of this dispatch.
            queue.typed(host, |api, handle| unsafe {
                api.getrf_batched(T::LETTER, handle, size, a, lda, pivots as *mut _, info, number)
            })?;
        }
        // SAFETY: as above.
        queue.typed(host, |api, handle| unsafe {
            api.getri_batched(T::LETTER, handle, size, a, lda, pivots as *const _, c, ldc, info, number)
        })
    }
}

impl Blas {
    /// LU factors with partial pivoting of each of a batch, in place (`cublas<t>getrfBatched`); see [`Lu`]. The factors,
    /// the pivots (`n * count` of them) and the infos (`count`) come back; a singular matrix is no error of the call.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small, something does not lie inside its buffer, or
    /// matrices overlap; a stale or foreign buffer. All three buffers come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Transpose, blas::Lu};
    /// let (device, lu) = (Device::host()?, Lu::new(2, 1));
    /// let a = device.upload([1.0f64, 2.0, 1.0, 4.0])?.into_output(); // [1 1; 2 4]
    /// let (a, pivots, info) = device.blas().getrf_batched(lu, a, device.uninit(2)?, device.uninit(1)?)?.await_result()?;
    /// assert_eq!(device.download(&a)?.await_result()?, [2.0, 0.5, 4.0, -1.0]);
    /// assert_eq!(device.download(&pivots)?.await_result()?, [2, 2]);
    /// assert_eq!(device.download(&info)?.await_result()?, [0]);
    /// let b = device.upload([3.0f64, 8.0])?.into_output();
    /// let x = device.blas().getrs_batched(lu, Transpose::No, 1, &a, &pivots, b)?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?, [2.0, 1.0]);
    /// # Ok(()) }
    /// ```
    #[expect(clippy::result_large_err, reason = "three buffers come back")]
    pub fn getrf_batched<T: BlasElement>(
        &self,
        lu: Lu,
        a: DeviceBuffer<T>,
        pivots: DeviceBuffer<i32>,
        info: DeviceBuffer<i32>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<i32>, DeviceBuffer<i32>)> {
        self.submit(Factor(lu, PhantomData), (), (a, pivots, info))
    }

    /// Solves `op(A) * X = B` for `nrhs` right sides each of a batch, in place of B, from the factors and pivots that
    /// [`getrf_batched`](Self::getrf_batched) gave (`cublas<t>getrsBatched`); see [`Lu`]. Where a matrix is singular the
    /// solution holds infinities and NaN.
    ///
    /// # Errors
    /// As [`getrf_batched`](Self::getrf_batched); `b` comes back.
    pub fn getrs_batched<'a, T: BlasElement>(
        &self,
        lu: Lu,
        trans: Transpose,
        nrhs: usize,
        a: impl Into<In<'a, T>>,
        pivots: impl Into<In<'a, i32>>,
        b: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.submit(Solve { lu, trans, nrhs, _type: PhantomData }, (a.into(), pivots.into()), (b,))
    }

    /// The inverse of each of a batch, into C, from the factors and pivots that
    /// [`getrf_batched`](Self::getrf_batched) gave (`cublas<t>getriBatched`); see [`Lu`]. Where the info of a matrix is
    /// not zero, what its part of C holds is not specified.
    ///
    /// # Errors
    /// As [`getrf_batched`](Self::getrf_batched); `c` and `info` come back.
    pub fn getri_batched<'a, T: BlasElement>(
        &self,
        lu: Lu,
        a: impl Into<In<'a, T>>,
        pivots: impl Into<In<'a, i32>>,
        c: DeviceBuffer<T>,
        info: DeviceBuffer<i32>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<i32>)> {
        self.submit(Invert::<T, true>(lu, PhantomData), (a.into(), Some(pivots.into())), (c, info))
    }

    /// The inverse of each of a batch, into C (`cublas<t>matinvBatched` up to 32 rows, factors and `getriBatched`
    /// beyond); see [`Lu`]. Where the info of a matrix is not zero, what its part of C holds is not specified.
    ///
    /// # Errors
    /// As [`getrf_batched`](Self::getrf_batched); `c` and `info` come back.
    pub fn matinv_batched<'a, T: BlasElement>(
        &self,
        lu: Lu,
        a: impl Into<In<'a, T>>,
        c: DeviceBuffer<T>,
        info: DeviceBuffer<i32>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<i32>)> {
        self.submit(Invert::<T, false>(lu, PhantomData), (a.into(), None), (c, info))
    }
}
