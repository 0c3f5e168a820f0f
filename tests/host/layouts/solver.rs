//! Factorizations, solutions and spectra: of a reference, which is copied, and of a value, which is used up. Against Gauss'
//! elimination, and sums that belong to spectra.

use super::case::{Case, dominant};
use super::laid::{Array, Laid};
use windlass::solver::{Eigenvectors, EighSpec, Given, Lowest, Structure, Symmetry, Vectors};
use windlass::{Device, Result, Tensor, Transpose, Uplo};

/// A matrix whose rows are all the same has no inverse.
const SINGULAR: &[(&str, &str)] = &[("a: broadcast", "singular")];

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

fn inverse(all: &[Array]) -> Vec<f64> {
    let n = all[0].extents[0];
    let identity = (0..n * n).map(|at| f64::from(at / n == at % n)).collect();
    let a = Array { extents: vec![n, n], elements: all[0].elements.clone() };
    solution(&[a, Array { extents: vec![n, n], elements: identity }])
}

fn squares(all: &[Array]) -> Vec<f64> {
    vec![all[0].elements.iter().map(|x| x * x).sum()]
}

fn trace(all: &[Array]) -> Vec<f64> {
    vec![(0..all[0].extents[0]).map(|i| all[0].at(&[i, i])).sum()]
}

fn operands(device: &Device, laid: &[Laid]) -> [Tensor<f64>; 2] {
    [0, 1].map(|at| laid[at].tensor(device))
}

/// A call of A and B.
type Solve = fn(&Device, Given<'_, f64>, Given<'_, f64>) -> Result<Tensor<f64>>;

/// Factors of A by the first function, and a solution by the second: by value and by reference, and one must be the other.
fn both(device: &Device, laid: &[Laid], solve: Solve) -> Result<Vec<f64>> {
    let [a, b] = operands(device, laid);
    let copied = solve(device, (&a).into(), (&b).into())?;
    assert_eq!(copied.shape(), b.shape());
    assert_eq!(device.to_vec(&b)?.len(), b.len(), "B is still there");
    let x = solve(device, a.into(), b.into())?;
    assert_eq!(device.to_vec(&copied)?, device.to_vec(&x)?);
    device.to_vec(&x)
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "lu, and solve of the factors",
        operands: "a:nn b:nk",
        element: dominant,
        call: |device, laid| {
            both(device, laid, |device, a, b| {
                let lu = device.solver().lu(a)?.await_result()?;
                Ok(lu.solve(&device.solver(), Transpose::No, b)?.into_output())
            })
        },
        loops: solution,
        refused: SINGULAR,
    },
    Case {
        name: "lu, and solve of a vector",
        operands: "a:nn b:n",
        element: dominant,
        call: |device, laid| {
            both(device, laid, |device, a, b| {
                let lu = device.solver().lu(a)?.await_result()?;
                Ok(lu.solve(&device.solver(), Transpose::No, b)?.into_output())
            })
        },
        loops: |all| {
            let of = |array: &Array, extents| Array { extents, elements: array.elements.clone() };
            let n = all[0].extents[0];
            solution(&[of(&all[0], vec![n, n]), of(&all[1], vec![n, 1])])
        },
        refused: SINGULAR,
    },
    Case {
        name: "cholesky, and solve of the factor",
        operands: "a:nn b:nk",
        element: dominant,
        call: |device, laid| {
            both(device, laid, |device, a, b| {
                let factor = device.solver().cholesky(Uplo::Lower, a)?.await_result()?;
                Ok(factor.solve(&device.solver(), b)?.into_output())
            })
        },
        loops: solution,
        refused: &[("a: broadcast", "not positive definite")],
    },
    Case {
        name: "ldl, and solve of the factors",
        operands: "a:nn b:nk",
        element: dominant,
        call: |device, laid| {
            let [a, b] = operands(device, laid);
            let ldl = device.solver().ldl(Uplo::Lower, Symmetry::Symmetric, &a)?.await_result()?;
            device.to_vec(&ldl.solve(&device.solver(), &b)?)
        },
        loops: |all| {
            let n = all[0].extents[0];
            let lower = |at: usize| all[0].at(&[(at / n).max(at % n), (at / n).min(at % n)]);
            let elements = (0..n * n).map(lower).collect();
            let b = Array { extents: all[1].extents.clone(), elements: all[1].elements.clone() };
            solution(&[Array { extents: vec![n, n], elements }, b])
        },
        refused: &[],
    },
    Case {
        name: "qr, and solve of the factors",
        operands: "a:nn b:nk",
        element: dominant,
        call: |device, laid| {
            both(device, laid, |device, a, b| {
                let qr = device.solver().qr(a)?.await_result()?;
                Ok(qr.solve(&device.solver(), b)?.await_result()?.x)
            })
        },
        loops: solution,
        refused: SINGULAR,
    },
    Case {
        name: "solve",
        operands: "a:nn b:nk",
        element: dominant,
        call: |device, laid| {
            both(device, laid, |device, a, b| Ok(device.solver().solve(Structure::General, a, b)?.await_result()?.x))
        },
        loops: solution,
        refused: SINGULAR,
    },
    Case {
        name: "solve_refined",
        operands: "a:nn b:nk",
        element: dominant,
        call: |device, laid| {
            let [a, b] = operands(device, laid);
            device.to_vec(&device.solver().solve_refined(Lowest::Single, &a, &b)?.await_result()?.x)
        },
        loops: solution,
        refused: SINGULAR,
    },
    Case {
        name: "inverse",
        operands: "a:nn",
        element: dominant,
        call: |device, laid| {
            let a = laid[0].tensor(device);
            device.to_vec(&device.solver().inverse(&a)?.await_result()?.matrix)
        },
        loops: inverse,
        refused: SINGULAR,
    },
    Case {
        name: "svd",
        operands: "a:mn",
        element: dominant,
        call: |device, laid| {
            let svd = device.solver().svd(Vectors::Thin, &laid[0].tensor(device))?.await_result()?;
            Ok(vec![device.to_vec(&svd.values)?.iter().map(|s| s * s).sum()])
        },
        loops: squares,
        refused: &[],
    },
    Case {
        name: "eigh",
        operands: "a:nn",
        element: dominant,
        call: |device, laid| {
            let eigh = device.solver().eigh(EighSpec::new(Uplo::Upper), laid[0].tensor(device))?.await_result()?;
            Ok(vec![device.to_vec(&eigh.values)?.iter().sum()])
        },
        loops: trace,
        refused: &[],
    },
    Case {
        name: "eig",
        operands: "a:nn",
        element: dominant,
        call: |device, laid| {
            let eig = device.solver().eig(Eigenvectors::None, &laid[0].tensor(device))?.await_result()?;
            Ok(vec![device.to_vec(&eig.values)?.iter().map(|w| w.re).sum()])
        },
        loops: trace,
        refused: &[],
    },
];
