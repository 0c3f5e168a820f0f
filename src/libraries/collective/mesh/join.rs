//! How the processes find each other.
//!
//! ```text
//!   store:  process/i = { ranks, address, nonce }, set by each process, awaited by all
//!   mesh:   i connects to each j < i, twice: hello { i, which connection, proof over j's nonce }
//! ```

use super::watch;
use super::{Data, Mesh, State};
use crate::core::clock::{self, Clock};
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, AtomicBool, Mutex};
use crate::libraries::collective::launch::Rendezvous;
use crate::libraries::collective::store::{Client, Key, Server, answer, nonce, read, write};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::time::{Duration, Instant};

/// What a process tells of itself.
#[derive(Serialize, Deserialize)]
struct Card {
    processes: u32,
    ranks: u32,
    address: SocketAddr,
    nonce: [u8; 32],
}

/// The first frame of a connection between two processes.
#[derive(Serialize, Deserialize)]
struct Hello {
    process: u32,
    /// 0: data; 1: signs of life.
    which: u8,
    proof: [u8; 32],
}

/// The connections of each of the two kinds.
type Sockets = [Vec<Option<TcpStream>>; 2];

fn proof(key: Key, nonce: &[u8], process: u32, which: u8) -> blake3::Hash {
    answer(key, nonce, &[&b"mesh"[..], &process.to_le_bytes(), &[which]].concat())
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::library(format!("{what}: {error}"))
}

impl Mesh {
    /// Finds the other processes, within the limit of the rendezvous. This process has `locals` ranks.
    pub(in crate::libraries::collective) fn join(at: &Rendezvous, locals: usize) -> Result<Arc<Self>> {
        at.check()?;
        let (key, addresses) = (at.key(), at.resolve()?);
        let end = Clock::SYSTEM.now() + at.limit;
        let server = if at.process == 0 { Some(Server::begin(&addresses, key)?) } else { None };
        let mut client = Client::connect(&addresses, key, at.limit, at.process)?;
        let listener = TcpListener::bind((client.local_ip()?, 0)).map_err(failed("no port for other processes"))?;
        let own = Card {
            processes: u32::try_from(at.processes).unwrap_or(u32::MAX),
            ranks: u32::try_from(locals).unwrap_or(u32::MAX),
            address: listener.local_addr().map_err(failed("the port for other processes"))?,
            nonce: nonce(),
        };
        let encode = |card: &Card| postcard::to_stdvec(card).map_err(|error| Error::library(error.to_string()));
        client.set(&format!("process/{}", at.process), &encode(&own)?)?;
        let cards = cards(&mut client, at)?;
        let sockets = connect(at, key, (&listener, &own, &cards), end)?;
        // Nobody leaves the store before all are connected: else process 0 could end while another still asks.
        client.set(&format!("connected/{}", at.process), &[])?;
        await_all(&mut client, at, "connected")?;
        let mut first = 0;
        let ranks: Vec<Range<usize>> = cards
            .iter()
            .map(|card| {
                let of = first..first + card.ranks as usize;
                first = of.end;
                of
            })
            .collect();
        Self::begin(at, ranks, sockets, server)
    }

    fn begin(at: &Rendezvous, ranks: Vec<Range<usize>>, sockets: Sockets, server: Option<Server>) -> Result<Arc<Self>> {
        let [data, life] = sockets;
        let set = |socket: &TcpStream| -> io::Result<()> {
            socket.set_nodelay(true)?;
            socket.set_read_timeout(None)?;
            socket.set_write_timeout(None)?;
            socket.set_nonblocking(true)
        };
        data.iter().chain(&life).flatten().try_for_each(set).map_err(failed("a connection"))?;
        let state = Arc::new(State {
            loss: Mutex::default(),
            closing: AtomicBool::new(false),
            gave_up: AtomicBool::new(false),
        });
        let watched = state.clone();
        let silence = at.silence;
        let thread = std::thread::Builder::new().name("windlass ranks".into());
        let thread = thread.spawn(move || watch::watch(&watched, life, silence)).map_err(failed("a thread"))?;
        let data = Mutex::new(Data { peers: data, next: 1 });
        Ok(Arc::new(Mesh {
            process: at.process,
            ranks,
            data,
            state,
            watch: Mutex::new(Some(thread)),
            patience: at.patience,
            server,
        }))
    }
}

/// Waits until each process has set its key under `what`.
fn await_all(client: &mut Client, at: &Rendezvous, what: &str) -> Result<Vec<Vec<u8>>> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for process in 0..at.processes {
        match client.wait(&format!("{what}/{process}"))? {
            Some(value) => found.push(value),
            None => missing.push(process),
        }
    }
    if missing.is_empty() { Ok(found) } else { Err(client.missing(&missing)) }
}

fn cards(client: &mut Client, at: &Rendezvous) -> Result<Vec<Card>> {
    let mut cards = Vec::new();
    for (process, card) in await_all(client, at, "process")?.into_iter().enumerate() {
        let card: Card = postcard::from_bytes(&card)
            .map_err(|error| Error::library(format!("what process {process} told the store: {error}")))?;
        if card.processes as usize != at.processes {
            let what = format!("process {process} was told of {}, this one of {}", card.processes, at.processes);
            return Err(Error::invalid("processes", what));
        }
        cards.push(card);
    }
    Ok(cards)
}

/// Connects this process with each other.
fn connect(
    at: &Rendezvous,
    key: Key,
    (listener, own, cards): (&TcpListener, &Card, &[Card]),
    end: Instant,
) -> Result<Sockets> {
    let none = || (0..at.processes).map(|_| None).collect::<Vec<Option<TcpStream>>>();
    let mut sockets = [none(), none()];
    let mine = u32::try_from(at.process).unwrap_or(u32::MAX);
    for (process, card) in cards.iter().enumerate().take(at.process) {
        for (which, sockets) in (0..).zip(&mut sockets) {
            let left = end.saturating_duration_since(Clock::SYSTEM.now()).max(Duration::from_millis(1));
            let failed = |error: io::Error| {
                Error::library(format!("no connection to process {process} at {}: {error}", card.address))
            };
            let mut socket = TcpStream::connect_timeout(&card.address, left).map_err(failed)?;
            let proof = *proof(key, &card.nonce, mine, which).as_bytes();
            let hello = postcard::to_stdvec(&Hello { process: mine, which, proof });
            let hello = hello.map_err(|error| Error::library(error.to_string()))?;
            write(&mut socket, &hello).map_err(failed)?;
            if let Some(place) = sockets.get_mut(process) {
                *place = Some(socket);
            }
        }
    }
    listener.set_nonblocking(true).map_err(failed("the port for other processes"))?;
    let missing = |sockets: &Sockets| -> Vec<usize> {
        let has = |process: usize| sockets.iter().all(|of| of.get(process).is_some_and(Option::is_some));
        (at.process + 1..at.processes).filter(|process| !has(*process)).collect()
    };
    while !missing(&sockets).is_empty() {
        if Clock::SYSTEM.now() >= end {
            let missing = missing(&sockets);
            let cause = format!("processes {missing:?} did not connect within {:?}", at.limit);
            let site = crate::core::error::Site::none();
            let (ranks, operation) = (missing.into(), "join".into());
            return Err(Error::CollectiveLost { ranks, sequence: 0, operation, cause: cause.into(), site });
        }
        let Ok((socket, _)) = listener.accept() else {
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
