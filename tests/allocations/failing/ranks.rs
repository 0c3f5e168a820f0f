//! Collectives between processes, which threads play here: what is refused in one of them is told the others, which wait for it.

use super::{Failure, NTH, Outcome, REFUSED, arm, disarm, least};
use crate::alone;
use std::sync::atomic::Ordering;
use std::sync::{Barrier, Mutex};
use std::time::Duration;
use windlass::collective::{Combine, Communicator, Members, Rendezvous, Store, Transfer};
use windlass::{Device, Error, Tensor};

const LONG: Duration = Duration::from_secs(60);
/// Ranks of each of the two processes: more than a short list of operands holds in place.
const RANKS: usize = 5;

/// One process, and where it meets the other.
struct Process<'p> {
    number: usize,
    devices: Vec<Device>,
    comm: Communicator,
    meeting: &'p Barrier,
    /// What each has to tell the other.
    told: &'p Mutex<[bool; 2]>,
}

type Call = fn(&Process<'_>) -> Failure;

impl Process<'_> {
    fn up(&self, len: usize) -> Vec<Tensor<f32>> {
        self.devices.iter().map(|device| device.tensor([len], vec![1.0; len]).unwrap()).collect()
    }

    fn rooms(&self, len: usize) -> Vec<Tensor<f32>> {
        self.devices.iter().map(|device| device.uninit([len]).unwrap()).collect()
    }

    /// Whether the answer of any of them is yes.
    fn any(&self, own: bool) -> bool {
        self.meeting.wait();
        self.told.lock().unwrap()[self.number] = own;
        self.meeting.wait();
        let any = self.told.lock().unwrap().contains(&true);
        self.meeting.wait();
        any
    }

    /// The next collective runs, after a rebuild if the communicator is lost.
    fn go_on(&self) {
        let meet = || self.comm.barrier().unwrap().await_result();
        let mut met = meet();
        if self.any(met.is_err()) {
            // It is lost in both as soon as it is in one.
            while met.is_ok() {
                met = meet();
            }
            assert!(matches!(met, Err(Error::CollectiveLost { .. })), "{met:?}");
            self.comm.rebuild(Members::Survivors, LONG).unwrap();
            meet().unwrap();
        }
    }
}

fn calls() -> Vec<(&'static str, Call)> {
    vec![
        ("all_reduce of few", |p| p.comm.all_reduce_in_place(Combine::Sum, p.up(100)).failure()),
        ("all_reduce", |p| p.comm.all_reduce_in_place(Combine::Max, p.up(40_000)).failure()),
        ("all_reduce with factors", |p| {
            p.comm.all_reduce(Combine::PreMulSum(vec![2.0; RANKS]), &p.up(3000), p.rooms(3000)).failure()
        }),
        ("reduce", |p| {
            let root = if p.number == 0 { vec![p.devices[0].uninit::<f32>([3000]).unwrap()] } else { Vec::new() };
            p.comm.reduce(Combine::Sum, 0, &p.up(3000), root).failure()
        }),
        ("reduce_scatter", |p| p.comm.reduce_scatter(Combine::Sum, &p.up(2 * RANKS * 700), p.rooms(700)).failure()),
        ("all_gather", |p| p.comm.all_gather(&p.up(700), p.rooms(2 * RANKS * 700)).failure()),
        ("exchange", |p| {
            let transfers: Vec<Transfer> =
                (0..2 * RANKS).map(|from| Transfer { from, to: (from + RANKS) % (2 * RANKS) }).collect();
            p.comm.exchange(&transfers, &p.up(700), p.rooms(700)).failure()
        }),
        ("barrier", |p| p.comm.barrier().failure()),
    ]
}

/// One step of the walk over `call`: whether an allocation was refused.
fn step(process: &Process<'_>, (name, call): (&str, Call), nth: usize) -> bool {
    if process.meeting.wait().is_leader() {
        NTH.store(nth, Ordering::Relaxed);
        REFUSED.store(false, Ordering::Relaxed);
        arm();
    }
    process.meeting.wait();
    let failure = call(process);
    if process.meeting.wait().is_leader() {
        disarm();
    }
    process.meeting.wait();
    let refused = REFUSED.load(Ordering::Relaxed);
    let lacks = |error: &Error| matches!(error, Error::OutOfMemory { .. });
    let is_told = |error: &Error| match error {
        Error::CollectiveLost { .. } => true,
        Error::LibraryError { site, .. } => site.code() == Some(1),
        _ => false,
    };
    let (error, came_back) = failure.map_or((None, true), |(error, back)| (Some(error), back));
    assert!(error.as_ref().is_none_or(|error| refused && (lacks(error) || is_told(error))), "{name}, {nth}: {error:?}");
    assert!(came_back, "{name}, {nth}: the buffers did not come back");
    let lack = process.any(error.as_ref().is_some_and(lacks));
    assert!(lack || error.is_none(), "{name}, {nth}: {error:?}, and nobody lacks memory");
    process.go_on();
    refused
}

fn processes(protects: bool, play: impl Fn(&Process<'_>) + Sync) {
    let store = Store::serve("127.0.0.1:0", "ours").unwrap();
    let (address, meeting, told) = (store.address().to_string(), Barrier::new(2), Mutex::new([false; 2]));
    let play = |number| {
        let at = Rendezvous::new(&address, number, 2).served().limit(LONG).silence(LONG).token("ours");
        let devices: Vec<Device> = (0..RANKS).map(|_| crate::common::inline().open().unwrap()).collect();
        let comm = Communicator::join(&at.protect_data(protects), &devices).unwrap();
        play(&Process { number, devices, comm, meeting: &meeting, told: &told });
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| play(1));
        play(0);
        other.join().unwrap();
    });
}

#[test]
fn each_allocation_of_a_collective_between_processes_may_fail() {
    let _alone = alone();
    // Lists of few ranks are short.
    let _least = least(48);
    let refusals = Mutex::new(0);
    let all = std::env::var_os("WINDLASS_TEST_WALK").is_some();
    for protects in [false, true] {
        processes(protects, |process| {
            for (name, call) in calls() {
                // With two threads the n-th is not the same each time.
                let mut without = 0;
                for nth in (0..).filter(|nth| all || *nth < 6 || nth % 7 == 0) {
                    let refused = step(process, (name, call), nth);
                    without = if refused { 0 } else { without + 1 };
                    if refused && process.number == 0 {
                        *refusals.lock().unwrap() += 1;
                    }
                    if without == 2 {
                        break;
                    }
                }
            }
        });
    }
    let refusals = *refusals.lock().unwrap();
    println!("{refusals} allocations refused");
    assert!(refusals > 60, "{refusals}");
}

/// The lists of those that connect, and what the thread has that watches the others.
#[test]
fn each_allocation_of_processes_that_come_together_may_fail() {
    let _alone = alone();
    let mut refusals = 0;
    for nth in 0.. {
        let store = Store::serve("127.0.0.1:0", "ours").unwrap();
        let address = store.address().to_string();
        let join = |number| {
            let at = Rendezvous::new(&address, number, 2).served().limit(LONG).silence(LONG).token("ours");
            let device = crate::common::inline().open().unwrap();
            let mut lacked = 0;
            let comm = loop {
                match Communicator::join(&at, [&device]) {
                    Ok(comm) => break comm,
                    Err(Error::OutOfMemory { .. }) => lacked += 1,
                    Err(error) => panic!("{nth}: {error}"),
                }
            };
            comm.barrier().unwrap().await_result().unwrap();
            lacked
        };
        NTH.store(nth, Ordering::Relaxed);
        REFUSED.store(false, Ordering::Relaxed);
        arm();
        let lacked = std::thread::scope(|scope| {
            let other = scope.spawn(|| join(1));
            join(0) + other.join().unwrap()
        });
        disarm();
        if !REFUSED.load(Ordering::Relaxed) {
            break;
        }
        assert_eq!(lacked, 1, "{nth}");
        refusals += 1;
    }
    println!("{refusals} allocations refused");
    assert!(refusals >= 4, "{refusals}");
}
