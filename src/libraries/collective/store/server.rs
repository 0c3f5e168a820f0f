//! The serving side.

use super::client::WELCOME;
use super::frame::{FIRST, MAGIC, MOST, another, is_forged, parts, read, receive, send, version, write};
use super::rounds::{Refusal, Rounds, Step, View};
use super::seal::{Key, Nonce, Seals, Way, nonce};
use crate::core::clock::{Clock, Until};
use crate::core::error::{Error, Result};
use crate::core::room;
use crate::core::sync::{Arc, AtomicBool, AtomicUsize, Condvar, Mutex, Ordering};
use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// The most connections at a time.
const MOST_CONNECTIONS: usize = 4096;
/// How long a store that ends waits for processes that have come, and have not been told the outcome.
const LAST: Duration = Duration::from_secs(2);
/// How long a peer may take to prove that it belongs to the job, and to read an answer.
const HELLO: Duration = Duration::from_secs(10);
/// The most peers at a time that have not proven it. One more costs the oldest its connection. A process needs one round trip:
/// so strangers would have to come that fast to keep it out, and then it tries again, within its limit.
const MOST_STRANGERS: usize = 256;

/// A store that serves until it is dropped.
pub(in crate::libraries::collective) struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
}

struct Shared {
    key: Key,
    rounds: Mutex<Rounds>,
    changed: Condvar,
    over: AtomicBool,
    /// Connections of processes that have come.
    come: AtomicUsize,
    connections: AtomicUsize,
    /// Peers that have not proven yet that they belong to the job: the number of the connection, and the connection.
    strangers: Mutex<VecDeque<(u64, Arc<TcpStream>)>>,
}

impl Server {
    /// Serves at `address`.
    pub(in crate::libraries::collective) fn begin(address: &[SocketAddr], key: Key) -> Result<Self> {
        let failed = |error: io::Error| Error::library(format!("the store cannot listen at {address:?}: {error}"));
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            key,
            rounds: Mutex::default(),
            changed: Condvar::new(),
            over: AtomicBool::new(false),
            come: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            strangers: Mutex::default(),
        });
        let serving = shared.clone();
        let thread = std::thread::Builder::new().name("windlass store".into());
        thread.spawn(move || serving.accept(&listener)).map_err(failed)?;
        Ok(Server { shared, address })
    }
}

impl Server {
    /// Nobody is told anything any more: the round is of no use.
    #[cfg(target_os = "linux")]
    pub(in crate::libraries::collective) fn stop(&self) {
        self.shared.over.store(true, Ordering::SeqCst);
        self.shared.changed.notify_all();
    }

    /// Where it serves.
    pub(in crate::libraries::collective) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Each is answered the outcome of the round, and goes.
        let end = Clock::SYSTEM.now() + LAST;
        let mut rounds = self.shared.rounds.lock();
        while !self.shared.is_over() && self.shared.come.load(Ordering::SeqCst) > 0 {
            let left = end.saturating_duration_since(Clock::SYSTEM.now());
            if left.is_zero() || self.shared.changed.wait_for(&mut rounds, left).timed_out() {
                break;
            }
        }
        drop(rounds);
        self.shared.over.store(true, Ordering::SeqCst);
        self.shared.changed.notify_all();
        // The accepting thread looks at the flag when somebody connects.
        let mut own = self.address;
        if own.ip().is_unspecified() {
            own.set_ip(if own.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() });
        }
        drop(TcpStream::connect_timeout(&own, Duration::from_secs(1)));
    }
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for number in 0.. {
            if self.is_over() {
                return;
            }
            let Ok((socket, _)) = listener.accept() else {
                crate::core::clock::pause(Duration::from_millis(10)); // too many open files, perhaps
                continue;
            };
            if self.is_over() || self.connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
                self.connections.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let socket = Arc::new(socket);
            self.watch(number, &socket);
            let shared = self.clone();
            let thread = std::thread::Builder::new().name("windlass store".into());
            let served = thread.spawn(move || {
                let outcome = shared.admit(number, &socket); // a peer that is gone, or none of the job
                shared.forget(number);
                if let Ok(Some(mut seals)) = outcome {
                    let _ = shared.serve(&socket, &mut seals);
                }
                shared.connections.fetch_sub(1, Ordering::SeqCst);
            });
            if served.is_err() {
                self.forget(number);
                self.connections.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// One more that has not proven that it belongs to the job.
    fn watch(&self, number: u64, socket: &Arc<TcpStream>) {
        let mut strangers = self.strangers.lock();
        strangers.push_back((number, socket.clone()));
        while strangers.len() > MOST_STRANGERS {
            if let Some((_, oldest)) = strangers.pop_front() {
                let _ = oldest.shutdown(Shutdown::Both); // its thread notices
            }
        }
    }

    /// That peer is no stranger any more, or it is gone. Whether it was one up to now.
    fn forget(&self, number: u64) -> bool {
        let mut strangers = self.strangers.lock();
        let before = strangers.len();
        strangers.retain(|(stranger, _)| *stranger != number);
        strangers.len() < before
    }

    /// Lets a peer prove that it belongs to the job, and proves the same. `None`: it does not.
    fn admit(&self, number: u64, mut socket: &TcpStream) -> io::Result<Option<Seals>> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(HELLO))?;
        let own = nonce();
        write(&mut socket, &[&MAGIC, &own])?;
        let hello = read(&mut Until { socket, end: Clock::SYSTEM.after(HELLO) }, FIRST)?;
        let refuse = |why: &str| write(&mut { socket }, &[format!("refused: {why}").as_bytes()]).map(|()| None);
        let spoken = version(&hello);
        let Some((theirs, tag)) = parts(&hello).filter(|_| spoken == version(&MAGIC)) else {
            return refuse(&another(spoken));
        };
        let mut seals = self.key.seals(Way::Store, [&own, theirs], true);
        seals.received.add(&MAGIC);
        if seals.received.check(tag).is_err() {
            return refuse("another token");
        }
        // Before it is told: one that is welcome stays.
        if !self.forget(number) {
            return Ok(None);
        }
        write(&mut socket, &[WELCOME, &seals.sent.tag(WELCOME)])?;
        socket.set_read_timeout(None).map(|()| Some(seals))
    }

    fn serve(&self, socket: &TcpStream, seals: &mut Seals) -> io::Result<()> {
        let mut come = None;
        let served = self.converse(socket, seals, &mut come);
        if let Some((process, nonce)) = come {
            let mut rounds = self.rounds.lock();
            rounds.gone(process, nonce);
            self.come.fetch_sub(1, Ordering::SeqCst);
            self.changed.notify_all();
        }
        served
    }

    /// Answers a process step by step. `come`: its number and nonce, once it has come.
    fn converse(&self, mut socket: &TcpStream, seals: &mut Seals, come: &mut Option<(u32, Nonce)>) -> io::Result<()> {
        while !self.is_over() {
            let step = match receive::<Step>(&mut socket, &mut seals.received) {
                Ok(step) => step,
                // The process has sent something else: it is told, and comes again by another connection.
                Err(error) => {
                    return match refusal(&error) {
                        Some(refusal) => send(&mut socket, &mut seals.sent, &View::Refused(refusal)),
                        None => Err(error),
                    };
                }
            };
            let view = self.carry_out(step, come);
            match send(&mut socket, &mut seals.sent, &view) {
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                    send(&mut socket, &mut seals.sent, &View::Refused(Refusal::Memory(MOST as u64)))?;
                }
                sent => sent?,
            }
        }
        Ok(())
    }

    fn carry_out(&self, step: Step, come: &mut Option<(u32, Nonce)>) -> View {
        let mut rounds = self.rounds.lock();
        // A step copies the cards of all processes once or twice.
        let bytes = rounds.bytes();
        if room::probe(bytes).is_err() {
            return View::Refused(Refusal::Memory(bytes as u64));
        }
        if let Step::Look { round, version, millis, .. } = step {
            let end = Clock::SYSTEM.now() + Duration::from_millis(millis.into());
            while !rounds.is_past(round, version) && !self.is_over() {
                let left = end.saturating_duration_since(Clock::SYSTEM.now());
                if left.is_zero() || self.changed.wait_for(&mut rounds, left).timed_out() {
                    break;
                }
            }
        }
        let comes = if let Step::Come { process, card, .. } = &step { Some((*process, card.nonce)) } else { None };
        let (view, wakes) = rounds.step(step);
        // One that is refused leaves nothing behind: the number may be another's.
        if let Some(comes) = comes.filter(|_| !matches!(view, View::Refused(_)))
            && come.replace(comes).is_none()
        {
            self.come.fetch_add(1, Ordering::SeqCst);
        }
        if wakes {
            self.changed.notify_all();
        }
        view
    }
}

/// What a process is told whose step could not be read.
fn refusal(error: &io::Error) -> Option<Refusal> {
    match error.kind() {
        io::ErrorKind::OutOfMemory => Some(Refusal::Memory(MOST as u64)),
        _ if is_forged(error) => Some(Refusal::Untrusted),
        _ => None,
    }
}

/// The store of a job, served by a process that outlives the ranks: the one that starts them, say. The processes of the job are
/// told so by [`Rendezvous::served`](super::super::Rendezvous::served); then each of them may be lost. It serves until it is
/// dropped.
///
/// ```
/// # fn main() -> windlass::Result<()> {
/// use windlass::{Device, collective::{Communicator, Rendezvous, Store}};
/// let store = Store::serve("127.0.0.1:0", "secret")?;
/// let address = store.address().to_string();
/// std::thread::scope(|scope| {
///     let join = |process| {
///         let at = Rendezvous::new(&address, process, 2).token("secret").served();
///         Communicator::join(&at, [&Device::host()?])?.barrier()?.await_result()
///     };
///     let other = scope.spawn(move || join(1)); // another process, really
///     join(0)?;
///     other.join().unwrap()
/// })
/// # }
/// ```
pub struct Store(Server);

impl Store {
    /// Serves at `address`, a number and a port (0: any that is free), for those who know the token.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: no address. An error of the system: the port is taken, say.
    pub fn serve(address: &str, token: &str) -> Result<Self> {
        Server::begin(&resolve(address)?, Key::new(token)).map(Store)
    }

    /// Where it serves.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Store").field(&self.0.address).finish()
    }
}

/// Where a store may be: a name may have several addresses.
pub(in crate::libraries::collective) fn resolve(address: &str) -> Result<Vec<SocketAddr>> {
    let failed = |why: String| Error::invalid("address", format!("`{address}`: {why}"));
    let found: Vec<_> = address.to_socket_addrs().map_err(|error| failed(error.to_string()))?.collect();
    if found.is_empty() { Err(failed("it has no address".into())) } else { Ok(found) }
}
