//! `y = x`, and the exchange of two vectors.

use super::super::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Copy<T> {
    x: Strided,
    y: Strided,
    _type: PhantomData<T>,
}

impl<T: BlasElement> Routine for Copy<T> {
    const NAME: &'static str = "copy";
    const OPERANDS: OperandNames = (&["x"], &["y"]);
    type Reads = (T,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (x,): &Spans<(T,)>, (y,): &Spans<(T,)>) -> Result<()> {
        self.x.check_n("x", x.len(), self.y.n, "the length of y")?;
        self.y.check("y", y.len())
    }

    fn overwrites(&self, (y,): &Spans<(T,)>) -> bool {
        self.y.fills(y.len())
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: 2 * self.y.n as u64 * size_of::<T>() as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (x,): (&[T],), (y,): (&mut [T],)) -> Result<()> {
        numerics::level1::copy(self.y.n, x, self.x.inc, y, self.y.inc);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        if self.y.n == 0 {
            return Ok(());
        }
        let ((x,), (y,)) = (*queue.reads(), *queue.writes());
        let (n, incx, incy) = (self.y.len64(), self.x.inc64(), self.y.inc64());
        // SAFETY: both vectors lie inside their buffers (checked), which live until this work is done.
        queue.typed(PointerMode::Host, |blas, handle| unsafe {
            blas.copy(T::LETTER, handle, n, x.address() as *const _, incx, y.address() as *mut _, incy)
        })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Swap<T> {
    x: Strided,
    y: Strided,
    _type: PhantomData<T>,
}

impl<T: BlasElement> Routine for Swap<T> {
    const NAME: &'static str = "swap";
    const OPERANDS: OperandNames = (&[], &["x", "y"]);
    type Reads = ();
    type Output = (DeviceBuffer<T>, DeviceBuffer<T>);
    type Raw = ();

    fn check(&self, (): &(), (x, y): &Spans<(T, T)>) -> Result<()> {
        self.x.check_n("x", x.len(), self.y.n, "the length of y")?;
        self.y.check("y", y.len())
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: 4 * self.y.n as u64 * size_of::<T>() as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (x, y): (&mut [T], &mut [T])) -> Result<()> {
        numerics::level1::swap(self.y.n, x, self.x.inc, y, self.y.inc);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        if self.y.n == 0 {
            return Ok(());
        }
        let (x, y) = *queue.writes();
        let (n, incx, incy) = (self.y.len64(), self.x.inc64(), self.y.inc64());
        // SAFETY: both vectors lie inside their buffers (checked), which live until this work is done.
        queue.typed(PointerMode::Host, |blas, handle| unsafe {
            blas.swap(T::LETTER, handle, n, x.address() as *mut _, incx, y.address() as *mut _, incy)
        })
    }
}

impl Blas {
    /// `y = x` (`cublas<t>copy`), bit for bit.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes differ or an operand is no [vector](crate::blas#conventions); a stale or foreign
    /// buffer. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2], [1.0f32, 2.0])?;
    /// let y = device.blas().copy(x.flip(0)?, device.uninit([2])?)?;
    /// assert_eq!(device.to_vec(&y)?, [2.0, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn copy<'a, T: BlasElement>(
        &self,
        x: impl ReadableTensor<'a, T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (x, y) = (x.into(), y.into());
        let made = x.operand().and_then(|(x, of_x)| {
            let [of_x, of_y] = Strided::of([("x", &of_x), ("y", y.layout())])?;
            Ok((Copy { x: of_x, y: of_y, _type: PhantomData }, (x,)))
        });
        self.writes(made, y)
    }

    /// Exchanges the elements of two vectors (`cublas<t>swap`), bit for bit. They come back in the order in which
    /// they were given.
    ///
    /// # Errors
    /// As [`copy`](Self::copy); both come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (x, y) = (device.tensor([2], [1.0f64, 2.0])?, device.tensor([2], [3.0, 4.0])?);
    /// let (x, y) = device.blas().swap(x, y)?.await_result()?;
    /// assert_eq!((device.to_vec(&x)?, device.to_vec(&y)?), (vec![3.0, 4.0], vec![1.0, 2.0]));
    /// # Ok(()) }
    /// ```
    pub fn swap<T: BlasElement>(
        &self,
        x: impl WritableTensor<T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<(Tensor<T>, Tensor<T>)> {
        let (x, y) = (x.into(), y.into());
        let made = Strided::of([("x", x.layout()), ("y", y.layout())]);
        self.writes_two(made.map(|[x, y]| (Swap { x, y, _type: PhantomData }, ())), [x, y])
    }
}
