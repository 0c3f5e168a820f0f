//! One collective after the other, each agreed on by all processes.

use super::header::{Header, after, fails, header, told};
use super::received::Received;
use super::wire::{Broken, Traffic, carry};
use super::{Data, Mesh};
use crate::core::clock;
use crate::core::error::{Error, Result};
use crate::core::sync::Ordering;
use crate::libraries::collective::spec::{Layout, Spec};
use std::time::Duration;

/// The name of the code of a collective that could not run elsewhere.
pub(in crate::libraries::collective) const SKIPPED: &str = "skipped";

/// A collective of this process: the one with that number, on the connections of the mesh.
pub(in crate::libraries::collective) struct Running<'r> {
    pub(super) mesh: &'r Mesh,
    data: &'r Data,
    pub(super) spec: &'r Spec,
    sequence: u64,
    /// What the ranks of the other processes have sent with their headers.
    pub(super) with_headers: Received,
}

/// Carries out the collective with this number, which is the next: those before are complete. `part` is done when all processes
/// have agreed on it. `small`: what each rank of this process sends to all with the header, so that few bytes take one message;
/// as long for each, of [`SMALL`](super::SMALL) bytes at most.
pub(in crate::libraries::collective) fn in_turn(
    mesh: &Mesh,
    (spec, layout): (&Spec, &Layout),
    (sequence, small): (u64, &[&[u8]]),
    part: &mut dyn FnMut(&Running<'_>) -> Result<()>,
) -> Result<()> {
    let mut data = mesh.data.lock();
    if mesh.state.is_lost() {
        return Err(mesh.lost(sequence, spec.kind.name()));
    }
    while data.next < sequence {
        let skipped = Running::new(mesh, &data, spec, data.next);
        drop(skipped.agree(&header(spec, layout, skipped.sequence, true, 0)?, &[]));
        if mesh.state.is_lost() {
            return Err(mesh.lost(sequence, spec.kind.name()));
        }
        data.next += 1;
    }
    let mut running = Running::new(mesh, &data, spec, sequence);
    let header = header(spec, layout, sequence, false, small.first().map_or(0, |bytes| bytes.len()))?;
    let outcome = running.agree(&header, small).and_then(|received| {
        running.with_headers = received;
        part(&running)
    });
    data.next = sequence + 1;
    outcome
}

impl Mesh {
    /// The collective with this number cannot run in this process: the others are told when it is its turn.
    #[cfg(target_os = "linux")]
    pub(in crate::libraries::collective) fn skip(&self, sequence: u64) -> Result<()> {
        loop {
            let mut data = self.data.lock();
            if self.is_lost() || self.state.closing.load(Ordering::SeqCst) || data.next > sequence {
                return Ok(());
            }
            if data.next == sequence {
                let (spec, layout) = (Spec::barrier(), Layout { count: 0, ends: Vec::new(), moved: Vec::new() });
                let running = Running::new(self, &data, &spec, sequence);
                drop(running.agree(&header(&spec, &layout, sequence, true, 0)?, &[]));
                data.next += 1;
                return Ok(());
            }
            drop(data);
            clock::pause(Duration::from_millis(1));
        }
    }

    /// Waits until all have agreed on the collective with this number, and on those before.
    #[cfg(target_os = "linux")]
    pub(in crate::libraries::collective) fn await_turn(&self, sequence: u64) {
        while self.data.lock().next <= sequence && !self.is_lost() {
            clock::pause(Duration::from_millis(1));
        }
    }

    /// The same bytes for all processes: those of the first. For what they must know before their first collective.
    #[cfg(feature = "cuda")]
    pub(in crate::libraries::collective) fn share<const N: usize>(&self, own: Option<[u8; N]>) -> Result<[u8; N]> {
        let spec = Spec::barrier();
        let data = self.data.lock();
        let running = Running::new(self, &data, &spec, 0);
        let all = running.round(&own.unwrap_or([0; N]))?;
        all.first_chunk::<N>().copied().ok_or_else(|| Error::library("internal error: a mesh without processes"))
    }
}

impl<'r> Running<'r> {
    fn new(mesh: &'r Mesh, data: &'r Data, spec: &'r Spec, sequence: u64) -> Self {
        Running { mesh, data, spec, sequence, with_headers: Received::new(0, 0) }
    }

    pub(super) fn processes(&self) -> usize {
        self.mesh.ranks.len()
    }

    pub(super) fn is_own(&self, process: usize) -> bool {
        process == self.mesh.process
    }

    pub(super) fn traffic<'b>(&self) -> Vec<Traffic<'b>> {
        (0..self.processes()).map(|_| Traffic::default()).collect()
    }

    /// Carries out the traffic, or loses the communicator.
    pub(super) fn carry(&self, traffic: &mut [Traffic<'_>]) -> Result<()> {
        let state = &self.mesh.state;
        let Err(broken) = carry(self.data, state, traffic, self.mesh.patience) else { return Ok(()) };
        match broken {
            Broken::Lost => {}
            Broken::Ended(process, why) => {
                // The watching thread knows better which one ended first.
                for _ in 0..30 {
                    if state.is_lost() {
                        break;
                    }
                    clock::pause(Duration::from_millis(10));
                }
                if !state.is_lost() {
                    state.lose(process, &format!("process {} ended ({why})", state.number(process)));
                }
            }
            Broken::Late(processes) => {
                let patience = self.mesh.patience;
                let numbers: Vec<u32> = processes.iter().map(|process| state.number(*process)).collect();
                state.blame(&processes, &format!("processes {numbers:?} did not come within {patience:?}"));
                let first = processes.first().copied().unwrap_or(self.mesh.process);
                state.gave_up.store(first + 1, Ordering::SeqCst);
            }
        }
        Err(self.mesh.lost(self.sequence, self.spec.kind.name()))
    }

    /// Exchanges headers with all others, which must be the same. Returns what came with them.
    fn agree(&self, header: &Header, small: &[&[u8]]) -> Result<Received> {
        let mut theirs = vec![*header; self.processes()];
        let mut traffic = self.traffic();
        for (traffic, their) in traffic.iter_mut().zip(&mut theirs) {
            traffic.sends.push_back(header);
            traffic.sends.extend(small);
            traffic.receives.push_back(their);
        }
        self.carry(&mut traffic)?;
        drop(traffic);
        let received = self.after_headers(&theirs)?;
        let differs = theirs.iter().position(|their| their != header);
        match differs.and_then(|process| Some((process, theirs.get(process)?))) {
            None if fails(header) => Err(Error::library("the collective could not run in this process")),
            None => Ok(received),
            Some((process, their)) => Err(self.disagreement(process, header, their)),
        }
    }

    /// Receives what follows the headers of others, also of those that have come to another collective.
    fn after_headers(&self, theirs: &[Header]) -> Result<Received> {
        let most = theirs.iter().map(|their| after(their)).max().unwrap_or_default();
        let mut received = Received::new(if most > 0 { self.mesh.size() } else { 0 }, most);
        if most == 0 {
            return Ok(received);
        }
        let (mut traffic, mut rooms) = (self.traffic(), received.rooms(most));
        for (process, ((ranks, their), traffic)) in self.mesh.ranks.iter().zip(theirs).zip(&mut traffic).enumerate() {
            if !self.is_own(process) {
                traffic
                    .receives
                    .extend(rooms.by_ref().take(ranks.len()).filter_map(|room| room.get_mut(..after(their))));
            }
        }
        drop(rooms);
        self.carry(&mut traffic)?;
        drop(traffic);
        Ok(received)
    }

    /// Sends the same bytes to all others; returns those of each process in order.
    pub(super) fn round(&self, own: &[u8]) -> Result<Vec<u8>> {
        let mut all = vec![0; own.len() * self.processes()];
        let mut traffic = self.traffic();
        for ((process, room), traffic) in all.chunks_exact_mut(own.len().max(1)).enumerate().zip(&mut traffic) {
            if self.is_own(process) {
                room.copy_from_slice(own);
            } else {
                traffic.sends.push_back(own);
                traffic.receives.push_back(room);
            }
        }
        self.carry(&mut traffic)?;
        drop(traffic);
        Ok(all)
    }

    #[cold]
    fn disagreement(&self, process: usize, own: &Header, their: &[u8]) -> Error {
        let ranks = self.mesh.ranks.get(process).cloned().unwrap_or_default();
        if fails(their) {
            let what = "their inputs have failed, or it was refused";
            let error =
                Error::library(format!("collective {} could not run on ranks {ranks:?}: {what}", self.sequence));
            return error.locate(|site| {
                site.set_code(1, SKIPPED);
            });
        }
        let what = format!(
            "ranks {ranks:?} came to collective {} with {}, this process with {}; all must call the same",
            self.sequence,
            told(their),
            told(own)
        );
        Error::invalid("collective", what)
    }
}
