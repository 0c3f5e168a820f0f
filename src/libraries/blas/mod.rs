//! Dense linear algebra: cuBLAS on a GPU, the crates `gemm` and our own kernels on the CPU.
//!
//! # Conventions
//! - **Operands** are tensors, and buffers as tensors of one axis. Shapes are the sizes, strides the leading dimensions and increments:
//!   `buffer.view(Layout::columns(m, n).ld(ld))` reads a matrix as BLAS has it, `buffer.with_layout(..)` is one to write. Nothing is
//!   copied: what a routine cannot read as it lies is refused, and the error names `contiguous` or `contiguous_columns`.
//! - **Order.** The rows of a matrix are contiguous, or its columns. A matrix of rows is to BLAS the transposed matrix of columns, so
//!   `transpose()` of a view is all that there is to say, and row-major operands cost nothing. Where two matrices of a call must lie in
//!   one order, the error names both. BLAS conjugates a matrix only where it also transposes it: `conjugate_a()` and `conjugate_b()` of
//!   a specification serve a view of the other order, and else are [`Error::Unsupported`](crate::Error::Unsupported), as are the
//!   routines that would need such a conjugate to write (`her` by rows).
//! - **Bands and packed triangles** are stored by columns, as `Gemv::banded` and `Symv::packed` say. Such a tensor has no transposed view;
//!   its specification has `trans`.
//! - **Batches** are the axes before the last two (before the last one of vectors). What is read is broadcast to what is written, so one
//!   matrix may stand for all; the matrices must be at even distances. Methods that end in `_batched` take lists of tensors instead,
//!   `_grouped` lists with several specifications.
//! - **Vectors** may have any stride, also a negative one; of one that is broadcast a copy is needed. In level 1 a dense tensor of several
//!   axes counts as a vector of all its elements. (BLAS takes a vector that runs backwards for an empty one in `scal`, `nrm2`, `asum`,
//!   `iamax` and `iamin`; here they mean what the view shows.) What lies in between is neither read nor written.
//! - **Triangles.** Of symmetric, Hermitian and triangular matrices only the triangle that [`Uplo`] names, of the matrix as the view
//!   shows it, is read or written. The imaginary parts of a Hermitian diagonal are taken as zero and, if the matrix is updated, become
//!   zero (but a NaN or an infinity there reaches what `her2k` writes on a GPU: cuBLAS 13.1). The host multiplies by a real factor part
//!   by part; cuBLAS 13.1 may multiply an infinity in one part of an updated Hermitian matrix by zero, which gives NaN. A unit diagonal
//!   is not read.
//! - **Aliasing.** What an operation updates is moved in and comes back, also where it is refused; what it only reads is borrowed. A
//!   program that uses an output as an input does not compile, nor does one that reads what it has moved in:
//!
//!   ```compile_fail,E0505
//!   # fn main() -> Result<(), windlass::Error> {
//!   let device = windlass::Device::host()?;
//!   let x = device.zeros::<f32>([2, 2])?;
//!   let x = device.blas().gemm(windlass::Gemm::new(), &x, &x, x)?.await_result()?;
//!   # Ok(()) }
//!   ```
//!
//!   ```compile_fail,E0382
//!   # fn main() -> Result<(), windlass::Error> {
//!   let device = windlass::Device::host()?;
//!   let x = device.zeros::<f32>(4)?;
//!   let y = device.blas().scal(2.0, x)?.await_result()?;
//!   let norm = device.blas().nrm2(&x)?.await_result()?;
//!   # Ok(()) }
//!   ```
//! - **Scalars** are values, or numbers on the device that are read when the work runs ([`Numbers`]); of two, each may be either. Results
//!   are returned by the [`PendingDispatch`](crate::PendingDispatch), or left on the device by the methods that end in `_into`. `beta ==
//!   0` (by value) means that the output is not read: a NaN in it does not survive. `alpha == 0` (by value) means that the operands are
//!   not read, except by `scal`, which multiplies.
//! - **Halves** (`f16`, `bf16`) accumulate in `f32`, take their scalars as `f32` and round once.
//! - **Determinism.** The same call on the same device gives the same bits each time: on the host engine always, on a
//!   GPU unless [`Blas::atomics`] allows atomic additions. The host engine's levels 1 and 2 also give the same bits for
//!   any number of threads; matrix products, and the routines that use them (level 3, LU), may not. The two engines
//!   round differently.
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
// | `prelude` | what the file of a routine needs |
// | `element` | the element types of levels 1 and 2, and the library's letters and codes for them |
// | `vector`, `matrix`, `flags` | the layouts of operands, and the checks that they lie inside their buffers |
// | `lists` | lists of tensors as operands |
// | `scalar`, `numbers` | scalars of specifications, and of calls without one: by value or in device memory |
// | `modes` | how the library may compute: math, atomics, determinism |
// | `level1` | vectors: updates, copies, rotations; `reduction` for those that give one number |
// | `level2` | a matrix and vectors: `triangle` for the three ways in which one is stored |
// | `gemm`, `gemm_element`, `gemm_i8` | the general product, of two matrices or of batches; its types; 8-bit products that the library refuses |
// | `product` | the plain data of a product, made of the layouts of its operands |
// | `matmul`, `power` | products and powers of tensors in any layout, which copy where they must |
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
mod lists;
mod matmul;
mod matrix;
mod modes;
#[cfg(feature = "cuda")]
pub(crate) mod native;
pub(crate) mod numbers;
mod power;
mod prelude;
mod product;
mod routine;
pub(crate) mod scalar;
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
pub use level2::{Gemv, Ger, Symv, Syr, Trmv};
pub use level3::{Geam, Her2k, Herk, Symm, Syr2k, Syrk, Triangular};
pub use modes::Math;
use modes::Modes;
pub use numbers::Numbers;
#[cfg(feature = "solver")]
pub(in crate::libraries) use power::check_square;
#[cfg(feature = "tensor")]
pub(in crate::libraries) use product::is_turned;

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

/// Fronts of libraries: dense products.
impl Device {
    /// Dense linear algebra (cuBLAS).
    pub fn blas(&self) -> Blas {
        Blas { device: self.clone(), modes: Modes::DEFAULT }
    }
}
