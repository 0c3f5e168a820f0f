//! How long an all-reduce over all GPUs takes: printed, not tested. `--ignored timing`.

use crate::gpus;
use std::time::Instant;
use windlass::collective::{Combine, Communicator};

#[test]
#[ignore = "a measurement"]
fn timing_of_an_all_reduce() {
    let devices = gpus();
    if devices.len() < 2 {
        println!("fewer than two GPUs");
        return;
    }
    let comm = Communicator::new(&devices).unwrap();
    for bytes in (0..10).map(|power| 8usize << (3 * power)) {
        let mut x: Vec<_> = devices.iter().map(|device| device.zeros::<f32>(bytes / 4).unwrap()).collect();
        let count = if bytes < 1 << 20 { 400 } else { (8usize << 30).div_ceil(bytes).clamp(8, 100) };
        let mut alone = Vec::new();
        for _ in 0..count / 2 + 10 {
            let began = Instant::now();
            x = comm.all_reduce_in_place(Combine::Sum, x).unwrap().await_result().unwrap();
            alone.push(began.elapsed().as_secs_f64());
        }
        alone.sort_by(f64::total_cmp);
        let began = Instant::now();
        for _ in 0..count {
            x = comm.all_reduce_in_place(Combine::Sum, x).unwrap().into_output();
        }
        devices.iter().for_each(|device| device.synchronize(crate::LONG).unwrap());
        let each = began.elapsed().as_secs_f64() / count as f64;
        let bus =
            |seconds: f64| 2.0 * (devices.len() - 1) as f64 / devices.len() as f64 * bytes as f64 / seconds * 1e-9;
        let median = alone[alone.len() / 2];
        println!(
            "ours {bytes:>11} B  waited for {:>9.1} us  in a row {:>9.1} us  bus {:>6.1} GB/s",
            median * 1e6,
            each * 1e6,
            bus(each)
        );
    }
}
