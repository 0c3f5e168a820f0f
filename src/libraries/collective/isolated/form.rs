//! How an epoch is made. This process serves a store for the workers to find each other, so it is one that outlives the
//! ranks; it makes the next epoch beside the old one, whose place it takes when all workers have it.

use super::member::{Deed, Membership, Seat};
use super::team::{Sending, Team};
use crate::core::buffer::DeviceBuffer;
use crate::core::clock::Clock;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Result, Site};
use crate::core::sync::{Arc, Mutex};
use crate::device::Device;
use crate::libraries::collective::rebuild::{Members, Rebuilt};
use crate::libraries::collective::store::{Key, Server, end_of, nonce, resolve};
use std::time::{Duration, Instant};

/// How long the workers may take at first.
const LIMIT: Duration = Duration::from_secs(120);
/// How long one answer is waited for before the others are looked at.
const LOOK: Duration = Duration::from_millis(2);

/// A communicator over isolated devices.
pub(in crate::libraries::collective) struct Isolated {
    first: Arc<Team>,
    /// Held by the one thread that rebuilds: what it made last.
    rebuilding: Mutex<Option<Rebuilt>>,
}

/// Makes these devices, all of them isolated, the ranks of a communicator.
pub(in crate::libraries::collective) fn begin(devices: &[Device]) -> Result<Isolated> {
    for device in devices {
        if device.epoch().engine.as_worker().is_some_and(crate::engines::worker::WorkerEngine::is_inline) {
            let why = "a collective waits for other ranks, so the pool of an isolated host device cannot be inline: give it a thread";
            return Err(Error::unsupported(format!("{}: {why}", device.name())));
        }
    }
    let first = form(devices, 0, LIMIT).map_err(|unformed| unformed.error("join", |rank| rank))?;
    Ok(Isolated { first: Arc::new(first), rebuilding: Mutex::default() })
}

/// Why an epoch was not made.
enum Unformed {
    /// These of the devices were lost meanwhile, or did not come.
    Lost(Vec<usize>, String),
    Failed(Error),
}

impl Unformed {
    fn error(self, operation: &str, rank: impl Fn(usize) -> usize) -> Error {
        match self {
            Unformed::Failed(error) => error,
            Unformed::Lost(ranks, cause) => lost(ranks.into_iter().map(rank).collect(), operation, cause),
        }
    }
}

#[cold]
fn lost(ranks: Vec<usize>, operation: &str, cause: String) -> Error {
    let (operation, cause, site) = (operation.into(), cause.into(), Site::none());
    Error::CollectiveLost { ranks: ranks.into(), sequence: 0, operation, cause, site }
}

/// Of one device.
fn failed(index: usize, error: Error) -> Unformed {
    if error.is_poisoning() { Unformed::Lost(vec![index], error.to_string()) } else { Unformed::Failed(error) }
}

type Joining = (usize, PendingDispatch<DeviceBuffer<u8>>);

/// Brings the workers of these devices together.
fn form(devices: &[Device], epoch: u64, limit: Duration) -> Result<Team, Unformed> {
    let token = blake3::Hash::from_bytes(nonce()).to_hex().to_string();
    let server = resolve("127.0.0.1:0").and_then(|address| Server::begin(&address, Key::new(&token)));
    let server = server.map_err(Unformed::Failed)?;
    let silence = devices.iter().map(|device| device.inner().config.engine.worker.heartbeat).min().unwrap_or(LIMIT);
    let (id, address, ranks) = (Team::another(), server.address().to_string(), devices.len());
    let (mut turns, mut joining) = (Vec::new(), Vec::new());
    let mut sending = Sending::begin();
    for (rank, device) in devices.iter().enumerate() {
        let seat = Seat { team: id, address: address.clone(), token: token.clone(), rank, ranks, limit, silence };
        let turn = sending.turn(device).map_err(|error| failed(rank, error))?;
        let join = Membership::new(Deed::Join(seat));
        match device.going_on().dispatch(join, (), (sending.take(&turn),)) {
            Ok(pending) => joining.push((rank, pending)),
            Err(rejected) => {
                server.stop();
                return Err(failed(rank, rejected.error));
            }
        }
        turns.push(turn);
    }
    drop(sending);
    let team = Team::new((id, epoch), devices.to_vec(), turns);
    let outcome = await_each(joining, end_of(limit), limit);
    match outcome {
        Ok(()) => Ok(team),
        Err(unformed) => {
            server.stop(); // those that wait for one that does not come are told so
            drop(server);
            team.leave(); // those that have joined
            Err(unformed)
        }
    }
}

/// Waits until all have joined, or one cannot.
fn await_each(mut joining: Vec<Joining>, end: Instant, limit: Duration) -> Result<(), Unformed> {
    while !joining.is_empty() {
        if let Some(index) = joining.iter().position(|(_, pending)| pending.is_ready()) {
            let (rank, pending) = joining.swap_remove(index);
            match pending.await_result() {
                Ok(_) => continue,
                Err(rejected) => return Err(failed(rank, rejected.error)),
            }
        }
        if Clock::SYSTEM.now() >= end {
            let missing = joining.iter().map(|(rank, _)| *rank).collect();
            return Err(Unformed::Lost(missing, format!("the workers did not come together within {limit:?}")));
        }
        if let Some((_, pending)) = joining.first() {
            pending.wait_timeout(LOOK);
        }
    }
    Ok(())
}

impl Isolated {
    /// The epoch that is the last one now.
    pub(in crate::libraries::collective) fn team(&self) -> &Arc<Team> {
        let mut team = &self.first;
        while let Some(next) = team.next.get() {
            team = next;
        }
        team
    }

    /// See [`Communicator::rebuild`](crate::libraries::collective::Communicator::rebuild).
    pub(in crate::libraries::collective) fn rebuild(&self, members: Members, limit: Duration) -> Result<Rebuilt> {
        let end = end_of(limit);
        let Some(mut last) = self.rebuilding.try_lock_for(limit) else {
            return Err(Error::Timeout { waited: limit, site: Site::none() });
        };
        let old = self.team().clone();
        // Nothing is lost, or another thread was here first.
        if old.admit(0, "rebuild").is_ok() {
            let (epoch, ranks) = (old.epoch, old.devices.len());
            let made = last.clone().filter(|last| last.epoch == epoch);
            return Ok(made.unwrap_or(Rebuilt { epoch, ranks, first_rank: 0, without: Vec::new() }));
        }
        loop {
            let ranks = match members {
                Members::Survivors => (0..old.devices.len()).filter(|rank| !old.is_gone(*rank)).collect(),
                Members::Replaced => old.await_healthy(end)?,
            };
            let of = |rank: usize| ranks.get(rank).copied().unwrap_or(rank);
            let devices: Vec<Device> = ranks.iter().filter_map(|rank| old.devices.get(*rank)).cloned().collect();
            if devices.is_empty() {
                return Err(lost((0..old.devices.len()).collect(), "rebuild", "no rank is left".into()));
            }
            match form(&devices, old.epoch + 1, end.saturating_duration_since(Clock::SYSTEM.now())) {
                Ok(team) => {
                    let without = (0..old.devices.len()).filter(|rank| !ranks.contains(rank)).collect();
                    let rebuilt = Rebuilt { epoch: team.epoch, ranks: ranks.len(), first_rank: 0, without };
                    let _ = old.next.set(Arc::new(team));
                    old.leave();
                    *last = Some(rebuilt.clone());
                    return Ok(rebuilt);
                }
                // One that was lost meanwhile is left out, or replaced.
                Err(Unformed::Lost(..)) if Clock::SYSTEM.now() < end => crate::core::clock::pause(LOOK),
                Err(unformed) => return Err(unformed.error("rebuild", of)),
            }
        }
    }
}

impl Team {
    /// All ranks, when each has a worker.
    fn await_healthy(&self, end: Instant) -> Result<Vec<usize>> {
        for (rank, device) in self.devices.iter().enumerate() {
            let left = end.saturating_duration_since(Clock::SYSTEM.now());
            device.wait_healthy(left).map_err(|error| match error {
                Error::Unsupported { .. } => error,
                error => lost(vec![rank], "rebuild", format!("{} has no worker: {error}", device.name())),
            })?;
        }
        Ok((0..self.devices.len()).collect())
    }
}
