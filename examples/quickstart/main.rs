//! A sign that was photographed out of focus becomes readable again: a least-squares problem whose unknowns have bounds, solved by
//! three thousand small calls on the GPU, or on the CPU, with no wait between them.
//!
//! ```text
//! cargo run --release -p windlass --example quickstart
//! cargo run --release -p windlass --example quickstart -- HELLO
//! WINDLASS_DEVICE=host cargo run --release -p windlass --example quickstart
//! ```
//!
//! **`sharpen.rs` is what uses this library**; `sign.rs` makes the photograph.

mod sharpen;
mod sign;

use sign::Sign;
use std::process::ExitCode;
use std::time::Instant;
use windlass::{Device, Error, Result};

fn main() -> ExitCode {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quickstart: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let text = std::env::args().nth(1).unwrap_or_else(|| "WINDLASS".into());
    let sign = Sign::new(&text).ok_or_else(|| Error::invalid("TEXT", "1 to 12 letters from A to Z are needed"))?;
    let (blur, photograph) = (sign.blur(), sign.photograph());

    let device = Device::from_env()?;
    println!("windlass on {}, {}", device.name(), device.info().name.trim());
    device.info().passed_over.iter().for_each(|why| println!("  ({why})"));
    println!("\nThe photograph:");
    sign.print(&photograph);

    let [columns, rows] = &blur;
    sharpen::sharpen(&device, [columns, rows], &photograph)?; // the first call loads libraries, which is not what is timed
    let start = Instant::now();
    let sharp = sharpen::sharpen(&device, [columns, rows], &photograph)?;
    let time = start.elapsed();

    println!("What was in front of the camera, as computed:");
    sign.print(&sharp);
    let each = time.as_secs_f64() * 1e6 / sharpen::CALLS as f64;
    println!("{} steps, {:.1} ms, {each:.1} us a call", sharpen::STEPS, time.as_secs_f64() * 1e3);
    println!("right points: {:.1} % before, {:.1} % after", sign.right(&photograph), sign.right(&sharp));
    Ok(())
}
