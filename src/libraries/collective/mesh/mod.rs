//! Collectives between processes whose ranks are host devices. For ranks on GPUs the mesh is the plane of control: all
//! agree there on each collective, and it tells when one is lost; the data is NCCL's (`native/joined.rs`).
//!
//! | file | content |
//! |---|---|
//! | `enter` | a process comes into an epoch: all agree at the store on who is of it |
//! | `join` | the processes of an epoch connect each with each |
//! | `watch` | a thread that notices processes which end or fall silent |
//! | `wire` | sends to and receives from all others at once |
//! | `header` | what all processes must agree on before each collective |
//! | `turn` | one collective after the other, each agreed on by all processes |
//! | `run`, `reduce`, `received` | the collectives |
//!
//! Each pair of processes has two connections: one for data, one for signs of life. The data of a collective goes directly
//! from each process to each: a reduction is an exchange of shares, a combination in the order of the ranks, and an exchange of
//! results, all in pieces, so its bits are those of ranks in one process, for every size; each process sends and receives
//! as many bytes as in a ring.
//!
//! 1. Before its data each collective has a round of headers. All processes see the same headers, so a collective that does not
//!    fit together fails on all of them, before any data; the communicator stays usable. (A few bytes come with the header,
//!    which tells how many: they are received in any case.)
//! 2. Collectives have numbers, given at submission. One that could not run in a process (its input had failed) is reported to
//!    the others under its number.
//! 3. A host half that waits for other processes must not occupy a thread of a device. So the communicator has a host device
//!    with one thread of its own, which is the first of the dispatch: the host half runs there.
//! 4. A communicator that lost a process, or in which data is left half-way, is lost as a whole: all its collectives fail, and
//!    all processes are told, also of losses that they did not see themselves.
//! 5. What is agreed on, and every sign of life, carries a keyed hash (`store/seal.rs`), and elements do if the job wants it. A
//!    message that does not fit loses the communicator: what comes by that connection is not what the other process sends.
//!    Nothing is sent by a connection before the process at its other end has proven that it knows the job's token.
//! 6. A mesh is one epoch of a communicator. The next one is made beside it, and takes its place when all have it.

mod enter;
mod header;
mod join;
mod received;
mod reduce;
mod run;
mod turn;
mod watch;
mod wire;

/// The code of the loss of a communicator in which somebody else has sent something.
const UNTRUSTED: (i32, &str) = (2, "untrusted");

/// Reductions of up to so many bytes of each rank take one message: it goes to all with the header, and each process
/// combines all by itself.
const SMALL: usize = 2048;

pub(super) use enter::{Entry, Look};
#[cfg(feature = "cuda")]
pub(super) use received::Received;
pub(super) use run::{refuse, run};
#[cfg(target_os = "linux")]
pub(super) use turn::SKIPPED;
#[cfg(feature = "cuda")]
pub(super) use turn::{Brought, in_turn};

use crate::core::clock::Clock;
use crate::core::error::{Error, Result, Site};
use crate::core::room;
use crate::core::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering};
use crate::libraries::collective::store::Seals;
use std::net::TcpStream;
use std::ops::Range;
use std::thread::JoinHandle;
use std::time::Duration;

/// The connections of one process to all others, in one epoch.
pub(super) struct Mesh {
    /// Where this process stands among the members.
    process: usize,
    epoch: u64,
    /// The number of each member, which it keeps from epoch to epoch.
    numbers: Arc<[u32]>,
    /// The ranks of each member.
    ranks: Vec<Range<usize>>,
    data: Mutex<Data>,
    state: Arc<State>,
    /// The thread that watches the others.
    watch: Mutex<Option<JoinHandle<()>>>,
    patience: Duration,
    /// The elements that are sent carry tags.
    protects: bool,
}

/// A connection to another process.
struct Line {
    socket: TcpStream,
    seals: Mutex<Seals>,
}

/// Used by one collective at a time.
struct Data {
    /// To each process; none to this one.
    lines: Vec<Option<Line>>,
    /// The number of the next collective.
    next: u64,
}

/// What the watching thread and the collectives share. Processes are told by where they stand among the members.
struct State {
    own: usize,
    numbers: Arc<[u32]>,
    /// For silence and patience.
    clock: Clock,
    loss: Mutex<Loss>,
    closing: AtomicBool,
    /// A collective of this process gave up on that one, which lives; one more than that. The others are told.
    gave_up: AtomicUsize,
}

/// Why the communicator is lost, as it was noticed first.
#[derive(Clone, Default)]
struct Loss {
    /// Whose fault it is.
    processes: Vec<usize>,
    cause: Option<String>,
    /// What came was not what they send.
    untrusted: bool,
    /// The processes that are gone: they are of no later epoch.
    dead: Vec<usize>,
    /// Those that have left: no loss, unless they are waited for.
    left: Vec<usize>,
}

impl State {
    /// Takes the memory for the loss of all processes.
    fn new(own: usize, numbers: Arc<[u32]>, clock: Clock) -> Result<Self> {
        let list = || room::with_capacity(numbers.len());
        let loss = Loss { processes: list()?, dead: list()?, left: list()?, ..Loss::default() };
        let (loss, closing, gave_up) = (Mutex::new(loss), AtomicBool::new(false), AtomicUsize::new(0));
        Ok(State { own, numbers, clock, loss, closing, gave_up })
    }

    fn number(&self, process: usize) -> u32 {
        self.numbers.get(process).copied().unwrap_or_default()
    }

    /// The communicator is lost because of these processes, which may live.
    fn blame(&self, processes: &[usize], cause: &str) {
        let mut loss = self.loss.lock();
        if loss.cause.is_none() {
            loss.cause = Some(cause.to_owned());
            loss.processes.extend_from_slice(processes);
        }
    }

    /// What came by a connection to this process is not what it sends. It may live: the others are told that this one gave up.
    #[cold]
    fn distrust(&self, process: usize) {
        let mut loss = self.loss.lock();
        loss.untrusted |= loss.cause.is_none();
        drop(loss);
        let number = self.number(process);
        self.blame(&[process], &format!("what comes by the connection to process {number} is not what it sends"));
        self.gave_up.store(process + 1, Ordering::SeqCst);
    }

    /// A process is gone.
    fn lose(&self, process: usize, cause: &str) {
        let mut loss = self.loss.lock();
        if loss.dead.contains(&process) {
            return;
        }
        loss.dead.push(process);
        if !loss.processes.contains(&process) {
            loss.processes.push(process);
            loss.processes.sort_unstable();
        }
        loss.cause.get_or_insert_with(|| cause.to_owned());
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

    /// How long a process waits for others at most.
    #[cfg(feature = "cuda")]
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// The first rank of this process.
    pub(super) fn first(&self) -> usize {
        self.ranks.get(self.process).map_or(0, |ranks| ranks.start)
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn is_lost(&self) -> bool {
        self.state.is_lost()
    }

    /// The ranks of the process with this number.
    fn ranks_of(&self, number: u32) -> Range<usize> {
        let index = self.numbers.iter().position(|other| *other == number);
        index.and_then(|index| self.ranks.get(index)).cloned().unwrap_or_default()
    }

    /// The numbers of the processes that are gone.
    fn dead(&self) -> Vec<u32> {
        self.state.loss.lock().dead.iter().map(|process| self.state.number(*process)).collect()
    }

    /// The numbers of the processes that are gone or have left.
    fn absent(&self) -> Vec<u32> {
        let loss = self.state.loss.lock();
        loss.dead.iter().chain(&loss.left).map(|process| self.state.number(*process)).collect()
    }

    /// The ranks that this mesh has and the other has not: those of processes that are no members there.
    pub(super) fn ranks_without(&self, other: &Mesh) -> Vec<usize> {
        let of = |(number, ranks): (&u32, &Range<usize>)| (!other.numbers.contains(number)).then(|| ranks.clone());
        self.numbers.iter().zip(&self.ranks).filter_map(of).flatten().collect()
    }

    /// Those that have left are needed: they are lost, which the others are told.
    pub(super) fn miss_those_that_left(&self) {
        let left = self.state.loss.lock().left.clone();
        for process in left {
            self.state.lose(process, &format!("process {} has left", self.state.number(process)));
        }
    }

    /// This process can carry out no more collectives of this epoch: the others are told.
    pub(super) fn resign(&self, cause: &str) {
        self.state.blame(&[self.process], cause);
        self.state.gave_up.store(self.process + 1, Ordering::SeqCst);
    }

    /// The error of a collective of a communicator that is lost.
    pub(super) fn lost(&self, sequence: u64, operation: &str) -> Error {
        let loss = self.state.loss.lock().clone();
        let ranks = loss.processes.iter().filter_map(|process| self.ranks.get(*process)).flat_map(Clone::clone);
        let mut site = Site::none();
        if loss.untrusted {
            site.set_code(UNTRUSTED.0, UNTRUSTED.1);
        }
        let (operation, cause) = (operation.into(), loss.cause.unwrap_or_default().into());
        Error::CollectiveLost { ranks: ranks.collect(), sequence, operation, cause, site }
    }

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
