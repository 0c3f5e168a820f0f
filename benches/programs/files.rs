//! Arrays in from a `.npy` and a `.npz` file, out to a `.safetensors` and a `.npz` file, and in again.

use windlass::npy::{Npz, NpzWriter};
use windlass::reductions::All;
use windlass::safetensors::{Safetensors, SafetensorsWriter};
use windlass::{Device, Element, Error, Result, Tensor, tensor::AnyTensor};

fn typed<T: Element>(x: AnyTensor) -> Result<Tensor<T>> {
    x.downcast().map_err(|x| Error::invalid("file", format!("elements of {}", x.dtype())))
}

pub(crate) fn main() -> Result<()> {
    let device = Device::from_env()?;
    let x: Tensor<f32> = typed(device.load_npy("image.npy")?)?;
    let mut model = Npz::open("model.npz")?;
    let (w, b): (Tensor<f32>, Tensor<f32>) = (typed(model.read(&device, "w")?)?, typed(model.read(&device, "b")?)?);
    let y = (&device.tensor_ops().matmul(&x, &w)? + &b).eval(&device)?;
    let turned = w.transpose();
    SafetensorsWriter::new()
        .add("w", &turned)
        .add("y", &y)
        .about("made by", "windlass")
        .save(&device, "out.safetensors")?;

    let mut file = Safetensors::open("out.safetensors")?;
    let (w, y): (Tensor<f32>, Tensor<f32>) = (typed(file.read(&device, "w")?)?, typed(file.read(&device, "y")?)?);
    let mut archive = NpzWriter::create("out.npz")?.compressed();
    archive.add(&device, "y", &y)?;
    archive.add(&device, "places", &device.argmax(&y, 1)?)?;
    archive.finish()?;
    let places: Tensor<i64> = typed(Npz::open("out.npz")?.read(&device, "places")?)?;
    let sums = (device.sum(&w, All)?, device.sum(&y, All)?);
    println!("files {:?} {} {} {:?}", w.shape(), device.item(&sums.0)?, device.item(&sums.1)?, device.to_vec(&places)?);
    Ok(())
}
