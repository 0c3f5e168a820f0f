//! NCCL's stand-in: communicators of several devices without a GPU, and ranks that never come. Each test has the simulated
//! driver of the process for itself; none is run where real GPUs are tested.

use crate::remote::{Process, rendezvous};
use crate::standin::{Mode, Session, session};
use crate::{LONG, Rng, side_by_side};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;
use windlass::clock::{Clock, ManualClock, Timing};
use windlass::collective::{Combine, Communicator, Members, Rendezvous, Store, Transfer};
use windlass::{Complex, Device, DeviceBuffer, Error, bf16};

/// The simulated driver, with so many devices.
pub(crate) fn simulated(devices: i32) -> Option<Session> {
    if std::env::var_os("WINDLASS_TEST_DEVICE").is_some() {
        return None;
    }
    let driver = session();
    driver.set_device_count(devices);
    driver.mode(Mode::Background);
    Some(driver)
}

/// Dropped devices are torn down by threads of their own, which the next reset must not overtake.
pub(crate) fn end(driver: &Session) {
    while driver.live("contexts") != 0 {
        std::thread::yield_now();
    }
    driver.assert_clean();
}

fn up(device: &Device, x: &[f32]) -> DeviceBuffer<f32> {
    device.upload(x.to_vec()).unwrap().into_output()
}

#[test]
fn a_communicator_of_several_devices_of_one_process() {
    let Some(driver) = simulated(3) else { return };
    let devices: Vec<Device> = (0..3).map(|ordinal| Device::cuda(ordinal).unwrap()).collect();
    let comm = Communicator::new(&devices).unwrap();
    for _ in 0..20 {
        let x: Vec<_> = devices.iter().zip(1..).map(|(device, x)| up(device, &[x as f32, 1.0, -2.0])).collect();
        let sums = comm.all_reduce_in_place(Combine::Sum, x).unwrap().into_output();
        let all: Vec<_> = devices.iter().map(|device| device.uninit(9).unwrap()).collect();
        let all = comm.all_gather(&sums, all).unwrap().into_output();
        let transfers = [Transfer { from: 0, to: 2 }, Transfer { from: 2, to: 0 }];
        let outputs = vec![devices[2].uninit(3).unwrap(), devices[0].uninit(3).unwrap()];
        let moved = comm.exchange(&transfers, [&sums[0], &sums[2]], outputs).unwrap().await_result().unwrap();
        assert_eq!(devices[2].to_vec(&moved[0]).unwrap(), [6.0, 3.0, -6.0]);
        assert_eq!(devices[1].to_vec(&all[1]).unwrap(), [6.0, 3.0, -6.0].repeat(3));
    }
    drop((comm, devices));
    end(&driver);
}

/// Threads that play processes, each with a GPU of its own.
fn job<R: Send>(ranks: usize, clocks: Option<&Clocks>, f: impl Fn(usize, Device, Communicator) -> R + Sync) -> Vec<R> {
    let store = Store::serve("127.0.0.1:0", "").unwrap();
    let address = store.address().to_string();
    std::thread::scope(|scope| {
        let start = |rank| {
            let (f, address) = (&f, &address);
            scope.spawn(move || {
                let clock = match clocks {
                    None => Clock::SYSTEM,
                    Some(clocks) => if rank == 1 { clocks.stopped } else { clocks.living }.clock(),
                };
                let timing = Timing { clock, ..Timing::default() };
                let device = Device::builder().cuda(rank).timing(timing).open().unwrap();
                let at = Rendezvous::new(address, rank, ranks).limit(LONG).silence(LONG).served();
                let comm = Communicator::join(&at, [&device]).unwrap();
                f(rank, device, comm)
            })
        };
        let threads: Vec<_> = (0..ranks).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// All collectives of one rank of `n`; its device is a GPU of its own.
fn reduce_and_move(rank: usize, device: &Device, comm: &Communicator, handles: &[Communicator]) {
    let n = comm.ranks();
    assert_eq!(comm.first_rank(), rank);
    let total = (n * (n + 1) / 2) as f32;
    for comm in handles {
        let x = up(device, &[rank as f32 + 1.0; 5]);
        let sums = comm.all_reduce(Combine::Sum, &[x], vec![device.uninit(5).unwrap()]);
        assert_eq!(device.to_vec(&sums.unwrap().await_result().unwrap()[0]).unwrap(), [total; 5]);
        let x = up(device, &vec![rank as f32 + 1.0; n * 2]);
        let parts = comm.reduce_scatter(Combine::Sum, &[x], vec![device.uninit(2).unwrap()]);
        assert_eq!(device.to_vec(&parts.unwrap().await_result().unwrap()[0]).unwrap(), [total; 2]);
    }
    let all = comm.all_gather(&[up(device, &[rank as f32; 2])], vec![device.uninit(2 * n).unwrap()]);
    let expected: Vec<f32> = (0..n).flat_map(|rank| [rank as f32; 2]).collect();
    assert_eq!(device.to_vec(&all.unwrap().await_result().unwrap()[0]).unwrap(), expected);
    let x: Vec<f32> = (0..n).map(|to| (10 * rank + to) as f32).collect();
    let turned = comm.all_to_all(&[up(device, &x)], vec![device.uninit(n).unwrap()]).unwrap().await_result().unwrap();
    let expected: Vec<f32> = (0..n).map(|from| (10 * from + rank) as f32).collect();
    assert_eq!(device.to_vec(&turned[0]).unwrap(), expected);
    let one = |is_own: bool, x: f32| if is_own { vec![up(device, &[x])] } else { Vec::new() };
    let moved = comm.exchange(&[Transfer { from: n - 1, to: 0 }], &one(rank == n - 1, 7.0), one(rank == 0, 0.0));
    for moved in moved.unwrap().await_result().unwrap() {
        assert_eq!(device.to_vec(&moved).unwrap(), [7.0]);
    }
    let root = n - 1;
    let sum = comm.reduce(Combine::Max, root, &[up(device, &[rank as f32])], one(rank == root, 0.0)).unwrap();
    for sum in sum.await_result().unwrap() {
        assert_eq!(device.to_vec(&sum).unwrap(), [root as f32]);
    }
    let x = comm.broadcast_in_place(root, vec![up(device, &[rank as f32])]).unwrap().await_result().unwrap();
    assert_eq!(device.to_vec(&x[0]).unwrap(), [root as f32]);
    comm.barrier().unwrap().await_result().unwrap();
    if n > 1 {
        // What does not fit together is told before NCCL is asked.
        let wrong = comm.all_reduce_in_place(Combine::Sum, vec![device.zeros::<f32>(1 + rank % 2).unwrap()]).unwrap();
        assert!(matches!(wrong.await_result().map(drop).unwrap_err().error, Error::InvalidArgument { .. }));
        comm.barrier().unwrap().await_result().unwrap();
    }
}

#[test]
fn ranks_in_several_processes_reduce_and_move() {
    let Some(driver) = simulated(3) else { return };
    job(3, None, |rank, device, comm| reduce_and_move(rank, &device, &comm, std::slice::from_ref(&comm)));
    end(&driver);
}

/// The same on real GPUs: each is the rank of a thread that plays a process.
#[test]
fn ranks_on_real_gpus_reduce_and_move() {
    let ranks = crate::gpus().len();
    if ranks > 0 {
        job(ranks, None, |rank, device, comm| {
            reduce_and_move(rank, &device, &comm, &[comm.clone(), comm.deterministic()]);
            if rank + 1 == ranks && ranks > 1 {
                return; // it is lost to the others
            }
            if ranks > 1 {
                let lost = comm.all_reduce_in_place(Combine::Sum, vec![up(&device, &[1.0; 4])]);
                let error = lost.unwrap().await_result().map(drop).unwrap_err().error;
                assert!(matches!(error, Error::CollectiveLost { .. }), "{error}");
                let rebuilt = comm.rebuild(Members::Survivors, LONG).unwrap();
                assert_eq!((rebuilt.epoch, rebuilt.ranks), (1, ranks - 1));
            }
            reduce_and_move(rank, &device, &comm, std::slice::from_ref(&comm));
        });
    }
}

/// Threads that play processes, of which each has so many GPUs.
fn job_of(sizes: &[usize], f: impl Fn(&Rendezvous, &Process) + Send + Sync + 'static) {
    let store = Store::serve("127.0.0.1:0", "ours").unwrap();
    let (address, sizes) = (store.address().to_string(), sizes.to_vec());
    side_by_side(sizes.len(), move |index| {
        let at = rendezvous(&address, index, sizes.len()).served();
        f(&at, &Process::join(&at, &sizes, |rank| Device::cuda(rank).unwrap()));
    });
}

#[test]
fn several_gpus_of_a_process_are_ranks_beside_those_of_others() {
    let Some(driver) = simulated(4) else { return };
    for sizes in [&[3][..], &[2, 1], &[1, 2], &[1, 2, 1], &[2, 2]] {
        job_of(sizes, |_, process| {
            let mut rng = Rng::new(5);
            for count in [0, 1, 5] {
                process.all::<Complex<f32>>(count, &mut rng);
            }
        });
    }
    end(&driver);
}

/// The ranks of a process are lost together, and the others go on: more of them, or fewer.
#[test]
fn a_process_with_several_gpus_is_lost_with_all_its_ranks() {
    let Some(driver) = simulated(4) else { return };
    for (sizes, victim) in [([2, 1], 0), ([2, 1], 1), ([1, 3], 0)] {
        job_of(&sizes, move |_, process| {
            process.comm.barrier().unwrap().await_result().unwrap();
            if process.index == victim {
                return;
            }
            let sum = |x: f32| {
                let x: Vec<_> = process.devices.iter().map(|device| up(device, &[x; 3])).collect();
                process.comm.all_reduce_in_place(Combine::Sum, x).unwrap().await_result()
            };
            let error = sum(1.0).map(drop).unwrap_err().error;
            let lost: Vec<usize> =
                if victim == 0 { (0..sizes[0]).collect() } else { (sizes[0]..sizes[0] + sizes[1]).collect() };
            assert!(matches!(&error, Error::CollectiveLost { ranks, .. } if **ranks == *lost), "{error}");
            let rebuilt = process.comm.rebuild(Members::Survivors, LONG).unwrap();
            let left = process.devices.len();
            assert_eq!((rebuilt.epoch, rebuilt.ranks, rebuilt.first_rank), (1, left, 0));
            assert_eq!(rebuilt.without, lost);
            for (device, sums) in process.devices.iter().zip(sum(2.0).unwrap()) {
                assert_eq!(device.to_vec(&sums).unwrap(), [2.0 * left as f32; 3]);
            }
        });
    }
    end(&driver);
}

/// If NCCL refuses one rank of a process, none of the others is left behind.
#[test]
fn a_rank_that_cannot_be_made_leaves_no_communicator() {
    let Some(driver) = simulated(2) else { return };
    let devices = [Device::cuda(0).unwrap(), Device::cuda(1).unwrap()];
    for (call, nth) in [("ncclCommInitRankConfig", 1), ("ncclGroupEnd", 0)] {
        let aborted = driver.calls_of("ncclCommAbort");
        driver.fail(call, nth, 2);
        let store = Store::serve("127.0.0.1:0", "ours").unwrap();
        let at = rendezvous(&store.address().to_string(), 0, 1).served();
        let error = Communicator::join(&at, &devices).map(drop).unwrap_err();
        assert!(error.to_string().contains(call), "{error}");
        assert_eq!(driver.calls_of("ncclCommAbort") - aborted, 2 - nth as u64);
    }
    drop(devices);
    end(&driver);
}

/// Some processes come with GPUs, others with host devices: all are told.
#[test]
fn gpus_and_host_devices_are_no_ranks_of_one_communicator() {
    let Some(driver) = simulated(1) else { return };
    let store = Store::serve("127.0.0.1:0", "ours").unwrap();
    let address = store.address().to_string();
    side_by_side(2, move |index| {
        let device = if index == 0 { Device::cuda(0).unwrap() } else { crate::host(1) };
        let at = rendezvous(&address, index, 2).served();
        let error = Communicator::join(&at, [&device]).map(drop).unwrap_err();
        assert!(error.to_string().contains("host devices"), "{error}");
    });
    end(&driver);
}

/// All real GPUs of this machine as the ranks of one process of a job, and of two processes with as many as there are.
#[test]
fn several_real_gpus_of_a_process_are_ranks() {
    let gpus = crate::gpus().len();
    let jobs: &[&[usize]] = match gpus {
        0 => return,
        1 => &[&[1]],
        2 => &[&[2], &[1, 1]],
        3 => &[&[3], &[2, 1]],
        _ => &[&[4], &[2, 2], &[1, 3]],
    };
    for sizes in jobs {
        job_of(sizes, |at, process| {
            let mut rng = Rng::new(5);
            for count in [0, 1, 601] {
                process.all::<f32>(count, &mut rng);
                process.all::<bf16>(count, &mut rng);
            }
            process.all::<i32>(40_001, &mut rng);
            let comm = process.comm.deterministic();
            let x: Vec<_> = process.devices.iter().map(|device| up(device, &[1.5; 777])).collect();
            let sums = comm.all_reduce_in_place(Combine::Sum, x).unwrap().await_result().unwrap();
            for (device, sums) in process.devices.iter().zip(&sums) {
                assert_eq!(device.to_vec(sums).unwrap(), [1.5 * comm.ranks() as f32; 777]);
            }
            println!("{:?}: process {} of {}, {} ranks", process.sizes, at.process(), at.processes(), comm.ranks());
        });
    }
}

/// The clocks of a job: that of a process which has stopped stands still.
struct Clocks {
    living: ManualClock,
    stopped: ManualClock,
}

/// A rank that has agreed to a collective never comes to it in its stream, and says nothing any more: the kernels of the others
/// wait for it. They are ended, every waiter is told, and the others go on.
#[test]
fn a_rank_that_hangs_in_nccl_and_falls_silent_leaves_nobody_waiting() {
    let Some(driver) = simulated(3) else { return };
    let clocks = Clocks { living: ManualClock::new(), stopped: ManualClock::new() };
    let (told, before) = (AtomicUsize::new(0), driver.calls_of("ncclAllReduce"));
    job(3, Some(&clocks), |rank, device, comm| {
        let one = || vec![up(&device, &[1.0; 4])];
        let sums = comm.all_reduce_in_place(Combine::Sum, one()).unwrap().await_result().unwrap();
        assert_eq!(device.to_vec(&sums[0]).unwrap(), [3.0; 4]);
        if rank == 1 {
            // Endless work is before it in its stream.
            let x = crate::standin::endless(&device).into_output();
            let hangs = comm.all_reduce_in_place(Combine::Sum, vec![x]).unwrap();
            while driver.calls_of("ncclAllReduce") < before + 6 {
                std::thread::yield_now();
            }
            // Time passes in small steps, in which those that live give signs of life.
            let (_keep, never) = channel::<()>();
            while told.load(Ordering::SeqCst) < 2 {
                clocks.living.advance(Duration::from_millis(100));
                let _ = never.recv_timeout(Duration::from_millis(1));
            }
            driver.release();
            let error = hangs.await_result().map(drop).unwrap_err().error;
            return assert!(matches!(error, Error::CollectiveLost { .. }), "{error}");
        }
        let first = comm.all_reduce_in_place(Combine::Sum, one()).unwrap();
        let second = comm.all_reduce_in_place(Combine::Sum, one()).unwrap();
        for pending in [first, second] {
            let error = pending.await_result().map(drop).unwrap_err().error;
            assert!(matches!(&error, Error::CollectiveLost { ranks, .. } if **ranks == [1]), "{error}");
        }
        told.fetch_add(1, Ordering::SeqCst);
        let rebuilt = comm.rebuild(Members::Survivors, LONG).unwrap();
        assert_eq!((rebuilt.ranks, rebuilt.first_rank), (2, rank / 2));
        let sums = comm.all_reduce_in_place(Combine::Sum, one()).unwrap().await_result().unwrap();
        assert_eq!(device.to_vec(&sums[0]).unwrap(), [2.0; 4]);
    });
    end(&driver);
}

#[test]
fn an_error_of_nccl_in_one_process_is_told_to_all() {
    let Some(driver) = simulated(2) else { return };
    job(2, None, |rank, device, comm| {
        let one = || vec![up(&device, &[1.0; 4])];
        comm.all_reduce_in_place(Combine::Sum, one()).unwrap().await_result().unwrap();
        comm.barrier().unwrap().await_result().unwrap();
        if rank == 0 {
            driver.fail("ncclAllReduce", 1, 2);
        }
        comm.barrier().unwrap().await_result().unwrap();
        let error = comm.all_reduce_in_place(Combine::Sum, one()).unwrap().await_result().map(drop).unwrap_err().error;
        assert!(matches!(error, Error::CollectiveLost { .. }), "{error}");
        // Nobody is dead: all go on.
        let rebuilt = comm.rebuild(Members::Survivors, LONG).unwrap();
        assert_eq!((rebuilt.ranks, rebuilt.epoch), (2, 1));
        let sums = comm.all_reduce_in_place(Combine::Sum, one()).unwrap().await_result().unwrap();
        assert_eq!(device.to_vec(&sums[0]).unwrap(), [2.0; 4]);
    });
    end(&driver);
}
