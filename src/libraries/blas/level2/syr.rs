//! The product of a vector with itself added to a triangle: syr, spr, her, hpr.

use super::super::prelude::*;
use super::triangle::{Store, Triangle, row_major_triangle, triangle_spec};

/// `A = alpha * x * x^T + A` with a symmetric matrix, of which one triangle is stored: in a full matrix, or packed.
///
/// Unless set: A is column-major, `lda` leaves no gaps, `alpha` is 1. With `alpha == 0` nothing is read or written.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Syr<T: BlasElement> {
    a: Triangle,
    alpha: T,
}

triangle_spec!(Syr<T: BlasElement>, alpha: T::ONE);
row_major_triangle!(Syr<T: BlasElement>);
scalars!(Syr<T: BlasElement>, alpha: T);

/// `A = alpha * x * x^H + A` with a Hermitian matrix, of which one triangle is stored: in a full matrix, or packed.
/// `alpha` is real. The imaginary parts of the diagonal are taken as zero and become zero. A is column-major: the transpose
/// of a Hermitian matrix is its conjugate, and BLAS has no routine for that.
///
/// Unless set: `lda` leaves no gaps, `alpha` is 1. With `alpha == 0` nothing is read or written.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
#[must_use]
pub struct Her<T: ComplexElement> {
    a: Triangle,
    alpha: T::Real,
}

triangle_spec!(Her<T: ComplexElement>, alpha: <T::Real as GemmElement>::ONE);
scalars!(Her<T: ComplexElement>, alpha: T::Real);

/// Defines the two routines, which differ in the type of `alpha`.
macro_rules! update {
    ($Update:ident, $name:literal, $t:ident: $bound:ident, $alpha:ty, $full:ident, $packed:ident,
    $hermitian:literal, $element:expr) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(bound = "")]
        pub(super) struct $Update<$t: $bound> {
            a: Triangle,
            alpha: $alpha,
            x: Strided,
            _type: PhantomData<$t>,
        }

        impl<$t: $bound> Routine for $Update<$t> {
            const NAME: &'static str = $name;
            const OPERANDS: OperandNames = (&["x", "alpha"], &["a"]);
            type Reads = ($t, Option<$alpha>);
            type Output = DeviceBuffer<$t>;
            type Raw = ();

            fn check(&self, (x, alpha): &Spans<Self::Reads>, (a,): &Spans<($t,)>) -> Result<()> {
                check_scalar("alpha", alpha)?;
                self.x.check_n("x", x.len(), self.a.n, "n")?;
                self.a.check(a.len())
            }

            fn cost(&self) -> Cost {
                let elements = self.a.elements().saturating_mul(2);
                Cost { flops: elements, bytes: elements.saturating_mul(size_of::<$t>() as u64) }
            }

            #[cfg(feature = "host")]
            fn host(&self, (x, alpha): (&[$t], Option<&[$alpha]>), (a,): (&mut [$t],)) -> Result<()> {
                let alpha = $element(value(self.alpha, alpha));
                numerics::level2::syr(self.a.on_host(), $hermitian, alpha, x, self.x.on_host(), a);
                Ok(())
            }

            #[cfg(feature = "cuda")]
            fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
                let ((x, alpha), (a,)) = (*queue.reads(), *queue.writes());
                let alpha = Scalar::new(self.alpha, &alpha);
                if self.a.n == 0 || alpha.is_zero() {
                    return Ok(());
                }
                let (uplo, n, lda, incx) = (self.a.uplo.code(), self.a.n as i64, self.a.lda() as i64, self.x.inc64());
                let (x, a) = (x.address() as *const _, a.address() as *mut _);
                // SAFETY: the matrix and the vector lie inside their buffers (checked), which live until this work is done;
                // a scalar in host memory is read before the call returns.
                queue.typed(alpha.mode(), |blas, handle| unsafe {
                    match self.a.store {
                        Store::Packed => blas.$packed($t::LETTER, handle, uplo, n, alpha.pointer(), x, incx, a),
                        _ => blas.$full($t::LETTER, handle, uplo, n, alpha.pointer(), x, incx, a, lda),
                    }
                })
            }
        }
    };
}
update!(SyrUpdate, "syr", T: BlasElement, T, syr, spr, false, |alpha: T| alpha);
update!(HerUpdate, "her", T: ComplexElement, T::Real, her, hpr, true, <T as numerics::Field>::from_part);

impl Blas {
    /// `A = alpha * x * x^T + A` on a triangle (`cublas<t>syr`, `spr`); see [`Syr`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `lda` is too small, the matrix or the vector does not lie inside its buffer, or
    /// the vector has another length than the matrix; on a GPU [`Error::Unsupported`] for complex matrices that are
    /// packed, for which BLAS has no routine; a stale or foreign buffer. `a` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Syr};
    /// let device = Device::host()?;
    /// let x = device.upload([1.0f64, 2.0])?.into_output();
    /// let a = device.blas().syr(Syr::new(2, Uplo::Lower), &x, device.zeros(4)?)?.await_result()?;
    /// assert_eq!(device.download(&a)?.await_result()?, [1.0, 2.0, 0.0, 4.0]); // the other triangle stays
    /// # Ok(()) }
    /// ```
    #[doc(alias = "spr")]
    pub fn syr<'a, T: BlasElement>(
        &self,
        spec: impl Into<Scaled<'a, Syr<T>>>,
        x: impl ReadableVector<'a, T>,
        a: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let (Scaled { spec, alpha, .. }, x) = (spec.into(), x.into());
        let update = SyrUpdate { a: spec.a.column_major(), alpha: spec.alpha, x: x.at, _type: PhantomData };
        self.submit(update, (x.data, alpha), (a,))
    }

    /// `A = alpha * x * x^H + A` on a triangle (`cublas<t>her`, `hpr`); see [`Her`].
    ///
    /// # Errors
    /// As [`syr`](Self::syr).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, Uplo, blas::Her};
    /// let device = Device::host()?;
    /// let x = device.upload([Complex::new(1.0, 2.0)])?.into_output();
    /// let a = device.blas().her(Her::new(1, Uplo::Upper), &x, device.zeros(1)?)?.await_result()?;
    /// assert_eq!(device.download(&a)?.await_result()?, [Complex::new(5.0, 0.0)]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "hpr")]
    pub fn her<'a, T: ComplexElement>(
        &self,
        spec: impl Into<Scaled<'a, Her<T>>>,
        x: impl ReadableVector<'a, T>,
        a: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let (Scaled { spec, alpha, .. }, x) = (spec.into(), x.into());
        let update = HerUpdate::<T> { a: spec.a, alpha: spec.alpha, x: x.at, _type: PhantomData };
        self.submit(update, (x.data, alpha), (a,))
    }
}
