//! The builder of our own kernels: PTX is written instruction by instruction, loaded as a plan, and launched.
//!
//! A kernel has one parameter, a block of 64-bit words: the number of its tasks, addresses, then what it has to know of the
//! operands. A [`Writer`] (`writer.rs`) holds text and registers. `grid.rs` gives the threads of a grid their tasks, `axes.rs` leads from
//! the number of a task to coordinates and addresses. [`Words`] gives each word its place when it is first read; kernels whose
//! words have fixed places take [`Writer::word`]. `loaded.rs` loads the module and launches it.
//!
//! A new kernel has: a key with what its text depends on, and `text(&self)` that writes it; `PlanKey` for the key, whose `build` is
//! [`load`]; the words of a launch. Formulas are appended by `expressions/ptx`. This folder names no library.

mod axes;
mod grid;
mod loaded;
#[cfg(all(test, feature = "host"))]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests;
mod words;
mod writer;

pub(crate) use axes::{Index, Offsets, push_axes};
pub(crate) use grid::{Grid, Thread};
pub(crate) use loaded::{BLOCK, Loaded, blocks, load};
pub(crate) use words::Words;
pub(crate) use writer::{Class, Parameter, Reg, Writer, joined, ptx, unsigned};
