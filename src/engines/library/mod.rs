//! The interface between the core and the libraries of CUDA. The core names no library.
//!
//! A library describes itself in one implementation of [`CudaLibrary`]: its file, its functions, its status codes, its
//! handles. One list (`libraries/mod.rs`) makes an [`Entry`] of each. The table of these entries is passed to every
//! device that is opened, and gives the core everything that it needs of a library without its type: handles are
//! created on first use, counted, and destroyed or abandoned with the context; `warm`, versions and statistics use the
//! same table.
//!
//! - `contract.rs`: the trait. `entry.rs`: the list, and a library without its type. `handles.rs`: the handles of a
//!   slot.
//! - `status.rs`: what a status code means, by the library's own table; the driver's sticky code takes precedence.
//! - `table.rs`, `typed.rs`: macros that declare tables of functions. `names.rs`: tests that the names exist in the
//!   library.
//! - `enqueue.rs`: how an operation's CUDA half calls libraries. `warm.rs`: handles created ahead of time.
//!   `question.rs`: questions to a library, answered here or in a worker.
//! - `build.rs`: what a plan is built with. `objects.rs`: objects that outlive a dispatch: plans, generators.
//!
//! CONTRIBUTING.md explains step by step how to add a library.

#[cfg(feature = "cuda")]
mod build;
#[cfg(feature = "cuda")]
mod contract;
#[cfg(feature = "cuda")]
mod enqueue;
mod entry;
#[cfg(feature = "cuda")]
mod handles;
#[cfg(all(test, feature = "cuda"))]
mod names;
#[cfg(feature = "cuda")]
mod objects;
#[cfg(feature = "cuda")]
mod question;
#[cfg(feature = "cuda")]
mod status;
#[cfg(feature = "cuda")]
mod table;
#[cfg(feature = "cuda")]
mod typed;
#[cfg(feature = "cuda")]
pub(crate) mod warm;

#[cfg(feature = "cuda")]
pub(crate) use crate::engines::cuda::api::Code;
#[cfg(feature = "cuda")]
pub(crate) use contract::{CudaLibrary, Listed, Placement, Refusal, Seat, WORKSPACE};
pub(crate) use entry::{Entry, libraries};
#[cfg(feature = "cuda")]
pub(crate) use entry::{Native, Shared};
#[cfg(feature = "cuda")]
pub(crate) use handles::Handles;
#[cfg(all(test, feature = "cuda"))]
#[allow(unused_imports, reason = "a build may have no library with tables by letter")]
pub(crate) use names::assert_names;
#[cfg(feature = "cuda")]
pub(crate) use objects::{Object, Objects};
#[cfg(feature = "cuda")]
pub(crate) use question::{Site, answer_here, decode, encode};
#[cfg(feature = "cuda")]
pub(crate) use status::{Class, Status, error as status_error, name};
#[cfg(feature = "cuda")]
pub(crate) use table::{LoadError, function_table, optional, required};
#[cfg(feature = "cuda")]
pub(crate) use typed::{Called, Variants, letters, typed_table};
