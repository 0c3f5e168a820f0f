//! How a formula is made: a closure runs once on symbols that record what it does with them.
//!
//! [`Open`] opens a recording (`recording.rs`) on this thread; [`Formula::new`](super::Formula::new) and the calls that take a
//! closure run it with one [`Symbol`] for each input, and admit what was recorded. Operators (`symbol.rs`) and methods
//! (`methods.rs`) of symbols never fail: the first error is kept in the recording, the symbol that comes out carries it on,
//! and the end of the recording returns it. `tuples.rs` is what closures take and return, `choice.rs` what `select` takes.

mod choice;
mod methods;
#[cfg(feature = "rng")]
pub mod random;
pub(in crate::libraries) mod recording;
mod symbol;
mod tuples;

pub use choice::Choice;
pub use methods::Parts;
pub(in crate::libraries) use recording::{Open, Raw, RawOperand, Recording};
pub use symbol::{Constant, Operand, Symbol, constant, scalar};
pub(in crate::libraries) use tuples::sealed;
pub use tuples::{Outputs, Symbols};

use super::ir::Op;

/// The position of the element along an axis of the outputs, as `i64`.
///
/// Outside of a closure the symbol belongs to none, and using it is an error.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::expressions::position;
/// let device = windlass::Device::host()?;
/// let eye = device.tabulate([2, 3], || position(0).eq(position(1)).select(1.0f32, 0.0))?.await_result()?;
/// assert_eq!(device.show(&eye)?.to_string(), "[[1. 0. 0.]\n [0. 1. 0.]]");
/// # Ok(()) }
/// ```
pub fn position(axis: u8) -> Symbol<i64> {
    Symbol::new(recording::index(Op::Position(axis)))
}

/// The number of the element, counted in row-major order of the outputs, as `i64`; see [`position`].
pub fn index() -> Symbol<i64> {
    Symbol::new(recording::index(Op::Index))
}

/// The number of elements along an axis of the outputs, as `i64`; see [`position`].
pub fn extent(axis: u8) -> Symbol<i64> {
    Symbol::new(recording::index(Op::Extent(axis)))
}

#[cfg(feature = "rng")]
mod sealed_random {
    use super::Symbol;
    use crate::libraries::rng::Stream;

    /// How numbers of a type are drawn.
    pub trait Drawn: Sized {
        fn uniform(stream: &Stream, at: Symbol<u64>) -> Symbol<Self>;
        fn normal(stream: &Stream, at: Symbol<u64>) -> Symbol<Self>;
    }
}
