//! Solutions with a triangular matrix: trsm, of matrices and of batches of them.

use super::super::prelude::*;
use super::batch::Operand;
use super::cost;
use super::orders::{batch_of, check_shape, in_some_order, turned};
use super::spread::Even;
use super::trsm_batched::Solve;
#[cfg(feature = "host")]
use crate::numerics::level3::TriSpec;

/// A triangular A beside a general `m x n` matrix B: on the left it is `m x m`, on the right `n x n`. Only one triangle of A, as its
/// view shows it, is read, without its diagonal if that is all ones. (Of the lower triangle of A, `a.transpose()` is upper.)
///
/// Unless set, the diagonal is as stored, and `alpha` is 1.
#[derive(Clone, Debug)]
#[must_use]
pub struct Triangular<'a, T: BlasElement> {
    side: Side,
    uplo: Uplo,
    diag: Diag,
    conjugate_a: bool,
    pub(super) alpha: Numbers<'a, T>,
}

impl<T: BlasElement> Triangular<'_, T> {
    /// A on `side`, its triangle `uplo`.
    pub fn new(side: Side, uplo: Uplo) -> Self {
        Triangular { side, uplo, diag: Diag::NonUnit, conjugate_a: false, alpha: <T as GemmElement>::ONE.into() }
    }

    /// The kind of diagonal of A.
    pub fn diag(mut self, diag: Diag) -> Self {
        self.diag = diag;
        self
    }

    /// Takes the conjugate of A. The library has it for matrices that it transposes: those that lie in another order than B.
    pub fn conjugate_a(mut self) -> Self {
        self.conjugate_a = true;
        self
    }
}

factors!(Triangular<T: BlasElement>, alpha: T);

/// A problem of matrices that are read by columns.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Triangle<T: BlasElement> {
    pub(super) side: Side,
    pub(super) uplo: Uplo,
    pub(super) trans: Transpose,
    pub(super) diag: Diag,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) lda: usize,
    pub(super) ldb: usize,
    pub(super) alpha: T,
}

impl<T: BlasElement> Triangle<T> {
    /// The problem of a B that is read in `order`. Its `alpha` is not set.
    pub(super) fn in_order(
        spec: &Triangular<'_, T>,
        a: &Matrices,
        b: &Matrices,
        (order, ldb): (Order, usize),
    ) -> Result<Self> {
        let (own, trans, lda) = turned::<T>("a", a, order, spec.conjugate_a)?;
        let (m, n) = if order == Order::Row { (b.cols, b.rows) } else { (b.rows, b.cols) };
        let (side, uplo, diag) = (spec.side.by_columns(order), spec.uplo.by_columns(own), spec.diag);
        Ok(Triangle { side, uplo, trans, diag, m, n, lda, ldb, alpha: T::default() })
    }

    /// The problem of matrices A and B.
    pub(super) fn of(spec: &Triangular<'_, T>, a: &Matrices, b: &Matrices) -> Result<Self> {
        spec.check_shapes(a, b)?;
        in_some_order("b", b, |order, ldb| Self::in_order(spec, a, b, (order, ldb)))
    }

    /// Rows and columns of A.
    pub(super) fn order(&self) -> usize {
        if self.side == Side::Left { self.m } else { self.n }
    }

    /// A and B, of a batch at these distances.
    pub(super) fn operands(&self, [stride_a, stride_b]: [usize; 2]) -> [Operand; 2] {
        let order = self.order();
        [
            Operand { name: "a", rows: order, cols: order, ld: self.lda, stride: stride_a },
            Operand { name: "b", rows: self.m, cols: self.n, ld: self.ldb, stride: stride_b },
        ]
    }

    /// Checks the sizes, and that A and B lie inside their buffers.
    pub(super) fn check(&self, a: usize, b: usize) -> Result<()> {
        let order = self.order();
        check_size("m", self.m)?;
        check_size("n", self.n)?;
        check_matrix("a", order, order, self.lda, a)?;
        check_matrix("b", self.m, self.n, self.ldb, b)
    }

    pub(super) fn cost(&self) -> Cost {
        let (order, elements) = (self.order(), self.m.saturating_mul(self.n));
        // Half of A is zero.
        cost::<T>([self.m, self.n, order.div_ceil(2)], [order.saturating_mul(order) / 2, elements, elements])
    }

    #[cfg(feature = "host")]
    pub(super) fn on_host(&self, alpha: Option<&[T]>) -> TriSpec<T> {
        TriSpec {
            side: self.side.on_host(),
            uplo: self.uplo.on_host(),
            trans: self.trans.on_host(),
            unit: self.diag == Diag::Unit,
            m: self.m,
            n: self.n,
            lda: self.lda,
            ldb: self.ldb,
            alpha: value(self.alpha, alpha),
        }
    }
}

impl<T: BlasElement> Triangular<'_, T> {
    /// Refuses an A that has not as many rows and columns as B on its side.
    pub(super) fn check_shapes(&self, a: &Matrices, b: &Matrices) -> Result<()> {
        let order = if self.side == Side::Left { b.rows } else { b.cols };
        check_shape("a", a, (order, order), ("b", b))
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Trsm<T: BlasElement>(Triangle<T>);

impl<T: BlasElement> Routine for Trsm<T> {
    const NAME: &'static str = "trsm";
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
        T::trsm(&self.0.on_host(alpha), a, b);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (a, alpha), (b,)) = (&self.0, *queue.reads(), *queue.writes());
        let (m, n, [lda, ldb]) = (spec.m as i64, spec.n as i64, [spec.lda as i64, spec.ldb as i64]);
        if m == 0 || n == 0 {
            return Ok(());
        }
        let alpha = Scalar::new(spec.alpha, &alpha);
        if alpha.is_zero() {
            return queue.scale_matrix::<T>((spec.m, spec.n), &alpha, b.address(), ldb);
        }
        let (side, uplo, trans) = (spec.side.code(), spec.uplo.code(), spec.trans.code::<T>());
        let (diag, a, b) = (spec.diag.code(), a.address() as *const _, b.address() as *mut _);
        // SAFETY: the matrices lie inside their buffers (checked), which live until this work is done; a scalar in host
        // memory is read before the call returns.
        queue.typed(alpha.mode(), |api, handle| unsafe {
            api.trsm(T::LETTER, handle, side, uplo, trans, diag, m, n, alpha.pointer(), a, lda, b, ldb)
        })
    }
}

impl Blas {
    /// Solves `A * X = alpha * B` (A on the left) or `X * A = alpha * B` in place of B (`cublas<t>trsm`); see [`Triangular`]. The
    /// leading axes of B are a batch, along which those of A are broadcast (`cublas<t>trsmBatched`). A and B may lie in any order.
    /// The diagonal is not checked for zeros: a zero gives infinities and NaN.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, neither the rows nor the columns of an operand are contiguous, or
    /// the matrices of a batch are not at even distances or share elements of B: [`contiguous`](crate::Device::contiguous) makes a
    /// copy; a stale or foreign buffer. [`Error::Unsupported`] for the conjugate of an A that lies in the order of B. `b` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Side, Uplo, blas::Triangular};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [2.0f64, 0.0, 1.0, 4.0])?;
    /// let b = device.tensor([2, 1], [2.0, 9.0])?;
    /// let x = device.blas().trsm(Triangular::new(Side::Left, Uplo::Lower), &a, b)?;
    /// assert_eq!(device.to_vec(&x)?, [1.0, 2.0]);
    /// let batch = device.tensor([2, 2, 1], [9.0, 8.0, 6.0, 4.0])?; // one A for both
    /// let x = device.blas().trsm(Triangular::new(Side::Left, Uplo::Upper), a.transpose(), batch)?;
    /// assert_eq!(device.to_vec(&x)?, [3.5, 2.0, 2.5, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn trsm<'a, T: BlasElement>(
        &self,
        spec: Triangular<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.solve_triangle(&spec, &a.into(), b.into())
    }

    fn solve_triangle<T: BlasElement>(
        &self,
        spec: &Triangular<'_, T>,
        a: &TensorRef<'_, T>,
        b: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let made = a.operand().and_then(|(a, of_a)| {
            let (of_b, batch) = batch_of("b", b.layout())?;
            let of_a = Matrices::along("a", &of_a, batch)?;
            let ((alpha, at), triangle) = (spec.alpha.one("alpha")?, Triangle::of(spec, &of_a, &of_b)?);
            let (triangle, strides) = (Triangle { alpha, ..triangle }, [of_a.stride, of_b.stride]);
            Ok((Solve::<T, Even> { triangle, count: of_b.count, strides, _spread: PhantomData }, (a, at)))
        });
        if b.layout().rank() > 2 {
            return self.writes(made, b);
        }
        self.writes(made.map(|(solve, reads)| (Trsm(solve.triangle), reads)), b)
    }
}
