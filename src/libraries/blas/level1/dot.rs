//! The inner product.

use super::super::prelude::*;
use super::reduction::Reduction;
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
    /// The reduction, and what it reads.
    #[expect(clippy::type_complexity, reason = "a routine and its operands")]
    fn new<'x>(x: &'x TensorRef<'_, T>, y: &'x TensorRef<'_, T>) -> Result<(Self, (In<'x, T>, In<'x, T>))> {
        let ((x, of_x), (y, of_y)) = (x.operand()?, y.operand()?);
        let [of_x, of_y] = Strided::of([("x", &of_x), ("y", &of_y)])?;
        Ok((Dot { x: of_x, y: of_y, _type: PhantomData }, (x, y)))
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
    /// [`Error::InvalidArgument`] when the shapes differ or an operand is no [vector](crate::blas#conventions); a stale or foreign
    /// buffer.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([3], [1.0f32, 2.0, 3.0])?;
    /// assert_eq!(device.blas().dot(&x, &x)?.await_result()?, 14.0);
    /// # Ok(()) }
    /// ```
    pub fn dot<'a, 'b, T: VectorElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'b, T>,
    ) -> Result<PendingDispatch<T, Verdict>> {
        self.returns(Dot::<T, false>::new(&x.into(), &y.into()))
    }

    /// The sum of `conj(x_i) * y_i` (`cublasDotcEx`); the same as [`dot`](Self::dot) for real types.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn dotc<'a, 'b, T: VectorElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'b, T>,
    ) -> Result<PendingDispatch<T, Verdict>> {
        self.returns(Dot::<T, true>::new(&x.into(), &y.into()))
    }

    /// As [`dot`](Self::dot), with the result left in the first element of `result`.
    ///
    /// # Errors
    /// As [`dot`](Self::dot), and when `result` is empty; it comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (blas, x) = (device.blas(), device.tensor([2], [3.0f32, 4.0])?);
    /// let dot = blas.dot_into(&x, &x, device.uninit([1])?)?; // no wait
    /// let y = blas.axpy(&dot, &x, device.zeros([2])?)?;
    /// assert_eq!(device.to_vec(&y)?, [75.0, 100.0]);
    /// # Ok(()) }
    /// ```
    pub fn dot_into<'a, 'b, T: VectorElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'b, T>,
        result: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.leaves(Dot::<T, false>::new(&x.into(), &y.into()), result.into())
    }

    /// As [`dotc`](Self::dotc), with the result left in the first element of `result`.
    ///
    /// # Errors
    /// As [`dot_into`](Self::dot_into).
    pub fn dotc_into<'a, 'b, T: VectorElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'b, T>,
        result: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.leaves(Dot::<T, true>::new(&x.into(), &y.into()), result.into())
    }
}
