//! One step in time, on a GPU and on the CPU.

use windlass::nvrtc::{Image, LaunchConfig, Out, Read, Source, TypedKernel};
use windlass::{Device, DeviceBuffer, Error, Result, Submitted};

const SOURCE: &str = r#"
extern "C" __global__ void heat_step(const float* now, float* next, unsigned width, unsigned height, float rate) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    size_t i = (size_t)y * width + x;
    float here = now[i];
    float left = x > 0 ? now[i - 1] : here, right = x + 1 < width ? now[i + 1] : here;
    float above = y > 0 ? now[i - width] : here, below = y + 1 < height ? now[i + width] : here;
    next[i] = here + rate * (left + right + above + below - 4.0f * here);
}"#;

type Signature = (Read<f32>, Out<f32>, u32, u32, f32);

/// At most a quarter, or the steps are too large to be stable.
const RATE: f32 = 0.2;

/// The kernel, for plates of one size.
pub(crate) struct Step {
    kernel: TypedKernel<Signature>,
    config: LaunchConfig,
    size: (u32, u32),
}

impl Step {
    pub(crate) fn new(device: &Device, width: u32, height: u32) -> Result<Self> {
        // Without NVRTC it is what that made before.
        let image = match device.nvrtc().compile(&Source::new(SOURCE).name("heat2d.cu")) {
            Err(Error::LibraryMissing { .. }) => Image::ptx(include_str!("step.ptx"))?,
            compiled => compiled?,
        };
        let kernel = device.nvrtc().load(&image)?.kernel("heat_step")?;
        // SAFETY: these are its parameters; it stays inside `width * height` elements, which the check says both buffers
        // have; and it writes each of them, because the check says that the grid covers the plate.
        let kernel = unsafe {
            kernel.typed_if::<Signature>(|config, (now, next, width, height, _)| {
                let cells = (width as usize).checked_mul(height as usize);
                let (grid, block) = (config.grid(), config.block());
                let wide = |blocks: u32, threads: u32| u64::from(blocks) * u64::from(threads);
                let covers = wide(grid.x, block.x) >= width.into() && wide(grid.y, block.y) >= height.into();
                if Some(now) == cells && Some(next) == cells && covers {
                    return Ok(());
                }
                Err(Error::invalid("now", format!("{now} and {next} cells for a plate of {width} x {height}")))
            })
        }?;
        let config = LaunchConfig::new((width.div_ceil(32), height.div_ceil(8)), (32, 8));
        Ok(Step { kernel, config, size: (width, height) })
    }

    /// `next` becomes `now`, a step later.
    pub(crate) fn submit(&self, now: &DeviceBuffer<f32>, next: DeviceBuffer<f32>) -> Submitted<DeviceBuffer<f32>> {
        let (width, height) = self.size;
        self.kernel.launch(self.config, (now, next, width, height, RATE))
    }
}
