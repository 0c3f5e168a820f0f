//! Transforms of tensors, against the definition.

use super::case::{Case, small};
use super::laid::{Array, each};
use std::f64::consts::{PI, TAU};
use windlass::fft::{Convolve, Edges, Mode, RealTransform, Stft, Trig};
use windlass::{Complex, Device, Error, FftSpec, Result, Tensor};

/// What a transform says of a tensor that it cannot read or write.
const COPY: &str = "`contiguous` makes a copy that is not";
/// What the others say.
const PACKED: &str = "without gaps; `contiguous` makes a copy that is";
/// What they say of an axis without elements, and of an output that does not fit the input.
const NO_POINTS: &str = "0 points along";
const OTHER: &str = "they differ along axis 1";

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

/// The real parts of all of a tensor's memory.
fn real_parts(device: &Device, y: &Tensor<Complex<f64>>) -> Result<Vec<f64>> {
    Ok(device.to_vec(y.buffer())?.into_iter().map(|y| y.re).collect())
}

fn halves_of(all: Vec<f64>) -> Vec<f64> {
    all.into_iter().step_by(2).collect()
}

/// The elements of the real array of `n` that has the half spectra of `x`.
fn real_array(x: &Array, n: usize) -> Vec<f64> {
    let [m, points] = [x.extents[0], x.extents[1]];
    each(&[m, n], |at| {
        let term = |k: usize| {
            let x = complex(x.at(&[at[0], k]));
            let turned = x * Complex::from_polar(1.0, TAU * (k * at[1]) as f64 / n as f64);
            if k == 0 { x.re } else { 2.0 * turned.re }
        };
        (0..points).map(term).sum::<f64>() / n as f64
    })
}

fn rows() -> FftSpec {
    FftSpec::new().axes([1])
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "fft along the rows",
        operands: "x:mk",
        element: small,
        call: |device, laid| pairs(device, &device.fft().fft(&laid[0].complex(device), &[1])?.into_output()),
        loops: |all| spectrum(&all[0], 1, all[0].extents[1], complex),
        refused: &[("x: flipped", COPY), ("empty k", NO_POINTS)],
    },
    Case {
        name: "fft along the columns",
        operands: "x:mk",
        element: small,
        call: |device, laid| pairs(device, &device.fft().fft(&laid[0].complex(device), &[0])?.into_output()),
        loops: |all| spectrum(&all[0], 0, all[0].extents[0], complex),
        refused: &[("x: flipped", COPY), ("empty m", NO_POINTS)],
    },
    Case {
        name: "rfft",
        operands: "x:mk",
        element: small,
        call: |device, laid| pairs(device, &device.fft().rfft(&laid[0].tensor(device), &[1])?.into_output()),
        loops: |all| spectrum(&all[0], 1, all[0].extents[1] / 2 + 1, |x| Complex::new(x, 0.0)),
        refused: &[("x: flipped", COPY), ("empty k", NO_POINTS)],
    },
    Case {
        name: "irfft",
        operands: "x:mh",
        element: small,
        call: |device, laid| {
            let points = laid[0].layout.shape()[1];
            let n = (2 * points).checked_sub(1).ok_or_else(|| Error::invalid("n", NO_POINTS))?;
            device.to_vec(&device.fft().irfft(&laid[0].complex(device), n, &[1])?.into_output())
        },
        loops: |all| real_array(&all[0], 2 * all[0].extents[1] - 1),
        refused: &[("x: flipped", COPY), ("empty h", NO_POINTS)],
    },
    Case {
        name: "c2c",
        operands: "x:mk -> y:mk",
        element: small,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].complex(device));
            real_parts(device, &device.fft().c2c(&rows(), &x, y)?.into_output())
        },
        loops: |all| halves_of(spectrum(&all[0], 1, all[0].extents[1], complex)),
        refused: &[("x y: flipped", COPY), ("empty k", NO_POINTS)],
    },
    Case {
        name: "c2c_in_place",
        operands: "-> x:mk",
        element: small,
        call: |device, laid| {
            let x = laid[0].complex(device);
            real_parts(device, &device.fft().c2c_in_place(&rows(), x)?.into_output())
        },
        loops: |all| halves_of(spectrum(&all[0], 1, all[0].extents[1], complex)),
        refused: &[("x: flipped", COPY), ("empty k", NO_POINTS)],
    },
    Case {
        name: "r2c",
        operands: "x:mk -> y:mh",
        element: small,
        call: |device, laid| {
            let (x, y) = (laid[0].tensor(device), laid[1].complex(device));
            real_parts(device, &device.fft().r2c(&rows(), &x, y)?.into_output())
        },
        loops: |all| halves_of(spectrum(&all[0], 1, all[0].extents[1] / 2 + 1, |x| Complex::new(x, 0.0))),
        refused: &[("x y: flipped", COPY), ("empty k", OTHER), ("empty h", OTHER)],
    },
    Case {
        name: "c2r",
        operands: "x:mh -> y:mk",
        element: small,
        call: |device, laid| {
            let (x, y) = (laid[0].complex(device), laid[1].tensor(device));
            device.to_vec(device.fft().c2r(&rows(), &x, y)?.into_output().buffer())
        },
        loops: |all| real_array(&all[0], all[1].extents[1]),
        refused: &[("x y: flipped", COPY), ("empty k", OTHER), ("empty h", OTHER)],
    },
    Case {
        name: "real_transform",
        operands: "x:mk -> y:mk",
        element: small,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            let spec = RealTransform::new(Trig::Dct2).axes([1]);
            device.to_vec(device.fft().real_transform(&spec, &x, y)?.into_output().buffer())
        },
        loops: |all| {
            let n = all[0].extents[1];
            let factor = |k: usize, j: usize| 2.0 * (PI * (k * (2 * j + 1)) as f64 / (2 * n) as f64).cos();
            each(&all[0].extents, |at| (0..n).map(|j| all[0].at(&[at[0], j]) * factor(at[1], j)).sum())
        },
        refused: &[("x y: column-major transposed strided flipped offset broadcast", PACKED), ("empty k", NO_POINTS)],
    },
    Case {
        name: "fftshift",
        operands: "x:mk",
        element: small,
        call: |device, laid| device.to_vec(&device.fft().fftshift(&laid[0].tensor(device), &[1])?.into_output()),
        loops: |all| {
            let n = all[0].extents[1];
            each(&all[0].extents, |at| all[0].at(&[at[0], (at[1] + n.div_ceil(2)) % n]))
        },
        refused: &[("x: column-major transposed strided flipped offset broadcast", PACKED)],
    },
    Case {
        name: "convolve",
        operands: "x:mk h:n -> y:mk",
        element: small,
        call: |device, laid| {
            let [x, h, y] = [0, 1, 2].map(|at| laid[at].tensor(device));
            let spec = Convolve::new().mode(Mode::Same);
            device.to_vec(device.fft().convolve(&spec, &x, &h, y)?.into_output().buffer())
        },
        loops: |all| {
            let [k, n] = [all[0].extents[1], all[1].extents[0]];
            each(&all[0].extents, |at| {
                let place = at[1] + (n - 1) / 2;
                let both = (0..n).filter(|j| (*j..*j + k).contains(&place));
                both.map(|j| all[0].at(&[at[0], place - j]) * all[1].at(&[j])).sum()
            })
        },
        refused: &[
            ("x y: column-major transposed strided flipped offset broadcast", PACKED),
            ("h: strided flipped broadcast", PACKED),
            ("empty k", "0 elements along axis 0"),
            ("empty n", "0 elements along axis 0"),
        ],
    },
    Case {
        name: "stft of one frame",
        operands: "x:mk w:k",
        element: small,
        call: |device, laid| {
            let [x, w] = [0, 1].map(|at| laid[at].tensor(device));
            let spec = Stft::new(w.len()).edges(Edges::Inside);
            let y = device.uninit([x.shape()[0], 1, spec.bins()])?;
            pairs(device, &device.fft().stft(&spec, &x, &w, y)?.into_output())
        },
        loops: |all| {
            let elements = each(&all[0].extents, |at| all[0].at(at) * all[1].at(&at[1..]));
            let weighted = Array { extents: all[0].extents.clone(), elements };
            spectrum(&weighted, 1, weighted.extents[1] / 2 + 1, |x| Complex::new(x, 0.0))
        },
        refused: &[
            ("x: column-major transposed strided flipped offset broadcast", PACKED),
            ("w: strided flipped broadcast", PACKED),
            ("empty k", "it must be at least 1"),
        ],
    },
];
