//! Dense linear algebra: cuBLAS on a GPU, the crates `gemm` and our own kernels on the CPU.
//!
//! # Conventions
//! - Matrices are **column-major** with a leading dimension: element `(i, j)` of `A` is at `i + j * lda`.
//! - What an operation updates is moved in and comes back; what it only reads is borrowed.
//! - `beta == 0` means that the output is not read: a NaN in it does not survive. `alpha == 0` means that the operands
//!   are not read.
//! - Halves (`f16`, `bf16`) accumulate in `f32`, take their scalars as `f32` and round once.
//! - Outputs never alias inputs: a buffer that is written has one owner.
//!
//! One file an operation: its data, its checks, its CUDA half and its host half side by side.

mod axpy;
mod dot;
mod gemm;
#[cfg(feature = "blas")]
mod gemm_i8;
mod nrm2;
mod scal;
#[cfg(feature = "blas")]
mod scalar;
mod vector;

pub use gemm::{Gemm, GemmElement, Transpose};
pub use vector::VectorElement;

use crate::Device;

impl Blas {
    /// Makes what the library needs ahead of time: on a GPU a handle for every stream slot. The first handle of a process
    /// takes about 17 ms and loading its kernels ten times that; making one waits for all work in flight on the GPU, so
    /// it is better done before there is any. A host device has nothing to make.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`](crate::Error::LibraryMissing) without cuBLAS; the device's own error.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// windlass::Device::best()?.blas().warm()?;
    /// # Ok(()) }
    /// ```
    pub fn warm(&self) -> crate::Result<()> {
        #[cfg(feature = "blas")]
        crate::cuda::warm_blas(&self.device)?;
        Ok(())
    }
}

/// What another executable may be asked to do: one line an op.
#[cfg(target_os = "linux")]
pub(crate) fn register(registry: &mut crate::worker::Registry) {
    use crate::{Complex, bf16, f16};
    macro_rules! each { ($($op:ident: $($t:ty),*;)*) => { $($(registry.add::<$op<$t>>();)*)* } }
    use {axpy::Axpy, dot::Dot, nrm2::Nrm2, scal::Scal};
    each! {
        Gemm: f32, f64, Complex<f32>, Complex<f64>, f16, bf16, i8;
        Axpy: f32, f64, Complex<f32>, Complex<f64>, f16, bf16;
        Dot: f32, f64, Complex<f32>, Complex<f64>, f16, bf16;
        Nrm2: f32, f64, Complex<f32>, Complex<f64>, f16, bf16;
        Scal: f32, f64, Complex<f32>, Complex<f64>, f16, bf16;
    }
}

/// The front of the dense linear algebra of one device: `device.blas()`. Holds no native state.
#[derive(Clone, Debug)]
pub struct Blas {
    device: Device,
}

impl Device {
    /// Dense linear algebra (cuBLAS).
    pub fn blas(&self) -> Blas {
        Blas { device: self.clone() }
    }
}
