//! Level 3 of BLAS, its batches and cuBLAS's extensions, on every device, against the oracle: every type, side, triangle,
//! transpose and diagonal, at the sizes of the published test programs and some larger ones.

mod batched;
mod extensions;
mod factors;
mod lu;
mod matrix;
mod modes;
mod orders;
mod pivots;
mod products;
mod properties;
mod published;
mod rank;
mod refusals;
mod repeats;
pub(crate) mod scalars;
mod special;
mod symmetric;
mod triangular;
mod unread;
