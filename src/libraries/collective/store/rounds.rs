//! Rounds: how the processes of a job agree on those of the next epoch.
//!
//! ```text
//!   open ── all have come ──> claimed ── all stand ──> committed: the next epoch
//!    ^  leave: taken back        │ one leaves, ends, or is lost
//!    └────── the next round <────┴──> aborted: the epoch stays as it was
//! ```
//!
//! A process *comes* with its card and with the processes that it takes for lost. When all have come that are not lost,
//! they are the *claimed* members. They connect, and each tells that it *stands*. Only when all stand, all of them leave
//! what they had. Each step is one change of the server's state, so a round has one outcome, the same for all; of an
//! aborted one nothing is left. **Who tells first is believed**: a process that was told lost is of no later epoch,
//! whatever it tells of the others.

use super::seal::Nonce;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// What a process tells of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::libraries::collective) struct Card {
    pub(in crate::libraries::collective) processes: u32,
    pub(in crate::libraries::collective) ranks: u32,
    pub(in crate::libraries::collective) on_gpus: bool,
    /// The elements that it sends carry tags.
    pub(in crate::libraries::collective) protects: bool,
    /// It comes in the place of one that is lost.
    pub(in crate::libraries::collective) replaces: bool,
    pub(in crate::libraries::collective) address: SocketAddr,
    pub(in crate::libraries::collective) nonce: Nonce,
}

impl Card {
    /// Why the process with this number cannot be a member beside this one: the argument that differs, and how.
    pub(in crate::libraries::collective) fn mismatch(
        &self,
        number: u32,
        other: &Card,
    ) -> Option<(&'static str, String)> {
        let differs = |what: &str, is_first: bool, [first, second]: [&str; 2]| {
            let (own, theirs) = if is_first { (first, second) } else { (second, first) };
            format!("the {what} of this process are {own}, those of process {number} are {theirs}")
        };
        if self.on_gpus != other.on_gpus {
            return Some(("devices", differs("ranks", self.on_gpus, ["GPUs", "host devices"])));
        }
        let protected = || differs("elements", self.protects, ["protected", "not protected"]);
        (self.protects != other.protects).then(|| ("protect_data", protected()))
    }
}

/// What a process wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::libraries::collective) enum Mode {
    /// The first epoch, of all processes of the job.
    Join,
    /// The next epoch, of those that are left.
    Survivors,
    /// The next epoch, with a newcomer in the place of each that is lost.
    Replaced,
    /// To be such a newcomer.
    Newcomer,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::libraries::collective) enum Step {
    /// This process has come, or has more to tell. `epoch` is the one that it is of.
    Come { process: u32, mode: Mode, epoch: u64, suspects: Vec<u32>, card: Card },
    /// Answered when more than `version` is known of the round, or after so many milliseconds.
    Look { process: u32, round: u64, version: u64, millis: u32 },
    /// This process is connected with all other members.
    Stand { process: u32, round: u64 },
    /// This process does not wait any longer, because of these or for another reason.
    Leave { process: u32, round: u64, suspects: Vec<u32>, why: String },
}

/// What a process is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::libraries::collective) enum View {
    Open { round: u64, version: u64, missing: Vec<u32> },
    Claimed { round: u64, version: u64, epoch: u64, members: Vec<(u32, Card)> },
    Committed,
    Aborted { why: String },
    Refused(Refusal),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::libraries::collective) enum Refusal {
    /// Another process has come with this number.
    Taken,
    /// The others have lost this process, or have gone on without it.
    Excluded { by: Option<u32> },
    /// Others have come who want something else.
    Mode(Mode),
    /// What the process told does not fit.
    Invalid(String),
    /// What has come by its connection is not what it sent.
    Untrusted,
    /// The store was refused so many bytes.
    Memory(u64),
}

/// All rounds of a job: the one that is under way, and how the earlier ones ended.
#[derive(Default)]
pub(super) struct Rounds {
    round: u64,
    /// Counts what all have to know of the round.
    version: u64,
    mode: Option<Mode>,
    cards: BTreeMap<u32, Card>,
    newcomers: BTreeMap<u32, Card>,
    /// Who was lost since the epoch began, and who told.
    lost: BTreeMap<u32, u32>,
    /// The members, once they are claimed.
    claimed: Option<BTreeMap<u32, Card>>,
    stand: BTreeSet<u32>,
    /// The number of the next epoch.
    epoch: u64,
    /// The processes of the epoch, and how many ranks each has. None before the first.
    members: BTreeMap<u32, u32>,
    /// The members of each round that was committed; why each other was aborted.
    past: BTreeMap<u64, Result<BTreeSet<u32>, String>>,
    /// What no further round can heal.
    fatal: Option<String>,
}

impl Rounds {
    /// Carries out a step. The answer, and whether others are to be woken.
    pub(super) fn step(&mut self, step: Step) -> (View, bool) {
        let before = (self.round, self.version);
        let view = match step {
            Step::Come { process, mode, epoch, suspects, card } => {
                match self.come(process, (mode, epoch), &suspects, card) {
                    Ok(()) => self.view(process, self.round),
                    Err(refusal) => View::Refused(refusal),
                }
            }
            Step::Look { process, round, .. } => self.view(process, round),
            Step::Stand { process, round } => {
                self.stands(process, round);
                self.view(process, round)
            }
            Step::Leave { process, round, suspects, why } => {
                self.leave(process, round, &suspects, why);
                self.view(process, round)
            }
        };
        (view, (self.round, self.version) != before)
    }

    /// About the bytes that a step takes.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.cards.len() + self.newcomers.len() + self.members.len() + 1) * size_of::<(u32, Card)>()
    }

    /// Whether more is known of the round than that.
    pub(super) fn is_past(&self, round: u64, version: u64) -> bool {
        self.round != round || self.version > version || self.fatal.is_some()
    }

    /// The connection is closed by which a process has come with that nonce. It may have come again by another since.
    pub(super) fn gone(&mut self, process: u32, nonce: Nonce) {
        let of = |cards: &BTreeMap<u32, Card>| cards.get(&process).is_some_and(|card| card.nonce == nonce);
        if of(&self.cards) || of(&self.newcomers) || self.claimed.as_ref().is_some_and(of) {
            self.leave(process, self.round, &[], format!("process {process} left the store"));
        }
    }

    fn come(&mut self, process: u32, (mode, epoch): (Mode, u64), suspects: &[u32], card: Card) -> Result<(), Refusal> {
        let invalid = |why: String| Err(Refusal::Invalid(why));
        let claimed = self.claimed.as_ref().is_some_and(|members| members.contains_key(&process));
        match mode {
            Mode::Join if self.epoch > 0 => {
                return invalid("the job has come together before; join as a replacement of a lost process".into());
            }
            Mode::Join if claimed => return Err(Refusal::Taken),
            Mode::Join => {
                if let Some(other) = self.cards.values().find(|other| other.processes != card.processes) {
                    let told = (other.processes, card.processes);
                    let why = format!("one process was told of {} processes, another of {}", told.0, told.1);
                    self.fatal = Some(why.clone());
                    return invalid(why);
                }
            }
            Mode::Newcomer if self.epoch > 0 => match self.members.get(&process) {
                None => return invalid(format!("no process {process} is of the job now")),
                Some(ranks) if *ranks != card.ranks => {
                    return invalid(format!("process {process} had {ranks} ranks, this one has {}", card.ranks));
                }
                Some(_) => {}
            },
            Mode::Newcomer => {}
            Mode::Survivors | Mode::Replaced => {
                if epoch + 1 != self.epoch || !self.members.contains_key(&process) {
                    return Err(Refusal::Excluded { by: None });
                }
                if let Some(by) = self.lost.get(&process) {
                    return Err(Refusal::Excluded { by: Some(*by) });
                }
                if claimed {
                    self.next(Err(format!("process {process} came again")));
                }
                self.believe(process, suspects);
            }
        }
        if mode == Mode::Newcomer {
            return Self::enter(&mut self.newcomers, process, card).map(|()| self.claim());
        }
        let have_others_come = self.cards.keys().any(|other| *other != process);
        match self.mode.filter(|other| have_others_come && *other != mode) {
            Some(other) => return Err(Refusal::Mode(other)),
            None => self.mode = Some(mode),
        }
        if self.epoch > 0 {
            // A process of the epoch that comes again: it has lost its connection, which may be noticed here later.
            self.cards.remove(&process);
        }
        Self::enter(&mut self.cards, process, card).map(|()| self.claim())
    }

    fn enter(cards: &mut BTreeMap<u32, Card>, process: u32, card: Card) -> Result<(), Refusal> {
        match cards.get(&process) {
            Some(other) if other.nonce != card.nonce => Err(Refusal::Taken),
            _ => {
                cards.insert(process, card);
                Ok(())
            }
        }
    }

    /// What `process` tells of others.
    fn believe(&mut self, process: u32, suspects: &[u32]) {
        for suspect in suspects.iter().filter(|suspect| **suspect != process) {
            if !self.members.contains_key(suspect) || self.lost.contains_key(suspect) {
                continue;
            }
            self.lost.insert(*suspect, process);
            self.version += 1;
            self.cards.remove(suspect);
            if self.claimed.as_ref().is_some_and(|members| members.contains_key(suspect)) {
                self.next(Err(format!("process {process} lost process {suspect}")));
            }
        }
    }

    /// The processes that are awaited.
    fn missing(&self) -> Vec<u32> {
        let absent = |process: &u32| !self.cards.contains_key(process);
        match self.mode {
            Some(Mode::Survivors) => self.living().filter(absent).collect(),
            Some(Mode::Replaced) => {
                let unreplaced = self.lost.keys().filter(|process| !self.newcomers.contains_key(process)).copied();
                let mut missing: Vec<u32> = self.living().filter(absent).chain(unreplaced).collect();
                missing.sort_unstable();
                missing
            }
            Some(Mode::Join) => {
                let processes = self.cards.values().next().map_or(0, |card| card.processes);
                (0..processes).filter(absent).collect()
            }
            Some(Mode::Newcomer) | None => self.living().collect(),
        }
    }

    fn living(&self) -> impl Iterator<Item = u32> {
        self.members.keys().filter(|process| !self.lost.contains_key(process)).copied()
    }

    /// Claims the next epoch, if all have come.
    fn claim(&mut self) {
        if self.claimed.is_some() || self.cards.is_empty() || !self.missing().is_empty() {
            return;
        }
        let mut members = self.cards.clone();
        if self.mode == Some(Mode::Replaced) {
            let newcomers =
                self.lost.keys().filter_map(|process| Some((*process, self.newcomers.get(process)?.clone())));
            members.extend(newcomers);
        }
        self.claimed = Some(members);
        self.stand.clear();
        self.version += 1;
    }

    fn stands(&mut self, process: u32, round: u64) {
        let Some(members) = self.claimed.as_ref().filter(|_| round == self.round) else { return };
        if !members.contains_key(&process) {
            return;
        }
        self.stand.insert(process);
        if self.stand.len() < members.len() {
            return;
        }
        self.members = members.iter().map(|(process, card)| (*process, card.ranks)).collect();
        self.lost.clear();
        self.epoch += 1;
        self.next(Ok(self.members.keys().copied().collect()));
    }

    fn leave(&mut self, process: u32, round: u64, suspects: &[u32], why: String) {
        if round != self.round {
            return;
        }
        let claimed = self.claimed.as_ref().is_some_and(|members| members.contains_key(&process));
        if !self.lost.contains_key(&process) {
            self.believe(process, suspects);
        }
        if self.round == round && claimed {
            self.next(Err(why));
        }
        if self.round == round {
            self.cards.remove(&process);
            self.newcomers.remove(&process);
        }
    }

    /// The next round begins, without those that had come to this one.
    fn next(&mut self, outcome: Result<BTreeSet<u32>, String>) {
        self.past.insert(self.round, outcome);
        self.round += 1;
        self.version = 0;
        (self.mode, self.claimed) = (None, None);
        self.cards.clear();
        self.newcomers.clear();
    }

    fn view(&self, process: u32, round: u64) -> View {
        if let Some(why) = &self.fatal {
            return View::Refused(Refusal::Invalid(why.clone()));
        }
        match self.past.get(&round) {
            Some(Ok(members)) if members.contains(&process) => return View::Committed,
            Some(Ok(_)) => return View::Aborted { why: "the others have gone on without this process".into() },
            Some(Err(why)) => return View::Aborted { why: why.clone() },
            None => {}
        }
        let version = self.version;
        if let Some(members) = &self.claimed {
            let members = members.iter().map(|(process, card)| (*process, card.clone())).collect();
            return View::Claimed { round: self.round, version, epoch: self.epoch, members };
        }
        if let Some(by) = self.lost.get(&process).filter(|_| !self.newcomers.contains_key(&process)) {
            return View::Refused(Refusal::Excluded { by: Some(*by) });
        }
        View::Open { round: self.round, version, missing: self.missing() }
    }
}

#[cfg(test)]
#[path = "rounds_tests.rs"]
mod tests;
