//! Uses windlass beside `cudarc` with the bindings of CUDA 12.6: on the first GPU, else on the CPU.

use windlass::{Device, Gemm};

fn main() -> Result<(), windlass::Error> {
    let device = Device::from_env()?;
    let a = device.tensor([2, 2], [1.0f64, 2.0, 3.0, 4.0])?;
    let c = device.blas().gemm(Gemm::new(), &a, &a, device.uninit([2, 2])?)?;
    assert_eq!(device.download(&c)?.await_result()?, [7.0, 10.0, 15.0, 22.0]);
    // The type is that of the bindings which this program has chosen, and windlass's CUDA engine is built with them.
    let success = cudarc::driver::sys::CUresult::CUDA_SUCCESS;
    println!("{}: a product, beside cudarc's bindings of CUDA 12.6 ({})", device.name(), success as u32);
    Ok(())
}
