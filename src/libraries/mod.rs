//! The top floor: one folder a library, each with its front, its specifications, its operations with both halves, its
//! native calls and its caches. It may call everything below; nothing below names it.

pub mod blas;
pub mod blaslt;
pub mod nvrtc;
