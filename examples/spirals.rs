//! A small classifier, trained on the device: log_softmax, cross entropy and Adam, as formulas and reductions.
//!
//! ```text
//! cargo run --release -p windlass --example spirals
//! ```
//!
//! It learns which of three spiral arms a point belongs to. The host waits for the device only where it prints.

use windlass::expressions::position;
use windlass::reductions::{All, Mean};
use windlass::rng::Normal;
use windlass::tensor::ReadableTensor;
use windlass::{Device, Result, Rng, Tensor};

const POINTS: usize = 600;
const HIDDEN: usize = 64;
const ARMS: usize = 3;
const STEPS: i32 = 500;
const RATE: f32 = 0.02;

/// Weights or biases, with Adam's running means of their gradient and of its square.
struct Parameter {
    value: Tensor<f32>,
    mean: Tensor<f32>,
    square: Tensor<f32>,
}

impl Parameter {
    fn new(device: &Device, value: Tensor<f32>) -> Result<Self> {
        let [mean, square] = [device.zeros(value.shape())?, device.zeros(value.shape())?];
        Ok(Parameter { value, mean, square })
    }

    /// Weights that keep the size of what goes through.
    fn weights(device: &Device, rng: &mut Rng, inputs: usize, outputs: usize) -> Result<Self> {
        let normal = rng.draw::<f32>(Normal::standard(), [inputs, outputs])?;
        let scale = (2.0 / inputs as f32).sqrt();
        Self::new(device, device.map(&normal, |x| x * scale)?.into())
    }

    /// One step of Adam: all three are updated in place, by one kernel.
    fn learn<'a>(self, device: &Device, gradient: impl ReadableTensor<'a, f32>, step: i32) -> Result<Self> {
        // The means begin at zero: both corrections for that are in the rate.
        let rate = RATE * (1.0 - 0.999f32.powi(step)).sqrt() / (1.0 - 0.9f32.powi(step));
        let state = (self.value, self.mean, self.square);
        let adam = device.update(state, &gradient.into(), |(value, mean, square), gradient| {
            let mean = 0.9 * mean + 0.1 * gradient;
            let square = 0.999 * square + 0.001 * gradient * gradient;
            (value - mean * rate / (square.sqrt() + 1e-8), mean, square)
        });
        let (value, mean, square) = adam?.into_output();
        Ok(Parameter { value, mean, square })
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let device = Device::from_env()?;
    let mut rng = device.rng(11);

    // Point i is of arm i mod 3; the arms begin in the middle.
    let arms = device.tabulate([POINTS, 1], || position(0) % ARMS as i64)?;
    let targets =
        device.map((&arms, &device.tabulate([ARMS], || position(0))?), |(arm, k)| arm.eq(k).select(1.0f32, 0.0))?;
    let noise = rng.draw::<f32>(Normal::standard(), [POINTS, 1])?;
    let places = device.map((&arms, &noise), |(arm, noise)| {
        let radius = position(0).cast::<f32>() / POINTS as f32;
        let angle = radius * 4.0 + arm.cast::<f32>() * (std::f32::consts::TAU / ARMS as f32) + noise * 0.15;
        (radius * angle.cos(), radius * angle.sin())
    })?;
    let (x, y) = places.each();
    let points = device.concat([&x, &y], 1)?;

    let mut w1 = Parameter::weights(&device, &mut rng, 2, HIDDEN)?;
    let mut b1 = Parameter::new(&device, device.zeros([HIDDEN])?)?;
    let mut w2 = Parameter::weights(&device, &mut rng, HIDDEN, ARMS)?;
    let mut b2 = Parameter::new(&device, device.zeros([ARMS])?)?;
    let mut right = 0.0;
    for step in 1..=STEPS {
        // Forward, to the logarithms of the probabilities.
        let sums = device.matmul(&points, &w1.value)?;
        let hidden = device.map((&sums, &b1.value), |(x, b)| (x + b).max(0.0))?;
        let sums = device.matmul(&hidden, &w2.value)?;
        let scores = device.map((&sums, &b2.value), |(x, b)| x + b)?;
        let logs = device.log_softmax(&scores, -1)?;

        // Backward, from the gradient of the mean cross entropy with respect to the scores.
        let g2 = device.map((&logs, &targets), |(log, target)| (log.exp() - target) / POINTS as f32)?;
        let back = device.matmul(&g2, w2.value.transpose())?;
        let g1 = device.map((&back, &hidden), |(g, h)| h.gt(0.0).select(g, 0.0))?;
        w2 = w2.learn(&device, device.matmul(hidden.transpose(), &g2)?, step)?;
        b2 = b2.learn(&device, device.sum(&g2, 0)?, step)?;
        w1 = w1.learn(&device, device.matmul(points.transpose(), &g1)?, step)?;
        b1 = b1.learn(&device, device.sum(&g1, 0)?, step)?;

        if step % (STEPS / 5) == 0 {
            // Each row has one target; the mean is taken over all entries of the row.
            let entropy = device.reduce((&logs, &targets), All, |(log, target)| -(log * target), Mean)?;
            let loss = device.item(&entropy)? * ARMS as f32;
            let best = device.argmax(&logs, 1)?;
            let hits = device.map((&best, arms.index(1, 0)?), |(best, arm)| best.eq(arm).select(1.0f32, 0.0))?;
            right = device.item(&device.mean(&hits, All)?)?;
            println!(
                "step {step:>4}: cross entropy {loss:.4}, {:.1} % of the points are classified correctly",
                100.0 * right
            );
        }
    }
    if right.is_nan() || right < 0.95 {
        return Err(format!("the network did not learn: {right} of the points are classified correctly").into());
    }
    Ok(())
}
