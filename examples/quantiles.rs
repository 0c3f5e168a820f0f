//! A stream of measurements: their distribution as a picture of text, quantiles, and those that are far out.
//!
//! ```text
//! cargo run --release -p windlass --example quantiles
//! WINDLASS_DEVICE=host cargo run --release -p windlass --example quantiles
//! ```
//!
//! Batches come one after the other, each of 64 sensors; a few values are wrong, and some are missing (NaN). All of it is sorted on the
//! device, with the same bits on a GPU and on the CPU.

use windlass::arrays::Method;
use windlass::expressions::position;
use windlass::reductions::All;
use windlass::{Device, Result, Tensor};

const SENSORS: usize = 64;
const BATCH: usize = 256;
const BATCHES: usize = 8;

/// Normal numbers, of which one in 1000 is ten times as large, and one in 500 is missing.
fn batch(device: &Device, number: usize) -> Result<Tensor<f32>> {
    let x = device.rng(number as u64).normal::<f32>([BATCH, SENSORS])?;
    let spoilt = device.map(&x, |x| {
        let place = position(0) * SENSORS as i64 + position(1);
        (place % 1000).eq(7).select(x * 10.0, (place % 500).ne(3).select(x, f32::NAN))
    })?;
    Ok(spoilt.into())
}

fn main() -> Result<()> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let device = Device::from_env()?;
    let batches = (0..BATCHES).map(|number| batch(&device, number)).collect::<Result<Vec<_>>>()?;
    let all = device.concat(&batches, 0)?;

    // Without what is missing; the number of elements is known when the device has found it.
    let is_there = device.map(&all, |x| x.eq(x))?;
    let measured = device.masked_select(&all, &is_there)?.await_result()?;
    println!("on {}: {} measurements, {} missing", device.name(), measured.len(), all.len() - measured.len());

    let (counts, edges) = device.histogram(&measured, 16, Some([-4.0, 4.0]))?;
    let counts = device.download(&counts.await_result()?)?.await_result()?;
    let edges = device.download(&edges)?.await_result()?;
    let most = counts.iter().max().copied().unwrap_or(1).max(1);
    for (count, edge) in counts.iter().zip(&edges) {
        println!("{edge:5.1} {count:6} {}", "#".repeat((60 * count / most) as usize));
    }

    let q = [0.25, 0.5, 0.75];
    let quartiles = device.quantile(&measured, &q, 0, Method::Linear)?.await_result()?;
    let quartiles = device.download(&quartiles)?.await_result()?;
    println!("quartiles {quartiles:.3?}");

    // Far out: more than three times the distance between the quartiles beside them.
    let [low, _, high] = quartiles[..] else { return Ok(()) };
    let far = 3.0 * (high - low);
    let is_far = device.map(&all, |x| x.lt(low - far) | x.gt(high + far))?;
    let places = device.nonzero(&is_far)?.await_result()?;
    let by_sensor = device.bincount(&places.index(0, 1)?, SENSORS)?.await_result()?;
    let (worst, sensors) = device.top_k(&by_sensor, 3, 0)?.await_result()?;
    let many = places.len() / 2; // a row for each axis
    println!("{many} far out; most at sensors {} ({})", device.show(&sensors)?, device.show(&worst)?);
    let found = device.item(&device.count_nonzero(&is_far, All)?.await_result()?)?;
    assert_eq!(found as usize, many);
    Ok(())
}
