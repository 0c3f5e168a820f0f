//! Products of a sparse matrix with tensors.

use super::case::{Case, small};
use super::laid::{Array, each};
use windlass::sparse::{CooBuilder, Csr, Spmv};
use windlass::{Device, Result};

/// What a product says of a vector, and of a matrix, that it cannot read or write.
const NEIGHBOURS: &str = "its elements are not neighbours; `contiguous` makes a copy";
const COPY: &str = "`contiguous` makes a copy";

/// An element of the sparse matrix.
fn element(i: usize, j: usize) -> Option<f64> {
    (i + j).is_multiple_of(2).then_some(1.0 + i as f64 + 2.0 * j as f64)
}

fn matrix(device: &Device, rows: usize, cols: usize) -> Result<Csr<f64, i32>> {
    let mut a = CooBuilder::new(rows, cols)?;
    for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
        if let Some(x) = element(i, j) {
            a.push(i, j, x)?;
        }
    }
    a.build_csr(&device.sparse())
}

fn product(x: &Array, i: usize, mut at: impl FnMut(usize) -> Vec<usize>) -> f64 {
    (0..x.extents[0]).filter_map(|l| Some(element(i, l)? * x.at(&at(l)))).sum()
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "spmv_tensor",
        operands: "x:n -> y:m",
        element: small,
        call: |device, laid| {
            let a = matrix(device, laid[1].layout.len(), laid[0].layout.len())?;
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            let y = device.sparse().spmv_tensor(Spmv::new().beta(2.0), &a, &x, y)?.into_output();
            device.to_vec(y.buffer())
        },
        loops: |all| each(&all[1].extents, |at| product(&all[0], at[0], |l| vec![l]) + 2.0 * all[1].at(at)),
        refused: &[("x y: strided flipped broadcast", NEIGHBOURS)],
    },
    Case {
        name: "spmm_tensor",
        operands: "b:nk -> c:mk",
        element: small,
        call: |device, laid| {
            let a = matrix(device, laid[1].layout.shape()[0], laid[0].layout.shape()[0])?;
            let [b, c] = [0, 1].map(|at| laid[at].tensor(device));
            let c = device.sparse().spmm_tensor(1.0, &a, &b, 2.0, c)?.into_output();
            device.to_vec(c.buffer())
        },
        loops: |all| each(&all[1].extents, |at| product(&all[0], at[0], |l| vec![l, at[1]]) + 2.0 * all[1].at(at)),
        refused: &[("b c: strided flipped broadcast", COPY)],
    },
];
