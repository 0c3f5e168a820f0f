//! Ranks that go on after a loss. Here threads play processes, and one ends by dropping its communicator; `killed.rs` has real
//! ones. Nothing here waits for time to pass: who waits, waits for another thread.

use crate::remote::address;
use crate::{LONG, Rng, host, side_by_side};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::Duration;
use windlass::collective::{Combine, Communicator, Members, Rebuilt, Rendezvous, Store};
use windlass::{Device, Error};

/// The limit of what does not come; a process can reach the store within it on a busy machine too.
const SHORT: Duration = Duration::from_secs(2);

fn at(address: &str, index: usize, processes: usize) -> Rendezvous {
    Rendezvous::new(address, index, processes).limit(LONG).silence(LONG).token("ours")
}

/// How many have passed each point. One that leaves is lost to those who still wait for another in a collective of before:
/// so all have its result before one leaves.
#[derive(Default)]
struct Points(Mutex<Vec<usize>>, Condvar);

/// One process of a job whose store is served by the test.
struct Process {
    comm: Communicator,
    device: Device,
    index: usize,
    address: String,
    processes: usize,
    points: Arc<Points>,
}

impl Process {
    fn join(at: &Rendezvous, points: &Arc<Points>) -> windlass::Result<Self> {
        let device = host(1);
        let comm = Communicator::join(at, [&device])?;
        let (index, processes, address) = (at.process(), at.processes(), at.address().to_owned());
        let points = points.clone();
        Ok(Process { comm, device, index, address, processes, points })
    }

    /// Waits until `living` processes are at this point.
    fn pass(&self, point: usize, living: usize) {
        let Points(passed, changed) = &*self.points;
        let mut passed = passed.lock().unwrap();
        let points = passed.len().max(point + 1);
        passed.resize(points, 0);
        passed[point] += 1;
        changed.notify_all();
        drop(changed.wait_while(passed, |passed| passed[point] < living).unwrap());
    }

    /// All processes of the job are here, and have nothing to wait for.
    fn gather(&self) {
        self.comm.barrier().unwrap().await_result().unwrap();
        self.pass(0, self.processes);
    }

    /// The sum over all ranks of `x`.
    fn sum(&self, x: u32) -> windlass::Result<u32> {
        let x = self.device.upload([x; 700]).unwrap().into_output();
        let sums = self.comm.all_reduce_in_place(Combine::Sum, vec![x])?.await_result()?;
        Ok(self.device.to_vec(&sums[0]).unwrap()[699])
    }

    /// Sums until one fails.
    fn until_lost(&self) -> Error {
        loop {
            if let Err(error) = self.sum(1) {
                assert!(matches!(error, Error::CollectiveLost { .. }), "{error}");
                return error;
            }
        }
    }

    fn survive(&self) -> windlass::Result<Rebuilt> {
        // A limit may be one that no clock reaches.
        let limit = if self.index == 0 { Duration::MAX } else { LONG };
        self.comm.rebuild(Members::Survivors, limit)
    }
}

/// Runs `f` in as many threads as processes.
fn job<R: Send + 'static>(processes: usize, f: impl Fn(Process) -> R + Send + Sync + 'static) -> Vec<R> {
    let store = Store::serve("127.0.0.1:0", "ours").unwrap();
    let address = store.address().to_string();
    let points = Arc::default();
    side_by_side(processes, move |index| f(Process::join(&at(&address, index, processes).served(), &points).unwrap()))
}

#[test]
fn survivors_go_on_under_the_same_handles_whoever_is_lost() {
    for victim in 0..3 {
        job(3, move |process| {
            assert_eq!(process.sum(1 << process.index).unwrap(), 7);
            process.pass(0, 3);
            if process.index == victim {
                return;
            }
            let clone = process.comm.deterministic();
            let kept = process.device.upload([process.index as u32; 4]).unwrap().into_output();
            process.until_lost();
            let rebuilt = process.survive().unwrap();
            let rank = process.index - usize::from(process.index > victim);
            assert_eq!((rebuilt.epoch, rebuilt.ranks, rebuilt.first_rank), (1, 2, rank));
            assert_eq!(rebuilt.without, [victim]);
            assert_eq!((clone.ranks(), clone.first_rank(), clone.epoch()), (2, rank, 1));
            assert_eq!(process.sum(1 << process.index).unwrap(), 7 - (1 << victim));
            // What it had before is still there.
            let sums = clone.all_reduce_in_place(Combine::Max, vec![kept]).unwrap().await_result().unwrap();
            let most = if victim == 2 { 1 } else { 2 };
            assert_eq!(process.device.to_vec(&sums[0]).unwrap(), [most; 4]);
        });
    }
}

#[test]
fn one_after_the_other_may_be_lost_until_one_is_left() {
    job(4, |process| {
        for left in (1..=4usize).rev() {
            assert_eq!(process.sum(1).unwrap(), left as u32);
            process.pass(left, left);
            // The last one goes: that is process `left - 1`.
            if process.index == left - 1 {
                return;
            }
            process.until_lost();
            assert_eq!(process.survive().unwrap().ranks, left - 1);
        }
    });
}

/// Two threads of each process notice, and both rebuild: it is rebuilt once.
#[test]
fn two_rebuilds_at_once_are_one() {
    job(3, |process| {
        process.gather();
        if process.index == 1 {
            return;
        }
        process.until_lost();
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            let rebuild = || {
                both.wait();
                process.survive().unwrap().ranks
            };
            let other = scope.spawn(rebuild);
            assert_eq!((rebuild(), other.join().unwrap()), (2, 2));
        });
        assert_eq!(process.sum(1).unwrap(), 2);
    });
}

#[test]
fn a_rebuild_that_lacks_a_process_names_it_and_can_be_tried_again() {
    let (tried, told) = std::sync::mpsc::channel::<()>();
    let told = Mutex::new(told);
    job(3, move |process| {
        process.gather();
        match process.index {
            1 => return,
            0 => {
                process.until_lost();
                let error = process.comm.rebuild(Members::Survivors, SHORT).unwrap_err();
                let Error::CollectiveLost { ranks, operation, cause, .. } = &error else { panic!("{error}") };
                assert!(**ranks == [2] && **operation == *"rebuild" && cause.contains("[2]"), "{error}");
                assert_eq!((process.comm.ranks(), process.comm.epoch()), (3, 0), "it is as it was");
                assert!(matches!(process.sum(1), Err(Error::CollectiveLost { .. })));
                tried.send(()).unwrap();
            }
            _ => {
                process.until_lost();
                told.lock().unwrap().recv().unwrap();
            }
        }
        assert_eq!(process.survive().unwrap().ranks, 2);
        assert_eq!(process.sum(1).unwrap(), 2);
    });
}

#[test]
fn a_rank_lost_during_the_rebuild_is_left_out() {
    let (tried, told) = std::sync::mpsc::channel::<()>();
    let told = Mutex::new(told);
    job(4, move |process| {
        process.gather();
        match process.index {
            1 => return,
            2 => {
                // It waits in a rebuild of its own, is not waited for by then, and goes.
                process.until_lost();
                let error = process.comm.rebuild(Members::Survivors, SHORT).unwrap_err();
                assert!(matches!(error, Error::CollectiveLost { .. }), "{error}");
                tried.send(()).unwrap();
                return;
            }
            0 => {
                process.until_lost();
                told.lock().unwrap().recv().unwrap();
            }
            _ => drop(process.until_lost()),
        }
        let rebuilt = process.survive().unwrap();
        assert_eq!(rebuilt.without, [1, 2]);
        assert_eq!(process.sum(1).unwrap(), 2);
    });
}

#[test]
fn a_replacement_takes_the_place_and_the_number_of_the_lost_one() {
    for victim in 0..3 {
        job(3, move |process| {
            assert_eq!(process.sum(1).unwrap(), 3);
            process.pass(0, 3);
            let process = if process.index == victim {
                let again = at(&process.address, victim, process.processes).served().replacement();
                let points = process.points.clone();
                drop(process);
                Process::join(&again, &points).unwrap()
            } else {
                process.until_lost();
                let rebuilt = process.comm.rebuild(Members::Replaced, LONG).unwrap();
                assert_eq!((rebuilt.ranks, rebuilt.first_rank), (3, process.index));
                assert_eq!(rebuilt.without, [0; 0]);
                process
            };
            assert_eq!((process.comm.first_rank(), process.comm.epoch()), (process.index, 1));
            assert_eq!(process.sum(1 << process.index).unwrap(), 7);
        });
    }
}

#[test]
fn a_replacement_that_does_not_come_is_named_and_the_survivors_can_go_on_without() {
    job(3, |process| {
        process.gather();
        if process.index == 2 {
            return;
        }
        process.until_lost();
        let both = |error: Error| {
            let Error::CollectiveLost { ranks, .. } = &error else { panic!("{error}") };
            assert!(ranks.contains(&2) || ranks.contains(&(1 - process.index)), "{error}");
        };
        both(process.comm.rebuild(Members::Replaced, SHORT).unwrap_err());
        assert_eq!(process.survive().unwrap().ranks, 2);
        assert_eq!(process.sum(1).unwrap(), 2);
    });
}

/// Each tries until one of them was told, however long that one took to come; nobody leaves before they agree.
#[test]
fn processes_that_want_different_members_are_told() {
    let told = std::sync::atomic::AtomicBool::new(false);
    job(3, move |process| {
        process.gather();
        if process.index == 2 {
            return;
        }
        process.until_lost();
        let wanted = if process.index == 0 { Members::Survivors } else { Members::Replaced };
        while !told.load(SeqCst) {
            match process.comm.rebuild(wanted, SHORT) {
                Err(Error::InvalidArgument { argument, .. }) if argument == "members" => told.store(true, SeqCst),
                Err(Error::CollectiveLost { .. }) => {} // the other has not come, or was told
                Ok(rebuilt) => assert_eq!((rebuilt.ranks, process.index), (2, 0), "the other wants the same by now"),
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(process.survive().unwrap().ranks, 2);
        assert_eq!(process.sum(1).unwrap(), 2);
    });
}

#[test]
fn without_the_store_the_others_are_told_what_is_missing() {
    let (address, points) = (address(), Arc::default());
    side_by_side(3, move |index| {
        let process = Process::join(&at(&address, index, 3), &points).unwrap();
        process.gather();
        if index == 0 {
            return; // it served the store
        }
        process.until_lost();
        for _ in 0..2 {
            let error = process.survive().unwrap_err();
            let Error::CollectiveLost { ranks, cause, .. } = &error else { panic!("{error}") };
            assert!(**ranks == [0] && cause.contains("Store::serve"), "{error}");
        }
    });
}

/// A thread that comes late, with the same handle or another, gets what the first one has made: no other process is waited for.
#[test]
fn a_rebuild_after_the_end_of_anothers_returns_what_that_made() {
    job(3, |process| {
        process.gather();
        if process.index == 1 {
            return;
        }
        process.until_lost();
        let rebuilt = process.survive().unwrap();
        if process.index == 0 {
            for comm in [&process.comm, &process.comm.deterministic()] {
                for members in [Members::Survivors, Members::Replaced] {
                    assert_eq!(comm.rebuild(members, SHORT).unwrap(), rebuilt);
                }
            }
        }
        assert_eq!(process.sum(1).unwrap(), 2);
    });
}

/// One has left, and no collective has missed it: a rebuild does, and tells the others.
#[test]
fn a_rebuild_goes_on_without_one_that_has_left() {
    job(3, |process| {
        process.gather();
        if process.index == 2 {
            return;
        }
        let rebuilt = loop {
            let rebuilt = process.survive().unwrap();
            if rebuilt.epoch > 0 {
                break rebuilt;
            }
        };
        assert_eq!((rebuilt.epoch, rebuilt.ranks), (1, 2));
        assert_eq!(process.sum(1).unwrap(), 2);
    });
}

#[test]
fn a_rebuild_without_a_loss_does_nothing() {
    job(2, |process| {
        if process.index == 0 {
            let rebuilt = process.comm.rebuild(Members::Replaced, SHORT).unwrap();
            assert_eq!((rebuilt.epoch, rebuilt.ranks, rebuilt.first_rank), (0, 2, 0));
            assert_eq!(rebuilt.without, [0; 0]);
        }
        assert_eq!(process.sum(1).unwrap(), 2);
        process.gather();
    });
    let one = Communicator::new([&host(1)]).unwrap();
    assert!(matches!(one.rebuild(Members::Survivors, LONG), Err(Error::Unsupported { .. })));
}

/// A job whose processes drop out at random, in the middle of what they do, with replacements at random.
#[test]
fn random_losses_amid_random_sums_leave_the_sums_right() {
    for seed in 1..=6u64 {
        println!("seed {seed}");
        let processes = 2 + seed as usize % 3;
        job(processes, move |mut process| {
            let mut rng = Rng::new(seed);
            let mut living: Vec<usize> = (0..processes).collect();
            for turn in 0.. {
                if living.len() < 2 {
                    return;
                }
                // The same choices in all processes.
                let (sums, victim, replaced) = (rng.below(12), living[rng.below(living.len())], rng.below(2) == 0);
                for _ in 0..sums {
                    let expected = living.iter().map(|index| 1 << index).sum::<u32>();
                    assert_eq!(process.sum(1 << process.index).unwrap(), expected);
                }
                process.pass(turn, living.len());
                let is_victim = process.index == victim;
                if is_victim && !replaced {
                    return;
                }
                if is_victim {
                    let again = at(&process.address, victim, processes).served().replacement();
                    let points = process.points.clone();
                    drop(process);
                    process = Process::join(&again, &points).unwrap();
                } else {
                    process.until_lost();
                    let members = if replaced { Members::Replaced } else { Members::Survivors };
                    process.comm.rebuild(members, LONG).unwrap();
                }
                if !replaced {
                    living.retain(|index| *index != victim);
                }
                assert_eq!(process.comm.ranks(), living.len());
                if rng.below(4) == 0 {
                    return; // all of them
                }
            }
        });
    }
}
