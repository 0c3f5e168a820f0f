//! Dense linear algebra: cuBLAS on a GPU, the crates `gemm` and our own kernels on the CPU.
//!
//! # Conventions
//! - **Order.** Matrices are column-major with a leading dimension: element `(i, j)` of `A` is at `i + j * lda`. A
//!   specification's `row_major()` makes all of them row-major: `(i, j)` is at `i * lda + j`. Nothing is copied: the
//!   library computes the transposed result. BLAS has no routine that conjugates a matrix without transposing it. So
//!   `her` has no `row_major`, and for row-major complex matrices `hemv`, `her2`, `gerc`, and `gemv`, `trmv` and `trsv`
//!   with [`Transpose::Conjugate`], return [`Error::Unsupported`](crate::Error::Unsupported). The similar routines of
//!   level 3 support both orders. The batches of LU factors ([`LuBatch`]) are column-major only: a transposed matrix has
//!   different factors.
//! - **Vectors** of level 1 are tensors of one axis, whose elements may lie at any distance and run backwards (buffers are such
//!   tensors), or dense tensors of several axes that all lie in one order: then each element counts. A vector that is broadcast is
//!   refused; [`contiguous`](crate::Device::contiguous) makes a copy that is not. (BLAS takes a vector that runs backwards for an
//!   empty one in `scal`, `nrm2`, `asum`, `iamax` and `iamin`; here they mean what the view shows.) What lies in between is neither
//!   read nor written.
//! - **Increments.** A [`Vector`] of level 2 has `n` elements, `inc` apart. With a negative increment it runs backwards: element
//!   `i` is at `(n - 1 - i) * |inc|`. An increment of 0 is refused.
//! - **Triangles.** Of symmetric, Hermitian and triangular matrices only the triangle that [`Uplo`] names is read or
//!   written; the rest of the buffer does not change. The imaginary parts of a Hermitian diagonal are taken as zero
//!   and, if the matrix is updated, become zero (but a NaN or an infinity there reaches what `her2k` writes on a GPU:
//!   cuBLAS 13.1). The host multiplies by a real factor part by part; cuBLAS 13.1 may multiply an infinity in one part
//!   of an updated Hermitian matrix by zero, which gives NaN. A unit diagonal is not read.
//! - **Aliasing.** What an operation updates is moved in and comes back; what it only reads is borrowed. So an output
//!   is never also an input: a buffer that is written has one owner. A program that uses an output as an input does not
//!   compile:
//!
//!   ```compile_fail,E0505
//!   # fn main() -> Result<(), windlass::Error> {
//!   let device = windlass::Device::host()?;
//!   let x = device.zeros::<f32>(4)?;
//!   let x = device.blas().gemm(windlass::Gemm::new(2, 2, 2), &x, &x, x)?.await_result()?;
//!   # Ok(()) }
//!   ```
//!
//!   ... nor does one that reads a buffer after it was moved into a call that writes it:
//!
//!   ```compile_fail,E0382
//!   # fn main() -> Result<(), windlass::Error> {
//!   let device = windlass::Device::host()?;
//!   let x = device.zeros::<f32>(4)?;
//!   let y = device.blas().scal(2.0, x)?.await_result()?;
//!   let norm = device.blas().nrm2(&x)?.await_result()?;
//!   # Ok(()) }
//!   ```
//! - **Scalars** are given by value, or are on the device and read when the work runs: calls without a specification take either
//!   ([`Numbers`]), specifications have `scalars_at` ([`Scaled`]). Results are returned by the
//!   [`PendingDispatch`](crate::PendingDispatch), or left on the device by the methods that end in `_into`. `beta == 0`
//!   means that the output is not read: a NaN in it does not survive. `alpha == 0` (by value) means that the operands
//!   are not read, except by `scal`, which multiplies.
//! - **Halves** (`f16`, `bf16`) accumulate in `f32`, take their scalars as `f32` and round once.
//! - **Determinism.** The same call on the same device gives the same bits each time: on the host engine always, on a
//!   GPU unless [`Blas::atomics`] allows atomic additions. The host engine's levels 1 and 2 also give the same bits for
//!   any number of threads; matrix products, and the routines that use them (level 3, LU), may not. The two engines
//!   round differently.
//!
//! - **Batches.** `.batch(count)` of a specification makes a batch of it. Set the properties of one problem before, the
//!   distances between problems after. Methods that end in `_strided_batched` take matrices at even distances in one
//!   buffer; those that end in `_batched` take a buffer per matrix; `_grouped` takes lists of several shapes.
//!
//! Not supported: `rotg` and `rotmg` of numbers on the host, and what BLAS has no routine for: packed and banded
//! complex symmetric matrices, batches of band matrices. An operation that one engine does not support fails there with
//! [`Error::Unsupported`](crate::Error::Unsupported).
//!
//! # Where the engines differ
//! Both keep what the methods promise. Beyond that, measured on an H200 with cuBLAS 13.1:
//!
//! | operation | on a GPU | on the host |
//! |---|---|---|
//! | `nrm2` if squares are near underflow | up to 2 % off, or 0 (f64 < 1e-300, f32 < 1e-35) | scaled: as exact as elsewhere |
//! | `rotg` of subnormal numbers, `rotmg` of components without weight | as cuBLAS | orthogonal, and finite |
//! | `trmm` of a matrix that holds a NaN | may spread it to rows that do not depend on it | spreads it only to dependent rows |
//! | `getrf`, `matinv` of a singular matrix | `info` agrees; the library defines the factors | as LAPACK leaves them |
//! | lists of halves that are not aligned to 16 bytes | one product after the other: slower | no difference |
//!
//! A program that must not depend on the engine scales its data (`nrm2`), and checks `info` before it uses factors.

// The files of this folder.
// One file per operation, or per family whose names differ by a letter: its data, its checks, its CUDA half and its
// host half side by side.
//
// | file | what is in it |
// |---|---|
// | `routine` | what all routines share: the trait, the op made of a routine and the modes of its front, the CUDA queue |
// | `prelude`, `setters` | what the file of a routine needs; the setters of specifications |
// | `element` | the element types of levels 1 and 2, and the library's letters and codes for them |
// | `vector`, `matrix`, `flags` | the layouts of operands, and the checks that they lie inside their buffers |
// | `scalar`, `numbers` | scalars of specifications, and of calls without one: by value or in device memory |
// | `modes` | how the library may compute: math, atomics, determinism |
// | `level1` | vectors: updates, copies, rotations; `reduction` for those that give one number |
// | `level2` | a matrix and vectors: `triangle` for the three ways in which one is stored |
// | `gemm`, `gemm_element`, `gemm_i8` | the general product, its types, and 8-bit products that the library refuses |
// | `matmul` | products of tensors in any layout, which copy where they must |
// | `level3` | matrices, and their batches; see its own `mod.rs` |
//
// A new routine is a new file with a `Routine` and the methods of [`Blas`], and a line in `register`. What the host engine
// computes is in `numerics`.

mod element;
mod gemm;
mod gemm_element;
#[cfg(feature = "cuda")]
mod gemm_i8;
mod level1;
mod level2;
mod level3;
mod matmul;
mod matrix;
mod modes;
#[cfg(feature = "cuda")]
pub(crate) mod native;
mod numbers;
mod prelude;
mod routine;
pub(crate) mod scalar;
mod setters;
#[cfg(feature = "cuda")]
pub(crate) mod status;
mod vector;

#[doc(hidden)]
pub use crate::core::element::Letter;
pub use crate::libraries::flags::{Diag, Side, Transpose, Uplo};
#[doc(hidden)]
pub use element::OnHost;
pub use element::{BlasElement, ComplexElement, RealElement, VectorElement};
pub use gemm::Gemm;
pub use gemm_element::{GemmElement, MixedElement};
pub use level2::{Gemv, GemvBatch, Ger, Her, Symv, Syr, Syr2, Trmv};
pub use level3::{Batched, Dgmm, Geam, Her2k, Herk, LuBatch, Symm, Syr2k, Syrk, Triangular};
pub use modes::Math;
use modes::Modes;
pub use numbers::Numbers;
pub use scalar::{Scaled, Spec};
pub use vector::{ReadableVector, Vector, VectorMut, WritableVector};

use crate::device::Device;
use crate::device::dispatch::Submitted;

impl Blas {
    /// Initializes the library ahead of time. On a GPU this creates a handle for every stream slot and loads our own
    /// kernels. The first handle of a process takes about 17 ms, and loading its kernels ten times that. Until both are
    /// done, launches by all other threads wait for the work in flight on the GPU, so call this before there is any. A
    /// host device has nothing to initialize. On a GPU in a worker process, it waits until the worker has done it.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`](crate::Error::LibraryMissing) without cuBLAS; the device's own error.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// windlass::Device::best()?.blas().warm()?;
    /// # Ok(()) }
    /// ```
    pub fn warm(&self) -> crate::core::error::Result<()> {
        crate::device::library::warm(&self.device, "blas")
    }
}

/// Registers the routines that a worker executable can run: one line per family of routines, with its types.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    use half::{bf16, f16};
    use num_complex::Complex;
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
