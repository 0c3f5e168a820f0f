//! Ranks on isolated devices: each worker process is one. `WINDLASS_TEST_DEVICE=cuda:0` takes the GPUs, isolated, of which
//! two are needed. `WINDLASS_TEST_WORKER_KILLS` sets the number of kills amid all-reduces, 20 otherwise.

mod hooks;
mod losses;
#[cfg(feature = "cuda")]
mod standin;

use crate::local::deterministic_bits;
use crate::model::{World, all_moves, all_reductions};
use crate::programs::random_programs;
use crate::{LONG, Rng, host, hosts};
use std::time::Instant;
use windlass::collective::{Combine, Communicator, Rendezvous, Transfer};
use windlass::{Device, DeviceBuilder, Error, FaultPlan, HostPool, RestartPolicy, Tensor};

/// Makes this test program its own worker program: libtest has the `main`, so this stands before it.
#[used]
#[unsafe(link_section = ".init_array")]
static WORKER: extern "C" fn() = {
    extern "C" fn begin() {
        windlass::worker::init();
        crate::shift::watch();
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
    (0..ranks.min(most_ranks())).map(|rank| builder(rank).open().unwrap()).collect()
}

/// The number of ranks that there can be.
fn most_ranks() -> usize {
    #[cfg(feature = "cuda")]
    if std::env::var("WINDLASS_TEST_DEVICE").is_ok_and(|name| name.starts_with("cuda")) {
        return Device::cuda_count();
    }
    usize::MAX
}

/// Whether a test of two ranks has to be left out.
fn is_alone() -> bool {
    let is_alone = most_ranks() < 2;
    if is_alone {
        println!("fewer than two GPUs");
    }
    is_alone
}

fn signal(device: &Device, signal: i32) {
    let pid = device.worker_pid().expect("a worker");
    // SAFETY: the worker of a device of this test.
    assert_eq!(unsafe { libc::kill(pid as libc::pid_t, signal) }, 0);
}

fn up(device: &Device, x: &[u32]) -> Tensor<u32> {
    device.tensor([x.len()], x).unwrap()
}

/// A buffer of each rank, which holds the rank's number plus one.
fn ups(devices: &[Device], len: usize) -> Vec<Tensor<u32>> {
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
        if ranks == 2 {
            for count in [0, 19] {
                all_reductions(&world, count, &mut rng);
                all_moves(&world, count, &mut rng);
            }
        } else {
            world.reductions::<f32>(5, &mut rng);
            world.moves::<u16>(5, &mut rng);
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
    if is_alone() {
        return;
    }
    let devices = workers(2);
    let comm = Communicator::new(&devices).unwrap();
    let two = |one: usize, two: usize| vec![devices[0].zeros::<f32>(one).unwrap(), devices[1].zeros(two).unwrap()];
    let rejected = comm.all_reduce_in_place(Combine::Sum, two(4, 5)).map(drop).unwrap_err();
    assert!(rejected.error.to_string().contains("outputs[1]"), "{}", rejected.error);
    assert_eq!(rejected.back.unwrap().0.iter().map(Tensor::len).collect::<Vec<_>>(), [4, 5]);
    let rejected = comm.all_reduce(Combine::Sum, &two(4, 4), two(4, 4).into_iter().rev()).map(drop);
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
    if is_alone() {
        return;
    }
    let devices = workers(2);
    for _ in 0..3 {
        let comm = Communicator::new(&devices).unwrap();
        // A thread has its name when it begins, which may be a little later.
        until(|| watching(&devices) >= devices.len(), &|| format!("{} threads", watching(&devices)));
        let kept = comm.all_reduce_in_place(Combine::Sum, ups(&devices, 50_000)).unwrap();
        drop(comm.all_reduce_in_place(Combine::Max, ups(&devices, 50_000)).unwrap());
        drop(comm);
        assert_eq!(kept.await_result().unwrap().len(), devices.len());
    }
    until(|| watching(&devices) == 0, &|| format!("{} threads are left", watching(&devices)));
}

/// Waits for what happens soon.
fn until(is_so: impl Fn() -> bool, what: &dyn Fn() -> String) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "{}", what());
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "a measurement"]
fn the_time_of_all_reduces_between_workers() {
    let devices = workers(2);
    let comm = Communicator::new(&devices).unwrap();
    for (len, times) in [(1usize, 2000), (1 << 14, 500), (1 << 22, 20)] {
        let mut x: Vec<Tensor<f32>> = devices.iter().map(|device| device.zeros([len]).unwrap()).collect();
        let mut run = |times: usize| {
            let began = Instant::now();
            for _ in 0..times {
                let sums = comm.all_reduce_in_place(Combine::Sum, std::mem::take(&mut x)).unwrap();
                x = sums.await_result().unwrap();
            }
            began.elapsed() / times as u32
        };
        run(times / 10);
        println!("all-reduce of {len} f32 on {} ranks: {:?}", devices.len(), run(times));
    }
}
