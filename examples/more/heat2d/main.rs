//! Heat that spreads over a plate: thousands of steps of a stencil, each a kernel that follows the one before, and a
//! picture at the end.
//!
//! ```text
//! cargo run --release -p windlass-more-examples --example heat2d # 1024 x 1024, 5000 steps (CPU: 128 x 128, 500)
//! cargo run --release -p windlass-more-examples --example heat2d -- 256 2000 out.png
//! WINDLASS_DEVICE=host cargo run --release -p windlass-more-examples --example heat2d -- 128 1000
//! ```
//!
//! `step.rs` is the kernel: CUDA C++, compiled when the program runs; on the CPU it runs with every access checked. `picture.rs`
//! writes the PNG. The plate loses no heat at its edges, so its sum must stay what it was: the program checks that.

#[path = "../output.rs"]
mod output;
mod picture;
mod step;

use indicatif::{ProgressBar, ProgressStyle};
use std::collections::VecDeque;
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;
use step::Step;
use windlass::{Device, DeviceKind, Result};

/// The bar advances by this many steps, and so many times that many are in flight.
const EVERY: usize = 50;
const BEHIND: usize = 4;

fn main() -> ExitCode {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("heat2d: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let device = Device::from_env()?;
    // Some seconds of work on either.
    let usual = if device.kind() == DeviceKind::Host { (128, 500) } else { (1024, 5000) };
    let size: u32 = arguments.next().map_or(Ok(usual.0), |text| text.parse())?;
    let steps: usize = arguments.next().map_or(Ok(usual.1), |text| text.parse())?;
    let file = output::file(arguments.next(), "heat2d.png")?;

    let start = Instant::now();
    let step = Step::new(&device, size, size)?;
    println!("{} ({}): kernel ready after {:.0?}", device.name(), device.info().name, start.elapsed());

    let plate = plate(size);
    let before: f64 = plate.iter().map(|t| f64::from(*t)).sum();
    let bar =
        ProgressBar::new(steps as u64).with_style(ProgressStyle::with_template("{wide_bar} {pos} of {len} steps")?);
    let start = Instant::now();
    let plate = spread(&device, &step, (plate, steps), &bar)?;
    let time = start.elapsed();
    bar.finish_and_clear();

    let cells = f64::from(size).powi(2) * steps as f64;
    println!(
        "{steps} steps of {size} x {size} in {time:.2?}: {:.2} billion cells a second",
        cells / time.as_secs_f64() / 1e9
    );
    let after: f64 = plate.iter().map(|t| f64::from(*t)).sum();
    println!("heat before {before:.1}, after {after:.1}");
    // Each step rounds each cell once, by 2^-24 of at most 1, to either side.
    let bound = steps as f64 * f64::from(size).powi(2) * 2f64.powi(-24);
    if (after - before).abs() > bound {
        return Err(format!("the heat was {before} and became {after}, a larger change than {bound:.1}").into());
    }
    picture::write(&file, &plate, size)?;
    println!("written to {}", file.display());
    Ok(())
}

/// The plate after so many steps. Each reads what the one before wrote, on the device: nothing is awaited but, now and then, a
/// step that is far enough behind, so that the bar shows what is done and not what is submitted.
fn spread(device: &Device, step: &Step, (plate, steps): (Vec<f32>, usize), bar: &ProgressBar) -> Result<Vec<f32>> {
    let mut now = device.buffer(plate)?;
    let mut next = device.uninit::<f32>(now.len())?.into_buffer();
    let mut flight = VecDeque::new();
    for done in 1..=steps {
        let ((written,), verdict) = step.submit(&now, next)?.into_parts();
        next = std::mem::replace(&mut now, written);
        if done % EVERY == 0 {
            flight.push_back(verdict);
        }
        if flight.len() > BEHIND
            && let Some(oldest) = flight.pop_front()
        {
            oldest.await_result()?;
            bar.inc(EVERY as u64);
        }
    }
    device.to_vec(&now)
}

/// A cold plate with a hot ring and three hot spots.
fn plate(size: u32) -> Vec<f32> {
    let at = |i: u32| (f64::from(i) + 0.5) / f64::from(size) - 0.5;
    let spots = [(-0.3, -0.25, 0.06), (0.32, -0.1, 0.08), (-0.05, 0.36, 0.05)];
    let temperature = |x: f64, y: f64| {
        let ring = (x.hypot(y) - 0.2).abs() < 0.02;
        let spot = spots.iter().any(|(sx, sy, radius)| (x - sx).hypot(y - sy) < *radius);
        f32::from(u8::from(ring || spot))
    };
    (0..size).flat_map(|y| (0..size).map(move |x| temperature(at(x), at(y)))).collect()
}
