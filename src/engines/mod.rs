//! The lowest layer: the engines, which execute the work. `host` is the CPU, `cuda` is a GPU in this process, `worker`
//! runs either of them in a child process. Below them is the loader of CUDA's libraries. The engines know the runtime's
//! data (operations, regions of buffers, completions), but none of the libraries.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod cuda_enqueue;
pub(crate) mod host;
pub(crate) mod launch;
pub(crate) mod library;
pub mod loader;
pub mod worker;
