//! `y = a * x + y` by a kernel of one's own, compiled when the program runs; on the CPU too, where every access is checked.
//!
//! ```text
//! cargo run --release -p windlass --features nvrtc --example saxpy
//! WINDLASS_DEVICE=host cargo run --release -p windlass --features nvrtc --example saxpy
//! ```

use windlass::nvrtc::{Image, LaunchConfig, Len, Read, Source, Write};
use windlass::{Device, Error, Result};

const SOURCE: &str = r#"extern "C" __global__ void saxpy(float a, const float* x, float* y, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}"#;

fn main() -> Result<()> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let (device, n) = (Device::from_env()?, 1 << 20);
    // Without NVRTC it is what that made before.
    let image = match device.nvrtc().compile(&Source::new(SOURCE)) {
        Err(Error::LibraryMissing { .. }) => Image::ptx(include_str!("saxpy.ptx"))?,
        compiled => compiled?,
    };
    let saxpy = device.nvrtc().load(&image)?.kernel("saxpy")?;
    // SAFETY: these are its parameters, and it touches nothing past `n`, which is the length of both buffers.
    let saxpy = unsafe { saxpy.typed::<(f32, Read<f32>, Write<f32>, Len)>() }?;
    let x = device.buffer(vec![1.0f32; n])?;
    let y = device.buffer((0..n).map(|i| i as f32).collect::<Vec<_>>())?;
    let y = saxpy.launch(LaunchConfig::for_elements(n)?, (2.0, &x, y, Len))?.await_result()?;
    let y = device.to_vec(&y)?;
    assert!(y.iter().enumerate().all(|(i, y)| *y == i as f32 + 2.0));
    println!("{n} elements on {}: {:?} ...", device.name(), y.get(..3).unwrap_or_default());
    Ok(())
}
