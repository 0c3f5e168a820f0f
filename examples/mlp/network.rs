//! Three layers: GELU, ReLU, linear. Rows are points.

use windlass::blaslt::{Epilogue, Operands};
use windlass::{BlasLt, Device, Matmul, PendingDispatch, Result, Tensor, TensorRef, Verdict};

pub(crate) const INPUTS: usize = 2;
pub(crate) const HIDDEN: usize = 64;
pub(crate) const OUTPUTS: usize = 8;

/// What is to be learnt: points and the values there, a row for each.
pub(crate) struct Batch {
    points: Tensor<f32>,
    targets: Tensor<f32>,
    count: usize,
}

impl Batch {
    pub(crate) fn new(device: &Device, points: &[f32], targets: &[f32]) -> Result<Self> {
        let count = points.len() / INPUTS;
        let (points, targets) = (device.tensor([count, INPUTS], points)?, device.tensor([count, OUTPUTS], targets)?);
        Ok(Batch { points, targets, count })
    }
}

/// The parameters of a layer, `y = x * weights + bias`. They are moved through the operations that update them.
struct Layer {
    weights: Tensor<f32>,
    bias: Tensor<f32>,
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
        let weights = device.tensor([inputs, outputs], (0..outputs * inputs).map(|_| next()).collect::<Vec<_>>())?;
        let bias = device.tensor([outputs], (0..outputs).map(|_| next() * 0.5).collect::<Vec<_>>())?;
        Ok(Layer { weights, bias })
    }

    /// `weights -= rate * input^T * gradient`.
    fn learn(self, lt: &BlasLt, rate: f32, gradient: &Tensor<f32>, input: TensorRef<'_, f32>) -> Result<Self> {
        let weights = lt.matmul(Matmul::new().alpha(-rate).beta(1.0), input.transpose(), gradient, self.weights)?;
        Ok(Layer { weights: weights.into_output(), ..self })
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
        let hidden = || device.uninit::<f32>([n, HIDDEN]);

        // Forward. What the gradients need comes out beside the activations.
        let operands = Operands::new(&batch.points, &first.weights);
        let epilogue = Epilogue::gelu_aux_bias(&first.bias);
        let (h1, pre) = lt.matmul_with(Matmul::new(), operands, epilogue, hidden()?)?.into_output();

        let operands = Operands::new(&h1, &second.weights);
        let epilogue = Epilogue::relu_aux_bias(&second.bias);
        let (h2, mask) = lt.matmul_with(Matmul::new(), operands, epilogue, hidden()?)?.into_output();

        // The targets are the C of the last product: what comes out is the error, not the output.
        let operands = Operands::new(&h2, &third.weights).c(&batch.targets);
        let (spec, epilogue) = (Matmul::new().beta(-1.0), Epilogue::bias(&third.bias));
        let error = lt.matmul_with(spec, operands, epilogue, device.uninit([n, OUTPUTS])?)?.into_output();
        let loss = Loss { sum: device.blas().dot(&error, &error)?, values: OUTPUTS * n };

        // Backward: through the weights, times the derivative; the biases' gradients come out beside.
        let g3 = error;
        let operands = Operands::new(&g3, third.weights.transpose());
        let (g2, bias2) =
            lt.matmul_with(Matmul::new(), operands, Epilogue::drelu_bgrad(&mask), hidden()?)?.into_output();

        let operands = Operands::new(&g2, second.weights.transpose());
        let (g1, bias1) =
            lt.matmul_with(Matmul::new(), operands, Epilogue::dgelu_bgrad(&pre), hidden()?)?.into_output();

        // The factor 2 and the mean are in the rate.
        let rate = 2.0 * rate / n as f32;
        let blas = device.blas();
        let mut first = first.learn(&lt, rate, &g1, batch.points.view())?;
        let mut second = second.learn(&lt, rate, &g2, h1.view())?;
        // The bias of the last layer has no activation to ride on: its gradient comes out beside that of the weights.
        let (spec, operands) = (Matmul::new().alpha(-rate).beta(1.0), Operands::new(h2.transpose(), &g3));
        let (weights, bias3) = lt.matmul_with(spec, operands, Epilogue::bgrad_b(), third.weights)?.into_output();
        let bias = blas.axpy(-rate, &bias3, third.bias)?.into_output();
        let third = Layer { weights, bias };
        first.bias = blas.axpy(-rate, &bias1, first.bias)?.into_output();
        second.bias = blas.axpy(-rate, &bias2, second.bias)?.into_output();
        self.layers = Some([first, second, third]);
        Ok(loss)
    }
}
