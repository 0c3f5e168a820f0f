//! k-means on the device: distances, the nearest centre of each point and the new centres are formulas that are reduced.
//! The differences between points and centres are never stored.
//!
//! ```text
//! cargo run --release --example kmeans
//! ```

use windlass::expressions::position;
use windlass::reductions::{All, Keep, Sum};
use windlass::rng::Normal;
use windlass::{Device, Tensor};

const POINTS: usize = 10_000;
const CLUSTERS: usize = 5;

/// The squared distance of each row of `x` from each row of `y`.
fn distances(device: &Device, x: &Tensor<f32>, y: &Tensor<f32>) -> windlass::Result<Tensor<f32>> {
    Ok(device.reduce((x.unsqueeze(1)?, y.unsqueeze(0)?), -1, |(x, y)| (x - y) * (x - y), Sum)?.into_output())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let device = Device::from_env()?;
    let truth = device.tensor([CLUSTERS, 2], [0.0f32, 0.0, 4.0, 0.0, 0.0, 4.0, -4.0, 1.0, 1.0, -4.0])?;
    let noise = device.rng(7).draw_tensor::<f32>(Normal::standard(), [POINTS, 2])?.into_output();
    let member = device.tabulate([POINTS], || position(0) % CLUSTERS as i64)?.into_output();
    let middles = device.take(&truth, &member, 0)?.into_output();
    let points = device.map((&middles, &noise), |(middle, noise)| middle + noise * 0.5)?.into_output();

    // The first centres: a point, then again and again the one that is farthest from all so far.
    let mut centres = device.contiguous(&points.slice(..1)?)?.into_output();
    while centres.extents() != truth.extents() {
        let nearest = device.min(&distances(&device, &points, &centres)?, 1)?.into_output();
        let farthest = device.argmax(&nearest, Keep(0))?.into_output();
        let centre = device.take(&points, &farthest, 0)?.into_output();
        centres = device.concat([&centres, &centre], 0)?.into_output();
    }
    let numbers = device.tabulate([CLUSTERS, 1], || position(0))?.into_output();
    for _ in 0..20 {
        // Each centre becomes the mean of the points that are nearest to it. Nothing here waits.
        let nearest = device.argmin(&distances(&device, &points, &centres)?, 1)?.into_output();
        let (at, x) = (nearest.unsqueeze(1)?.unsqueeze(1)?, points.unsqueeze(1)?);
        let sums = device.reduce((&x, &at, &numbers), 0, |(x, at, k)| at.eq(k).select(x, 0.0), Sum)?.into_output();
        let counts = device.reduce((&at, &numbers), 0, |(at, k)| at.eq(k).select(1.0f32, 0.0), Sum)?.into_output();
        centres = device.map((&sums, &counts), |(sum, count)| sum / count.max(1.0))?.into_output();
    }
    println!("centres\n{}", device.show(&centres)?);
    let error = device.min(&distances(&device, &truth, &centres)?, 1)?.into_output();
    let error = device.item(&device.max(&error, All)?.into_output())?.sqrt();
    println!("{POINTS} points: each cluster's middle has a centre within {error:.4}");
    if error.is_nan() || error > 0.1 {
        return Err("the centres were not found".into());
    }
    Ok(())
}
