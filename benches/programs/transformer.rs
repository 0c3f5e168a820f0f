//! A block of a transformer: causal attention of four heads, then two layers, each behind a norm.

use windlass::dnn::{Affine, Attention, Corner, NormKind};
use windlass::expressions::position;
use windlass::reductions::{All, Max};
use windlass::{Device, PendingDispatch, Result, Tensor};

const BATCH: usize = 2;
const TIME: usize = 16;
const HEADS: usize = 4;
const WIDTH: usize = 64;

fn numbers(device: &Device, shape: &[usize], scale: f32) -> Result<PendingDispatch<Tensor<f32>>> {
    let n = shape.iter().product();
    let place = device.tabulate([n], || (((position(0) * 7919) % 1009).cast::<f32>() / 1009.0 - 0.5) * scale)?;
    device.contiguous(place.reshape(shape)?)
}

pub(crate) fn main() -> Result<()> {
    let device = Device::from_env()?;
    let (dnn, ops) = (device.dnn(), device.tensor_ops());
    let x = numbers(&device, &[BATCH, TIME, WIDTH], 2.0)?;
    let (w_qkv, w_out) = (numbers(&device, &[WIDTH, 3 * WIDTH], 0.5)?, numbers(&device, &[WIDTH, WIDTH], 0.5)?);
    let (w_up, w_down) = (numbers(&device, &[WIDTH, 4 * WIDTH], 0.5)?, numbers(&device, &[4 * WIDTH, WIDTH], 0.5)?);
    let (gain, bias) = (device.full([WIDTH], 1.5f32)?, device.full([WIDTH], 0.1f32)?);
    let affine = Affine::new(&gain, &bias);

    let (h, _) = dnn.norm(&x, NormKind::Layer(1), 1e-5, &affine)?.each();
    let qkv = ops.matmul(&h, &w_qkv)?;
    let qkv = qkv.reshape([BATCH, TIME, 3, HEADS, WIDTH / HEADS])?.permute([2, 0, 3, 1, 4])?;
    let causal = Attention::new().causal(Corner::TopLeft);
    let heads = dnn.attend(&causal, qkv.index(0, 0)?, qkv.index(0, 1)?, qkv.index(0, 2)?)?;
    let heads = device.contiguous(heads.permute([0, 2, 1, 3])?)?;
    let mixed = ops.matmul(heads.reshape([BATCH, TIME, WIDTH])?, &w_out)?;
    let x = (&x + &mixed).eval(&device)?;
    let (h, _) = dnn.norm(&x, NormKind::Layer(1), 1e-5, &affine)?.each();
    let up = ops.matmul(&h, &w_up)?.gelu_tanh().eval(&device)?;
    let down = ops.matmul(&up, &w_down)?;
    let x = (&x + &down).eval(&device)?;
    let largest = device.reduce(&x, All, |x| x.abs(), Max)?;
    println!("transformer {} {:?}", device.item(&largest)?, device.to_vec(x.slice((1, 15, ..4))?)?);
    Ok(())
}
