//! Scalars: by value, or in device memory.

use crate::core::buffer::Span;
use crate::core::element::Element;
use crate::core::error::{Error, Result};

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
    /// Whether the device's number is no copy of the value.
    is_unknown: bool,
}

#[cfg(feature = "cuda")]
impl<S: Element> Scalar<S> {
    /// The scalar in device memory if `at` is given, else `value`.
    pub(super) fn new(value: S, at: &Option<Span<S>>) -> Self {
        Scalar::at(value, at.as_ref())
    }

    /// The scalar in device memory if `at` is given, else `value`.
    pub(super) fn at(value: S, at: Option<&Span<S>>) -> Self {
        Scalar { value, at: at.map(Span::address), is_unknown: at.is_some() }
    }

    /// Whether it is known to be zero when the work is enqueued.
    pub(super) fn is_zero(&self) -> bool {
        !self.is_unknown && self.value == S::default()
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

    /// The value and its copy in device memory.
    pub(super) fn copied(self, at: u64) -> Self {
        Scalar { at: Some(at), ..self }
    }

    /// The bytes of a value that is not in device memory.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        self.at.is_none().then(|| bytemuck::bytes_of(&self.value))
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
