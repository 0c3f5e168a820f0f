//! The inner product.

use super::Blas;
#[cfg(feature = "host")]
use super::vector::HostVector;
use super::vector::{VectorElement, same_length};
use crate::op::{Cost, Op, Slices, SlicesMut, Spans};
use crate::{Enqueue, In, PendingDispatch, Result, Wire};
use std::marker::PhantomData;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Dot<T> {
    n: usize,
    conjugate: bool,
    _type: PhantomData<T>,
}

impl<T: VectorElement> Op for Dot<T> {
    const NAME: &'static str = "dot";
    const LIBRARY: &'static str = "blas";
    type Reads = (T, T);
    type Output = T;
    type Raw = T;

    fn check(&self, (x, y): &Spans<(T, T)>, (): &Spans<()>) -> Result<()> {
        same_length(x.len(), y.len())
    }

    fn cost(&self) -> Cost {
        let n = self.n as u64;
        Cost { flops: 2 * n, bytes: 2 * n * size_of::<T>() as u64 }
    }

    fn host(&self, (x, y): Slices<'_, Self>, (): SlicesMut<'_, Self>) -> Result<T> {
        #[cfg(feature = "host")]
        return Ok(T::Host::dot(self.conjugate, x, y));
        #[cfg(not(feature = "host"))]
        Ok({
            let _ = (x, y);
            T::default()
        })
    }

    #[cfg(feature = "blas")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        if self.n == 0 {
            return queue.zero_result();
        }
        let ((x, y), codes, result) = (*queue.reads(), T::CODES, queue.result()?);
        let blas = queue.blas(crate::cuda::PointerMode::Device)?;
        let args = (blas.handle, self.n as i64, x.address() as *const _, y.address() as *const _);
        let (handle, n, x, y) = args;
        let (e, c) = (codes.element, codes.compute);
        // SAFETY: the handle is bound to this slot's leased stream; both vectors have `n` elements (checked) and live
        // until this work is done; the result goes to the slot's own device memory.
        let status = unsafe {
            if self.conjugate {
                blas.api.dotc_ex(handle, n, x, e, 1, y, e, 1, result as *mut _, e, c)
            } else {
                blas.api.dot_ex(handle, n, x, e, 1, y, e, 1, result as *mut _, e, c)
            }
        };
        queue.blas_status("cublasDotEx_64", status)
    }

    #[cfg(not(feature = "blas"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(crate::Error::unsupported("this build has no cuBLAS front (feature `blas`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, dot: T) -> Result<T> {
        Ok(dot)
    }
}

impl Blas {
    /// The sum of `x_i * y_i` (`cublasDotEx`); halves accumulate in f32 and round the sum once.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the lengths differ; a stale or foreign buffer.
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
        x: impl Into<In<'a, T>>,
        y: impl Into<In<'a, T>>,
    ) -> Result<PendingDispatch<T>> {
        self.dot_of(false, x.into(), y.into())
    }

    /// The sum of `conj(x_i) * y_i` (`cublasDotcEx`); the same as [`dot`](Self::dot) for real types.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn dotc<'a, T: VectorElement>(
        &self,
        x: impl Into<In<'a, T>>,
        y: impl Into<In<'a, T>>,
    ) -> Result<PendingDispatch<T>> {
        self.dot_of(true, x.into(), y.into())
    }

    fn dot_of<T: VectorElement>(&self, conjugate: bool, x: In<'_, T>, y: In<'_, T>) -> Result<PendingDispatch<T>> {
        Ok(self.device.dispatch(Dot { n: x.len(), conjugate, _type: PhantomData }, (x, y), ())?)
    }
}
