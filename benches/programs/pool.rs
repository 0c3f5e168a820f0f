//! Images over a rayon pool, on a device in a worker process that is killed in the middle.

use rayon::prelude::*;
use std::process::Command;
use windlass::expressions::position;
use windlass::reductions::All;
use windlass::{Device, Result};

/// How much an image varies after a blur of 3 x 3.
fn contrast(device: &Device, image: i64) -> Result<f64> {
    let pixel = || ((position(0) * 7919 + position(1) * (104_729 + image * 13)) % 251).cast::<f64>();
    let x = device.tabulate([64, 64], pixel)?;
    let blurred = device.mean(x.windows(0, 3, 1)?.windows(1, 3, 1)?, [-2, -1])?;
    device.item(&device.std(&blurred, All, 0)?)
}

pub(crate) fn main() -> Result<()> {
    let device = Device::builder().from_env()?.isolated().standby(true).open()?;
    let images = (0..64i64).into_par_iter().map(|image| {
        if image == 40 {
            let worker = device.worker_pid().unwrap_or_default().to_string();
            Command::new("kill").args(["-9", &worker]).status().ok();
        }
        device.retrying(|device| contrast(device, image))
    });
    let contrasts = images.collect::<Result<Vec<_>>>()?;
    println!("pool {} {} {}", device.stats().rebuilds, contrasts.iter().sum::<f64>(), contrasts[40]);
    Ok(())
}
