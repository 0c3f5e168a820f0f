//! k-nearest neighbours: ten classes, five neighbours that vote.

use windlass::expressions::position;
use windlass::reductions::{All, Mean, Sum};
use windlass::{Device, Result, Tensor};

/// Points of a class each: its middle, and noise.
fn points(device: &Device, from: i64, n: usize) -> Result<(Tensor<f32>, Tensor<i64>)> {
    let labels = device.tabulate([n], || (position(0) + from) * 7 % 10)?;
    let x = device.map(labels.unsqueeze(1)?.broadcast([n, 16])?, |class| {
        let (i, k) = (position(0) + from, position(1));
        ((class * 37 + k * 61) % 101 + (i * 7919 + k * 104_729 + i * k * 131) % 107).cast::<f32>()
    })?;
    Ok((x.into(), labels.into()))
}

pub(crate) fn main() -> Result<()> {
    let device = Device::from_env()?;
    let ((train, labels), (test, truth)) = (points(&device, 0, 1000)?, points(&device, 1000, 200)?);
    let pairs = (test.unsqueeze(1)?, train.unsqueeze(0)?);
    let gaps = device.reduce(pairs, -1, |(a, b)| (a - b) * (a - b), Sum)?;
    let (_, nearest) = device.bottom_k(&gaps, 5, 1)?.each();
    let votes = device.take(&labels, &nearest, 0)?.await_result()?;
    let votes = device.one_hot(&votes, 10, -1, [0i64, 1])?;
    let found = device.argmax(&device.sum(&votes, 1)?, 1)?;
    let right = device.reduce((&found, &truth), All, |(a, b)| a.eq(b).cast::<f64>(), Mean)?;
    println!("knn {} {:?}", device.item(&right)?, device.to_vec(found.slice(..20)?)?);
    Ok(())
}
