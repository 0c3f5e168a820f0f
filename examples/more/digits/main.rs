//! A small convolutional network learns to read digits, on the device: convolutions, pooling, cross entropy and their gradients.
//!
//! ```text
//! cargo run --release -p windlass-more-examples --example digits # the loss curve goes into target/digits.png
//! WINDLASS_DEVICE=host cargo run --release -p windlass-more-examples --example digits -- curve.png
//! ```
//!
//! `draw.rs` draws the pictures, shifted and noisy; `net.rs` has the network; `curve.rs` draws the loss. At the end the trained
//! network reads new pictures on the device and on the CPU: both must read the same digits.

mod curve;
mod draw;
mod net;
#[path = "../output.rs"]
mod output;

use draw::{Pictures, SIZE};
use net::Net;
use std::error::Error;
use std::process::ExitCode;
use windlass::reductions::All;
use windlass::{Device, Tensor};

const TRAINING: usize = 512;
const TEST: usize = 200;
const BATCH: usize = 64;
const EPOCHS: usize = 10;

fn main() -> ExitCode {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("digits: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Pictures and their digits as tensors.
fn up(device: &Device, pictures: &Pictures) -> windlass::Result<(Tensor<f32>, Tensor<i64>)> {
    let n = pictures.digits.len();
    Ok((device.tensor([n, 1, SIZE, SIZE], &pictures.pixels[..])?, device.tensor([n], &pictures.digits[..])?))
}

fn run() -> Result<(), Box<dyn Error>> {
    let file = output::file(std::env::args_os().nth(1), "digits.png")?;
    let device = Device::from_env()?;
    let (pixels, digits) = up(&device, &Pictures::new(TRAINING, 1))?;
    let mut net = Net::new(&device, 11)?;
    let (mut losses, mut waiting) = (Vec::new(), Vec::new());
    for epoch in 1..=EPOCHS {
        for first in (0..TRAINING).step_by(BATCH) {
            let batch = first..first + BATCH;
            let (x, labels) = (pixels.slice(batch.clone())?, digits.slice(batch)?);
            let (next, loss) = net.step(&device, &x, &labels)?;
            net = next;
            waiting.push(loss);
        }
        // Nobody has waited until here.
        for loss in waiting.drain(..) {
            losses.push(device.item(&loss.await_result()?)?);
        }
        let last = losses.last().copied().unwrap_or(f32::NAN);
        println!("epoch {epoch:>2}: cross entropy {last:.4}");
    }
    curve::write(&file, &losses)?;

    let test = Pictures::new(TEST, 2);
    let (pixels, digits) = up(&device, &test)?;
    let read = net.read(&device, &pixels)?;
    let hits = device.map((&read, &digits), |(read, digit)| read.eq(digit).select(1.0f32, 0.0))?;
    let right = device.item(&device.mean(&hits, All)?)?;
    println!("{:.1} % of {TEST} new pictures are read; the loss curve is in {}", 100.0 * right, file.display());

    let host = Device::host()?;
    let there = net.to(&device, &host)?.read(&host, &up(&host, &test)?.0)?;
    let (one, other) = (device.download(&read)?.await_result()?, host.download(&there)?.await_result()?);
    if one != other {
        return Err("the device and the CPU read different digits".into());
    }
    println!("the CPU reads the same digits");
    if right.is_nan() || right < 0.95 {
        return Err(format!("the network did not learn: {right} of the new pictures are read").into());
    }
    Ok(())
}
