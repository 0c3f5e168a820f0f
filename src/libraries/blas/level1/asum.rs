//! The sum of magnitudes.

use super::super::prelude::*;
use super::reduction::Reduction;
use crate::core::op::Verdict;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Asum<T> {
    x: Strided,
    _type: PhantomData<T>,
}

impl<T: BlasElement> Asum<T> {
    /// The reduction, and what it reads. The order of the elements does not matter.
    fn new<'x>(x: &'x TensorRef<'_, T>) -> Result<(Self, (In<'x, T>,))> {
        let (x, of_x) = x.operand()?;
        let [of_x] = Strided::of([("x", &of_x)])?;
        Ok((Asum { x: of_x.ascending(), _type: PhantomData }, (x,)))
    }
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
        self.x.n == 0
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
    /// The sum of `|re| + |im|` over the elements (`cublas<t>asum`).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `x` is no [vector](crate::blas#conventions); a stale or foreign buffer.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([3], [1.0f64, -2.0, 3.0])?;
    /// assert_eq!(device.blas().asum(&x)?.await_result()?, 6.0);
    /// # Ok(()) }
    /// ```
    pub fn asum<'a, T: BlasElement>(&self, x: impl ReadableTensor<'a, T>) -> Result<PendingDispatch<T::Real, Verdict>> {
        self.returns(Asum::<T>::new(&x.into()))
    }

    /// As [`asum`](Self::asum), with the result left in the first element of `result`.
    ///
    /// # Errors
    /// As [`asum`](Self::asum), and when `result` is empty; it comes back.
    pub fn asum_into<'a, T: BlasElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        result: impl WritableTensor<T::Real>,
    ) -> Submitted<Tensor<T::Real>> {
        self.leaves(Asum::<T>::new(&x.into()), result.into())
    }
}
