//! How the processes of an epoch connect each with each.
//!
//! ```text
//!   store:  process i comes with its card: { ranks, address, nonce }, and is told those of all others (`enter.rs`)
//!   mesh:   i connects to each j < i, twice: hello { i, which connection }, tag
//!           j answers each: tag
//! ```
//!
//! The key of each connection follows from the token and both nonces, which the store's connections have carried: so both tags prove
//! that their senders know the token, and have come to this round. Nothing else is sent before they are checked.

use super::{Data, Line, Mesh, State, watch};
use crate::core::clock::{self, Clock};
use crate::core::error::{Error, Result};
use crate::core::room;
use crate::core::sync::{Arc, Mutex};
use crate::libraries::collective::launch::Rendezvous;
use crate::libraries::collective::store::{Card, Key, Seals, TAG, Way, write};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::time::{Duration, Instant};

/// What each process has a connection to each other for.
const WAYS: [Way; 2] = [Way::Data, Way::Life];

/// The first frame of a connection between two processes, before its tag: where its sender stands among the members, and which of
/// the ways it is.
fn hello(process: usize, which: usize) -> [u8; 5] {
    let [a, b, c, d] = u32::try_from(process).unwrap_or(u32::MAX).to_le_bytes();
    [a, b, c, d, u8::from(which != 0)]
}

/// What is answered, before its tag.
const WELCOME: &[u8] = b"welcome";

/// The most bytes of a first frame, with its length.
const FIRST: usize = 64;
/// The most peers that have not said who they are, besides those that are expected.
const STRANGERS: usize = 64;
/// How long one attempt to connect may take.
const TRY: Duration = Duration::from_secs(1);

/// The connections of each of the two kinds.
type Lines = [Vec<Option<Line>>; 2];

/// The members of an epoch, as one of them sees them.
pub(super) struct Members<'m> {
    pub(super) epoch: u64,
    /// The number and the card of each.
    pub(super) all: &'m [(u32, Card)],
    /// Where this process stands among them.
    pub(super) own: usize,
}

pub(super) fn failed(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::library(format!("{what}: {error}"))
}

impl Mesh {
    /// Connects this process with all other members. `stops` is asked now and then, and ends it.
    pub(super) fn connect(
        at: &Rendezvous,
        members: &Members<'_>,
        (listener, clock): (&TcpListener, Clock),
        stops: &mut dyn FnMut() -> Result<()>,
        end: Instant,
    ) -> Result<Arc<Self>> {
        let [lines, life] = connect(at.key(), members, listener, stops, end)?;
        let mut first = 0;
        let ranks: Vec<Range<usize>> = room::collected(members.all.iter().map(|(_, card)| {
            let of = first..first + card.ranks as usize;
            first = of.end;
            of
        }))?;
        let numbers: Arc<[u32]> = members.all.iter().map(|(number, _)| *number).collect();
        let state = Arc::new(State::new(members.own, numbers.clone(), clock)?);
        let (watched, silence) = (state.clone(), at.silence);
        let life = watch::Peer::all(life, clock)?;
        let thread = std::thread::Builder::new().name("windlass ranks".into());
        let thread = thread.spawn(move || watch::watch(&watched, life, silence)).map_err(failed("a thread"))?;
        let data = Mutex::new(Data { lines, next: 1 });
        Ok(Arc::new(Mesh {
            process: members.own,
            epoch: members.epoch,
            numbers,
            ranks,
            data,
            state,
            watch: Mutex::new(Some(thread)),
            patience: at.patience,
            protects: at.protects,
        }))
    }
}

fn connect(
    key: Key,
    members: &Members<'_>,
    listener: &TcpListener,
    stops: &mut dyn FnMut() -> Result<()>,
    end: Instant,
) -> Result<Lines> {
    let count = members.all.len();
    let none = || room::collected((0..count).map(|_| None));
    let mut lines: Lines = [none()?, none()?];
    let Some((_, own)) = members.all.get(members.own) else { return Ok(lines) };
    let mut asked: VecDeque<Asked> = VecDeque::new();
    let mut strangers: VecDeque<Stranger> = VecDeque::new();
    let lack = |_| room::out_of_memory(2 * count * size_of::<Asked>());
    asked.try_reserve(2 * members.own).map_err(lack)?;
    strangers.try_reserve(STRANGERS + 2 * count + 1).map_err(lack)?;
    for (index, (number, card)) in members.all.iter().enumerate().take(members.own) {
        for (which, way) in WAYS.into_iter().enumerate() {
            let failed = |error: io::Error| {
                Error::library(format!("no connection to process {number} at {}: {error}", card.address))
            };
            // A machine that is gone does not even refuse: so others are looked for in between.
            let mut socket = loop {
                stops()?;
                let left = end.saturating_duration_since(Clock::SYSTEM.now()).max(Duration::from_millis(1));
                match TcpStream::connect_timeout(&card.address, left.min(TRY)) {
                    Err(error) if error.kind() == io::ErrorKind::TimedOut && left > TRY => {}
                    tried => break tried.map_err(failed)?,
                }
            };
            let mut seals = key.seals(way, [&card.nonce, &own.nonce], false);
            let said = hello(members.own, which);
            write(&mut socket, &[&said, &seals.sent.tag(&said)]).map_err(failed)?;
            let peer = Stranger::new(socket).map_err(failed)?;
            asked.push_back(Asked { place: (which, index), seals, peer });
        }
    }
    listener.set_nonblocking(true).map_err(failed("the port for other processes"))?;
    let is_whole = |lines: &Lines| {
        let has = |index: usize| lines.iter().all(|of| of.get(index).is_some_and(Option::is_some));
        (0..count).all(|index| index == members.own || has(index))
    };
    while !is_whole(&lines) {
        stops()?;
        for _ in 0..asked.len() {
            let Some(mut one) = asked.pop_front() else { break };
            match one.peer.listen() {
                Said::Part => asked.push_back(one),
                said => {
                    let (which, index) = one.place;
                    let line = one.proven(said, members)?;
                    if let Some(place) = lines.get_mut(which).and_then(|of| of.get_mut(index)) {
                        *place = Some(line);
                    }
                }
            }
        }
        while let Ok((socket, _)) = listener.accept() {
            strangers.extend(Stranger::new(socket));
            // The first to be dropped is one that has said nothing for longest.
            if strangers.len() > STRANGERS + 2 * count {
                strangers.pop_front();
            }
        }
        for _ in 0..strangers.len() {
            let Some(mut stranger) = strangers.pop_front() else { break };
            match stranger.listen() {
                Said::Part => strangers.push_back(stranger),
                Said::Gone => {}
                Said::All => drop(stranger.admit(key, members, &mut lines)),
            }
        }
        if !is_whole(&lines) {
            clock::pause(Duration::from_millis(1));
        }
    }
    Ok(lines)
}

/// A process to which this one has said hello.
struct Asked {
    /// Which of the ways, and where it stands among the members.
    place: (usize, usize),
    seals: Seals,
    peer: Stranger,
}

impl Asked {
    /// The connection, if what was answered proves that the process knows the token.
    fn proven(mut self, said: Said, members: &Members<'_>) -> Result<Line> {
        let (number, address) = members
            .all
            .get(self.place.1)
            .map_or_else(Default::default, |(number, card)| (*number, card.address.to_string()));
        if matches!(said, Said::Gone) {
            let why = "it closed the connection; it may have begun again, or take this process for another";
            return Err(Error::library(format!("no connection to process {number} at {address}: {why}")));
        }
        let seal = &mut self.seals.received;
        seal.add(WELCOME);
        if seal.check(self.peer.frame()).is_err() {
            let peer = format!("what listens for process {number} at {address}");
            return Err(Error::untrusted(peer, "it does not know the job's token"));
        }
        Ok(Line { socket: self.peer.socket, seals: Mutex::new(self.seals) })
    }
}

/// A peer that has not proven yet who it is. None keeps others waiting, however slowly it speaks.
struct Stranger {
    socket: TcpStream,
    said: [u8; FIRST],
    len: usize,
}

enum Said {
    Part,
    All,
    /// It has gone, or says what is no first frame.
    Gone,
}

impl Stranger {
    fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(None)?;
        socket.set_write_timeout(None)?;
        socket.set_nonblocking(true)?;
        Ok(Stranger { socket, said: [0; FIRST], len: 0 })
    }

    /// Reads its first frame as far as it has come, and nothing of what follows.
    fn listen(&mut self) -> Said {
        loop {
            let whole = if self.len < 4 { 4 } else { 4 + self.frame_len() };
            if self.len >= 4 && self.len == whole {
                return Said::All;
            }
            let Some(room) = self.said.get_mut(self.len..whole) else { return Said::Gone };
            match self.socket.read(room) {
                Ok(0) => return Said::Gone,
                Ok(got) => self.len += got,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Said::Part,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Said::Gone,
            }
        }
    }

    fn frame_len(&self) -> usize {
        self.said.first_chunk().map_or(0, |len| u32::from_le_bytes(*len) as usize)
    }

    /// What it has said.
    fn frame(&self) -> &[u8] {
        self.said.get(4..self.len).unwrap_or_default()
    }

    /// Answers a member that stands behind this process, and takes its connection.
    fn admit(mut self, key: Key, members: &Members<'_>, lines: &mut Lines) -> Option<()> {
        let (said, tag) = self.frame().split_at_checked(hello(0, 0).len())?;
        let (process, which) = said.split_first_chunk::<4>()?;
        let (process, which) = (u32::from_le_bytes(*process) as usize, usize::from(*which.first()?));
        let place = lines.get_mut(which)?.get_mut(process).filter(|place| place.is_none() && process > members.own)?;
        let nonce = |process: usize| members.all.get(process).map(|(_, card)| &card.nonce);
        let mut seals = key.seals(*WAYS.get(which)?, [nonce(members.own)?, nonce(process)?], true);
        seals.received.add(said);
        seals.received.check(tag).ok()?;
        let welcome: [u8; TAG] = seals.sent.tag(WELCOME);
        write(&mut self.socket, &[&welcome]).ok()?;
        *place = Some(Line { socket: self.socket, seals: Mutex::new(seals) });
        Some(())
    }
}
