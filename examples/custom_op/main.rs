//! An operation of your own beside the library's: checked, ordered, traced and awaited like any other.
//!
//! ```text
//! cargo run --release -p windlass --example custom_op
//! WINDLASS_DEVICE=host cargo run --release -p windlass --example custom_op
//! ```
//!
//! `poly.rs` is the operation with its CPU half, `kernel.rs` and `poly.ptx` are its CUDA half; `halves.rs` compares the two, without
//! a GPU.

#[cfg(feature = "host")]
mod halves;
#[cfg(feature = "cuda")]
mod kernel;
mod poly;

use poly::{PolyExt, horner};
use windlass::{Device, Error, Result};

/// The Taylor series of the sine up to `x^9`, good to about 4e-6 on `[-pi/2, pi/2]`.
const SINE: [f32; 10] = [0.0, 1.0, 0.0, -1.0 / 6.0, 0.0, 1.0 / 120.0, 0.0, -1.0 / 5_040.0, 0.0, 1.0 / 362_880.0];

fn main() -> Result<()> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let device = Device::from_env()?;
    println!("device    {} ({})", device.name(), device.info().name);
    compare(&device, 1 << 20)?;
    chain(&device)?;
    refuse(&device)
}

/// A million elements, against plain Rust: the same bits.
fn compare(device: &Device, n: usize) -> Result<()> {
    let x: Vec<f32> = (0..n).map(|i| (i as f32 / n as f32 - 0.5) * std::f32::consts::PI).collect();
    #[cfg(feature = "host")]
    halves::compare(&SINE, x.get(..5000).unwrap_or(&x))?;
    let on_device = device.buffer(&x)?;
    let factors = device.buffer(SINE)?;
    drop(device.poly(&on_device, &factors)?.await_result()?); // the first call pays for compiling the kernel
    let timed = device.timed().poly(&on_device, &factors)?.await_timed()?;
    let y = device.to_vec(&timed.output)?;

    let wrong = x.iter().zip(&y).filter(|&(&x, &y)| horner(&SINE, x).to_bits() != y.to_bits()).count();
    if wrong > 0 || y.len() != n {
        return Err(Error::library(format!("{wrong} of {n} elements differ from plain Rust")));
    }
    let worst = x.iter().zip(&y).map(|(x, y)| (x.sin() - y).abs()).fold(0.0, f32::max);
    println!("values    {n} equal to plain Rust bit for bit; the series differs from the sine by {worst:.1e} at most");
    if let Some(time) = timed.device {
        let rate = 2e-9 * (n * SINE.len()) as f64 / time.as_secs_f64();
        println!("time      {time:.1?} on the device, {rate:.1} GFLOP/s");
    }
    Ok(())
}

/// Among the library's own operations, with no wait between them: `1 + 2 (x / 2) = 1 + x`, and its norm.
fn chain(device: &Device) -> Result<()> {
    let x = device.upload([2.0f32, 3.0])?;
    let half = device.blas().scal(0.5, x)?;
    let line = device.upload([1.0f32, 2.0])?;
    let y = device.poly(half.buffer(), &line)?;
    let norm = device.blas().nrm2(&y)?.await_result()?;
    if norm != 5.0 {
        return Err(Error::library(format!("the norm of (3, 4) is {norm} instead of 5")));
    }
    println!("chain     upload, scal, poly, nrm2 in order on the device: {norm}");
    Ok(())
}

/// A wrong argument is an error before anything runs, and the buffer that was moved in comes back.
fn refuse(device: &Device) -> Result<()> {
    let x = device.buffer([1.0f32, 2.0, 3.0])?;
    let too_short = device.zeros::<f32>(2)?;
    match device.poly_into(&x, &x, too_short.into_buffer()) {
        Ok(_) => Err(Error::library("three elements were written to a buffer of two")),
        Err(rejected) => {
            let back = rejected.back.map_or(0, |(y,)| y.len());
            println!("refused   {}; the buffer of {back} elements was returned", rejected.error);
            Ok(())
        }
    }
}
