//! A tensor of candle is read by windlass where it lies; the product goes back into one.

use candle_core::{Storage, Tensor};
use std::error::Error;
use windlass::external::ForeignStream;
use windlass::tensor::Layout;
use windlass::{Device, Gemm, GpuRef};

/// The elements of a contiguous tensor of f32 in the memory of the CPU, as a buffer of a host device, without a copy.
fn lent(device: &Device, tensor: &Tensor) -> Result<GpuRef<f32>, Box<dyn Error>> {
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(memory) = &*storage else { return Err("the tensor is not in the memory of the CPU".into()) };
    let (start, end) = layout.contiguous_offsets().ok_or("the tensor is not contiguous: call `contiguous`")?;
    let elements = memory.as_slice::<f32>()?.get(start..end).ok_or("a layout beyond its storage")?;
    let (at, len) = (elements.as_ptr().cast_mut(), elements.len());
    // SAFETY: the clone of the tensor keeps its storage, and nobody writes a tensor that is no variable; `share` leaves it to be read.
    Ok(unsafe { device.adopt(at, len, tensor.clone(), ForeignStream::Idle) }?.share())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::host()?;
    let theirs = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], (3, 2), &candle_core::Device::Cpu)?;
    let before = device.stats();
    let a = lent(&device, &theirs)?;
    let now = device.stats();
    assert_eq!((now.bytes_up, now.bytes_used), (before.bytes_up, before.bytes_used), "nothing was copied");
    let a = a.view(Layout::rows(3, 2))?;
    let c = device.blas().gemm(Gemm::new(), a.transpose(), &a, device.uninit([2, 2])?)?;
    let c = Tensor::from_vec(device.to_vec(&c)?, (2, 2), &candle_core::Device::Cpu)?;
    assert_eq!(c.to_vec2::<f32>()?, theirs.t()?.matmul(&theirs)?.to_vec2::<f32>()?);
    // A part of a tensor begins behind the beginning of its storage.
    let rows = lent(&device, &theirs.narrow(0, 1, 2)?)?;
    assert_eq!(device.to_vec(&rows)?, [3.0, 4.0, 5.0, 6.0]);
    println!("{}: a product of a tensor of candle, and back", device.name());
    Ok(())
}
