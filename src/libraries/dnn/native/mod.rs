//! cuDNN 9: its functions, graphs and plans.
//!
//! | file | content |
//! |---|---|
//! | `functions`, `status`, `handle` | the functions of the library, its status codes, its description for the core |
//! | `descriptor` | the library's descriptors |
//! | `graph`, `choose` | a graph of operations; the choice of an engine for it |
//! | `target`, `recipes` | the device that plans are for; plans by way of those of earlier processes |
//! | `plan` | a plan that is kept, and its execution |
//! | `answer` | what the front asks about plans |
//! | `convolve` | convolutions as graphs |
//! | `attend`, `attend_backward`, `scores` | attention as graphs |
//! | `factor` | the factor of scores, where it is not positive |
//! | `slices` | gradients of some heads at a time |
//! | `lengths` | the lengths of batches, and what belongs to nothing |
//! | `recurrent` | recurrent nets, which are no graphs |
//!
//! A graph and its plan need no handle: they are made on a helper thread, for a device that is described. Attributes of
//! descriptors are numbers of `cudnn_graph.h`.

mod answer;
pub(super) mod attend;
pub(super) mod attend_backward;
// Measurements, which need what is private here.
#[cfg(test)]
#[cfg(feature = "external")]
mod beside;
mod choose;
pub(super) mod convolve;
mod descriptor;
mod factor;
mod functions;
mod graph;
mod handle;
mod lengths;
pub(super) mod plan;
#[cfg(test)]
mod plan_tests;
mod recipes;
pub(super) mod recurrent;
mod scores;
mod slices;
mod status;
mod target;
#[cfg(test)]
mod tests;

pub(super) use answer::here;
pub(crate) use handle::Cudnn;
