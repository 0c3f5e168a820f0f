//! The worker's allocations, by the client's numbers.
//!
//! The client splits and joins buffers without telling the worker. An operand names the region that its handle owns,
//! and the worker adapts the regions of the allocation: they are disjoint at all times, and each has its own ordering
//! state. A window that is not a region yet is cut out of the regions that it overlaps. It follows what they have in
//! flight, and so do the remaining parts of them.

use crate::core::buffer::{InitState, Region, View};
use crate::core::error::{Error, Result};
use crate::core::order::AccessHistory;
use crate::core::sync::{Arc, Mutex};
use crate::device::Device;
use crate::engines::worker::shared::Place;
use parking_lot::MutexGuard;
use std::collections::HashMap;
use std::ops::Range;

/// What the client has allocated. A shard's lock is held while an operand is looked up or cut, but never while waiting
/// for one: an order that needs a region cut follows all orders that were sent for the old regions
/// (`buffer/region.rs`).
#[derive(Default)]
pub(crate) struct Memory([Mutex<HashMap<u64, Allocated>>; SHARDS]);

const SHARDS: usize = 16;

enum Allocated {
    /// The number of bytes, and regions with disjoint windows.
    Regions(usize, Vec<Arc<Region>>),
    /// There was no memory: an order that uses it fails with this error.
    Failed(Error),
}

/// An operand of an order.
pub(crate) struct Operand {
    region: Arc<Region>,
    offset: usize,
    len: usize,
}

impl Operand {
    pub(crate) fn view(&self) -> View<'_> {
        let whole = self.len == self.region.window.len();
        View::new(&self.region, (self.offset, self.len), whole)
    }
}

impl Memory {
    fn shard(&self, id: u64) -> Result<MutexGuard<'_, HashMap<u64, Allocated>>> {
        let shard = self.0.get((id / 64) as usize % SHARDS);
        shard.map(Mutex::lock).ok_or_else(|| Error::library("internal error: no such shard of the memory table"))
    }

    pub(crate) fn add(&self, id: u64, bytes: usize, region: Result<Arc<Region>>) {
        if let Ok(mut shard) = self.shard(id) {
            shard.insert(id, region.map_or_else(Allocated::Failed, |region| Allocated::Regions(bytes, vec![region])));
        }
    }

    /// Its memory is freed once the work that uses it is done.
    pub(crate) fn remove(&self, id: u64) {
        let held = self.shard(id).map(|mut shard| shard.remove(&id));
        drop(held); // without the lock
    }

    /// An order that was to write these was not carried out. An order that reads them fails with this error, and so
    /// does one that reads what is made of them.
    pub(crate) fn fail(&self, written: &[Place], error: &Error) {
        for place in written {
            // Memory that could not be allocated reports its own error.
            if let Ok(operand) = self.operand(place) {
                operand.region.init.fail(error);
            }
        }
    }

    /// The histories of these operands: what they have in flight.
    #[cfg(feature = "cuda")]
    pub(crate) fn in_flight(&self, places: &[Place]) -> Vec<AccessHistory> {
        let operands = places.iter().filter_map(|place| self.operand(place).ok());
        operands.map(|operand| operand.region.history.lock().clone()).collect()
    }

    /// Gives a reserve of addresses memory up to there.
    pub(crate) fn grow(&self, device: &Device, id: u64, to: u64) -> Result<()> {
        let last = self.last_region(id)?;
        let (used, to) = (last.allocation.usable() as usize, usize::try_from(to).map_err(|_| garbled())?);
        // Grown already, for a buffer that was not made after all.
        if to <= used {
            return Ok(());
        }
        let part = device.grow_region(&last, (used, to))?;
        part.allocation.reserve().inspect(|reserve| reserve.grown(to));
        if let Some(Allocated::Regions(_, regions)) = self.shard(id)?.get_mut(&id) {
            regions.push(part);
        }
        Ok(())
    }

    /// Takes the memory from there on away.
    pub(crate) fn shrink(&self, device: &Device, id: u64, to: u64) -> Result<()> {
        let to = usize::try_from(to).map_err(|_| garbled())?;
        let tail = {
            let mut shard = self.shard(id)?;
            let Some(Allocated::Regions(_, regions)) = shard.get_mut(&id) else { return Err(garbled()) };
            let used = regions.first().map_or(0, |region| region.allocation.usable() as usize);
            if to >= used {
                return Ok(());
            }
            let tail = cut(regions, to..used).ok_or_else(garbled)?;
            // Others keep the allocation: there is at least the one that it was made with.
            regions.retain(|region| !Arc::ptr_eq(region, &tail));
            tail
        };
        device.shrink_region(&tail)
    }

    /// A region of the allocation.
    fn last_region(&self, id: u64) -> Result<Arc<Region>> {
        match self.shard(id)?.get(&id) {
            Some(Allocated::Regions(_, regions)) => regions.last().cloned().ok_or_else(garbled),
            Some(Allocated::Failed(error)) => Err(error.clone()),
            None => Err(garbled()),
        }
    }

    /// The operand that an order names.
    pub(crate) fn operand(&self, place: &Place) -> Result<Operand> {
        let mut shard = self.shard(place.id)?;
        let (bytes, regions) = match shard.get_mut(&place.id) {
            Some(Allocated::Regions(bytes, regions)) => {
                // Of one that grows, what has memory.
                let usable = regions.first().map_or(0, |region| region.allocation.usable() as usize);
                ((*bytes).min(usable), regions)
            }
            Some(Allocated::Failed(error)) => return Err(error.clone()),
            None => return Err(garbled()),
        };
        let at = |n: u64| usize::try_from(n).ok();
        let window = at(place.region.0).zip(at(place.region.1)).map(|(start, end)| start..end).ok_or_else(garbled)?;
        let (offset, len) = match place.window {
            None => (window.start, window.len()),
            Some((offset, len)) => at(offset).zip(at(len)).ok_or_else(garbled)?,
        };
        let inside = offset >= window.start && offset.checked_add(len).is_some_and(|end| end <= window.end);
        if !inside || window.start > window.end || window.end > bytes {
            return Err(garbled());
        }
        let region = match regions.iter().find(|region| region.window == window) {
            Some(region) => region.clone(),
            None => cut(regions, window).ok_or_else(garbled)?,
        };
        Ok(Operand { region, offset, len })
    }
}

fn garbled() -> Error {
    Error::library("an order names memory that the worker does not have")
}

/// Makes `window` a region of its own, cut out of those that it overlaps.
fn cut(regions: &mut Vec<Arc<Region>>, window: Range<usize>) -> Option<Arc<Region>> {
    let first = regions.first()?;
    let (allocation, epoch) = (first.allocation.clone(), first.epoch.clone());
    let (old, mut kept): (Vec<_>, Vec<_>) =
        std::mem::take(regions).into_iter().partition(|r| r.window.start < window.end && window.start < r.window.end);
    let mut track = AccessHistory::default();
    let mut content = InitState::Valid;
    for region in &old {
        let theirs = region.history.lock().clone();
        content = content.worse(region.init.get());
        for rest in [region.window.start..window.start, window.end..region.window.end] {
            if rest.start < rest.end {
                let worth = region.init.get();
                kept.push(Region::new(allocation.clone(), epoch.clone(), worth, theirs.clone(), rest));
            }
        }
        track.absorb(theirs);
    }
    let region = Region::new(allocation, epoch, content, track, window);
    kept.push(region.clone());
    *regions = kept;
    drop(old); // last: an allocation without a region is freed
    Some(region)
}
