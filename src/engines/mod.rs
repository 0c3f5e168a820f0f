//! The second floor: the engines, which execute the work. `host` is the CPU, `cuda` is a GPU in this process, `worker`
//! runs either of them in a child process, `tape` records. `ptx` runs PTX on the CPU. `op` is what an operation is, `dispatch` a dispatch as the engines receive it; `loader` opens the
//! files of CUDA's libraries, `ffi` is what the engines know of these, and `library` the interface to them. The engines may use `core`. They know no device and
//! none of the libraries.

pub(crate) mod config;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod cuda_enqueue;
pub(crate) mod dispatch;
pub(crate) mod ffi;
pub(crate) mod host;
pub(crate) mod library;
pub mod loader;
pub(crate) mod op;
#[cfg(feature = "host")]
pub mod ptx;
pub(crate) mod tape;
#[cfg(target_os = "linux")]
pub(crate) mod worker;
#[cfg(not(target_os = "linux"))]
#[path = "worker/absent.rs"]
pub(crate) mod worker;
