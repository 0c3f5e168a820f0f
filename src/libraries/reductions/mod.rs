//! Reductions along axes, with the same bits on both engines.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::reductions::{All, Keep};
//! let device = windlass::Device::best()?;
//! let x = device.tensor([2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let total = device.item(&device.sum(&x, All)?.await_result()?)?;
//! let rows = device.mean(&x, Keep(-1))?.await_result()?;
//! assert_eq!((total, rows.extents()), (21.0, &[2, 1][..]));
//! # Ok(()) }
//! ```

mod axes;
#[cfg(feature = "cuda")]
mod cuda;
mod element;
mod front;
#[cfg(feature = "host")]
mod host;
mod kind;
mod op;
#[cfg(feature = "cuda")]
mod ptx;
mod recipe;
mod space;

pub use axes::{All, Axes, Keep};
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub use ptx::THREADS_FROM;
pub use kind::{
    AllTrue, AnyTrue, ArgMax, ArgMin, CountNonzero, Kind, LogSumExp, Max, Mean, Min, Norm1, Norm2, NormInf, Prod,
    Reduction, Std, Sum, Var,
};

/// Registers the operation of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<op::Reduce>();
}
