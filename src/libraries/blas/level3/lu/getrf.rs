//! The factors: getrf.

use super::super::super::prelude::*;
use super::super::spread::{Even, Listed, Spread};
use super::LuBatch;
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::blas::level3) struct Factor<T, L>(LuBatch, PhantomData<(T, L)>);

impl<T: BlasElement, L: Spread> Routine for Factor<T, L> {
    const NAME: &'static str = if L::LISTED { "getrf_batched" } else { "getrf_strided_batched" };
    const OPERANDS: OperandNames = (&[], &["a", "pivots", "info"]);
    type Reads = ();
    type Output = L::Factors<T>;
    type Raw = ();

    fn check(&self, (): &(), (a, pivots, info): &Spans<(L::Of<T>, i32, i32)>) -> Result<()> {
        self.0.check_sizes::<L>()?;
        L::check::<T>(&self.0.a(), self.0.count(), a, true)?;
        self.0.check_pivots(pivots.len())?;
        self.0.check_info(info.len())
    }

    fn overwrites_each(&self, (_, pivots, info): &Spans<(L::Of<T>, i32, i32)>, index: usize) -> bool {
        let (n, count) = (self.0.n, self.0.count());
        match index.checked_sub(L::buffers(count)) {
            None => false,
            Some(0) => n.checked_mul(count) == Some(pivots.len()),
            Some(_) => count == info.len(),
        }
    }

    fn cost(&self) -> Cost {
        self.0.cost::<T>(2, 2)
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (): (),
        (a, pivots, info): <(L::Of<T>, i32, i32) as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<()> {
        let (LuBatch { n, .. }, count, of_a) = (self.0, self.0.count(), self.0.a());
        if n == 0 {
            return super::regular(info, count);
        }
        let pivots = batch::parts_mut(pivots, n, count);
        let items: Vec<_> = collected(L::parts_mut::<T>(&of_a, count, a).into_iter().zip(pivots).zip(info))?;
        batch::each(items, self.0.work(), |((a, pivots), info)| *info = T::getrf(n, a, of_a.ld, pivots));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (LuBatch { n, .. }, count, of_a, (a, pivots, info)) = (self.0, self.0.count(), self.0.a(), queue.writes());
        if count == 0 {
            return Ok(());
        }
        if n == 0 {
            // SAFETY: an operand, which has `count` numbers (checked).
            return unsafe { queue.fill(info.address(), count, &[0; 4]) };
        }
        let [a] = queue.arrays([&L::places::<T>(&of_a, count, a)])?;
        let (n, lda, count) = (n as i32, of_a.ld as i32, count as i32);
        let (pivots, info) = (pivots.address() as *mut _, info.address() as *mut _);
        // SAFETY: matrices, pivots and info lie inside their buffers (checked) and the array of addresses in scratch,
        // which live until this work is done; the sizes were checked to fit.
        queue.typed(PointerMode::Host, |api, handle| unsafe {
            api.getrf_batched(T::LETTER, handle, n, a, lda, pivots, info, count)
        })
    }
}

/// Matrices, pivots and infos.
type Factors<A> = (A, DeviceBuffer<i32>, DeviceBuffer<i32>);

impl Blas {
    /// LU factors with partial pivoting of each of a batch at even distances in one buffer, in place
    /// (`cublas<t>getrfBatched`); see [`LuBatch`]. Returns the factors, the pivots (`n * count` of them) and the infos
    /// (`count`); a singular matrix is not an error of the call.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small, something does not lie inside its buffer, or
    /// matrices overlap; a stale or foreign buffer. All three buffers come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Transpose, blas::LuBatch};
    /// let (device, lu) = (Device::host()?, LuBatch::new(2));
    /// let (blas, a) = (device.blas(), device.upload([1.0f64, 2.0, 1.0, 4.0])?.into_output()); // [1 1; 2 4]
    /// let (a, pivots, info) = blas.getrf_strided_batched(lu, a, device.uninit(2)?, device.uninit(1)?)?.await_result()?;
    /// assert_eq!(device.download(&a)?.await_result()?, [2.0, 0.5, 4.0, -1.0]);
    /// assert_eq!(device.download(&pivots)?.await_result()?, [2, 2]);
    /// assert_eq!(device.download(&info)?.await_result()?, [0]);
    /// let b = device.upload([3.0f64, 8.0])?.into_output();
    /// let x = blas.getrs_strided_batched(lu, Transpose::No, 1, &a, &pivots, b)?.await_result()?;
    /// assert_eq!(device.download(&x)?.await_result()?, [2.0, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn getrf_strided_batched<T: BlasElement>(
        &self,
        lu: LuBatch,
        a: DeviceBuffer<T>,
        pivots: DeviceBuffer<i32>,
        info: DeviceBuffer<i32>,
    ) -> Submitted<Factors<DeviceBuffer<T>>> {
        self.submit(Factor::<T, Even>(lu, PhantomData), (), (a, pivots, info))
    }

    /// As [`getrf_strided_batched`](Self::getrf_strided_batched), of matrices in buffers of their own
    /// (`cublas<t>getrfBatched`). Pivots and infos are each in one buffer for all matrices.
    ///
    /// # Errors
    /// As [`getrf_strided_batched`](Self::getrf_strided_batched), and when [`LuBatch::batch`] was set to a number that is
    /// not that of the buffers. All buffers come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Transpose, blas::LuBatch};
    /// let (device, lu) = (Device::host()?, LuBatch::new(1));
    /// let a = vec![device.upload([2.0f64])?.into_output(), device.upload([4.0f64])?.into_output()];
    /// let (pivots, info) = (device.uninit(2)?, device.uninit(2)?);
    /// let (a, pivots, _) = device.blas().getrf_batched(lu, a, pivots, info)?.await_result()?;
    /// let a: Vec<_> = a.iter().map(|a| a.as_in()).collect();
    /// let b = vec![device.upload([6.0f64])?.into_output(), device.upload([8.0f64])?.into_output()];
    /// let x = device.blas().getrs_batched(lu, Transpose::No, 1, &a, &pivots, b)?.await_result()?;
    /// assert_eq!(device.download(&x[1])?.await_result()?, [2.0]);
    /// # Ok(()) }
    /// ```
    pub fn getrf_batched<T: BlasElement>(
        &self,
        lu: LuBatch,
        a: Vec<DeviceBuffer<T>>,
        pivots: DeviceBuffer<i32>,
        info: DeviceBuffer<i32>,
    ) -> Submitted<Factors<Vec<DeviceBuffer<T>>>> {
        self.submit(Factor::<T, Listed>(lu.listed(a.len()), PhantomData), (), (a, pivots, info))
    }
}
