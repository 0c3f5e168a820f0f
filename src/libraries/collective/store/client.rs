//! The asking side.

use super::frame::{Key, MAGIC, MOST, answer, read, write};
use super::rounds::{Step, View};
use crate::core::clock::{self, Clock, Until};
use crate::core::error::{Error, Result};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A connection to the store.
pub(in crate::libraries::collective) struct Client {
    socket: TcpStream,
    addresses: Vec<SocketAddr>,
    key: Key,
    process: usize,
}

/// How long the store may take for an answer, besides the wait that it was asked for.
const ANSWER: Duration = Duration::from_secs(5);

/// When a wait of this length ends; one that nobody sees the end of, in a century.
pub(in crate::libraries::collective) fn end_of(limit: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    Clock::SYSTEM.now() + limit.min(CENTURY)
}

impl Client {
    /// Connects to a store, within `limit`. It may not serve yet, unless it is reached `at_once`.
    pub(in crate::libraries::collective) fn connect(
        addresses: &[SocketAddr],
        key: Key,
        (limit, at_once): (Duration, bool),
        process: usize,
    ) -> Result<Self> {
        let end = end_of(limit);
        // Not all at once: each process begins at another time of the first pauses.
        let mut pause = Duration::from_millis(5 + (process as u64 * 7919) % 20);
        let mut last = None;
        loop {
            let left = end.saturating_duration_since(Clock::SYSTEM.now());
            if left.is_zero() {
                let why = last.map_or_else(String::new, |error: io::Error| format!(": {error}"));
                return Err(Error::library(format!(
                    "no store answered at {addresses:?} within {limit:?}{why}; is process 0 running, and is this its address?"
                )));
            }
            for address in addresses {
                match TcpStream::connect_timeout(address, left.min(Duration::from_secs(5))) {
                    Ok(socket) => match Self::enter(socket, key, left) {
                        Ok(Ok(socket)) => return Ok(Client { socket, addresses: addresses.to_vec(), key, process }),
                        Ok(Err(refusal)) => return Err(Error::library(refusal)),
                        Err(error) => last = Some(error),
                    },
                    Err(error) if at_once && error.kind() == io::ErrorKind::ConnectionRefused => {
                        return Err(Error::library("the store has ended"));
                    }
                    Err(error) => last = Some(error),
                }
            }
            clock::pause(pause);
            pause = (pause * 2).min(Duration::from_millis(500));
        }
    }

    /// Proves that this process belongs to the job. `Ok(Err)`: it was refused, and would be again.
    fn enter(mut socket: TcpStream, key: Key, left: Duration) -> io::Result<Result<TcpStream, String>> {
        socket.set_nodelay(true)?;
        let end = Clock::SYSTEM.after(left.min(Duration::from_secs(10)));
        let challenge = read(&mut Until { socket: &socket, end }, 64)?;
        let Some(challenge) = challenge.strip_prefix(&MAGIC) else {
            return Ok(Err("what answers at the store's address is no store of this version".into()));
        };
        let proof = answer(key, challenge, b"hello");
        write(&mut socket, &[&MAGIC[..], proof.as_bytes()].concat())?;
        let verdict = read(&mut Until { socket: &socket, end }, 256)?;
        match &verdict[..] {
            b"welcome" => Ok(Ok(socket)),
            why => Ok(Err(format!("the store: {}", String::from_utf8_lossy(why)))),
        }
    }

    /// The address by which this process reaches the store: others on the way to it reach this process by it.
    pub(in crate::libraries::collective) fn local_ip(&self) -> Result<std::net::IpAddr> {
        let address = self.socket.local_addr();
        address.map(|address| address.ip()).map_err(|error| Error::library(format!("the store's connection: {error}")))
    }

    /// Connects once more, where the connection broke.
    pub(in crate::libraries::collective) fn again(&mut self, within: (Duration, bool)) -> Result<()> {
        *self = Self::connect(&self.addresses, self.key, within, self.process)?;
        Ok(())
    }

    /// Carries out a step.
    pub(in crate::libraries::collective) fn step(&mut self, step: &Step) -> Result<View> {
        let lost = |error: io::Error| Error::library(format!("the connection to the store broke: {error}"));
        let coded = |error: postcard::Error| Error::library(format!("the store's protocol: {error}"));
        write(&mut self.socket, &postcard::to_stdvec(step).map_err(coded)?).map_err(lost)?;
        let mut answer = Until { socket: &self.socket, end: Clock::SYSTEM.after(ANSWER) };
        postcard::from_bytes(&read(&mut answer, MOST).map_err(lost)?).map_err(coded)
    }
}
