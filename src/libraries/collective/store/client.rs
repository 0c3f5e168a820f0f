//! The asking side.

use super::frame::{Key, MAGIC, MOST, answer, read, write};
use crate::core::clock::{self, Clock};
use crate::core::error::{Error, Result, Site};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A connection to the store.
pub(in crate::libraries::collective) struct Client {
    socket: TcpStream,
    end: Instant,
    limit: Duration,
}

impl Client {
    /// Connects to a store that may not serve yet, within `limit`. That is also the limit of all waits.
    pub(in crate::libraries::collective) fn connect(
        addresses: &[SocketAddr],
        key: Key,
        limit: Duration,
        process: usize,
    ) -> Result<Self> {
        let end = Clock::SYSTEM.now() + limit;
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
                        Ok(Ok(socket)) => return Ok(Client { socket, end, limit }),
                        Ok(Err(refusal)) => return Err(Error::library(refusal)),
                        Err(error) => last = Some(error),
                    },
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
        socket.set_read_timeout(Some(left.min(Duration::from_secs(10))))?;
        let challenge = read(&mut socket, 64)?;
        let Some(challenge) = challenge.strip_prefix(&MAGIC) else {
            return Ok(Err("what answers at the store's address is no store of this version".into()));
        };
        let proof = answer(key, challenge, b"hello");
        write(&mut socket, &[&MAGIC[..], proof.as_bytes()].concat())?;
        let verdict = read(&mut socket, 256)?;
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

    /// Sets a key. It may have that value already, but no other.
    pub(in crate::libraries::collective) fn set(&mut self, key: &str, value: &[u8]) -> Result<()> {
        match self.ask(b's', key, value)? {
            Ok(_) => Ok(()),
            Err(why) => Err(Error::library(format!("the store did not take `{key}`: {why}"))),
        }
    }

    /// The value of a key, when it is set. `None` if the limit passes before.
    pub(in crate::libraries::collective) fn wait(&mut self, key: &str) -> Result<Option<Vec<u8>>> {
        let left = self.end.saturating_duration_since(Clock::SYSTEM.now());
        let millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        Ok(self.ask(b'w', key, &millis.to_le_bytes())?.ok())
    }

    /// The error for processes that did not come.
    pub(in crate::libraries::collective) fn missing(&self, processes: &[usize]) -> Error {
        let cause = format!("processes {processes:?} did not come to the store within {:?}", self.limit);
        Error::CollectiveLost {
            ranks: processes.into(),
            sequence: 0,
            operation: "join".into(),
            cause: cause.into(),
            site: Site::none(),
        }
    }

    fn ask(&mut self, verb: u8, key: &str, data: &[u8]) -> Result<Result<Vec<u8>, String>> {
        let lost = |error: io::Error| Error::library(format!("the connection to the store broke: {error}"));
        let len = u16::try_from(key.len()).unwrap_or(u16::MAX).to_le_bytes();
        let order = [&[verb], &len[..], key.as_bytes(), data].concat();
        let left = self.end.saturating_duration_since(Clock::SYSTEM.now());
        self.socket.set_read_timeout(Some(left + Duration::from_secs(5))).map_err(lost)?;
        write(&mut self.socket, &order).map_err(lost)?;
        let reply = read(&mut self.socket, MOST).map_err(lost)?;
        match reply.split_first() {
            Some((1, value)) => Ok(Ok(value.to_vec())),
            Some((_, why)) => Ok(Err(String::from_utf8_lossy(why).into_owned())),
            None => Err(Error::library("an empty reply of the store")),
        }
    }
}
