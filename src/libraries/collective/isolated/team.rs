//! The ranks of one epoch.

use super::member::{Deed, Membership};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result, Site};
use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::device::Device;
use std::sync::{OnceLock, Weak};

/// The turns of all isolated devices that are ranks. Held while an order is sent to each worker of a communicator: so all
/// workers get the orders of all communicators in one order.
static ORDER: Mutex<Vec<Weak<Turn>>> = Mutex::new(Vec::new());

/// What all collectives on one generation of a device write.
pub(super) struct Turn {
    device: u64,
    generation: u64,
    buffer: DeviceBuffer<u8>,
}

/// The right to send orders to workers.
pub(super) struct Sending(parking_lot::MutexGuard<'static, Vec<Weak<Turn>>>);

impl Sending {
    pub(super) fn begin() -> Self {
        Sending(ORDER.lock())
    }

    /// The turn of a device.
    pub(super) fn turn(&mut self, device: &Device) -> Result<Arc<Turn>> {
        let (id, generation) = (device.inner().id, device.generation());
        self.0.retain(|turn| turn.strong_count() > 0);
        let mut known = self.0.iter().filter_map(Weak::upgrade);
        if let Some(turn) = known.find(|turn| turn.device == id && turn.generation == generation) {
            return Ok(turn);
        }
        let turn = Arc::new(Turn { device: id, generation, buffer: device.unwritten(1)? });
        self.0.push(Arc::downgrade(&turn));
        Ok(turn)
    }

    /// An operand of the next order to that device.
    pub(super) fn take(&self, turn: &Turn) -> DeviceBuffer<u8> {
        // SAFETY: the handles are used for submissions under the lock alone, and no other operand is a part of that buffer.
        unsafe { turn.buffer.alias() }
    }
}

/// The ranks of one epoch of a communicator.
pub(in crate::libraries::collective) struct Team {
    /// Its number among all of this process.
    pub(super) id: u64,
    pub(super) epoch: u64,
    pub(super) roster: Arc<Roster>,
    generations: Vec<u64>,
    pub(super) turns: Vec<Arc<Turn>>,
    /// How many collectives were submitted. Changed by the thread that may send.
    pub(super) submitted: AtomicU64,
    lost: Mutex<Loss>,
}

/// The devices of a communicator. Kept as long as the communicator, of which they are borrowed; so a list is made only when
/// there are fewer.
pub(super) struct Roster {
    pub(super) devices: Vec<Device>,
    /// What a rebuild has left of them.
    pub(super) fewer: OnceLock<Arc<Roster>>,
}

impl Roster {
    pub(super) fn new(devices: Vec<Device>) -> Arc<Self> {
        Arc::new(Roster { devices, fewer: OnceLock::new() })
    }
}

/// Which ranks are lost, and why, as it was noticed first.
#[derive(Clone, Default)]
struct Loss {
    ranks: Vec<usize>,
    cause: Option<String>,
}

impl Team {
    pub(super) fn new((id, epoch): (u64, u64), roster: &Arc<Roster>, turns: Vec<Arc<Turn>>) -> Self {
        let generations = turns.iter().map(|turn| turn.generation).collect();
        let (submitted, lost, roster) = (AtomicU64::new(0), Mutex::default(), roster.clone());
        Team { id, epoch, roster, generations, turns, submitted, lost }
    }

    pub(in crate::libraries::collective) fn devices(&self) -> &[Device] {
        &self.roster.devices
    }

    pub(in crate::libraries::collective) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// A number for another one.
    pub(super) fn another() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether the worker of that rank has ended: another one, if there is one, holds none of its data.
    pub(super) fn is_gone(&self, rank: usize) -> bool {
        let (Some(device), Some(generation)) = (self.devices().get(rank), self.generations.get(rank)) else {
            return true;
        };
        let epoch = device.epoch();
        epoch.dead() || epoch.generation != *generation
    }

    /// These ranks are lost.
    pub(super) fn lose(&self, ranks: &[usize], cause: &str) {
        let mut lost = self.lost.lock();
        lost.ranks.extend_from_slice(ranks);
        lost.ranks.sort_unstable();
        lost.ranks.dedup();
        lost.cause.get_or_insert_with(|| cause.to_owned());
    }

    /// The ranks that were told lost. They may live.
    pub(super) fn suspects(&self) -> Vec<usize> {
        self.lost.lock().ranks.clone()
    }

    /// The error of a collective, if ranks are lost.
    pub(in crate::libraries::collective) fn admit(&self, sequence: u64, operation: &str) -> Result<()> {
        for rank in (0..self.devices().len()).filter(|rank| self.is_gone(*rank)) {
            let name = self.devices().get(rank).map(Device::name).unwrap_or_default();
            self.lose(&[rank], &format!("the worker of {name} has ended, or {name} was rebuilt"));
        }
        if self.lost.lock().cause.is_none() { Ok(()) } else { Err(self.loss(sequence, operation)) }
    }

    pub(super) fn loss(&self, sequence: u64, operation: &str) -> Error {
        let Loss { ranks, cause } = self.lost.lock().clone();
        let (operation, cause) = (operation.into(), cause.unwrap_or_default().into());
        Error::CollectiveLost { ranks: ranks.into(), sequence, operation, cause, site: Site::none() }
    }

    /// Tells the workers that live.
    pub(super) fn tell(&self, sending: &Sending, deed: &Deed) {
        for (rank, (device, turn)) in self.devices().iter().zip(&self.turns).enumerate() {
            if !self.is_gone(rank) {
                // One that is lost meanwhile needs not be told.
                drop(device.going_on().dispatch(Membership::new(deed.clone()), (), (sending.take(turn),)));
            }
        }
    }

    /// No collective is submitted any more.
    pub(in crate::libraries::collective) fn leave(&self) {
        let sending = Sending::begin();
        self.tell(&sending, &Deed::Leave(self.id, self.submitted.load(Ordering::Relaxed)));
    }
}
