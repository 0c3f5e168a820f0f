//! Products with a triangular matrix, in place or into another matrix: trmm.

use super::super::prelude::*;
use super::Triangular;
use super::orders::{check_shape, in_some_order, like, matrix};
use super::trsm::Triangle;
#[cfg(feature = "host")]
use crate::numerics::level3::TriSpec;

/// In place of B.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct InPlace<T: BlasElement>(Triangle<T>);

/// Into C.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Apart<T: BlasElement> {
    triangle: Triangle<T>,
    ldc: usize,
}

/// Enqueues `C = alpha * op(A) * B`; C may be B.
#[cfg(feature = "cuda")]
fn enqueue<T: BlasElement, R: Routine>(
    queue: &mut Queue<'_, '_, R>,
    spec: &Triangle<T>,
    alpha: &Scalar<T>,
    (a, b, c): (u64, u64, u64),
    ldc: usize,
) -> Result<()> {
    let (m, n, [lda, ldb]) = (spec.m as i64, spec.n as i64, [spec.lda as i64, spec.ldb as i64]);
    if m == 0 || n == 0 {
        return Ok(());
    }
    if alpha.is_zero() {
        return queue.scale_matrix::<T>((spec.m, spec.n), alpha, c, ldc as i64);
    }
    let (side, uplo, trans) = (spec.side.code(), spec.uplo.code(), spec.trans.code::<T>());
    let (diag, ldc) = (spec.diag.code(), ldc as i64);
    let (a, b, c) = (a as *const _, b as *const _, c as *mut _);
    // SAFETY: the matrices lie inside their buffers (the routine's check), which live until this work is done; the
    // library allows C to be B where their leading dimensions are the same; a scalar in host memory is read before the
    // call returns.
    queue.typed(alpha.mode(), |api, handle| unsafe {
        api.trmm(T::LETTER, handle, side, uplo, trans, diag, m, n, alpha.pointer(), a, lda, b, ldb, c, ldc)
    })
}

impl<T: BlasElement> Routine for InPlace<T> {
    const NAME: &'static str = "trmm";
    const OPERANDS: OperandNames = (&["a", "alpha"], &["b"]);
    type Reads = (T, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, alpha): &Spans<Self::Reads>, (b,): &Spans<(T,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        self.0.check(a.len(), b.len())
    }

    fn cost(&self) -> Cost {
        self.0.cost()
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, alpha): (&[T], Option<&[T]>), (b,): (&mut [T],)) -> Result<()> {
        T::trmm(&self.0.on_host(alpha), a, b);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, alpha), (b,), ldb) = (*queue.reads(), *queue.writes(), self.0.ldb);
        let alpha = Scalar::new(self.0.alpha, &alpha);
        enqueue(queue, &self.0, &alpha, (a.address(), b.address(), b.address()), ldb)
    }
}

impl<T: BlasElement> Routine for Apart<T> {
    const NAME: &'static str = "trmm";
    const OPERANDS: OperandNames = (&["a", "b", "alpha"], &["c"]);
    type Reads = (T, T, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, b, alpha): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        self.triangle.check(a.len(), b.len())?;
        check_matrix("c", self.triangle.m, self.triangle.n, self.ldc, c.len())
    }

    fn overwrites(&self, (c,): &Spans<(T,)>) -> bool {
        fills(self.triangle.m, self.triangle.n, self.ldc, c.len())
    }

    fn cost(&self) -> Cost {
        self.triangle.cost()
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, alpha): (&[T], &[T], Option<&[T]>), (c,): (&mut [T],)) -> Result<()> {
        let (spec, ldc) = (self.triangle.on_host(alpha), self.ldc);
        T::copy(spec.m, spec.n, (b, spec.ldb), (c, ldc));
        T::trmm(&TriSpec { ldb: ldc, ..spec }, a, c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, b, alpha), (c,)) = (*queue.reads(), *queue.writes());
        let alpha = Scalar::new(self.triangle.alpha, &alpha);
        enqueue(queue, &self.triangle, &alpha, (a.address(), b.address(), c.address()), self.ldc)
    }
}

impl Blas {
    /// The product with a triangular matrix in place of B, `B = alpha * A * B` (A on the left) or `B = alpha * B * A`
    /// (`cublas<t>trmm` with one matrix as B and C); see [`Triangular`]. A and B may lie in any order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, an operand has not two axes, or neither the rows nor the columns of
    /// one are contiguous: [`contiguous`](crate::Device::contiguous) makes a copy; a stale or foreign buffer.
    /// [`Error::Unsupported`] for the conjugate of an A that lies in the order of B. `b` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Side, Uplo, blas::Triangular};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [2.0f64, 0.0, 1.0, 4.0])?;
    /// let b = device.tensor([2, 1], [1.0, 2.0])?;
    /// let b = device.blas().trmm(Triangular::new(Side::Left, Uplo::Lower), &a, b)?;
    /// assert_eq!(device.to_vec(&b)?, [2.0, 9.0]);
    /// # Ok(()) }
    /// ```
    pub fn trmm<'a, T: BlasElement>(
        &self,
        spec: Triangular<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (a, b) = (a.into(), b.into());
        let made = a.operand().and_then(|(a, of_a)| {
            let triangle = Triangle::of(&spec, &matrix("a", &of_a)?, &matrix("b", b.layout())?)?;
            let (alpha, at) = spec.alpha.one("alpha")?;
            Ok((InPlace(Triangle { alpha, ..triangle }), (a, at)))
        });
        self.writes(made, b)
    }

    /// As [`trmm`](Self::trmm), but B does not change and the product goes to `c` (`cublas<t>trmm`), which lies in the order of B.
    ///
    /// # Errors
    /// As [`trmm`](Self::trmm), and when B lies in another order than C; `c` comes back.
    pub fn trmm_into<'a, 'b, T: BlasElement>(
        &self,
        spec: Triangular<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        let made = a.operand().and_then(|(a, of_a)| {
            let (b, of_b) = b.operand()?;
            let [of_a, of_b, of_c] = [matrix("a", &of_a)?, matrix("b", &of_b)?, matrix("c", c.layout())?];
            check_shape("b", &of_b, (of_c.rows, of_c.cols), ("c", &of_c))?;
            spec.check_shapes(&of_a, &of_b)?;
            let (alpha, at) = spec.alpha.one("alpha")?;
            let apart = in_some_order("c", &of_c, |order, ldc| {
                let ldb = like("b", &of_b, order, "c")?;
                let triangle = Triangle::in_order(&spec, &of_a, &of_b, (order, ldb))?;
                Ok(Apart { triangle: Triangle { alpha, ..triangle }, ldc })
            })?;
            Ok((apart, (a, b, at)))
        });
        self.writes(made, c)
    }
}
