//! The product of two vectors added to a matrix: ger, geru, gerc.

use super::super::level3::matrix;
use super::super::prelude::*;

/// `A = alpha * x * y^T + A`; by [`Blas::gerc`] `alpha * x * y^H + A`.
///
/// Unless set, `alpha` is 1. With `alpha == 0` (by value) nothing is read or written.
#[derive(Clone, Debug)]
#[must_use]
pub struct Ger<'a, T: BlasElement> {
    alpha: Numbers<'a, T>,
}

impl<T: BlasElement> Ger<'_, T> {
    /// With `alpha` of 1.
    pub fn new() -> Self {
        Ger { alpha: T::ONE.into() }
    }
}

impl<T: BlasElement> Default for Ger<'_, T> {
    fn default() -> Self {
        Ger::new()
    }
}

factors!(Ger<T: BlasElement>, alpha: T);

/// The update of an `m x n` matrix.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Update<T: BlasElement, const CONJUGATE: bool> {
    m: usize,
    n: usize,
    /// A lies by rows: the library sees the transposed matrix.
    by_rows: bool,
    lda: usize,
    x: Strided,
    y: Strided,
    alpha: T,
}

impl<T: BlasElement, const CONJUGATE: bool> Update<T, CONJUGATE> {
    /// Two of a kind in the order of the column-major update: those of the transposed matrix change places.
    fn turned<X>(&self, [one, other]: [X; 2]) -> [X; 2] {
        if self.by_rows { [other, one] } else { [one, other] }
    }
}

impl<T: BlasElement, const CONJUGATE: bool> Routine for Update<T, CONJUGATE> {
    const NAME: &'static str = if CONJUGATE { "gerc" } else { "ger" };
    const OPERANDS: OperandNames = (&["x", "y", "alpha"], &["a"]);
    type Reads = (T, T, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (x, y, alpha): &Spans<Self::Reads>, (a,): &Spans<(T,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        check_size("m", self.m)?;
        check_size("n", self.n)?;
        self.x.check_n("x", x.len(), self.m, "m")?;
        self.y.check_n("y", y.len(), self.n, "n")?;
        let [rows, cols] = self.turned([self.m, self.n]);
        check_matrix("a", rows, cols, self.lda, a.len())
    }

    fn cost(&self) -> Cost {
        let elements = (self.m as u64).saturating_mul(self.n as u64).saturating_mul(2);
        Cost { flops: elements, bytes: elements.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (x, y, alpha): (&[T], &[T], Option<&[T]>), (a,): (&mut [T],)) -> Result<()> {
        let ([rows, cols], [(x, at_x), (y, at_y)]) =
            (self.turned([self.m, self.n]), self.turned([(x, self.x), (y, self.y)]));
        let layout = numerics::level2::Layout::Full { ld: self.lda };
        let stored = numerics::level2::Stored { rows, cols, layout };
        let alpha = value(self.alpha, alpha);
        numerics::level2::ger(stored, CONJUGATE, alpha, x, at_x.on_host(), y, at_y.on_host(), a);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((x, y, alpha), (a,)) = (*queue.reads(), *queue.writes());
        let alpha = Scalar::new(self.alpha, &alpha);
        if self.m == 0 || self.n == 0 || alpha.is_zero() {
            return Ok(());
        }
        let ([m, n], lda) = (self.turned([self.m as i64, self.n as i64]), self.lda as i64);
        let [(x, at_x), (y, at_y)] = self.turned([(x.address(), self.x), (y.address(), self.y)]);
        let (x, y, a) = (x as *const _, y as *const _, a.address() as *mut _);
        let (incx, incy) = (at_x.inc64(), at_y.inc64());
        // SAFETY: the matrix and both vectors lie inside their buffers (checked), which live until this work is done; a
        // scalar in host memory is read before the call returns.
        queue.typed(alpha.mode(), |blas, handle| unsafe {
            let (letter, alpha) = (T::LETTER, alpha.pointer());
            if CONJUGATE {
                blas.gerc(letter, handle, m, n, alpha, x, incx, y, incy, a, lda)
            } else {
                blas.ger(letter, handle, m, n, alpha, x, incx, y, incy, a, lda)
            }
        })
    }
}

impl Blas {
    /// `A = alpha * x * y^T + A` (`cublas<t>ger`, `geru`). x is `[m]`, y `[n]`, A `[m, n]`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, neither the rows nor the columns of A are contiguous, or a
    /// vector is broadcast ([`contiguous`](crate::Device::contiguous) makes a copy that serves); a stale or foreign buffer. `a`
    /// comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, blas::Ger};
    /// let device = Device::host()?;
    /// let (x, y) = (device.tensor([2], [1.0f64, 2.0])?, device.tensor([2], [1.0, 10.0])?);
    /// let a = device.blas().ger(Ger::new(), &x, &y, device.zeros([2, 2])?)?;
    /// assert_eq!(device.show(&a)?.to_string(), "[[ 1. 10.]\n [ 2. 20.]]");
    /// # Ok(()) }
    /// ```
    #[doc(alias = "geru")]
    pub fn ger<'a, 'b, T: BlasElement>(
        &self,
        spec: Ger<'_, T>,
        x: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'b, T>,
        a: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.ger_of::<T, false>(&spec, &x.into(), &y.into(), a.into())
    }

    /// `A = alpha * x * y^H + A` (`cublas<t>gerc`); the same as [`ger`](Self::ger) for real types.
    ///
    /// # Errors
    /// As [`ger`](Self::ger); for complex types [`Error::Unsupported`] when the rows of A are contiguous, not its columns: for
    /// the transposed matrix x would be conjugated instead, for which BLAS has no routine.
    pub fn gerc<'a, 'b, T: BlasElement>(
        &self,
        spec: Ger<'_, T>,
        x: impl ReadableTensor<'a, T>,
        y: impl ReadableTensor<'b, T>,
        a: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.ger_of::<T, true>(&spec, &x.into(), &y.into(), a.into())
    }

    fn ger_of<T: BlasElement, const CONJUGATE: bool>(
        &self,
        spec: &Ger<'_, T>,
        x: &TensorRef<'_, T>,
        y: &TensorRef<'_, T>,
        a: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let made = || {
            let (of_a, of_x, of_y) = (a.layout(), x.layout(), y.layout());
            let (alpha, alpha_at) = spec.alpha.one("alpha")?;
            let matrix = matrix("a", of_a)?;
            let (order, lda) = matrix.lines("a", Order::Column)?;
            let at_x = Strided::vector("x", of_x)?.beside("x", of_x, matrix.rows, of_a)?;
            let at_y = Strided::vector("y", of_y)?.beside("y", of_y, matrix.cols, of_a)?;
            if order == Order::Row && CONJUGATE && T::DTYPE.is_complex() {
                return Err(Error::unsupported(
                    "BLAS reads columns, and has no routine for the conjugate product where the rows of `a` are contiguous; \
                     `ger` with the `conj().eval()` of y gives the same",
                ));
            }
            let (m, n, by_rows) = (matrix.rows, matrix.cols, order == Order::Row);
            Ok((Update { m, n, by_rows, lda, x: at_x, y: at_y, alpha }, (x.window()?, y.window()?, alpha_at)))
        };
        self.writes::<T, Update<T, CONJUGATE>>(made(), a)
    }
}
