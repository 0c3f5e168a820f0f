//! Products with a symmetric or a Hermitian matrix: symm, hemm.

use super::super::prelude::*;
use super::cost;
use super::orders::{check_shape, in_some_order, like, matrix};
#[cfg(feature = "host")]
use crate::numerics::level3::SymmSpec;

/// `C = alpha * A * B + beta * C` (A on the left) or `C = alpha * B * A + beta * C`, where A is symmetric, or for
/// [`Blas::hemm`] Hermitian: of A only one triangle is read.
///
/// Unless set, `alpha` is 1 and `beta` 0.
#[derive(Clone, Debug)]
#[must_use]
pub struct Symm<'a, T: BlasElement> {
    side: Side,
    uplo: Uplo,
    alpha: Numbers<'a, T>,
    beta: Numbers<'a, T>,
}

impl<T: BlasElement> Symm<'_, T> {
    /// A on `side`, whose triangle `uplo` is read.
    pub fn new(side: Side, uplo: Uplo) -> Self {
        Symm { side, uplo, alpha: <T as GemmElement>::ONE.into(), beta: T::default().into() }
    }
}

factors!(Symm<T: BlasElement>, alpha: T, beta: T);

#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Product<T: BlasElement, const HERMITIAN: bool> {
    side: Side,
    uplo: Uplo,
    m: usize,
    n: usize,
    lda: usize,
    ldb: usize,
    ldc: usize,
    alpha: T,
    beta: T,
    beta_at: bool,
}

impl<T: BlasElement, const HERMITIAN: bool> Product<T, HERMITIAN> {
    /// The product by columns, without its factors. A symmetric A is read in either order: the other one has the other triangle. A
    /// Hermitian one is its own conjugate in the other order, so it has to lie as C does.
    fn from_layouts(spec: &Symm<'_, T>, [of_a, of_b, of_c]: [&Layout; 3]) -> Result<Self> {
        let [a, b, c] = [matrix("a", of_a)?, matrix("b", of_b)?, matrix("c", of_c)?];
        let (m, n) = (c.rows, c.cols);
        check_shape("b", &b, (m, n), ("c", &c))?;
        let order = if spec.side == Side::Left { m } else { n };
        check_shape("a", &a, (order, order), ("c", &c))?;
        in_some_order("c", &c, |order, ldc| {
            let ldb = like("b", &b, order, "c")?;
            let (own, lda) = if HERMITIAN { (order, like("a", &a, order, "c")?) } else { a.lines("a", order)? };
            let (m, n) = if order == Order::Row { (n, m) } else { (m, n) };
            let (side, uplo) = (spec.side.by_columns(order), spec.uplo.by_columns(own));
            let (alpha, beta) = (T::default(), T::default());
            Ok(Product { side, uplo, m, n, lda, ldb, ldc, alpha, beta, beta_at: false })
        })
    }

    /// Rows and columns of A.
    fn order(&self) -> usize {
        if self.side == Side::Left { self.m } else { self.n }
    }
}

impl<T: BlasElement, const HERMITIAN: bool> Routine for Product<T, HERMITIAN> {
    const NAME: &'static str = if HERMITIAN { "hemm" } else { "symm" };
    const OPERANDS: OperandNames = (&["a", "b", "alpha", "beta"], &["c"]);
    type Reads = (T, T, Option<T>, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, b, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        let (Product { m, n, lda, ldb, ldc, .. }, order) = (*self, self.order());
        check_size("m", m)?;
        check_size("n", n)?;
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        check_matrix("a", order, order, lda, a.len())?;
        check_matrix("b", m, n, ldb, b.len())?;
        check_matrix("c", m, n, ldc, c.len())
    }

    fn overwrites(&self, (c,): &Spans<(T,)>) -> bool {
        !self.beta_at && self.beta == T::default() && fills(self.m, self.n, self.ldc, c.len())
    }

    fn cost(&self) -> Cost {
        let (Product { m, n, .. }, order) = (*self, self.order());
        let moved = [order.saturating_mul(order) / 2, m.saturating_mul(n), m.saturating_mul(n)];
        cost::<T>([m, n, order], moved)
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, alpha, beta): (&[T], &[T], Option<&[T]>, Option<&[T]>), (c,): (&mut [T],)) -> Result<()> {
        let Product { m, n, side, uplo, lda, ldb, ldc, .. } = *self;
        let (alpha, beta) = (value(self.alpha, alpha), value(self.beta, beta));
        let (side, uplo, hermitian) = (side.on_host(), uplo.on_host(), HERMITIAN);
        T::symm(&SymmSpec { side, uplo, hermitian, m, n, lda, ldb, ldc, alpha, beta }, a, b, c);
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
        if alpha.is_zero() {
            return queue.scale_matrix::<T>((self.m, self.n), &beta, c.address(), ldc);
        }
        let (side, uplo) = (self.side.code(), self.uplo.code());
        let (a, b, c) = (a.address() as *const _, b.address() as *const _, c.address() as *mut _);
        // SAFETY: the matrices lie inside their buffers (checked), which live until this work is done; scalars in host
        // memory are read before the call returns.
        queue.typed(alpha.mode(), |api, handle| unsafe {
            let routine = if HERMITIAN {
                crate::libraries::blas::native::CublasTyped::hemm
            } else {
                crate::libraries::blas::native::CublasTyped::symm
            };
            routine(api, T::LETTER, handle, side, uplo, m, n, alpha.pointer(), a, lda, b, ldb, beta.pointer(), c, ldc)
        })
    }
}

impl Blas {
    /// The product with a symmetric matrix (`cublas<t>symm`); see [`Symm`]. B and C are `m x n` and lie in one order; A is `m x m`
    /// or `n x n`, in any order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, an operand has not two axes, neither the rows nor the columns of
    /// one are contiguous, or B lies in another order than C: [`contiguous`](crate::Device::contiguous) and
    /// [`contiguous_columns`](crate::Device::contiguous_columns) make copies; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Side, Uplo, blas::Symm};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [1.0f64, f64::NAN, 2.0, 3.0])?; // [1 2; 2 3], its lower triangle
    /// let b = device.tensor([2, 1], [1.0, 10.0])?;
    /// let spec = Symm::new(Side::Left, Uplo::Lower);
    /// let c = device.blas().symm(spec, &a, &b, device.uninit([2, 1])?)?;
    /// assert_eq!(device.to_vec(&c)?, [21.0, 32.0]);
    /// # Ok(()) }
    /// ```
    pub fn symm<'a, 'b, T: BlasElement>(
        &self,
        spec: Symm<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.product_with::<T, false>(&spec, &a.into(), &b.into(), c.into())
    }

    /// The product with a Hermitian matrix (`cublas<t>hemm`), whose diagonal is taken as real; see [`Symm`]. As
    /// [`symm`](Self::symm), but A has to lie in the order of B and C.
    ///
    /// # Errors
    /// As [`symm`](Self::symm), and when A lies in another order.
    pub fn hemm<'a, 'b, T: ComplexElement>(
        &self,
        spec: Symm<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.product_with::<T, true>(&spec, &a.into(), &b.into(), c.into())
    }

    fn product_with<T: BlasElement, const HERMITIAN: bool>(
        &self,
        spec: &Symm<'_, T>,
        a: &TensorRef<'_, T>,
        b: &TensorRef<'_, T>,
        c: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let made = a.operand().and_then(|(a, of_a)| {
            let (b, of_b) = b.operand()?;
            let product = Product::<T, HERMITIAN>::from_layouts(spec, [&of_a, &of_b, c.layout()])?;
            let ((alpha, alpha_at), (beta, beta_at)) = (spec.alpha.one("alpha")?, spec.beta.one("beta")?);
            let product = Product { alpha, beta, beta_at: beta_at.is_some(), ..product };
            Ok((product, (a, b, alpha_at, beta_at)))
        });
        self.writes(made, c)
    }
}
