//! The Euclidean norm.

use super::Blas;
#[cfg(feature = "host")]
use super::vector::HostVector;
use super::vector::VectorElement;
use crate::op::{Cost, Op, Slices, SlicesMut, Spans};
use crate::{Enqueue, In, PendingDispatch, Result, Wire};
use std::marker::PhantomData;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Nrm2<T> {
    n: usize,
    _type: PhantomData<T>,
}

impl<T: VectorElement> Op for Nrm2<T> {
    const NAME: &'static str = "nrm2";
    const LIBRARY: &'static str = "blas";
    type Reads = (T,);
    type Output = T::Norm;
    type Raw = T::Norm;

    fn check(&self, _: &Spans<(T,)>, (): &Spans<()>) -> Result<()> {
        Ok(())
    }

    fn cost(&self) -> Cost {
        let n = self.n as u64;
        Cost { flops: 2 * n, bytes: n * size_of::<T>() as u64 }
    }

    fn host(&self, (x,): Slices<'_, Self>, (): SlicesMut<'_, Self>) -> Result<T::Norm> {
        #[cfg(feature = "host")]
        return Ok(T::Host::nrm2(x));
        #[cfg(not(feature = "host"))]
        Ok({
            let _ = x;
            T::Norm::default()
        })
    }

    #[cfg(feature = "blas")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        if self.n == 0 {
            return queue.zero_result();
        }
        let ((x,), codes, result) = (*queue.reads(), T::CODES, queue.result()?);
        // The computation's type is the norm's here: f32 for halves and c32, f64 for c64.
        let compute = if codes.norm == 1 { 1 } else { 0 };
        let blas = queue.blas(crate::cuda::PointerMode::Device)?;
        // SAFETY: the handle is bound to this slot's leased stream; the vector has `n` elements and lives until this
        // work is done; the result goes to the slot's own device memory.
        let status = unsafe {
            blas.api.nrm2_ex(
                blas.handle,
                self.n as i64,
                x.address() as *const _,
                codes.element,
                1,
                result as *mut _,
                codes.norm,
                compute,
            )
        };
        queue.blas_status("cublasNrm2Ex_64", status)
    }

    #[cfg(not(feature = "blas"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(crate::Error::unsupported("this build has no cuBLAS front (feature `blas`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, norm: T::Norm) -> Result<T::Norm> {
        Ok(norm)
    }
}

impl Blas {
    /// The Euclidean norm (`cublasNrm2Ex`), without avoidable overflow; halves accumulate in f32 and round once.
    ///
    /// # Errors
    /// A stale or foreign buffer.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.upload([3.0f32, 4.0])?.into_output();
    /// assert_eq!(device.blas().nrm2(&x)?.await_result()?, 5.0);
    /// # Ok(()) }
    /// ```
    pub fn nrm2<'a, T: VectorElement>(&self, x: impl Into<In<'a, T>>) -> Result<PendingDispatch<T::Norm>> {
        let x = x.into();
        Ok(self.device.dispatch(Nrm2::<T> { n: x.len(), _type: PhantomData }, (x,), ())?)
    }
}
