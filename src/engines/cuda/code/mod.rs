//! What runs on the device: `module.rs`: modules, the code of kernels; `function.rs`: a kernel; `ptx.rs`: kernels that ops bring;
//! `ptx_params.rs`: the parameters that their text declares; `launch.rs`: launches; `limits.rs`: what the device allows.
//! `plans.rs`: plans, each built once and used by many operations.

mod function;
mod launch;
mod limits;
mod module;
mod plans;
mod ptx;
#[cfg(debug_assertions)]
mod ptx_params;

pub(crate) use function::Function;
pub(crate) use launch::RawConfig;
pub(crate) use module::{LoadedModule, Modules};
pub use plans::PlanBuilder;
pub(crate) use plans::{Cell, Need, Plans};
pub(crate) use ptx::Cached;
pub use ptx::{KernelArg, Ptx};
