//! Direct solvers of sparse systems: factorizations with fill, in an elimination order that keeps the fill small. Host engine
//! only.
//!
//! There are three steps: [`Direct::analyse`], [`Direct::cholesky`], [`SparseCholesky::solve`]. [`Direct::solve_qr`]
//! does the last two in one call. The first step reads only the structure, so its result serves all matrices with that
//! structure.
//!
//! | file | what it does |
//! |---|---|
//! | `analyse` | the elimination order and the structure of the factor |
//! | `cholesky` | Cholesky factors of positive definite matrices, and solves |
//! | `qr` | least squares and unsymmetric systems |
//! | `host` | the arithmetic of the host engine |

mod analyse;
mod cholesky;
#[cfg(feature = "host")]
mod host;
mod qr;

pub use analyse::{Analysis, Factorization};
pub use cholesky::SparseCholesky;

use crate::core::buffer::Elems;
use crate::core::error::Error;
use crate::core::op::{Bufs, Raw};
#[cfg(feature = "host")]
use crate::core::room::{OrUnwind, collected};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::libraries::routine::{Call, Front, Routine};
use crate::libraries::sparse::SparseIndex;
#[cfg(feature = "host")]
use host::NONE;

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
}

/// Fronts of libraries: direct solvers of sparse systems.
impl Device {
    /// Direct solvers of sparse systems.
    pub fn direct(&self) -> Direct {
        Direct { device: self.clone() }
    }
}

/// The reason why no GPU supports this.
#[cfg(feature = "cuda")]
fn unsupported() -> Error {
    Error::unsupported(
        "direct solvers for sparse systems on a GPU: cuSOLVER's routines are deprecated, and their successor, cuDSS, \
         is a separate library that is not used yet; factor on `Device::host()`, or use the iterative solvers of \
         `sparse()`",
    )
}

/// Indices as positions.
#[cfg(feature = "host")]
fn places<I: SparseIndex>(x: &[I]) -> Vec<usize> {
    collected(x.iter().map(|x| x.place())).or_unwind()
}

/// Parents as positions; a value that is not a column means a root.
#[cfg(feature = "host")]
fn parents<I: SparseIndex>(x: &[I]) -> Vec<usize> {
    collected(x.iter().map(|i| if i.place() < x.len() { i.place() } else { NONE })).or_unwind()
}

/// The verdict of a matrix whose structure is not the one that was analysed.
const OTHER: u64 = u64::MAX;

fn other_structure() -> Error {
    Error::invalid("a", "its structure is not the one that was analysed: call `analyse` for this matrix")
}

/// Order, parents and offsets of a plan; and the structure that was analysed, if it has to be compared.
#[cfg(feature = "host")]
type Plan<'a, I> = ([&'a [I]; 3], Option<[&'a [I]; 2]>);

#[cfg(feature = "host")]
fn parts<'a, I>(plan: &[&'a [I]]) -> Plan<'a, I> {
    match *plan {
        [order, parents, starts, offsets, indices] => ([order, parents, starts], Some([offsets, indices])),
        [order, parents, starts, ..] => ([order, parents, starts], None),
        _ => ([&[]; 3], None),
    }
}

/// Checks the lengths of a plan, and of the structure of `nnz` entries if it follows.
fn check_parts<I: crate::core::element::Element>(
    n: usize,
    nnz: usize,
    rows: usize,
    plan: &[crate::core::buffer::Span<I>],
) -> crate::core::error::Result<()> {
    let fits = match plan {
        [_, _, _] => true,
        [_, _, _, offsets, indices] => Some(offsets.len()) == rows.checked_add(1) && indices.len() == nnz,
        _ => false,
    };
    match plan {
        [order, parents, starts, ..] if fits => check_plan(n, [order.len(), parents.len(), starts.len()]),
        _ => Err(Error::invalid("analysis", format!("{} arrays for {rows} rows with {nnz} entries", plan.len()))),
    }
}

/// Checks the lengths of the arrays of an analysis.
fn check_plan(n: usize, lens: [usize; 3]) -> crate::core::error::Result<()> {
    if lens == [n, n, n.saturating_add(1)] {
        Ok(())
    } else {
        Err(Error::invalid("analysis", format!("{lens:?} elements for {n} columns")))
    }
}

/// Registers the operations that a worker of another executable can run.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    use num_complex::Complex;
    fn both<T: crate::libraries::sparse::SolveElement, I: SparseIndex>(
        registry: &mut crate::engines::worker::Registry,
    ) {
        registry.call::<cholesky::Factor<T, I>>();
        registry.call::<cholesky::Solve<T, I>>();
        registry.call::<qr::Solve<T, I>>();
    }
    macro_rules! each { ($($t:ty),*) => { $(both::<$t, i32>(registry); both::<$t, i64>(registry);)* } }
    each!(f32, f64, Complex<f32>, Complex<f64>);
    registry.call::<analyse::Analyse<i32>>();
    registry.call::<analyse::Analyse<i64>>();
}
