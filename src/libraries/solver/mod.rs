//! Dense factorizations, solutions and spectra: cuSOLVER on a GPU, our own recursions and crate `faer` on the CPU.
//!
//! # Conventions
//! - **Order.** Matrices are column-major with a leading dimension, one or a batch of them at even distances in one
//!   buffer: [`Matrix`] describes the layout. Of symmetric, Hermitian and triangular matrices only the triangle that
//!   [`Uplo`](crate::Uplo) names is read and written.
//! - **Ownership.** The matrix to factor is moved in. A typed result ([`Lu`], [`Cholesky`], [`Qr`], [`Ldl`], [`Svd`],
//!   [`Eigh`], [`Eig`]) owns the factors, which lie in the same buffer, and solves with them. This costs no copy, and
//!   every part of it can be taken out.
//! - **Verdicts** come at the wait: [`Error::Singular`](crate::Error::Singular),
//!   [`Error::NotPositiveDefinite`](crate::Error::NotPositiveDefinite),
//!   [`Error::NotConverged`](crate::Error::NotConverged), with all buffers. They give the index of the failure, counted
//!   from 1 as in LAPACK. For a batch they describe the first matrix that failed; the buffer `info` that comes back
//!   describes each. [`PendingDispatch::into_parts`](crate::PendingDispatch::into_parts) returns the buffers at once and the
//!   verdict later.
//! - **Form.** Pivots count from 1; reflectors and their `tau` are those of LAPACK's `geqrf`.
//! - **Numbers.** A NaN or an infinity in a matrix is not a fault of the device. Spectra, [`Solver::pinv`] and
//!   [`Solver::lstsq`] report [`Error::NotConverged`](crate::Error::NotConverged). Factorizations and solutions promise
//!   nothing: they compute with it as LAPACK does. A NaN may come back as a NaN, or as the verdict that a pivot is zero
//!   or that a minor is not positive; an infinity may vanish where a pivot divides by it, so that the solution of
//!   `[inf 1; 1 2]` is finite, as in NumPy. Check the input if it may hold either.
//! - **Determinism.** The same call gives the same bits on the same machine with the same number of threads. On a GPU
//!   cuSOLVER promises this for most routines, but not for [`Solver::ldl`], nor for [`Solver::solve`] where that uses
//!   it.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::{Device, solver::{Matrix, Structure}};
//! let device = Device::best()?;
//! let a = device.upload([4.0f64, 1.0, 1.0, 3.0])?.into_output();
//! let b = device.upload([1.0f64, 2.0])?.into_output();
//! let solver = device.solver();
//! let solved = solver.solve(Structure::General, Matrix::square(2), a, Matrix::new(2, 1), b)?.await_result()?;
//! let x = device.download(&solved.x)?.await_result()?;
//! assert!((x[0] - 1.0 / 11.0).abs() < 1e-15 && (x[1] - 7.0 / 11.0).abs() < 1e-15);
//! # Ok(()) }
//! ```

// The files of this folder.
// One file for each operation or family: its data, its checks, its CUDA and its host implementation side by side.
//
// | file | content |
// |---|---|
// | `matrix`, `element`, `verdict`, `output` | layouts of matrices, their types, what an info means, results with a verdict |
// | `routine`, `prelude` | what all routines share |
// | `batch` | loops over a batch on the host |
// | `lu`, `cholesky`, `qr`, `triangle` | factors, solutions and inverses from them |
// | `ldl` | factors of symmetric matrices that need not be definite |
// | `svd`, `eigh`, `generalized`, `eig` | singular values and eigenvalues |
// | `method` | the choice of methods for spectra |
// | `solve`, `refine` | one call that factors and solves, in the precision of its numbers or in half of it, refined |
// | `determinant`, `numbers`, `pinv`, `lstsq` | determinants from factors; rank, condition, norms; pseudo-inverses; least squares of any rank |
// | `native` | cuSOLVER, its handle, our own kernels |
// | `host` | the CPU's arithmetic |

#[cfg(feature = "host")]
mod batch;
mod cholesky;
mod determinant;
mod eig;
mod eigh;
mod element;
mod generalized;
#[cfg(feature = "host")]
mod host;
mod ldl;
mod lstsq;
mod lu;
mod matrix;
mod method;
#[cfg(feature = "cuda")]
pub(crate) mod native;
mod numbers;
mod output;
mod pinv;
mod prelude;
mod qr;
mod refine;
mod routine;
mod solve;
mod svd;
mod triangle;
mod verdict;

pub use cholesky::Cholesky;
#[doc(hidden)]
pub use cholesky::Shape;
pub use determinant::{Determinant, PendingDeterminants};
pub use eig::{Eig, Eigenvectors};
pub use eigh::{Eigh, EighSpec, Range};
#[doc(hidden)]
pub use element::HostSolver;
pub use element::SolverElement;
pub use generalized::Generalized;
#[doc(hidden)]
pub use ldl::LdlShape;
pub use ldl::{Ldl, Symmetry};
pub use lstsq::Lstsq;
pub use lu::Lu;
pub use matrix::Matrix;
#[doc(hidden)]
pub use method::Reached;
pub use method::{EighMethod, Jacobi, Randomized, SvdMethod};
pub use numbers::{Norm, PendingNumbers};
pub use output::{Inverse, Solution, Solved};
pub use pinv::PseudoInverse;
pub use qr::{ApplyQ, Qr};
#[doc(hidden)]
pub use refine::HostWide;
pub use refine::{Lowest, Refine, Refined, WideElement};
pub use solve::Structure;
#[doc(hidden)]
pub use svd::SvdShape;
pub use svd::{Svd, Vectors};

use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Bufs, Raw};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use routine::{Call, Routine};

/// The front of the dense factorizations of one device: `device.solver()`. Holds no native state.
#[derive(Clone, Debug)]
pub struct Solver {
    device: Device,
}

impl Device {
    /// Dense factorizations (cuSOLVER).
    pub fn solver(&self) -> Solver {
        Solver { device: self.clone() }
    }
}

impl Solver {
    /// Its device.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Makes what the library needs ahead of time. On a GPU it makes the four handles, of 96 MiB each, and loads our
    /// own kernels, which blocks the launches of all other threads. A host device has nothing to make.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`] without cuSOLVER; the device's own error.
    pub fn warm(&self) -> Result<()> {
        crate::device::library::warm(&self.device, "solver")
    }

    /// Submits a routine.
    fn submit<R: Routine<Front = Self>>(
        &self,
        routine: R,
        reads: <R::Reads as crate::core::buffer::Elems>::Ins<'_>,
        writes: Bufs<R::Output>,
    ) -> Submitted<R::Output, <R::Raw as Raw>::Left> {
        self.device.dispatch(Call(routine), reads, writes)
    }

    /// A rejection before the submission. The caller's buffers come back, with empty buffers in place of those that
    /// were not made.
    fn refuse<O>(&self, op: &'static str, error: Error, back: impl FnOnce(&Device) -> Result<O>) -> Rejected<O> {
        let error = error.in_op(op, "solver");
        match back(&self.device) {
            Ok(back) => Rejected::new(error, back),
            Err(_) => error.into(),
        }
    }
}

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    fn all<T: SolverElement>(registry: &mut crate::engines::worker::Registry) {
        registry.call::<lu::Getrf<T>>();
        registry.call::<lu::Getrs<T>>();
        registry.call::<lu::Getri<T>>();
        registry.call::<cholesky::Potrf<T>>();
        registry.call::<cholesky::Potrs<T>>();
        registry.call::<cholesky::Potri<T>>();
        registry.call::<triangle::Trtri<T>>();
        registry.call::<determinant::Diagonal<T>>();
        registry.call::<qr::Geqrf<T, false>>();
        registry.call::<qr::Geqrf<T, true>>();
        registry.call::<qr::Qrs<T>>();
        registry.call::<qr::Ormqr<T>>();
        registry.call::<qr::Orgqr<T>>();
        registry.call::<solve::Gesv<T>>();
        registry.call::<pinv::Pinv<T>>();
        registry.call::<lstsq::Gelsd<T>>();
        registry.call::<solve::Sysv<T>>();
        registry.call::<ldl::Sytrf<T>>();
        registry.call::<ldl::Sytrs<T>>();
        registry.call::<svd::Gesvd<T>>();
        registry.call::<eigh::Syevd<T, false>>();
        registry.call::<eigh::Syevd<T, true>>();
        registry.call::<generalized::Sygvd<T>>();
        registry.call::<eig::Geev<T>>();
    }
    registry.call::<refine::Refining<f64>>();
    registry.call::<refine::Refining<num_complex::Complex<f64>>>();
    all::<f32>(registry);
    all::<f64>(registry);
    all::<num_complex::Complex<f32>>(registry);
    all::<num_complex::Complex<f64>>(registry);
}
