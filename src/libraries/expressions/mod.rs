//! Formulas for the elements of tensors: written once, run on the CPU and on a GPU with the same bits.
//!
//! A closure over symbols is recorded once and becomes an [`Expr`], which is plain data: it is hashed, sent to workers, and stored
//! in program files. It takes up to 8 tensors, which are broadcast to each other and may have any strides, and makes, writes or
//! updates up to 4.
//!
//! | call | what it does |
//! |---|---|
//! | [`Device::map`](crate::Device::map) | makes its outputs |
//! | [`Device::map_into`](crate::Device::map_into) | writes tensors, or parts of some, of any strides |
//! | [`Device::update`](crate::Device::update) | updates in place, each element at its own place |
//! | [`Device::tabulate`](crate::Device::tabulate) | makes tensors whose elements are given by their place |
//! | [`Device::apply`](crate::Device::apply), [`apply_into`](crate::Device::apply_into), [`prepare`](crate::Device::prepare) | the same with a [`Formula`] that is kept |
//! | `&a + &b`, `a.exp()` | builds a [`Deferred`] expression until `eval` |
//! | [`Device::evaluate`](crate::Device::evaluate), [`map_any`](crate::Device::map_any) | computes an [`Expr`], over untyped buffers or tensors |
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! let device = windlass::Device::best()?;
//! let (x, y) = (device.tensor([3], [1.0f32, 2.0, 3.0])?, device.tensor([3], [-2.0f32, 0.0, 2.0])?);
//! let rate = 0.5f32; // a number is a parameter: another rate is no other kernel
//! let z = device.map((&x, &y), |(x, y)| (x * y * rate + 1.0).max(0.0))?.await_result()?;
//! assert_eq!(device.show(&z)?.to_string(), "[0. 1. 4.]");
//! # Ok(()) }
//! ```
//!
//! # The rules of arithmetic
//! The same bits come out on both engines, on every CPU, with any number of threads:
//!
//! - **Types**: nothing is promoted; [`cast`](Symbol::cast) changes a type, rounded once. A number beside a symbol takes the
//!   symbol's type, if that holds it. To the left of a symbol stands a literal, or a variable as [`scalar`]`(rate) * x`.
//! - **Integers** wrap. `x / 0`, `x % 0` and `x.modulo(0)` are 0, `MIN / -1` is `MIN`. A shift by the width or more gives 0, or
//!   the sign for a signed shift to the right; a negative distance counts as that.
//! - **Floating point** is IEEE 754: each operation is rounded to nearest even, subnormals are kept, nothing is contracted.
//!   [`fma`](Symbol::fma) rounds once.
//! - **f16, bf16 and the types of 8 bits** are computed in `f32` and rounded where the outputs of a formula, casts to them and bit
//!   casts are. The types of 8 bits saturate.
//! - **NaN**: a computed NaN has one pattern: `0x7fffffff` (`f32`), `0x7fffffffffffffff` (`f64`), `0x7fff` (`f16`, `bf16`), `0x7f`
//!   (8 bits). What is only moved keeps its bits. [`maximum`](Symbol::maximum) carries NaN, [`max`](Symbol::max) drops it, as in
//!   IEEE 754-2019; -0 is below +0 for both.
//! - **Complex** `*` is `(ac - bd, ad + bc)`, `/` is Smith's method; a quotient by zero is NaN. Functions of complex numbers are
//!   `exp`, `abs`, `arg` and `conj`.
//! - **[`Bool`](crate::Bool)**: each byte but 0 is true; a computed one is 0 or 1.
//! - **Functions** come from one own set of polynomials. The largest errors that were found, in units of the last place, where 0.5 is
//!   what one rounding gives:
//!
//! | function | f32 | f64 |
//! |---|---|---|
//! | exp | 0.77 | 0.78 |
//! | exp2 | 0.79 | 0.80 |
//! | expm1 | 0.58 | 0.58 |
//! | log | 0.61* | 0.56 |
//! | log2 | 0.59 | 0.59 |
//! | log1p | 0.57 | 0.57 |
//! | rsqrt | 0.50 | 0.50 |
//! | cbrt | 0.50 | 0.50 |
//! | sin | 0.68 | 0.68 |
//! | cos | 0.68 | 0.67 |
//! | tan | 0.85 | 0.78 |
//! | asin | 0.64* | 0.66 |
//! | acos | 0.61* | 0.66 |
//! | atan | 0.58* | 0.61 |
//! | sinh | 0.56* | 0.57 |
//! | cosh | 0.52* | 0.53 |
//! | tanh | 0.89* | 0.56 |
//! | asinh | 0.56* | 0.57 |
//! | acosh | 0.55* | 0.56 |
//! | atanh | 0.56* | 0.56 |
//! | erf | 0.75* | 0.85 |
//! | erfc | 0.84* | 1.19 |
//! | sigmoid | 0.77* | 0.76 |
//! | silu | 0.81* | 0.76 |
//! | gelu | 0.92* | 0.85 |
//! | gelu_tanh | 0.81* | 0.60 |
//! | softplus | 0.76* | 0.76 |
//! | pow | 0.76 | 1.06 |
//! | hypot | 0.75 | 0.75 |
//! | atan2 | 0.75 | 0.75 |
//! | exp of a complex number, real part | 1.81 | 1.84 |
//! | imaginary part | 1.80 | 1.78 |
//! | log10 | 0.56 | 0.56 |
//!
//! Single precision, one argument: over all 2^32 inputs against the C library's double precision; where a star stands, over every
//! 8th of them. Double precision: over 1.5 * 10^7 random arguments of each function and the neighbours of the worst of them, against
//! the C library's extended precision, and there against 300 bits; a longer search can find some hundredths more. Single precision of
//! two arguments and complex numbers: against Arb at 6 * 10^4 points and more each, hard ones among them. The
//! errors from 0.75 to 0.81 of `exp`, `exp2`, `sigmoid`, `silu`, `gelu_tanh`, `softplus`, `hypot` and `atan2` are of results near or below the
//! smallest normal number, which are rounded twice.
//!
//! # Costs
//! On a GPU a formula is one kernel, written as PTX without a library of CUDA. Its first use compiles it: some milliseconds, in which
//! the driver may hold up the launches of all threads. A kernel is good for all layouts of a class and all values of numbers; 256
//! are kept. On the CPU it is a program of vectorised loops over blocks that stay in the first cache, on the device's threads.
//! Recording a closure takes some microseconds; a [`Formula`] that is kept is not recorded again.

// closure --build/--> Expr (ir/) --low/--> Low --+--> host/: loops over blocks
//                                                +--> ptx/: one kernel as text, which `cuda.rs` loads and launches
//
// `op.rs` is the operation with its checks, `ahead.rs` the one that only makes kernels; `formula.rs` keeps expressions, with the
// layouts of their latest calls (`shape.rs`); `nest.rs` prepares the layouts of the operands for both engines. `operands.rs` and
// `front.rs` are the caller's side, `deferred/` the operators on tensors, `functions/` the elementary functions.

mod ahead;
mod any;
pub(in crate::libraries) mod build;
#[cfg(feature = "rng")]
mod counter;
#[cfg(feature = "cuda")]
pub(in crate::libraries) mod cuda;
mod deferred;
pub(in crate::libraries) mod formula;
pub(in crate::libraries) mod front;
mod functions;
pub(in crate::libraries) mod fuse;
#[cfg(feature = "host")]
pub(in crate::libraries) mod host;
pub(in crate::libraries) mod ir;
pub(in crate::libraries) mod low;
mod nest;
pub(in crate::libraries) mod op;
pub(in crate::libraries) mod operands;
#[cfg(feature = "cuda")]
pub(in crate::libraries) mod ptx;
mod scalar;
mod shape;
mod types;

#[cfg(feature = "rng")]
pub use build::random;
pub use build::{
    Choice, Constant, Operand, Outputs, Parts, Symbol, Symbols, constant, extent, index, position, scalar,
};
pub use deferred::{Deferred, Term, TermChoice};
pub use formula::{Formula, InPlace};
#[cfg(all(feature = "host", feature = "dnn"))]
pub(in crate::libraries) use functions::Elementary;
pub use functions::Function;
pub use ir::{Binary, Compare, Expr, Id, Node, Op, Overflow, Unary};
pub use operands::{Inputs, Target, Targets};
pub use scalar::Scalar;

/// Registers the operation of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<op::Map>();
    registry.add::<ahead::Ahead>();
}
