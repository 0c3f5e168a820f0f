//! One collective after the other, each agreed on by all processes.

use super::header::{HEADER, Header, after, fails, header, told};
use super::received::Received;
use super::wire::{Broken, Traffic, carry};
use super::{Data, Mesh, SMALL};
use crate::core::clock;
use crate::core::error::{Error, Result};
use crate::core::room;
use crate::core::sync::Ordering;
use crate::libraries::collective::spec::{Layout, Spec};
use crate::libraries::collective::store::TAG;
use std::time::Duration;

/// The name of the code of a collective that could not run elsewhere.
pub(in crate::libraries::collective) const SKIPPED: &str = "skipped";

/// A collective of this process: the one with that number, on the connections of the mesh.
pub(in crate::libraries::collective) struct Running<'r> {
    pub(super) mesh: &'r Mesh,
    data: &'r Data,
    pub(super) spec: &'r Spec,
    sequence: u64,
}

/// What a process brings to a collective.
pub(in crate::libraries::collective) struct Brought<'b> {
    pub(in crate::libraries::collective) sequence: u64,
    /// What each rank of this process sends to all with the header, so that few bytes take one message; as long for each, of
    /// [`SMALL`] bytes at most.
    pub(in crate::libraries::collective) small: &'b [&'b [u8]],
    /// Memory for what the other ranks send with theirs.
    pub(in crate::libraries::collective) received: &'b mut Received,
    /// Why this process cannot carry it out: the others are told, and it fails in all of them.
    pub(in crate::libraries::collective) refusal: Option<Error>,
}

/// Carries out the collective with this number, which is the next: those before are complete. `part` is done when all processes
/// have agreed on it, with what was received.
pub(in crate::libraries::collective) fn in_turn(
    mesh: &Mesh,
    (spec, layout): (&Spec, &Layout),
    brought: Brought<'_>,
    part: &mut dyn FnMut(&Running<'_>, &mut Received) -> Result<()>,
) -> Result<()> {
    let Brought { sequence, small, received, refusal } = brought;
    let mut data = mesh.data.lock();
    if mesh.state.is_lost() {
        return Err(mesh.lost(sequence, spec.kind.name()));
    }
    while data.next < sequence {
        Running { mesh, data: &data, spec, sequence: data.next }.pass(layout);
        if mesh.state.is_lost() {
            return Err(mesh.lost(sequence, spec.kind.name()));
        }
        data.next += 1;
    }
    let running = Running { mesh, data: &data, spec, sequence };
    let outcome = match refusal {
        Some(refusal) => {
            running.pass(layout);
            Err(refusal)
        }
        None => {
            let header = header(spec, layout, sequence, false, small.first().map_or(0, |bytes| bytes.len()));
            match running.agree(&header, small, received) {
                Ok(()) => part(&running, received).inspect_err(|error| running.end_half_way(error)),
                Err(error) => Err(error),
            }
        }
    };
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
                Running { mesh: self, data: &data, spec: &spec, sequence }.pass(&layout);
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
        let running = Running { mesh: self, data: &data, spec: &spec, sequence: 0 };
        let all = running.round(&own.unwrap_or([0; N]))?;
        all.first_chunk::<N>().copied().ok_or_else(|| Error::library("internal error: a mesh without processes"))
    }
}

impl Running<'_> {
    pub(super) fn processes(&self) -> usize {
        self.mesh.ranks.len()
    }

    pub(super) fn is_own(&self, process: usize) -> bool {
        process == self.mesh.process
    }

    pub(super) fn traffic<'b>(&self) -> Result<Vec<Traffic<'b>>> {
        room::collected((0..self.processes()).map(|_| Traffic::new(self.mesh.protects)))
    }

    /// The others have begun, and cannot end without this process, in which something has failed. (What is refused with other
    /// errors is refused by all.)
    fn end_half_way(&self, error: &Error) {
        if !matches!(error, Error::InvalidArgument { .. } | Error::Unsupported { .. } | Error::CollectiveLost { .. }) {
            self.mesh.resign(&format!("a collective ended half-way in one process: {error}"));
        }
    }

    /// Carries out the traffic, or loses the communicator.
    pub(super) fn carry(&self, traffic: &mut [Traffic<'_>]) -> Result<()> {
        let state = &self.mesh.state;
        traffic.iter_mut().try_for_each(Traffic::close)?;
        let Err(broken) = carry(self.data, state, traffic, self.mesh.patience) else { return Ok(()) };
        match broken {
            Broken::Lost => {}
            Broken::Forged(process) => state.distrust(process),
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
        Err(self.lost())
    }

    fn lost(&self) -> Error {
        self.mesh.lost(self.sequence, self.spec.kind.name())
    }

    /// What comes from this process is not what it sends.
    #[cold]
    fn forged(&self, process: usize) -> Error {
        self.mesh.state.distrust(process);
        self.lost()
    }

    /// Tells the others that this process cannot carry out the collective. If it cannot even tell that, the communicator is lost.
    fn pass(&self, layout: &Layout) {
        let header = header(self.spec, layout, self.sequence, true, 0);
        drop(self.agree(&header, &[], &mut Received::default()));
    }

    /// Exchanges headers with all others, which must be the same, and receives what came with them.
    fn agree(&self, header: &Header, small: &[&[u8]], received: &mut Received) -> Result<()> {
        let theirs = self.headers(header, small, received).inspect_err(|error| self.end_half_way(error))?;
        let differs = theirs.iter().position(|their| their.first_chunk() != Some(header));
        match differs.and_then(|process| Some((process, theirs.get(process)?))) {
            None if fails(header) => Err(Error::library("the collective could not run in this process")),
            None => Ok(()),
            Some((process, their)) => Err(self.disagreement(process, header, their)),
        }
    }

    /// The headers of all processes, with their tags. A tag is of the header and of what follows it.
    fn headers(&self, header: &Header, small: &[&[u8]], received: &mut Received) -> Result<Vec<[u8; HEADER + TAG]>> {
        let each = HEADER + TAG + small.iter().map(|bytes| bytes.len()).sum::<usize>();
        let mut mine: Vec<u8> = room::with_capacity(each * self.processes())?;
        for line in self.data.lines.iter().flatten() {
            let sent = &mut line.seals.lock().sent;
            sent.add(header);
            small.iter().for_each(|bytes| sent.add(bytes));
            mine.extend_from_slice(header);
            mine.extend_from_slice(sent.close().as_bytes());
            small.iter().for_each(|bytes| mine.extend_from_slice(bytes));
        }
        let mut theirs = room::filled(self.processes(), [0; HEADER + TAG])?;
        let mut traffic = self.traffic()?;
        let others = (0..self.processes()).filter(|process| !self.is_own(*process));
        for (process, mine) in others.zip(mine.chunks_exact(each)) {
            traffic.get_mut(process).into_iter().try_for_each(|traffic| traffic.send(mine))?;
        }
        for (process, (traffic, their)) in traffic.iter_mut().zip(&mut theirs).enumerate() {
            if self.is_own(process) {
                their.iter_mut().zip(header).for_each(|(their, own)| *their = *own);
            }
            traffic.receive(their)?;
        }
        self.carry(&mut traffic)?;
        drop(traffic);
        self.after_headers(&theirs, received)?;
        let mut ranks = 0;
        for (process, (line, their)) in self.data.lines.iter().zip(&theirs).enumerate() {
            let Some(line) = line else { continue };
            let seal = &mut line.seals.lock().received;
            let (header, tag) = their.split_at(HEADER);
            seal.add(header);
            for _ in self.mesh.ranks.get(process).cloned().unwrap_or_default() {
                seal.add(received.of(ranks).get(..after(their)).unwrap_or_default());
                ranks += 1;
            }
            if seal.check(tag).is_err() {
                return Err(self.forged(process));
            }
        }
        Ok(theirs)
    }

    /// Receives what follows the headers of others, also of those that have come to another collective.
    fn after_headers(&self, theirs: &[[u8; HEADER + TAG]], received: &mut Received) -> Result<()> {
        let most = theirs.iter().map(|their| after(their)).max().unwrap_or_default();
        if most == 0 {
            return Ok(());
        }
        if let Some(process) = theirs.iter().position(|their| after(their) > SMALL) {
            return Err(self.forged(process));
        }
        if !received.has(most) {
            *received = Received::new(self.mesh.size(), most)?;
        }
        let (mut traffic, mut rooms) = (self.traffic()?, received.rooms(most));
        for (process, ((ranks, their), traffic)) in self.mesh.ranks.iter().zip(theirs).zip(&mut traffic).enumerate() {
            if !self.is_own(process) {
                let mut rooms = rooms.by_ref().take(ranks.len()).filter_map(|room| room.get_mut(..after(their)));
                rooms.try_for_each(|room| traffic.receive(room))?;
            }
        }
        drop(rooms);
        self.carry(&mut traffic)
    }

    /// Sends each other process a message with a tag, and receives one from it: `mine` and `theirs` have one for each process.
    pub(super) fn tell(&self, mine: &[&[u8]], theirs: &mut [&mut [u8]]) -> Result<()> {
        let mut sent = room::filled(self.processes(), [0; TAG])?;
        let mut come = room::filled(self.processes(), [0; TAG])?;
        for ((line, mine), tag) in self.data.lines.iter().zip(mine).zip(&mut sent) {
            if let Some(line) = line {
                *tag = line.seals.lock().sent.tag(mine);
            }
        }
        let mut traffic = self.traffic()?;
        for ((traffic, mine), tag) in traffic.iter_mut().zip(mine).zip(&sent) {
            traffic.send(mine)?;
            traffic.send(tag)?;
        }
        for ((traffic, their), tag) in traffic.iter_mut().zip(&mut *theirs).zip(&mut come) {
            traffic.receive(their)?;
            traffic.receive(tag)?;
        }
        self.carry(&mut traffic)?;
        drop(traffic);
        for (process, ((line, their), tag)) in self.data.lines.iter().zip(theirs).zip(&come).enumerate() {
            let Some(line) = line else { continue };
            let seal = &mut line.seals.lock().received;
            seal.add(their);
            if seal.check(tag).is_err() {
                return Err(self.forged(process));
            }
        }
        Ok(())
    }

    /// Sends the same bytes to all others; returns those of each process in order.
    pub(super) fn round(&self, own: &[u8]) -> Result<Vec<u8>> {
        let mut all = room::zeroed(own.len() * self.processes())?;
        let mut theirs = room::collected(all.chunks_exact_mut(own.len().max(1)))?;
        theirs.get_mut(self.mesh.process).into_iter().for_each(|room| room.copy_from_slice(own));
        self.tell(&room::filled(self.processes(), own)?, &mut theirs)?;
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
