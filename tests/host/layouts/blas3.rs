//! Level 3 of BLAS, and cuBLASLt.

use super::case::{Case, dominant, small};
use super::laid::{Array, each};
use windlass::blas::{Geam, Syrk, Triangular};
use windlass::{Gemm, Side, Transpose, Uplo};

/// What a product says of a tensor that it cannot read.
const COPY: &str = "`contiguous` makes a copy";

/// The sum of products along the columns of A and the rows of B; the indices before are those of a batch.
fn product(a: &Array, b: &Array, at: &[usize]) -> f64 {
    let [batch @ .., i, j] = at else { panic!("a matrix") };
    let k = a.extents[a.extents.len() - 1];
    (0..k).map(|l| a.at(&[batch, &[*i, l]].concat()) * b.at(&[batch, &[l, *j]].concat())).sum()
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "gemm",
        operands: "a:mk b:kn -> c:mn",
        element: small,
        call: |device, laid| {
            let [a, b, c] = [0, 1, 2].map(|at| laid[at].tensor(device));
            let c = device.blas().gemm(Gemm::new().alpha(2.0).beta(-1.0), &a, &b, c)?.into_output();
            device.to_vec(c.buffer())
        },
        loops: |all| each(&all[2].extents, |at| 2.0 * product(&all[0], &all[1], at) - all[2].at(at)),
        refused: &[("a b c: strided flipped broadcast", COPY)],
    },
    Case {
        name: "gemm of a batch and one matrix for all",
        operands: "a:bmk b:kn -> c:bmn",
        element: small,
        call: |device, laid| {
            let [a, b, c] = [0, 1, 2].map(|at| laid[at].tensor(device));
            let c = device.blas().gemm(Gemm::new().alpha(2.0).beta(-1.0), &a, &b, c)?.into_output();
            device.to_vec(c.buffer())
        },
        loops: |all| {
            each(&all[2].extents, |at| {
                let k = all[1].extents[0];
                let sum: f64 = (0..k).map(|l| all[0].at(&[at[0], at[1], l]) * all[1].at(&[l, at[2]])).sum();
                2.0 * sum - all[2].at(at)
            })
        },
        refused: &[
            ("a c: column-major strided flipped", COPY),
            ("b: strided flipped broadcast", COPY),
            ("c: broadcast", "overlap"),
        ],
    },
    Case {
        name: "product of batches",
        operands: "a:bmk b:bkn",
        element: small,
        call: |device, laid| {
            let [a, b] = [0, 1].map(|at| laid[at].tensor(device));
            device.to_vec(&device.matmul(&a, &b)?.into_output())
        },
        loops: |all| {
            let [[batch, m, _], [_, _, n]] = [&all[0].extents[..], &all[1].extents[..]].map(|x| [x[0], x[1], x[2]]);
            each(&[batch, m, n], |at| product(&all[0], &all[1], at))
        },
        refused: &[],
    },
    Case {
        name: "matmul of batches",
        operands: "a:bmk b:bkn",
        element: small,
        call: |device, laid| {
            let [a, b] = [0, 1].map(|at| laid[at].tensor(device));
            device.to_vec(&device.matmul(&a, &b)?)
        },
        loops: |all| {
            let [[batch, m, _], [_, _, n]] = [&all[0].extents[..], &all[1].extents[..]].map(|x| [x[0], x[1], x[2]]);
            each(&[batch, m, n], |at| product(&all[0], &all[1], at))
        },
        refused: &[],
    },
    Case {
        name: "matmul of a vector",
        operands: "a:k b:kn",
        element: small,
        call: |device, laid| {
            let [a, b] = [0, 1].map(|at| laid[at].tensor(device));
            device.to_vec(&device.matmul(&a, &b)?)
        },
        loops: |all| {
            each(&[all[1].extents[1]], |at| {
                (0..all[0].extents[0]).map(|l| all[0].at(&[l]) * all[1].at(&[l, at[0]])).sum()
            })
        },
        refused: &[],
    },
    Case {
        name: "matmul_tensor",
        operands: "a:mk b:kn -> d:mn",
        element: small,
        call: |device, laid| {
            let [a, b, d] = [0, 1, 2].map(|at| laid[at].tensor(device));
            let d = device.blas_lt().matmul(windlass::Matmul::new(), &a, &b, d)?.into_output();
            device.to_vec(d.buffer())
        },
        loops: |all| each(&all[2].extents, |at| product(&all[0], &all[1], at)),
        refused: &[("a b d: strided flipped broadcast", COPY)],
    },
    Case {
        name: "syrk of the lower triangle",
        operands: "a:nk -> c:nn",
        element: small,
        call: |device, laid| {
            let [a, c] = [0, 1].map(|at| laid[at].tensor(device));
            let c = device.blas().syrk(Syrk::new(Uplo::Lower).beta(1.0), &a, c)?.into_output();
            device.to_vec(c.buffer())
        },
        loops: |all| {
            let k = all[0].extents[1];
            each(&all[1].extents, |at| match at {
                [i, j] if i < j => all[1].at(at),
                [i, j] => (0..k).map(|l| all[0].at(&[*i, l]) * all[0].at(&[*j, l])).sum::<f64>() + all[1].at(at),
                _ => panic!("a matrix"),
            })
        },
        refused: &[("a c: strided flipped broadcast", COPY)],
    },
    Case {
        name: "trsm of the lower triangle",
        operands: "a:mm -> b:mn",
        element: dominant,
        call: |device, laid| {
            let [a, b] = [0, 1].map(|at| laid[at].tensor(device));
            let b = device.blas().trsm(Triangular::new(Side::Left, Uplo::Lower), &a, b)?.into_output();
            device.to_vec(b.buffer())
        },
        loops: |all| {
            let (a, b) = (&all[0], &all[1]);
            let (m, n) = (b.extents[0], b.extents[1]);
            let mut x = b.elements.clone();
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let known: f64 = (0..i).map(|l| a.at(&[i, l]) * x[l * n + j]).sum();
                x[i * n + j] = (x[i * n + j] - known) / a.at(&[i, i]);
            }
            x
        },
        refused: &[("a b: strided flipped broadcast", COPY)],
    },
    Case {
        name: "trsm of a batch with one triangle for all",
        operands: "a:mm -> b:bmn",
        element: dominant,
        call: |device, laid| {
            let [a, b] = [0, 1].map(|at| laid[at].tensor(device));
            let b = device.blas().trsm(Triangular::new(Side::Left, Uplo::Upper), &a, b)?.into_output();
            device.to_vec(b.buffer())
        },
        loops: |all| {
            let (a, b) = (&all[0], &all[1]);
            let [count, m, n] = b.extents[..] else { panic!("a batch") };
            let mut x = b.elements.clone();
            for (k, i, j) in (0..count).flat_map(|k| (0..m).rev().flat_map(move |i| (0..n).map(move |j| (k, i, j)))) {
                let known: f64 = (i + 1..m).map(|l| a.at(&[i, l]) * x[(k * m + l) * n + j]).sum();
                let at = (k * m + i) * n + j;
                x[at] = (x[at] - known) / a.at(&[i, i]);
            }
            x
        },
        refused: &[("a: strided flipped broadcast", COPY), ("b: column-major strided flipped", COPY)],
    },
    Case {
        name: "trmm of the upper triangle from the right",
        operands: "a:nn -> b:mn",
        element: small,
        call: |device, laid| {
            let [a, b] = [0, 1].map(|at| laid[at].tensor(device));
            let b = device.blas().trmm(Triangular::new(Side::Right, Uplo::Upper).alpha(2.0), &a, b)?.into_output();
            device.to_vec(b.buffer())
        },
        loops: |all| {
            each(&all[1].extents, |at| {
                2.0 * (0..=at[1]).map(|l| all[1].at(&[at[0], l]) * all[0].at(&[l, at[1]])).sum::<f64>()
            })
        },
        refused: &[("a b: strided flipped broadcast", COPY)],
    },
    Case {
        name: "getrf and getrs",
        operands: "a:mm -> b:mn",
        element: dominant,
        call: |device, laid| {
            let [a, b] = [0, 1].map(|at| laid[at].tensor(device));
            let (pivots, info) = (device.uninit([a.shape()[0]])?, device.uninit([])?);
            let (a, pivots, _) = device.blas().getrf(a, pivots, info)?.await_result()?;
            let b = device.blas().getrs(Transpose::No, &a, &pivots, b)?.into_output();
            device.to_vec(b.buffer())
        },
        loops: |all| {
            let (mut a, mut x) = (all[0].elements.clone(), all[1].elements.clone());
            let (m, n) = (all[1].extents[0], all[1].extents[1]);
            // The diagonal is large: no pivots.
            for k in 0..m {
                for i in k + 1..m {
                    let factor = a[i * m + k] / a[k * m + k];
                    (k..m).for_each(|j| a[i * m + j] -= factor * a[k * m + j]);
                    (0..n).for_each(|j| x[i * n + j] -= factor * x[k * n + j]);
                }
            }
            for (i, j) in (0..m).rev().flat_map(|i| (0..n).map(move |j| (i, j))) {
                let known: f64 = (i + 1..m).map(|l| a[i * m + l] * x[l * n + j]).sum();
                x[i * n + j] = (x[i * n + j] - known) / a[i * m + i];
            }
            x
        },
        refused: &[("a b: row-major strided flipped offset broadcast", "`contiguous_columns` makes a copy")],
    },
    Case {
        name: "geam",
        operands: "a:mn b:mn -> c:mn",
        element: small,
        call: |device, laid| {
            let [a, b, c] = [0, 1, 2].map(|at| laid[at].tensor(device));
            let c = device.blas().geam(Geam::new().beta(3.0), &a, &b, c)?.into_output();
            device.to_vec(c.buffer())
        },
        loops: |all| each(&all[2].extents, |at| all[0].at(at) + 3.0 * all[1].at(at)),
        refused: &[("a b c: strided flipped broadcast", COPY)],
    },
];
