//! The bottom floor: what executes. The CPU (`host`), a GPU in this process (`cuda`), and either of them in a child
//! process (`worker`); below them the loader of CUDA's libraries. It knows the runtime's data (operations, regions of
//! buffers, completions) and no library.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod cuda_enqueue;
pub(crate) mod host;
pub(crate) mod launch;
pub(crate) mod library;
#[cfg(feature = "cuda")]
pub mod loader;
pub mod worker;
