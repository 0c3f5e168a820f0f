//! Sends to and receives from all others at once, on the thread of the communicator: so no order among the processes can make
//! them wait for each other.

use super::{Data, State};
use crate::core::clock;
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::collective::store::{Seal, TAG};
use crate::system::sockets::{Watched, wait};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What is sent to and received from one process, each in order.
#[derive(Default)]
pub(super) struct Traffic<'b> {
    /// Elements are covered by tags.
    protects: bool,
    sends: VecDeque<Out<'b>>,
    receives: VecDeque<In<'b>>,
}

enum Out<'b> {
    Plain(&'b [u8]),
    /// Of the message that the next `Close` ends.
    Covered(&'b [u8]),
    Close,
    /// A tag, and how many of its bytes are sent.
    Tag([u8; TAG], usize),
}

enum In<'b> {
    Plain(&'b mut [u8]),
    Covered(&'b mut [u8]),
    Tag([u8; TAG], usize),
}

/// Why traffic stopped.
pub(super) enum Broken {
    /// The connection to this process broke.
    Ended(usize, String),
    /// What comes by the connection to this process is not what it sends.
    Forged(usize),
    /// These processes did not come in time.
    Late(Vec<usize>),
    /// A process was lost.
    Lost,
}

enum Fault {
    Ended(String),
    Forged,
}

/// How many sockets a thread tries in vain before it sleeps, some 30 us: most answers to few bytes come in that time, and a
/// sleeping thread would see them later. (It does not give its processor away meanwhile: on a busy machine it would not get
/// it back soon.)
const TRIES: usize = 64;
/// How often a waiting thread looks whether a process was lost.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes that are sent or received at a time if they are hashed too: the processor's cache still holds them then.
const HASHED: usize = 256 << 10;

impl<'b> Traffic<'b> {
    pub(super) fn new(protects: bool) -> Self {
        Traffic { protects, ..Traffic::default() }
    }

    /// Sends bytes that need no tag, or have one.
    pub(super) fn send(&mut self, bytes: &'b [u8]) -> Result<()> {
        push(&mut self.sends, Out::Plain(bytes))
    }

    pub(super) fn receive(&mut self, room: &'b mut [u8]) -> Result<()> {
        push(&mut self.receives, In::Plain(room))
    }

    /// Sends elements.
    pub(super) fn send_data(&mut self, bytes: &'b [u8]) -> Result<()> {
        match bytes {
            [] => Ok(()),
            bytes if self.protects => push(&mut self.sends, Out::Covered(bytes)),
            bytes => self.send(bytes),
        }
    }

    pub(super) fn receive_data(&mut self, room: &'b mut [u8]) -> Result<()> {
        match room {
            [] => Ok(()),
            room if self.protects => push(&mut self.receives, In::Covered(room)),
            room => self.receive(room),
        }
    }

    /// What is covered is one message in each direction.
    pub(super) fn close(&mut self) -> Result<()> {
        if let Some(Out::Covered(_)) = self.sends.back() {
            push(&mut self.sends, Out::Close)?;
        }
        if let Some(In::Covered(_)) = self.receives.back() {
            push(&mut self.receives, In::Tag([0; TAG], 0))?;
        }
        Ok(())
    }

    fn is_open(&self) -> bool {
        !self.sends.is_empty() || !self.receives.is_empty()
    }
}

fn push<T>(all: &mut VecDeque<T>, item: T) -> Result<()> {
    all.try_reserve(1).map_err(|_| room::out_of_memory(2 * (all.len() + 1) * size_of::<T>()))?;
    all.push_back(item);
    Ok(())
}

/// Carries out the traffic with each process; `traffic` has one entry for each.
pub(super) fn carry(data: &Data, state: &State, traffic: &mut [Traffic<'_>], patience: Duration) -> Result<(), Broken> {
    let began = state.clock.now();
    for (line, traffic) in data.lines.iter().zip(&mut *traffic) {
        if line.is_none() {
            *traffic = Traffic::default(); // this process itself
        }
    }
    let mut tries = 0;
    loop {
        let mut moved = false;
        for (process, (line, traffic)) in data.lines.iter().zip(&mut *traffic).enumerate() {
            let Some(line) = line.as_ref().filter(|_| traffic.is_open()) else { continue };
            let mut seals = line.seals.lock();
            let broken = |fault| match fault {
                Fault::Ended(why) => Broken::Ended(process, why),
                Fault::Forged => Broken::Forged(process),
            };
            moved |= send(&line.socket, &mut traffic.sends, &mut seals.sent).map_err(broken)?;
            moved |= receive(&line.socket, &mut traffic.receives, &mut seals.received).map_err(broken)?;
        }
        if !traffic.iter().any(Traffic::is_open) {
            return Ok(());
        }
        if state.is_lost() {
            return Err(Broken::Lost);
        }
        if moved {
            tries = 0;
            continue;
        }
        if tries < TRIES {
            tries += traffic.len();
            continue;
        }
        let left = patience.saturating_sub(state.clock.now().saturating_duration_since(began));
        if left.is_zero() {
            let late = traffic.iter().enumerate().filter(|(_, traffic)| traffic.is_open()).map(|(process, _)| process);
            return Err(Broken::Late(late.collect()));
        }
        let watched = data.lines.iter().zip(&*traffic).filter(|(_, traffic)| traffic.is_open());
        let watched = watched.filter_map(|(line, traffic)| {
            let (reads, writes) = (!traffic.receives.is_empty(), !traffic.sends.is_empty());
            Some(Watched { socket: &line.as_ref()?.socket, reads, writes })
        });
        match room::collected(watched) {
            Ok(watched) => wait(&watched, left.min(LOOK)),
            Err(_) => clock::pause(Duration::from_millis(1)),
        }
    }
}

/// Sends what can be sent now. Whether that was anything.
fn send(mut socket: &TcpStream, sends: &mut VecDeque<Out<'_>>, seal: &mut Seal) -> Result<bool, Fault> {
    let mut moved = false;
    while let Some(out) = sends.front_mut() {
        if let Out::Close = out {
            *out = Out::Tag(*seal.close().as_bytes(), 0);
        }
        let bytes = match out {
            Out::Plain(bytes) => bytes,
            Out::Covered(bytes) => bytes.get(..HASHED).unwrap_or(bytes),
            Out::Tag(tag, sent) => tag.get(*sent..).unwrap_or_default(),
            Out::Close => &[],
        };
        if bytes.is_empty() {
            sends.pop_front();
            continue;
        }
        let sent = match socket.write(bytes) {
            Ok(0) => return Err(Fault::Ended("nothing can be sent".into())),
            Ok(sent) => sent,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Fault::Ended(error.to_string())),
        };
        moved = true;
        match out {
            Out::Plain(bytes) => *bytes = bytes.get(sent..).unwrap_or_default(),
            Out::Covered(bytes) => {
                let (before, after) = bytes.split_at_checked(sent).unwrap_or_default();
                seal.add(before);
                *bytes = after;
            }
            Out::Tag(_, before) => *before += sent,
            Out::Close => {}
        }
    }
    Ok(moved)
}

/// Receives what is there now. Whether that was anything.
fn receive(mut socket: &TcpStream, receives: &mut VecDeque<In<'_>>, seal: &mut Seal) -> Result<bool, Fault> {
    let mut moved = false;
    while let Some(room) = receives.front_mut() {
        let into = match room {
            In::Plain(room) => &mut **room,
            In::Covered(room) => {
                let most = room.len().min(HASHED);
                room.get_mut(..most).unwrap_or_default()
            }
            In::Tag(tag, got) => tag.get_mut(*got..).unwrap_or_default(),
        };
        if into.is_empty() {
            if let Some(In::Tag(tag, _)) = receives.pop_front() {
                seal.check(&tag).map_err(|_| Fault::Forged)?;
            }
            continue;
        }
        let got = match socket.read(into) {
            Ok(0) => return Err(Fault::Ended("the connection is closed".into())),
            Ok(got) => got,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Fault::Ended(error.to_string())),
        };
        moved = true;
        match room {
            In::Tag(_, before) => *before += got,
            In::Plain(room) => {
                let rest = std::mem::take(room);
                *room = rest.get_mut(got..).unwrap_or_default();
            }
            In::Covered(room) => {
                let (come, rest) = std::mem::take(room).split_at_mut_checked(got).unwrap_or_default();
                seal.add(come);
                *room = rest;
            }
        }
    }
    Ok(moved)
}
