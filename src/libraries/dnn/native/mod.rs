//! cuDNN 9: its functions, graphs and plans.
//!
//! | file | content |
//! |---|---|
//! | `functions`, `status`, `handle` | the functions of the library, its status codes, its description for the core |
//! | `descriptor` | the library's descriptors |
//! | `graph`, `choose` | a graph of operations; the choice of an engine for it |
//! | `plan` | a plan that is kept, and its execution |
//! | `convolve` | convolutions as graphs |
//! | `attend`, `attend_backward`, `scores` | attention as graphs |
//! | `recurrent` | recurrent nets, which are no graphs |
//!
//! A graph and its plan need no handle: they are made on a helper thread, for a device that is described. Attributes of
//! descriptors are numbers of `cudnn_graph.h`.

pub(super) mod attend;
pub(super) mod attend_backward;
mod choose;
pub(super) mod convolve;
mod descriptor;
mod functions;
mod graph;
mod handle;
pub(super) mod plan;
pub(super) mod recurrent;
mod scores;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use handle::Cudnn;
