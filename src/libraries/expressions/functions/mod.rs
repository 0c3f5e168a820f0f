//! The elementary functions, each written once over [`Real`](real::Real): the host's loops and the kernels take them from here
//! and give the same bits.
//!
//! - `names.rs` lists them for formulas: [`Function`]. `table.rs` ties each name to its arithmetic.
//! - `real.rs` is that arithmetic: what IEEE 754 defines to the last bit, and integers. `number.rs` implements it by numbers,
//!   `symbol.rs` by the values of a [`Low`](super::low::Low): what it records is kept in `tapes.bin`, from which PTX is written
//!   (`tape.rs`).
//! - `format/` holds what differs between single and double precision: constants and polynomials. The algorithms are the same,
//!   so there is one text for both.
//! - `pair.rs` is arithmetic in two parts. Most functions end with one sum of a number and a small rest, so that their error is
//!   little more than that of the last rounding.
//! - `loops.rs` has the loops of the host.
//!
//! No function branches, but for sine, cosine and tangent of large numbers: these have a second form, `.._far`, which the host's
//! loops call for single elements and a kernel reaches by a branch. There are no look-up tables, but for the digits of 2/pi in
//! that form, which is a chain of selects.
//!
//! Subnormal numbers, signed zeros, infinities and NaN are as C99's Annex F (G for complex numbers) has them; the payload and
//! sign of a computed NaN are not defined here. `pow` follows Annex F; `rsqrt(-0)` is minus infinity.
//!
//! How far they are from the truth is said in the documentation of [`expressions`](crate::expressions).
//!
//! # Adding a function
//! Write it over `Real`, with the special cases at its end; name it in `names.rs` and in `table.rs`, and give it a method in
//! `build/methods.rs`.

mod activation;
mod arc;
mod circular;
#[cfg(test)]
mod complex;
mod error;
mod exponential;
mod format;
mod hyperbolic;
mod inverse_hyperbolic;
mod logarithm;
#[cfg(feature = "host")]
mod loops;
mod names;
#[cfg(feature = "host")]
mod number;
mod pair;
mod power;
mod real;
mod reduction;
mod root;
#[cfg(test)]
mod symbol;
#[cfg(any(feature = "host", test))]
mod table;
mod tape;

#[cfg(feature = "host")]
pub(super) use loops::{call, far};
pub use names::Function;
#[cfg(all(feature = "host", feature = "dnn"))]
pub(in crate::libraries) use number::Elementary;
#[cfg(feature = "cuda")]
pub(super) use tape::expand_far;
pub(super) use tape::{expand, expand_exp};
