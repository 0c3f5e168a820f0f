//! A signal without its high frequencies, by FFT.

use std::f64::consts::TAU;
use windlass::expressions::position;
use windlass::fft::rfftfreq;
use windlass::reductions::{All, Max};
use windlass::{Complex, Device, Result};

const N: usize = 4096;

pub(crate) fn main() -> Result<()> {
    let device = Device::from_env()?;
    let (x, clean) = device
        .tabulate([N], || {
            let t = position(0).cast::<f64>() / 1000.0;
            let clean = (t * (5.0 * TAU)).sin();
            (clean + (t * (120.0 * TAU)).sin() * 0.5 + (t * (333.0 * TAU)).cos() * 0.25, clean)
        })?
        .each();
    let spectrum = device.fft().rfft(&x, &[0])?;
    let frequencies = device.tensor([N / 2 + 1], rfftfreq(N, 1.0 / 1000.0)?)?;
    let low = device.map((&spectrum, &frequencies), |(s, f)| f.le(50.0).select(s, Complex::new(0.0, 0.0)))?;
    let smooth = device.fft().irfft(&low, N, &[0])?;
    let rms = device.item(&device.norm2(&smooth, All)?)? / (N as f64).sqrt();
    let gap = device.reduce((&smooth, &clean), All, |(a, b)| (a - b).abs(), Max)?;
    println!("lowpass {rms} {}", device.item(&gap)?);
    Ok(())
}
