//! Calls of sparse matrices and vectors with dense operands.

use super::case::{Case, dominant, small};
use super::laid::{Array, each};
use windlass::direct::Factorization;
use windlass::sparse::{CooBuilder, Csr, Iteration, Preconditioner, Sddmm, SparseTriangular, SparseVector};
use windlass::sparse::{Spmm, Spmv};
use windlass::{Device, Diag, Result, Transpose, Uplo};

/// What a call says of a vector, and of a matrix, that it cannot read or write.
const NEIGHBOURS: &str = "not neighbours; `contiguous` makes a copy";
const COPY: &str = "`contiguous` makes a copy";
const COLUMNS: &str = "`contiguous_columns` makes a copy";

/// An element of the sparse matrix.
fn element(i: usize, j: usize) -> Option<f64> {
    (i + j).is_multiple_of(2).then_some(1.0 + i as f64 + 2.0 * j as f64)
}

fn made(device: &Device, rows: usize, cols: usize, at: impl Fn(usize, usize) -> Option<f64>) -> Result<Csr<f64, i32>> {
    let mut a = CooBuilder::new(rows, cols)?;
    for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
        if let Some(x) = at(i, j) {
            a.push(i, j, x)?;
        }
    }
    a.build_csr(&device.sparse())
}

fn matrix(device: &Device, rows: usize, cols: usize) -> Result<Csr<f64, i32>> {
    made(device, rows, cols, element)
}

fn product(x: &Array, i: usize, mut at: impl FnMut(usize) -> Vec<usize>) -> f64 {
    (0..x.extents[0]).filter_map(|l| Some(element(i, l)? * x.at(&at(l)))).sum()
}

/// A square matrix with a large diagonal: that of `dominant`.
fn square(device: &Device, n: usize) -> Result<Csr<f64, i32>> {
    made(device, n, n, |i, j| Some(dominant(&[i, j])))
}

/// Its lower triangle.
fn triangle(device: &Device, n: usize) -> Result<SparseTriangular<f64>> {
    device.sparse().triangular(&square(device, n)?, Uplo::Lower, Diag::NonUnit, Transpose::No)
}

/// The solution of a dense system whose elements are these, for one right-hand side, by elimination: its diagonal dominates.
fn solved(n: usize, at: impl Fn(usize, usize) -> f64, mut b: Vec<f64>) -> Vec<f64> {
    let mut a: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| at(i, j)).collect()).collect();
    for k in 0..n {
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            (k..n).for_each(|j| a[i][j] -= factor * a[k][j]);
            b[i] -= factor * b[k];
        }
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|j| a[i][j] * b[j]).sum();
        b[i] = (b[i] - sum) / a[i][i];
    }
    b
}

/// The same, of a vector or of each column of a matrix.
fn solutions(b: &Array, at: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let (n, columns) = (b.extents[0], b.extents.get(1).copied().unwrap_or(1));
    let column = |k: usize| (0..n).map(|i| b.elements[i * columns + k]).collect::<Vec<_>>();
    let solved: Vec<Vec<f64>> = (0..columns).map(|k| solved(n, &at, column(k))).collect();
    each(&b.extents, |indices| solved[indices.get(1).copied().unwrap_or(0)][indices[0]])
}

fn lower(i: usize, j: usize) -> f64 {
    if j <= i { dominant(&[i, j]) } else { 0.0 }
}

fn tridiagonal_at(i: usize, j: usize) -> f64 {
    match () {
        () if i == j => 20.0,
        () if i == j + 1 => 1.0,
        () if j == i + 1 => -2.0,
        () => 0.0,
    }
}

/// The solution of a tridiagonal system whose diagonal is 20.
fn tridiagonal(lower: impl Fn(usize) -> f64, upper: impl Fn(usize) -> f64, b: Vec<f64>) -> Vec<f64> {
    let at = |i: usize, j: usize| match tridiagonal_at(i, j) {
        1.0 => lower(i),
        -2.0 => upper(i),
        other => other,
    };
    solved(b.len(), at, b)
}

/// Every second place of a vector.
fn vector(device: &Device, len: usize) -> Result<SparseVector<f64>> {
    let places: Vec<i32> = (0..len as i32).step_by(2).collect();
    let values: Vec<f64> = places.iter().map(|i| 1.0 + f64::from(*i)).collect();
    Ok(device.sparse().vector(len, device.buffer(places)?, device.buffer(values)?)?.await_result()?)
}

fn stored(i: usize) -> f64 {
    if i.is_multiple_of(2) { 1.0 + i as f64 } else { 0.0 }
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "spmv",
        operands: "x:n -> y:m",
        element: small,
        call: |device, laid| {
            let a = matrix(device, laid[1].layout.len(), laid[0].layout.len())?;
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            let y = device.sparse().spmv(Spmv::new().beta(2.0), &a, &x, y)?.into_output();
            device.to_vec(y.buffer())
        },
        loops: |all| each(&all[1].extents, |at| product(&all[0], at[0], |l| vec![l]) + 2.0 * all[1].at(at)),
        refused: &[("x y: strided flipped broadcast", NEIGHBOURS)],
    },
    Case {
        name: "spmm",
        operands: "b:nk -> c:mk",
        element: small,
        call: |device, laid| {
            let a = matrix(device, laid[1].layout.shape()[0], laid[0].layout.shape()[0])?;
            let [b, c] = [0, 1].map(|at| laid[at].tensor(device));
            let c = device.sparse().spmm(Spmm::new().beta(2.0), &a, &b, c)?.into_output();
            device.to_vec(c.buffer())
        },
        loops: |all| each(&all[1].extents, |at| product(&all[0], at[0], |l| vec![l, at[1]]) + 2.0 * all[1].at(at)),
        refused: &[("b c: strided flipped broadcast", COPY)],
    },
    Case {
        name: "sddmm",
        operands: "a:mk b:kn",
        element: small,
        call: |device, laid| {
            let pattern = made(device, laid[0].layout.shape()[0], laid[1].layout.shape()[1], |_, _| Some(1.0))?;
            let [a, b] = [0, 1].map(|at| laid[at].tensor(device));
            let values = device.uninit([pattern.nnz()])?;
            device.to_vec(&device.sparse().sddmm(Sddmm::new().alpha(2.0), &pattern, &a, &b, values)?)
        },
        loops: |all| {
            let inner = |i: usize, j: usize| -> f64 {
                (0..all[0].extents[1]).map(|k| all[0].at(&[i, k]) * all[1].at(&[k, j])).sum()
            };
            each(&[all[0].extents[0], all[1].extents[1]], |at| 2.0 * inner(at[0], at[1]))
        },
        refused: &[("a b: strided flipped broadcast", COPY)],
    },
    Case {
        name: "sddmm, its values",
        operands: "-> values:m",
        element: small,
        call: |device, laid| {
            let pattern = made(device, 1, laid[0].layout.len(), |_, _| Some(1.0))?;
            let (a, b) = (device.full([1, 2], 1.0)?, device.full([2, pattern.cols()], 3.0)?);
            let spec = Sddmm::new().beta(2.0);
            let values = device.sparse().sddmm(spec, &pattern, &a, &b, laid[0].tensor(device))?.into_output();
            device.to_vec(values.buffer())
        },
        loops: |all| each(&all[0].extents, |at| 6.0 + 2.0 * all[0].at(at)),
        refused: &[("values: strided flipped", NEIGHBOURS)],
    },
    Case {
        name: "to_dense",
        operands: "-> dense:mn",
        element: small,
        call: |device, laid| {
            let a = matrix(device, laid[0].layout.shape()[0], laid[0].layout.shape()[1])?;
            let dense = device.sparse().to_dense(&a, laid[0].tensor(device))?.into_output();
            device.to_vec(dense.buffer())
        },
        loops: |all| each(&all[0].extents, |at| element(at[0], at[1]).unwrap_or(0.0)),
        refused: &[("dense: strided flipped", COPY)],
    },
    Case {
        name: "from_dense",
        operands: "dense:mn",
        element: small,
        call: |device, laid| {
            let a: Csr<f64> = device.sparse().from_dense(&laid[0].tensor(device), 2.0)?;
            device.to_vec(&device.sparse().to_dense(&a, device.uninit([a.rows(), a.cols()])?)?)
        },
        loops: |all| each(&all[0].extents, |at| if all[0].at(at).abs() > 2.0 { all[0].at(at) } else { 0.0 }),
        refused: &[("dense: strided flipped broadcast", COPY)],
    },
    Case {
        name: "spsv",
        operands: "b:n -> x:n",
        element: small,
        call: |device, laid| {
            let [b, x] = [0, 1].map(|at| laid[at].tensor(device));
            let x = device.sparse().spsv(&triangle(device, b.len())?, 2.0, &b, x)?.into_output();
            device.to_vec(x.buffer())
        },
        loops: |all| solutions(&all[0], lower).into_iter().map(|x| 2.0 * x).collect(),
        refused: &[("b x: flipped broadcast", NEIGHBOURS)],
    },
    Case {
        name: "spsm",
        operands: "b:nk -> x:nk",
        element: small,
        call: |device, laid| {
            let [b, x] = [0, 1].map(|at| laid[at].tensor(device));
            let x = device.sparse().spsm(&triangle(device, b.shape()[0])?, 1.0, &b, x)?.into_output();
            device.to_vec(x.buffer())
        },
        loops: |all| solutions(&all[0], lower),
        refused: &[("b x: strided flipped broadcast", COPY)],
    },
    Case {
        name: "gtsv",
        operands: "lower:n upper:n -> b:n",
        element: small,
        call: |device, laid| {
            let [lower, upper, b] = [0, 1, 2].map(|at| laid[at].tensor(device));
            let d = device.full([b.len()], 20.0)?;
            let x = device.sparse().gtsv(&lower, &d, &upper, b)?.into_output();
            device.to_vec(x.buffer())
        },
        loops: |all| tridiagonal(|i| all[0].at(&[i]), |i| all[1].at(&[i]), all[2].elements.clone()),
        refused: &[("lower upper b: strided flipped broadcast", COPY)],
    },
    Case {
        name: "gtsv of columns",
        operands: "-> b:nk",
        element: small,
        call: |device, laid| {
            let b = laid[0].tensor(device);
            let diagonal = |x: f64| device.full([b.shape()[0]], x);
            let (lower, d, upper) = (diagonal(1.0)?, diagonal(20.0)?, diagonal(-2.0)?);
            let x = device.sparse().gtsv(&lower, &d, &upper, b)?.into_output();
            device.to_vec(x.buffer())
        },
        loops: |all| solutions(&all[0], tridiagonal_at),
        refused: &[("b: row-major offset strided flipped", COLUMNS)],
    },
    Case {
        name: "gtsv of a batch",
        operands: "-> b:bmn",
        element: small,
        call: |device, laid| {
            // The diagonals lie as the right-hand sides: all are equally far apart.
            let filled = |x: f64| device.fill(laid[0].tensor(device), x);
            let (lower, d, upper) = (filled(1.0)?, filled(20.0)?, filled(-2.0)?);
            let x = device.sparse().gtsv(&lower, &d, &upper, laid[0].tensor(device))?.into_output();
            device.to_vec(x.buffer())
        },
        loops: |all| {
            let n = all[0].extents[2].max(1);
            all[0].elements.chunks(n).flat_map(|b| tridiagonal(|_| 1.0, |_| -2.0, b.to_vec())).collect()
        },
        refused: &[("b: column-major transposed strided flipped", COPY)],
    },
    Case {
        name: "cholesky and solve",
        operands: "-> b:nk",
        element: small,
        call: |device, laid| {
            let (direct, b) = (device.direct(), laid[0].tensor(device));
            let a = square(device, b.shape()[0])?;
            let factor = direct.factor(&direct.analyse(Factorization::Cholesky(Uplo::Lower), &a)?, &a)?;
            let x = factor.solve(&direct, Transpose::No, b)?.into_output();
            device.to_vec(x.buffer())
        },
        loops: |all| solutions(&all[0], |i, j| dominant(&[i, j])),
        refused: &[("b: row-major offset strided flipped", COLUMNS)],
    },
    Case {
        name: "solve_qr",
        operands: "b:nk -> x:nk",
        element: small,
        call: |device, laid| {
            let (direct, [b, x]) = (device.direct(), [0, 1].map(|at| laid[at].tensor(device)));
            let a = square(device, b.shape()[0])?;
            let x = direct.solve_qr(&direct.analyse(Factorization::Qr, &a)?, &a, &b, x)?.await_result()?;
            device.to_vec(x.buffer())
        },
        loops: |all| solutions(&all[0], |i, j| dominant(&[i, j])),
        refused: &[("b x: row-major offset strided flipped broadcast", COLUMNS)],
    },
    Case {
        name: "cg",
        operands: "b:n -> x:n",
        element: small,
        call: |device, laid| {
            let [b, x] = [0, 1].map(|at| laid[at].tensor(device));
            let (a, how) = (square(device, b.len())?, Iteration::new().tolerance(1e-14));
            let solution = device.sparse().cg(&a, &Preconditioner::Identity, &b, x, &how)?;
            device.to_vec(solution.x.buffer())
        },
        loops: |all| solutions(&all[0], |i, j| dominant(&[i, j])),
        refused: &[("b x: strided flipped broadcast", NEIGHBOURS)],
    },
    Case {
        name: "axpby of a sparse vector",
        operands: "-> y:n",
        element: small,
        call: |device, laid| {
            let x = vector(device, laid[0].layout.len())?;
            device.to_vec(device.sparse().axpby(2.0, &x, 3.0, laid[0].tensor(device))?.into_output().buffer())
        },
        loops: |all| each(&all[0].extents, |at| 2.0 * stored(at[0]) + 3.0 * all[0].at(at)),
        refused: &[("y: strided flipped", NEIGHBOURS)],
    },
    Case {
        name: "scatter of a sparse vector",
        operands: "-> y:n",
        element: small,
        call: |device, laid| {
            let x = vector(device, laid[0].layout.len())?;
            device.to_vec(device.sparse().scatter(&x, laid[0].tensor(device))?.into_output().buffer())
        },
        loops: |all| each(&all[0].extents, |at| if at[0].is_multiple_of(2) { stored(at[0]) } else { all[0].at(at) }),
        refused: &[("y: strided flipped", NEIGHBOURS)],
    },
    Case {
        name: "gather by a sparse vector",
        operands: "y:n",
        element: small,
        call: |device, laid| {
            let (y, x) = (laid[0].tensor(device), vector(device, laid[0].layout.len())?);
            device.to_vec(&device.sparse().gather(&y, &x, device.uninit([x.nnz()])?)?)
        },
        loops: |all| all[0].elements.iter().step_by(2).copied().collect(),
        refused: &[("y: strided flipped broadcast", NEIGHBOURS)],
    },
    Case {
        name: "dot of a sparse vector",
        operands: "y:n",
        element: small,
        call: |device, laid| {
            let x = vector(device, laid[0].layout.len())?;
            Ok(vec![device.sparse().dot(&x, &laid[0].tensor(device))?.await_result()?])
        },
        loops: |all| vec![all[0].elements.iter().enumerate().map(|(i, y)| stored(i) * y).sum()],
        refused: &[("y: strided flipped broadcast", NEIGHBOURS)],
    },
    Case {
        name: "rot of a sparse vector",
        operands: "-> y:n",
        element: small,
        call: |device, laid| {
            let x = vector(device, laid[0].layout.len())?;
            let values = device.full([x.nnz()], 4.0)?;
            let (_, y) = device.sparse().rot(0.0, 1.0, &x, values, laid[0].tensor(device))?.into_output();
            device.to_vec(y.buffer())
        },
        loops: |all| each(&all[0].extents, |at| if at[0].is_multiple_of(2) { -4.0 } else { all[0].at(at) }),
        refused: &[("y: strided flipped", NEIGHBOURS)],
    },
    Case {
        name: "scale",
        operands: "rows:m columns:n",
        element: small,
        call: |device, laid| {
            let [rows, columns] = [0, 1].map(|at| laid[at].tensor(device));
            let a = matrix(device, rows.len(), columns.len())?;
            let a = device.sparse().scale(&a, Some(rows.view()), Some(columns.view()))?;
            device.to_vec(&device.sparse().to_dense(&a, device.uninit([a.rows(), a.cols()])?)?)
        },
        loops: |all| {
            let extents = [all[0].extents[0], all[1].extents[0]];
            each(&extents, |at| all[0].at(&at[..1]) * element(at[0], at[1]).unwrap_or(0.0) * all[1].at(&at[1..]))
        },
        refused: &[("rows columns: strided flipped broadcast", NEIGHBOURS)],
    },
];
