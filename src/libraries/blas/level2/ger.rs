//! The product of two vectors added to a matrix: ger, geru, gerc.

use super::super::prelude::*;

/// `A = alpha * x * y^T + A` with an `m x n` matrix; by [`Blas::gerc`] `alpha * x * y^H + A`.
///
/// Unless set: A is column-major, `lda` leaves no gaps, `alpha` is 1. With `alpha == 0` nothing is read or written.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Ger<T: BlasElement> {
    m: usize,
    n: usize,
    row_major: bool,
    lda: Option<usize>,
    alpha: T,
}

impl<T: BlasElement> Ger<T> {
    /// A matrix of `m` rows and `n` columns.
    pub fn new(m: usize, n: usize) -> Self {
        Ger { m, n, row_major: false, lda: None, alpha: T::ONE }
    }

    /// A is row-major: element `(i, j)` is at `i * lda + j`. Nothing is copied.
    ///
    /// [`Blas::gerc`] of complex types then fails with [`Error::Unsupported`]: for the transposed matrix the other
    /// vector would be conjugated, and BLAS has no routine for that.
    pub fn row_major(mut self) -> Self {
        self.row_major = true;
        self
    }

    /// The elements of a column (in row-major order, of a row), and the number of columns (rows).
    fn lines(&self) -> (usize, usize) {
        if self.row_major { (self.n, self.m) } else { (self.m, self.n) }
    }

    fn leading(&self) -> usize {
        self.lda.unwrap_or(self.lines().0.max(1))
    }
}

setters!(Ger<T: BlasElement> {
    /// Elements between the columns (in row-major order the rows) of A.
    lda: usize;
});
scalars!(Ger<T: BlasElement>, alpha: T);

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Update<T: BlasElement, const CONJUGATE: bool> {
    spec: Ger<T>,
    x: Strided,
    y: Strided,
}

impl<T: BlasElement, const CONJUGATE: bool> Update<T, CONJUGATE> {
    /// Both vectors in the order of the column-major update: for a row-major matrix, whose transpose is updated, they
    /// are swapped.
    fn factors<X>(&self, [x, y]: [X; 2]) -> [X; 2] {
        if self.spec.row_major { [y, x] } else { [x, y] }
    }
}

impl<T: BlasElement, const CONJUGATE: bool> Routine for Update<T, CONJUGATE> {
    const NAME: &'static str = if CONJUGATE { "gerc" } else { "ger" };
    const OPERANDS: OperandNames = (&["x", "y", "alpha"], &["a"]);
    type Reads = (T, T, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (x, y, alpha): &Spans<Self::Reads>, (a,): &Spans<(T,)>) -> Result<()> {
        let (Ger { m, n, .. }, (line, lines)) = (self.spec, self.spec.lines());
        check_scalar("alpha", alpha)?;
        check_order(self.spec.row_major && CONJUGATE && T::DTYPE.is_complex(), "the conjugate product")?;
        self.x.check_n("x", x.len(), m, "m")?;
        self.y.check_n("y", y.len(), n, "n")?;
        check_matrix("a", line, lines, self.spec.leading(), a.len())
    }

    fn cost(&self) -> Cost {
        let elements = (self.spec.m as u64).saturating_mul(self.spec.n as u64).saturating_mul(2);
        Cost { flops: elements, bytes: elements.saturating_mul(size_of::<T>() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (x, y, alpha): (&[T], &[T], Option<&[T]>), (a,): (&mut [T],)) -> Result<()> {
        let ((rows, cols), [(x, at_x), (y, at_y)]) = (self.spec.lines(), self.factors([(x, self.x), (y, self.y)]));
        let layout = numerics::level2::Layout::Full { ld: self.spec.leading() };
        let stored = numerics::level2::Stored { rows, cols, layout };
        let alpha = value(self.spec.alpha, alpha);
        numerics::level2::ger(stored, CONJUGATE, alpha, x, at_x.on_host(), y, at_y.on_host(), a);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (x, y, alpha), (a,)) = (&self.spec, *queue.reads(), *queue.writes());
        let alpha = Scalar::new(spec.alpha, &alpha);
        if spec.m == 0 || spec.n == 0 || alpha.is_zero() {
            return Ok(());
        }
        let ((line, lines), lda) = (spec.lines(), spec.leading() as i64);
        let [(x, at_x), (y, at_y)] = self.factors([(x.address(), self.x), (y.address(), self.y)]);
        let (m, n, x, y, a) = (line as i64, lines as i64, x as *const _, y as *const _, a.address() as *mut _);
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
    /// `A = alpha * x * y^T + A` (`cublas<t>ger`, `geru`); see [`Ger`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `lda` is too small, the matrix or a vector does not lie inside its buffer, or a
    /// vector has another length than the matrix; a stale or foreign buffer. `a` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, blas::Ger};
    /// let device = Device::host()?;
    /// let (x, y) = (device.upload([1.0f64, 2.0])?.into_output(), device.upload([1.0, 10.0])?.into_output());
    /// let a = device.blas().ger(Ger::new(2, 2), &x, &y, device.zeros(4)?)?.await_result()?;
    /// assert_eq!(device.download(&a)?.await_result()?, [1.0, 2.0, 10.0, 20.0]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "geru")]
    pub fn ger<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Ger<T>>>,
        x: impl ReadableVector<'a, T>,
        y: impl ReadableVector<'a, T>,
        a: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.ger_of::<T, false>(spec.into(), x.into(), y.into(), a)
    }

    /// `A = alpha * x * y^H + A` (`cublas<t>gerc`); the same as [`ger`](Self::ger) for real types.
    ///
    /// # Errors
    /// As [`ger`](Self::ger).
    pub fn gerc<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Ger<T>>>,
        x: impl ReadableVector<'a, T>,
        y: impl ReadableVector<'a, T>,
        a: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.ger_of::<T, true>(spec.into(), x.into(), y.into(), a)
    }

    fn ger_of<T: BlasElement, const CONJUGATE: bool>(
        &self,
        Scaled { spec, alpha, .. }: Scaled<'_, Ger<T>>,
        x: Vector<'_, T>,
        y: Vector<'_, T>,
        a: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        self.submit(Update::<T, CONJUGATE> { spec, x: x.at, y: y.at }, (x.data, y.data, alpha), (a,))
    }
}
