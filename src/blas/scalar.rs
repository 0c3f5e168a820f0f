//! Scalars as cuBLAS reads them.

use std::ffi::c_void;

/// A scalar at an address that the library may load with aligned vector instructions. `Complex<f64>` is aligned to 8
/// bytes in Rust and to 16 in C: given a pointer to one that happens to lie between, cuBLAS 13.1 ends in a segmentation
/// fault (seen in `cublasGemmEx_64` with `alpha == 0` and in `cublasScalEx_64`).
#[repr(C, align(16))]
pub(super) struct Aligned<T>(pub(super) T);

impl<T> Aligned<T> {
    /// For one call, while `self` is alive.
    pub(super) fn pointer(&self) -> *const c_void {
        (&raw const self.0).cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scalar_lies_where_c_would_put_it() {
        let scalars = [Aligned(crate::Complex::new(1.0f64, 2.0)), Aligned(crate::Complex::new(3.0, 4.0))];
        assert!(scalars.iter().all(|s| (s.pointer() as usize).is_multiple_of(16)));
    }
}
