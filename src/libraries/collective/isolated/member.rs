//! The worker's side: it joins and leaves epochs of communicators, and finds its connections for each collective.

use crate::core::buffer::DeviceBuffer;
use crate::core::element::DType;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::wire::{Incoming, Outgoing};
use crate::core::op::{Internal, OpKind, OperandNames, Spans, Wire};
use crate::core::sync::{Arc, AtomicBool, Mutex, Ordering};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};
use crate::libraries::collective::launch::Rendezvous;
use crate::libraries::collective::mesh::{Entry, Look, Mesh};
use crate::libraries::collective::op::Link;
use crate::libraries::collective::spec::Spec;
use crate::libraries::collective::store::Mode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Weak;
use std::time::Duration;

/// The connections of this worker process, by the numbers that its parent gave to the epochs.
static SEATS: Mutex<BTreeMap<u64, Link>> = Mutex::new(BTreeMap::new());

/// Where a worker finds the others.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Seat {
    /// The number of the epoch, in the parent.
    pub(super) team: u64,
    pub(super) address: String,
    pub(super) token: String,
    pub(super) rank: usize,
    pub(super) ranks: usize,
    pub(super) limit: Duration,
    pub(super) silence: Duration,
}

/// An order that concerns no data.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Deed {
    Join(Seat),
    /// All collectives before are complete, or do not run in this worker; the number of the last one.
    Leave(u64, u64),
    /// No other collective can be carried out. Done when the order is read, since a collective may be waiting.
    Resign(u64),
}

/// The op of a [`Deed`]. It writes the device's turn, so it follows all collectives before.
pub(in crate::libraries::collective) struct Membership {
    pub(super) deed: Deed,
    /// In the worker.
    epoch: Option<Weak<Epoch>>,
}

impl Membership {
    pub(super) fn new(deed: Deed) -> Self {
        Membership { deed, epoch: None }
    }

    fn act(&self) -> Result<()> {
        match &self.deed {
            Deed::Join(seat) => match self.epoch.as_ref().and_then(Weak::upgrade) {
                Some(epoch) => seat.join(&epoch),
                None => Err(Error::library("internal error: a rank outside of a worker")),
            },
            Deed::Leave(team, last) => {
                let link = SEATS.lock().remove(team);
                // Those that do not run here are told to the others in their turn.
                link.as_ref().and_then(Link::mesh).into_iter().for_each(|mesh| mesh.await_turn(*last));
                #[cfg(feature = "cuda")]
                if let Some(Link::Joined(group, _)) = &link {
                    group.leave();
                }
                link.as_ref().and_then(Link::mesh).into_iter().for_each(|mesh| mesh.close());
                Ok(())
            }
            Deed::Resign(_) => Ok(()),
        }
    }
}

impl Op for Membership {
    const NAME: &'static str = "membership";
    const OPERANDS: OperandNames = (&[], &["turn"]);
    const LIBRARY: &'static str = "collective";
    // It waits for the others, as collectives do, and on a GPU on the one stream that is theirs.
    const KIND: OpKind = OpKind::Blocking;
    const POOLED: Internal = Internal::YES;
    type Reads = ();
    type Output = DeviceBuffer<u8>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(u8,)>) -> Result<()> {
        Ok(())
    }

    fn overwrites(&self, _: &Spans<(u8,)>) -> bool {
        true
    }

    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        self.act()
    }

    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        self.act()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }

    fn wire() -> Option<Wire<Self>> {
        let decode = |incoming: Incoming<'_>| {
            let deed: Deed = incoming.value()?;
            if let Deed::Resign(team) = &deed
                && let Some(mesh) = SEATS.lock().get(team).and_then(Link::mesh)
            {
                mesh.resign("a collective could not be submitted to all ranks");
            }
            Ok(Membership { deed, epoch: Some(Arc::downgrade(incoming.epoch)) })
        };
        Some(Wire { encode: |op, out| out.value(&op.deed), decode })
    }
}

impl Seat {
    /// Comes together with the other workers.
    fn join(&self, epoch: &Arc<Epoch>) -> Result<()> {
        let at = Rendezvous::new(&self.address, self.rank, self.ranks).token(&self.token).limit(self.limit);
        // One that lives and does not come is late. Who waits for the collective in the parent has a deadline, or none.
        let at = at.silence(self.silence).patience(Duration::MAX).served();
        let clock = epoch.timing.clock;
        let (mode, limit, on_gpus) = (Mode::Join, self.limit, is_gpu(epoch));
        let entry = Entry { at: &at, mode, locals: 1, on_gpus, limit, clock, at_once: true, old: None };
        let (_, link) = entry.enter(&mut |mesh, look| link(mesh, look, epoch))?;
        SEATS.lock().insert(self.team, link);
        Ok(())
    }
}

#[cfg_attr(not(feature = "cuda"), expect(unused_variables, reason = "no engine is one of GPUs"))]
fn is_gpu(epoch: &Epoch) -> bool {
    #[cfg(feature = "cuda")]
    return epoch.engine.as_cuda().is_some();
    #[cfg(not(feature = "cuda"))]
    false
}

/// What collectives of this worker's device need besides the mesh.
#[cfg_attr(not(feature = "cuda"), expect(clippy::unnecessary_wraps, unused_variables, reason = "only NCCL can fail"))]
fn link(mesh: &Arc<Mesh>, look: Look<'_>, epoch: &Arc<Epoch>) -> Result<Link> {
    #[cfg(feature = "cuda")]
    if epoch.engine.as_cuda().is_some() {
        use crate::libraries::collective::{live::INITIALISATION, native::Group};
        return Ok(Link::Joined(Group::join(std::slice::from_ref(epoch), mesh, (INITIALISATION, look))?, mesh.clone()));
    }
    Ok(Link::Mesh(mesh.clone()))
}

/// Whether a collective has begun in this worker.
pub(in crate::libraries::collective) type Begun = Arc<AtomicBool>;

/// A collective as it is sent: the number of the epoch, its own number, and what it is.
#[derive(Serialize, Deserialize)]
struct Order<S> {
    team: u64,
    sequence: u64,
    spec: S,
}

/// Writes a collective for a worker.
pub(in crate::libraries::collective) fn encode(
    spec: &Spec,
    link: &Link,
    sequence: u64,
    out: &mut Outgoing,
) -> Result<()> {
    match link {
        Link::Worker(team) => out.value(&Order { team: *team, sequence, spec }),
        _ => Err(Error::library("internal error: a collective of this process for a worker")),
    }
}

/// Reads it in the worker. If it never begins there, the others are told.
pub(in crate::libraries::collective) fn decode(
    incoming: Incoming<'_>,
    dtype: DType,
) -> Result<(Spec, Link, u64, Begun)> {
    let Order { team, sequence, spec }: Order<Spec> = incoming.value()?;
    let link = SEATS.lock().get(&team).cloned();
    let Some(link) = link.filter(|_| spec.dtype == dtype) else {
        return Err(Error::library("a collective of a communicator that this worker has not joined"));
    };
    let begun = Begun::default();
    if let Some(mesh) = link.mesh().cloned() {
        let begun = begun.clone();
        *incoming.at_end = Some(Box::new(move || {
            if !begun.load(Ordering::SeqCst) {
                // It may have to wait for collectives before it.
                let skip = std::thread::Builder::new().name("windlass skip".into());
                let skips = mesh.clone();
                if skip.spawn(move || skips.skip(sequence)).is_err() {
                    mesh.resign("a collective could not run there, and there was no thread to tell the others");
                }
            }
        }));
    }
    Ok((spec, link, sequence, begun))
}
