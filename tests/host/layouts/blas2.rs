//! Level 2 of BLAS: matrices whose rows or columns are contiguous, and vectors of any distance.

use super::case::{Case, dominant, small};
use super::laid::{Array, each};
use windlass::blas::{Gemv, Ger, Symv, Syr, Trmv};
use windlass::{Transpose, Uplo};

/// The refusals of a matrix, and of a vector that is read.
const CONTIGUOUS: &str = "`contiguous`";
const INCREMENT: &str = "increment of 0";

/// The upper triangle of a symmetric matrix.
fn upper(a: &Array, i: usize, j: usize) -> f64 {
    a.at(&[i.min(j), i.max(j)])
}

/// The diagonals below and above the main one of a band of so many rows.
fn beside(rows: usize) -> (usize, usize) {
    let all = rows.saturating_sub(1);
    (all / 2, all - all / 2)
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "gemv",
        operands: "a:mn x:n -> y:m",
        element: small,
        call: |device, laid| {
            let (a, x) = (laid[0].tensor(device), laid[1].tensor(device));
            let y = device.blas().gemv(Gemv::new().beta(2.0), &a, &x, laid[2].tensor(device))?;
            device.to_vec(y.buffer())
        },
        loops: |all| {
            let row = |i: usize| (0..all[1].elements.len()).map(|j| all[0].at(&[i, j]) * all[1].at(&[j])).sum::<f64>();
            // BLAS's rule: without columns or rows y stays, and is not scaled.
            let scale = if all[1].elements.is_empty() { 1.0 } else { 2.0 };
            each(&all[2].extents, |at| row(at[0]) + scale * all[2].at(at))
        },
        refused: &[("a: strided flipped broadcast", CONTIGUOUS), ("x: broadcast", INCREMENT)],
    },
    Case {
        name: "gemv, transposed",
        operands: "a:mn x:m -> y:n",
        element: small,
        call: |device, laid| {
            let (a, x) = (laid[0].tensor(device), laid[1].tensor(device));
            let y = device.blas().gemv(Gemv::new().conjugate_a(), a.transpose(), &x, laid[2].tensor(device))?;
            device.to_vec(y.buffer())
        },
        loops: |all| {
            let column = |j: usize| (0..all[1].elements.len()).map(|i| all[0].at(&[i, j]) * all[1].at(&[i])).sum();
            each(&all[2].extents, |at| if all[1].elements.is_empty() { all[2].at(at) } else { column(at[0]) })
        },
        refused: &[("a: strided flipped broadcast", CONTIGUOUS), ("x: broadcast", INCREMENT)],
    },
    Case {
        name: "gemv of a batch",
        operands: "a:bmn x:bn -> y:bm",
        element: small,
        call: |device, laid| {
            let (a, x) = (laid[0].tensor(device), laid[1].tensor(device));
            let y = device.blas().gemv(Gemv::new(), &a, &x, laid[2].tensor(device))?;
            device.to_vec(y.buffer())
        },
        loops: |all| {
            let [_, m, n] = *all[0].extents else { panic!("a batch") };
            let row = |l: usize, i: usize| (0..n).map(|j| all[0].at(&[l, i, j]) * all[1].at(&[l, j])).sum();
            each(&all[2].extents, |at| if m * n == 0 { all[2].at(at) } else { row(at[0], at[1]) })
        },
        refused: &[
            ("a: strided flipped column-major", CONTIGUOUS),
            ("x: flipped", CONTIGUOUS),
            // Vectors that lie between each other are read so, but not written.
            ("y: flipped column-major transposed", CONTIGUOUS),
        ],
    },
    Case {
        name: "gemv of a band, transposed",
        operands: "a:mn x:n -> y:n",
        element: small,
        call: |device, laid| {
            let (a, x) = (laid[0].tensor(device), laid[1].tensor(device));
            let (kl, ku) = beside(laid[0].layout.shape()[0]);
            let spec = Gemv::banded(kl, ku).trans(Transpose::Yes);
            let y = device.blas().gemv(spec, &a, &x, laid[2].tensor(device))?;
            device.to_vec(y.buffer())
        },
        loops: |all| {
            let (rows, n) = (all[0].extents[0], all[0].extents[1]);
            let (_, ku) = beside(rows);
            let inside = |i: usize, j: usize| (i + ku).checked_sub(j).filter(|at| *at < rows);
            let entry = |i: usize, j: usize| inside(i, j).map_or(0.0, |at| all[0].at(&[at, j]));
            each(&all[2].extents, |at| (0..n).map(|i| entry(i, at[0]) * all[1].at(&[i])).sum())
        },
        refused: &[
            ("a: row-major strided flipped offset broadcast", "`contiguous_columns`"),
            ("x: broadcast", INCREMENT),
            ("empty m", "1 rows"),
        ],
    },
    Case {
        name: "symv of the upper triangle",
        operands: "a:nn x:n -> y:n",
        element: small,
        call: |device, laid| {
            let (a, x) = (laid[0].tensor(device), laid[1].tensor(device));
            let y = device.blas().symv(Symv::new(Uplo::Upper).beta(2.0), &a, &x, laid[2].tensor(device))?;
            device.to_vec(y.buffer())
        },
        loops: |all| {
            let row =
                |i: usize| (0..all[1].elements.len()).map(|j| upper(&all[0], i, j) * all[1].at(&[j])).sum::<f64>();
            each(&all[2].extents, |at| row(at[0]) + 2.0 * all[2].at(at))
        },
        refused: &[("a: strided flipped broadcast", CONTIGUOUS), ("x: broadcast", INCREMENT)],
    },
    Case {
        name: "ger",
        operands: "x:m y:n -> a:mn",
        element: small,
        call: |device, laid| {
            let (x, y) = (laid[0].tensor(device), laid[1].tensor(device));
            let a = device.blas().ger(Ger::new(), &x, &y, laid[2].tensor(device))?;
            device.to_vec(a.buffer())
        },
        loops: |all| each(&all[2].extents, |at| all[0].at(&at[..1]) * all[1].at(&at[1..]) + all[2].at(at)),
        refused: &[("x y: broadcast", INCREMENT), ("a: strided flipped", CONTIGUOUS)],
    },
    Case {
        name: "syr2 of the lower triangle",
        operands: "x:n y:n -> a:nn",
        element: small,
        call: |device, laid| {
            let (x, y) = (laid[0].tensor(device), laid[1].tensor(device));
            let a = device.blas().syr2(Syr::new(Uplo::Lower), &x, &y, laid[2].tensor(device))?;
            device.to_vec(a.buffer())
        },
        loops: |all| {
            let both = |i: usize, j: usize| all[0].at(&[i]) * all[1].at(&[j]) + all[1].at(&[i]) * all[0].at(&[j]);
            each(&all[2].extents, |at| all[2].at(at) + if at[0] >= at[1] { both(at[0], at[1]) } else { 0.0 })
        },
        refused: &[("x y: broadcast", INCREMENT), ("a: strided flipped", CONTIGUOUS)],
    },
    Case {
        name: "trsv of the lower triangle",
        operands: "a:nn -> x:n",
        element: dominant,
        call: |device, laid| {
            let a = laid[0].tensor(device);
            let x = device.blas().trsv(Trmv::new(Uplo::Lower), &a, laid[1].tensor(device))?;
            device.to_vec(x.buffer())
        },
        loops: |all| {
            let mut x = all[1].elements.clone();
            for i in 0..x.len() {
                x[i] = (x[i] - (0..i).map(|j| all[0].at(&[i, j]) * x[j]).sum::<f64>()) / all[0].at(&[i, i]);
            }
            x
        },
        refused: &[("a: strided flipped broadcast", CONTIGUOUS)],
    },
];
