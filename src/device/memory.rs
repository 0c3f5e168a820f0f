//! Allocation of buffers.

use super::Device;
#[cfg(feature = "host")]
use crate::core::buffer::Home;
use crate::core::buffer::{Allocation, DeviceBuffer, InitState, Region, shift};
use crate::core::clock;
use crate::core::element::Element;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result, Stale};
use crate::core::order::AccessHistory;
use crate::core::sync::Arc;
use crate::device::engine::Engine;
use crate::engines::config::{MOST_ASKED, is_patient};
#[cfg(feature = "host")]
use crate::system::memory::AddressSpace;

/// The refusal of a reserve: there may be memory, but the process has no such range of addresses.
#[cfg(feature = "host")]
fn no_addresses(epoch: &Epoch, bytes: usize) -> Error {
    if cfg!(not(unix)) {
        return Error::unsupported("memory that grows where it lies, on this system's CPU: `concat` copies");
    }
    epoch.meter.refusal(bytes as u64).locate(|site| {
        site.set_purpose("for a reserve of addresses, which `ulimit -v` may limit");
    })
}

/// Whether the caller is an operation's host half.
fn is_inside_an_operation() -> bool {
    #[cfg(feature = "host")]
    return crate::core::inside::inside_op();
    #[cfg(not(feature = "host"))]
    false
}

/// What an allocation asks for.
#[derive(Clone, Copy)]
struct Wanted {
    bytes: usize,
    len: usize,
    zeroed: bool,
    /// Bytes of the memory before the buffer.
    lead: usize,
    label: Option<&'static str>,
    kind: Kind,
}

/// What an allocation is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Managed,
    /// A reserve of addresses without memory.
    Growing,
}

/// Memory, and what its first user has to follow.
type Allocated = (Arc<Allocation>, AccessHistory);

/// An attempt to allocate, or to make an allocation grow.
type Attempt<'a> = dyn Fn() -> Result<Allocated> + 'a;

/// Bytes of `len` elements.
pub(super) fn bytes_of<T: Element>(len: usize) -> Result<usize> {
    len.checked_mul(size_of::<T>())
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or_else(|| Error::invalid("len", format!("the byte size of {len} {} elements overflows", T::DTYPE)))
}

impl Device {
    /// A buffer of `len` zeros.
    pub(crate) fn zeroed<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        match self.kind() {
            // The memory comes zeroed from the system, and counts as written.
            crate::core::device_info::DeviceKind::Host if self.recording().is_none() => {
                let region = self.region((bytes_of::<T>(len)?, len, shift::lead(size_of::<T>())), self.label())?;
                Ok(DeviceBuffer::new(region, 0, len))
            }
            _ => Ok(self.filled(self.unwritten(len)?, T::zeroed())?.into_output()),
        }
    }

    /// A buffer of `len` elements that were never written.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with the bytes that were requested, free and allowed; [`Error::InvalidArgument`] when the
    /// size overflows; the device's own error when it cannot be used.
    pub(crate) fn unwritten<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        self.uninit_behind(len, shift::lead(size_of::<T>()))
    }

    /// The same, `lead` bytes behind the beginning of its memory.
    pub(crate) fn uninit_behind<T: Element>(&self, len: usize, lead: usize) -> Result<DeviceBuffer<T>> {
        let region = self.region_of(Wanted {
            bytes: bytes_of::<T>(len)?,
            len,
            zeroed: false,
            lead,
            label: self.label(),
            kind: Kind::Plain,
        })?;
        let content = if len == 0 { InitState::Valid } else { InitState::Uninit };
        region.init.set(content);
        Ok(DeviceBuffer::new(region, 0, len))
    }

    /// `bytes` bytes of memory for `len` elements, which count as written, behind `lead` bytes; on a host device they are zeros.
    pub(crate) fn region(
        &self,
        (bytes, len, lead): (usize, usize, usize),
        label: Option<&'static str>,
    ) -> Result<Arc<Region>> {
        self.region_of(Wanted { bytes, len, zeroed: true, lead, label, kind: Kind::Plain })
    }

    /// A buffer of `len` zeros in managed memory.
    pub(super) fn managed_buffer<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let (bytes, label) = (bytes_of::<T>(len)?, self.label());
        let region = self.region_of(Wanted { bytes, len, zeroed: true, lead: 0, label, kind: Kind::Managed })?;
        region.allocation.become_managed();
        let buffer = DeviceBuffer::new(region, 0, len);
        match self.kind() {
            crate::core::device_info::DeviceKind::Host => Ok(buffer),
            _ => Ok(self.filled(buffer, T::zeroed())?.into_output()),
        }
    }

    /// A reserve of `bytes` addresses; none has memory yet.
    pub(crate) fn growing_region(&self, bytes: usize, label: Option<&'static str>) -> Result<Arc<Region>> {
        self.region_of(Wanted { bytes, len: 0, zeroed: true, lead: 0, label, kind: Kind::Growing })
    }

    /// The label of what is made through this handle.
    pub(super) fn label(&self) -> Option<&'static str> {
        self.options().label.copied()
    }

    fn region_of(&self, wanted: Wanted) -> Result<Arc<Region>> {
        let bytes = if wanted.kind == Kind::Growing { 0 } else { wanted.bytes };
        let mut epoch = self.epoch();
        let (allocation, track) = loop {
            match self.allocate(&epoch, bytes, &|| self.try_allocate(&epoch, wanted)) {
                // A rebuild has ended the epoch. The caller uses nothing of it, so the next epoch serves as well.
                Err(error @ Error::GpuRefStale { reason: Stale::Generation { .. }, .. }) => {
                    let next = self.epoch();
                    if Arc::ptr_eq(&next, &epoch) {
                        let cause = "the device is being rebuilt".into();
                        let site = error.site().cloned().unwrap_or_default();
                        return Err(self.refusal(&epoch, Error::ContextPoisoned { cause, site }));
                    }
                    epoch = next;
                }
                answer => break answer.map_err(|error| self.refusal(&epoch, epoch.meter.name_largest(error)))?,
            }
        };
        epoch.allocated(&allocation, wanted.label);
        Ok(Region::new(allocation, epoch, InitState::Valid, track, 0..bytes))
    }

    /// For an error that no dispatch will report: adds the device to it, and counts it.
    pub(crate) fn refusal(&self, epoch: &Epoch, error: Error) -> Error {
        let error = error.locate(|site| {
            site.set_device(epoch.label.to_string(), epoch.generation);
        });
        self.inner.counters.count_error(&error);
        error
    }

    /// Allocates. If memory is short, and the engine does not handle that itself: waits for what is in flight, then
    /// calls the user's `on_out_of_memory`, and tries again as long as that frees memory.
    pub(super) fn allocate(&self, epoch: &Arc<Epoch>, bytes: usize, attempt: &Attempt<'_>) -> Result<Allocated> {
        if epoch.engine.makes_room() {
            return attempt();
        }
        let mut answer = self.allocate_patiently(epoch, bytes, attempt);
        for _ in 0..MOST_ASKED {
            match &answer {
                Err(error) if self.inner.config.engine.made_room(error) => {
                    answer = self.allocate_patiently(epoch, bytes, attempt)
                }
                _ => break,
            }
        }
        answer
    }

    /// Tries again while work is in flight: dropped buffers keep their memory until the work that uses them is
    /// complete.
    fn allocate_patiently(&self, epoch: &Arc<Epoch>, bytes: usize, attempt: &Attempt<'_>) -> Result<Allocated> {
        epoch.admit()?;
        if epoch.engine.allocation_is_to_fail() {
            return Err(epoch.meter.refusal(bytes as u64));
        }
        // Waiting cannot help: the limit is too small, or the caller would wait for its own operation.
        let hopeless = bytes as u64 > epoch.meter.limit() || is_inside_an_operation();
        let (start, mut looks, mut idle) = (epoch.timing.clock.start(), 0, false);
        loop {
            match attempt() {
                // One more attempt after the engine became idle.
                Err(Error::OutOfMemory { .. }) if !hopeless && !idle && is_patient(epoch.timing, start, looks) => {
                    looks += 1;
                    idle = epoch.engine.is_idle(epoch);
                    if !idle {
                        clock::pause(epoch.timing.waits.glance);
                    }
                }
                answer => return answer,
            }
        }
    }

    fn try_allocate(&self, epoch: &Arc<Epoch>, wanted: Wanted) -> Result<Allocated> {
        epoch.admit()?;
        match Engine::for_epoch(epoch) {
            #[cfg(feature = "host")]
            Engine::Host(_) if wanted.kind == Kind::Growing => {
                let addresses = AddressSpace::new(wanted.bytes.max(1));
                let addresses = addresses.ok_or_else(|| no_addresses(epoch, wanted.bytes))?;
                epoch.meter.take(0)?;
                let place = (addresses.address(), wanted.bytes as u64);
                let home = Home::Addresses(addresses);
                let allocation = Allocation::growing(place, home, epoch.meter.clone(), wanted.label);
                Ok((Arc::new(allocation), AccessHistory::default()))
            }
            #[cfg(feature = "host")]
            Engine::Host(_) => Ok((
                Arc::new(Allocation::host(wanted.bytes, wanted.lead, wanted.zeroed, epoch.meter.clone())?),
                AccessHistory::default(),
            )),
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) if wanted.kind == Kind::Growing => {
                engine.reserve_addresses(epoch, wanted.bytes, wanted.label)
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) if wanted.kind == Kind::Managed => {
                engine.allocate_managed(epoch, wanted.bytes, &self.inner.config.engine)
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.allocate(epoch, (wanted.bytes, wanted.lead), &self.inner.config.engine),
            #[cfg(target_os = "linux")]
            Engine::Worker(_) if wanted.kind == Kind::Managed => Err(Error::unsupported(
                "managed memory on an isolated device: its worker process has the pages, and nothing shares them with this \
                 process; use `upload` and `download`",
            )),
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => {
                let sizes = [wanted.bytes, wanted.len, wanted.lead];
                let (allocation, track) = engine.allocate(epoch, sizes, wanted.kind == Kind::Growing, wanted.label)?;
                Ok((Arc::new(allocation), track))
            }
            Engine::Tape(_) if wanted.kind != Kind::Plain => {
                Err(Error::unsupported("managed or growing memory while a program is recorded: make it before"))
            }
            Engine::Tape(tape) => Ok((tape.allocate(wanted.bytes)?, AccessHistory::default())),
        }
    }
}
