//! Three layers: GELU, ReLU, linear. Columns are points.

use windlass::blaslt::{Epilogue, Operands};
use windlass::{BlasLt, Device, DeviceBuffer, GpuRef, Matmul, PendingDispatch, Result, Transpose, Verdict};

pub(crate) const INPUTS: usize = 2;
pub(crate) const HIDDEN: usize = 64;
pub(crate) const OUTPUTS: usize = 8;

/// What is to be learnt: points and the values there, a column for each.
pub(crate) struct Batch {
    points: GpuRef<f32>,
    targets: GpuRef<f32>,
    /// A one for each point: a product with them sums over the points.
    ones: GpuRef<f32>,
    count: usize,
}

impl Batch {
    pub(crate) fn new(device: &Device, points: &[f32], targets: &[f32]) -> Result<Self> {
        let count = points.len() / INPUTS;
        let share = |data: &[f32]| -> Result<_> { Ok(device.buffer(data)?.share()) };
        Ok(Batch { points: share(points)?, targets: share(targets)?, ones: share(&vec![1.0; count])?, count })
    }
}

/// The parameters of a layer. They are moved through the operations that update them.
struct Layer {
    weights: DeviceBuffer<f32>,
    bias: DeviceBuffer<f32>,
    outputs: usize,
    inputs: usize,
}

impl Layer {
    /// Weights evenly spread, so that what goes through keeps its size.
    fn new(device: &Device, outputs: usize, inputs: usize, seed: u64) -> Result<Self> {
        let mut state = seed;
        let reach = (3.0 / inputs as f32).sqrt();
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32 / (1u64 << 23) as f32 - 1.0) * reach
        };
        let weights = device.upload((0..outputs * inputs).map(|_| next()).collect::<Vec<_>>())?;
        let bias = device.upload((0..outputs).map(|_| next() * 0.5).collect::<Vec<_>>())?;
        Ok(Layer { weights: weights.into(), bias: bias.into(), outputs, inputs })
    }

    /// The product of the forward direction.
    fn forward(&self, points: usize) -> Matmul {
        Matmul::new(self.outputs, points, self.inputs)
    }

    /// The product that takes a gradient back through the weights.
    fn backward(&self, points: usize) -> Matmul {
        Matmul::new(self.inputs, points, self.outputs).trans_a(Transpose::Yes)
    }

    /// `weights -= rate * gradient * input^T`.
    fn learn(self, lt: &BlasLt, rate: f32, gradient: &GpuRef<f32>, input: &GpuRef<f32>, points: usize) -> Result<Self> {
        let spec = Matmul::new(self.outputs, self.inputs, points).trans_b(Transpose::Yes).alpha(-rate).beta(1.0);
        let weights = lt.matmul(spec, gradient, input, self.weights)?;
        Ok(Layer { weights: weights.into(), ..self })
    }
}

/// The network, and the device it lives on.
pub(crate) struct Network {
    device: Device,
    /// From the input to the output.
    layers: Option<[Layer; 3]>,
}

/// The mean squared error of a step, on its way.
pub(crate) struct Loss {
    sum: PendingDispatch<f32, Verdict>,
    values: usize,
}

impl Loss {
    /// Waits for it.
    pub(crate) fn value(self) -> Result<f32> {
        Ok(self.sum.await_result()? / self.values as f32)
    }
}

impl Network {
    pub(crate) fn new(device: &Device) -> Result<Self> {
        let layers = [
            Layer::new(device, HIDDEN, INPUTS, 1)?,
            Layer::new(device, HIDDEN, HIDDEN, 2)?,
            Layer::new(device, OUTPUTS, HIDDEN, 3)?,
        ];
        Ok(Network { device: device.clone(), layers: Some(layers) })
    }

    /// One step of gradient descent over all points, and the error before it. Nothing here waits.
    pub(crate) fn step(&mut self, batch: &Batch, rate: f32) -> Result<Loss> {
        let (device, lt, n) = (&self.device, self.device.blas_lt(), batch.count);
        let Some([first, second, third]) = self.layers.take() else {
            return Err(windlass::Error::invalid("network", "an earlier step failed half-way"));
        };

        // Forward. What the gradients need comes out beside the activations.
        let spec = first.forward(n);
        let epilogue = Epilogue::gelu_aux_bias(device.uninit(spec.preactivation_len()?)?, &first.bias);
        let operands = Operands::new(&first.weights, &batch.points);
        let (h1, pre) = lt.matmul_with(spec, operands, epilogue, device.uninit(HIDDEN * n)?)?.each();
        let h1 = h1.share();

        let spec = second.forward(n);
        let epilogue = Epilogue::relu_aux_bias(device.uninit(spec.mask_len()?)?, &second.bias);
        let operands = Operands::new(&second.weights, &h1);
        let (h2, mask) = lt.matmul_with(spec, operands, epilogue, device.uninit(HIDDEN * n)?)?.each();
        let h2 = h2.share();

        // The targets are the C of the last product: what comes out is the error, not the output.
        let spec = third.forward(n).beta(-1.0);
        let operands = Operands::new(&third.weights, &h2).c(&batch.targets);
        let epilogue = Epilogue::bias(&third.bias);
        let error = lt.matmul_with(spec, operands, epilogue, device.uninit(OUTPUTS * n)?)?.share();
        let loss = Loss { sum: device.blas().dot(&error, &error)?, values: OUTPUTS * n };

        // Backward: through the weights, times the derivative; the biases' gradients come out beside.
        let g3 = error;
        let operands = Operands::new(&third.weights, &g3);
        let epilogue = Epilogue::drelu_bgrad(&mask, device.uninit(HIDDEN)?);
        let d = device.uninit(HIDDEN * n)?;
        let (g2, bias2) = lt.matmul_with(third.backward(n), operands, epilogue, d)?.each();
        let g2 = g2.share();

        let operands = Operands::new(&second.weights, &g2);
        let epilogue = Epilogue::dgelu_bgrad(&pre, device.uninit(HIDDEN)?);
        let d = device.uninit(HIDDEN * n)?;
        let (g1, bias1) = lt.matmul_with(second.backward(n), operands, epilogue, d)?.each();
        let g1 = g1.share();

        // The factor 2 and the mean are in the rate.
        let rate = 2.0 * rate / n as f32;
        let blas = device.blas();
        let mut first = first.learn(&lt, rate, &g1, &batch.points, n)?;
        let mut second = second.learn(&lt, rate, &g2, &h1, n)?;
        let mut third = third.learn(&lt, rate, &g3, &h2, n)?;
        first.bias = blas.axpy(-rate, &bias1, first.bias)?.into();
        second.bias = blas.axpy(-rate, &bias2, second.bias)?.into();
        let sum = Matmul::new(OUTPUTS, 1, n).alpha(-rate).beta(1.0);
        third.bias = lt.matmul(sum, &g3, &batch.ones, third.bias)?.into();
        self.layers = Some([first, second, third]);
        Ok(loss)
    }
}
