//! The product of a vector with itself added to a triangle: syr, spr, her, hpr.

use super::super::prelude::*;
use super::triangle::{Form, Storage, Store, Triangle};

/// An update of a triangle by the products of vectors: [`Blas::syr`], [`Blas::her`], [`Blas::syr2`] and [`Blas::her2`]. `S` is
/// the type of `alpha`: that of the elements, but for `her`, where it is their real type.
///
/// Unless set, `alpha` is 1. With `alpha == 0` (by value) nothing is read or written.
#[derive(Clone, Debug)]
#[must_use]
pub struct Syr<'a, S: BlasElement> {
    pub(super) a: Form,
    pub(super) alpha: Numbers<'a, S>,
}

impl<S: BlasElement> Syr<'_, S> {
    /// A is `[n, n]`, of which the triangle `uplo` is read and written.
    pub fn new(uplo: Uplo) -> Self {
        Syr { a: Form { uplo, storage: Storage::Full }, alpha: S::ONE.into() }
    }

    /// A is `[n * (n + 1) / 2]`, the columns of the triangle one after the other.
    pub fn packed(uplo: Uplo) -> Self {
        Syr { a: Form { uplo, storage: Storage::Packed }, alpha: S::ONE.into() }
    }
}

factors!(Syr<S: BlasElement>, alpha: S);

/// Defines the two routines, which differ in the type of `alpha`.
macro_rules! update {
    ($Update:ident, $name:literal, $t:ident: $bound:ident, $alpha:ty, $full:ident, $packed:ident,
    $hermitian:literal, $element:expr, $of:ident) => {
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
                let (uplo, n, lda, incx) = (self.a.uplo.code(), self.a.n as i64, self.a.lda as i64, self.x.inc64());
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

        impl Blas {
            fn $of<$t: $bound>(
                &self,
                spec: &Syr<'_, $alpha>,
                x: &TensorRef<'_, $t>,
                a: Part<$t>,
            ) -> Submitted<Tensor<$t>> {
                let made = || {
                    let (of_a, of_x) = (a.layout(), x.layout());
                    let (alpha, alpha_at) = spec.alpha.one("alpha")?;
                    let triangle = spec.a.symmetric(of_a, of_x.len(), $hermitian)?;
                    let x_at = Strided::vector("x", of_x)?.beside("x", of_x, triangle.n, of_a)?;
                    let update = $Update { a: triangle, alpha, x: x_at, _type: PhantomData };
                    Ok((update, (x.window()?, alpha_at)))
                };
                self.writes::<$t, $Update<$t>>(made(), a)
            }
        }
    };
}
update!(SyrUpdate, "syr", T: BlasElement, T, syr, spr, false, |alpha: T| alpha, syr_of);
update!(HerUpdate, "her", T: ComplexElement, T::Real, her, hpr, true, <T as numerics::Field>::from_part, her_of);

impl Blas {
    /// `A = alpha * x * x^T + A` on a triangle (`cublas<t>syr`, `spr`); see [`Syr`]. x is `[n]`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree, neither the rows nor the columns of A are contiguous, or x is
    /// broadcast ([`contiguous`](crate::Device::contiguous) makes a copy that serves); on a GPU [`Error::Unsupported`] for
    /// complex matrices that are packed, for which BLAS has no routine; a stale or foreign buffer. `a` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, blas::Syr};
    /// let device = Device::host()?;
    /// let x = device.tensor([2], [1.0f64, 2.0])?;
    /// let a = device.blas().syr(Syr::new(Uplo::Lower), &x, device.zeros([2, 2])?)?;
    /// assert_eq!(device.to_vec(&a)?, [1.0, 0.0, 2.0, 4.0]); // the other triangle stays
    /// # Ok(()) }
    /// ```
    #[doc(alias = "spr")]
    pub fn syr<'a, T: BlasElement>(
        &self,
        spec: Syr<'_, T>,
        x: impl ReadableTensor<'a, T>,
        a: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.syr_of(&spec, &x.into(), a.into())
    }

    /// `A = alpha * x * x^H + A` on a triangle (`cublas<t>her`, `hpr`); see [`Syr`], whose `alpha` is real here. x is `[n]`.
    /// The imaginary parts of the diagonal are taken as zero and become zero.
    ///
    /// # Errors
    /// As [`syr`](Self::syr), but no form is unsupported; instead [`Error::Unsupported`] when the rows of a full matrix are
    /// contiguous, not its columns.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Complex, Device, Uplo, blas::Syr};
    /// let device = Device::host()?;
    /// let x = device.tensor([1], [Complex::new(1.0, 2.0)])?;
    /// let a = device.blas().her(Syr::new(Uplo::Upper).alpha(2.0), &x, device.zeros([1, 1])?)?;
    /// assert_eq!(device.to_vec(&a)?, [Complex::new(10.0, 0.0)]);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "hpr")]
    pub fn her<'a, T: ComplexElement>(
        &self,
        spec: Syr<'_, T::Real>,
        x: impl ReadableTensor<'a, T>,
        a: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.her_of(&spec, &x.into(), a.into())
    }
}
