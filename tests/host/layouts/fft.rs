//! Transforms of tensors, against the definition.

use super::case::{Case, small};
use super::laid::{Array, each};
use std::f64::consts::TAU;
use windlass::{Complex, Device, Error, Result, Tensor};

/// What a transform says of a tensor that it cannot read.
const COPY: &str = "`contiguous` makes a copy that does not";
/// What it says of an axis without elements.
const NO_POINTS: &str = "0 points along";

fn pairs(device: &Device, y: &Tensor<Complex<f64>>) -> Result<Vec<f64>> {
    Ok(device.to_vec(y)?.into_iter().flat_map(|y| [y.re, y.im]).collect())
}

/// What an element of an operand stands for as a complex number: see `Laid::complex`.
fn complex(x: f64) -> Complex<f64> {
    Complex::new(x, x * 0.5)
}

/// The first `points` points of the spectrum of each line along the last of two axes, or along the first.
fn spectrum(x: &Array, axis: usize, points: usize, number: fn(f64) -> Complex<f64>) -> Vec<f64> {
    let n = x.extents[axis];
    let mut extents = x.extents.clone();
    extents[axis] = points;
    let mut all = Vec::new();
    each(&extents, |at| {
        let mut sum = Complex::new(0.0, 0.0);
        for t in 0..n {
            let mut place = at.to_vec();
            place[axis] = t;
            sum += number(x.at(&place)) * Complex::from_polar(1.0, -TAU * (t * at[axis]) as f64 / n as f64);
        }
        all.extend([sum.re, sum.im]);
        0.0
    });
    all
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "fft_tensor along the rows",
        operands: "x:mk",
        element: small,
        call: |device, laid| pairs(device, &device.fft().fft_tensor(&laid[0].complex(device), &[1])?.into_output()),
        loops: |all| spectrum(&all[0], 1, all[0].extents[1], complex),
        refused: &[("x: flipped broadcast", COPY), ("empty k", NO_POINTS)],
    },
    Case {
        name: "fft_tensor along the columns",
        operands: "x:mk",
        element: small,
        call: |device, laid| pairs(device, &device.fft().fft_tensor(&laid[0].complex(device), &[0])?.into_output()),
        loops: |all| spectrum(&all[0], 0, all[0].extents[0], complex),
        refused: &[("x: flipped broadcast", COPY), ("empty m", NO_POINTS)],
    },
    Case {
        name: "rfft_tensor",
        operands: "x:mk",
        element: small,
        call: |device, laid| pairs(device, &device.fft().rfft_tensor(&laid[0].tensor(device), &[1])?.into_output()),
        loops: |all| spectrum(&all[0], 1, all[0].extents[1] / 2 + 1, |x| Complex::new(x, 0.0)),
        refused: &[("x: flipped broadcast", COPY), ("empty k", NO_POINTS)],
    },
    Case {
        name: "irfft_tensor",
        operands: "x:mh",
        element: small,
        call: |device, laid| {
            let points = laid[0].layout.shape()[1];
            let n = (2 * points).checked_sub(1).ok_or_else(|| Error::invalid("n", NO_POINTS))?;
            device.to_vec(&device.fft().irfft_tensor(&laid[0].complex(device), n, &[1])?.into_output())
        },
        loops: |all| {
            let [m, points] = [all[0].extents[0], all[0].extents[1]];
            let n = 2 * points - 1;
            each(&[m, n], |at| {
                let term = |k: usize| {
                    let x = complex(all[0].at(&[at[0], k]));
                    let turned = x * Complex::from_polar(1.0, TAU * (k * at[1]) as f64 / n as f64);
                    if k == 0 { x.re } else { 2.0 * turned.re }
                };
                (0..points).map(term).sum::<f64>() / n as f64
            })
        },
        refused: &[("x: flipped broadcast", COPY), ("empty h", NO_POINTS)],
    },
];
