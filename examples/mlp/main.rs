//! A small neural network, trained: forward and backward in products with epilogues, nine products a step and three small helpers.
//!
//! ```text
//! cargo run --release -p windlass --features blaslt --example mlp
//! WINDLASS_DEVICE=host cargo run --release -p windlass --features blaslt --example mlp
//! cargo run --release -p windlass --features blaslt --example mlp -- trace.json # for https://ui.perfetto.dev
//! ```
//!
//! It learns eight waves over a square. `network.rs` has the layers: biases, activations and their gradients ride on
//! the products; weights and biases stay on the device from the first step to the last.

mod network;

use network::{Batch, Network, OUTPUTS};
use std::error::Error;
use windlass::Device;
use windlass::timeline::Timeline;

/// Points of the square, all seen in every step.
const POINTS: usize = 512;
const STEPS: usize = 1_000;
const RATE: f32 = 0.1;

fn main() -> Result<(), Box<dyn Error>> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let (trace, recorder) = (std::env::args().nth(1), Timeline::new());
    let builder = Device::builder().from_env()?;
    let device = if trace.is_some() { builder.timeline(&recorder) } else { builder }.open()?;
    println!("device    {} ({})", device.name(), device.info().name);
    let (points, waves) = samples();
    let batch = Batch::new(&device, &points, &waves)?;
    let mut network = Network::new(&device)?;

    let mut loss = network.step(&batch, 0.0)?.value()?;
    println!("step      {:>5}: mean squared error {loss:.5}", 0);
    for step in 1..=STEPS {
        // The host runs ahead: it waits for the device only where it prints.
        let pending = network.step(&batch, RATE)?;
        if step % (STEPS / 8) == 0 {
            loss = pending.value()?;
            println!("step      {step:>5}: mean squared error {loss:.5}");
        }
    }
    if loss.is_nan() || loss > 0.02 {
        return Err(format!("the network did not learn: mean squared error {loss}").into());
    }
    println!("learnt    {OUTPUTS} waves at {POINTS} points to a mean squared error of {loss:.5}");
    if let Some(trace) = trace {
        recorder.save(&trace)?;
        println!("timeline  of the last steps in {trace}");
    }
    Ok(())
}

/// Points of the square, one after the other, and the waves there: `sin(a x + b y + c)` for eight `(a, b, c)`.
fn samples() -> (Vec<f32>, Vec<f32>) {
    let golden = 0.618_034;
    let points: Vec<[f32; 2]> = (0..POINTS)
        .map(|i| [2.0 * (i as f32 + 0.5) / POINTS as f32 - 1.0, 2.0 * (i as f32 * golden).fract() - 1.0])
        .collect();
    let wave = |[x, y]: [f32; 2], r: usize| {
        let angle = r as f32 * std::f32::consts::TAU / OUTPUTS as f32;
        (2.5 * (angle.cos() * x + angle.sin() * y) + angle).sin()
    };
    let waves = points.iter().flat_map(|&point| (0..OUTPUTS).map(move |r| wave(point, r))).collect();
    (points.into_iter().flatten().collect(), waves)
}
