//! A net with one hidden layer, trained with Adam; gradients and steps by hand.

use windlass::expressions::position;
use windlass::reductions::{All, Keep, Mean};
use windlass::tensor::ReadableTensor;
use windlass::{Device, Result, Tensor};

/// A parameter, and the running means of its gradient and of the square of that.
struct Parameter(Tensor<f64>, Tensor<f64>, Tensor<f64>);

impl Parameter {
    fn new(device: &Device, shape: [usize; 2]) -> Result<Self> {
        let start = || ((position(0) * 7919 + position(1) * 104_729) % 1000).cast::<f64>() / 1000.0 - 0.5;
        Ok(Parameter(device.tabulate(shape, start)?.into(), device.zeros(shape)?, device.zeros(shape)?))
    }

    fn learn<'a>(self, device: &Device, gradient: impl ReadableTensor<'a, f64>, step: i32) -> Result<Self> {
        let rate = 0.01 * (1.0 - 0.999f64.powi(step)).sqrt() / (1.0 - 0.9f64.powi(step));
        let state = device.update((self.0, self.1, self.2), &gradient.into(), |(w, m, v), g| {
            let (m, v) = (m * 0.9 + g * 0.1, v * 0.999 + g * g * 0.001);
            (w - m * rate / (v.sqrt() + 1e-8), m, v)
        })?;
        let (w, m, v) = state.into_output();
        Ok(Parameter(w, m, v))
    }
}

pub(crate) fn main() -> Result<()> {
    let device = Device::from_env()?;
    let x = device.tabulate([256, 2], || (position(0) * (position(1) * 36 + 1) % 256).cast::<f64>() / 128.0 - 1.0)?;
    let y = device.map((x.slice((.., ..1))?, x.slice((.., 1..))?), |(a, b)| (a * 3.0).sin() * b)?;
    let (mut w1, mut b1) = (Parameter::new(&device, [2, 32])?, Parameter::new(&device, [1, 32])?);
    let (mut w2, mut b2) = (Parameter::new(&device, [32, 1])?, Parameter::new(&device, [1, 1])?);
    let mut losses = Vec::new();
    for step in 1..=200 {
        let h = (device.matmul(&x, &w1.0)? + &b1.0).tanh().eval(&device)?;
        let out = (device.matmul(&h, &w2.0)? + &b2.0).eval(&device)?;
        losses.push(device.reduce((&out, &y), All, |(a, b)| (a - b) * (a - b), Mean)?);
        let g2 = ((&out - &y) * (2.0 / 256.0)).eval(&device)?;
        let back = device.matmul(&g2, w2.0.transpose())?;
        let g1 = device.map((&back, &h), |(g, h)| g * (1.0 - h * h))?;
        w1 = w1.learn(&device, device.matmul(x.transpose(), &g1)?, step)?;
        b1 = b1.learn(&device, device.sum(&g1, Keep(0))?, step)?;
        w2 = w2.learn(&device, device.matmul(h.transpose(), &g2)?, step)?;
        b2 = b2.learn(&device, device.sum(&g2, Keep(0))?, step)?;
    }
    let losses: Vec<_> = losses.into_iter().map(|loss| device.item(&loss)).collect::<Result<_>>()?;
    println!("adam {} {} {}", losses[0], losses[99], losses[199]);
    Ok(())
}
