//! Signs of life: each process sends one to each other several times in the time after which silence means loss. What it has
//! noticed itself it tells the others.

use super::{Line, State};
use crate::core::clock::{self, Clock};
use crate::core::error::Result;
use crate::core::room;
use crate::core::sync::{Arc, Ordering};
use crate::libraries::collective::store::{Seals, TAG};
use crate::system::sockets::{Watched, wait};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The bytes of a sign: what it is, and the process that it tells of.
const SIGN: usize = 5;
type Sign = [u8; SIGN];
/// With its tag.
const SEALED: usize = SIGN + TAG;
/// The most signs that wait to be sent to a process.
const WAITING: usize = 64;

const ALIVE: u8 = 1;
/// Of a process that drops the communicator.
const BYE: u8 = 2;
/// Of a process in which a collective has ended half-way, because of that process.
const GAVE_UP: u8 = 3;
/// Of a process that has lost that one.
const LOST: u8 = 4;

fn sign(kind: u8, process: usize) -> Sign {
    let [a, b, c, d] = u32::try_from(process).unwrap_or(u32::MAX).to_le_bytes();
    [kind, a, b, c, d]
}

/// Another process, and the connection for signs of life.
pub(super) struct Peer {
    process: usize,
    socket: TcpStream,
    seals: Seals,
    heard: Instant,
    /// What could not be sent yet.
    unsent: Vec<u8>,
    /// A sign that has come in part.
    partial: ([u8; SEALED], usize),
    /// Not what that process sends has come: nothing more is believed.
    distrusted: bool,
    stays: bool,
}

impl Peer {
    pub(super) fn all(lines: Vec<Option<Line>>, clock: Clock) -> Result<Vec<Peer>> {
        let mut all = room::with_capacity(lines.len())?;
        for (process, line) in lines.into_iter().enumerate() {
            let Some(Line { socket, seals }) = line else { continue };
            let (seals, heard, unsent) = (seals.into_inner(), clock.now(), room::with_capacity(WAITING * SEALED)?);
            let (partial, distrusted, stays) = (([0; SEALED], 0), false, true);
            all.push(Peer { process, socket, seals, heard, unsent, partial, distrusted, stays });
        }
        Ok(all)
    }
}

/// Watches the other processes until this one drops the communicator, or all of them are gone.
pub(super) fn watch(state: &Arc<State>, mut peers: Vec<Peer>, silence: Duration) {
    let pace = (silence / 6).clamp(Duration::from_millis(5), Duration::from_millis(250));
    let mut told: Option<Instant> = None;
    let (mut told_lost, mut told_gave_up) = (0, false);
    while !peers.is_empty() {
        let closing = state.closing.load(Ordering::SeqCst);
        let mut tell = |sign: Sign| peers.iter_mut().for_each(|peer| peer.tell(sign));
        for dead in state.loss.lock().dead.iter().skip(told_lost) {
            tell(sign(LOST, *dead));
            told_lost += 1;
        }
        let gave_up = state.gave_up.load(Ordering::SeqCst);
        if gave_up > 0 && !told_gave_up {
            tell(sign(GAVE_UP, gave_up - 1));
            told_gave_up = true;
        }
        let now = state.clock.now();
        if closing {
            tell(sign(BYE, state.own));
        } else if told.is_none_or(|told| now.duration_since(told) >= pace) {
            tell(sign(ALIVE, state.own));
            told = Some(now);
        }
        peers.iter_mut().for_each(Peer::send);
        if closing {
            peers.iter().for_each(|peer| drop(peer.socket.shutdown(Shutdown::Write)));
            return;
        }
        let watched =
            room::collected(peers.iter().map(|peer| Watched { socket: &peer.socket, reads: true, writes: false }));
        let began = state.clock.now();
        match watched {
            Ok(watched) => wait(&watched, pace.min(Duration::from_millis(20))),
            Err(_) => clock::pause(Duration::from_millis(1)),
        }
        // A process that was stopped itself must not take the others for silent.
        let slept = state.clock.now().duration_since(began).saturating_sub(pace);
        for peer in &mut peers {
            peer.heard += slept;
            peer.hear(state, silence);
        }
        // One that is lost is told so, and not believed any more.
        let loss = state.loss.lock();
        if loss.dead.len() == told_lost {
            peers.retain(|peer| peer.stays && !loss.dead.contains(&peer.process));
        }
    }
}

impl Peer {
    /// A full buffer means that the other does not read: its silence, or ours, ends the connection in time.
    fn tell(&mut self, sign: Sign) {
        if self.unsent.len() + SEALED <= WAITING * SEALED {
            self.unsent.extend_from_slice(&sign);
            self.unsent.extend_from_slice(&self.seals.sent.tag(&sign));
        }
    }

    fn send(&mut self) {
        while let Ok(sent @ 1..) = (&self.socket).write(&self.unsent) {
            self.unsent.drain(..sent.min(self.unsent.len()));
        }
    }

    fn hear(&mut self, state: &State, silence: Duration) {
        if !self.stays || state.loss.lock().dead.contains(&self.process) {
            return;
        }
        loop {
            let (partial, len) = &mut self.partial;
            let Some(room) = partial.get_mut(*len..) else { return };
            match (&self.socket).read(room) {
                Ok(0) if self.distrusted => self.stays = false, // it may have left: nothing says so
                Ok(0) => return self.lose(state, "ended (its connection is closed)"),
                Ok(got) => {
                    self.heard = state.clock.now();
                    *len += got;
                    if *len == SEALED {
                        *len = 0;
                        self.understand(state);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.lose(state, &format!("ended ({error})")),
            }
            if !self.stays {
                return;
            }
        }
        if state.clock.now().duration_since(self.heard) >= silence {
            self.lose(state, &format!("gave no sign of life for {silence:?}"));
        }
    }

    /// Heeds the sign that has come, if it is one of the other process.
    fn understand(&mut self, state: &State) {
        let (sign, tag) = self.partial.0.split_at(SIGN);
        self.seals.received.add(sign);
        self.distrusted |= self.seals.received.check(tag).is_err();
        if self.distrusted {
            return state.distrust(self.process);
        }
        let (kind, of) = sign.split_first().map_or((ALIVE, &[][..]), |(kind, of)| (*kind, of));
        let of = of.try_into().map_or(usize::MAX, |of| u32::from_le_bytes(of) as usize);
        self.heed(state, state.number(self.process), (kind, of));
    }

    fn heed(&mut self, state: &State, number: u32, (kind, of): (u8, usize)) {
        match kind {
            BYE => {
                self.stays = false; // what it has sent before can still be received
                state.loss.lock().left.push(self.process);
            }
            GAVE_UP if of == state.own => {
                state.blame(&[self.process], &format!("process {number} gave up waiting for this one"));
            }
            GAVE_UP => {
                let on =
                    if of == self.process { "on itself".into() } else { format!("on process {}", state.number(of)) };
                state.blame(&[of], &format!("process {number} gave up {on}"));
            }
            // The other lives, and is right: who tells the store first is believed, so nothing is told of it.
            LOST if of == state.own => {
                self.stays = false;
                state.blame(&[self.process], &format!("process {number} takes this one for lost"));
            }
            LOST if of < state.numbers.len() => {
                state.lose(of, &format!("process {number} has lost process {}", state.number(of)));
            }
            _ => {}
        }
    }

    fn lose(&mut self, state: &State, why: &str) {
        self.stays = false;
        state.lose(self.process, &format!("process {} {why}", state.number(self.process)));
    }
}

#[cfg(test)]
mod tests;
