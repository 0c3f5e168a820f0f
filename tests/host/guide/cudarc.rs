//! The rows of `src/guide/from_cudarc.md`. They need a GPU, and are compiled only.

use windlass::nvrtc::{Kernel, Source, Write};
use windlass::tensor::Layout;
use windlass::{Device, DeviceBuffer, Element, Gemm, GpuRef, Result};

pub(super) fn open() -> Result<()> {
    Device::cuda(0)?;
    Device::best()?;
    Ok(())
}

pub(super) fn data(device: &Device, v: Vec<f32>, n: usize) -> Result<()> {
    let x = device.buffer(&v)?;
    device.upload(&v)?;
    device.zeros::<f32>(n)?;
    device.to_vec(&x)?;
    let pending = device.upload([1.0f32])?;
    pending.await_result()?;
    Ok(())
}

pub(super) fn parts<T: Element>(buffer: DeviceBuffer<T>, shared: &GpuRef<T>, a: usize, b: usize) -> Result<()> {
    shared.slice(a..b)?;
    let buffer = buffer.narrow(a..b)?;
    buffer.split_at(a)?;
    Ok(())
}

pub(super) fn products(device: &Device, buffer: &DeviceBuffer<f32>, [m, n, k]: [usize; 3]) -> Result<()> {
    let (a, b, c) = (device.zeros::<f32>([m, k])?, device.zeros::<f32>([k, n])?, device.zeros::<f32>([m, n])?);
    let c = device.blas().gemm(Gemm::new(), &a, &b, c)?.into_output();
    let (alpha, beta, lda, count, stride) = (1.0, 0.0, m, 4, m * k);
    device.blas().gemm(Gemm::new().alpha(alpha).beta(beta), &a, &b, c)?;
    let view = buffer.view(Layout::columns(m, k).ld(lda))?;
    let _ = Layout::columns(m, k).batch(count, stride);
    view.transpose();
    Ok(())
}

pub(super) fn kernels(device: &Device, src: &str, kernel: Kernel) -> Result<()> {
    device.nvrtc().module(&Source::new(src))?;
    // SAFETY: it never runs.
    unsafe { kernel.typed::<(f32, Write<f32>)>() }?;
    Ok(())
}
