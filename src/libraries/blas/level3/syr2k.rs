//! Two products whose sum is symmetric or Hermitian, and one product that the caller knows to be: syr2k, her2k, syrkx,
//! herkx.

use super::super::prelude::*;
use super::cost;
use super::orders::{check_shape, in_some_order, matrix};
use super::syrk::factors;
#[cfg(feature = "host")]
use crate::numerics::level3::{RankSpec, Terms};

/// `C = alpha * (A * B^T + B * A^T) + beta * C`, or for [`Blas::syrkx`] only the first product, which the caller knows to be
/// symmetric. A and B are `n x k`; of C, `n x n`, only one triangle is read and written.
///
/// Unless set, `alpha` is 1 and `beta` 0.
#[derive(Clone, Debug)]
#[must_use]
pub struct Syr2k<'a, T: BlasElement> {
    uplo: Uplo,
    alpha: Numbers<'a, T>,
    beta: Numbers<'a, T>,
}

/// `C = alpha * A * B^H + conj(alpha) * B * A^H + beta * C`, `beta` real, or for [`Blas::herkx`] only the first product: as
/// [`Syr2k`], but C is Hermitian, its diagonal real.
#[derive(Clone, Debug)]
#[must_use]
pub struct Her2k<'a, T: ComplexElement> {
    uplo: Uplo,
    conjugate: bool,
    alpha: Numbers<'a, T>,
    beta: Numbers<'a, T::Real>,
}

impl<T: BlasElement> Syr2k<'_, T> {
    /// Writes the triangle `uplo` of C.
    pub fn new(uplo: Uplo) -> Self {
        Syr2k { uplo, alpha: <T as GemmElement>::ONE.into(), beta: T::default().into() }
    }
}

impl<T: ComplexElement> Her2k<'_, T> {
    /// Writes the triangle `uplo` of C.
    pub fn new(uplo: Uplo) -> Self {
        let (alpha, beta) = (<T as GemmElement>::ONE.into(), T::Real::default().into());
        Her2k { uplo, conjugate: false, alpha, beta }
    }

    /// Takes the conjugates of both A and B.
    pub fn conjugate(mut self) -> Self {
        self.conjugate = true;
        self
    }
}

factors!(Syr2k<T: BlasElement>, alpha: T, beta: T);
factors!(Her2k<T: ComplexElement>, alpha: T, beta: T::Real);

/// `S` is the type of `beta`.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "T: BlasElement, S: BlasElement")]
pub(super) struct Rank2<T, S, const HERMITIAN: bool, const TWO: bool> {
    uplo: Uplo,
    n: usize,
    k: usize,
    trans: Transpose,
    lda: usize,
    ldb: usize,
    ldc: usize,
    alpha: T,
    beta: S,
    /// A and B are swapped: the transposed product, of a C that is written by rows.
    swapped: bool,
    _type: PhantomData<T>,
}

impl<T, S, const HERMITIAN: bool, const TWO: bool> Rank2<T, S, HERMITIAN, TWO> {
    /// A and B with their leading dimensions, in the order of the column-major product.
    fn factors<X>(&self, a: X, b: X) -> ((X, usize), (X, usize)) {
        let (a, b) = ((a, self.lda), (b, self.ldb));
        if self.swapped { (b, a) } else { (a, b) }
    }
}

impl<T: BlasElement, S: BlasElement + Into<T>, const HERMITIAN: bool, const TWO: bool> Routine
    for Rank2<T, S, HERMITIAN, TWO>
{
    const NAME: &'static str = match (HERMITIAN, TWO) {
        (false, true) => "syr2k",
        (false, false) => "syrkx",
        (true, true) => "her2k",
        (true, false) => "herkx",
    };
    const OPERANDS: OperandNames = (&["a", "b", "alpha", "beta"], &["c"]);
    type Reads = (T, T, Option<T>, Option<S>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, b, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        check_size("n", self.n)?;
        check_size("k", self.k)?;
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        let (rows, cols) = self.trans.stored(self.n, self.k);
        check_matrix("a", rows, cols, self.lda, a.len())?;
        check_matrix("b", rows, cols, self.ldb, b.len())?;
        check_matrix("c", self.n, self.n, self.ldc, c.len())
    }

    fn cost(&self) -> Cost {
        let (n, k) = (self.n, self.k);
        let columns = if TWO { n } else { n / 2 + 1 };
        cost::<T>([n, columns, k], [n.saturating_mul(k), n.saturating_mul(k), n.saturating_mul(n)])
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, alpha, beta): (&[T], &[T], Option<&[T]>, Option<&[S]>), (c,): (&mut [T],)) -> Result<()> {
        let ((a, lda), (b, ldb)) = self.factors(a, b);
        let spec = RankSpec {
            terms: if TWO { Terms::Two } else { Terms::Cross },
            uplo: self.uplo.on_host(),
            trans: self.trans.on_host(),
            hermitian: HERMITIAN,
            n: self.n,
            k: self.k,
            lda,
            ldb,
            ldc: self.ldc,
            alpha: value(self.alpha, alpha),
            beta: value(self.beta, beta).into(),
        };
        T::rank(&spec, a, b, c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        use crate::libraries::blas::native::CublasTyped as Api;
        let ((a, b, alpha, beta), (c,)) = (*queue.reads(), *queue.writes());
        if self.n == 0 {
            return Ok(());
        }
        let (alpha, beta) = queue.scalars((self.alpha, &alpha), (self.beta, &beta))?;
        // With a zero alpha, nothing of A and B is read.
        let k = if alpha.is_zero() { 0 } else { self.k as i64 };
        let (uplo, trans, n) = (self.uplo.code(), self.trans.code::<T>(), self.n as i64);
        let ((a, lda), (b, ldb)) = self.factors(a.address(), b.address());
        let [lda, ldb, ldc] = [lda, ldb, self.ldc].map(|ld| ld as i64);
        let (a, b, c) = (a as *const _, b as *const _, c.address() as *mut _);
        // SAFETY: the matrices lie inside their buffers (checked), which live until this work is done; scalars in host
        // memory are read before the call returns, and are of the types that the routine takes.
        queue.typed(alpha.mode(), |api, handle| unsafe {
            let routine = match (HERMITIAN, TWO) {
                (false, true) => Api::syr2k,
                (false, false) => Api::syrkx,
                (true, true) => Api::her2k,
                (true, false) => Api::herkx,
            };
            let (alpha, beta) = (alpha.pointer(), beta.pointer());
            routine(api, T::LETTER, handle, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
        })
    }
}

/// The factors of a call.
type Factors<'x, 'a, T> = [&'x TensorRef<'a, T>; 2];

impl Blas {
    /// Two products whose sum is a symmetric matrix (`cublas<t>syr2k`); see [`Syr2k`]. A and B lie in one order, C in any.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, an operand has not two axes, neither the rows nor the columns of
    /// one are contiguous, or A and B lie in different orders: [`contiguous`](crate::Device::contiguous) and
    /// [`contiguous_columns`](crate::Device::contiguous_columns) make copies; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Syr2k};
    /// let device = Device::host()?;
    /// let (a, b) = (device.tensor([2, 1], [1.0f64, 2.0])?, device.tensor([2, 1], [10.0, 100.0])?);
    /// let c = device.blas().syr2k(Syr2k::new(Uplo::Upper), &a, &b, device.zeros([2, 2])?)?;
    /// assert_eq!(device.to_vec(&c)?, [20.0, 120.0, 0.0, 400.0]);
    /// # Ok(()) }
    /// ```
    pub fn syr2k<'a, 'b, T: BlasElement>(
        &self,
        spec: Syr2k<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.rank_two::<T, T, false, true>(
            (spec.uplo, None),
            (&spec.alpha, &spec.beta),
            [&a.into(), &b.into()],
            c.into(),
        )
    }

    /// One product that the caller knows to be symmetric (`cublas<t>syrkx`), for example if B is A times a symmetric
    /// matrix; see [`Syr2k`].
    ///
    /// # Errors
    /// As [`syr2k`](Self::syr2k).
    pub fn syrkx<'a, 'b, T: BlasElement>(
        &self,
        spec: Syr2k<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.rank_two::<T, T, false, false>(
            (spec.uplo, None),
            (&spec.alpha, &spec.beta),
            [&a.into(), &b.into()],
            c.into(),
        )
    }

    /// Two products whose sum is a Hermitian matrix (`cublas<t>her2k`); see [`Her2k`]. A, B and C lie in one order, or C in one and
    /// A and B, which are conjugated, in the other.
    ///
    /// # Errors
    /// As [`syr2k`](Self::syr2k), and when A or B lies in the other order than C; [`Error::Unsupported`] when they are to be
    /// conjugated and lie in the order of C.
    pub fn her2k<'a, 'b, T: ComplexElement>(
        &self,
        spec: Her2k<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let flags = (spec.uplo, Some(spec.conjugate));
        self.rank_two::<T, T::Real, true, true>(flags, (&spec.alpha, &spec.beta), [&a.into(), &b.into()], c.into())
    }

    /// One product that the caller knows to be Hermitian (`cublas<t>herkx`); see [`Her2k`].
    ///
    /// # Errors
    /// As [`her2k`](Self::her2k).
    pub fn herkx<'a, 'b, T: ComplexElement>(
        &self,
        spec: Her2k<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let flags = (spec.uplo, Some(spec.conjugate));
        self.rank_two::<T, T::Real, true, false>(flags, (&spec.alpha, &spec.beta), [&a.into(), &b.into()], c.into())
    }

    fn rank_two<T: BlasElement, S: BlasElement + Into<T>, const HERMITIAN: bool, const TWO: bool>(
        &self,
        (uplo, hermitian): (Uplo, Option<bool>),
        (alpha, beta): (&Numbers<'_, T>, &Numbers<'_, S>),
        [a, b]: Factors<'_, '_, T>,
        c: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let made = a.operand().and_then(|(a, of_a)| {
            let (b, of_b) = b.operand()?;
            let [of_a, of_b, of_c] = [matrix("a", &of_a)?, matrix("b", &of_b)?, matrix("c", c.layout())?];
            let (n, k) = (of_a.rows, of_a.cols);
            check_shape("b", &of_b, (n, k), ("a", &of_a))?;
            check_shape("c", &of_c, (n, n), ("a", &of_a))?;
            let ((alpha, alpha_at), (beta, beta_at)) = (alpha.one("alpha")?, beta.one("beta")?);
            let rank = in_some_order("c", &of_c, |order, ldc| {
                let (trans, [lda, ldb]) = factors([("a", &of_a), ("b", &of_b)], order, hermitian)?;
                let (uplo, swapped) = (uplo.by_columns(order), order == Order::Row);
                let _type = PhantomData;
                Ok(Rank2::<T, S, HERMITIAN, TWO> { uplo, n, k, trans, lda, ldb, ldc, alpha, beta, swapped, _type })
            })?;
            Ok((rank, (a, b, alpha_at, beta_at)))
        });
        self.writes(made, c)
    }
}
