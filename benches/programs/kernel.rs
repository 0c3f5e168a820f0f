//! A kernel of one's own: the exponential moving average of each row, which no formula can say.

use windlass::expressions::position;
use windlass::nvrtc::{LaunchConfig, Out, Read, Source};
use windlass::reductions::All;
use windlass::{Device, Result, Tensor};

const ROWS: usize = 100;
const LENGTH: usize = 500;
const SOURCE: &str = r#"
extern "C" __global__ void ema(float a, const float* x, float* y, unsigned rows, unsigned n) {
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float last = 0;
    for (unsigned i = row * n; i < row * n + n; i++) y[i] = last = a * x[i] + (1 - a) * last;
}
"#;

pub(crate) fn main() -> Result<()> {
    let device = Device::from_env()?;
    let kernel = device.nvrtc().module(&Source::new(SOURCE))?.kernel("ema")?;
    // SAFETY: these are its parameters; it touches `rows * n` elements, which is the length of both buffers below.
    let kernel = unsafe { kernel.typed::<(f32, Read<f32>, Out<f32>, u32, u32)>() }?;
    let kernel = kernel.twin_fn(|at, (a, x, y, rows, n)| {
        let (row, n, mut last) = (at.x(), n as usize, 0.0);
        if row < rows as usize {
            for i in row * n..row * n + n {
                last = a * x.get(i) + (1.0 - a) * last;
                y.set(i, last);
            }
        }
    })?;
    let numbers = || ((position(0) * 7919 + position(1) * 104_729) % 1000).cast::<f32>() / 1000.0;
    let x = device.tabulate([ROWS, LENGTH], numbers)?;
    let out = device.uninit(ROWS * LENGTH)?;
    let launch = LaunchConfig::for_elements(ROWS)?;
    let y = kernel.launch(launch, (0.1, x.buffer(), out, ROWS as u32, LENGTH as u32))?;
    let y = Tensor::from_buffer(y.into(), [ROWS, LENGTH])?;
    let mean = device.item(&device.mean(&y, All)?)?;
    println!("kernel {mean} {:?}", device.to_vec(y.slice((..5, -1))?)?);
    Ok(())
}
