//! The elementary functions, each written once over [`Real`](real::Real): the host's loops and the kernels take them from here
//! and give the same bits.
//!
//! - `names.rs` lists them for formulas: [`Function`]. `table.rs` ties each name to its arithmetic.
//! - `real.rs` is that arithmetic: what IEEE 754 defines to the last bit, and integers. `number.rs` implements it by numbers,
//!   `symbol.rs` by the values of a [`Low`](super::low::Low), from which PTX is written.
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
//! # Errors
//! Largest errors in units of the last place. Single precision, one argument: over all 2^32 inputs against the C library's double
//! precision; where a star stands, over every 97th of them. The others: against Arb at 6 * 10^4 points and more each, hard ones
//! among them. Up to 0.75 is what two roundings of a subnormal result give.
//!
//! | function | f32 | f64 |
//! |---|---|---|
//! | exp | 0.77 | 0.62 |
//! | exp2 | 0.79 | 0.68 |
//! | expm1 | 0.58 | 0.53 |
//! | log | 0.55 | 0.52 |
//! | log2 | 0.59 | 0.54 |
//! | log1p | 0.57 | 0.53 |
//! | rsqrt | 0.50 | 0.50 |
//! | cbrt | 0.50* | 0.50 |
//! | sin | 0.67* | 0.63 |
//! | cos | 0.68* | 0.66 |
//! | tan | 0.84* | 0.67 |
//! | asin | 0.63* | 0.58 |
//! | acos | 0.61* | 0.53 |
//! | atan | 0.58* | 0.55 |
//! | sinh | 0.55* | 0.53 |
//! | cosh | 0.52* | 0.51 |
//! | tanh | 0.54* | 0.53 |
//! | asinh | 0.56* | 0.53 |
//! | acosh | 0.53* | 0.52 |
//! | atanh | 0.56* | 0.55 |
//! | erf | 0.75* | 0.77 |
//! | erfc | 0.84* | 0.89 |
//! | sigmoid | 0.75* | 0.60 |
//! | silu | 0.75* | 0.61 |
//! | gelu | 0.95 | 0.85 |
//! | gelu_tanh | 0.75* | 0.60 |
//! | softplus | 0.75* | 0.60 |
//! | pow | 0.75 | 0.75 |
//! | hypot | 0.75 | 0.75 |
//! | atan2 | 0.75 | 0.58 |
//! | exp of a complex number, real part | 1.81 | 1.84 |
//! | imaginary part | 1.80 | 1.78 |
//! | log10 | 0.56 | 0.52 |
//!
//! # Adding a function
//! Write it over `Real`, with the special cases at its end; name it in `names.rs` and in `table.rs`, and give it a method in
//! `build/methods.rs`.

mod activation;
mod arc;
mod circular;
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
mod symbol;
mod table;

#[cfg(feature = "host")]
pub(super) use loops::{call, far};
pub use names::Function;
#[cfg(feature = "cuda")]
pub(super) use symbol::expand_far;
pub(super) use symbol::{expand, expand_exp};
