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
    let (mean, spread) = (device.mean(&x, 0)?.into_output(), device.std(&x, 0, 0)?.into_output());
    let x = ((&x - &mean) / &spread).eval(&device)?.into_output();
    let y = (&y - &device.mean(&y, All)?.into_output()).eval(&device)?.into_output();
    let gram = device.blas().product(x.transpose(), &x)?.into_output();
    let gram = device.map(&gram, |g| g + position(0).eq(position(1)).select(LAMBDA, 0.0))?.into_output();
    let gram = device.contiguous_columns(&gram)?.into_output();
    let right = device.blas().product(x.transpose(), y.unsqueeze(1)?)?.into_output();
    let factor = device.solver().cholesky_tensor(Uplo::Lower, gram)?.await_result()?;
    let weights = factor.solve_tensor(&device.solver(), right)?.into_output();
    let fitted = device.blas().product(&x, &weights)?.into_output();
    let rest = device.reduce((&y, fitted.squeeze()), All, |(y, f)| (y - f) * (y - f), Sum)?.into_output();
    let total = device.reduce(&y, All, |y| y * y, Sum)?.into_output();
    let r2 = 1.0 - device.item(&rest)? / device.item(&total)?;
    println!("ridge {r2} {:?}", device.to_vec(&weights)?);
    Ok(())
}
