//! k-means on the device: distances and new centres are formulas that are reduced, so the differences between points and centres
//! are never stored. `cargo run --release -p windlass --example kmeans`

use windlass::expressions::position;
use windlass::reductions::{All, Keep, Sum};
use windlass::{Device, PendingDispatch, Tensor, rng::Normal};

/// The squared distance of each row of `x` from each row of `y`.
fn distances(device: &Device, x: &Tensor<f32>, y: &Tensor<f32>) -> windlass::Result<PendingDispatch<Tensor<f32>>> {
    device.reduce((x.unsqueeze(1)?, y.unsqueeze(0)?), -1, |(x, y)| (x - y) * (x - y), Sum)
}

fn main() -> windlass::Result<()> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let device = Device::from_env()?;
    let truth = device.tensor([5, 2], [0.0f32, 0.0, 4.0, 0.0, 0.0, 4.0, -4.0, 1.0, 1.0, -4.0])?;
    let noise = device.rng(7).draw::<f32>(Normal::standard(), [2000, 5, 2])?;
    let points = (&noise * 0.5 + &truth).eval(&device)?;
    let points = device.contiguous(points.reshape([10_000, 2])?)?; // 2000 around each
    // The first centres: a point, then again and again the one that is farthest from all so far.
    let mut centres = device.contiguous(points.slice(..1)?)?;
    while centres.shape() != truth.shape() {
        let nearest = device.min(&distances(&device, &points, &centres)?, 1)?;
        let farthest = device.argmax(&nearest, Keep(0))?;
        centres = device.concat([&*centres, &device.take(&points, &farthest, 0)?.await_result()?], 0)?;
    }
    for _ in 0..20 {
        // Each centre becomes the mean of the points that are nearest to it. Nothing here waits.
        let at = device.argmin(&distances(&device, &points, &centres)?, Keep(1))?;
        let own = device.map(at.broadcast([10_000, 5])?, |at| at.eq(position(1)).select(1.0f32, 0.0))?;
        let sums = device.reduce((own.unsqueeze(2)?, points.unsqueeze(1)?), 0, |(own, x)| own * x, Sum)?;
        let counts = device.sum(own.unsqueeze(2)?, 0)?;
        centres = device.map((&sums, &counts), |(sum, count)| sum / count.max(1.0))?;
    }
    let error = device.min(&distances(&device, &truth, &centres)?, 1)?;
    let error = device.item(&device.max(&error, All)?)?.sqrt();
    println!("centres\n{}\neach middle has one within {error:.4}", device.show(&centres)?);
    assert!(error < 0.1, "the centres were not found");
    Ok(())
}
