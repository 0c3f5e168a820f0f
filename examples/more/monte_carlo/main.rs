//! An Asian option priced by simulation, with random paths (Philox) and with quasi-random ones (Sobol), and a picture of how
//! fast each comes near the exact price.
//!
//! ```text
//! cargo run --release -p windlass-more-examples --example monte_carlo # up to 2^18 paths, into target/monte_carlo.png
//! cargo run --release -p windlass-more-examples --example monte_carlo -- 20 out.png
//! WINDLASS_DEVICE=host cargo run --release -p windlass-more-examples --example monte_carlo
//! ```
//!
//! The call pays what the geometric mean of 16 prices exceeds the strike by: that has a closed form to compare with. The
//! device draws the numbers, walks the paths and takes the mean of what they pay, by formulas and a reduction that give
//! the same bits on every one: so every digit that is printed is the same on every device.

#[path = "../output.rs"]
mod output;
mod plot;

use std::error::Error;
use std::process::ExitCode;
use windlass::Device;
use windlass::expressions::{Symbol, random};
use windlass::reductions::{All, Mean};
use windlass::rng::{Generator, Normal, Stream};

/// Prices that the mean is of, a year in all.
const STEPS: usize = 16;
const SPOT: f64 = 100.0;
const STRIKE: f64 = 100.0;
const RATE: f64 = 0.03;
const VOLATILITY: f64 = 0.3;

fn main() -> ExitCode {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("monte_carlo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let most: u32 = arguments.next().map_or(Ok(18), |text| text.parse())?;
    let file = output::file(arguments.next(), "monte_carlo.png")?;
    if !(6..=26).contains(&most) {
        return Err("the first argument is the number of paths as a power of two, from 6 to 26".into());
    }
    let device = Device::from_env()?;
    println!("{} ({}): exact price {:.9}", device.name(), device.info().name, exact());

    let streams = [Stream::new(Generator::Philox, 2026), Stream::sobol(STEPS as u32)];
    println!("{:>10} {:>14} {:>10} {:>14} {:>10}", "paths", "Philox", "error", "Sobol", "error");
    let mut errors = [Vec::new(), Vec::new()];
    for power in 6..=most {
        let paths = 1usize << power;
        let [random, even] = &streams;
        let prices = [price(&device, random, paths)?, price(&device, even, paths)?];
        let [a, b] = prices.map(|price| (price - exact()).abs());
        println!("{paths:>10} {:>14.9} {a:>10.2e} {:>14.9} {b:>10.2e}", prices[0], prices[1]);
        errors[0].push((paths as f64, a));
        errors[1].push((paths as f64, b));
    }
    plot::write(&file, &errors)?;
    println!(
        "{}: error (vertical) over paths (horizontal), a line per power of ten; Philox red, Sobol blue",
        file.display()
    );
    let last = |errors: &[(f64, f64)]| errors.last().map_or(f64::INFINITY, |(_, error)| *error);
    if last(&errors[0]) > 0.2 || last(&errors[1]) > 0.2 {
        return Err("the prices are too far from the exact one".into());
    }
    Ok(())
}

/// The discounted mean of what `paths` paths pay. All paths take a step at once: one kernel, which is made once.
fn price(device: &Device, stream: &Stream, paths: usize) -> windlass::Result<f64> {
    let step = 1.0 / STEPS as f64;
    let (drift, spread) = ((RATE - VOLATILITY * VOLATILITY / 2.0) * step, VOLATILITY * step.sqrt());
    let walk = |(log, mean): (Symbol<f64>, Symbol<f64>), number: Symbol<f64>| {
        let log = log + (drift + spread * number);
        (log, mean + log * step)
    };
    let mut state = (device.zeros([paths])?, device.zeros([paths])?);
    if stream.generator() == Generator::Philox {
        // Numbers of Philox are made where they are needed: the formula draws them. Each takes two words of the stream.
        for k in 0..STEPS {
            let part = stream.clone().at((2 * k * paths) as u64);
            state = device.update(state, (), |state, ()| walk(state, random::normal(&part)))?.into_output();
        }
    } else {
        let mut rng = device.rng_of(stream.clone());
        let normal = rng.draw::<f64>(Normal::standard(), [STEPS, paths])?;
        for k in 0..STEPS as isize {
            state = device.update(state, &normal.index(0, k)?, walk)?.into_output();
        }
    }
    // The mean of the payoffs, which are never stored.
    let pays = device.reduce(&state.1, All, |mean| (SPOT * mean.exp() - STRIKE).max(0.0), Mean)?;
    Ok((-RATE).exp() * device.item(&pays)?)
}

/// The price in closed form: the logarithm of a geometric mean of such prices is normal.
fn exact() -> f64 {
    let n = STEPS as f64;
    let mean = SPOT.ln() + (RATE - VOLATILITY * VOLATILITY / 2.0) * (n + 1.0) / (2.0 * n);
    let variance = VOLATILITY * VOLATILITY * (n + 1.0) * (2.0 * n + 1.0) / (6.0 * n * n);
    let d = (mean - STRIKE.ln() + variance) / variance.sqrt();
    (-RATE).exp() * ((mean + variance / 2.0).exp() * below(d) - STRIKE * below(d - variance.sqrt()))
}

/// The normal distribution function, by the series of its integral.
fn below(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for k in 1..200 {
        term *= x * x / f64::from(2 * k + 1);
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()
}
