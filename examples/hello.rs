//! The shortest program that computes on a device: two matrices go up, their product comes down.
//!
//! ```text
//! cargo run --release -p windlass --example hello
//! ```

use windlass::{Device, Gemm, Result};

fn main() -> Result<()> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let device = Device::from_env()?; // the first healthy GPU, else the CPU
    let a = device.tensor([2, 3], [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let b = device.tensor([3, 2], [7.0f64, 10.0, 8.0, 11.0, 9.0, 12.0])?;
    let c = device.uninit([2, 2])?;
    let c = device.blas().gemm(Gemm::new(), &a, &b, c)?; // does not wait
    let c = device.to_vec(&c)?; // waits
    println!("on {}: {c:?}", device.name());
    assert_eq!(c, [50.0, 68.0, 122.0, 167.0]);
    Ok(())
}
