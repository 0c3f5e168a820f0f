//! cuDSS, and the kernels of our own beside it.
//!
//! | file | content |
//! |---|---|
//! | `functions` | the functions that are called |
//! | `handle` | the library for the core, and its handles: one for each value type |
//! | `recipe` | a system as plain data, and the library's numbers for it |
//! | `system` | the library's objects of one system, and the calls for them |
//! | `kept` | which of them an analysis and its factors have |
//! | `analyse`, `factor`, `solve`, `checked` | the CUDA halves |
//! | `kernels` | what our own kernels do |
//!
//! One object of the library holds an analysis and one factor. The analysis makes it; the first factor takes it over, and gives it
//! back when it is gone and its last solution is enqueued. A second factor that lives at the same time is analysed again. The operations hold it by
//! counted references, which no other process has, so a GPU in a worker refuses them.

mod analyse;
mod checked;
mod factor;
mod functions;
mod handle;
mod kept;
mod kernels;
mod recipe;
mod solve;
mod system;

pub(super) use analyse::analyse;
pub(super) use checked::solve_checked;
pub(super) use factor::factor;
pub(crate) use handle::Cudss;
pub(super) use kept::{Held, Owner, Systems, Use};
pub(super) use recipe::Recipe;
pub(super) use solve::solve;

use crate::core::error::Error;

/// Why a GPU in a worker process has no direct solvers.
#[cold]
fn isolated() -> Error {
    Error::unsupported(
        "direct solvers of sparse systems on an isolated GPU: cuDSS keeps the factor in the process that computed it, and nothing \
         tells a worker when to give it up; open the GPU without isolation, or factor on `Device::host()`",
    )
}
