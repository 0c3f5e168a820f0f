//! How an epoch is made. This process serves a store for the workers to find each other, so it is one that outlives the
//! ranks; it makes the next epoch beside the old one, whose place it takes when all workers have it.

use super::member::{Deed, Membership, Seat};
use super::submit::send;
use super::team::{Roster, Sending, Team, Turn};
use crate::core::buffer::DeviceBuffer;
use crate::core::clock::Clock;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Result, Site};
use crate::core::sync::{Arc, Mutex};
use crate::device::Device;
use crate::libraries::collective::rebuild::{Members, Rebuilt};
use crate::libraries::collective::spec::Spec;
use crate::libraries::collective::store::{Key, Server, end_of, nonce, resolve};
use crate::libraries::collective::submitting::Submitting;
use std::time::{Duration, Instant};

/// How long the workers may take at first.
const LIMIT: Duration = Duration::from_secs(120);
/// A worker that lives beats several times in so long.
const PULSE: Duration = Duration::from_secs(2);
/// How long one answer is waited for before the others are looked at.
const LOOK: Duration = Duration::from_millis(2);

/// A communicator over isolated devices.
pub(in crate::libraries::collective) struct Isolated {
    /// The devices that it had at first.
    roster: Arc<Roster>,
    team: Mutex<Arc<Team>>,
    /// Held by the one thread that rebuilds: what it made last.
    rebuilding: Mutex<Option<Rebuilt>>,
}

/// Makes these devices, all of them isolated, the ranks of a communicator.
pub(in crate::libraries::collective) fn begin(devices: &[Device]) -> Result<Isolated> {
    for device in devices {
        if device.epoch().engine.as_worker().is_some_and(crate::engines::worker::WorkerEngine::is_inline) {
            let why = "a collective waits for other ranks, so the pool of an isolated host device cannot be inline: give it \
                       a thread";
            return Err(Error::unsupported(format!("{}: {why}", device.name())));
        }
    }
    let roster = Roster::new(devices.to_vec());
    let team = form(&roster, 0, LIMIT).map_err(|unformed| unformed.error("join", |rank| rank))?;
    Ok(Isolated { roster, team: Mutex::new(Arc::new(team)), rebuilding: Mutex::default() })
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

type Joining = Vec<(usize, PendingDispatch<DeviceBuffer<u8>>)>;

/// Brings the workers of these devices together.
fn form(roster: &Arc<Roster>, epoch: u64, limit: Duration) -> Result<Team, Unformed> {
    let (token, devices) = (blake3::Hash::from_bytes(nonce()).to_hex().to_string(), &roster.devices);
    let server = resolve("127.0.0.1:0").and_then(|address| Server::begin(&address, Key::new(&token)));
    let server = server.map_err(Unformed::Failed)?;
    let silence = devices.iter().map(|device| device.inner().config.engine.worker.heartbeat).min().unwrap_or(LIMIT);
    let (id, address, ranks) = (Team::another(), server.address().to_string(), devices.len());
    let seat = |rank| {
        let (address, token) = (address.clone(), token.clone());
        Seat { team: id, address, token, rank, ranks, limit, silence }
    };
    // Those that wait for one that does not come are told so.
    let (turns, joining) = call(devices, seat).inspect_err(|_| server.stop())?;
    let team = Team::new((id, epoch), roster, turns);
    if let Err(unformed) = await_each(joining, end_of(limit), limit) {
        server.stop();
        drop(server);
        team.leave(); // those that have joined
        return Err(unformed);
    }
    Ok(team)
}

/// Sends each worker to its seat.
fn call(devices: &[Device], seat: impl Fn(usize) -> Seat) -> Result<(Vec<Arc<Turn>>, Joining), Unformed> {
    let (mut turns, mut joining) = (Vec::new(), Vec::new());
    let mut sending = Sending::begin();
    for (rank, device) in devices.iter().enumerate() {
        let turn = sending.turn(device).map_err(|error| failed(rank, error))?;
        let join = Membership::new(Deed::Join(seat(rank)));
        let pending = device.going_on().dispatch(join, (), (sending.take(&turn),));
        joining.push((rank, pending.map_err(|rejected| failed(rank, rejected.error))?));
        turns.push(turn);
    }
    Ok((turns, joining))
}

/// Waits until all have joined, or one cannot.
fn await_each(mut joining: Joining, end: Instant, limit: Duration) -> Result<(), Unformed> {
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
    pub(in crate::libraries::collective) fn team(&self) -> Arc<Team> {
        self.team.lock().clone()
    }

    /// The devices of that epoch.
    pub(in crate::libraries::collective) fn devices(&self) -> &[Device] {
        let mut roster = &self.roster;
        while let Some(fewer) = roster.fewer.get() {
            roster = fewer;
        }
        &roster.devices
    }

    /// The communicator is dropped.
    pub(in crate::libraries::collective) fn end(&self) {
        let team = self.team();
        if Submitting::is_here() {
            // In a hook: this thread has the right to send, and does something else with it. (Without another thread the
            // workers stay together until they end.)
            let thread = std::thread::Builder::new().name("windlass leave".into());
            let _ = thread.spawn(move || team.leave());
        } else {
            team.leave();
        }
    }

    /// See [`Communicator::rebuild`](crate::libraries::collective::Communicator::rebuild).
    pub(in crate::libraries::collective) fn rebuild(&self, members: Members, limit: Duration) -> Result<Rebuilt> {
        let end = end_of(limit);
        let Some(mut last) = self.rebuilding.try_lock_for(limit) else {
            return Err(Error::Timeout { waited: limit, site: Site::none() });
        };
        let old = self.team();
        // The workers may know of a loss that nobody has waited for here.
        let met = if old.admit(0, "rebuild").is_ok() { meet(&old, end) } else { Ok(()) };
        // Nothing is lost, or another thread was here first.
        if old.admit(0, "rebuild").is_ok() {
            met?;
            let (epoch, ranks) = (old.epoch, old.devices().len());
            let made = last.clone().filter(|last| last.epoch == epoch);
            return Ok(made.unwrap_or(Rebuilt { epoch, ranks, first_rank: 0, without: Vec::new() }));
        }
        loop {
            let ranks = match members {
                Members::Survivors => old.survivors(end),
                Members::Replaced => old.await_healthy(end)?,
            };
            let of = |rank: usize| ranks.get(rank).copied().unwrap_or(rank);
            let devices: Vec<Device> = ranks.iter().filter_map(|rank| old.devices().get(*rank)).cloned().collect();
            if devices.is_empty() {
                return Err(lost((0..old.devices().len()).collect(), "rebuild", "no rank is left".into()));
            }
            let is_whole = devices.len() == old.devices().len();
            let roster = if is_whole { old.roster.clone() } else { Roster::new(devices) };
            match form(&roster, old.epoch + 1, end.saturating_duration_since(Clock::SYSTEM.now())) {
                Ok(team) => {
                    let without = (0..old.devices().len()).filter(|rank| !ranks.contains(rank)).collect();
                    let rebuilt = Rebuilt { epoch: team.epoch, ranks: ranks.len(), first_rank: 0, without };
                    if !is_whole {
                        let _ = old.roster.fewer.set(roster);
                    }
                    *self.team.lock() = Arc::new(team);
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

/// Lets all ranks come together. What they know of a loss is known here afterwards.
fn meet(team: &Arc<Team>, end: Instant) -> Result<()> {
    let ranks = team.devices().len();
    let spec = Spec { ranks, locals: ranks, ..Spec::barrier() };
    let pending = send::<u8>(team, &spec, &[], Vec::new()).map_err(|rejected| rejected.error)?;
    let left = end.saturating_duration_since(Clock::SYSTEM.now());
    match pending.await_timeout(left) {
        Ok(met) => met.map(drop).map_err(|failure| failure.error),
        Err(_) => Err(Error::Timeout { waited: left, site: Site::none() }),
    }
}

impl Team {
    /// The ranks whose workers live. One that was told lost may have been stopped: then its heart does not beat.
    fn survivors(&self, end: Instant) -> Vec<usize> {
        let beats = |rank: usize| Some(self.devices().get(rank)?.epoch().engine.as_worker()?.link.beats());
        let mut silent: Vec<(usize, Option<u64>)> =
            self.suspects().into_iter().map(|rank| (rank, beats(rank))).collect();
        let end = end.min(Clock::SYSTEM.now() + PULSE);
        while !silent.is_empty() && Clock::SYSTEM.now() < end {
            crate::core::clock::pause(LOOK);
            silent.retain(|(rank, before)| !self.is_gone(*rank) && beats(*rank) == *before);
        }
        let is_silent = |rank: usize| silent.iter().any(|(other, _)| *other == rank);
        (0..self.devices().len()).filter(|rank| !self.is_gone(*rank) && !is_silent(*rank)).collect()
    }

    /// All ranks, when each has a worker.
    fn await_healthy(&self, end: Instant) -> Result<Vec<usize>> {
        for (rank, device) in self.devices().iter().enumerate() {
            let left = end.saturating_duration_since(Clock::SYSTEM.now());
            device.wait_healthy(left).map_err(|error| match error {
                Error::Unsupported { .. } => error,
                error => lost(vec![rank], "rebuild", format!("{} has no worker: {error}", device.name())),
            })?;
        }
        Ok((0..self.devices().len()).collect())
    }
}
