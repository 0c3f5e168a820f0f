//! The shortest program that computes on a device: two matrices go up, their product comes down.
//!
//! ```text
//! cargo run --release -p windlass --example hello
//! ```

use windlass::{Device, Gemm, Result};

fn main() -> Result<()> {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    let device = Device::from_env()?; // the first healthy GPU, else the CPU
    let a = device.buffer(vec![1.0f64, 4.0, 2.0, 5.0, 3.0, 6.0])?; // 2 x 3, column by column
    let b = device.buffer(vec![7.0f64, 8.0, 9.0, 10.0, 11.0, 12.0])?; // 3 x 2
    let c = device.zeros::<f64>(4)?; // 2 x 2
    let c = device.blas().gemm(Gemm::new(2, 2, 3), &a, &b, c)?; // does not wait
    let c = device.to_vec(&c)?; // waits
    println!("on {}: {c:?}", device.name());
    assert_eq!(c, [50.0, 122.0, 68.0, 167.0]);
    Ok(())
}
