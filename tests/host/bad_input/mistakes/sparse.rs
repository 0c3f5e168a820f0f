//! Sparse matrices and their direct solvers.

use super::{Mistake, said, waited, x};
use windlass::direct::Factorization;
use windlass::sparse::{CooBuilder, Csr, Iteration, Order, Preconditioner, Spmm, Spmv};
use windlass::{Device, Transpose, Uplo};

/// [1 0 2; 0 3 0]
fn wide(device: &Device) -> Csr<f32> {
    device.sparse().upload_csr(2, 3, &[0, 2, 3], &[0, 2, 1], &[1.0, 2.0, 3.0]).unwrap()
}

/// [2 1; 1 2], or zeros in its place.
fn square(device: &Device, by: f32) -> Csr<f32> {
    device.sparse().upload_csr(2, 2, &[0, 2, 4], &[0, 1, 0, 1], &[2.0 * by, by, by, 2.0 * by]).unwrap()
}

pub(super) const MISTAKES: &[Mistake] = &[
    ("too few offsets", |d| said(d.sparse().upload_csr(3, 3, &[0, 1], &[0], &[1.0f32])), ["`offsets`", "2", "4"]),
    (
        "offsets that fall",
        |d| said(d.sparse().upload_csr(2, 3, &[0, 2, 1], &[0], &[1.0f32])),
        ["`offsets`", "offset 2", "; it is 1"],
    ),
    (
        "a column past the end",
        |d| said(d.sparse().upload_csr(1, 3, &[0, 1], &[3], &[1.0f32])),
        ["`columns`", "columns[0]", "1 x 3 matrix; it is 3"],
    ),
    (
        "columns out of order",
        |d| said(d.sparse().upload_csr(1, 3, &[0, 2], &[2, 1], &[1.0f32; 2])),
        ["`columns`", "columns[1]", "larger than the one before it in its row or column; it is 1"],
    ),
    (
        "a row past the end of compressed columns",
        |d| said(d.sparse().upload_csc(1, 3, &[0, 1, 1, 1], &[4], &[1.0f32])),
        ["`row_indices`", "row_indices[0]", "1 x 3 matrix; it is 4"],
    ),
    (
        "coordinates outside",
        |d| said(d.sparse().upload_coo(3, 3, &[0, 5], &[1, 2], &[1.0f32; 2])),
        ["`row_indices or column_indices`", "entry 1", "3 x 3 matrix; it is (5, 2)"],
    ),
    ("too few values", |d| said(d.sparse().upload_csr(1, 3, &[0, 2], &[1, 2], &[1.0f32])), ["`values`", "1", "2"]),
    (
        "coordinates of two lengths",
        |d| said(d.sparse().upload_coo(3, 3, &[0], &[0, 1], &[1.0f32; 2])),
        ["`row_indices`", "1", "2"],
    ),
    (
        "a row past the end",
        |_| said(CooBuilder::<f32>::new(2, 2).unwrap().push(2, 0, 1.0)),
        ["`row`", "2", "the matrix has 2"],
    ),
    ("spmv with another x", |d| said(d.sparse().spmv(Spmv::new(), &wide(d), &x(d, [2]), x(d, [2]))), ["`x`", "2", "3"]),
    ("spmv into another y", |d| said(d.sparse().spmv(Spmv::new(), &wide(d), &x(d, [3]), x(d, [3]))), ["`y`", "3", "2"]),
    (
        "spmv of the transposed one",
        |d| said(d.sparse().spmv(Spmv::new().trans(Transpose::Yes), &wide(d), &x(d, [3]), x(d, [3]))),
        ["`x`", "3", "2"],
    ),
    (
        "spmm of another matrix",
        |d| said(d.sparse().spmm(Spmm::new(), &wide(d), &x(d, [2, 4]), x(d, [2, 4]))),
        ["`b`", "2 x 4", "2 x 3"],
    ),
    (
        "spmm of a vector",
        |d| said(d.sparse().spmm(Spmm::new(), &wide(d), &x(d, [3]), x(d, [2, 1]))),
        ["`b`", "1 ax", "two"],
    ),
    (
        "spgemm of matrices that do not fit",
        |d| said(d.sparse().spgemm(1.0, &wide(d), &wide(d))),
        ["`b`", "2 rows", "3 columns"],
    ),
    (
        "a sum of other extents",
        |d| said(d.sparse().add(1.0, &wide(d), 1.0, &square(d, 1.0))),
        ["`b`", "2 x 2", "2 x 3"],
    ),
    ("vstack of other widths", |d| said(d.sparse().vstack(&[&wide(d), &square(d, 1.0)])), ["`parts`", "part 1", "3"]),
    ("rows past the end", |d| said(d.sparse().slice_rows(&wide(d), 1..5)), ["`rows`", "1..5", "2"]),
    ("blocks of nothing", |d| said(d.sparse().to_bsr(&wide(d), 0, Order::Row)), ["`block`", "0", "at least one"]),
    ("blocks that do not divide", |d| said(d.sparse().to_bsr(&wide(d), 2, Order::Row)), ["`block`", "2", "3"]),
    ("to_dense of another shape", |d| said(d.sparse().to_dense(&wide(d), x(d, [3, 2]))), ["`dense`", "3 x 2", "2 x 3"]),
    (
        "a threshold below zero",
        |d| said(d.sparse().from_dense::<f32, i32>(&x(d, [2, 2]), -1.0)),
        ["`threshold`", "-1", "negative"],
    ),
    ("values of another length", |d| said(wide(d).with_values(x(d, [2]).into_buffer())), ["`values`", "2", "3"]),
    (
        "cg of what is not square",
        |d| {
            let answer = d.sparse().cg(&wide(d), &Preconditioner::Identity, &x(d, [2]), x(d, [3]), &Iteration::new());
            answer.map_or_else(|unsolved| unsolved.to_string(), |_| "(no error)".to_owned())
        },
        ["`a`", "2 x 3", "square"],
    ),
    (
        "gtsv of other diagonals",
        |d| said(d.sparse().gtsv(&x(d, [3]), &x(d, [4]), &x(d, [4]), x(d, [4]))),
        ["`lower`", "3", "4"],
    ),
    ("ilu0 of what is not square", |d| said(d.sparse().ilu0(&wide(d))), ["`a`", "2 x 3", "square"]),
    (
        "analyse of what is not square",
        |d| said(d.direct().analyse(Factorization::Lu, &wide(d)).map(drop)),
        ["`a`", "2 x 3", "square"],
    ),
    (
        "factor by an analysis of QR",
        |d| {
            let analysis = d.direct().analyse(Factorization::Qr, &square(d, 1.0)).unwrap();
            said(d.direct().factor(&analysis, &square(d, 1.0)).map(drop))
        },
        ["`analysis`", "QR", "solve_qr"],
    ),
    (
        "factor of a matrix with another structure",
        |d| {
            let analysis = d.direct().analyse(Factorization::Lu, &square(d, 1.0)).unwrap();
            let other = d.sparse().upload_csr(2, 2, &[0, 1, 2], &[0, 1], &[1.0f32, 2.0]).unwrap();
            said(d.direct().factor(&analysis, &other).map(drop))
        },
        ["`a`", "2", "4"],
    ),
    (
        "solve with other rows",
        |d| {
            let direct = d.direct();
            let factor =
                direct.factor(&direct.analyse(Factorization::Lu, &square(d, 1.0)).unwrap(), &square(d, 1.0)).unwrap();
            said(factor.solve(&direct, Transpose::No, x(d, [3])))
        },
        ["`b`", "3", "2"],
    ),
    (
        "a matrix that is not positive definite",
        |d| {
            let direct = d.direct();
            let analysis = direct.analyse(Factorization::Cholesky(Uplo::Lower), &square(d, -1.0)).unwrap();
            said(direct.factor(&analysis, &square(d, -1.0)).map(drop))
        },
        ["positive definite", "", ""],
    ),
    (
        "an index of a column that is checked on the device",
        |d| {
            let (offsets, columns) = (d.buffer([0i32, 1]).unwrap(), d.buffer([7i32]).unwrap());
            let answer = d.sparse().csr(1, 3, offsets, columns, x(d, [1]).into_buffer());
            waited(answer)
        },
        ["`columns`", "columns[0]", "1 x 3"],
    ),
];
