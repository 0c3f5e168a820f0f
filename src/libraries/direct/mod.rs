//! Direct solvers of sparse systems: factorizations with fill, in an elimination order that keeps the fill small. On a GPU by cuDSS 1,
//! all but QR.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::{Device, Transpose, direct::Factorization};
//! let device = Device::host()?;
//! let direct = device.direct();
//! let a = device.sparse().upload_csr(2, 2, &[0, 2, 4], &[0, 1, 0, 1], &[1.0f64, 2.0, 4.0, 2.0])?; // [1 2; 4 2]
//! let analysis = direct.analyse(Factorization::Lu, &a)?;
//! let factor = direct.factor(&analysis, &a)?;
//! let x = factor.solve(&direct, Transpose::No, device.tensor([2], [5.0f64, 8.0])?)?.await_result()?;
//! assert_eq!(device.to_vec(&x)?, [1.0, 2.0]);
//! # Ok(()) }
//! ```
//!
//! There are three steps. [`Direct::analyse`] finds the order and the structure of the factor, for all matrices with one structure.
//! [`Direct::factor`] computes a factor by Cholesky, LDL or LU; [`Direct::refactor`] takes other values. [`SparseFactor::solve`]
//! and [`SparseFactor::solve_checked`] solve with it, for one or many right sides, with the transposed and the adjoint matrix too.
//! [`Direct::solve_qr`] does the last two steps in one call, also for least squares.
//!
//! | | matrices | reads | verdict |
//! |---|---|---|---|
//! | [`Cholesky`](Factorization::Cholesky) | Hermitian, positive definite | one triangle | [`Error::NotPositiveDefinite`] |
//! | [`Ldl`](Factorization::Ldl) | Hermitian or symmetric | one triangle | [`Error::Singular`], [`SparseFactor::perturbed`], [`SparseFactor::inertia`] |
//! | [`Lu`](Factorization::Lu) | square | all | [`Error::Singular`], [`SparseFactor::perturbed`] |
//! | [`Qr`](Factorization::Qr) | at least as many rows as columns | all | [`Error::Singular`] |
//!
//! # On a GPU
//! cuDSS does the work, which is a library that NVIDIA ships by itself (`pip install nvidia-cudss-cu13` or `nvidia-cudss-cu12`); without
//! `libcudss.so.1` an analysis is [`Error::LibraryMissing`]. Its calls take turns on one stream. It has no QR, gives no
//! [`parts`](SparseFactor::parts), and is not for isolated GPUs, whose worker could not know when a factor is dropped: these are
//! [`Error::Unsupported`]. It tells no singular matrix: it replaces pivots and counts them ([`SparseFactor::perturbed`]). Solutions
//! are no steps of programs there. Bits differ from run to run.
//!
//! # Which solution is right
//! A factorization reports values that are infinite or NaN, and pivots that are zero. LU and LDL replace pivots that are too small,
//! so that the structure stays the one that was analysed. [`SparseFactor::solve`] refuses such a factor, as its solutions would be
//! wrong; [`SparseFactor::solve_checked`] takes any factor, refines, and its wait reports a solution that is not right.

// The files of this folder.
// | file | contents |
// |---|---|
// | `analyse` | the elimination order and the structure of the factor |
// | `factor` | Cholesky, LDL and LU, and their verdicts |
// | `solve` | solutions, and solutions that are refined and checked |
// | `qr` | least squares and unsymmetric systems |
// | `host` | the arithmetic of the host engine |
// | `native` | cuDSS; `nothing` is in its place without the CUDA engine |

mod analyse;
mod factor;
#[cfg(feature = "host")]
mod host;
#[cfg(feature = "cuda")]
pub(crate) mod native;
#[cfg(not(feature = "cuda"))]
mod nothing;
mod qr;
mod solve;

#[cfg(not(feature = "cuda"))]
use nothing as native;

pub use crate::libraries::flags::Symmetry;
pub use analyse::{Analysis, Factorization};
pub use factor::{Inertia, SparseFactor, SparseParts};

use crate::core::buffer::{Elems, Span};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::{Bufs, Raw};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::libraries::routine::{Call, Front, Routine};

/// The direct solvers of sparse systems of one device: `device.direct()`. It holds no native state.
#[derive(Clone, Debug)]
pub struct Direct {
    device: Device,
}

impl Direct {
    /// The device of this front.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Loads cuDSS on a GPU, before its first use; a handle for each value type is made when that type is first used (66 MiB and 15
    /// ms). On a host device there is nothing to do.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`] if cuDSS 1 is not found; an error of the device.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// windlass::Device::host()?.direct().warm()?;
    /// # Ok(()) }
    /// ```
    pub fn warm(&self) -> Result<()> {
        crate::device::library::warm(&self.device, "direct")
    }

    /// Submits an operation.
    fn submit<R: Routine<Front = Self>>(
        &self,
        routine: R,
        reads: <R::Reads as Elems>::Ins<'_>,
        writes: Bufs<R::Output>,
    ) -> Submitted<R::Output, <R::Raw as Raw>::Left> {
        self.device.dispatch(Call(routine), reads, writes)
    }
}

impl Front for Direct {
    const LIBRARY: &'static str = "direct";
    const IS_POOLED: bool = true;
}

/// Fronts of libraries: direct solvers of sparse systems.
impl Device {
    /// Direct solvers of sparse systems.
    pub fn direct(&self) -> Direct {
        Direct { device: self.clone() }
    }
}

/// The most corrections of one column.
const STEPS: usize = 10;
/// The backward error that a solution may have, in units of the precision.
const UNITS: f64 = 100.0;

/// The reason why no GPU has QR.
#[cfg(feature = "cuda")]
#[cold]
fn no_qr() -> Error {
    Error::unsupported(
        "QR of a sparse matrix on a GPU: cuDSS has none; factor `[I A; A^H 0]` by LDL, whose solution for `[b; 0]` ends in that of \
         the least-squares problem, or call `solve_qr` on `Device::host()`",
    )
}

fn other_structure() -> Error {
    Error::invalid("a", "its structure is not the one that was analysed: call `analyse` for this matrix")
}

/// A row of A, from 1, has a value that is infinite or NaN.
fn not_finite(row: u64) -> Error {
    Error::invalid("a", format!("a value of row {row} (counted from 1) is infinite or NaN"))
}

/// The plan among the arrays that an operation reads. `None` if the structure that was analysed follows it and is not this one.
#[cfg(feature = "host")]
fn plan_for<'a, I: PartialEq>(arrays: &[&'a [I]], offsets: &[I], indices: &[I]) -> Option<&'a [I]> {
    match *arrays {
        [plan] => Some(plan),
        [plan, of_offsets, of_indices] => (offsets == of_offsets && indices == of_indices).then_some(plan),
        _ => None,
    }
}

/// The number of values of a factor whose L has so many entries.
fn values_of(factorization: Factorization, lower: usize) -> usize {
    if factorization == Factorization::Lu { lower.saturating_mul(2) } else { lower }
}

/// Checks the length of a plan for `n` columns.
fn check_plan(factorization: Factorization, n: usize, len: usize) -> Result<()> {
    if factorization.plan_len(n) == Some(len) {
        Ok(())
    } else {
        Err(Error::invalid("analysis", format!("{len} elements for {n} columns")))
    }
}

/// Checks the length of the plan, and of the structure of a `rows x cols` matrix of `nnz` entries if it follows.
fn check_plans<I: Element>(
    factorization: Factorization,
    (rows, cols, nnz): (usize, usize, usize),
    arrays: &[Span<I>],
) -> Result<()> {
    let fits = match arrays {
        [_] => true,
        [_, offsets, indices] => Some(offsets.len()) == rows.checked_add(1) && indices.len() == nnz,
        _ => false,
    };
    match arrays {
        [plan, ..] if fits => check_plan(factorization, cols, plan.len()),
        _ => Err(Error::invalid("analysis", format!("{} arrays for {rows} rows with {nnz} entries", arrays.len()))),
    }
}

/// Checks the lengths of offsets, indices and values.
fn check_matrix((rows, nnz): (usize, usize), [offsets, indices, values]: [usize; 3]) -> Result<()> {
    if Some(offsets) == rows.checked_add(1) && indices == nnz && values == nnz {
        return Ok(());
    }
    Err(Error::invalid("a", format!("{values} entries and {offsets} offsets, not {nnz} of {rows} rows")))
}

/// Where a factor is.
#[derive(Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Factors {
    /// In buffers, with so many entries of L.
    Buffers(usize),
    /// In an object of the library: the operands are indices and values of A instead, so many.
    Library(usize),
}

impl Factors {
    /// The lengths of the rows and of the values.
    fn lengths(self, factorization: Factorization) -> [usize; 2] {
        match self {
            Factors::Buffers(lower) => [lower, values_of(factorization, lower)],
            Factors::Library(nnz) => [nnz, nnz],
        }
    }

    /// Checks the lengths of the rows and values.
    fn check(self, factorization: Factorization, [rows, values]: [usize; 2]) -> Result<()> {
        if self.lengths(factorization) == [rows, values] {
            return Ok(());
        }
        Err(Error::invalid("factor", format!("{values} values and {rows} row indices of another factor")))
    }
}

/// Registers the operations that a worker of another executable can run.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    use crate::libraries::sparse::{SolveElement, SparseIndex};
    use num_complex::Complex;
    fn both<T: SolveElement, I: SparseIndex>(registry: &mut crate::engines::worker::Registry) {
        registry.call::<analyse::Analyse<T, I>>();
        registry.call::<factor::Factor<T, I>>();
        registry.call::<solve::Solve<T, I>>();
        registry.call::<solve::SolveChecked<T, I>>();
        registry.call::<qr::Solve<T, I>>();
    }
    macro_rules! each { ($($t:ty),*) => { $(both::<$t, i32>(registry); both::<$t, i64>(registry);)* } }
    each!(f32, f64, Complex<f32>, Complex<f64>);
}
