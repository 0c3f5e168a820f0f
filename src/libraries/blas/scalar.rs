//! Scalars: by value, or in device memory.

use crate::core::buffer::{In, Span};
use crate::core::element::Element;
use crate::core::error::{Error, Result};

/// A specification that has scalars: `alpha`, and `beta` if the routine has one. Sealed.
pub trait Spec: sealed::Sealed + Sized {
    /// The type of `alpha`.
    type Alpha: Element;
    /// The type of `beta`; that of `alpha` if the routine has none.
    type Beta: Element;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A specification and the location of its scalars: the values of `alpha` and `beta` in the specification, or elements
/// of device memory that are read when the work runs.
///
/// Every specification converts into one; [`Gemm::scalars_at`](super::Gemm::scalars_at) and similar methods make one
/// whose scalars are each read from the first element of a buffer. With `beta` in device memory the output counts as
/// read, so it must be initialized.
#[derive(Clone, Copy)]
pub struct Scaled<'a, S: Spec> {
    pub(crate) spec: S,
    pub(crate) alpha: Option<In<'a, S::Alpha>>,
    pub(crate) beta: Option<In<'a, S::Beta>>,
}

impl<S: Spec> From<S> for Scaled<'_, S> {
    fn from(spec: S) -> Self {
        Scaled { spec, alpha: None, beta: None }
    }
}

/// Defines the scalars of a specification: setters, methods that read them from device memory, and the conversion. The
/// struct must have fields of these names.
macro_rules! scalars {
    (@alpha $alpha:ty) => {
        /// The factor of the product.
        pub fn alpha(mut self, alpha: $alpha) -> Self {
            self.alpha = alpha;
            self
        }
    };
    ($Spec:ident<$t:ident: $bound:ident>, alpha: $alpha:ty, beta: $beta:ty) => {
        impl<$t: $bound> $crate::libraries::blas::scalar::sealed::Sealed for $Spec<$t> {}
        impl<$t: $bound> $crate::libraries::blas::Spec for $Spec<$t> {
            type Alpha = $alpha;
            type Beta = $beta;
        }
        impl<$t: $bound> $Spec<$t> {
            $crate::libraries::blas::scalar::scalars!(@alpha $alpha);

            /// The factor of the output's previous contents; if zero, they are not read.
            pub fn beta(mut self, beta: $beta) -> Self {
                self.beta = beta;
                self
            }

            /// Reads both scalars from device memory, each the first element, when the work runs.
            pub fn scalars_at<'a>(
                self,
                alpha: impl Into<$crate::core::buffer::In<'a, $alpha>>,
                beta: impl Into<$crate::core::buffer::In<'a, $beta>>,
            ) -> $crate::libraries::blas::Scaled<'a, Self> {
                $crate::libraries::blas::Scaled { spec: self, alpha: Some(alpha.into()), beta: Some(beta.into()) }
            }
        }
    };
    ($Spec:ident<$t:ident: $bound:ident>, alpha: $alpha:ty) => {
        impl<$t: $bound> $crate::libraries::blas::scalar::sealed::Sealed for $Spec<$t> {}
        impl<$t: $bound> $crate::libraries::blas::Spec for $Spec<$t> {
            type Alpha = $alpha;
            type Beta = $alpha;
        }
        impl<$t: $bound> $Spec<$t> {
            $crate::libraries::blas::scalar::scalars!(@alpha $alpha);

            /// Reads the scalar from device memory, the first element, when the work runs.
            pub fn alpha_at<'a>(self, alpha: impl Into<$crate::core::buffer::In<'a, $alpha>>) -> $crate::libraries::blas::Scaled<'a, Self> {
                $crate::libraries::blas::Scaled { spec: self, alpha: Some(alpha.into()), beta: None }
            }
        }
    };
}
pub(crate) use scalars;

/// Checks that a buffer with a scalar is not empty.
pub(in crate::libraries) fn check_scalar<S: Element>(name: &'static str, at: &Option<Span<S>>) -> Result<()> {
    match at {
        Some(span) if span.is_empty() => {
            Err(Error::invalid(name, "0 elements, but a scalar in device memory takes 1".to_string()))
        }
        _ => Ok(()),
    }
}

/// The scalar on the host engine.
#[cfg(feature = "host")]
pub(in crate::libraries) fn value<S: Copy>(value: S, at: Option<&[S]>) -> S {
    at.and_then(|at| at.first()).copied().unwrap_or(value)
}

/// A scalar as cuBLAS reads it: in host memory for the length of one call, or in device memory.
///
/// In host memory it is aligned to 16 bytes, because the library may load it with aligned vector instructions.
/// `Complex<f64>` is aligned to 8 bytes in Rust and to 16 in C. If a pointer is aligned to 8 bytes only, cuBLAS 13.1
/// ends in a segmentation fault (seen in `cublasGemmEx_64` with `alpha == 0` and in `cublasScalEx_64`).
#[cfg(feature = "cuda")]
#[repr(C, align(16))]
pub(super) struct Scalar<S> {
    value: S,
    at: Option<u64>,
}

#[cfg(feature = "cuda")]
impl<S: Element> Scalar<S> {
    /// The scalar in device memory if `at` is given, else `value`.
    pub(super) fn new(value: S, at: &Option<Span<S>>) -> Self {
        Scalar::at(value, at.as_ref())
    }

    /// The scalar in device memory if `at` is given, else `value`.
    pub(super) fn at(value: S, at: Option<&Span<S>>) -> Self {
        Scalar { value, at: at.map(Span::address) }
    }

    /// Whether it is known to be zero when the work is enqueued.
    pub(super) fn is_zero(&self) -> bool {
        self.at.is_none() && self.value == S::default()
    }

    /// Whether it is in host or in device memory.
    pub(super) fn mode(&self) -> crate::libraries::blas::native::PointerMode {
        match self.at {
            None => crate::libraries::blas::native::PointerMode::Host,
            Some(_) => crate::libraries::blas::native::PointerMode::Device,
        }
    }

    /// The value, and the address in device memory; 0 for none.
    pub(super) fn place(&self) -> (S, u64) {
        (self.value, self.at.unwrap_or(0))
    }

    /// The pointer for one call; valid while `self` is alive and is not moved.
    pub(super) fn pointer(&self) -> *const std::ffi::c_void {
        match self.at {
            None => (&raw const self.value).cast(),
            Some(address) => address as *const _,
        }
    }
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;

    #[test]
    fn every_scalar_lies_where_c_would_put_it() {
        let scalars = [(1.0, 2.0), (3.0, 4.0)].map(|(re, im)| Scalar::new(num_complex::Complex::new(re, im), &None));
        assert!(scalars.iter().all(|s| (s.pointer() as usize).is_multiple_of(16)));
    }
}
