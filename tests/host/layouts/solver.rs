//! Factorizations of tensors, which are column-major: by the systems that the factors solve, against Gauss' elimination.

use super::case::{Case, dominant};
use super::laid::{Array, Laid};
use windlass::solver::Structure;
use windlass::{Device, Result, Tensor, Transpose, Uplo};

/// What a factorization says of a tensor that it cannot take.
const COPY: &str = "the columns of its";

/// The solution of `A X = B`, without pivots: the diagonal is large.
fn solution(all: &[Array]) -> Vec<f64> {
    let (n, width) = (all[0].extents[0], all[1].extents[1]);
    let (mut a, mut b) = (all[0].elements.clone(), all[1].elements.clone());
    for l in 0..n {
        for i in (0..n).filter(|i| *i != l) {
            let factor = a[i * n + l] / a[l * n + l];
            (l..n).for_each(|j| a[i * n + j] -= factor * a[l * n + j]);
            (0..width).for_each(|j| b[i * width + j] -= factor * b[l * width + j]);
        }
    }
    (0..n * width).for_each(|at| b[at] /= a[at / width * n + at / width]);
    b
}

fn operands(device: &Device, laid: &[Laid]) -> [Tensor<f64>; 2] {
    [0, 1].map(|at| laid[at].tensor(device))
}

fn memory(device: &Device, x: &Tensor<f64>) -> Result<Vec<f64>> {
    device.to_vec(x.buffer())
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "lu_tensor, and solve_tensor of the factors",
        operands: "a:nn -> b:nk",
        element: dominant,
        call: |device, laid| {
            let [a, b] = operands(device, laid);
            let lu = device.solver().lu_tensor(a)?.await_result()?;
            memory(device, &lu.solve_tensor(&device.solver(), Transpose::No, b)?.into_output())
        },
        loops: solution,
        refused: &[("a b: row-major strided flipped offset broadcast", COPY)],
    },
    Case {
        name: "cholesky_tensor, and solve_tensor of the factor",
        operands: "a:nn -> b:nk",
        element: dominant,
        call: |device, laid| {
            let [a, b] = operands(device, laid);
            let factor = device.solver().cholesky_tensor(Uplo::Lower, a)?.await_result()?;
            memory(device, &factor.solve_tensor(&device.solver(), b)?.into_output())
        },
        loops: solution,
        refused: &[("a b: row-major strided flipped offset broadcast", COPY)],
    },
    Case {
        name: "solve_tensor",
        operands: "a:nn -> b:nk",
        element: dominant,
        call: |device, laid| {
            let [a, b] = operands(device, laid);
            let solved = device.solver().solve_tensor(Structure::General, a, b)?.await_result()?;
            // The buffer comes back as the part in which the operand lay.
            device.to_vec(&solved.x.widen())
        },
        loops: solution,
        refused: &[("a b: row-major strided flipped offset broadcast", COPY)],
    },
];
