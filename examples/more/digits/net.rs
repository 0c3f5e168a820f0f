//! The network: two convolutions with pooling, and one whose window is the whole picture; and how it learns.

use windlass::dnn::{Convolution, Fused, LabelLoss, LossReduction, Pool};
use windlass::rng::Normal;
use windlass::{Device, PendingDispatch, Result, Rng, Tensor, TensorRef, Verdict};

const RATE: f32 = 0.05;
/// How much of the last step each step has.
const MOMENTUM: f32 = 0.9;

/// Weights or biases, and their last step.
struct Parameter {
    value: Tensor<f32>,
    step: Tensor<f32>,
}

impl Parameter {
    fn new(device: &Device, value: Tensor<f32>) -> Result<Self> {
        let step = device.zeros(value.shape())?;
        Ok(Parameter { value, step })
    }

    /// Moves against the gradient: both are updated in place, by one kernel.
    fn learn(self, device: &Device, gradient: &Tensor<f32>) -> Result<Self> {
        let moved = device.update((self.value, self.step), gradient, |(value, step), gradient| {
            let step = step * MOMENTUM - gradient * RATE;
            (value + step, step)
        });
        let (value, step) = moved?.into_output();
        Ok(Parameter { value, step })
    }
}

/// A convolution with its filters and biases.
struct Layer {
    conv: Convolution,
    w: Parameter,
    b: Parameter,
}

impl Layer {
    /// Filters that keep the size of what goes through.
    fn new(device: &Device, rng: &mut Rng, conv: Convolution, extents: [usize; 4]) -> Result<Self> {
        let [filters, inputs @ ..] = extents;
        let normal = rng.draw::<f32>(Normal::standard(), extents)?;
        let scale = (2.0 / inputs.iter().product::<usize>() as f32).sqrt();
        let w = Parameter::new(device, device.map(&normal, |x| x * scale)?.into())?;
        Ok(Layer { conv, w, b: Parameter::new(device, device.zeros([filters])?)? })
    }

    fn forward(&self, device: &Device, x: &TensorRef<'_, f32>, relu: bool) -> Result<PendingDispatch<Tensor<f32>>> {
        let after = Fused::new().bias(&self.b.value);
        let after = if relu { after.relu() } else { after };
        device.dnn().convolve_fused(&self.conv, x, &self.w.value, after)
    }

    /// The gradient of the input, by that of the result.
    fn backward(
        &self,
        device: &Device,
        dy: &TensorRef<'_, f32>,
        input: [usize; 2],
    ) -> Result<PendingDispatch<Tensor<f32>>> {
        device.dnn().convolve_data(&self.conv, dy, &self.w.value, input)
    }

    fn learn(self, device: &Device, x: &TensorRef<'_, f32>, dy: &TensorRef<'_, f32>) -> Result<Self> {
        let window = self.w.value.shape().get(2..).unwrap_or_default().to_vec();
        let of_w = device.dnn().convolve_filter(&self.conv, x, dy, &window[..])?;
        let of_b = device.sum(dy, [0, 2, 3])?;
        Ok(Layer { conv: self.conv, w: self.w.learn(device, &of_w)?, b: self.b.learn(device, &of_b)? })
    }

    fn to(&self, from: &Device, to: &Device) -> Result<Self> {
        let moved = |parameter: &Parameter| {
            let all = from.download(&parameter.value)?.await_result()?;
            Parameter::new(to, to.tensor(parameter.value.shape(), all)?)
        };
        Ok(Layer { conv: self.conv.clone(), w: moved(&self.w)?, b: moved(&self.b)? })
    }
}

/// The network.
pub(crate) struct Net {
    layers: [Layer; 3],
    pool: Pool,
}

impl Net {
    pub(crate) fn new(device: &Device, seed: u64) -> Result<Self> {
        let mut rng = device.rng(seed);
        // The same bits each time, on every device.
        let conv = || Convolution::new().deterministic(true);
        let layers = [
            Layer::new(device, &mut rng, conv().padding(1), [8, 1, 3, 3])?,
            Layer::new(device, &mut rng, conv().padding(1), [16, 8, 3, 3])?,
            Layer::new(device, &mut rng, conv(), [10, 16, 4, 4])?,
        ];
        Ok(Net { layers, pool: Pool::new([2, 2]) })
    }

    /// One step of training; returns the loss, whose wait also says whether all labels were digits.
    pub(crate) fn step(
        self,
        device: &Device,
        x: &TensorRef<'_, f32>,
        labels: &TensorRef<'_, i64>,
    ) -> Result<(Self, PendingDispatch<Tensor<f32>, Verdict>)> {
        let (dnn, pool, [one, two, three]) = (device.dnn(), self.pool, self.layers);
        // Forward: the results of the convolutions, and where each maximum was.
        let h1 = one.forward(device, x, true)?;
        let (p1, places1) = dnn.max_pool_places(&h1, &pool)?.each();
        let h2 = two.forward(device, &p1.view(), true)?;
        let (p2, places2) = dnn.max_pool_places(&h2, &pool)?.each();
        let scores = three.forward(device, &p2.view(), false)?;
        let batch = labels.shape().first().copied().unwrap_or(0);
        let scores = scores.reshape([batch, 10])?;
        let mean = LabelLoss::new(LossReduction::Mean);
        let loss = dnn.cross_entropy(&scores, labels, &mean)?;

        // Backward: a gradient passes where the clipping at zero let something through.
        let clipped = |h: &Tensor<f32>, dy: PendingDispatch<Tensor<f32>>| {
            device.map((h, dy), |(h, dy)| h.gt(0.0).select(dy, 0.0))
        };
        let whole = device.tensor([], [1.0f32])?;
        let g3 = dnn.cross_entropy_gradient(&scores, labels, &whole, &mean)?;
        let g3 = g3.reshape([batch, 10, 1, 1])?;
        let back = three.backward(device, &g3, [4, 4])?;
        let g2 = clipped(&h2, dnn.max_pool_gradient(&back, &places2, h2.shape(), &pool)?)?;
        let back = two.backward(device, &g2.view(), [8, 8])?;
        let g1 = clipped(&h1, dnn.max_pool_gradient(&back, &places1, h1.shape(), &pool)?)?;

        let layers = [
            one.learn(device, x, &g1.view())?,
            two.learn(device, &p1.view(), &g2.view())?,
            three.learn(device, &p2.view(), &g3)?,
        ];
        Ok((Net { layers, pool }, loss))
    }

    /// The digits that pictures show.
    pub(crate) fn read(&self, device: &Device, x: &Tensor<f32>) -> Result<PendingDispatch<Tensor<i64>>> {
        let [one, two, three] = &self.layers;
        let dnn = device.dnn();
        let p1 = dnn.max_pool(&one.forward(device, &x.view(), true)?, &self.pool)?;
        let p2 = dnn.max_pool(&two.forward(device, &p1.view(), true)?, &self.pool)?;
        let scores = three.forward(device, &p2.view(), false)?;
        device.argmax(&scores.reshape([x.shape().first().copied().unwrap_or(0), 10])?, 1)
    }

    /// The same network on another device.
    pub(crate) fn to(&self, from: &Device, to: &Device) -> Result<Self> {
        let [one, two, three] = &self.layers;
        Ok(Net { layers: [one.to(from, to)?, two.to(from, to)?, three.to(from, to)?], pool: self.pool.clone() })
    }
}
