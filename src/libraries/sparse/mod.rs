//! Sparse matrices: cuSPARSE and kernels of our own on a GPU, our own loops on the CPU.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::{Device, sparse::Spmv};
//! let device = Device::host()?;
//! let sparse = device.sparse();
//! let a = sparse.upload_csr(2, 3, &[0, 2, 3], &[0, 2, 1], &[1.0f64, 2.0, 3.0])?; // [1 0 2; 0 3 0]
//! let x = device.upload([1.0f64, 10.0, 100.0])?.into_output();
//! let y = sparse.spmv(Spmv::new(), &a, &x, device.uninit(2)?)?.await_result()?;
//! assert_eq!(device.download(&y)?.await_result()?, [201.0, 30.0]);
//! # Ok(()) }
//! ```
//!
//! # Conventions
//! - **Formats** are owned and validated once, on the device: [`Csr`], [`Csc`], [`Coo`], [`Bsr`], [`SparseVector`]. In each
//!   of them entries are sorted and no place comes twice; indices count from 0. They hold read handles: a clone is free,
//!   the arrays cannot change, and [`with_values`](Compressed::with_values) gives the same structure other values without
//!   another look. [`Csc`] of a matrix is [`Csr`] of its transpose: [`transposed`](Compressed::transposed) copies nothing.
//! - **Indices** are i32 unless named otherwise, or i64; offsets and indices have the same type.
//! - **Elements** are f32, f64, `Complex` of both, f16 and bf16. Halves accumulate in f32, take their scalars as f32 and
//!   round once.
//! - **Zeros that are stored count as entries**; only [`Sparse::drop_small`] removes them.
//! - **`beta == 0`** means that the output is not read: a NaN in it does not survive.
//! - **Determinism.** On the host engine the same call gives the same bits, for any number of threads. Rows are summed in
//!   the order in which their entries are stored (in four sums where a row is long). The same holds on a GPU, except for products
//!   with dense vectors and matrices in which the sparse matrix is not stored by the rows of the product: see
//!   [`Sparse::spmm`].
//! - **New matrices**: where the sizes of the operands determine the size of the result, the call returns at once, while the
//!   matrix is still being made; an operation that reads it follows in order, and fails with `Upstream` if the making failed.
//!   Where only the data determines the number of entries (products and sums of sparse matrices, dense to sparse), the call
//!   waits for that number, and its docs say so.
//!
//! # Where what is
//! | file | what is in it |
//! |---|---|
//! | `routine` | what all operations share: the trait, and the op that is made of one |
//! | `element` | types of values and of indices |
//! | `layout` | how a matrix is stored, as plain data; dense matrices in buffers |
//! | `formats` | the formats and their validation |
//! | `products` | with dense vectors and matrices, at given places, of sparse matrices |
//! | `convert` | formats into each other, to and from dense |
//! | `algebra` | sums, parts, stacks, scaling, diagonals; sparse vectors |
//! | `solves` | triangular and tridiagonal systems, incomplete factors |
//! | `direct` | factors with fill: Cholesky and QR, on the host engine |
//! | `solvers` | iterations: CG, BiCGSTAB, GMRES, MINRES, and preconditioners |
//! | `market` | matrices entry by entry, Matrix Market files |
//! | `native`, `kernels` | cuSPARSE, and kernels of our own: CUDA C++ with the PTX that NVRTC 13.0 makes of it |
//! | `host` | the CPU's arithmetic |

mod algebra;
mod convert;
mod direct;
mod element;
mod fault;
mod formats;
#[cfg(feature = "host")]
mod host;
mod keep;
mod layout;
mod made;
mod market;
#[cfg(feature = "sparse")]
pub(super) mod native;
mod products;
mod routine;
mod solvers;
mod solves;

pub use convert::Dense;
pub use direct::{Analysis, Direct, LeastSquares, SparseCholesky};
#[doc(hidden)]
pub use element::{Codes, Number};
pub use element::{SolveElement, SparseElement, SparseIndex};
#[doc(hidden)]
pub use formats::Stored;
pub use formats::{Bsr, ByColumns, ByRows, Compressed, Coo, Csc, Csr, Major, SparseMatrix, SparseVector};
pub use market::{CooBuilder, MarketProgress, read_market};
pub use products::{Sddmm, Spmm, Spmv};
pub use solvers::{Iteration, Preconditioner, Progress, Solution, Unsolved};
pub use solves::{Gtsv, Spsm, Triangular};

use crate::Device;

/// The front of the sparse linear algebra of one device: `device.sparse()`. Holds no native state.
#[derive(Clone, Debug)]
pub struct Sparse {
    device: Device,
}

impl Sparse {
    /// Its device.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Makes what the library needs ahead of time: on a GPU a handle for every stream slot, 9 ms for the first of a process,
    /// and the kernels of our own for structures are loaded. Until both are done, launches of all other threads wait for the
    /// work in flight on the GPU. (Kernels for values are loaded by the first operation on their type.) A host device has
    /// nothing to make.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`](crate::Error::LibraryMissing) without cuSPARSE; the device's own error.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// windlass::Device::best()?.sparse().warm()?;
    /// # Ok(()) }
    /// ```
    pub fn warm(&self) -> crate::Result<()> {
        crate::library::warm(&self.device, "sparse")
    }
}

impl Device {
    /// Sparse linear algebra (cuSPARSE).
    pub fn sparse(&self) -> Sparse {
        Sparse { device: self.clone() }
    }
}

/// What another executable may be asked to do.
#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::worker::Registry) {
    use crate::{Complex, bf16, f16};
    macro_rules! each { ($($t:ty),*) => { $(both::<$t, i32>(registry); both::<$t, i64>(registry);)* } }
    fn both<T: SparseElement, I: SparseIndex>(registry: &mut crate::worker::Registry) {
        formats::register::<T, I>(registry);
        products::register::<T, I>(registry);
        convert::register::<T, I>(registry);
        algebra::register::<T, I>(registry);
    }
    each!(f32, f64, Complex<f32>, Complex<f64>, f16, bf16);
    fn solving<T: SolveElement>(registry: &mut crate::worker::Registry) {
        solves::register::<T, i32>(registry);
        solves::register::<T, i64>(registry);
        direct::register::<T, i32>(registry);
        direct::register::<T, i64>(registry);
        solves::register_elements::<T>(registry);
        solvers::register::<T>(registry);
    }
    direct::register_indices::<i32>(registry);
    direct::register_indices::<i64>(registry);
    macro_rules! solving { ($($t:ty),*) => { $(solving::<$t>(registry);)* } }
    solving!(f32, f64, Complex<f32>, Complex<f64>);
}
