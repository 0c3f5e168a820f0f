//! Signs of life: each process sends a byte to each other several times in the time after which silence means loss.

use super::State;
use crate::core::clock::Clock;
use crate::core::sync::{Arc, Ordering};
use crate::system::sockets::{Watched, wait};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

const ALIVE: u8 = 1;
/// Sent by a process that drops the communicator.
const BYE: u8 = 2;
/// Sent by a process in which a collective has ended half-way.
const GAVE_UP: u8 = 3;

struct Peer {
    process: usize,
    socket: TcpStream,
    heard: Instant,
}

/// What was heard of a peer.
enum Heard {
    Nothing,
    Life,
    Bye,
    GaveUp,
    End(String),
}

/// Watches the other processes until this one drops the communicator, or all of them are gone.
pub(super) fn watch(state: &Arc<State>, sockets: Vec<Option<TcpStream>>, silence: Duration) {
    let now = Clock::SYSTEM.now();
    let mut peers: Vec<Peer> = sockets
        .into_iter()
        .enumerate()
        .filter_map(|(process, socket)| Some(Peer { process, socket: socket?, heard: now }))
        .collect();
    let pace = (silence / 6).clamp(Duration::from_millis(5), Duration::from_millis(250));
    let mut told: Option<Instant> = None;
    while !peers.is_empty() {
        let closing = state.closing.load(Ordering::SeqCst);
        let sign = match state.gave_up.load(Ordering::SeqCst) {
            _ if closing => BYE,
            true => GAVE_UP,
            false => ALIVE,
        };
        let now = Clock::SYSTEM.now();
        if closing || told.is_none_or(|told| now.duration_since(told) >= pace) {
            // A full buffer means that the other does not read: its silence, or ours, ends the connection in time.
            peers.iter().for_each(|peer| drop((&peer.socket).write(&[sign])));
            told = Some(now);
        }
        if closing {
            peers.iter().for_each(|peer| drop(peer.socket.shutdown(Shutdown::Write)));
            return;
        }
        let watched: Vec<Watched<'_>> =
            peers.iter().map(|peer| Watched { socket: &peer.socket, reads: true, writes: false }).collect();
        let began = Clock::SYSTEM.now();
        wait(&watched, pace.min(Duration::from_millis(20)));
        // A process that was stopped itself must not take the others for silent.
        let slept = Clock::SYSTEM.now().duration_since(began).saturating_sub(pace);
        peers.iter_mut().for_each(|peer| peer.heard += slept);
        peers.retain_mut(|peer| stays(state, peer, silence));
    }
}

/// Whether the peer is still to be watched.
fn stays(state: &State, peer: &mut Peer, silence: Duration) -> bool {
    let now = Clock::SYSTEM.now();
    let lose = |why: &str| {
        state.lose(&[peer.process], &format!("process {} {why}", peer.process));
        false
    };
    match hear(&peer.socket) {
        Heard::Life => peer.heard = now,
        Heard::Bye => return false, // what it has sent before can still be received
        Heard::GaveUp => return lose("gave up on a collective"),
        Heard::End(why) => return lose(&format!("ended ({why})")),
        Heard::Nothing if now.duration_since(peer.heard) >= silence => {
            return lose(&format!("gave no sign of life for {silence:?}"));
        }
        Heard::Nothing => {}
    }
    true
}

fn hear(mut socket: &TcpStream) -> Heard {
    let (mut bytes, mut heard) = ([0; 64], Heard::Nothing);
    loop {
        match socket.read(&mut bytes) {
            Ok(0) => return Heard::End("its connection is closed".into()),
            Ok(len) if bytes.iter().take(len).any(|byte| *byte == BYE) => return Heard::Bye,
            Ok(len) if bytes.iter().take(len).any(|byte| *byte == GAVE_UP) => return Heard::GaveUp,
            Ok(_) => heard = Heard::Life,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return heard,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Heard::End(error.to_string()),
        }
    }
}
