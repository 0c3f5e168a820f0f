//! Programs as CUDA graphs (`graphs.rs`). While a stream is captured, no other thread is in the driver or a library: `quiet.rs`
//! keeps them out, `inside.rs` counts them.

mod graphs;
mod inside;
mod quiet;

pub(crate) use graphs::Graphs;
pub(crate) use inside::Inside;
