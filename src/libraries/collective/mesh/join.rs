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
use crate::libraries::collective::store::{Card, Key, answer, read, write};
use serde::{Deserialize, Serialize};
use std::io;
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
            stops()?;
            let left = end.saturating_duration_since(Clock::SYSTEM.now()).max(Duration::from_millis(1));
            let failed = |error: io::Error| {
                Error::library(format!("no connection to process {number} at {}: {error}", card.address))
            };
            let mut socket = TcpStream::connect_timeout(&card.address, left).map_err(failed)?;
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
    while !is_whole(&sockets) {
        let Ok((socket, _)) = listener.accept() else {
            stops()?;
            clock::pause(Duration::from_millis(1));
            continue;
        };
        // One that is no process of the job, or says nothing, is dropped.
        let Some((hello, socket)) = admitted(socket, key, &own.nonce) else { continue };
        let of = sockets.get_mut(usize::from(hello.which));
        let place = of.and_then(|of| of.get_mut(hello.process as usize)).filter(|_| hello.process > mine);
        if let Some(place @ None) = place {
            *place = Some(socket);
        }
    }
    Ok(sockets)
}

fn admitted(mut socket: TcpStream, key: Key, nonce: &[u8]) -> Option<(Hello, TcpStream)> {
    socket.set_nonblocking(false).ok()?;
    socket.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    let hello: Hello = postcard::from_bytes(&read(&mut socket, 64).ok()?).ok()?;
    let expected = proof(key, nonce, hello.process, hello.which);
    (expected == blake3::Hash::from_bytes(hello.proof)).then_some((hello, socket))
}
