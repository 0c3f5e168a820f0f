//! Factorizations, solutions and spectra, on every device under test: by residual, orthogonality and known values, with the
//! bounds of LAPACK's own tests.
#![allow(unreachable_pub, reason = "its modules share these")]

mod check;
mod degenerate;
mod ends;
mod exponential;
mod factors;
mod families;
mod faults;
mod indefinite;
mod lapack;
mod methods;
mod nist;
mod refined;
mod refusals;
mod small;
mod small_spectra;
mod small_systems;
mod special;
mod spectra;
