//! The raw functions of the CUDA libraries: one table for each library, filled once from what the loader found.
//!
//! Why tables of our own beside `cudarc::*::sys`, whose types they use:
//! - **Every function returns an integer.** A status code that the bindings' enum lacks would be undefined behaviour,
//!   and drivers are newer than bindings. Enum parameters are integers too.
//! - **A missing symbol is an error that names it**, at loading, not a panic at the call. What only newer releases have
//!   is optional, and its call answers `None`.
//! - **Typed routines** (`typed`, `cublas_typed`): the S, D, C and Z functions of a routine are one line, and the letter
//!   is an argument of the call.
//! - **The renamed functions**: where a release added `_v2`, the older name is tried after it.
//!
//! Nothing here keeps a promise beyond the call itself: contexts, lifetimes and order are the engine's business. To add
//! a function, add its line to the table; to add a library, add a file with a table, and the library to the loader.

pub(crate) mod codes;
pub(crate) mod driver;
#[cfg(target_os = "linux")]
pub(crate) mod nvml;
#[cfg_attr(not(feature = "nvtx"), allow(dead_code, reason = "ranges are named with the feature only"))]
pub(crate) mod nvtx;

pub(crate) use crate::library::LoadError;
pub(crate) use codes::Code;
pub(crate) use driver::Driver;
