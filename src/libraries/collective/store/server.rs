//! The serving side.

use super::frame::{Key, MAGIC, answer, nonce, read, write};
use crate::core::clock::Clock;
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, AtomicBool, AtomicUsize, Condvar, Mutex, Ordering};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// The most connections at a time, the most keys, and the most bytes of a key.
const MOST_CONNECTIONS: usize = 4096;
const MOST_KEYS: usize = 16 << 10;
const MOST_KEY: usize = 256;
/// How long a peer may take to prove that it belongs to the job.
const HELLO: Duration = Duration::from_secs(10);

/// A store that serves until it is dropped.
pub(in crate::libraries::collective) struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
}

struct Shared {
    key: Key,
    values: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    changed: Condvar,
    over: AtomicBool,
    connections: AtomicUsize,
}

impl Server {
    /// Serves at `address`.
    pub(in crate::libraries::collective) fn begin(address: &[SocketAddr], key: Key) -> Result<Self> {
        let failed = |error: io::Error| Error::library(format!("the store cannot listen at {address:?}: {error}"));
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            key,
            values: Mutex::default(),
            changed: Condvar::new(),
            over: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
        });
        let serving = shared.clone();
        let thread = std::thread::Builder::new().name("windlass store".into());
        thread.spawn(move || serving.accept(&listener)).map_err(failed)?;
        Ok(Server { shared, address })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
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
        while !self.is_over() {
            let Ok((socket, _)) = listener.accept() else {
                crate::core::clock::pause(Duration::from_millis(10)); // too many open files, perhaps
                continue;
            };
            if self.is_over() || self.connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
                self.connections.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let shared = self.clone();
            let thread = std::thread::Builder::new().name("windlass store".into());
            let served = thread.spawn(move || {
                let _ = shared.serve(socket); // a peer that is gone, or none of the job
                shared.connections.fetch_sub(1, Ordering::SeqCst);
            });
            if served.is_err() {
                self.connections.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    fn serve(&self, mut socket: TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(HELLO))?;
        socket.set_write_timeout(Some(HELLO))?;
        let challenge = nonce();
        write(&mut socket, &[&MAGIC[..], &challenge].concat())?;
        let hello = read(&mut socket, 64)?;
        let (magic, proof) = hello.split_at_checked(MAGIC.len()).unwrap_or_default();
        if magic != MAGIC {
            return write(&mut socket, b"refused: another protocol, or another version of it");
        }
        let proof: [u8; 32] = proof.try_into().unwrap_or([0; 32]);
        if answer(self.key, &challenge, b"hello") != blake3::Hash::from_bytes(proof) {
            return write(&mut socket, b"refused: another token");
        }
        write(&mut socket, b"welcome")?;
        socket.set_read_timeout(None)?;
        while !self.is_over() {
            let order = read(&mut socket, super::frame::MOST)?;
            let reply = self.carry_out(&order);
            write(&mut socket, &reply)?;
        }
        Ok(())
    }

    /// The reply: a byte that tells whether there is a value, and the value.
    fn carry_out(&self, order: &[u8]) -> Vec<u8> {
        let found = |value: &[u8]| [&[1], value].concat();
        let none = |why: &str| [&[0], why.as_bytes()].concat();
        let Some((verb, rest)) = order.split_first() else { return none("an empty order") };
        let Some((len, rest)) = rest.split_first_chunk::<2>() else { return none("an order without a key") };
        let Some((key, data)) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len))) else {
            return none("a key that is cut off");
        };
        if key.len() > MOST_KEY {
            return none("a key that is too long");
        }
        let mut values = self.values.lock();
        match verb {
            // Set, unless it is set.
            b's' => {
                if let Some(value) = values.get(key) {
                    return if value == data { found(data) } else { none("it has another value already") };
                }
                if values.len() >= MOST_KEYS {
                    return none("the store is full");
                }
                values.insert(key.to_vec(), data.to_vec());
                self.changed.notify_all();
                found(data)
            }
            // Wait until it is set, for so many milliseconds.
            b'w' => {
                let limit = data.try_into().map_or(0, u64::from_le_bytes);
                let end = Clock::SYSTEM.now() + Duration::from_millis(limit.min(3_600_000));
                loop {
                    if let Some(value) = values.get(key) {
                        return found(value);
                    }
                    let left = end.saturating_duration_since(Clock::SYSTEM.now());
                    if left.is_zero() || self.is_over() {
                        return none("not set in time");
                    }
                    self.changed.wait_for(&mut values, left);
                }
            }
            _ => none("an unknown order"),
        }
    }
}
