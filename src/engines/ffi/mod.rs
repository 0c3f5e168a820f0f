//! The libraries of CUDA as far as the engines have to know them, without their types: what the interface to them
//! (`engines/library`) stands on. Names no engine.
//!
//! `code.rs`: status codes; `table.rs`, `typed.rs`: macros that declare tables of functions; `names.rs`: tests that the names exist
//! in the library. `entry.rs`: a library in the table of all; `placement.rs`: what its handles belong to; `handles.rs`: those of one
//! slot.

#[cfg(feature = "cuda")]
mod code;
mod entry;
#[cfg(feature = "cuda")]
mod handles;
#[cfg(all(test, feature = "cuda"))]
mod names;
#[cfg(feature = "cuda")]
mod placement;
#[cfg(feature = "cuda")]
mod table;
#[cfg(feature = "cuda")]
mod typed;

#[cfg(feature = "cuda")]
pub(crate) use code::Code;
pub(crate) use entry::Entry;
#[cfg(feature = "cuda")]
pub(crate) use entry::{Native, Shared};
#[cfg(feature = "cuda")]
pub(crate) use handles::Handles;
#[cfg(all(test, feature = "cuda"))]
#[allow(unused_imports, reason = "a build may have no library with tables by letter")]
pub(crate) use names::assert_names;
#[cfg(feature = "cuda")]
pub(crate) use placement::Placement;
#[cfg(feature = "cuda")]
pub(crate) use table::{LoadError, function_table, optional, required};
#[cfg(feature = "cuda")]
pub(crate) use typed::{Called, Variants, letters, typed_table};
