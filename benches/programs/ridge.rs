//! Ridge regression on standardised columns, from `.npy` files.

use windlass::expressions::position;
use windlass::reductions::{All, Sum};
use windlass::{Device, Error, Result, Tensor, Uplo};

const LAMBDA: f64 = 10.0;

fn load(device: &Device, file: &str) -> Result<Tensor<f64>> {
    device
        .load_npy(file)?
        .downcast()
        .map_err(|x| Error::invalid("file", format!("{file} has elements of {}", x.dtype())))
}

pub(crate) fn main() -> Result<()> {
    let device = Device::from_env()?;
    let (x, y) = (load(&device, "x.npy")?, load(&device, "y.npy")?);
    let (mean, spread) = (device.mean(&x, 0)?, device.std(&x, 0, 0)?);
    let x = ((&x - &mean) / &spread).eval(&device)?;
    let y = (&y - &device.mean(&y, All)?).eval(&device)?;
    let gram = device.matmul(x.transpose(), &x)?;
    let gram = device.map(&gram, |g| g + position(0).eq(position(1)).select(LAMBDA, 0.0))?;
    let right = device.matmul(x.transpose(), y.unsqueeze(1)?)?;
    let factor = device.solver().cholesky(Uplo::Lower, &gram)?.await_result()?;
    let weights = factor.solve(&device.solver(), right)?;
    let fitted = device.matmul(&x, &weights)?;
    let rest = device.reduce((&y, fitted.squeeze()), All, |(y, f)| (y - f) * (y - f), Sum)?;
    let total = device.reduce(&y, All, |y| y * y, Sum)?;
    let r2 = 1.0 - device.item(&rest)? / device.item(&total)?;
    println!("ridge {r2} {:?}", device.to_vec(&weights)?);
    Ok(())
}
