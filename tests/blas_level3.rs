//! Level 3 of BLAS, its batches and cuBLAS's extensions, on every device, against the oracle: every type, side, triangle,
//! transpose and diagonal, at the sizes of the published test programs and some larger ones.
#![cfg(feature = "host")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

#[path = "blas_level3/batched.rs"]
mod batched;
#[path = "blas_level3/extensions.rs"]
mod extensions;
#[path = "blas_level3/lu.rs"]
mod lu;
#[path = "blas_level3/matrix.rs"]
mod matrix;
#[path = "blas_level3/modes.rs"]
mod modes;
#[path = "blas_level3/pivots.rs"]
mod pivots;
#[path = "blas_level3/products.rs"]
mod products;
#[path = "blas_level3/properties.rs"]
mod properties;
#[path = "blas_level3/published.rs"]
mod published;
#[path = "blas_level3/rank.rs"]
mod rank;
#[path = "blas_level3/refusals.rs"]
mod refusals;
#[path = "blas_level3/repeats.rs"]
mod repeats;
#[path = "blas_level3/scalars.rs"]
mod scalars;
#[path = "blas_level3/special.rs"]
mod special;
#[path = "blas_level3/symmetric.rs"]
mod symmetric;
#[path = "blas_level3/triangular.rs"]
mod triangular;
#[path = "blas_level3/unread.rs"]
mod unread;
