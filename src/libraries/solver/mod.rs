//! Dense factorizations, solutions and spectra: cuSOLVER on a GPU, our own recursions and crate `faer` on the CPU; small matrices by
//! loops and kernels of our own on both.
//!
//! # Conventions
//! - **Operands** are tensors. The last two axes are the rows and columns of a matrix, the axes before them a batch; a buffer is
//!   a vector, and `buffer.with_layout(Layout::columns(m, n).ld(ld))` makes a matrix of it. Of symmetric, Hermitian and
//!   triangular matrices only the triangle that [`Uplo`](crate::Uplo) names is read and written.
//! - **Ownership.** What a call overwrites is given by reference or by value ([`GivenTensor`]). By reference it is copied, in one
//!   kernel, which makes the columns contiguous and so transposes a row-major matrix. By value it is used up: the call works in
//!   place, without a copy, if the columns are contiguous ([`Device::contiguous_columns`], `Layout::columns`), the matrices of a batch at even
//!   distances, and the extents those that are needed; else it copies as well. What lies between columns and matrices, or around
//!   them in the buffer, is neither read nor written.
//! - **Results** are tensors with the axes of the batch first; matrices are column-major. A typed result ([`Lu`], [`Cholesky`],
//!   [`Qr`], [`Ldl`], [`Svd`], [`Eigh`], [`Eig`]) owns the factors, in the memory of A, and solves with them. Every part of it
//!   can be taken out.
//! - **Right sides.** A B of one axis is a vector, for each matrix of a batch, and so is X; any other B is matrices, which
//!   are broadcast to the batch of A. Both are NumPy's rules.
//! - **Verdicts** come at the wait: [`Error::Singular`](crate::Error::Singular),
//!   [`Error::NotPositiveDefinite`](crate::Error::NotPositiveDefinite),
//!   [`Error::NotConverged`](crate::Error::NotConverged), with all tensors. They give the index of the failure, counted
//!   from 1 as in LAPACK. For a batch they describe the first matrix that failed, and say which it is; the tensor `info` that comes
//!   back describes each. [`PendingDispatch::into_parts`](crate::PendingDispatch::into_parts) returns the tensors at once and the
//!   verdict later. Of what was given by reference the copy comes back, or, if it was refused before there is one, a tensor
//!   without elements.
//! - **Form.** Pivots count from 1; reflectors and their `tau` are those of LAPACK's `geqrf`.
//! - **Numbers.** A NaN or an infinity in a matrix is not a fault of the device. Spectra, [`Solver::pinv`] and
//!   [`Solver::lstsq`] report [`Error::NotConverged`](crate::Error::NotConverged). Factorizations and solutions of large matrices promise
//!   nothing: they compute with it as LAPACK does. A NaN may come back as a NaN, or as the verdict that a pivot is zero
//!   or that a minor is not positive; an infinity may vanish where a pivot divides by it, so that the solution of
//!   `[inf 1; 1 2]` is finite, as in NumPy. Check the input if it may hold either.
//! - **Small matrices.** QR of f32 and f64 with at most 64 rows and columns ([`Solver::qr`], [`Qr::q`], [`Qr::apply`] from the left,
//!   [`Qr::solve`], [`Solver::solve`] of rectangular systems), and LU, Cholesky and triangles of at most 32 ([`Solver::lu`], [`Lu::solve`], [`Solver::inverse`], [`Lu::inverse`];
//!   [`Solver::cholesky`], [`Cholesky::solve`], [`Cholesky::inverse`]; [`Solver::trtri`], [`Device::solve_triangular`]; and
//!   [`Solver::solve`] with [`Structure::General`] and [`Structure::PositiveDefinite`]; C and B have at most as many columns) are computed by
//!   one kernel for a batch of any length, and on the CPU by loops over several matrices side by side. The operation, the sizes and the
//!   type decide, never the length of the batch: a matrix has the same bits alone, anywhere in a batch, on a GPU and on any CPU. A matrix
//!   that holds a NaN or an infinity has NaN in all its factors (of a triangle, in that triangle), its inverse is NaN, its solutions
//!   are not written, and its info is 1; the others of the batch are what they are without it. So is a singular matrix alone singular: its
//!   LU factors are complete, its inverse is NaN, its solutions are not written; and one that is not positive definite keeps its
//!   triangle. Larger matrices, other types and QR with column pivoting are as above, with other bits.
//! - **Small spectra.** The same holds for all eigenvalues ([`Solver::eigh`] by [`EighMethod::Auto`]) and singular values
//!   ([`Solver::svd`]) of f32 and f64 with at most 32 rows and columns, with or without vectors: by two-sided rotations, and by
//!   one-sided ones, of the adjoint where a matrix is wide. f32 computes in f32. A matrix that holds a NaN or an infinity is not
//!   converged, with an info of its number of values, and NaN in all its outputs; one that takes more than 100 sweeps has an info one
//!   larger, and what there is. Eigenvalues are right to some units of the largest one's last digit. Singular values of columns of
//!   very different sizes are right to their own last digits, down to 1e-15 (f32) and 1e-145 (f64) of the largest element; the
//!   vectors of those that are smaller, or zero, are made of what the others leave.
//! - **Determinism.** The same call gives the same bits on the same machine with the same number of threads. On a GPU
//!   cuSOLVER promises this for most routines, but not for [`Solver::ldl`], nor for [`Solver::solve`] where that uses
//!   it.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! let device = windlass::Device::best()?;
//! let a = device.tensor([2, 2], [4.0f64, 1.0, 1.0, 3.0])?;
//! let b = device.tensor([2], [1.0f64, 2.0])?;
//! let solved = device.solve(&a, b)?.await_result()?; // copies a, uses b up
//! let x = device.to_vec(&solved.x)?;
//! assert!((x[0] - 1.0 / 11.0).abs() < 1e-15 && (x[1] - 7.0 / 11.0).abs() < 1e-15);
//! # Ok(()) }
//! ```

// The files of this folder.
// One file for each operation or family: its data, its checks, its CUDA and its host implementation side by side.
//
// | file | content |
// |---|---|
// | `given`, `windows`, `matrix` | tensors that a call overwrites, as a dispatch sees them, where their matrices lie |
// | `element`, `verdict`, `output` | the types of elements, what an info means, results with a verdict |
// | `routine`, `prelude` | what all routines share |
// | `batch` | loops over a batch on the host |
// | `lu`, `cholesky`, `qr`, `triangle` | factors, solutions and inverses from them |
// | `ldl` | factors of symmetric matrices that need not be definite |
// | `svd`, `eigh`, `generalized`, `eig` | singular values and eigenvalues |
// | `method` | the choice of methods for spectra |
// | `exponential`, `triangular` | the exponential of a matrix, solutions with triangles |
// | `small` | what is done with small matrices by loops and a kernel of our own |
// | `short` | the calls that programs make most, on the device |
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
#[cfg(feature = "expressions")]
mod exponential;
mod generalized;
mod given;
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
mod short;
mod small;
mod solve;
mod svd;
mod triangle;
mod triangular;
mod verdict;
mod windows;

pub use crate::libraries::flags::Symmetry;
pub use cholesky::Cholesky;
pub use determinant::{Determinant, PendingDeterminants};
pub use eig::{Eig, Eigenvectors};
pub use eigh::{Eigh, EighSpec, Range};
#[doc(hidden)]
pub use element::HostSolver;
pub use element::SolverElement;
pub use generalized::Generalized;
pub use given::{Given, GivenTensor};
pub use ldl::Ldl;
pub use lstsq::Lstsq;
pub use lu::Lu;
#[doc(hidden)]
pub use method::Reached;
pub use method::{EighMethod, Jacobi, Randomized, SvdMethod};
pub use numbers::{Norm, PendingNumbers};
pub use output::{Inverse, Solution, Solved};
pub use pinv::PseudoInverse;
pub use qr::Qr;
#[doc(hidden)]
pub use refine::HostWide;
pub use refine::{Lowest, Refined, WideElement};
pub use solve::Structure;
pub use svd::{Svd, Vectors};

use crate::core::buffer::Elems;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Output, Raw};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use routine::{Call, Routine};
use std::convert::Infallible;
use windows::Windows;

/// The front of the dense factorizations of one device: `device.solver()`. Holds no native state.
#[derive(Clone, Debug)]
pub struct Solver {
    device: Device,
}

/// Fronts of libraries: factorizations.
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

    /// Submits a routine. It sees the windows of the buffers in which the tensors lie.
    fn submit<R, W>(
        &self,
        routine: R,
        reads: <R::Reads as Elems>::Ins<'_>,
        writes: W::Bufs,
    ) -> Submitted<R::Output, <R::Raw as Raw>::Left>
    where
        R: Routine<Front = Self, Output: Output<Writes = W>>,
        W: Elems<Bufs: Windows, Failure = Rejected<<W as Elems>::Bufs>>,
    {
        let (narrow, wholes) = writes.narrow();
        match self.device.dispatch(Call(routine), reads, narrow) {
            Ok(pending) => Ok(pending
                .retype(|narrow| Ok::<_, Infallible>(narrow.widen(wholes)))
                .unwrap_or_else(|never| match never {})),
            Err(rejected) => Err(rejected.map(|narrow| narrow.widen(wholes))),
        }
    }

    /// A rejection before the submission. The caller's tensors come back, with empty ones in place of those that were
    /// not made.
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
        registry.call::<svd::Gesvd<T, false>>();
        registry.call::<svd::Gesvd<T, true>>();
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
