//! The arithmetic of random numbers on the CPU. It is also the reference for the GPU's kernels, which do the same,
//! operation by operation.
//!
//! | file | what it does |
//! |---|---|
//! | `philox`, `xorwow`, `mrg`, `mt`, `mtgp`, `sobol` | the words of each generator, in cuRAND's order, from any place on |
//! | `gf2`, `poly` | jumps ahead: linear maps over bits, polynomials over bits |
//! | `units` | from words to the unit interval, as cuRAND does it for each generator |
//! | `math` | logarithm, sine and cosine, exponential, quantile, with the same bits everywhere |
//! | `normal`, `discrete`, `permute` | distributions |
//! | `curand` | normal numbers with the functions that cuRAND uses |
//! | `make` | from words to the numbers of a distribution |
//! | `fill` | a whole draw: cut into parts for the threads of the caller's pool |
//! | `kept` | a cache of cursors, for generators that cannot jump to a place |
//!
//! Every element depends only on its place in the stream: how a draw is cut into parts changes no bit.

#[cfg(feature = "host")]
pub(super) mod arrays;
#[cfg(feature = "host")]
mod curand;
mod cursor;
#[cfg(feature = "host")]
mod discrete;
#[cfg(feature = "host")]
pub(crate) mod fill;
mod gf2;
#[cfg(feature = "host")]
mod kept;
#[cfg(feature = "host")]
mod make;
pub(crate) mod math;
pub(crate) mod mrg;
#[cfg(feature = "host")]
mod mt;
#[cfg(feature = "host")]
mod mtgp;
#[cfg(feature = "host")]
mod normal;
#[cfg(feature = "host")]
pub(super) mod permute;
pub(crate) mod philox;
#[cfg(feature = "host")]
mod poly;
pub(crate) mod sobol;
#[cfg(feature = "host")]
mod units;
pub(crate) mod xorwow;
