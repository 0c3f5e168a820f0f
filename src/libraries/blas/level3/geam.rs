//! Sums of scaled matrices, each in either order: geam.

use super::super::prelude::*;
use super::cost;
use super::orders::{check_shape, in_some_order, matrix, turned};
#[cfg(feature = "host")]
use crate::numerics::level3::GeamSpec;

/// `C = alpha * A + beta * B`, all `m x n`. With `beta` zero it copies, scales or transposes A.
///
/// Unless set, `alpha` is 1 and `beta` 0. A matrix whose factor is zero (by value) is not read.
#[derive(Clone, Debug)]
#[must_use]
pub struct Geam<'a, T: BlasElement> {
    conjugate_a: bool,
    conjugate_b: bool,
    alpha: Numbers<'a, T>,
    beta: Numbers<'a, T>,
}

impl<T: BlasElement> Geam<'_, T> {
    /// A itself.
    pub fn new() -> Self {
        let (alpha, beta) = (<T as GemmElement>::ONE.into(), T::default().into());
        Geam { conjugate_a: false, conjugate_b: false, alpha, beta }
    }

    /// Takes the conjugate of A. The library has it for matrices that it transposes: those that lie in another order than C.
    pub fn conjugate_a(mut self) -> Self {
        self.conjugate_a = true;
        self
    }

    /// Takes the conjugate of B, as [`conjugate_a`](Self::conjugate_a).
    pub fn conjugate_b(mut self) -> Self {
        self.conjugate_b = true;
        self
    }
}

impl<T: BlasElement> Default for Geam<'_, T> {
    fn default() -> Self {
        Self::new()
    }
}

factors!(Geam<T: BlasElement>, alpha: T, beta: T);

/// A sum that is written by columns.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Sum<T: BlasElement> {
    m: usize,
    n: usize,
    trans_a: Transpose,
    trans_b: Transpose,
    lda: usize,
    ldb: usize,
    ldc: usize,
    alpha: T,
    beta: T,
}

impl<T: BlasElement> Sum<T> {
    /// The sum, without its factors.
    fn from_layouts(spec: &Geam<'_, T>, [of_a, of_b, of_c]: [&Layout; 3]) -> Result<Self> {
        let [a, b, c] = [matrix("a", of_a)?, matrix("b", of_b)?, matrix("c", of_c)?];
        let (m, n) = (c.rows, c.cols);
        check_shape("a", &a, (m, n), ("c", &c))?;
        check_shape("b", &b, (m, n), ("c", &c))?;
        in_some_order("c", &c, |order, ldc| {
            let (_, trans_a, lda) = turned::<T>("a", &a, order, spec.conjugate_a)?;
            let (_, trans_b, ldb) = turned::<T>("b", &b, order, spec.conjugate_b)?;
            let (m, n) = if order == Order::Row { (n, m) } else { (m, n) };
            let (alpha, beta) = (T::default(), T::default());
            Ok(Sum { m, n, trans_a, trans_b, lda, ldb, ldc, alpha, beta })
        })
    }
}

impl<T: BlasElement> Routine for Sum<T> {
    const NAME: &'static str = "geam";
    const OPERANDS: OperandNames = (&["a", "b", "alpha", "beta"], &["c"]);
    type Reads = (T, T, Option<T>, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, b, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        let Sum { m, n, lda, ldb, ldc, .. } = *self;
        check_size("m", m)?;
        check_size("n", n)?;
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        let ((rows_a, cols_a), (rows_b, cols_b)) = (self.trans_a.stored(m, n), self.trans_b.stored(m, n));
        check_matrix("a", rows_a, cols_a, lda, a.len())?;
        check_matrix("b", rows_b, cols_b, ldb, b.len())?;
        check_matrix("c", m, n, ldc, c.len())
    }

    fn overwrites(&self, (c,): &Spans<(T,)>) -> bool {
        fills(self.m, self.n, self.ldc, c.len())
    }

    fn cost(&self) -> Cost {
        let elements = self.m.saturating_mul(self.n);
        cost::<T>([self.m, self.n, 1], [elements; 3])
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, alpha, beta): (&[T], &[T], Option<&[T]>, Option<&[T]>), (c,): (&mut [T],)) -> Result<()> {
        let Sum { m, n, lda, ldb, ldc, .. } = *self;
        let (op_a, op_b) = (self.trans_a.on_host(), self.trans_b.on_host());
        let (alpha, beta) = (value(self.alpha, alpha), value(self.beta, beta));
        T::geam(&GeamSpec { m, n, op_a, lda, op_b, ldb, ldc, alpha, beta }, a, b, c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, b, alpha, beta), (c,)) = (*queue.reads(), *queue.writes());
        let [m, n, lda, ldb, ldc] = [self.m, self.n, self.lda, self.ldb, self.ldc].map(|size| size as i64);
        if m == 0 || n == 0 {
            return Ok(());
        }
        let (alpha, beta) = queue.scalars((self.alpha, &alpha), (self.beta, &beta))?;
        let (trans_a, trans_b) = (self.trans_a.code::<T>(), self.trans_b.code::<T>());
        // A matrix that is multiplied by zero must not be read: the other matrix is passed instead.
        let (of_a, of_b) = ((trans_a, a.address(), lda), (trans_b, b.address(), ldb));
        let [(trans_a, a, lda), (trans_b, b, ldb)] = match (alpha.is_zero(), beta.is_zero()) {
            (true, true) => return queue.scale_matrix::<T>((self.m, self.n), &beta, c.address(), ldc),
            (true, false) => [of_b; 2],
            (false, true) => [of_a; 2],
            (false, false) => [of_a, of_b],
        };
        let (a, b, c) = (a as *const _, b as *const _, c.address() as *mut _);
        // SAFETY: the matrices lie inside their buffers (checked), which live until this work is done; scalars in host
        // memory are read before the call returns.
        queue.typed(alpha.mode(), |api, handle| unsafe {
            let (alpha, beta) = (alpha.pointer(), beta.pointer());
            api.geam(T::LETTER, handle, trans_a, trans_b, m, n, alpha, a, lda, beta, b, ldb, c, ldc)
        })
    }
}

impl Blas {
    /// The sum of two scaled matrices (`cublas<t>geam`); see [`Geam`]. All may lie in any order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes differ, an operand has not two axes, or neither the rows nor the columns of one
    /// are contiguous: [`contiguous`](crate::Device::contiguous) makes a copy; a stale or foreign buffer. [`Error::Unsupported`]
    /// for the conjugate of a matrix that lies in the order of C. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, blas::Geam};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0])?;
    /// let c = device.blas().geam(Geam::new().beta(10.0), &a, a.transpose(), device.uninit([2, 2])?)?;
    /// assert_eq!(device.to_vec(&c)?, [11.0, 32.0, 23.0, 44.0]);
    /// # Ok(()) }
    /// ```
    pub fn geam<'a, 'b, T: BlasElement>(
        &self,
        spec: Geam<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.sum(&spec, &a.into(), &b.into(), c.into())
    }

    fn sum<T: BlasElement>(
        &self,
        spec: &Geam<'_, T>,
        a: &TensorRef<'_, T>,
        b: &TensorRef<'_, T>,
        c: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let made = a.operand().and_then(|(a, of_a)| {
            let (b, of_b) = b.operand()?;
            let sum = Sum::from_layouts(spec, [&of_a, &of_b, c.layout()])?;
            let ((alpha, alpha_at), (beta, beta_at)) = (spec.alpha.one("alpha")?, spec.beta.one("beta")?);
            Ok((Sum { alpha, beta, ..sum }, (a, b, alpha_at, beta_at)))
        });
        self.writes(made, c)
    }
}
