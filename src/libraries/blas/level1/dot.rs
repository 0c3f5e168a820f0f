//! The inner product.

use super::super::prelude::*;
use super::reduction::{OnDevice, Reduction, Returned};
use crate::core::op::Verdict;
#[cfg(feature = "cuda")]
use crate::libraries::blas::native::handle;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Dot<T, const CONJUGATE: bool> {
    x: Strided,
    y: Strided,
    _type: PhantomData<T>,
}

impl<T: VectorElement, const CONJUGATE: bool> Dot<T, CONJUGATE> {
    fn new(x: &Vector<'_, T>, y: &Vector<'_, T>) -> Self {
        Dot { x: x.at, y: y.at, _type: PhantomData }
    }
}

impl<T: VectorElement, const CONJUGATE: bool> Reduction for Dot<T, CONJUGATE> {
    const NAME: &'static str = if CONJUGATE { "dotc" } else { "dot" };
    const READS: &'static [&'static str] = &["x", "y"];
    type Reads = (T, T);
    type Number = T;
    type Raw = T;
    type Answer = T;

    fn check(&self, (x, y): &Spans<(T, T)>) -> Result<()> {
        self.x.check_n("x", x.len(), self.y.n, "the length of y")?;
        self.y.check("y", y.len())
    }

    fn cost(&self) -> Cost {
        let n = self.x.n as u64;
        Cost { flops: 2 * n, bytes: 2 * n * size_of::<T>() as u64 }
    }

    fn is_empty(&self) -> bool {
        self.x.n == 0
    }

    #[cfg(feature = "host")]
    fn host(&self, (x, y): (&[T], &[T])) -> T {
        T::Host::dot(CONJUGATE, self.x.n, x, self.x.inc, y, self.y.inc)
    }

    #[cfg(feature = "cuda")]
    fn cuda<R: Routine<Reads = (T, T)>>(
        &self,
        queue: &mut Queue<'_, '_, R>,
        result: *mut std::ffi::c_void,
    ) -> Result<()> {
        let ((x, y), codes) = (*queue.reads(), T::CODES);
        let blas = queue.blas(crate::libraries::blas::native::PointerMode::Device)?;
        let (x, y) = (x.address() as *const _, y.address() as *const _);
        let (n, incx, incy) = (self.x.len64(), self.x.inc64(), self.y.inc64());
        let (element, compute) = (codes.element, codes.compute);
        // SAFETY: the handle is bound to this slot's leased stream; both vectors lie inside their buffers (checked),
        // which live until this work is done; the result goes to device memory that does too.
        let status = unsafe {
            let (api, handle) = (blas.api, blas.handle);
            if CONJUGATE {
                api.dotc_ex(handle, n, x, element, incx, y, element, incy, result, element, compute)
            } else {
                api.dot_ex(handle, n, x, element, incx, y, element, incy, result, element, compute)
            }
        };
        handle::blas_status(queue, "cublasDotEx_64", status)
    }
}

impl Blas {
    /// The sum of `x_i * y_i` (`cublasDotEx`); halves accumulate in f32 and round the sum once.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the lengths differ or a vector does not lie inside
    /// its buffer; a stale or foreign buffer.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.upload([1.0f32, 2.0, 3.0])?.into_output();
    /// assert_eq!(device.blas().dot(&x, &x)?.await_result()?, 14.0);
    /// # Ok(()) }
    /// ```
    pub fn dot<'a, T: VectorElement>(
        &self,
        x: impl ReadableVector<'a, T>,
        y: impl ReadableVector<'a, T>,
    ) -> Result<PendingDispatch<T, Verdict>> {
        let (x, y) = (x.into(), y.into());
        self.submit(Returned(Dot::<_, false>::new(&x, &y)), (x.data, y.data), ())
    }

    /// The sum of `conj(x_i) * y_i` (`cublasDotcEx`); the same as [`dot`](Self::dot) for real types.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn dotc<'a, T: VectorElement>(
        &self,
        x: impl ReadableVector<'a, T>,
        y: impl ReadableVector<'a, T>,
    ) -> Result<PendingDispatch<T, Verdict>> {
        let (x, y) = (x.into(), y.into());
        self.submit(Returned(Dot::<_, true>::new(&x, &y)), (x.data, y.data), ())
    }

    /// As [`dot`](Self::dot), with the result left in the first element of `result`.
    ///
    /// # Errors
    /// As [`dot`](Self::dot), and when `result` is empty; it comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (blas, x) = (device.blas(), device.upload([3.0f32, 4.0])?.into_output());
    /// let dot = blas.dot_into(&x, &x, device.uninit(1)?)?.into_output(); // no wait
    /// let y = blas.axpy_at(&dot, &x, device.zeros(2)?)?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?, [75.0, 100.0]);
    /// # Ok(()) }
    /// ```
    pub fn dot_into<'a, T: VectorElement>(
        &self,
        x: impl ReadableVector<'a, T>,
        y: impl ReadableVector<'a, T>,
        result: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let (x, y) = (x.into(), y.into());
        self.submit(OnDevice(Dot::<_, false>::new(&x, &y)), (x.data, y.data), (result,))
    }

    /// As [`dotc`](Self::dotc), with the result left in the first element of `result`.
    ///
    /// # Errors
    /// As [`dot_into`](Self::dot_into).
    pub fn dotc_into<'a, T: VectorElement>(
        &self,
        x: impl ReadableVector<'a, T>,
        y: impl ReadableVector<'a, T>,
        result: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let (x, y) = (x.into(), y.into());
        self.submit(OnDevice(Dot::<_, true>::new(&x, &y)), (x.data, y.data), (result,))
    }
}
