//! Workers that are killed or stopped amid collectives, and what goes on without them.

use super::{assert_sums, builder, signal, up, ups, workers};
use crate::{LONG, Rng};
use std::time::{Duration, Instant};
use windlass::collective::{Combine, Communicator, Members};
use windlass::{Device, Error, PendingDispatch, Tensor};

type Pending = PendingDispatch<Vec<Tensor<u32>>>;

/// Waits for the answer of a collective that is lost with these ranks.
#[track_caller]
pub(super) fn assert_lost(pending: windlass::Submitted<Vec<Tensor<u32>>>, victims: &[usize]) {
    let error = match pending.map(|pending| pending.await_timeout(LONG)) {
        Ok(Ok(Ok(_))) => return, // it was complete before
        Ok(Ok(Err(failure))) => failure.error,
        Ok(Err(_)) => panic!("a waiter was never answered"),
        Err(rejected) => rejected.error,
    };
    assert!(matches!(&error, Error::CollectiveLost { ranks, .. } if **ranks == *victims), "{error}");
}

/// Kills a worker amid all-reduces, and takes in the new one; the longest time until all waiters had their answers.
fn kills(devices: &[Device], count: usize) -> Duration {
    let mut rng = Rng::new(7);
    let comm = Communicator::new(devices).unwrap();
    let mut longest = Duration::ZERO;
    for kill in 1..=count {
        let victim = rng.below(devices.len());
        let generations: Vec<u64> = devices.iter().map(Device::generation).collect();
        let kept: Vec<_> = devices.iter().map(|device| up(device, &[kill as u32])).collect();
        let mut pending: Vec<Pending> = Vec::new();
        for _ in 0..1 + rng.below(6) {
            pending.push(comm.all_reduce_in_place(Combine::Sum, ups(devices, 20_000)).unwrap());
        }
        if rng.below(2) == 0 {
            let len = 1 << rng.below(10);
            std::hint::black_box((0..len * 100).map(|x| x ^ kill).sum::<usize>());
        }
        signal(&devices[victim], libc::SIGKILL);
        let began = Instant::now();
        let mut lost = false;
        while !lost {
            let stale = devices.iter().zip(&generations).any(|(device, then)| device.generation() != *then);
            lost = stale || devices[victim].health().phase != windlass::health::Phase::Healthy;
            if !lost {
                std::thread::yield_now();
            }
        }
        pending.into_iter().for_each(|pending| assert_lost(Ok(pending), &[victim]));
        longest = longest.max(began.elapsed());
        // All later ones too, until it is rebuilt.
        let others: Vec<_> = kept.iter().map(|kept| kept.len()).collect();
        assert_eq!(others, vec![1; devices.len()]);
        assert_lost(comm.all_gather(&kept, Vec::<Tensor<u32>>::new()), &[victim]);
        let now = comm.rebuild(Members::Replaced, LONG).unwrap();
        assert_eq!((now.epoch, now.ranks, now.without.len()), (kill as u64, devices.len(), 0));
        for (rank, (device, kept)) in devices.iter().zip(&kept).enumerate() {
            let moved = u64::from(rank == victim);
            assert_eq!(device.generation(), generations[rank] + moved);
            if rank != victim {
                assert_eq!(device.to_vec(kept).unwrap(), [kill as u32]);
            }
        }
        assert_sums(devices, &comm, 1000);
        if kill % 10 == 0 {
            println!("{kill} kills: answered after {longest:?} at most");
        }
    }
    longest
}

#[test]
fn workers_killed_amid_all_reduces_are_lost_to_every_waiter_and_replaced() {
    let wanted = std::env::var("WINDLASS_TEST_WORKER_KILLS").ok().and_then(|count| count.parse().ok());
    let devices = workers(3);
    if devices.len() < 2 {
        return println!("fewer than two GPUs");
    }
    let (began, count) = (Instant::now(), wanted.unwrap_or(20));
    let longest = kills(&devices, count);
    println!("{count} kills with all rebuilds in {:?}; answered after {longest:?} at most", began.elapsed());
}

/// Waits for the worker after the one of that generation.
fn await_next(device: &Device, generation: u64) {
    let end = Instant::now() + LONG;
    while device.generation() == generation {
        assert!(Instant::now() < end, "no new worker");
        std::thread::yield_now();
    }
}

#[test]
fn the_survivors_of_a_kill_go_on_with_their_buffers() {
    let devices = workers(3);
    if devices.len() < 2 {
        return println!("fewer than two GPUs");
    }
    let n = devices.len();
    let comm = Communicator::new(&devices).unwrap();
    let kept = up(&devices[0], &[5]);
    assert_eq!(comm.rebuild(Members::Survivors, LONG).unwrap().epoch, 0, "nothing is lost, so nothing is done");
    signal(&devices[1], libc::SIGKILL);
    await_next(&devices[1], 0);
    let other = comm.clone();
    let now = comm.rebuild(Members::Survivors, LONG).unwrap();
    assert_eq!((now.ranks, now.first_rank, &now.without[..]), (n - 1, 0, &[1][..]));
    let left: Vec<Device> = devices.iter().enumerate().filter(|(rank, _)| *rank != 1).map(|(_, d)| d.clone()).collect();
    assert_eq!((other.ranks(), other.epoch(), other.devices()), (n - 1, 1, &left[..]));
    assert_sums(&left, &other, 100);
    assert_eq!(devices[0].to_vec(&kept).unwrap(), [5]);
    // One more, for several threads at once, which are told of one rebuild.
    if n > 2 {
        signal(&devices[2], libc::SIGKILL);
        await_next(&devices[2], 0);
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..3).map(|_| scope.spawn(|| comm.rebuild(Members::Survivors, LONG).unwrap())).collect();
            let made: Vec<_> = all.into_iter().map(|one| one.join().unwrap()).collect();
            assert!(made.iter().all(|made| (made.epoch, made.ranks, &made.without[..]) == (2, 1, &[1])), "{made:?}");
        });
        assert_eq!((comm.ranks(), comm.epoch()), (1, 2));
        assert_sums(&left[..1], &comm, 10);
    }
}

#[test]
fn a_worker_that_is_stopped_is_lost_after_its_heartbeat_and_can_be_replaced() {
    let beat = Duration::from_millis(2500);
    let devices: Vec<Device> =
        workers(2).iter().enumerate().map(|(r, _)| builder(r).heartbeat(beat).open().unwrap()).collect();
    if devices.len() < 2 {
        return println!("fewer than two GPUs");
    }
    let comm = Communicator::new(&devices).unwrap();
    assert_sums(&devices, &comm, 10);
    signal(&devices[1], libc::SIGSTOP);
    let began = Instant::now();
    assert_lost(comm.all_reduce_in_place(Combine::Sum, ups(&devices, 10)), &[1]);
    println!("answered after {:?}", began.elapsed());
    comm.rebuild(Members::Replaced, LONG).unwrap();
    assert_sums(&devices, &comm, 10);
}

/// The heartbeat of a device is long, that of another short: so the ranks notice the end of the first, and this process
/// does not.
#[test]
fn what_only_the_workers_know_is_found_by_a_rebuild() {
    let beats = [Duration::from_secs(1), LONG];
    let devices: Vec<Device> = workers(2)
        .iter()
        .zip(beats)
        .enumerate()
        .map(|(r, (_, beat))| builder(r).heartbeat(beat).open().unwrap())
        .collect();
    if devices.len() < 2 {
        return println!("fewer than two GPUs");
    }
    let comm = Communicator::new(&devices).unwrap();
    let buffers = ups(&devices, 10);
    signal(&devices[1], libc::SIGSTOP);
    drop(comm.all_reduce_in_place(Combine::Sum, buffers).unwrap().into_output());
    let began = Instant::now();
    let rebuilt = comm.rebuild(Members::Survivors, LONG).map(|now| (now.epoch, now.ranks, now.without));
    signal(&devices[1], libc::SIGCONT);
    assert_eq!(rebuilt.unwrap(), (1, 1, vec![1]));
    println!("rebuilt after {:?}", began.elapsed());
    assert_sums(&devices[..1], &comm, 10);
}

#[test]
fn a_rebuilt_device_is_a_lost_rank_until_the_communicator_is_rebuilt() {
    let devices = workers(2);
    if devices.len() < 2 {
        return println!("fewer than two GPUs");
    }
    let comm = Communicator::new(&devices).unwrap();
    devices[0].rebuild(LONG).unwrap();
    assert_lost(comm.all_reduce_in_place(Combine::Sum, ups(&devices, 3)), &[0]);
    let error = comm.barrier().map(drop).unwrap_err();
    assert!(matches!(error, Error::CollectiveLost { .. }), "{error}");
    comm.rebuild(Members::Replaced, LONG).unwrap();
    assert_sums(&devices, &comm, 3);
}

const PARENT: &str = "WINDLASS_TEST_COLLECTIVE_PARENT";

/// The program of a parent that is killed.
#[test]
fn parent() {
    if std::env::var_os(PARENT).is_none() {
        return;
    }
    let devices = workers(2);
    let comm = Communicator::new(&devices).unwrap();
    let pids: Vec<String> = devices.iter().map(|device| device.worker_pid().unwrap().to_string()).collect();
    println!("workers {}", pids.join(" "));
    loop {
        assert_sums(&devices, &comm, 10_000);
    }
}

#[test]
fn the_workers_end_with_a_parent_that_is_killed_amid_collectives() {
    use std::io::{BufRead, BufReader};
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["isolated::losses::parent", "--exact", "--nocapture", "--test-threads=1"]).env(PARENT, "1");
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told = lines.find_map(|line| line.split_once("workers ").map(|(_, pids)| pids.to_owned())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let end = Instant::now() + LONG;
    for pid in told.split(' ') {
        let lives = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"));
        while lives() {
            assert!(Instant::now() < end, "worker {pid} is left");
            std::thread::yield_now();
        }
    }
}
