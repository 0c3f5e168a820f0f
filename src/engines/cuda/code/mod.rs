//! What runs on the device: `module.rs`: modules, the code of kernels; `function.rs`: a kernel; `ptx.rs`: kernels that ops bring;
//! `ptx_params.rs`: the parameters that their text declares; `launch.rs`: launches; `limits.rs`: what the device allows.
//! `plans.rs`: plans, each built once and used by many operations; `objects.rs`: the native objects of libraries, which an epoch owns.

mod function;
mod launch;
mod limits;
mod module;
mod objects;
mod plans;
mod ptx;
#[cfg(debug_assertions)]
mod ptx_params;

pub(crate) use function::Function;
pub(crate) use launch::RawConfig;
pub(crate) use module::{LoadedModule, Modules};
pub(crate) use objects::{Object, Objects};
pub(crate) use plans::{Cell, Need, Plans};
pub(crate) use ptx::Cached;
pub use ptx::{KernelArg, Ptx};

use crate::core::sync::Arc;
use crate::core::trace::{Counters, Stats};
use crate::engines::cuda::context::Context;
use crate::engines::cuda::housekeeping::Nudge;
use crate::engines::cuda::wait::BlockingWaits;
use crate::engines::ffi::{Entry, Shared};

/// The code of one epoch: modules, plans, and the libraries with their objects.
pub(crate) struct LoadedCode {
    modules: Arc<Modules>,
    plans: Plans,
    /// The libraries that can be used, and what the slots share of each.
    libraries: &'static [Entry],
    shared: Shared,
    objects: Arc<Objects>,
    waits: Arc<BlockingWaits>,
    context: Arc<Context>,
    counters: Arc<Counters>,
}

impl LoadedCode {
    pub(crate) fn new(
        libraries: &'static [Entry],
        nudge: &Arc<Nudge>,
        waits: Arc<BlockingWaits>,
        (context, counters): (Arc<Context>, Arc<Counters>),
    ) -> Self {
        LoadedCode {
            modules: Arc::new(Modules::new(nudge.clone())),
            plans: Plans::new(),
            libraries,
            shared: Shared::new(libraries),
            objects: Arc::new(Objects::new(nudge.clone())),
            waits,
            context,
            counters,
        }
    }

    pub(crate) fn libraries(&self) -> &'static [Entry] {
        self.libraries
    }

    pub(crate) fn shared_of_libraries(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn objects(&self) -> &Arc<Objects> {
        &self.objects
    }

    pub(crate) fn plans(&self) -> &Plans {
        &self.plans
    }

    pub(crate) fn modules(&self) -> &Modules {
        &self.modules
    }

    /// Whether modules or objects wait to be unloaded or destroyed.
    pub(crate) fn has_leaving(&self) -> bool {
        self.modules.has_leaving() || self.objects.has_leaving()
    }

    /// How many objects of the driver and of libraries it holds.
    pub(crate) fn natives(&self) -> usize {
        self.modules.held() + self.objects.held()
    }

    /// Fills in what is counted here. Call after [`Streams::fill`](crate::engines::cuda::streams::Streams::fill).
    pub(crate) fn fill(&self, stats: &mut Stats) {
        let (hits, misses) = self.plans.counts();
        stats.plan_hits += hits;
        stats.plan_misses += misses;
        (stats.plans, stats.plan_bytes) = self.plans.held();
        stats.library_objects = self.objects.held() as u64;
        self.shared.fill(self.libraries, stats);
    }
}
