//! Tensors: made, viewed, copied, printed. What a layout says is compared with a list of indices in the library's own tests;
//! here it is what devices do with it.

mod any;
mod assign;
mod fronts;
mod handles;
mod in_flight;
mod matmul;
mod parts;
mod refusals;
mod shown;
mod strided;
mod views;

use windlass::{Device, Element, TensorRef};

/// The elements of a view, the last axis fastest, by its extents and strides over the elements of its buffer.
pub(super) fn spelled<T: Element>(device: &Device, x: &TensorRef<'_, T>) -> Vec<T> {
    let all = device.download(x.buffer()).unwrap().await_result().unwrap();
    places(x).into_iter().map(|place| all[place]).collect()
}

/// Where the elements of a view are in its buffer, the last axis fastest.
pub(super) fn places<T: Element>(x: &TensorRef<'_, T>) -> Vec<usize> {
    let layout = x.layout();
    let mut all = vec![layout.offset() as isize];
    for (n, stride) in layout.shape().iter().zip(layout.strides()) {
        all = all.iter().flat_map(|at| (0..*n as isize).map(move |i| at + i * stride)).collect();
    }
    all.into_iter().map(|at| usize::try_from(at).unwrap()).collect()
}

/// A random view of a tensor.
pub(super) fn view<'a, T: Element>(rng: &mut crate::common::Rng, x: &TensorRef<'a, T>) -> TensorRef<'a, T> {
    use windlass::tensor::AxisSlice;
    let mut x = x.clone();
    for _ in 0..rng.below(5) {
        let rank = x.rank();
        if rank == 0 {
            break;
        }
        let axis = rng.below(rank) as isize;
        let n = x.shape()[axis as usize];
        x = match rng.below(7) {
            0 => {
                let from = rng.below(n + 1);
                let to = from + rng.below(n + 1 - from);
                let step = [1, 2, 3, -1, -2][rng.below(5)];
                let mut slices = vec![AxisSlice::from(..); axis as usize];
                slices.push(AxisSlice::from(from..to).step(step));
                x.slice(slices).unwrap()
            }
            1 if n > 0 => x.index(axis, rng.below(n) as isize).unwrap(),
            2 => x.transpose(),
            3 => x.swap_axes(axis, rng.below(rank) as isize).unwrap(),
            4 => x.flip(axis).unwrap(),
            5 if rank > 1 => x.diagonal(0, axis, (axis + 1) % rank as isize).unwrap(),
            6 if n > 1 => x.windows(axis, 1 + rng.below(n), 1 + rng.below(2)).unwrap(),
            _ => x.unsqueeze(axis).unwrap(),
        };
    }
    x
}
