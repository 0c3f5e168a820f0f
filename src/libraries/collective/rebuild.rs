//! How the ranks of several processes come together, at first and after a loss.

use super::communicator::{Communicator, Inner, Remote};
use super::launch::Rendezvous;
use super::live::Live;
use super::mesh::{Entry, Mesh};
use super::store::{Mode, Server, resolve};
use super::submitting::Submitting;
use crate::core::device_info::DeviceKind;
use crate::core::error::{Error, Result, Site};
use crate::core::sync::{Mutex, Ordering};
use crate::device::Device;
use std::time::Duration;

/// Who is of a communicator after [`rebuild`](Communicator::rebuild).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Members {
    /// The processes, or workers of isolated devices, that are left; their ranks are numbered anew, without gaps, in the order
    /// that they had.
    Survivors,
    /// All processes, with a new one in the place of each that is lost
    /// ([`Rendezvous::replacement`](super::Rendezvous::replacement)); all ranks keep their numbers. Of isolated devices, the
    /// supervisor's new worker is waited for.
    Replaced,
}

/// What [`rebuild`](Communicator::rebuild) made of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rebuilt {
    /// How often it was rebuilt.
    pub epoch: u64,
    /// The number of ranks.
    pub ranks: usize,
    /// The number of the first rank of this process.
    pub first_rank: usize,
    /// The ranks that it had before, and that are gone, by their old numbers.
    pub without: Vec<usize>,
}

/// Comes together with the other processes of a job.
pub(super) fn join(at: &Rendezvous, devices: Vec<Device>) -> Result<Inner> {
    let Some(first) = devices.first() else { return Err(Error::invalid("devices", "the list is empty")) };
    let on_gpus = first.kind() == DeviceKind::Cuda;
    if on_gpus && at.protects {
        return Err(Error::unsupported("`protect_data` of GPUs: NCCL sends their elements, by connections of its own"));
    }
    let server = if at.process == 0 && !at.is_served && !at.replaces {
        Some(Server::begin(&resolve(&at.address)?, at.key())?)
    } else {
        None
    };
    let waiting = if on_gpus { None } else { Some(waiting_device(first)?) };
    let (mesh, live) = {
        let lead = waiting.as_ref().unwrap_or(first);
        let mode = if at.replaces { Mode::Newcomer } else { Mode::Join };
        let clock = first.epoch().timing.clock;
        let (locals, at_once) = (devices.len(), false);
        let entry = Entry { at, mode, locals, on_gpus, limit: at.limit, clock, at_once, old: None };
        entry.enter(&mut |mesh, look| Live::beside(mesh, look, &devices, lead))?
    };
    let (mesh, rebuilding) = (Mutex::new(mesh), Mutex::default());
    let remote = Some(Remote { at: at.clone(), mesh, rebuilding, waiting, server });
    let mut inner = Inner::new(devices);
    (inner.remote, inner.live) = (remote, Mutex::new(Some(live)));
    Ok(inner)
}

impl Communicator {
    /// Makes a communicator of several processes or workers anew after some were lost, under the same handles. All
    /// processes that are left must call it; it waits for them, and for replacements, for `limit` at most. Processes that
    /// live keep their buffers; what collectives of the lost epoch were to write is undefined.
    ///
    /// The processes agree at the [`Store`](super::Store) on who is of the next epoch, connect, and then leave the old one,
    /// all or none: after an error all are as they were, and it can be called again. Only a process that cannot reach the store
    /// from the moment when it stands ready until its limit does not know whether they left; the next call tells it. If another process is lost meanwhile,
    /// the others begin again without it, within the limit. Where nothing is lost, nothing is done: so several threads may
    /// call it for one loss, and those that come late get what the first has made. Where two processes take each other for
    /// lost, the one that comes first is believed; the other gets [`Error::CollectiveLost`] with its own ranks, and can
    /// join again as a replacement.
    ///
    /// Of ranks on isolated devices this process alone decides. If it knows of no loss, it lets the workers come together
    /// first, since they may. A worker that is lost meanwhile is left out or waited for; no survivor is a rank that was told
    /// lost and whose worker is stopped, even if its heartbeat has not run out.
    ///
    /// # Errors
    /// [`Error::Timeout`]: another thread rebuilds, and took longer. [`Error::CollectiveLost`] with the ranks that did not
    /// come in time; with those of process 0, if it is lost and served the store; with the own ranks, if the others have
    /// gone on without this process. [`Error::InvalidArgument`]: others want other members, and stay with that for as long.
    /// [`Error::Unsupported`]: all ranks are of this process, on devices that are not isolated (the next collective needs
    /// no rebuild). [`Error::LibraryError`]: the store cannot be reached. [`Error::Untrusted`]: it does not know the token, or what
    /// it was told was changed on the way.
    ///
    /// ```no_run
    /// # fn main() -> windlass::Result<()> {
    /// # use windlass::{Device, collective::{Combine, Communicator, Members, Rendezvous}};
    /// # let device = Device::host()?;
    /// # let comm = Communicator::join(&Rendezvous::from_environment()?, [&device])?;
    /// use std::time::Duration;
    /// let x = device.buffer([1.0f32; 4])?;
    /// let out = vec![device.uninit(4)?];
    /// match comm.all_reduce(Combine::Sum, [&x], out)?.await_result() {
    ///     Ok(sums) => assert_eq!(device.to_vec(&sums[0])?, [comm.ranks() as f32; 4]),
    ///     Err(failure) if matches!(failure.error, windlass::Error::CollectiveLost { .. }) => {
    ///         let now = comm.rebuild(Members::Survivors, Duration::from_secs(30))?;
    ///         println!("{} ranks are left; this process has rank {}", now.ranks, now.first_rank);
    ///     }
    ///     Err(failure) => return Err(failure.error),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn rebuild(&self, members: Members, limit: Duration) -> Result<Rebuilt> {
        let _submitting = Submitting::begin("a rebuild")?;
        let inner = &*self.inner;
        #[cfg(target_os = "linux")]
        if let Some(isolated) = &inner.isolated {
            return isolated.rebuild(members, limit);
        }
        let Some(remote) = &inner.remote else {
            return Err(Error::unsupported("all ranks are of this process; the next collective does what is needed"));
        };
        let Some(mut last) = remote.rebuilding.try_lock_for(limit) else {
            return Err(Error::Timeout { waited: limit, site: Site::none() });
        };
        let old = remote.mesh();
        if !inner.is_over(&old) {
            let made = last.as_ref().filter(|last| last.epoch == old.epoch());
            return Ok(made.cloned().unwrap_or_else(|| Rebuilt::of(&old, &old)));
        }
        let Some(lead) = remote.waiting.as_ref().or(inner.devices.first()) else {
            return Err(Error::invalid("devices", "the list is empty"));
        };
        let mode = match members {
            Members::Survivors => Mode::Survivors,
            Members::Replaced => Mode::Replaced,
        };
        let clock =
            inner.devices.first().map_or(crate::core::clock::Clock::SYSTEM, |device| device.epoch().timing.clock);
        let (locals, at_once, on_gpus) = (inner.devices.len(), false, remote.waiting.is_none());
        let entry = Entry { at: &remote.at, mode, locals, on_gpus, limit, clock, at_once, old: Some(&old) };
        let (mesh, made) = entry.enter(&mut |mesh, look| Live::beside(mesh, look, &inner.devices, lead))?;
        let before = {
            let mut live = inner.live.lock();
            *remote.mesh.lock() = mesh.clone();
            inner.submitted.store(0, Ordering::Relaxed);
            live.replace(made)
        };
        drop(before);
        old.close();
        let rebuilt = Rebuilt::of(&mesh, &old);
        *last = Some(rebuilt.clone());
        Ok(rebuilt)
    }
}

impl Inner {
    /// Whether the epoch can carry out no more collectives. If only this process knows that, the others are told.
    fn is_over(&self, mesh: &Mesh) -> bool {
        // The ranks of host devices stay what they are when those are rebuilt.
        let is_current = |live: &Live| live.is_current(&self.devices);
        let on_gpus = self.remote.as_ref().is_some_and(|remote| remote.waiting.is_none());
        if on_gpus && !self.live.lock().as_ref().is_some_and(is_current) {
            mesh.resign("a device was rebuilt in one process; rebuild the communicator in all");
        }
        mesh.miss_those_that_left();
        mesh.is_lost()
    }
}

impl Rebuilt {
    fn of(mesh: &Mesh, old: &Mesh) -> Self {
        let without = old.ranks_without(mesh);
        Rebuilt { epoch: mesh.epoch(), ranks: mesh.size(), first_rank: mesh.first(), without }
    }
}

/// A host device with one thread, for the host halves that wait for other processes. Its errors name the device of the caller.
fn waiting_device(of: &Device) -> Result<Device> {
    #[cfg(feature = "host")]
    return Device::builder()
        .host()
        .host_pool(crate::engines::host::HostPool::Threads(1))
        .labelled(Some(of.name().to_string()))
        .open();
    #[cfg(not(feature = "host"))]
    let _ = of;
    #[cfg(not(feature = "host"))]
    Err(Error::unsupported("this build has no host engine (feature `host`)"))
}
