//! One triangle of the product of a matrix with its transpose: syrk, herk.

use super::super::prelude::*;
use super::cost;
use super::orders::{check_shape, in_some_order, like, matrix, no_conjugate};
#[cfg(feature = "host")]
use crate::numerics::level3::{RankSpec, Terms};

/// `C = alpha * A * A^T + beta * C`: A is `n x k`, C is symmetric and `n x n`, and of C only one triangle is read and written.
///
/// Unless set, `alpha` is 1 and `beta` 0.
#[derive(Clone, Debug)]
#[must_use]
pub struct Syrk<'a, T: BlasElement> {
    uplo: Uplo,
    alpha: Numbers<'a, T>,
    beta: Numbers<'a, T>,
}

/// `C = alpha * A * A^H + beta * C`, both scalars real: as [`Syrk`], but C is Hermitian, its diagonal real.
#[derive(Clone, Debug)]
#[must_use]
pub struct Herk<'a, T: ComplexElement> {
    uplo: Uplo,
    conjugate_a: bool,
    alpha: Numbers<'a, T::Real>,
    beta: Numbers<'a, T::Real>,
}

impl<T: BlasElement> Syrk<'_, T> {
    /// Writes the triangle `uplo` of C.
    pub fn new(uplo: Uplo) -> Self {
        Syrk { uplo, alpha: <T as GemmElement>::ONE.into(), beta: T::default().into() }
    }
}

impl<T: ComplexElement> Herk<'_, T> {
    /// Writes the triangle `uplo` of C.
    pub fn new(uplo: Uplo) -> Self {
        let (alpha, beta) = (<T::Real as GemmElement>::ONE.into(), T::Real::default().into());
        Herk { uplo, conjugate_a: false, alpha, beta }
    }

    /// Takes the conjugate of A: `conj(A) * A^T`. With `a.transpose()` that is `A^H * A`.
    pub fn conjugate_a(mut self) -> Self {
        self.conjugate_a = true;
        self
    }
}

factors!(Syrk<T: BlasElement>, alpha: T, beta: T);
factors!(Herk<T: ComplexElement>, alpha: T::Real, beta: T::Real);

/// What the library does to the factors of an update that writes in `order`, and their leading dimensions. Those of a symmetric
/// update may lie in either order, all in one. A Hermitian update (which takes their conjugates or not) multiplies what it
/// transposes by conjugates, so its factors lie in the order of C, or their conjugates in the other one.
pub(super) fn factors<const N: usize>(
    all: [(&'static str, &Matrices); N],
    order: Order,
    hermitian: Option<bool>,
) -> Result<(Transpose, [usize; N])> {
    let by_columns = all.iter().all(|(_, of)| of.leading(Order::Column).is_some());
    let (own, other) = match hermitian {
        Some(conjugate) => (if conjugate { order.turned() } else { order }, "c"),
        None => (if by_columns { Order::Column } else { Order::Row }, all.last().map_or("c", |(name, _)| *name)),
    };
    let mut leading = [0; N];
    for (ld, (name, of)) in leading.iter_mut().zip(all) {
        *ld = match of.leading(own) {
            Some(ld) => ld,
            None if hermitian == Some(true) => return of.lines(name, own).and(Err(no_conjugate(name))),
            None => like(name, of, own, other)?,
        };
    }
    let trans = match (own, hermitian) {
        (Order::Column, _) => Transpose::No,
        (Order::Row, None) => Transpose::Yes,
        (Order::Row, Some(_)) => Transpose::Conjugate,
    };
    Ok((trans, leading))
}

/// `S` is the type of the scalars.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "S: BlasElement")]
pub(super) struct Rank<T, S, const HERMITIAN: bool> {
    uplo: Uplo,
    n: usize,
    k: usize,
    trans: Transpose,
    lda: usize,
    ldc: usize,
    alpha: S,
    beta: S,
    _type: PhantomData<T>,
}

impl<T: BlasElement, S: BlasElement + Into<T>, const HERMITIAN: bool> Routine for Rank<T, S, HERMITIAN> {
    const NAME: &'static str = if HERMITIAN { "herk" } else { "syrk" };
    const OPERANDS: OperandNames = (&["a", "alpha", "beta"], &["c"]);
    type Reads = (T, Option<S>, Option<S>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(T,)>) -> Result<()> {
        check_size("n", self.n)?;
        check_size("k", self.k)?;
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        let (rows, cols) = self.trans.stored(self.n, self.k);
        check_matrix("a", rows, cols, self.lda, a.len())?;
        check_matrix("c", self.n, self.n, self.ldc, c.len())
    }

    fn cost(&self) -> Cost {
        let (n, k) = (self.n, self.k);
        cost::<T>([n, n / 2 + 1, k], [n.saturating_mul(k), n.saturating_mul(n), 0])
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, alpha, beta): (&[T], Option<&[S]>, Option<&[S]>), (c,): (&mut [T],)) -> Result<()> {
        let (alpha, beta) = (value(self.alpha, alpha), value(self.beta, beta));
        let spec = RankSpec {
            terms: Terms::One,
            uplo: self.uplo.on_host(),
            trans: self.trans.on_host(),
            hermitian: HERMITIAN,
            n: self.n,
            k: self.k,
            lda: self.lda,
            ldb: self.lda,
            ldc: self.ldc,
            alpha: alpha.into(),
            beta: beta.into(),
        };
        T::rank(&spec, a, &[], c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, alpha, beta), (c,)) = (*queue.reads(), *queue.writes());
        if self.n == 0 {
            return Ok(());
        }
        let (alpha, beta) = queue.scalars((self.alpha, &alpha), (self.beta, &beta))?;
        // With a zero alpha, nothing of A is read.
        let k = if alpha.is_zero() { 0 } else { self.k as i64 };
        let (uplo, trans, n) = (self.uplo.code(), self.trans.code::<T>(), self.n as i64);
        let (lda, ldc) = (self.lda as i64, self.ldc as i64);
        let (a, c) = (a.address() as *const _, c.address() as *mut _);
        // SAFETY: the matrices lie inside their buffers (checked), which live until this work is done; scalars in host
        // memory are read before the call returns, and are of the type that the routine takes.
        queue.typed(alpha.mode(), |api, handle| unsafe {
            let routine = if HERMITIAN {
                crate::libraries::blas::native::CublasTyped::herk
            } else {
                crate::libraries::blas::native::CublasTyped::syrk
            };
            routine(api, T::LETTER, handle, uplo, trans, n, k, alpha.pointer(), a, lda, beta.pointer(), c, ldc)
        })
    }
}

impl Blas {
    /// One triangle of the product of a matrix with its transpose (`cublas<t>syrk`); see [`Syrk`]. A and C may lie in any order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, an operand has not two axes, or neither the rows nor the columns of
    /// one are contiguous: [`contiguous`](crate::Device::contiguous) makes a copy; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Syrk};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 1], [1.0f32, 2.0])?;
    /// let c = device.tensor([2, 2], [0.0, 7.0, 0.0, 0.0])?;
    /// let c = device.blas().syrk(Syrk::new(Uplo::Lower), &a, c)?;
    /// assert_eq!(device.to_vec(&c)?, [1.0, 7.0, 2.0, 4.0]);
    /// # Ok(()) }
    /// ```
    pub fn syrk<'a, T: BlasElement>(
        &self,
        spec: Syrk<'_, T>,
        a: impl ReadableTensor<'a, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.rank::<T, T, false>((spec.uplo, None), [&spec.alpha, &spec.beta], &a.into(), c.into())
    }

    /// One triangle of the product of a matrix with its conjugate transpose (`cublas<t>herk`); see [`Herk`]. A lies in the order of
    /// C, or its conjugate in the other one.
    ///
    /// # Errors
    /// As [`syrk`](Self::syrk), and when A lies in the other order than C; [`Error::Unsupported`] when it is to be conjugated and
    /// lies in the order of C.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, Uplo, blas::Herk};
    /// let (device, i) = (Device::host()?, Complex::new(0.0f32, 1.0));
    /// let a = device.tensor([1, 2], [Complex::new(1.0, 0.0), i])?;
    /// let c = device.zeros([2, 2])?;
    /// let c = device.blas().herk(Herk::new(Uplo::Upper).conjugate_a(), a.transpose(), c)?; // A^H * A
    /// assert_eq!(device.to_vec(c.index(0, 0)?)?, [Complex::new(1.0, 0.0), i]);
    /// # Ok(()) }
    /// ```
    pub fn herk<'a, T: ComplexElement>(
        &self,
        spec: Herk<'_, T>,
        a: impl ReadableTensor<'a, T>,
        c: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let flags = (spec.uplo, Some(spec.conjugate_a));
        self.rank::<T, T::Real, true>(flags, [&spec.alpha, &spec.beta], &a.into(), c.into())
    }

    fn rank<T: BlasElement, S: BlasElement + Into<T>, const HERMITIAN: bool>(
        &self,
        (uplo, hermitian): (Uplo, Option<bool>),
        [alpha, beta]: [&Numbers<'_, S>; 2],
        a: &TensorRef<'_, T>,
        c: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let made = a.operand().and_then(|(a, of_a)| {
            let (of_a, of_c) = (matrix("a", &of_a)?, matrix("c", c.layout())?);
            let (n, k) = (of_a.rows, of_a.cols);
            check_shape("c", &of_c, (n, n), ("a", &of_a))?;
            let ((alpha, alpha_at), (beta, beta_at)) = (alpha.one("alpha")?, beta.one("beta")?);
            let rank = in_some_order("c", &of_c, |order, ldc| {
                let (trans, [lda]) = factors([("a", &of_a)], order, hermitian)?;
                let uplo = uplo.by_columns(order);
                Ok(Rank::<T, S, HERMITIAN> { uplo, n, k, trans, lda, ldc, alpha, beta, _type: PhantomData })
            })?;
            Ok((rank, (a, alpha_at, beta_at)))
        });
        self.writes(made, c)
    }
}
