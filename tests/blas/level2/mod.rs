//! Level 2 of BLAS against the oracles: every routine, storage, type and flag, on every device.

mod batched;
mod general;
mod matrix;
mod properties;
mod refusals;
mod repeats;
mod scalars;
mod special;
mod symmetric;
mod triangular;
mod updates;
