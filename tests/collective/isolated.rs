//! Ranks on isolated devices: each worker process is one. `WINDLASS_TEST_DEVICE=cuda:0` takes the GPUs, isolated, of which two are
//! needed. `WINDLASS_TEST_WORKER_KILLS` sets the number of kills amid all-reduces, 20 otherwise.

use crate::local::deterministic_bits;
use crate::model::{World, all_moves, all_reductions};
use crate::programs::random_programs;
use crate::{LONG, Rng, host, hosts};
use std::time::{Duration, Instant};
use windlass::collective::{Combine, Communicator, Members, Rendezvous, Transfer};
use windlass::{Device, DeviceBuffer, DeviceBuilder, Error, FaultPlan, HostPool, PendingDispatch, RestartPolicy};

/// Makes this test program its own worker program: libtest has the `main`, so this stands before it.
#[used]
#[unsafe(link_section = ".init_array")]
static WORKER: extern "C" fn() = {
    extern "C" fn begin() {
        windlass::worker::init();
    }
    begin
};

fn builder(rank: usize) -> DeviceBuilder {
    #[cfg(feature = "cuda")]
    if std::env::var("WINDLASS_TEST_DEVICE").is_ok_and(|name| name.starts_with("cuda")) {
        return Device::builder().cuda(rank).isolated().restart_policy(RestartPolicy::unlimited()).heartbeat(LONG);
    }
    let host = Device::builder().host().host_pool(HostPool::Threads(1 + rank % 2));
    host.isolated().restart_policy(RestartPolicy::unlimited()).heartbeat(LONG)
}

/// Isolated devices: as many as wanted, or as there are GPUs.
fn workers(ranks: usize) -> Vec<Device> {
    #[cfg(feature = "cuda")]
    let ranks = match std::env::var("WINDLASS_TEST_DEVICE") {
        Ok(name) if name.starts_with("cuda") => ranks.min(Device::cuda_count()),
        _ => ranks,
    };
    (0..ranks).map(|rank| builder(rank).open().unwrap()).collect()
}

fn signal(device: &Device, signal: i32) {
    let pid = device.worker_pid().expect("a worker");
    // SAFETY: the worker of a device of this test.
    assert_eq!(unsafe { libc::kill(pid as libc::pid_t, signal) }, 0);
}

fn up(device: &Device, x: &[u32]) -> DeviceBuffer<u32> {
    device.upload(x.to_vec()).unwrap().into_output()
}

/// A buffer of each rank, which holds the rank's number plus one.
fn ups(devices: &[Device], len: usize) -> Vec<DeviceBuffer<u32>> {
    devices.iter().enumerate().map(|(rank, device)| up(device, &vec![rank as u32 + 1; len])).collect()
}

#[track_caller]
fn assert_sums(devices: &[Device], comm: &Communicator, len: usize) {
    let n = devices.len() as u32;
    let sums = comm.all_reduce_in_place(Combine::Sum, ups(devices, len)).unwrap().await_result().unwrap();
    for (device, sum) in devices.iter().zip(&sums) {
        assert!(device.to_vec(sum).unwrap() == vec![n * (n + 1) / 2; len]);
    }
}

#[test]
fn every_collective_of_every_type_is_exact_between_workers() {
    let mut rng = Rng::new(1);
    for ranks in 1..=3 {
        let devices = workers(ranks);
        let comm = Communicator::new(&devices).unwrap();
        assert_eq!((comm.ranks(), comm.first_rank(), comm.epoch()), (devices.len(), 0, 0));
        assert_eq!(comm.devices(), devices);
        let world = World { comm: &comm, devices: &devices };
        for count in if ranks == 2 { &[0, 1, 19][..] } else { &[5] } {
            all_reductions(&world, *count, &mut rng);
            all_moves(&world, *count, &mut rng);
        }
        comm.barrier().unwrap().await_result().unwrap();
    }
}

#[test]
fn reductions_between_workers_have_the_bits_of_ranks_in_one_process() {
    let (devices, oracle) = (workers(3), hosts(3));
    let oracle = &oracle[..devices.len()];
    for how in [Combine::Sum, Combine::Avg, Combine::Prod] {
        let make: fn(f64) -> f32 = |x| x as f32;
        assert!(deterministic_bits(&devices, how.clone(), make) == deterministic_bits(oracle, how, make));
    }
}

#[test]
fn large_operands_cross_too() {
    let devices = workers(2);
    let comm = Communicator::new(&devices).unwrap();
    assert_sums(&devices, &comm, 1 << 20);
}

/// Two communicators over the same workers, in opposite orders, by several threads: nobody waits crosswise.
#[test]
fn random_programs_on_workers_equal_a_sequential_model() {
    for seed in 1..=3 {
        random_programs(&workers(1 + seed as usize), seed, 25);
    }
}

#[test]
fn devices_that_cannot_be_ranks_together_are_refused_with_the_remedy() {
    let (inside, outside) = (builder(0).open().unwrap(), host(1));
    let refusal = |devices: [&Device; 2]| Communicator::new(devices).map(drop).unwrap_err();
    for devices in [[&inside, &outside], [&outside, &inside]] {
        let error = refusal(devices);
        assert!(
            matches!(&error, Error::Unsupported { reason, .. } if reason.contains("isolated()`") || reason.contains("DeviceBuilder::isolated")),
            "{error}"
        );
    }
    let error = refusal([&inside, &inside]);
    assert!(matches!(&error, Error::InvalidArgument { argument, .. } if argument == "devices"), "{error}");
    let inline = Device::builder().host().host_pool(HostPool::Inline).isolated().open().unwrap();
    let error = Communicator::new([&inline]).map(drop).unwrap_err();
    assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains("thread")), "{error}");
    let at = Rendezvous::new("127.0.0.1:1", 0, 2);
    let error = Communicator::join(&at, [&inside]).map(drop).unwrap_err();
    assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains("Communicator::new")), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_before_an_order_is_sent_and_comes_back() {
    let devices = workers(2);
    let comm = Communicator::new(&devices).unwrap();
    let two = |one: usize, two: usize| vec![devices[0].zeros::<f32>(one).unwrap(), devices[1].zeros(two).unwrap()];
    let rejected = comm.all_reduce_in_place(Combine::Sum, two(4, 5)).map(drop).unwrap_err();
    assert!(rejected.error.to_string().contains("outputs[1]"), "{}", rejected.error);
    assert_eq!(rejected.back.unwrap().0.iter().map(DeviceBuffer::len).collect::<Vec<_>>(), [4, 5]);
    let rejected = comm.all_reduce(Combine::Sum, &two(4, 4), two(4, 4).into_iter().rev().collect()).map(drop);
    let rejected = rejected.unwrap_err();
    assert!(rejected.error.to_string().contains("outputs[0]"), "{}", rejected.error);
    // Contents of one rank alone are undefined: found before the order of another is sent.
    let undefined = vec![devices[0].zeros::<f32>(4).unwrap(), devices[1].uninit(4).unwrap()];
    let rejected = comm.all_reduce_in_place(Combine::Sum, undefined).map(drop).unwrap_err();
    assert!(rejected.error.to_string().contains("outputs[1]"), "{}", rejected.error);
    assert_eq!(rejected.back.unwrap().0.len(), 2);
    // Outputs of an exchange are in the order of the transfers.
    let transfers = [Transfer { from: 0, to: 1 }, Transfer { from: 1, to: 0 }];
    let (x, y) = (two(0, 0), vec![devices[1].uninit::<f32>(0).unwrap(), devices[0].uninit(0).unwrap()]);
    let y = comm.exchange(&transfers, &x, y).unwrap().await_result().unwrap();
    assert!(y.len() == 2 && devices[1].to_vec(&y[0]).unwrap().is_empty());
    assert_sums(&devices, &comm, 10);
}

#[test]
fn an_input_that_has_failed_fails_the_collective_and_not_the_next_one() {
    let mut devices = workers(2);
    if devices.iter().any(|device| device.kind() != windlass::DeviceKind::Host) {
        return; // fault plans are of host devices
    }
    // Orders to that rank: to join, an upload, the collective.
    for (at, means) in [(1, "Upstream"), (2, "LibraryError")] {
        devices[1] = builder(1).fault_plan(FaultPlan::new().fail(at)).open().unwrap();
        let comm = Communicator::new(&devices).unwrap();
        let pending = comm.all_reduce_in_place(Combine::Sum, ups(&devices, 4)).unwrap();
        let next = comm.all_reduce_in_place(Combine::Sum, ups(&devices, 4)).unwrap();
        let Ok(answer) = pending.await_timeout(LONG) else { panic!("it was never answered") };
        let error = answer.map(drop).unwrap_err().error;
        assert!(error.kind() == means && !error.to_string().contains("on ranks"), "{error}");
        let sums = next.await_result().unwrap();
        assert_eq!(devices[0].to_vec(&sums[0]).unwrap(), [3; 4]);
        assert_sums(&devices, &comm, 4);
    }
}

type Pending = PendingDispatch<Vec<DeviceBuffer<u32>>>;

/// Waits for the answer of a collective that is lost with these ranks.
#[track_caller]
fn assert_lost(pending: windlass::Submitted<Vec<DeviceBuffer<u32>>>, victims: &[usize]) {
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
            lost = stale || devices[victim].health().phase != windlass::Phase::Healthy;
            if !lost {
                std::thread::yield_now();
            }
        }
        pending.into_iter().for_each(|pending| assert_lost(Ok(pending), &[victim]));
        longest = longest.max(began.elapsed());
        // All later ones too, until it is rebuilt.
        let others: Vec<_> = kept.iter().map(|kept| kept.len()).collect();
        assert_eq!(others, vec![1; devices.len()]);
        assert_lost(comm.all_gather(&kept, Vec::new()), &[victim]);
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
    }
    longest
}

#[test]
fn workers_killed_amid_all_reduces_are_lost_to_every_waiter_and_replaced() {
    let wanted = std::env::var("WINDLASS_TEST_WORKER_KILLS").ok().and_then(|count| count.parse().ok());
    let devices = workers(2);
    if devices.len() < 2 {
        return println!("fewer than two GPUs");
    }
    let began = Instant::now();
    let count = wanted.unwrap_or(20);
    println!("{count} kills in {:?}: answered after {:?} at most", began.elapsed(), kills(&devices, count));
    println!("{count} kills with all rebuilds in {:?}", began.elapsed());
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
    signal(&devices[1], libc::SIGKILL);
    assert!(devices[1].wait_healthy(LONG).is_ok());
    let other = comm.clone();
    let now = comm.rebuild(Members::Survivors, LONG).unwrap();
    assert_eq!((now.ranks, now.first_rank, &now.without[..]), (n - 1, 0, &[1][..]));
    let left: Vec<Device> = devices.iter().enumerate().filter(|(rank, _)| *rank != 1).map(|(_, d)| d.clone()).collect();
    assert_eq!((other.ranks(), other.epoch(), other.devices()), (n - 1, 1, &left[..]));
    assert_sums(&left, &other, 100);
    assert_eq!(devices[0].to_vec(&kept).unwrap(), [5]);
    // One more, by several threads at once, which are one.
    if n > 2 {
        signal(&devices[2], libc::SIGKILL);
        let made = std::thread::scope(|scope| {
            let all: Vec<_> = (0..3).map(|_| scope.spawn(|| comm.rebuild(Members::Survivors, LONG).unwrap())).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        // The loss may be noticed by the second rebuild only.
        let last = made.iter().map(|made| made.epoch).max().unwrap();
        if comm.ranks() == 2 {
            assert_eq!(comm.rebuild(Members::Survivors, LONG).unwrap().epoch, last + 1);
        }
        assert_eq!(comm.ranks(), 1);
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

/// The threads of the workers that watch the other ranks.
fn watching(devices: &[Device]) -> usize {
    let of = |device: &Device| {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", device.worker_pid().unwrap())).unwrap();
        let name =
            |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.ok()?.path().join("comm")).ok();
        tasks.filter_map(name).filter(|name| name.starts_with("windlass ranks")).count()
    };
    devices.iter().map(of).sum()
}

#[test]
fn a_communicator_that_is_dropped_half_way_leaves_nothing_in_its_workers() {
    let devices = workers(2);
    for _ in 0..3 {
        let comm = Communicator::new(&devices).unwrap();
        assert_eq!(watching(&devices), devices.len());
        let kept = comm.all_reduce_in_place(Combine::Sum, ups(&devices, 50_000)).unwrap();
        drop(comm.all_reduce_in_place(Combine::Max, ups(&devices, 50_000)).unwrap());
        drop(comm);
        assert_eq!(kept.await_result().unwrap().len(), devices.len());
    }
    let end = Instant::now() + LONG;
    while watching(&devices) > 0 {
        assert!(Instant::now() < end, "{} threads are left", watching(&devices));
        std::thread::yield_now();
    }
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
    command.args(["isolated::parent", "--exact", "--nocapture", "--test-threads=1"]).env(PARENT, "1");
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
