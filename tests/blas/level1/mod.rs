//! Level 1 of BLAS against the oracles: every routine, type and increment, on every device.

mod increments;
mod lengths;
mod properties;
mod refusals;
mod rotations;
mod scalars;
mod special;
