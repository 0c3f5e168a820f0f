//! Tensors in order: sorts and what is made of them.

mod against;
mod calculus;
mod chosen;
mod facts;
mod indices;
mod made;
mod more;
mod passes;
mod places;
mod sorts;
mod weights;

/// The elements in row-major order.
fn read<'a, T: windlass::Element>(
    device: &windlass::Device,
    x: impl windlass::tensor::ReadableTensor<'a, T>,
) -> Vec<T> {
    device.download(x).unwrap().await_result().unwrap()
}
