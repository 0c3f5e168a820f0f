//! The interface between the core and the libraries of CUDA. The core names no library.
//!
//! A library describes itself in one implementation of [`CudaLibrary`]: its file, its functions, its status codes, its
//! handles. One list (`libraries/mod.rs`) makes an [`Entry`] of each. The table of these entries is passed to every
//! device that is opened, and gives the core everything that it needs of a library without its type: handles are
//! created on first use, counted, and destroyed or abandoned with the context; `warm`, versions and statistics use the
//! same table.
//!
//! - `contract.rs`: the trait; `list.rs`: the list. What the engines hold of a library is in `engines/ffi`: its entry, its handles,
//!   its tables of functions.
//! - `status.rs`: what a status code means, by the library's own table; the driver's sticky code takes precedence.
//! - `enqueue.rs`: how an operation's CUDA half calls libraries. `warm.rs`: handles created ahead of time.
//!   `question.rs`: questions to a library, answered here or in a worker. `build.rs`: what a plan is built with.
//!
//! CONTRIBUTING.md explains step by step how to add a library.

#[cfg(feature = "cuda")]
mod build;
#[cfg(feature = "cuda")]
mod contract;
#[cfg(feature = "cuda")]
mod enqueue;
mod list;
#[cfg(feature = "cuda")]
mod question;
#[cfg(feature = "cuda")]
mod status;
#[cfg(feature = "cuda")]
pub(crate) mod warm;

#[cfg(feature = "cuda")]
pub(crate) use crate::engines::cuda::Object;
pub(crate) use crate::engines::ffi::Entry;
#[cfg(all(test, feature = "cuda"))]
#[allow(unused_imports, reason = "a build may have no library with tables by letter")]
pub(crate) use crate::engines::ffi::assert_names;
#[cfg(feature = "cuda")]
pub(crate) use crate::engines::ffi::{Called, Code, LoadError, Native, Placement, function_table, typed_table};
#[cfg(feature = "cuda")]
pub(crate) use contract::{CudaLibrary, Listed, Refusal, Seat, WORKSPACE};
pub(crate) use list::libraries;
#[cfg(feature = "cuda")]
pub(crate) use question::{Site, answer_here, decode, encode};
#[cfg(feature = "cuda")]
pub(crate) use status::{Class, Status, error as status_error, name};
