//! The Euclidean norm.

use super::super::prelude::*;
use super::reduction::Reduction;
use crate::core::op::Verdict;
#[cfg(feature = "cuda")]
use crate::libraries::blas::native::handle;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Nrm2<T> {
    x: Strided,
    _type: PhantomData<T>,
}

impl<T: VectorElement> Nrm2<T> {
    /// The reduction, and what it reads. The order of the elements does not matter.
    fn new<'x>(x: &'x TensorRef<'_, T>) -> Result<(Self, (In<'x, T>,))> {
        let (x, of_x) = x.operand()?;
        let [of_x] = Strided::of([("x", &of_x)])?;
        Ok((Nrm2 { x: of_x.ascending(), _type: PhantomData }, (x,)))
    }
}

impl<T: VectorElement> Reduction for Nrm2<T> {
    const NAME: &'static str = "nrm2";
    const READS: &'static [&'static str] = &["x"];
    type Reads = (T,);
    type Number = T::Norm;
    type Raw = T::Norm;
    type Answer = T::Norm;

    fn check(&self, (x,): &Spans<(T,)>) -> Result<()> {
        self.x.check("x", x.len())
    }

    fn cost(&self) -> Cost {
        let n = self.x.n as u64;
        Cost { flops: 2 * n, bytes: n * size_of::<T>() as u64 }
    }

    fn is_empty(&self) -> bool {
        self.x.n == 0
    }

    #[cfg(feature = "host")]
    fn host(&self, (x,): (&[T],)) -> T::Norm {
        T::Host::nrm2(self.x.n, x, self.x.inc)
    }

    #[cfg(feature = "cuda")]
    fn cuda<R: Routine<Reads = (T,)>>(
        &self,
        queue: &mut Queue<'_, '_, R>,
        result: *mut std::ffi::c_void,
    ) -> Result<()> {
        let ((x,), codes) = (*queue.reads(), T::CODES);
        // The computation's type is the norm's here: f32 for halves and c32, f64 for c64.
        let compute = if codes.norm == 1 { 1 } else { 0 };
        let blas = queue.blas(crate::libraries::blas::native::PointerMode::Device)?;
        // SAFETY: the handle is bound to this slot's leased stream; the vector lies inside its buffer (checked), which
        // lives until this work is done; the result goes to device memory that does too.
        let status = unsafe {
            blas.api.nrm2_ex(
                blas.handle,
                self.x.len64(),
                x.address() as *const _,
                codes.element,
                self.x.inc64(),
                result,
                codes.norm,
                compute,
            )
        };
        handle::blas_status(queue, "cublasNrm2Ex_64", status)
    }
}

impl Blas {
    /// The Euclidean norm (`cublasNrm2Ex`), without avoidable overflow; halves accumulate in f32 and round once.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `x` is no [vector](crate::blas#conventions); a stale or foreign buffer.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2], [3.0f32, 4.0])?;
    /// assert_eq!(device.blas().nrm2(&x)?.await_result()?, 5.0);
    /// # Ok(()) }
    /// ```
    pub fn nrm2<'a, T: VectorElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<T::Norm, Verdict>> {
        self.returns(Nrm2::<T>::new(&x.into()))
    }

    /// As [`nrm2`](Self::nrm2), with the result left in the first element of `result`.
    ///
    /// # Errors
    /// As [`nrm2`](Self::nrm2), and when `result` is empty; it comes back.
    pub fn nrm2_into<'a, T: VectorElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        result: impl WritableTensor<T::Norm>,
    ) -> Submitted<Tensor<T::Norm>> {
        self.leaves(Nrm2::<T>::new(&x.into()), result.into())
    }
}
