//! The socket: what a library of CUDA is to the core, which names none of them.
//!
//! A library says what it is in one implementation of [`CudaLibrary`]: its file, its functions, its status codes, what a
//! handle of it is. One list (`libraries/mod.rs`) makes an [`Entry`] of each; the table of these goes with every device
//! that is opened, and gives the core all that it asks of a library without its type: handles are made on first use,
//! counted, destroyed or left alone with the context; `warm`, versions and statistics follow from it.
//!
//! - `contract.rs`: the trait. `entry.rs`: the list, and a library without its type. `handles.rs`: the handles of a slot.
//! - `status.rs`: what a status code means, by the library's own table; the driver's sticky code outranks it.
//! - `table.rs`, `typed.rs`: macros that declare tables of functions. `names.rs`: whether their names are the library's.
//! - `enqueue.rs`: what an operation's CUDA half calls libraries with. `warm.rs`: handles made ahead of time.
//!   `question.rs`: what a library is asked, here or in a worker.
//! - `build.rs`: what a plan is built with. `objects.rs`: what outlives a dispatch: plans, generators.
//!
//! CONTRIBUTING.md has the walk through "adding a library".

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
mod question;
#[cfg(feature = "cuda")]
mod status;
#[cfg(feature = "cuda")]
mod table;
#[cfg(feature = "cuda")]
mod typed;
mod warm;

#[cfg(feature = "cuda")]
pub(crate) use crate::cuda::api::Code;
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
pub(crate) use question::ask;
#[cfg(feature = "cuda")]
pub(crate) use question::{Site, answer_here, decode, encode};
#[cfg(feature = "cuda")]
pub(crate) use status::{Class, Status, name};
#[cfg(feature = "cuda")]
pub(crate) use table::{LoadError, function_table, optional, required};
#[cfg(feature = "cuda")]
pub(crate) use typed::{Called, Variants, letters, typed_table};
pub(crate) use warm::warm;
