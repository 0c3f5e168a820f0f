//! The raw functions of the CUDA libraries: one table for each library, filled once from what the loader found.
//!
//! The tables use the types of `cudarc::*::sys`, but not its functions. Reasons:
//! - **Every function returns an integer.** A status code that the bindings' enum lacks would be undefined behaviour,
//!   and drivers are newer than bindings. Enum parameters are integers too.
//! - **A missing symbol is an error that names it**, when the library is loaded, not a panic at the call. A function
//!   that only newer releases have is optional: if it is missing, its call returns `None`.
//! - **Typed routines** (`typed_table`): the S, D, C and Z functions of a routine are declared in one line, and the
//!   letter is an argument of the call.
//! - **Renamed functions**: if a release added `_v2`, the older name is tried after it.
//!
//! A method here only makes the call. The engine is responsible for contexts, lifetimes and order. To add a function,
//! add its line to the table. To add a library, add a file with a table, and add the library to the loader.

pub(crate) mod codes;
pub(crate) mod driver;
pub(crate) mod nvml;
#[cfg_attr(not(feature = "nvtx"), allow(dead_code, reason = "ranges are named with the feature only"))]
pub(crate) mod nvtx;

pub(crate) use crate::engines::ffi::{Code, LoadError};
pub(crate) use driver::{Access, Driver, Location, MemoryProperties};
