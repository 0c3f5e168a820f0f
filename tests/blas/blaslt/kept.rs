//! What a product keeps, made of what it shall be, and looked at: it is opaque, so both are products.

use super::case::{Lay, Num};
use crate::common::{down, up};
use windlass::blaslt::{Auto, Epilogue, Kept, MatmulElement, MatmulTypes, Operands};
use windlass::{Device, Element, Matmul, Tensor};

/// A factor of numbers that lie row by row.
fn rows<T: Element>(device: &Device, lay: &Lay, [rows, columns]: [usize; 2], x: Vec<T>) -> Tensor<T> {
    let extents = if lay.batch == 1 { vec![rows, columns] } else { vec![lay.batch, rows, columns] };
    Tensor::from_buffer(up(device, x), extents).unwrap()
}

/// A D that lies so.
fn like<T: Element>(device: &Device, lay: &Lay) -> Tensor<T> {
    device.zeros(lay.len()).unwrap().with_layout(lay.layout()).unwrap()
}

fn one<T: Num>(device: &Device, n: usize) -> Tensor<T> {
    let one = (0..n * n).map(|at| T::of(if at % (n + 1) == 0 { 1.0 } else { 0.0 })).collect::<Vec<_>>();
    Tensor::from_buffer(up(device, one), [n, n]).unwrap()
}

/// A product of ones.
fn ones<T: Num>(device: &Device, lay: &Lay) -> [Tensor<T>; 2] {
    let ones = |shape: [usize; 2]| rows(device, lay, shape, vec![T::of(1.0); lay.batch * shape[0] * shape[1]]);
    [ones([lay.rows, 1]), ones([1, lay.columns])]
}

/// The mask of these bits, row by row.
pub fn mask(device: &Device, lay: &Lay, bits: &[bool]) -> Kept<u8> {
    let x = bits.iter().map(|bit| if *bit { 1.0f32 } else { -1.0 }).collect();
    let (x, one) = (rows(device, lay, [lay.rows, lay.columns], x), one::<f32>(device, lay.columns));
    let (operands, d) = (Operands::new(&x, &one), like::<f32>(device, lay));
    let pending = device.blas_lt().matmul_with(Matmul::new(), operands, Epilogue::relu_aux(), d).unwrap();
    pending.await_result().unwrap().1
}

/// The bits of a mask.
pub fn bits(device: &Device, lay: &Lay, mask: &Kept<u8>) -> Vec<bool> {
    let [a, b] = ones::<f32>(device, lay);
    let (operands, d) = (Operands::new(&a, &b), like::<f32>(device, lay));
    let pending = device.blas_lt().matmul_with(Matmul::new(), operands, Epilogue::drelu(mask), d).unwrap();
    down(device, &pending.await_result().unwrap()).into_iter().map(|x| x == 1.0).collect()
}

pub fn gelu<T>(device: &Device, lay: &Lay, x: &[T]) -> Kept<T>
where
    T: Num + MatmulElement<T, T, Auto, Types: MatmulTypes<A = T, B = T, C = T, D = T, Aux = T, Scalar: Num>>,
{
    let (x, one) = (rows(device, lay, [lay.rows, lay.columns], x.to_vec()), one::<T>(device, lay.columns));
    let (operands, d) = (Operands::new(&x, &one), like::<T>(device, lay));
    let pending = device.blas_lt().matmul_with(Matmul::new(), operands, Epilogue::gelu_aux(), d).unwrap();
    pending.await_result().unwrap().1
}

pub fn slopes<T>(device: &Device, lay: &Lay, kept: &Kept<T>) -> Vec<T>
where
    T: Num + MatmulElement<T, T, Auto, Types: MatmulTypes<A = T, B = T, C = T, D = T, Aux = T, Scalar: Num>>,
{
    let [a, b] = ones::<T>(device, lay);
    let (operands, d) = (Operands::new(&a, &b), like::<T>(device, lay));
    let pending = device.blas_lt().matmul_with(Matmul::new(), operands, Epilogue::dgelu(kept), d).unwrap();
    down(device, &pending.await_result().unwrap())
}
