//! Growth and shrinking of regions, here and in a worker.

use crate::core::buffer::{Home, InitState, Region, Resizing};
use crate::core::device_info::DeviceKind;
use crate::core::error::{Error, Result, Site, Stale};
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::engine::Engine;

/// The device of a region that can grow or shrink, and the right to do so: it ends, at byte `end`, where the memory in use ends.
pub(super) fn device_of(region: &Region, end: usize) -> Result<(Device, Resizing)> {
    region.epoch.admit()?;
    if region.allocation.reserve().is_none() {
        let what = "only a buffer that was made with a reserve of addresses (`Device::growing`) grows and shrinks in place; \
                    `concat` copies";
        return Err(Error::unsupported(what));
    }
    if region.window.end != end {
        return Err(Error::invalid("buffer", "it is narrowed, and more of it lies behind: `widen` it first"));
    }
    let behind = || {
        let what = "a part of split memory, and another part lies behind it, or grows or shrinks now: join them first";
        Error::invalid("buffer", what)
    };
    let right = Resizing::at(&region.allocation, end).ok_or_else(behind)?;
    let gone = || Error::GpuRefStale { reason: Stale::DeviceGone, site: Site::none() };
    Ok((Device::of_epoch(&region.epoch).ok_or_else(gone)?, right))
}

/// A region of `from..to` behind `last`, which is the last one, and whether it holds zeros already. It counts as used from
/// `Reserve::grown` on.
pub(super) fn more(device: &Device, last: &Arc<Region>, end: usize, bytes: usize) -> Result<(Arc<Region>, bool)> {
    let reserve = last.allocation.bytes;
    let to = end.checked_add(bytes).filter(|to| *to as u64 <= reserve).ok_or_else(|| {
        let what = format!("{bytes} bytes more than {end} exceed the reserve of {reserve} bytes, which cannot grow");
        Error::invalid("n", what + ": copy it to one with a larger reserve")
    })?;
    let is_fresh = last.allocation.reserve().is_some_and(|reserve| reserve.behind(end).0);
    Ok((device.grow_region(last, (end, to))?, is_fresh && device.kind() == DeviceKind::Host))
}

/// What a worker does as well: by methods, so that it names no module of this folder.
impl Device {
    /// Gives a reserve memory up to `to`.
    pub(crate) fn grow_region(&self, last: &Arc<Region>, (from, to): (usize, usize)) -> Result<Arc<Region>> {
        let (allocation, epoch) = (&last.allocation, &last.epoch);
        let Some(reserve) = allocation.reserve() else { return Err(Error::library("internal error: no reserve")) };
        let bytes = (to - from) as u64;
        let attempt = || {
            epoch.admit()?;
            match Engine::for_epoch(epoch) {
                #[cfg(feature = "host")]
                Engine::Host(_) => {
                    let Home::Addresses(space) = &allocation.home else {
                        return Err(Error::library("internal error: no addresses"));
                    };
                    allocation.charge_to(to as u64)?;
                    if !space.open(from, to) {
                        allocation.uncharge_to(from as u64);
                        return Err(epoch.meter.refusal(bytes));
                    }
                }
                #[cfg(feature = "cuda")]
                Engine::Cuda(engine) => engine.grow(epoch, &self.inner.config.engine, allocation, to as u64)?,
                #[cfg(target_os = "linux")]
                Engine::Worker(engine) => {
                    allocation.charge_to(to as u64)?;
                    let grown = engine.resize(epoch, last, to as u64, true);
                    grown.inspect_err(|_| allocation.uncharge_to(from as u64))?;
                }
                Engine::Tape(_) => return Err(Error::unsupported("growth while a program is recorded")),
            }
            // Who gets bytes again that were given back follows what was in flight on them.
            Ok((allocation.clone(), reserve.behind(from).1))
        };
        let grown = self.allocate(epoch, to - from, &attempt);
        let (_, track) = grown.map_err(|error| self.refusal(epoch, epoch.meter.name_largest(error)))?;
        Ok(Region::new(allocation.clone(), epoch.clone(), InitState::Valid, track, from..to))
    }

    /// Takes the memory of the last region away, behind what is in flight on it. The region is about to be dropped.
    pub(crate) fn shrink_region(&self, tail: &Arc<Region>) -> Result<()> {
        let (allocation, to) = (&tail.allocation, tail.window.start as u64);
        let Some(reserve) = allocation.reserve() else { return Err(Error::library("internal error: no reserve")) };
        match Engine::for_epoch(&tail.epoch) {
            #[cfg(feature = "host")]
            Engine::Host(_) => allocation.uncharge_to(to),
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => {
                // What another part gave back before lies behind it, and may be in use for longer.
                let mut uses = tail.history.lock().clone();
                uses.absorb(reserve.behind(0).1);
                engine.shrink(allocation, to, uses);
            }
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => {
                engine.resize(&tail.epoch, tail, to, false)?;
                allocation.uncharge_to(to);
            }
            Engine::Tape(_) => {}
        }
        reserve.shrunk(tail);
        Ok(())
    }
}
