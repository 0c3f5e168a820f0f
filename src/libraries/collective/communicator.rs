//! The ranks, and what they need to reach each other.

use super::launch::Rendezvous;
use super::live::Live;
use super::mesh::Mesh;
use super::spec::Spec;
use super::store::Server;
use super::submitting::Submitting;
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::device::Device;
use parking_lot::MappedMutexGuard;

/// Several devices that exchange data: each is a *rank*, numbered in the order of the devices.
///
/// A collective is one dispatch over all ranks. It is checked on all of them before anything is enqueued, follows all earlier
/// work on its operands, and is complete when it is complete on every rank. Collectives of one communicator are carried out in
/// the order of their submission. The inputs are borrowed for the call, one for each rank in the order of the ranks; the
/// outputs are moved in and come back from the wait. Where only one rank, the root, has an input or an output, that is the
/// only one. In place ([`all_reduce_in_place`](Self::all_reduce_in_place) and others), a rank's one buffer holds both.
///
/// Host devices share memory (isolated ones use connections); GPUs use NCCL, which is loaded when the first communicator is
/// made. Cheap to clone; lives through rebuilds of devices that are not isolated (the first collective after one makes NCCL's
/// communicators again).
///
/// ```
/// # fn main() -> windlass::Result<()> {
/// use windlass::{Device, collective::{Combine, Communicator}};
/// let devices = [Device::host()?, Device::host()?];
/// let comm = Communicator::new(&devices)?;
/// let x = [devices[0].buffer([1.0f32, 2.0])?, devices[1].buffer([10.0f32, 20.0])?];
/// let sums = vec![devices[0].uninit(2)?, devices[1].uninit(2)?];
/// let sums = comm.all_reduce(Combine::Sum, &x, sums)?.await_result()?;
/// assert_eq!(devices[1].to_vec(&sums[1])?, [11.0, 22.0]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Communicator {
    pub(super) inner: Arc<Inner>,
    deterministic: bool,
}

pub(super) struct Inner {
    pub(super) devices: Vec<Device>,
    /// For ranks in several processes.
    pub(super) remote: Option<Remote>,
    /// For ranks on isolated devices.
    #[cfg(target_os = "linux")]
    pub(super) isolated: Option<super::isolated::Isolated>,
    /// What belongs to the current generation of each device. Locked while a collective is submitted: so the collectives of a
    /// communicator have one order.
    pub(super) live: Mutex<Option<Live>>,
    /// How many collectives were submitted in this epoch; changed under that lock.
    pub(super) submitted: AtomicU64,
}

/// What ranks in several processes have besides their devices.
pub(super) struct Remote {
    pub(super) at: Rendezvous,
    /// The connections of the current epoch. Changed under the lock of `live`.
    pub(super) mesh: Mutex<Arc<Mesh>>,
    /// Held by the one thread that rebuilds: what it made last.
    pub(super) rebuilding: Mutex<Option<super::rebuild::Rebuilt>>,
    /// The device on whose one thread the host halves wait for others; none for GPUs.
    pub(super) waiting: Option<Device>,
    #[expect(dead_code, reason = "serves until the communicator is dropped")]
    pub(super) server: Option<Server>,
}

impl Remote {
    pub(super) fn mesh(&self) -> Arc<Mesh> {
        self.mesh.lock().clone()
    }
}

impl Inner {
    /// Ranks that are all of this process.
    pub(super) fn new(devices: Vec<Device>) -> Self {
        Inner {
            devices,
            remote: None,
            #[cfg(target_os = "linux")]
            isolated: None,
            live: Mutex::default(),
            submitted: AtomicU64::new(0),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Not when the mesh is dropped: a buffer may keep the op that wrote it, and the op its mesh.
        if let Some(remote) = &self.remote {
            remote.mesh().close();
        }
        #[cfg(target_os = "linux")]
        if let Some(isolated) = &self.isolated {
            isolated.end();
        }
    }
}

impl Communicator {
    /// Makes the devices the ranks of a communicator: host devices, GPUs of this process (each once), or isolated devices,
    /// whose workers are the ranks.
    ///
    /// Between isolated devices a lost worker gives every waiter [`Error::CollectiveLost`] with its rank, as soon as its end is
    /// noticed; one that is stopped, after the smallest [`heartbeat`](crate::DeviceBuilder::heartbeat) of the devices. The
    /// other devices keep their buffers and generation, and go on after [`rebuild`](Self::rebuild).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: no device, one that is named twice, or two for the same GPU. [`Error::Unsupported`]: devices
    /// of different engines, isolated devices beside others, an isolated device with an inline pool, a recording, a hook
    /// that is called inside of a submission. [`Error::LibraryMissing`]: no NCCL is found. An error of NCCL;
    /// [`Error::Timeout`] when its initialisation does not come to an end. [`Error::CollectiveLost`]: a worker is lost
    /// meanwhile.
    pub fn new<'d>(devices: impl IntoIterator<Item = &'d Device>) -> Result<Self> {
        let devices: Vec<Device> = devices.into_iter().cloned().collect();
        check_devices(&devices)?;
        let _submitting = Submitting::begin("a communicator")?;
        #[cfg(target_os = "linux")]
        if devices.iter().any(Device::is_isolated) {
            let isolated = Some(super::isolated::begin(&devices)?);
            let mut inner = Inner::new(devices);
            inner.isolated = isolated;
            return Ok(Communicator { inner: Arc::new(inner), deterministic: false });
        }
        let comm = Communicator { inner: Arc::new(Inner::new(devices)), deterministic: false };
        drop(comm.live()?);
        Ok(comm)
    }

    /// Joins the processes of a job: each calls this with its own devices, whose ranks follow those of the processes before
    /// it: any number of host devices, or of GPUs, and the same in all. All must call the same collectives in the same
    /// order, with the operands of their own ranks. Reductions of host devices have the same bits as in one process, for
    /// every size.
    ///
    /// A collective that does not fit together ([`Error::InvalidArgument`], which names both sides) or whose input has
    /// failed in one process fails in all of them, and the next one can run. If a process ends or falls silent, all
    /// collectives fail with [`Error::CollectiveLost`] in every process that is left: as soon as the end of its connections
    /// is noticed, or after [`silence`](Rendezvous::silence). What they were to write is undefined then; their inputs are
    /// unchanged. The processes that are left go on after [`rebuild`](Self::rebuild).
    ///
    /// Silence is measured by the clock of the first device ([`DeviceBuilder::timing`](crate::DeviceBuilder::timing)).
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::CollectiveLost`] with the numbers of the processes that did not come in time;
    /// [`Error::Untrusted`]: the store does not know the token, or this process does not, or one of them is of another version; a
    /// store that cannot be reached; [`Error::InvalidArgument`]: the number is taken; some processes come with GPUs, others with
    /// host devices, or some with protected elements.
    ///
    /// ```
    /// # fn main() -> windlass::Result<()> {
    /// use windlass::{Device, collective::{Communicator, Rendezvous}};
    /// let device = Device::host()?;
    /// let alone = Rendezvous::new("127.0.0.1:0", 0, 1); // the whole job is this process
    /// let comm = Communicator::join(&alone, [&device])?;
    /// assert_eq!((comm.ranks(), comm.first_rank()), (1, 0));
    /// # Ok(()) }
    /// ```
    pub fn join<'d>(at: &Rendezvous, devices: impl IntoIterator<Item = &'d Device>) -> Result<Self> {
        let devices: Vec<Device> = devices.into_iter().cloned().collect();
        at.check()?;
        if at.processes() == 1 && !at.is_served {
            return Self::new(&devices);
        }
        check_devices(&devices)?;
        if let Some(device) = devices.iter().find(|device| device.is_isolated()) {
            let why = "is isolated, and joins no other processes; make isolated devices of one process ranks by \
                       `Communicator::new`";
            return Err(Error::unsupported(format!("{} {why}", device.name())));
        }
        let inner = super::rebuild::join(at, devices)?;
        Ok(Communicator { inner: Arc::new(inner), deterministic: false })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.inner.remote.as_ref().map_or(self.devices().len(), |remote| remote.mesh().size())
    }

    /// The number of the first rank of this process.
    pub fn first_rank(&self) -> usize {
        self.inner.remote.as_ref().map_or(0, |remote| remote.mesh().first())
    }

    /// How often the ranks of several processes were [rebuilt](Self::rebuild).
    pub fn epoch(&self) -> u64 {
        #[cfg(target_os = "linux")]
        if let Some(isolated) = &self.inner.isolated {
            return isolated.team().epoch();
        }
        self.inner.remote.as_ref().map_or(0, |remote| remote.mesh().epoch())
    }

    /// The number of the next collective of the epoch, counted from 1. Called under the lock of [`live`](Self::live).
    pub(super) fn next_sequence(&self) -> u64 {
        self.inner.submitted.load(Ordering::Relaxed) + 1
    }

    /// That collective was submitted.
    pub(super) fn count(&self, sequence: u64) {
        self.inner.submitted.store(sequence, Ordering::Relaxed);
    }

    /// The devices of a dispatch.
    pub(super) fn dispatch_devices(&self) -> Vec<&Device> {
        let waiting = self.inner.remote.iter().filter_map(|remote| remote.waiting.as_ref());
        waiting.chain(&self.inner.devices).collect()
    }

    /// The device of each rank of this process, in the order of the ranks. (Of isolated devices only those that are left
    /// after a [`rebuild`](Self::rebuild).)
    pub fn devices(&self) -> &[Device] {
        #[cfg(target_os = "linux")]
        if let Some(isolated) = &self.inner.isolated {
            return isolated.devices();
        }
        &self.inner.devices
    }

    /// A handle whose reductions combine the elements in the order of the ranks, on both engines and for every size, so that
    /// the same inputs give the same bits. On GPUs such a reduction of floating-point numbers is an exchange, a kernel of
    /// this crate and another exchange; it needs as much memory again, and [`Combine::PreMulSum`](super::Combine::PreMulSum) is
    /// [`Error::Unsupported`]. Host devices always do so.
    #[must_use = "this returns a new handle and leaves the original one unchanged"]
    pub fn deterministic(&self) -> Self {
        Communicator { deterministic: true, ..self.clone() }
    }

    pub(super) fn is_deterministic(&self) -> bool {
        self.deterministic
    }

    /// What belongs to the current generation of each device, made if necessary. Locked until the value is dropped. Called by a
    /// thread that is [`Submitting`].
    pub(super) fn live(&self) -> Result<MappedMutexGuard<'_, Live>> {
        let mut live = self.inner.live.lock();
        let devices = &self.inner.devices;
        if !live.as_ref().is_some_and(|live| live.is_current(devices)) {
            *live = None; // NCCL's communicators are given back before others are made
            *live = Some(Live::again(&self.inner)?);
        }
        parking_lot::MutexGuard::try_map(live, Option::as_mut)
            .map_err(|_| Error::library("internal error: a communicator without ranks"))
    }
}

impl std::fmt::Debug for Communicator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Communicator").field("devices", &self.devices()).finish_non_exhaustive()
    }
}

/// Checks that each operand lies on the device of its rank. `of` are the numbers of the operands' devices.
pub(super) fn check_owners(spec: &Spec, devices: &[Device], reads: &[u64], writes: &[u64]) -> Result<()> {
    let (readers, writers) = spec.owners();
    for (name, of, ranks) in [("inputs", reads, readers), ("outputs", writes, writers)] {
        for (index, (of, rank)) in of.iter().zip(ranks).enumerate() {
            let Some(device) = rank.checked_sub(spec.first).and_then(|local| devices.get(local)) else {
                continue; // the layout refuses the rank
            };
            if device.inner().id == *of {
                continue;
            }
            let theirs = devices.iter().find(|device| device.inner().id == *of);
            let theirs =
                theirs.map_or_else(|| "a device that is no rank".to_owned(), |device| device.name().to_string());
            let what = format!("it lies on {theirs}; this one is of rank {rank}, which is {}", device.name());
            return Err(Error::invalid(format!("{name}[{index}]"), what));
        }
    }
    Ok(())
}

fn check_devices(devices: &[Device]) -> Result<()> {
    if devices.is_empty() {
        return Err(Error::invalid("devices", "the list is empty"));
    }
    for (index, device) in devices.iter().enumerate() {
        let name = device.name();
        if device.recording().is_some() {
            return Err(Error::unsupported("a recording has one device; use collectives between replays instead"));
        }
        for other in devices.iter().take(index) {
            if device.is_isolated() != other.is_isolated() {
                let (inside, outside) = if device.is_isolated() { (device, other) } else { (other, device) };
                let why = format!(
                    "{} is isolated and {} is not: their memory belongs to different processes; open all of them with \
                     `DeviceBuilder::isolated`, or none",
                    inside.name(),
                    outside.name()
                );
                return Err(Error::unsupported(why));
            }
            if device.kind() != other.kind() {
                let why =
                    format!("{name} and {} have different engines; use download and upload instead", other.name());
                return Err(Error::unsupported(why));
            }
            if device == other {
                return Err(Error::invalid("devices", format!("{name} is named twice; name each device once")));
            }
            if device.is_isolated() && device.info().uuid.is_some() && device.info().uuid == other.info().uuid {
                let what = format!("{name} and {} are the same GPU, which can be one rank only", other.name());
                return Err(Error::invalid("devices", what));
            }
            #[cfg(feature = "cuda")]
            if let (Some(one), Some(two)) = (device.epoch().engine.as_cuda(), other.epoch().engine.as_cuda())
                && one.is_same_gpu(two)
            {
                let what = format!("{name} was opened twice; a GPU can be one rank only");
                return Err(Error::invalid("devices", what));
            }
        }
    }
    Ok(())
}
