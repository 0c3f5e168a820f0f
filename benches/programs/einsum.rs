//! A network of four tensors, contracted to a matrix.

use windlass::reductions::All;
use windlass::{Device, Result, Tensor};

fn tensor(device: &Device, shape: &[usize]) -> Result<Tensor<f64>> {
    let numbers = (0..shape.iter().product::<usize>()).map(|at| ((at * 7919) % 1009) as f64 / 1009.0 - 0.5);
    device.tensor(shape, numbers.collect::<Vec<_>>())
}

pub(crate) fn main() -> Result<()> {
    let device = Device::from_env()?;
    let (a, b) = (tensor(&device, &[8, 6, 10])?, tensor(&device, &[10, 12])?);
    let (c, d) = (tensor(&device, &[12, 6, 9])?, tensor(&device, &[9, 7])?);
    let m = device.tensor_ops().einsum("abc,cd,dbe,ef->af", (&a, &b, &c, &d))?;
    let trace = device.item(&device.sum(m.diagonal(0, 0, 1)?, All)?)?;
    let norm = device.item(&device.norm2(&m, All)?)?;
    println!("einsum {trace} {norm} {:?}", device.to_vec(m.index(0, -1)?)?);
    Ok(())
}
