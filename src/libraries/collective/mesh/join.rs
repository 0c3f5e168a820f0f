//! How the processes of an epoch connect each with each.
//!
//! ```text
//!   store:  process i comes with its card: { ranks, address, nonce }, and is told those of all others (`enter.rs`)
//!   mesh:   i connects to each j < i, twice: hello { i, which connection, proof over j's nonce }
//! ```

use super::watch;
use super::{Data, Mesh, State};
use crate::core::clock::{self, Clock};
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, Mutex};
use crate::libraries::collective::launch::Rendezvous;
use crate::libraries::collective::store::{Card, Key, answer, write};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::time::{Duration, Instant};

/// The first frame of a connection between two processes.
#[derive(Serialize, Deserialize)]
struct Hello {
    /// Where the process stands among the members.
    process: u32,
    /// 0: data; 1: signs of life.
    which: u8,
    proof: [u8; 32],
}

/// The most bytes of it.
const HELLO: usize = 64;
/// The most peers that have not said who they are, besides those that are expected.
const STRANGERS: usize = 64;
/// How long one attempt to connect may take.
const TRY: Duration = Duration::from_secs(1);

/// The connections of each of the two kinds.
type Sockets = [Vec<Option<TcpStream>>; 2];

/// The members of an epoch, as one of them sees them.
pub(super) struct Members<'m> {
    pub(super) epoch: u64,
    /// The number and the card of each.
    pub(super) all: &'m [(u32, Card)],
    /// Where this process stands among them.
    pub(super) own: usize,
}

fn proof(key: Key, nonce: &[u8], process: u32, which: u8) -> blake3::Hash {
    answer(key, nonce, &[&b"mesh"[..], &process.to_le_bytes(), &[which]].concat())
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
        let [data, life] = connect(at.key(), members, listener, stops, end)?;
        let mut first = 0;
        let ranks: Vec<Range<usize>> = members
            .all
            .iter()
            .map(|(_, card)| {
                let of = first..first + card.ranks as usize;
                first = of.end;
                of
            })
            .collect();
        let set = |socket: &TcpStream| -> io::Result<()> {
            socket.set_nodelay(true)?;
            socket.set_read_timeout(None)?;
            socket.set_write_timeout(None)?;
            socket.set_nonblocking(true)
        };
        data.iter().chain(&life).flatten().try_for_each(set).map_err(failed("a connection"))?;
        let numbers: Arc<[u32]> = members.all.iter().map(|(number, _)| *number).collect();
        let state = Arc::new(State::new(members.own, numbers.clone(), clock));
        let watched = state.clone();
        let silence = at.silence;
        let thread = std::thread::Builder::new().name("windlass ranks".into());
        let thread = thread.spawn(move || watch::watch(&watched, life, silence)).map_err(failed("a thread"))?;
        let data = Mutex::new(Data { peers: data, next: 1 });
        Ok(Arc::new(Mesh {
            process: members.own,
            epoch: members.epoch,
            numbers,
            ranks,
            data,
            state,
            watch: Mutex::new(Some(thread)),
            patience: at.patience,
        }))
    }
}

fn connect(
    key: Key,
    members: &Members<'_>,
    listener: &TcpListener,
    stops: &mut dyn FnMut() -> Result<()>,
    end: Instant,
) -> Result<Sockets> {
    let none = || members.all.iter().map(|_| None).collect::<Vec<Option<TcpStream>>>();
    let mut sockets = [none(), none()];
    let mine = u32::try_from(members.own).unwrap_or(u32::MAX);
    for (index, (number, card)) in members.all.iter().enumerate().take(members.own) {
        for (which, sockets) in (0..).zip(&mut sockets) {
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
            let proof = *proof(key, &card.nonce, mine, which).as_bytes();
            let hello = postcard::to_stdvec(&Hello { process: mine, which, proof });
            let hello = hello.map_err(|error| Error::library(error.to_string()))?;
            write(&mut socket, &hello).map_err(failed)?;
            if let Some(place) = sockets.get_mut(index) {
                *place = Some(socket);
            }
        }
    }
    listener.set_nonblocking(true).map_err(failed("the port for other processes"))?;
    let Some((_, own)) = members.all.get(members.own) else { return Ok(sockets) };
    let is_whole = |sockets: &Sockets| {
        let has = |index: usize| sockets.iter().all(|of| of.get(index).is_some_and(Option::is_some));
        (members.own + 1..members.all.len()).all(has)
    };
    let mut strangers = VecDeque::new();
    while !is_whole(&sockets) {
        stops()?;
        while let Ok((socket, _)) = listener.accept() {
            if socket.set_nonblocking(true).is_ok() {
                strangers.push_back(Stranger { socket, said: Vec::new() });
            }
            // The first to be dropped is one that has said nothing for longest.
            if strangers.len() > STRANGERS + 2 * members.all.len() {
                strangers.pop_front();
            }
        }
        for mut stranger in std::mem::take(&mut strangers) {
            match stranger.listen() {
                Said::Part => strangers.push_back(stranger),
                Said::Nonsense => {}
                Said::All(hello) => {
                    let is_known = proof(key, &own.nonce, hello.process, hello.which) == hello.proof;
                    let of = sockets.get_mut(usize::from(hello.which)).filter(|_| is_known && hello.process > mine);
                    if let Some(place @ None) = of.and_then(|of| of.get_mut(hello.process as usize)) {
                        *place = Some(stranger.socket);
                    }
                }
            }
        }
        if !is_whole(&sockets) {
            clock::pause(Duration::from_millis(1));
        }
    }
    Ok(sockets)
}

/// A peer that has connected, and has not said yet who it is. None keeps others waiting, however slowly it speaks.
struct Stranger {
    socket: TcpStream,
    said: Vec<u8>,
}

enum Said {
    Part,
    All(Hello),
    /// It is no process of the job, or has gone.
    Nonsense,
}

impl Stranger {
    /// Reads its first frame as far as it has come, and nothing of what follows.
    fn listen(&mut self) -> Said {
        loop {
            let len = self.said.first_chunk().map_or(0, |len| u32::from_le_bytes(*len) as usize);
            let left = (4 + len).saturating_sub(self.said.len());
            if left == 0 && self.said.len() >= 4 {
                let hello = self.said.get(4..).and_then(|hello| postcard::from_bytes(hello).ok());
                return hello.map_or(Said::Nonsense, Said::All);
            }
            let mut bytes = [0; HELLO];
            let Some(room) = bytes.get_mut(..left) else { return Said::Nonsense };
            match self.socket.read(room) {
                Ok(0) => return Said::Nonsense,
                Ok(got) => self.said.extend_from_slice(room.get(..got).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Said::Part,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Said::Nonsense,
            }
        }
    }
}
