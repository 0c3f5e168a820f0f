//! Draws into tensors: what is filled lies row by row, without gaps.

use super::case::{Case, small};
use windlass::Device;
use windlass::rng::Uniform;

const DENSE: &str = "is not row-major without gaps; `contiguous` makes a copy";

/// The numbers that a draw gives on the CPU.
fn drawn(count: usize) -> Vec<f64> {
    let device = Device::host().unwrap();
    device.to_vec(device.rng(3).uniform::<f64>([count]).unwrap()).unwrap()
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "fill of a vector",
        operands: "-> out:n",
        element: small,
        call: |device, laid| {
            let x = device.rng(3).fill(Uniform::above_zero(), laid[0].tensor(device))?.into_output();
            device.to_vec(x.buffer())
        },
        loops: |all| drawn(all[0].elements.len()),
        refused: &[("out: strided flipped", DENSE)],
    },
    Case {
        name: "fill_from of matrices",
        operands: "-> out:bmn",
        element: small,
        call: |device, laid| {
            let x = device.rng(3).fill_from(0, Uniform::above_zero(), laid[0].tensor(device))?.into_output();
            device.to_vec(x.buffer())
        },
        loops: |all| drawn(all[0].elements.len()),
        refused: &[("out: column-major transposed strided flipped offset", DENSE)],
    },
];
