//! What a network uses must work on a GPU: here nothing may be refused.

use super::case::{Factor, Kind, Num, Plan};
use super::check::check;
use crate::common::{devices, down, rows, seeds, up};
use windlass::{F8E4M3, Matmul, bf16, f16};

fn all_done<A, B, C, D>(kinds: &[Kind])
where
    A: Factor<B, C, D>,
    B: Num,
    C: Num,
    D: Num,
{
    for device in devices() {
        for kind in kinds {
            seeds(4, |rng, _| {
                let mut plan = Plan::usual(rng, *kind);
                if C::DTYPE != D::DTYPE {
                    plan.beta = 0.0;
                }
                assert!(check::<A, B, C, D>(&device, &plan, rng, false));
            });
        }
    }
}

/// Forward and backward of a layer in halves.
const NETWORK: [Kind; 12] = [
    Kind::None,
    Kind::Bias,
    Kind::Relu,
    Kind::ReluBias,
    Kind::ReluAux,
    Kind::ReluAuxBias,
    Kind::Gelu,
    Kind::GeluBias,
    Kind::GeluAux,
    Kind::GeluAuxBias,
    Kind::DReluBgrad,
    Kind::DGeluBgrad,
];

#[test]
fn layers_of_f16_are_done() {
    all_done::<f16, f16, f16, f16>(&NETWORK);
}

#[test]
fn layers_of_bf16_are_done() {
    all_done::<bf16, bf16, bf16, bf16>(&NETWORK);
}

/// What the example `mlp` uses.
#[test]
fn layers_of_f32_are_done() {
    all_done::<f32, f32, f32, f32>(&[
        Kind::None,
        Kind::Bias,
        Kind::ReluAuxBias,
        Kind::GeluAuxBias,
        Kind::DReluBgrad,
        Kind::DGeluBgrad,
    ]);
}

#[test]
fn layers_of_8_bit_floats_are_done() {
    all_done::<F8E4M3, F8E4M3, bf16, bf16>(&[Kind::None, Kind::Bias]);
    all_done::<F8E4M3, F8E4M3, bf16, F8E4M3>(&[Kind::None, Kind::Bias]);
}

/// A row-major layer, `y = x * w^T`: what the library wants of 8-bit floats, once it is turned into column order.
#[test]
fn row_major_layers_of_8_bit_floats_are_done() {
    for device in devices() {
        let (points, outputs, inputs) = (32, 16, 48);
        let (x, w) =
            (up(&device, vec![F8E4M3::ONE; points * inputs]), up(&device, vec![F8E4M3::ONE; outputs * inputs]));
        let (x, w) = (rows(&x, points, inputs), rows(&w, outputs, inputs));
        let y = device.uninit::<bf16>([points, outputs]).unwrap();
        let y = device.blas_lt().matmul(Matmul::new(), x, w.transpose(), y).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &y), vec![bf16::from_f32(inputs as f32); points * outputs]);
    }
}
