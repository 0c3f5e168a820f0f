//! Dense linear algebra: cuBLAS on a GPU, the crates `gemm` and our own kernels on the CPU.
//!
//! # Conventions
//! - **Order.** Matrices are column-major with a leading dimension: element `(i, j)` of `A` is at `i + j * lda`. A
//!   specification's `row_major()` makes all of them row-major: `(i, j)` is at `i * lda + j`. Nothing is copied: the
//!   library computes the transposed result. BLAS has no routine for the conjugate of a matrix that is not transposed too,
//!   so `her` has no `row_major`, and [`Error::Unsupported`](crate::Error::Unsupported) answers `hemv`, `her2`, `gerc`, and
//!   `gemv`, `trmv` and `trsv` with [`Transpose::Conjugate`], of complex types; their like of level 3 take both orders. The
//!   batches of LU factors ([`Lu`]) are column-major: the factors of a transposed matrix are others.
//! - **Increments.** A [`Vector`] has `n` elements, `inc` apart. With a negative increment it runs backwards: element
//!   `i` is at `(n - 1 - i) * |inc|`. An increment of 0 is refused. `scal`, `nrm2`, `asum`, `iamax` and `iamin` take a
//!   vector that runs backwards as empty, as BLAS does. What lies between the elements is neither read nor written.
//! - **Triangles.** Of symmetric, Hermitian and triangular matrices only the triangle that [`Uplo`] names is read or
//!   written; what else is in the buffer stays as it is. The imaginary parts of a Hermitian diagonal are taken as zero
//!   and, where the matrix is updated, become zero (but a NaN or an infinity there reaches what `her2k` writes on a GPU:
//!   cuBLAS 13.1). The host multiplies by a real factor part by part; cuBLAS 13.1 may multiply an infinity in one part of an
//!   updated Hermitian matrix by zero, which is no number. A unit diagonal is not read.
//! - **Aliasing.** What an operation updates is moved in and comes back; what it only reads is borrowed. So an output
//!   never is an input: a buffer that is written has one owner. An output that is an input as well is no program:
//!
//!   ```compile_fail,E0505
//!   # fn main() -> Result<(), windlass::Error> {
//!   let device = windlass::Device::host()?;
//!   let x = device.zeros::<f32>(4)?;
//!   let x = device.blas().gemm(windlass::Gemm::new(2, 2, 2), &x, &x, x)?.await_result()?;
//!   # Ok(()) }
//!   ```
//!
//!   ... nor is one that reads a buffer which another call was given to write:
//!
//!   ```compile_fail,E0382
//!   # fn main() -> Result<(), windlass::Error> {
//!   let device = windlass::Device::host()?;
//!   let x = device.zeros::<f32>(4)?;
//!   let y = device.blas().scal(2.0, x)?.await_result()?;
//!   let norm = device.blas().nrm2(&x)?.await_result()?;
//!   # Ok(()) }
//!   ```
//! - **Scalars** are given by value, or read from the first element of a buffer when the work runs: by the methods that
//!   end in `_at`, or by a specification's `scalars_at` ([`Scaled`]). Results come through the pending, or are left on
//!   the device by the methods that end in `_into`. `beta == 0` means that the output is not read: a NaN in it does not
//!   survive. `alpha == 0` (by value) means that the operands are not read, but for `scal`, which multiplies.
//! - **Halves** (`f16`, `bf16`) accumulate in `f32`, take their scalars as `f32` and round once.
//! - **Determinism.** The same call on the same device gives the same bits each time: on the host engine always, on a GPU
//!   unless [`Blas::atomics`] allows it not to. The host engine's levels 1 and 2 also give the same bits for any number of
//!   threads; products of matrices, and what is made of them (level 3, LU), may not. The engines round differently.
//!
//! - **Batches.** `.batch(count)` of a specification makes a batch of it; what one problem has is set before, the distances
//!   after. What ends in `_strided_batched` finds its matrices at even distances in one buffer, what ends in
//!   `_batched` each in a buffer of its own; `_grouped` takes lists of several shapes.
//!
//! Not there: `rotg` and `rotmg` of numbers on the host, and what BLAS has no routine for: packed and banded complex
//! symmetric matrices, batches of band matrices. What is not there on one engine alone answers
//! [`Error::Unsupported`](crate::Error::Unsupported) on it.
//!
//! # Where the engines differ
//! Both keep what the methods promise. Beyond that, measured on an H200 with cuBLAS 13.1:
//!
//! | operation | on a GPU | on the host |
//! |---|---|---|
//! | `nrm2` of numbers whose squares are near underflow | up to 2 % off, or 0 (f64 below 1e-300, f32 below 1e-35) | scaled on the way: as exact as elsewhere |
//! | `rotg` of subnormal numbers, `rotmg` of what has no weight | as cuBLAS | orthogonal, and finite |
//! | `trmm` of a matrix that holds a NaN | it may reach rows that it has no part in | it reaches what it is multiplied into |
//! | `getrf`, `matinv` of a singular matrix | `info` agrees; what the factors hold is the library's | as LAPACK leaves them |
//! | lists of halves that do not begin at 16 bytes | one product after the other: slower | no difference |
//!
//! A program that must not care scales its data (`nrm2`), and looks at `info` before it uses factors.
//!
//! # Where what is
//! One file an operation, or a family that differs by a letter: its data, its checks, its CUDA half and its host half side
//! by side.
//!
//! | file | what is in it |
//! |---|---|
//! | `routine` | what all routines share: the trait, the op that is made of one with the modes of its front, the queue of a CUDA half |
//! | `prelude`, `setters` | what the file of a routine needs; the setters of specifications |
//! | `element` | the element types of levels 1 and 2, and by which letter and code the library knows them |
//! | `vector`, `matrix`, `flags` | what an operand looks like, and that it lies inside its buffer |
//! | `scalar` | scalars by value or in device memory |
//! | `modes` | how the library may compute: math, atomics, determinism |
//! | `level1` | vectors: updates, copies, rotations; `reduction` for those that give one number |
//! | `level2` | a matrix and vectors: `triangle` for the three ways in which one is stored |
//! | `gemm`, `gemm_element`, `gemm_i8` | the general product, its types, and bytes that the library refuses |
//! | `level3` | matrices, and their batches; its own `mod.rs` goes on from here |
//!
//! A new routine is a new file with a `Routine` and the methods of [`Blas`], and a line in `register`. What the host engine
//! computes is in `numerics`.

mod element;
mod flags;
mod gemm;
mod gemm_element;
#[cfg(feature = "blas")]
mod gemm_i8;
mod level1;
mod level2;
mod level3;
mod matrix;
mod modes;
#[cfg(feature = "blas")]
pub(crate) mod native;
mod prelude;
mod routine;
mod scalar;
mod setters;
#[cfg(any(feature = "blas", feature = "blaslt"))]
pub(crate) mod status;
mod vector;

#[doc(hidden)]
pub use crate::element::Letter;
#[doc(hidden)]
pub use element::OnHost;
pub use element::{BlasElement, ComplexElement, RealElement, VectorElement};
pub use flags::{Diag, Side, Transpose, Uplo};
pub use gemm::Gemm;
pub use gemm_element::{GemmElement, MixedElement};
pub use level2::{Gemv, GemvBatch, Ger, Her, Symv, Syr, Syr2, Trmv};
pub use level3::{Batched, Dgmm, Geam, Her2k, Herk, Lu, Symm, Syr2k, Syrk, Triangular};
pub use modes::Math;
use modes::Modes;
pub use scalar::{Scaled, Spec};
pub use vector::{Vector, VectorMut};

use crate::{Device, Submitted};

impl Blas {
    /// Makes what the library needs ahead of time: on a GPU a handle for every stream slot, and the kernels of our own are
    /// loaded. The first handle of a process takes about 17 ms and loading its kernels ten times that. Until both are done,
    /// launches of all other threads wait for the work in flight on the GPU, so it is better done before there is any. A host device has nothing to make. On a GPU in a worker it waits until the
    /// worker has made them.
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
        crate::library::warm(&self.device, "blas")
    }
}

/// What another executable may be asked to do: a line a family of routines and its types.
#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::worker::Registry) {
    use crate::{Complex, bf16, f16};
    macro_rules! each { ($($family:ident: $($t:ty),*;)*) => { $($($family::<$t>(registry);)*)* } }
    use gemm::{products, products_into_f32};
    use level1::{vectors, vectors_of_fields, vectors_of_reals};
    use level2::{matrix_vectors, matrix_vectors_of_complex};
    use level3::{batched_products, batched_products_into_f32, matrices, matrices_of_complex};
    each! {
        products: f32, f64, Complex<f32>, Complex<f64>, f16, bf16, i8;
        products_into_f32: f16, bf16;
        vectors: f32, f64, Complex<f32>, Complex<f64>, f16, bf16;
        vectors_of_fields: f32, f64, Complex<f32>, Complex<f64>;
        vectors_of_reals: f32, f64;
        matrix_vectors: f32, f64, Complex<f32>, Complex<f64>;
        matrix_vectors_of_complex: Complex<f32>, Complex<f64>;
        batched_products: f32, f64, Complex<f32>, Complex<f64>, f16, bf16, i8;
        batched_products_into_f32: f16, bf16;
        matrices: f32, f64, Complex<f32>, Complex<f64>;
        matrices_of_complex: Complex<f32>, Complex<f64>;
    }
}

/// The front of the dense linear algebra of one device: `device.blas()`. Holds no native state.
#[derive(Clone, Debug)]
pub struct Blas {
    device: Device,
    modes: Modes,
}

impl Blas {
    /// Its device.
    pub const fn device(&self) -> &Device {
        &self.device
    }
}

impl Device {
    /// Dense linear algebra (cuBLAS).
    pub fn blas(&self) -> Blas {
        Blas { device: self.clone(), modes: Modes::DEFAULT }
    }
}
