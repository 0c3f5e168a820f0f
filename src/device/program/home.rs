//! Where replays run: the program's memory in one generation of its device, and the copy of the program in a worker.
//!
//! In this process a program belongs to one generation: a replay places the steps' operands in memory, and replays of
//! another generation may still use the same steps. A worker has its own steps, so on an isolated device each
//! generation has its own `Home`.

use super::Program;
#[cfg(target_os = "linux")]
use super::plan::Plan;
#[cfg(target_os = "linux")]
use crate::core::buffer::Allocation;
use crate::core::buffer::DeviceBuffer;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;

/// A program's memory in one generation of the device.
pub(super) struct Home {
    /// Temporaries, and the answers that the operations leave for the host.
    pub(super) arena: DeviceBuffer<u8>,
    /// The version of the plan that was sent to the worker.
    version: u64,
    /// The program's number in the worker. The worker drops the program when this allocation is dropped.
    #[cfg(target_os = "linux")]
    pub(super) crossed: Option<Arc<Allocation>>,
    /// That of the plan in which steps became one.
    #[cfg(target_os = "linux")]
    pub(super) fused: Option<Arc<Allocation>>,
}

impl Program {
    /// Makes the first home. Losing a worker meanwhile is no reason to record again: the next worker receives the
    /// program when it is replayed there.
    pub(super) fn settle(&self) -> Result<()> {
        let real = self.tape.real();
        match self.make_home(real) {
            Ok(home) => *self.home.lock() = Some(Arc::new(home)),
            Err(_) if real.engine.is_isolated() && !real.alive() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The home for the current generation.
    pub(super) fn home(&self) -> Result<Arc<Home>> {
        let home = self.home.lock().clone();
        if !self.device.is_isolated() {
            return home.ok_or_else(|| Error::library("internal error: the program has no memory"));
        }
        let now = self.device.epoch();
        let is_good =
            |home: &Arc<Home>| Arc::ptr_eq(&home.arena.region.epoch, &now) && home.version == self.plan.version;
        if let Some(home) = home.filter(is_good) {
            return Ok(home);
        }
        let made = Arc::new(self.make_home(&now)?); // without the lock: this waits for the worker to read it
        let mut home = self.home.lock();
        match &*home {
            Some(other) if is_good(other) => Ok(other.clone()),
            _ => Ok(home.insert(made).clone()),
        }
    }

    fn make_home(&self, epoch: &Arc<Epoch>) -> Result<Home> {
        let bytes = usize::try_from(self.plan.arena_bytes().max(1));
        let bytes = bytes.map_err(|_| Error::invalid("arena", "its size overflows `usize`"))?;
        let arena = self.device.uninit_behind::<u8>(bytes, 0)?;
        let arena = arena.gated().ok_or_else(|| Error::library("internal error: a new buffer is already shared"))?;
        if !Arc::ptr_eq(&arena.region.epoch, epoch) {
            epoch.admit()?; // the device was rebuilt meanwhile
            return Err(Error::library("the memory belongs to another generation of the device"));
        }
        #[cfg(target_os = "linux")]
        let crossed = |plan: &Plan| match epoch.engine.as_worker() {
            Some(engine) => engine.load_program(epoch, &plan.crossing(engine.code())?).map(Some),
            None => Ok(None),
        };
        Ok(Home {
            arena,
            version: self.plan.version,
            #[cfg(target_os = "linux")]
            crossed: crossed(&self.plan)?,
            #[cfg(target_os = "linux")]
            fused: self.fused.as_ref().map(|plan| crossed(plan)).transpose()?.flatten(),
        })
    }
}
