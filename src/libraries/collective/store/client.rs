//! The asking side.

use super::frame::{FIRST, MAGIC, another, lost, parts, read, receive, send, version, write};
use super::rounds::{Refusal, Step, View};
use super::seal::{Key, Seals, TAG, Way, nonce};
use crate::core::clock::{self, Clock, Until};
use crate::core::error::{Error, Result};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A connection to the store.
pub(in crate::libraries::collective) struct Client {
    socket: TcpStream,
    seals: Seals,
    addresses: Vec<SocketAddr>,
    key: Key,
    process: usize,
}

/// What the store says to those who know the token, before a tag.
pub(super) const WELCOME: &[u8] = b"welcome";

/// What is said of one that does not answer so.
const UNPROVEN: &str = "it does not know the job's token";

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
                        Ok(Ok((socket, seals))) => {
                            return Ok(Client { socket, seals, addresses: addresses.to_vec(), key, process });
                        }
                        Ok(Err(why)) => return Err(Error::untrusted(format!("the store at {address}"), why)),
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

    /// This process and the store prove to each other that they know the token. `Ok(Err)`: one of them does not, and would not
    /// the next time.
    fn enter(mut socket: TcpStream, key: Key, left: Duration) -> io::Result<Result<(TcpStream, Seals), String>> {
        socket.set_nodelay(true)?;
        let end = Clock::SYSTEM.after(left.min(Duration::from_secs(10)));
        let challenge = read(&mut Until { socket: &socket, end }, FIRST)?;
        let theirs = version(&challenge);
        let Some((theirs, [])) = parts(&challenge).filter(|_| theirs == version(&MAGIC)) else {
            return Ok(Err(another(theirs)));
        };
        let own = nonce();
        let mut seals = key.seals(Way::Store, [theirs, &own], false);
        write(&mut socket, &[&MAGIC, &own, &seals.sent.tag(&MAGIC)])?;
        let verdict = read(&mut Until { socket: &socket, end }, FIRST)?;
        let (word, tag) = verdict.split_at_checked(WELCOME.len()).unwrap_or((&verdict, &[]));
        if word == WELCOME && tag.len() == TAG {
            seals.received.add(word);
            let proven = seals.received.check(tag);
            return Ok(proven.map(|()| (socket, seals)).map_err(|_| UNPROVEN.into()));
        }
        let told: String = String::from_utf8_lossy(&verdict).chars().filter(|c| !c.is_control()).collect();
        Ok(Err(if told.starts_with("refused: ") { format!("it says: {told}") } else { UNPROVEN.into() }))
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
        send(&mut self.socket, &mut self.seals.sent, step).map_err(lost)?;
        let mut answer = Until { socket: &self.socket, end: Clock::SYSTEM.after(ANSWER) };
        match receive(&mut answer, &mut self.seals.received).map_err(lost)? {
            View::Refused(Refusal::Untrusted) => {
                Err(Error::untrusted("the connection to the store", "what this process sent was changed on the way"))
            }
            View::Refused(Refusal::Memory(bytes)) => Err(crate::core::room::out_of_memory(bytes as usize)),
            view => Ok(view),
        }
    }
}
