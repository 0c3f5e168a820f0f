//! The index of the largest or smallest magnitude: iamax and iamin.

use super::super::prelude::*;
use super::reduction::Reduction;
use crate::core::op::{Index, Verdict};

/// The index of the largest magnitude, or of the smallest.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Find<T, const LARGEST: bool> {
    x: Strided,
    _type: PhantomData<T>,
}

impl<T: BlasElement, const LARGEST: bool> Find<T, LARGEST> {
    /// The reduction, and what it reads.
    fn new<'x>(x: &'x TensorRef<'_, T>) -> Result<(Self, (In<'x, T>,))> {
        let (x, of_x) = x.operand()?;
        let [of_x] = Strided::of([("x", &of_x)])?;
        Ok((Find { x: of_x, _type: PhantomData }, (x,)))
    }
}

impl<T: BlasElement, const LARGEST: bool> Reduction for Find<T, LARGEST> {
    const NAME: &'static str = if LARGEST { "iamax" } else { "iamin" };
    const READS: &'static [&'static str] = &["x"];
    type Reads = (T,);
    /// Counted from 1; 0 if there is none.
    type Number = i64;
    type Raw = Index;
    type Answer = Option<usize>;

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
    fn host(&self, (x,): (&[T],)) -> i64 {
        numerics::level1::find_extreme(self.x.n, x, self.x.inc, LARGEST) as i64
    }

    #[cfg(feature = "cuda")]
    fn cuda<R: Routine<Reads = (T,)>>(
        &self,
        queue: &mut Queue<'_, '_, R>,
        result: *mut std::ffi::c_void,
    ) -> Result<()> {
        let ((x,), n, inc) = (*queue.reads(), self.x.len64(), self.x.inc64());
        // The library takes a vector that runs backwards for an empty one: it is turned first.
        let (x, inc) = if inc < 0 {
            let turned = queue.scratch(self.x.n * size_of::<T>())?;
            // SAFETY: the vector lies inside its buffer (checked), which lives until this work is done, as the scratch does,
            // which has room for as many elements.
            queue.typed(PointerMode::Host, |blas, handle| unsafe {
                blas.copy(T::LETTER, handle, n, x.address() as *const _, inc, turned as *mut _, 1)
            })?;
            (turned as *const _, 1)
        } else {
            (x.address() as *const _, inc)
        };
        // SAFETY: the vector lies inside its buffer (checked), which lives until this work is done; the result, of 64
        // bits, goes to device memory that does too.
        queue.typed(PointerMode::Device, |blas, handle| unsafe {
            if LARGEST {
                blas.iamax(T::LETTER, handle, n, x, inc, result)
            } else {
                blas.iamin(T::LETTER, handle, n, x, inc, result)
            }
        })
    }
}

impl Blas {
    /// The index, counted from 0, of the first element with the largest `|re| + |im|` (`cublasI<t>amax`); `None` for an
    /// empty vector. Of a tensor of several axes it is the index in the order of memory.
    ///
    /// The host engine skips elements that are NaN, and returns 0 if all are; cuBLAS does not document what it does
    /// with them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `x` is no [vector](crate::blas#conventions); a stale or foreign buffer.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([3], [1.0f64, -3.0, 3.0])?;
    /// assert_eq!(device.blas().iamax(&x)?.await_result()?, Some(1));
    /// assert_eq!(device.blas().iamax(x.flip(0)?)?.await_result()?, Some(0));
    /// assert_eq!(device.blas().iamin(&x)?.await_result()?, Some(0));
    /// # Ok(()) }
    /// ```
    pub fn iamax<'a, T: BlasElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<Option<usize>, Verdict>> {
        self.returns(Find::<T, true>::new(&x.into()))
    }

    /// As [`iamax`](Self::iamax), of the smallest (`cublasI<t>amin`).
    ///
    /// # Errors
    /// As [`iamax`](Self::iamax).
    pub fn iamin<'a, T: BlasElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<Option<usize>, Verdict>> {
        self.returns(Find::<T, false>::new(&x.into()))
    }

    /// As [`iamax`](Self::iamax), with the library's own number left in the first element of `result`: the index
    /// counted **from 1**, and 0 for an empty vector.
    ///
    /// # Errors
    /// As [`iamax`](Self::iamax), and when `result` is empty; it comes back.
    pub fn iamax_into<'a, T: BlasElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        result: impl WritableTensor<i64>,
    ) -> Submitted<Tensor<i64>> {
        self.leaves(Find::<T, true>::new(&x.into()), result.into())
    }

    /// As [`iamax_into`](Self::iamax_into), of the smallest.
    ///
    /// # Errors
    /// As [`iamax_into`](Self::iamax_into).
    pub fn iamin_into<'a, T: BlasElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        result: impl WritableTensor<i64>,
    ) -> Submitted<Tensor<i64>> {
        self.leaves(Find::<T, false>::new(&x.into()), result.into())
    }
}
