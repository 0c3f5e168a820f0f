//! Sparse matrices: cuSPARSE and kernels of our own on a GPU, our own loops on the CPU.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::{Device, sparse::Spmv};
//! let device = Device::host()?;
//! let sparse = device.sparse();
//! let a = sparse.upload_csr(2, 3, &[0, 2, 3], &[0, 2, 1], &[1.0f64, 2.0, 3.0])?; // [1 0 2; 0 3 0]
//! let x = device.tensor([3], [1.0f64, 10.0, 100.0])?;
//! let y = sparse.spmv(Spmv::new(), &a, &x, device.uninit([2])?)?.await_result()?;
//! assert_eq!(device.download(&y)?.await_result()?, [201.0, 30.0]);
//! # Ok(()) }
//! ```
//!
//! # Conventions
//! - **Formats.** [`Csr`], [`Csc`], [`Coo`], [`Bsr`] and [`SparseVector`] own their arrays and are validated once, on
//!   the device. In each format the entries are sorted, no position occurs twice, and indices count from 0. A format
//!   holds read handles: a clone costs nothing, and the arrays cannot change. [`with_values`](Compressed::with_values)
//!   combines the same structure with other values and does not validate it again. The [`Csc`] arrays of a matrix are
//!   the [`Csr`] arrays of its transpose, so [`transposed`](Compressed::transposed) copies nothing.
//! - **Dense operands** are tensors: vectors of one axis whose elements are neighbours, matrices of two axes in either order, with
//!   any distance between their rows (or columns). A buffer is a vector. A transposed operand is a transposed view. No call copies:
//!   what it cannot read is refused, and [`Device::contiguous`](crate::Device::contiguous) makes a copy that it can.
//! - **Indices** are i32 by default, or i64. Offsets and indices have the same type.
//! - **Elements** are f32, f64, `Complex` of both, f16 and bf16. Halves accumulate in f32, take their scalars as f32 and
//!   round once.
//! - **Stored zeros count as entries.** Only [`Sparse::drop_small`] removes them.
//! - **`beta == 0`** means that the old contents of the output are not read: a NaN in the output does not propagate.
//! - **Determinism.** On the host engine the same call gives the same bits, for any number of threads. The entries of a
//!   row are summed in the order in which they are stored (long rows in four partial sums). A GPU gives the same bits
//!   on each call too, except for products with dense vectors and matrices where the matrix is not stored by the rows
//!   of the product: see [`Sparse::spmm`].
//! - **New matrices.** Where the sizes of the operands determine the size of the result, the new matrix is returned at
//!   once, while the device still computes it. Operations that read it run after it, and fail with `Upstream` if it
//!   failed. Where only the data determines the number of entries (products and sums of sparse matrices, dense to
//!   sparse), the call waits for that number; its documentation says so.

// The files of this folder.
// | file | contents |
// |---|---|
// | `routine` | what all operations share: the trait of a routine, and the `Op` made from it |
// | `element` | the types of values and of indices |
// | `layout` | how a matrix is stored, as plain data |
// | `operands` | dense operands: tensors as vectors and matrices |
// | `formats` | the formats and their validation |
// | `products` | products with dense vectors and matrices, sampled products (`sddmm`), products of sparse matrices |
// | `convert` | conversions between formats, to and from dense |
// | `algebra` | sums, parts, stacks, scaling, diagonals; sparse vectors |
// | `solves` | triangular and tridiagonal systems, incomplete factors |
// | `solvers` | iterative solvers (CG, BiCGSTAB, GMRES, MINRES) and preconditioners |
// | `market` | building a matrix entry by entry; Matrix Market files |
// | `native`, `kernels` | the cuSPARSE bindings; our own kernels: CUDA C++, and its PTX, made by NVRTC 13.0 |
// | `host` | the arithmetic of the host engine |

mod algebra;
mod convert;
pub(super) mod element;
mod fault;
mod formats;
#[cfg(feature = "host")]
pub(super) mod host;
mod keep;
mod layout;
mod made;
mod market;
#[cfg(feature = "cuda")]
pub(super) mod native;
pub(super) mod operands;
mod products;
mod routine;
mod solvers;
mod solves;

pub use crate::libraries::flags::Order;

#[doc(hidden)]
pub use element::{Codes, Number};
pub use element::{SolveElement, SparseElement, SparseIndex};
#[doc(hidden)]
pub use formats::Stored;
pub use formats::{Blocks, Bsr, ByColumns, ByRows, Compressed, Coo, Csc, Csr, Major, SparseMatrix, SparseVector};
pub use market::{CooBuilder, MarketProgress, read_market};
pub use products::{Sddmm, Spmm, Spmv};
pub use solvers::{Iteration, IterationProgress, IterativeSolution, Preconditioner, Unsolved};
pub use solves::SparseTriangular;

use crate::device::Device;

/// The sparse linear algebra of one device: `device.sparse()`. It holds no native state.
#[derive(Clone, Debug)]
pub struct Sparse {
    device: Device,
}

impl Sparse {
    /// The device of this front.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Creates what the library needs before its first use. On a GPU: one handle for each stream slot (9 ms for the
    /// first handle of a process), and our own kernels for structures. Until both are done, launches of all other
    /// threads wait for the work in flight on the GPU. Kernels for values are loaded by the first operation on their
    /// element type. On a host device there is nothing to do.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`](crate::Error::LibraryMissing) if cuSPARSE is not found; an error of the device.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// windlass::Device::best()?.sparse().warm()?;
    /// # Ok(()) }
    /// ```
    pub fn warm(&self) -> crate::core::error::Result<()> {
        crate::device::library::warm(&self.device, "sparse")
    }
}

/// Fronts of libraries: sparse matrices.
impl Device {
    /// Sparse linear algebra (cuSPARSE).
    pub fn sparse(&self) -> Sparse {
        Sparse { device: self.clone() }
    }
}

/// Registers the operations that a worker of another executable can run.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    use half::{bf16, f16};
    use num_complex::Complex;
    macro_rules! each { ($($t:ty),*) => { $(both::<$t, i32>(registry); both::<$t, i64>(registry);)* } }
    fn both<T: SparseElement, I: SparseIndex>(registry: &mut crate::engines::worker::Registry) {
        formats::register::<T, I>(registry);
        products::register::<T, I>(registry);
        convert::register::<T, I>(registry);
        algebra::register::<T, I>(registry);
    }
    each!(f32, f64, Complex<f32>, Complex<f64>, f16, bf16);
    fn solving<T: SolveElement>(registry: &mut crate::engines::worker::Registry) {
        solves::register::<T, i32>(registry);
        solves::register::<T, i64>(registry);
        solves::register_elements::<T>(registry);
        solvers::register::<T>(registry);
    }
    macro_rules! solving { ($($t:ty),*) => { $(solving::<$t>(registry);)* } }
    solving!(f32, f64, Complex<f32>, Complex<f64>);
}
