//! Collectives by NCCL, for GPUs of this process, and of several.
//!
//! | file | content |
//! |---|---|
//! | `functions`, `handle` | the functions of the library, and its description for the core |
//! | `group` | the communicators of the ranks: made, watched and ended together |
//! | `enqueue` | the CUDA half: one NCCL group for all ranks |
//! | `joined` | GPUs of several processes: agreed on by the mesh, and watched by it |
//! | `ordered` | reductions whose result does not depend on the size: our own kernels between two exchanges |

mod enqueue;
mod functions;
mod group;
mod handle;
mod joined;
mod ordered;

pub(super) use enqueue::enqueue;
pub(super) use group::Group;
pub(crate) use handle::Nccl;
pub(super) use joined::run;
