//! Inverses, from the factors or from the matrices themselves: getri and matinv.

use super::super::super::prelude::*;
use super::super::batch::check_int;
use super::super::spread::{Even, Listed, Spread};
use super::LuBatch;
#[cfg(feature = "host")]
use crate::core::room::{OrUnwind, collected, filled};
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

/// From the factors (getri), or from the matrices themselves (matinv).
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::blas::level3) struct Invert<T, L, const FACTORED: bool>(LuBatch, PhantomData<(T, L)>);

/// Maximum number of rows of matrices that the library inverts in one call.
#[cfg(feature = "cuda")]
const MATINV_MOST: usize = 32;

impl<T: BlasElement, L: Spread, const FACTORED: bool> Routine for Invert<T, L, FACTORED> {
    const NAME: &'static str = match (FACTORED, L::LISTED) {
        (true, true) => "getri_batched",
        (true, false) => "getri_strided_batched",
        (false, true) => "matinv_batched",
        (false, false) => "matinv_strided_batched",
    };
    const OPERANDS: OperandNames = (&["a", "pivots"], &["c", "info"]);
    type Reads = (L::Of<T>, Option<i32>);
    type Output = L::Inverses<T>;
    type Raw = ();

    fn check(&self, (a, pivots): &Spans<Self::Reads>, (c, info): &Spans<(L::Of<T>, i32)>) -> Result<()> {
        let (lu, of_c) = (self.0, self.0.b("c", self.0.n));
        lu.check_sizes::<L>()?;
        check_int("ldb", of_c.ld)?;
        L::check::<T>(&lu.a(), lu.count(), a, false)?;
        if let Some(pivots) = pivots {
            lu.check_pivots(pivots.len())?;
        }
        L::check::<T>(&of_c, lu.count(), c, true)?;
        lu.check_info(info.len())
    }

    fn overwrites_each(&self, (c, info): &Spans<(L::Of<T>, i32)>, index: usize) -> bool {
        let count = self.0.count();
        match index < L::buffers(count) {
            true => L::fills::<T>(&self.0.b("c", self.0.n), count, c, index),
            false => count == info.len(),
        }
    }

    fn cost(&self) -> Cost {
        self.0.cost::<T>(if FACTORED { 4 } else { 6 }, 2)
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, pivots): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (c, info): <(L::Of<T>, i32) as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<()> {
        let (LuBatch { n, .. }, count, of_a, of_c) = (self.0, self.0.count(), self.0.a(), self.0.b("c", self.0.n));
        if n == 0 {
            return super::regular(info, count);
        }
        let (a, c) = (L::parts::<T>(&of_a, count, a), L::parts_mut::<T>(&of_c, count, c));
        if let Some(pivots) = pivots {
            let factors = a.into_iter().zip(batch::parts(pivots, n, count));
            batch::each(collected(factors.zip(c).zip(info))?, self.0.work(), |(((a, pivots), c), info)| {
                *info = T::getri(n, (a, of_a.ld), pivots, (c, of_c.ld));
            });
            return Ok(());
        }
        batch::each(collected(a.into_iter().zip(c).zip(info))?, self.0.work(), |((a, c), info)| {
            let (mut factors, mut pivots) =
                (filled(n.saturating_mul(n), T::default()).or_unwind(), filled(n, 0).or_unwind());
            T::copy(n, n, (a, of_a.ld), (&mut factors, n.max(1)));
            T::getrf(n, &mut factors, n.max(1), &mut pivots);
            *info = T::getri(n, (&factors, n.max(1)), &pivots, (c, of_c.ld));
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, pivots), (c, info)) = (queue.reads(), queue.writes());
        let (LuBatch { n, .. }, count, mut of_a, of_c) = (self.0, self.0.count(), self.0.a(), self.0.b("c", self.0.n));
        if count == 0 {
            return Ok(());
        }
        if n == 0 {
            // SAFETY: an operand, which has `count` numbers (checked).
            return unsafe { queue.fill(info.address(), count, &[0; 4]) };
        }
        let (given, c) = (L::places::<T>(&of_a, count, a), L::places::<T>(&of_c, count, c));
        let (info, size, ldc, number) = (info.address() as *mut _, n as i32, of_c.ld as i32, count as i32);
        if pivots.is_none() && n <= MATINV_MOST {
            let [a, c] = queue.arrays([&given, &c])?;
            // SAFETY: matrices and info lie inside their buffers (checked) and the arrays of addresses in scratch, which
            // live until this work is done; the sizes were checked to fit.
            return queue.typed(PointerMode::Host, |api, handle| unsafe {
                api.matinv_batched(T::LETTER, handle, size, a, of_a.ld as i32, c, ldc, info, number)
            });
        }
        let (factors, pivots) = match pivots {
            Some(pivots) => (given, queue.keep_pivots(pivots.address(), n, count)?),
            None => {
                // The factors are computed in a copy: the operand is only read.
                let copy;
                (copy, of_a) = queue.copies::<T>(&of_a, &given, L::whole::<T>(a))?;
                (of_a.places::<T>(count, copy), queue.scratch(n.saturating_mul(count).saturating_mul(4))?)
            }
        };
        let ([a, c], lda) = (queue.arrays([&factors, &c])?, of_a.ld as i32);
        if !FACTORED {
            // SAFETY: as above; the copy and its pivots lie in scratch of this dispatch.
            queue.typed(PointerMode::Host, |api, handle| unsafe {
                api.getrf_batched(T::LETTER, handle, size, a, lda, pivots as *mut _, info, number)
            })?;
        }
        // SAFETY: as above.
        queue.typed(PointerMode::Host, |api, handle| unsafe {
            api.getri_batched(T::LETTER, handle, size, a, lda, pivots as *const _, c, ldc, info, number)
        })
    }
}

impl Blas {
    /// The inverse of each of a batch at even distances in one buffer, into C, from the factors and pivots of
    /// [`getrf_strided_batched`](Self::getrf_strided_batched) (`cublas<t>getriBatched`); see [`LuBatch`]. If the info of a
    /// matrix is not zero, the contents of its part of C are not specified.
    ///
    /// # Errors
    /// As [`getrf_strided_batched`](Self::getrf_strided_batched); `c` and `info` come back.
    pub fn getri_strided_batched<'a, T: BlasElement>(
        &self,
        lu: LuBatch,
        a: impl Readable<'a, T>,
        pivots: impl Readable<'a, i32>,
        c: DeviceBuffer<T>,
        info: DeviceBuffer<i32>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<i32>)> {
        self.submit(Invert::<T, Even, true>(lu, PhantomData), (a.into(), Some(pivots.into())), (c, info))
    }

    /// As [`getri_strided_batched`](Self::getri_strided_batched), of matrices in buffers of their own
    /// (`cublas<t>getriBatched`).
    ///
    /// # Errors
    /// As [`getrf_batched`](Self::getrf_batched); all of `c`, and `info`, come back.
    pub fn getri_batched<'a, T: BlasElement>(
        &self,
        lu: LuBatch,
        a: &[In<'a, T>],
        pivots: impl Readable<'a, i32>,
        c: Vec<DeviceBuffer<T>>,
        info: DeviceBuffer<i32>,
    ) -> Submitted<(Vec<DeviceBuffer<T>>, DeviceBuffer<i32>)> {
        self.submit(Invert::<T, Listed, true>(lu.listed(a.len()), PhantomData), (a, Some(pivots.into())), (c, info))
    }

    /// The inverse of each of a batch at even distances in one buffer, into C (`cublas<t>matinvBatched` up to 32 rows,
    /// factors and `getriBatched` beyond); see [`LuBatch`]. If the info of a matrix is not zero, the contents of its part of
    /// C are not specified.
    ///
    /// # Errors
    /// As [`getrf_strided_batched`](Self::getrf_strided_batched); `c` and `info` come back.
    pub fn matinv_strided_batched<'a, T: BlasElement>(
        &self,
        lu: LuBatch,
        a: impl Readable<'a, T>,
        c: DeviceBuffer<T>,
        info: DeviceBuffer<i32>,
    ) -> Submitted<(DeviceBuffer<T>, DeviceBuffer<i32>)> {
        self.submit(Invert::<T, Even, false>(lu, PhantomData), (a.into(), None), (c, info))
    }

    /// As [`matinv_strided_batched`](Self::matinv_strided_batched), of matrices in buffers of their own
    /// (`cublas<t>matinvBatched`).
    ///
    /// # Errors
    /// As [`getrf_batched`](Self::getrf_batched); all of `c`, and `info`, come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, blas::LuBatch};
    /// let device = Device::host()?;
    /// let (x, y) = (device.upload([2.0f64])?.into_output(), device.upload([4.0f64])?.into_output());
    /// let (c, info) = (vec![device.uninit(1)?, device.uninit(1)?], device.uninit(2)?);
    /// let (a, lu) = ([x.as_in(), y.as_in()], LuBatch::new(1));
    /// let (c, info) = device.blas().matinv_batched(lu, &a, c, info)?.await_result()?;
    /// assert_eq!(device.download(&c[1])?.await_result()?, [0.25]);
    /// assert_eq!(device.download(&info)?.await_result()?, [0, 0]);
    /// # Ok(()) }
    /// ```
    pub fn matinv_batched<T: BlasElement>(
        &self,
        lu: LuBatch,
        a: &[In<'_, T>],
        c: Vec<DeviceBuffer<T>>,
        info: DeviceBuffer<i32>,
    ) -> Submitted<(Vec<DeviceBuffer<T>>, DeviceBuffer<i32>)> {
        self.submit(Invert::<T, Listed, false>(lu.listed(a.len()), PhantomData), (a, None), (c, info))
    }
}
