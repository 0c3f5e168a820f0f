//! The rows of the table of `src/guide/tensors.md`.

use windlass::expressions::{Overflow, position};
use windlass::tensor::AxisSlice;
use windlass::{Complex, DType, Device, Result, Tensor, f16};

pub(super) fn run(device: &Device) -> Result<()> {
    made(device)?;
    views(device)?;
    written(device)?;
    formulas(device.clone())
}

fn made(device: &Device) -> Result<()> {
    let (m, n, data) = (2, 3, [1.0f32; 6]);
    device.tensor_of([[1.0, 2.0], [3.0, 4.0]])?;
    device.tensor([m, n], data)?;
    let x: Tensor<f32> = device.zeros([m, n])?;
    device.full([m, n], 1.0f32)?;
    device.zeros_like(&x)?;
    Ok(())
}

fn views(device: &Device) -> Result<()> {
    let (x, s) = (device.zeros::<f32>([4, 3, 2])?, [6, 4]);
    let _ = (x.shape(), x.rank(), x.len(), x.layout().strides());
    x.slice((1..3, 0))?;
    x.slice((AxisSlice::Rest, -1))?;
    x.slice((.., AxisSlice::New))?;
    x.index(0, 0)?;
    x.slice(AxisSlice::from(..).step(2))?;
    x.flip(0)?;
    x.reshape(s)?;
    x.transpose();
    x.swap_axes(0, 1)?;
    x.permute([2, 0, 1])?;
    let s = [5, 4, 3, 2];
    x.broadcast(s)?;
    let z = device.zeros::<Complex<f32>>([2])?;
    z.as_real()?;
    x.as_complex()?;
    x.squeeze();
    x.unsqueeze(0)?;
    let (k, axis, n) = (0, 0, 2);
    x.diagonal(k, 0, 1)?;
    x.windows(axis, n, 1)?;
    x.split(axis, n)?;
    device.contiguous(&x)?;
    device.contiguous_columns(&x)?;
    Ok(())
}

fn written(device: &Device) -> Result<()> {
    let (x, y) = (device.full(2, 1.0f32)?, device.zeros::<f32>([2, 3])?);
    let y = device.assign(y.part(|y| y.index(1, 0))?, &x)?.into_output();
    device.fill(y.part(|y| y.index(0, 0))?, 5.0)?;
    let x = device.full(1, 1.0f32)?;
    let _ = (device.show(&x)?, device.item(&x)?, device.to_vec(&x)?);
    Ok(())
}

fn formulas(device: Device) -> Result<()> {
    let (a, b, y, g) = (device.full(2, 1.0f32)?, device.full(2, 2.0f32)?, device.zeros(2)?, device.full(2, 1.0f32)?);
    let (rate, n) = (0.5f32, 3);
    (&a * &b + 1.0).eval(&device)?;
    a.exp().eval(&device)?;
    let mask = a.gt(&b).eval(&device)?.into_output();
    a.gt(&b).eval(&device)?;
    a.cast::<f16>().eval(&device)?;
    mask.select(0.0, &a).eval(&device)?;
    let c = mask;
    device.map((&a, &b), |(a, b)| (a * b + 1.0, a.exp()))?;
    device.map((&c, &a, &b), |(c, a, b)| c.select(a, b))?;
    device.map_into((&a, &b), y, |(a, b)| a + b)?;
    device.update(a, &g, |a, g| a + g * rate)?;
    device.tabulate([n], || position(0))?;
    let (dtype, s, bytes) = (DType::F32, [1], &[0u8; 4]);
    let any = device.tensor_any(dtype, s, bytes)?;
    device.cast_any(&any, DType::F64, Overflow::Wrap)?;
    let _ = any.downcast::<f32>();
    Ok(())
}
