//! Trouble in the network: what the processes send each other passes through a proxy that delays it, cuts it into fragments,
//! turns the order of connections round, and lets connections fall silent, in one direction or both, or breaks them. Random
//! programs end with the results of a sequential model, or with [`Error::CollectiveLost`] for every waiter; then those that
//! are left go on. `WINDLASS_TEST_NETWORKS` is the number of programs of each kind.
//!
//! ```text
//!   process ── proxy ── store         in what a process tells of itself, the proxy puts an address of its own,
//!   process ── proxy ── process       so the processes connect through it too
//! ```
//!
//! Threads play processes. Time passes only when a connection was cut, by a clock of the test.

use crate::kills::Member;
use crate::sealed::{Middle, read_frame};
use crate::{END, LONG, Rng, host, side_by_side};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::time::{Duration, Instant};
use windlass::clock::{ManualClock, Timing};
use windlass::collective::{Communicator, Members, Rendezvous, Store};
use windlass::{Device, Error, HostPool};

/// What happens to a connection: the directions that are silent from now on, as bits; or it is broken.
const BOTH: u8 = 3;
const BROKEN: u8 = 4;

/// The first byte of what a process tells the store when it is connected with all others.
const STAND: u8 = 2;

struct Link {
    ends: [TcpStream; 2],
    trouble: AtomicU8,
    /// The store's first frame.
    challenge: OnceLock<Vec<u8>>,
}

impl Link {
    fn shut(&self) {
        self.ends.iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
    }
}

/// All connections of a job.
struct Network {
    rng: Mutex<Rng>,
    /// Between processes, and to the store.
    links: Mutex<Vec<Arc<Link>>>,
    to_store: Mutex<Vec<Arc<Link>>>,
    /// The proxy of each port that a process listens at, and those who connect there besides.
    ports: Mutex<HashMap<u16, u16>>,
    /// The ports of all proxies.
    proxies: Mutex<Vec<u16>>,
    strangers: Mutex<Vec<TcpStream>>,
    over: AtomicBool,
    /// How long it takes to connect two processes, at least: so many milliseconds.
    lag: AtomicUsize,
    /// So many answers of the store, each to a process that stands, do not arrive: the connection breaks instead.
    unanswered: AtomicUsize,
    /// After one of these nobody reaches the store any more.
    for_good: AtomicBool,
}

impl Network {
    fn new(seed: u64) -> Arc<Self> {
        Arc::new(Network {
            rng: Mutex::new(Rng::new(seed)),
            links: Mutex::default(),
            to_store: Mutex::default(),
            ports: Mutex::default(),
            proxies: Mutex::default(),
            strangers: Mutex::default(),
            over: AtomicBool::new(false),
            lag: AtomicUsize::new(0),
            unanswered: AtomicUsize::new(0),
            for_good: AtomicBool::new(false),
        })
    }

    fn below(&self, n: usize) -> usize {
        self.rng.lock().unwrap().below(n)
    }

    /// Nothing comes for a while, most often a short one.
    fn delay(&self) {
        if self.below(6) == 0 {
            let most = [100, 1000, 4000][self.below(3)];
            std::thread::sleep(Duration::from_micros(self.below(most) as u64));
        }
    }

    /// All proxies and connections end.
    fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        let proxies: Vec<u16> = self.proxies.lock().unwrap().drain(..).collect();
        proxies.iter().for_each(|port| drop(TcpStream::connect(("127.0.0.1", *port))));
        for links in [&self.links, &self.to_store] {
            links.lock().unwrap().drain(..).for_each(|link| link.shut());
        }
        self.strangers.lock().unwrap().clear();
    }

    /// Where one reaches `target` through the proxy. Towards the store, what processes tell of themselves is changed.
    fn through(self: &Arc<Self>, target: SocketAddr, is_store: bool) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        self.proxies.lock().unwrap().push(address.port());
        let network = self.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if network.over.load(Ordering::SeqCst) {
                    return;
                }
                let network = network.clone();
                std::thread::spawn(move || network.connect(near, target, is_store));
            }
        });
        address
    }

    fn connect(self: &Arc<Self>, near: TcpStream, target: SocketAddr, is_store: bool) {
        // So connections arrive in another order than they were made in.
        self.delay();
        if !is_store {
            std::thread::sleep(Duration::from_millis(self.lag.load(Ordering::SeqCst) as u64));
        }
        let Ok(far) = TcpStream::connect(target) else { return };
        near.set_nodelay(true).unwrap();
        far.set_nodelay(true).unwrap();
        let ends = [near.try_clone().unwrap(), far.try_clone().unwrap()];
        let link = Arc::new(Link { ends, trouble: AtomicU8::new(0), challenge: OnceLock::new() });
        let links = if is_store { &self.to_store } else { &self.links };
        links.lock().unwrap().push(link.clone());
        for (direction, (from, to)) in
            [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)].into_iter().enumerate()
        {
            let (network, link) = (self.clone(), link.clone());
            let cards = is_store && direction == 0;
            std::thread::spawn(move || {
                let _ = if cards {
                    network.pump_cards(&from, &to, &link)
                } else if is_store && link.challenge.set(read_frame(&from).unwrap_or_default()).is_ok() {
                    let challenge = crate::sealed::frame(link.challenge.wait());
                    network.send(&to, &challenge).and_then(|()| network.pump(from, &to, &link, direction))
                } else {
                    network.pump(from, &to, &link, direction)
                };
                if link.trouble.load(Ordering::SeqCst) & BROKEN != 0 {
                    link.shut();
                }
                // The end of one side is told to the other, unless nothing is told any more.
                if link.trouble.load(Ordering::SeqCst) & (1 << direction) == 0 {
                    let _ = to.shutdown(Shutdown::Write);
                }
            });
        }
    }

    fn pump(&self, mut from: TcpStream, to: &TcpStream, link: &Link, direction: usize) -> std::io::Result<()> {
        let mut bytes = vec![0; 1 << 14];
        loop {
            let most = [1, 7, 100, 1500, 1 << 14][self.below(5)];
            let got = from.read(&mut bytes[..most])?;
            if got == 0 || link.trouble.load(Ordering::SeqCst) & (1 << direction) != 0 {
                return Ok(());
            }
            self.delay();
            self.send(to, &bytes[..got])?;
        }
    }

    /// In fragments.
    fn send(&self, mut to: &TcpStream, bytes: &[u8]) -> std::io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (fragment, after) =
                rest.split_at(if self.below(4) == 0 { 1 + self.below(rest.len()) } else { rest.len() });
            to.write_all(fragment)?;
            rest = after;
        }
        Ok(())
    }

    /// Frame by frame, with the proxy's ports in the place of those of the processes.
    fn pump_cards(self: &Arc<Self>, from: &TcpStream, to: &TcpStream, link: &Link) -> std::io::Result<()> {
        let mut middle = Middle::new();
        loop {
            let data = read_frame(from)?;
            let stands = data.first() == Some(&STAND);
            let frame = middle.pass("", link.challenge.wait(), data, |own| self.port(own));
            self.delay();
            let one_less = |left: usize| left.checked_sub(1);
            if stands && self.unanswered.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
                link.trouble.store(2 | BROKEN, Ordering::SeqCst); // by the thread that would bring the answer
                self.over.store(self.for_good.load(Ordering::SeqCst), Ordering::SeqCst);
            }
            self.send(to, &frame)?;
        }
    }

    /// The proxy of a port. Strangers connect to it too.
    fn port(self: &Arc<Self>, own: u16) -> u16 {
        if let Some(proxy) = self.ports.lock().unwrap().get(&own) {
            return *proxy;
        }
        for say in [&b""[..], &[37], &[255; 68], &[37, 0, 0, 0], &[0; 4]] {
            // The process may have given up, and listen no longer.
            let Ok(mut stranger) = TcpStream::connect(("127.0.0.1", own)) else { break };
            let _ = stranger.write_all(say);
            self.strangers.lock().unwrap().push(stranger);
        }
        let proxy = self.through(([127, 0, 0, 1], own).into(), false).port();
        assert!(own >= 1 << 14 && proxy >= 1 << 14, "a port of fewer bytes");
        self.ports.lock().unwrap().insert(own, proxy);
        proxy
    }

    /// Cuts one of the connections between two processes, which are the last `connections`.
    fn cut(&self, connections: usize) -> String {
        let links = self.links.lock().unwrap();
        let which = links.len() - connections + self.below(connections);
        let trouble = [1, 2, BOTH, BROKEN][self.below(4)];
        links[which].trouble.store(trouble, Ordering::SeqCst);
        if trouble == BROKEN {
            links[which].shut();
        }
        format!("connection {which} of {}: {trouble}", links.len())
    }
}

/// What the threads of a job share with the test.
struct Progress {
    clock: ManualClock,
    stop: AtomicBool,
    /// How many have joined.
    joined: AtomicUsize,
    /// The processes that were told of a loss, as bits.
    lost: AtomicUsize,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    /// The results were the model's, in this epoch at last.
    Done(u64),
    /// The others have gone on without it.
    Excluded,
}

fn play(at: &Rendezvous, progress: &Progress) -> Outcome {
    let timing = Timing { clock: progress.clock.clock(), ..Timing::default() };
    let device = Device::builder().host().host_pool(HostPool::Threads(1)).timing(timing).open().unwrap();
    let mut member = Member::join(at, device);
    progress.joined.fetch_add(1, Ordering::SeqCst);
    loop {
        match member.run(&progress.stop) {
            Ok(()) => return Outcome::Done(member.comm.epoch()),
            Err(Error::CollectiveLost { .. }) => progress.lost.fetch_or(1 << at.process(), Ordering::SeqCst),
            Err(error) => panic!("{error}"),
        };
        match member.comm.rebuild(Members::Survivors, LONG) {
            Ok(_) => {}
            // It is as it was, so the next attempt is like the first: `run` is told again that it is lost.
            Err(Error::LibraryError { .. }) => {}
            Err(Error::CollectiveLost { ranks, .. }) if *ranks == [member.comm.first_rank()] => {
                return Outcome::Excluded;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// One program in a network with trouble; `cuts`: one connection is cut in the middle of it.
fn program(seed: u64, cuts: bool) {
    let (network, mut rng) = (Network::new(seed), Rng::new(seed ^ 77));
    let processes = 2 + rng.below(3);
    let store = Store::serve("127.0.0.1:0", "").unwrap();
    let address = network.through(store.address(), true).to_string();
    let (clock, stop) = (ManualClock::new(), AtomicBool::new(false));
    let progress = Arc::new(Progress { clock, stop, joined: AtomicUsize::new(0), lost: AtomicUsize::new(0) });
    let told = progress.clone();
    let job = std::thread::spawn(move || {
        side_by_side(processes, move |index| {
            let at = Rendezvous::new(&address, index, processes).served().limit(LONG);
            play(&at.silence(Duration::from_secs(3)).patience(Duration::from_secs(20)), &told)
        })
    });
    let began = Instant::now();
    while progress.joined.load(Ordering::SeqCst) < processes && !job.is_finished() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_micros(rng.below(60_000) as u64));
    if cuts {
        let cut = network.cut(processes * (processes - 1));
        // Steps in which those that live give signs of life.
        while progress.lost.load(Ordering::SeqCst) + 1 < 1 << processes && !job.is_finished() {
            assert!(began.elapsed() < END, "seed {seed}: {cut}: a waiter is never answered");
            progress.clock.advance(Duration::from_millis(50));
            std::thread::sleep(Duration::from_millis(1));
        }
        println!("seed {seed}, {processes} processes, {cut}: lost after {:?}", began.elapsed());
        if rng.below(2) == 0 {
            // While they agree on the next epoch.
            std::thread::sleep(Duration::from_micros(rng.below(30_000) as u64));
            network.to_store.lock().unwrap().iter().for_each(|link| link.shut());
        }
        std::thread::sleep(Duration::from_micros(rng.below(60_000) as u64));
    }
    progress.stop.store(true, Ordering::SeqCst);
    let outcomes = job.join().unwrap_or_else(|_| panic!("seed {seed}"));
    let is_done = |outcome: &Outcome| matches!(outcome, Outcome::Done(epoch) if *epoch > 0 || !cuts);
    assert!(outcomes.iter().any(is_done), "seed {seed}: {outcomes:?}");
    assert!(cuts || outcomes.iter().all(|outcome| *outcome == Outcome::Done(0)), "seed {seed}: {outcomes:?}");
    network.end();
}

fn programs() -> std::ops::Range<u64> {
    let wanted = std::env::var("WINDLASS_TEST_NETWORKS").ok().and_then(|count| count.parse().ok());
    let first = std::env::var("WINDLASS_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    first..first + wanted.unwrap_or(4)
}

#[test]
fn what_comes_late_in_fragments_and_in_another_order_changes_no_result() {
    programs().for_each(|seed| program(seed, false));
}

#[test]
fn a_connection_that_is_cut_leaves_nobody_waiting_and_the_others_right() {
    programs().for_each(|seed| program(seed, true));
}

/// It has the number of the one that is lost, which all others know.
#[test]
fn a_replacement_that_connects_slowly_is_not_taken_for_the_one_that_is_lost() {
    let network = Network::new(1);
    let store = Store::serve("127.0.0.1:0", "").unwrap();
    let address = network.through(store.address(), true).to_string();
    side_by_side(2, move |index| {
        let at = Rendezvous::new(&address, index, 2).served().limit(LONG).silence(LONG);
        let comm = Communicator::join(&at, [&host(1)]).unwrap();
        comm.barrier().unwrap().await_result().unwrap();
        network.lag.store(200, Ordering::SeqCst);
        let comm = if index == 1 {
            drop(comm);
            Communicator::join(&at.replacement(), [&host(1)]).unwrap()
        } else {
            assert!(matches!(comm.barrier().unwrap().await_result(), Err(Error::CollectiveLost { .. })));
            comm.rebuild(Members::Replaced, LONG).unwrap();
            comm
        };
        assert_eq!((comm.epoch(), comm.ranks()), (1, 2));
        comm.barrier().unwrap().await_result().unwrap();
    });
}

/// The store has committed the next epoch, but the answer that says so does not arrive: another one does.
#[test]
fn a_process_whose_connection_breaks_before_it_is_told_that_the_epoch_began_is_of_it() {
    for lost in 1..=2 {
        let network = Network::new(lost);
        let store = Store::serve("127.0.0.1:0", "").unwrap();
        let address = network.through(store.address(), true).to_string();
        let survivors = 3 - lost as usize;
        let (silent, gathered) = (network.clone(), Barrier::new(3));
        side_by_side(3, move |index| {
            let at = Rendezvous::new(&address, index, 3).served().limit(LONG).silence(LONG);
            let comm = Communicator::join(&at, [&host(1)]).unwrap();
            gathered.wait();
            if index >= survivors {
                return;
            }
            assert!(matches!(comm.barrier().unwrap().await_result(), Err(Error::CollectiveLost { .. })));
            silent.unanswered.store(survivors, Ordering::SeqCst);
            comm.rebuild(Members::Survivors, LONG).unwrap();
            assert_eq!((comm.epoch(), comm.ranks()), (1, survivors));
            comm.barrier().unwrap().await_result().unwrap();
        });
        assert_eq!(network.unanswered.load(Ordering::SeqCst), 0);
        network.end();
    }
}

#[test]
fn a_process_that_does_not_learn_whether_the_epoch_began_is_told_so_within_its_limit() {
    let network = Network::new(7);
    let store = Store::serve("127.0.0.1:0", "").unwrap();
    let address = network.through(store.address(), true).to_string();
    let (cut, gathered) = (network.clone(), Barrier::new(2));
    side_by_side(2, move |index| {
        let at = Rendezvous::new(&address, index, 2).served().limit(LONG).silence(LONG);
        let comm = Communicator::join(&at, [&host(1)]).unwrap();
        gathered.wait();
        if index == 1 {
            return;
        }
        assert!(matches!(comm.barrier().unwrap().await_result(), Err(Error::CollectiveLost { .. })));
        cut.for_good.store(true, Ordering::SeqCst);
        cut.unanswered.store(1, Ordering::SeqCst);
        let error = loop {
            let error = comm.rebuild(Members::Survivors, Duration::from_secs(1)).unwrap_err();
            // If this process was kept from running, the limit may have passed before it stood.
            if cut.unanswered.load(Ordering::SeqCst) == 0 {
                break error;
            }
        };
        assert!(matches!(error, Error::LibraryError { .. }), "{error}");
        assert!(error.to_string().contains("is not known; the next call tells"), "{error}");
        assert_eq!(comm.epoch(), 0);
    });
    network.end();
}
