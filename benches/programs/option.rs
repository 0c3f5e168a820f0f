//! The price of an Asian call option, and the error of the estimate, by Monte Carlo.

use windlass::reductions::{All, Mean};
use windlass::rng::Normal;
use windlass::{Device, Result};

const PATHS: usize = 200_000;
const STEPS: usize = 12;

pub(crate) fn main() -> Result<()> {
    let device = Device::from_env()?;
    let (spot, strike, rate, sigma, dt) = (100.0, 105.0, 0.03f64, 0.2, 1.0 / STEPS as f64);
    let z = device.rng(7).draw::<f64>(Normal::standard(), [PATHS, STEPS])?;
    let moves = (&z * (sigma * dt.sqrt()) + (rate - 0.5 * sigma * sigma) * dt).eval(&device)?;
    let walks = device.cumsum(&moves, 1)?;
    let means = device.reduce(&walks, 1, |w| w.exp() * spot, Mean)?;
    let payoffs = ((&means - strike).max(0.0) * (-rate).exp()).eval(&device)?;
    let price = device.item(&device.mean(&payoffs, All)?)?;
    let error = device.item(&device.std(&payoffs, All, 1)?)? / (PATHS as f64).sqrt();
    println!("option {price} {error}");
    Ok(())
}
