//! Signs of life: each process sends one to each other several times in the time after which silence means loss. What it has
//! noticed itself it tells the others.

use super::State;
use crate::core::sync::{Arc, Ordering};
use crate::system::sockets::{Watched, wait};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The bytes of a sign: what it is, and the process that it tells of.
const SIGN: usize = 5;
type Sign = [u8; SIGN];

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

struct Peer {
    process: usize,
    socket: TcpStream,
    heard: Instant,
    /// What could not be sent yet, and the bytes of a sign that has come in part.
    unsent: Vec<u8>,
    partial: Vec<u8>,
    stays: bool,
}

/// Watches the other processes until this one drops the communicator, or all of them are gone.
pub(super) fn watch(state: &Arc<State>, sockets: Vec<Option<TcpStream>>, silence: Duration) {
    let now = state.clock.now();
    let peer = |(process, socket): (usize, Option<TcpStream>)| {
        let (unsent, partial, stays) = (Vec::new(), Vec::new(), true);
        Some(Peer { process, socket: socket?, heard: now, unsent, partial, stays })
    };
    let mut peers: Vec<Peer> = sockets.into_iter().enumerate().filter_map(peer).collect();
    let pace = (silence / 6).clamp(Duration::from_millis(5), Duration::from_millis(250));
    let mut told: Option<Instant> = None;
    let (mut told_lost, mut told_gave_up) = (0, false);
    while !peers.is_empty() {
        let closing = state.closing.load(Ordering::SeqCst);
        let mut signs = Vec::new();
        for dead in state.loss.lock().dead.iter().skip(told_lost) {
            signs.push(sign(LOST, *dead));
            told_lost += 1;
        }
        let gave_up = state.gave_up.load(Ordering::SeqCst);
        if gave_up > 0 && !told_gave_up {
            signs.push(sign(GAVE_UP, gave_up - 1));
            told_gave_up = true;
        }
        let now = state.clock.now();
        if closing {
            signs.push(sign(BYE, state.own));
        } else if told.is_none_or(|told| now.duration_since(told) >= pace) {
            signs.push(sign(ALIVE, state.own));
            told = Some(now);
        }
        peers.iter_mut().for_each(|peer| peer.tell(&signs));
        if closing {
            peers.iter().for_each(|peer| drop(peer.socket.shutdown(Shutdown::Write)));
            return;
        }
        let watched: Vec<Watched<'_>> =
            peers.iter().map(|peer| Watched { socket: &peer.socket, reads: true, writes: false }).collect();
        let began = state.clock.now();
        wait(&watched, pace.min(Duration::from_millis(20)));
        // A process that was stopped itself must not take the others for silent.
        let slept = state.clock.now().duration_since(began).saturating_sub(pace);
        for peer in &mut peers {
            peer.heard += slept;
            peer.hear(state, silence);
        }
        // One that is lost is told so, and not believed any more.
        let lost = state.loss.lock().dead.len();
        if lost == told_lost {
            let dead = state.loss.lock().dead.clone();
            peers.retain(|peer| peer.stays && !dead.contains(&peer.process));
        }
    }
}

impl Peer {
    /// A full buffer means that the other does not read: its silence, or ours, ends the connection in time.
    fn tell(&mut self, signs: &[Sign]) {
        if self.unsent.len() < 64 * SIGN {
            self.unsent.extend(signs.iter().flatten());
        }
        while let Ok(sent @ 1..) = (&self.socket).write(&self.unsent) {
            self.unsent.drain(..sent.min(self.unsent.len()));
            if self.unsent.is_empty() {
                break;
            }
        }
    }

    fn hear(&mut self, state: &State, silence: Duration) {
        if !self.stays || state.loss.lock().dead.contains(&self.process) {
            return;
        }
        let number = state.number(self.process);
        let mut bytes = [0; 64 * SIGN];
        loop {
            match (&self.socket).read(&mut bytes) {
                Ok(0) => return self.lose(state, "ended (its connection is closed)"),
                Ok(len) => {
                    self.heard = state.clock.now();
                    self.partial.extend_from_slice(bytes.get(..len).unwrap_or_default());
                    let whole = self.partial.len() - self.partial.len() % SIGN;
                    let signs: Vec<u8> = self.partial.drain(..whole).collect();
                    for sign in signs.chunks_exact(SIGN) {
                        let (kind, of) = sign.split_first().unwrap_or((&ALIVE, &[]));
                        let of = of.try_into().map_or(usize::MAX, |of| u32::from_le_bytes(of) as usize);
                        self.heed(state, number, (*kind, of));
                        if !self.stays {
                            return;
                        }
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.lose(state, &format!("ended ({error})")),
            }
        }
        if state.clock.now().duration_since(self.heard) >= silence {
            self.lose(state, &format!("gave no sign of life for {silence:?}"));
        }
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
