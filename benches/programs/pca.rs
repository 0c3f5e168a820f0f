//! Principal components of 2000 points with 50 coordinates.

use windlass::expressions::position;
use windlass::reductions::All;
use windlass::solver::Vectors;
use windlass::{Device, Error, Result};

pub(crate) fn main() -> Result<()> {
    let device = Device::from_env()?;
    let x = device.tabulate([2000, 50], || {
        let (i, j) = (position(0), position(1));
        ((i * 7919 + j * 104_729 + i * j * 31) % 1000).cast::<f64>() / (j + 1).cast::<f64>()
    })?;
    let x = (&x - &device.mean(&x, 0)?).eval(&device)?;
    let svd = device.solver().svd(Vectors::Thin, &x)?.await_result()?;
    let vh = svd.vh.ok_or_else(|| Error::invalid("svd", "no vectors"))?;
    let squares = (&svd.values * &svd.values).eval(&device)?;
    let total = device.sum(&squares, All)?;
    let explained = (squares.slice(..3)? / &total).eval(&device)?;
    let scores = device.matmul(&x, vh.slice(..3)?.transpose())?;
    let first = scores.index(0, 0)?.abs().eval(&device)?;
    println!("pca {:?} {:?}", device.to_vec(&explained)?, device.to_vec(&first)?);
    Ok(())
}
