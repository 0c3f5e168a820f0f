//! Collectives between processes whose ranks are host devices.
//!
//! | file | content |
//! |---|---|
//! | `join` | the processes find each other at the store, and connect each with each |
//! | `watch` | a thread that notices processes which end or fall silent |
//! | `wire` | sends to and receives from all others at once |
//! | `header` | what all processes must agree on before each collective |
//! | `run` | the collectives |
//!
//! Each pair of processes has two connections: one for data, one for signs of life. The data of a collective goes directly
//! from each process to each: a reduction is an exchange of shares, a combination in the order of the ranks, and an exchange of
//! results, so its bits are those of ranks in one process, for every size; each process sends and receives as many bytes as in
//! a ring.
//!
//! 1. Before its data each collective has a round of headers. All processes see the same headers, so a collective that does not
//!    fit together fails on all of them, before any data; the communicator stays usable.
//! 2. Collectives have numbers, given at submission. One that could not run in a process (its input had failed) is reported to
//!    the others under its number.
//! 3. A host half that waits for other processes must not occupy a thread of a device. So the communicator has a host device
//!    with one thread of its own, which is the first of the dispatch: the host half runs there.
//! 4. A communicator that lost a process, or in which data is left half-way, is lost as a whole: all its collectives fail.

mod header;
mod join;
mod run;
mod watch;
mod wire;

pub(super) use run::run;

use super::store::Server;
use crate::core::error::{Error, Site};
use crate::core::sync::{Arc, AtomicBool, Mutex, Ordering};
use std::net::TcpStream;
use std::ops::Range;
use std::thread::JoinHandle;
use std::time::Duration;

/// The connections of one process to all others.
pub(super) struct Mesh {
    /// The number of this process.
    process: usize,
    /// The ranks of each process.
    ranks: Vec<Range<usize>>,
    data: Mutex<Data>,
    state: Arc<State>,
    /// The thread that watches the others.
    watch: Mutex<Option<JoinHandle<()>>>,
    patience: Duration,
    #[expect(dead_code, reason = "serves until the communicator is dropped")]
    server: Option<Server>,
}

/// Used by one collective at a time.
struct Data {
    /// To each process; none to this one.
    peers: Vec<Option<TcpStream>>,
    /// The number of the next collective.
    next: u64,
}

/// What the watching thread and the collectives share.
struct State {
    loss: Mutex<Loss>,
    closing: AtomicBool,
    /// A collective of this process gave up on others that live: they are told.
    gave_up: AtomicBool,
}

/// The processes that are gone, and how that was noticed first.
#[derive(Clone, Default)]
struct Loss {
    processes: Vec<usize>,
    cause: Option<String>,
}

impl State {
    /// Processes are gone.
    fn lose(&self, processes: &[usize], cause: &str) {
        let mut loss = self.loss.lock();
        for process in processes {
            if !loss.processes.contains(process) {
                loss.processes.push(*process);
            }
        }
        loss.processes.sort_unstable();
        if loss.cause.is_none() {
            loss.cause = Some(cause.to_owned());
        }
    }

    fn is_lost(&self) -> bool {
        self.loss.lock().cause.is_some()
    }
}

impl Mesh {
    /// The number of ranks of all processes.
    pub(super) fn size(&self) -> usize {
        self.ranks.last().map_or(0, |ranks| ranks.end)
    }

    /// The first rank of this process.
    pub(super) fn first(&self) -> usize {
        self.ranks.get(self.process).map_or(0, |ranks| ranks.start)
    }

    /// The error of a collective of a communicator that is lost.
    fn lost(&self, sequence: u64, operation: &str) -> Error {
        let loss = self.state.loss.lock().clone();
        let ranks = loss.processes.iter().filter_map(|process| self.ranks.get(*process)).flat_map(Clone::clone);
        Error::CollectiveLost {
            ranks: ranks.collect(),
            sequence,
            operation: operation.into(),
            cause: loss.cause.unwrap_or_default().into(),
            site: Site::none(),
        }
    }
}

impl Mesh {
    /// Says good-bye to the others: this process will come to no other collective. Those that wait for it are told that it is
    /// gone; its end is not taken for a loss by those that do not.
    pub(super) fn close(&self) {
        self.state.closing.store(true, Ordering::SeqCst);
        let thread = self.watch.lock().take();
        drop(thread.map(JoinHandle::join)); // it looks often, and calls nothing else
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        self.close();
    }
}
