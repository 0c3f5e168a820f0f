//! How long collectives take: printed, not tested. `--ignored timing --nocapture`, with optimisation.

use crate::gpus;
use rayon::prelude::*;
use std::time::Instant;
use windlass::collective::{Combine, Communicator, Members, Rendezvous};
use windlass::{Device, Tensor};

/// The median of the seconds that `f` takes, of so many calls after one eighth as many.
fn median(count: usize, mut f: impl FnMut()) -> f64 {
    let mut all: Vec<f64> = (0..count + count / 8 + 1)
        .map(|_| {
            let began = Instant::now();
            f();
            began.elapsed().as_secs_f64()
        })
        .skip(count / 8 + 1)
        .collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

#[test]
#[ignore = "a measurement"]
fn timing_of_an_all_reduce() {
    let devices = gpus();
    if devices.len() < 2 {
        println!("fewer than two GPUs");
        return;
    }
    let began = Instant::now();
    let comm = Communicator::new(&devices).unwrap();
    println!(
        "ours, a communicator of {} GPUs of one process: {:.0} ms",
        devices.len(),
        began.elapsed().as_secs_f64() * 1e3
    );
    for bytes in (0..10).map(|power| 8usize << (3 * power)) {
        let mut x: Vec<_> = devices.iter().map(|device| device.zeros::<f32>([bytes / 4]).unwrap()).collect();
        let count = if bytes < 1 << 20 { 2000 } else { (8usize << 30).div_ceil(bytes).clamp(8, 100) };
        let mut held = Some(x);
        let alone = median(count / 2 + 10, || {
            let x = held.take().unwrap();
            held = Some(comm.all_reduce_in_place(Combine::Sum, x).unwrap().await_result().unwrap());
        });
        x = held.unwrap();
        // In a row: the better of three.
        let each = (0..3).map(|_| {
            let began = Instant::now();
            let mut y = std::mem::take(&mut x);
            for _ in 0..count {
                y = comm.all_reduce_in_place(Combine::Sum, y).unwrap().into_output();
            }
            let submitted = began.elapsed().as_secs_f64() / count as f64;
            devices.iter().for_each(|device| device.synchronize(crate::LONG).unwrap());
            x = y;
            (began.elapsed().as_secs_f64() / count as f64, submitted)
        });
        let (each, submitted) = each.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        let bus =
            |seconds: f64| 2.0 * (devices.len() - 1) as f64 / devices.len() as f64 * bytes as f64 / seconds * 1e-9;
        println!(
            "ours {bytes:>11} B  waited for {:>9.1} us  in a row {:>9.1} us (to submit {:>5.1})  bus {:>6.1} GB/s",
            alone * 1e6,
            each * 1e6,
            submitted * 1e6,
            bus(each)
        );
    }
}

/// STREAM's triad, with all cores: bytes read and written in a second.
fn triad() -> f64 {
    const N: usize = 32 << 20;
    let (b, c) = (vec![1.0f64; N], vec![2.0f64; N]);
    let mut a = vec![0.0f64; N];
    let chunk = N.div_ceil(4 * rayon::current_num_threads());
    let mut best = f64::MAX;
    for _ in 0..10 {
        let began = Instant::now();
        a.par_chunks_mut(chunk).zip(b.par_chunks(chunk)).zip(c.par_chunks(chunk)).for_each(|((a, b), c)| {
            a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = b + 3.0 * c);
        });
        best = best.min(began.elapsed().as_secs_f64());
    }
    assert_eq!(a[N - 1], 7.0);
    (24 * N) as f64 / best
}

#[test]
#[ignore = "a measurement"]
fn timing_of_host_devices_in_one_process() {
    let stream = triad();
    println!("triad with {} threads: {:.1} GB/s", rayon::current_num_threads(), stream * 1e-9);
    for ranks in [2, 4] {
        let devices: Vec<Device> = (0..ranks).map(|_| Device::host().unwrap()).collect();
        let comm = Communicator::new(&devices).unwrap();
        for bytes in [64usize, 4 << 10, 256 << 10, 4 << 20, 64 << 20, 256 << 20] {
            let make = |len: usize| -> Vec<Tensor<f32>> {
                devices.iter().map(|device| device.zeros::<f32>([len / 4]).unwrap()).collect()
            };
            let count = (2usize << 30).div_ceil(bytes).clamp(5, 500);
            let moved = |bytes: usize, seconds: f64| {
                format!(
                    "{:>9.1} us {:>6.1} GB/s {:>5.2} of triad",
                    seconds * 1e6,
                    bytes as f64 / seconds * 1e-9,
                    bytes as f64 / seconds / stream
                )
            };
            let mut held = Some(make(bytes));
            let in_place = median(count, || {
                let x = held.take().unwrap();
                held = Some(comm.all_reduce_in_place(Combine::Sum, x).unwrap().await_result().unwrap());
            });
            let x = held.unwrap();
            let mut held = Some(make(bytes));
            let reduced = median(count, || {
                let y = held.take().unwrap();
                held = Some(comm.all_reduce(Combine::Sum, &x, y).unwrap().await_result().unwrap());
            });
            let x = make(bytes / ranks);
            let gathered = median(count, || {
                let y = held.take().unwrap();
                held = Some(comm.all_gather(&x, y).unwrap().await_result().unwrap());
            });
            let total = 2 * ranks * bytes;
            println!(
                "{ranks} devices {bytes:>10} B  all-reduce {}  in place {}  all-gather {}",
                moved(total, reduced),
                moved(total, in_place),
                moved(total, gathered)
            );
        }
    }
}

/// One of the processes of a job, which a launcher's variables tell it (`RANK`, `WORLD_SIZE`, `MASTER_ADDR`,
/// `MASTER_PORT`; `TIMING_PROTECTED`: elements carry keyed hashes). On host devices; or on GPU `RANK`, with `WINDLASS_TEST_DEVICE`.
#[test]
#[ignore = "a measurement, of several processes"]
fn timing_between_processes() {
    let protects = std::env::var_os("TIMING_PROTECTED").is_some();
    let at = Rendezvous::from_environment().unwrap().protect_data(protects);
    let rank: usize = std::env::var("RANK").unwrap().parse().unwrap();
    let device = match std::env::var_os("WINDLASS_TEST_DEVICE") {
        Some(_) => crate::open_gpu(rank).unwrap(),
        None => Device::host().unwrap(),
    };
    let began = Instant::now();
    let comm = Communicator::join(&at, [&device]).unwrap();
    let joined = began.elapsed().as_secs_f64();
    let last: usize = std::env::var("TIMING_LAST").map_or(64 << 20, |last| last.parse().unwrap());
    for bytes in (0..10).map(|power| 8usize << (3 * power)).take_while(|bytes| *bytes < last).chain([last]) {
        let count = (1usize << 30).div_ceil(bytes).clamp(8, 1000);
        let mut held = Some(device.zeros::<f32>([bytes / 4]).unwrap());
        let reduced = median(count, || {
            let x = vec![held.take().unwrap()];
            held = comm.all_reduce_in_place(Combine::Sum, x).unwrap().await_result().unwrap().pop();
        });
        let in_a_row = (0..3).map(|_| {
            comm.barrier().unwrap().await_result().unwrap();
            let began = Instant::now();
            for _ in 0..count {
                let x = vec![held.take().unwrap()];
                held = comm.all_reduce_in_place(Combine::Sum, x).unwrap().into_output().pop();
            }
            device.synchronize(crate::LONG).unwrap();
            began.elapsed().as_secs_f64() / count as f64
        });
        let in_a_row = in_a_row.min_by(f64::total_cmp).unwrap();
        let x = device.zeros::<f32>((bytes / 4).div_ceil(comm.ranks())).unwrap();
        let mut held = Some(device.zeros::<f32>([x.len() * comm.ranks()]).unwrap());
        let gathered = median(count, || {
            let y = vec![held.take().unwrap()];
            held = comm.all_gather([&x], y).unwrap().await_result().unwrap().pop();
        });
        if rank == 0 {
            println!(
                "ours {} ranks {bytes:>9} B  all-reduce {:>9.1} us, in a row {:>9.1} us  all-gather {:>9.1} us",
                comm.ranks(),
                reduced * 1e6,
                in_a_row * 1e6,
                gathered * 1e6
            );
        }
    }
    let mut rebuilt = Vec::new();
    for _ in 0..5 {
        comm.barrier().unwrap().await_result().unwrap();
        let began = Instant::now();
        comm.rebuild(Members::Survivors, crate::LONG).unwrap();
        rebuilt.push(format!("{:.0}", began.elapsed().as_secs_f64() * 1e3));
    }
    if rank == 0 {
        println!("ours {} ranks: joined in {:.0} ms, rebuilt in {} ms", comm.ranks(), joined * 1e3, rebuilt.join(", "));
    }
    comm.barrier().unwrap().await_result().unwrap();
}
