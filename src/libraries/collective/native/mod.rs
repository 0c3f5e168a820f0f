//! Collectives by NCCL, for GPUs of this process.
//!
//! | file | content |
//! |---|---|
//! | `functions`, `handle` | the functions of the library, and its description for the core |
//! | `group` | the communicators of the ranks: made, watched and ended together |
//! | `enqueue` | the CUDA half: one NCCL group for all ranks |
//! | `ordered` | reductions whose result does not depend on the size: our own kernels between two exchanges |

mod enqueue;
mod functions;
mod group;
mod handle;
mod ordered;

pub(super) use enqueue::enqueue;
pub(super) use group::Group;
pub(crate) use handle::Nccl;
