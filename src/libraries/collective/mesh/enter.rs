//! How a process comes into an epoch: the first, or the next.
//!
//! 1. What a process has, it keeps until the next epoch is committed. So an attempt that fails leaves all of them as they were.
//! 2. While it waits, the old mesh tells whether another process is lost; then the round is aborted, and all but that one come
//!    to the next round, within the same limit.

use super::join::{Members, failed};
use super::{Mesh, UNTRUSTED};
use crate::core::clock::Clock;
use crate::core::error::{Error, Result, Site};
use crate::core::sync::Arc;
use crate::libraries::collective::launch::Rendezvous;
use crate::libraries::collective::store::{Card, Client, Mode, Refusal, Step, View, end_of, nonce, resolve};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// How long the store is waited for at a time: losses are looked for in between.
const LOOK: u32 = 20;
/// How long a connection to the store may take to be made anew, at a time.
const RECONNECT: Duration = Duration::from_secs(1);

/// A process that comes.
pub(in crate::libraries::collective) struct Entry<'e> {
    pub(in crate::libraries::collective) at: &'e Rendezvous,
    pub(in crate::libraries::collective) mode: Mode,
    /// The ranks of this process.
    pub(in crate::libraries::collective) locals: usize,
    /// All ranks are GPUs, or all are host devices.
    pub(in crate::libraries::collective) on_gpus: bool,
    pub(in crate::libraries::collective) limit: Duration,
    pub(in crate::libraries::collective) clock: Clock,
    /// The store serves already: one that refuses a connection is gone.
    pub(in crate::libraries::collective) at_once: bool,
    /// The mesh of the epoch that it is of.
    pub(in crate::libraries::collective) old: Option<&'e Mesh>,
}

/// What is to be made of a mesh before its epoch is committed.
pub(in crate::libraries::collective) type Prepare<'p, L> = &'p mut dyn FnMut(&Arc<Mesh>, Look<'_>) -> Result<L>;
/// Says, while something is waited for, if there is no use in going on.
pub(in crate::libraries::collective) type Look<'p> = &'p mut dyn FnMut() -> Result<()>;

/// How an attempt ended.
enum Attempt<L> {
    Done(Arc<Mesh>, L),
    /// The round was aborted, for this reason. `untrusted`: by this process, since another did not prove what it is.
    Again {
        why: String,
        untrusted: bool,
    },
}

impl<L> Attempt<L> {
    fn again(why: String) -> Self {
        Attempt::Again { why, untrusted: false }
    }
}

impl Entry<'_> {
    /// Comes into the next epoch, within the limit.
    pub(in crate::libraries::collective) fn enter<L>(&self, prepare: Prepare<'_, L>) -> Result<(Arc<Mesh>, L)> {
        let end = end_of(self.limit);
        self.owner_lives()?;
        let addresses = resolve(&self.at.address)?;
        let mut client = Client::connect(&addresses, self.at.key(), (self.limit, self.at_once), self.at.process)?;
        let mut distrusted = None;
        let failed = loop {
            match self.attempt(&mut client, prepare, end) {
                Ok(Attempt::Done(mesh, live)) => return Ok((mesh, live)),
                Ok(Attempt::Again { why, untrusted }) => {
                    if untrusted {
                        distrusted = Some(why.clone());
                    }
                    if Clock::SYSTEM.now() >= end {
                        let cause = format!("no epoch was agreed on within {:?}; the last attempt: {why}", self.limit);
                        break self.lost(&[], cause);
                    }
                }
                Err(error) => break self.owner_lives().err().unwrap_or(error),
            }
            crate::core::clock::pause(Duration::from_millis(LOOK.into()));
        };
        Err(match (failed, distrusted) {
            (Error::CollectiveLost { ranks, sequence, operation, cause, mut site }, Some(why)) => {
                site.set_code(UNTRUSTED.0, UNTRUSTED.1);
                let cause = format!("{cause}; not to be trusted: {why}").into();
                Error::CollectiveLost { ranks, sequence, operation, cause, site }
            }
            (failed, _) => failed,
        })
    }

    fn own(&self) -> u32 {
        u32::try_from(self.at.process).unwrap_or(u32::MAX)
    }

    fn operation(&self) -> &'static str {
        if self.old.is_some() { "rebuild" } else { "join" }
    }

    /// The error for processes with these numbers.
    #[cold]
    fn lost(&self, processes: &[u32], cause: String) -> Error {
        // Ranks of the old epoch, where there is one.
        let ranks = match self.old {
            Some(old) => processes.iter().flat_map(|number| old.ranks_of(*number)).collect(),
            None => processes.iter().map(|number| *number as usize).collect(),
        };
        let (operation, site) = (self.operation().into(), Site::none());
        Error::CollectiveLost { ranks, sequence: 0, operation, cause: cause.into(), site }
    }

    /// Without the store nobody can agree on anything.
    fn owner_lives(&self) -> Result<()> {
        if self.at.is_served || !self.suspects().contains(&0) {
            return Ok(());
        }
        let cause = "process 0, which served the store, is lost, so the others cannot agree; serve it where it outlives the \
                     ranks: `Store::serve`, `Rendezvous::served`";
        Err(self.lost(&[0], cause.into()))
    }

    /// The numbers of those that this process takes for lost.
    fn suspects(&self) -> Vec<u32> {
        self.old.map(Mesh::absent).unwrap_or_default()
    }

    fn attempt<L>(&self, client: &mut Client, prepare: Prepare<'_, L>, end: Instant) -> Result<Attempt<L>> {
        let listener = TcpListener::bind((client.local_ip()?, 0)).map_err(failed("no port for other processes"))?;
        let card = Card {
            processes: u32::try_from(self.at.processes).unwrap_or(u32::MAX),
            ranks: u32::try_from(self.locals).unwrap_or(u32::MAX),
            on_gpus: self.on_gpus,
            protects: self.at.protects,
            replaces: self.mode == Mode::Newcomer,
            address: listener.local_addr().map_err(failed("the port for other processes"))?,
            nonce: nonce(),
        };
        let (round, epoch, all) = match self.come(client, &card, end)? {
            Ok(claimed) => claimed,
            Err(why) => return Ok(Attempt::again(why)),
        };
        let own = all.iter().position(|(number, _)| *number == self.own());
        let Some(own) = own else { return Err(Error::library("internal error: a claim without this process")) };
        let members = Members { epoch, all: &all, own };
        let mut watch = Watch { entry: self, client, round, members: &all, end, looked: Clock::SYSTEM.now() };
        // From here on the round has an outcome, which all are told.
        if let Some((argument, why)) = all.iter().find_map(|(number, other)| card.mismatch(*number, other)) {
            watch.leave(&self.suspects(), why.clone())?;
            return Err(Error::invalid(argument, why));
        }
        let mesh = match Mesh::connect(self.at, &members, (&listener, self.clock), &mut || watch.look_again(), end) {
            Ok(mesh) => mesh,
            Err(error @ Error::OutOfMemory { .. }) => {
                watch.leave(&self.suspects(), error.to_string())?;
                return Err(error);
            }
            Err(error) => {
                let why = watch.leave(&self.suspects(), error.to_string())?;
                return Ok(match error {
                    Error::Untrusted { .. } => Attempt::Again { why: error.to_string(), untrusted: true },
                    _ => Attempt::again(why),
                });
            }
        };
        let mut stopped = false;
        let prepared = prepare(&mesh, &mut || watch.look_again().inspect_err(|_| stopped = true));
        let live = match prepared {
            Ok(live) => live,
            Err(error) => {
                let is_anothers = stopped || watch.has_another_left(&mesh)?;
                let why = watch.leave(&watch.dead(Some(&mesh)), error.to_string())?;
                return if is_anothers { Ok(Attempt::again(why)) } else { Err(error) };
            }
        };
        let mut view = self.surely(watch.client, &Step::Stand { process: self.own(), round }, end)?;
        loop {
            match view {
                View::Committed => return Ok(Attempt::Done(mesh, live)),
                View::Aborted { why } => return Ok(Attempt::again(why)),
                View::Refused(refusal) => return Err(self.refused(&refusal)),
                View::Open { .. } | View::Claimed { .. } => {}
            }
            let dead = watch.dead(Some(&mesh));
            let step = if !dead.is_empty() {
                self.to_leave(round, &dead, format!("processes {dead:?} were lost"))
            } else if Clock::SYSTEM.now() >= end {
                self.to_leave(round, &[], format!("not all processes were connected within {:?}", self.limit))
            } else {
                self.to_look(round, u64::MAX)
            };
            view = self.surely(watch.client, &step, end)?;
        }
    }

    /// Waits until all have come: the round, the epoch and its members. `Ok(Err)`: the round was aborted.
    #[expect(clippy::type_complexity, reason = "what was claimed")]
    fn come(
        &self,
        client: &mut Client,
        card: &Card,
        end: Instant,
    ) -> Result<std::result::Result<(u64, u64, Vec<(u32, Card)>), String>> {
        let mut told = self.suspects();
        let come = |client: &mut Client, suspects: &[u32]| {
            client.step(&Step::Come {
                process: self.own(),
                mode: self.mode,
                epoch: self.old.map_or(0, |old| old.epoch),
                suspects: suspects.to_vec(),
                card: card.clone(),
            })
        };
        let (mut view, mut differs) = (come(client, &told)?, None);
        loop {
            let (round, version, missing) = match view {
                // Those who want something else may give up on it before this process does.
                View::Refused(refusal @ Refusal::Mode(_)) if Clock::SYSTEM.now() < end => {
                    differs = Some(refusal);
                    self.owner_lives()?;
                    crate::core::clock::pause(Duration::from_millis(LOOK.into()));
                    told = self.suspects();
                    view = come(client, &told)?;
                    continue;
                }
                View::Claimed { round, epoch, members, .. }
                    if members.iter().any(|(number, _)| *number == self.own()) =>
                {
                    return Ok(Ok((round, epoch, members)));
                }
                View::Claimed { round, version, .. } => (round, version, Vec::new()),
                View::Open { round, version, missing } => (round, version, missing),
                View::Committed => return Err(Error::library("internal error: a round without this process")),
                View::Aborted { why } => return Ok(Err(why)),
                View::Refused(refusal) => return Err(self.refused(&refusal)),
            };
            if Clock::SYSTEM.now() >= end {
                let cause = format!("processes {missing:?} did not come to the store within {:?}", self.limit);
                match self.leave(client, round, &[], cause.clone())? {
                    View::Claimed { .. } => {} // it was claimed just now, and is aborted by that
                    _ => {
                        return Err(
                            differs.map_or_else(|| self.lost(&missing, cause), |differs| self.refused(&differs))
                        );
                    }
                }
            }
            self.owner_lives()?;
            let suspects = self.suspects();
            view = if suspects == told { self.look(client, round, version)? } else { come(client, &suspects)? };
            told = suspects;
        }
    }

    /// Carries out a step of a process that stands. If an answer is lost, the store may have committed the round: so it is asked
    /// again, by another connection. Each of these steps may be repeated.
    fn surely(&self, client: &mut Client, step: &Step, end: Instant) -> Result<View> {
        let mut answer = client.step(step);
        while let Err(broken) = &answer {
            self.owner_lives()?;
            let left = end.saturating_duration_since(Clock::SYSTEM.now());
            if left.is_zero() {
                let why = "whether the others have gone on with this process is not known; the next call tells";
                return Err(Error::library(format!(
                    "{broken}, and it was not reached again within {:?}: {why}",
                    self.limit
                )));
            }
            crate::core::clock::pause(Duration::from_millis(LOOK.into()));
            match client.again((left.min(RECONNECT), self.at_once)) {
                Ok(()) => answer = client.step(step),
                Err(ended) if self.at_once => return Err(ended),
                Err(_) => {} // until the end
            }
        }
        answer
    }

    fn to_look(&self, round: u64, version: u64) -> Step {
        Step::Look { process: self.own(), round, version, millis: LOOK }
    }

    fn to_leave(&self, round: u64, suspects: &[u32], why: String) -> Step {
        Step::Leave { process: self.own(), round, suspects: suspects.to_vec(), why }
    }

    fn look(&self, client: &mut Client, round: u64, version: u64) -> Result<View> {
        client.step(&self.to_look(round, version))
    }

    fn leave(&self, client: &mut Client, round: u64, suspects: &[u32], why: String) -> Result<View> {
        client.step(&self.to_leave(round, suspects, why))
    }

    #[cold]
    fn refused(&self, refusal: &Refusal) -> Error {
        let own = self.own();
        match refusal {
            Refusal::Taken => Error::invalid("process", format!("another process has come with the number {own}")),
            Refusal::Excluded { by } => {
                let by = by.map_or_else(|| "the others have".into(), |by| format!("process {by} has"));
                let cause =
                    format!("{by} lost this process, and they go on without it; it can join again as a replacement");
                self.lost(&[own], cause)
            }
            Refusal::Mode(other) => Error::invalid(
                "members",
                format!("{:?}, but others came for {other:?}; all must want the same", self.mode),
            ),
            Refusal::Invalid(why) => Error::invalid("processes", why.clone()),
            // The client has made errors of these.
            Refusal::Untrusted | Refusal::Memory(_) => Error::library("internal error: a refusal of the store"),
        }
    }
}

/// What a process looks at while it connects.
struct Watch<'w> {
    entry: &'w Entry<'w>,
    client: &'w mut Client,
    round: u64,
    members: &'w [(u32, Card)],
    end: Instant,
    looked: Instant,
}

impl Watch<'_> {
    /// The members that are lost. One that has come in the place of a lost one has its number, and lives.
    fn dead(&self, mesh: Option<&Mesh>) -> Vec<u32> {
        let is_old = |number: &u32| self.members.iter().any(|(member, card)| member == number && !card.replaces);
        let mut dead: Vec<u32> = self.entry.suspects().into_iter().filter(is_old).collect();
        dead.extend(mesh.map(Mesh::dead).unwrap_or_default());
        dead
    }

    /// Whether another process has given up this round, or is lost: then what fails here may fail because of that. It
    /// may be known a moment later.
    fn has_another_left(&mut self, mesh: &Mesh) -> Result<bool> {
        for _ in 0..50 {
            if mesh.is_lost() || !mesh.absent().is_empty() {
                return Ok(true);
            }
            match self.entry.look(self.client, self.round, u64::MAX)? {
                View::Aborted { .. } => return Ok(true),
                View::Refused(refusal) => return Err(self.entry.refused(&refusal)),
                View::Open { .. } | View::Claimed { .. } | View::Committed => {}
            }
        }
        Ok(false)
    }

    /// An error if there is no use in going on: the limit has passed, a member is lost, or the round was aborted.
    fn look_again(&mut self) -> Result<()> {
        let now = Clock::SYSTEM.now();
        if now >= self.end {
            return Err(Error::library("the processes did not connect in time"));
        }
        if now.duration_since(self.looked) < Duration::from_millis(LOOK.into()) {
            return Ok(());
        }
        self.looked = now;
        let dead = self.dead(None);
        if !dead.is_empty() {
            return Err(Error::library(format!("processes {dead:?} were lost")));
        }
        let look = Step::Look { process: self.entry.own(), round: self.round, version: u64::MAX, millis: 0 };
        match self.client.step(&look)? {
            View::Aborted { why } => Err(Error::library(why)),
            View::Refused(refusal) => Err(self.entry.refused(&refusal)),
            View::Open { .. } | View::Claimed { .. } | View::Committed => Ok(()),
        }
    }

    /// This process cannot go on in this round: why it was aborted, by this process or by another before.
    fn leave(&mut self, dead: &[u32], why: String) -> Result<String> {
        match self.entry.leave(self.client, self.round, dead, why.clone())? {
            View::Aborted { why } => Ok(why),
            View::Refused(refusal) => Err(self.entry.refused(&refusal)),
            View::Open { .. } | View::Claimed { .. } | View::Committed => Ok(why),
        }
    }
}

#[cfg(test)]
mod tests;
