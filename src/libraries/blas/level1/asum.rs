//! The sum of magnitudes.

use super::super::prelude::*;
use super::reduction::{OnDevice, Reduction, Returned};
use crate::core::op::Verdict;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Asum<T> {
    x: Strided,
    _type: PhantomData<T>,
}

impl<T: BlasElement> Reduction for Asum<T> {
    const NAME: &'static str = "asum";
    const READS: &'static [&'static str] = &["x"];
    type Reads = (T,);
    type Number = T::Real;
    type Raw = T::Real;
    type Answer = T::Real;

    fn check(&self, (x,): &Spans<(T,)>) -> Result<()> {
        self.x.check("x", x.len())
    }

    fn cost(&self) -> Cost {
        let n = self.x.n as u64;
        Cost { flops: n, bytes: n * size_of::<T>() as u64 }
    }

    fn is_empty(&self) -> bool {
        self.x.forwards().n == 0
    }

    #[cfg(feature = "host")]
    fn host(&self, (x,): (&[T],)) -> T::Real {
        T::asum(self.x.n, x, self.x.inc)
    }

    #[cfg(feature = "cuda")]
    fn cuda<R: Routine<Reads = (T,)>>(
        &self,
        queue: &mut Queue<'_, '_, R>,
        result: *mut std::ffi::c_void,
    ) -> Result<()> {
        let ((x,), n, inc) = (*queue.reads(), self.x.len64(), self.x.inc64());
        // SAFETY: the vector lies inside its buffer (checked), which lives until this work is done; the result goes to
        // device memory that does too.
        queue.typed(PointerMode::Device, |blas, handle| unsafe {
            blas.asum(T::LETTER, handle, n, x.address() as *const _, inc, result)
        })
    }
}

impl Blas {
    /// The sum of `|re| + |im|` over the elements (`cublas<t>asum`). Zero for a vector that runs backwards, which BLAS
    /// treats as empty.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the vector does not lie inside its buffer; a stale or foreign buffer.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.upload([1.0f64, -2.0, 3.0])?.into_output();
    /// assert_eq!(device.blas().asum(&x)?.await_result()?, 6.0);
    /// # Ok(()) }
    /// ```
    pub fn asum<'a, T: BlasElement>(&self, x: impl ReadableVector<'a, T>) -> Result<PendingDispatch<T::Real, Verdict>> {
        let x = x.into();
        self.submit(Returned(Asum::<T> { x: x.at, _type: PhantomData }), (x.data,), ())
    }

    /// As [`asum`](Self::asum), with the result left in the first element of `result`.
    ///
    /// # Errors
    /// As [`asum`](Self::asum), and when `result` is empty; it comes back.
    pub fn asum_into<'a, T: BlasElement>(
        &self,
        x: impl ReadableVector<'a, T>,
        result: DeviceBuffer<T::Real>,
    ) -> Submitted<DeviceBuffer<T::Real>> {
        let x = x.into();
        self.submit(OnDevice(Asum::<T> { x: x.at, _type: PhantomData }), (x.data,), (result,))
    }
}
