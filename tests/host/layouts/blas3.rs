//! Level 3 of BLAS, and cuBLASLt: tensors for products, else buffers with one order for all matrices and transpositions.

use super::NO_LEADING;
use super::case::{Case, dominant, small};
use super::laid::{Array, each};
use windlass::blas::{Geam, Syrk, Triangular};
use windlass::{Order, Side, Transpose, Uplo};

/// What a product says of a tensor that it cannot read.
const COPY: &str = "`contiguous` makes a copy";

/// A matrix of the other order is, in this one, the transposed matrix.
fn turned(order: Order, other: Order) -> Transpose {
    if order == other { Transpose::No } else { Transpose::Yes }
}

/// The sum of products along the columns of A and the rows of B; the indices before are those of a batch.
fn product(a: &Array, b: &Array, at: &[usize]) -> f64 {
    let [batch @ .., i, j] = at else { panic!("a matrix") };
    let k = a.extents[a.extents.len() - 1];
    (0..k).map(|l| a.at(&[batch, &[*i, l]].concat()) * b.at(&[batch, &[l, *j]].concat())).sum()
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "gemm_tensor",
        operands: "a:mk b:kn -> c:mn",
        element: small,
        call: |device, laid| {
            let [a, b, c] = [0, 1, 2].map(|at| laid[at].tensor(device));
            let c = device.blas().gemm_tensor(2.0, &a, &b, -1.0, c)?.into_output();
            device.to_vec(c.buffer())
        },
        loops: |all| each(&all[2].extents, |at| 2.0 * product(&all[0], &all[1], at) - all[2].at(at)),
        refused: &[("a b c: strided flipped broadcast", COPY)],
    },
    Case {
        name: "product of batches",
        operands: "a:bmk b:bkn",
        element: small,
        call: |device, laid| {
            let [a, b] = [0, 1].map(|at| laid[at].tensor(device));
            device.to_vec(&device.blas().product(&a, &b)?.into_output())
        },
        loops: |all| {
            let [[batch, m, _], [_, _, n]] = [&all[0].extents[..], &all[1].extents[..]].map(|x| [x[0], x[1], x[2]]);
            each(&[batch, m, n], |at| product(&all[0], &all[1], at))
        },
        refused: &[("a b: column-major strided flipped", COPY)],
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
            let d = device.blas_lt().matmul_tensor(&a, &b, d)?.into_output();
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
            let (order, ldc) = laid[1].matrix(Order::Row)?;
            let (other, lda) = laid[0].matrix(order)?;
            let [n, k] = *laid[0].layout.shape() else { panic!("a matrix") };
            let spec = Syrk::new(Uplo::Lower, n, k).lda(lda).ldc(ldc).beta(1.0).trans(turned(order, other));
            let spec = if order == Order::Row { spec.row_major() } else { spec };
            let a = laid[0].buffer(device);
            let c = device.blas().syrk(spec, laid[0].part(&a)?, laid[1].part_mut(device)?)?.into_output();
            device.to_vec(&c.widen())
        },
        loops: |all| {
            let k = all[0].extents[1];
            each(&all[1].extents, |at| match at {
                [i, j] if i < j => all[1].at(at),
                [i, j] => (0..k).map(|l| all[0].at(&[*i, l]) * all[0].at(&[*j, l])).sum::<f64>() + all[1].at(at),
                _ => panic!("a matrix"),
            })
        },
        refused: &[("a c: strided flipped broadcast", NO_LEADING)],
    },
    Case {
        name: "trsm of the lower triangle",
        operands: "a:mm -> b:mn",
        element: dominant,
        call: |device, laid| {
            let (order, ldb) = laid[1].matrix(Order::Row)?;
            let (other, lda) = laid[0].matrix(order)?;
            let [m, n] = *laid[1].layout.shape() else { panic!("a matrix") };
            let uplo = if order == other { Uplo::Lower } else { Uplo::Upper };
            let spec = Triangular::new(Side::Left, uplo, m, n).lda(lda).ldb(ldb).trans(turned(order, other));
            let spec = if order == Order::Row { spec.row_major() } else { spec };
            let a = laid[0].buffer(device);
            let b = device.blas().trsm(spec, laid[0].part(&a)?, laid[1].part_mut(device)?)?.into_output();
            device.to_vec(&b.widen())
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
        refused: &[("a b: strided flipped broadcast", NO_LEADING)],
    },
    Case {
        name: "geam",
        operands: "a:mn b:mn -> c:mn",
        element: small,
        call: |device, laid| {
            let (order, ldc) = laid[2].matrix(Order::Row)?;
            let ((order_a, lda), (order_b, ldb)) = (laid[0].matrix(order)?, laid[1].matrix(order)?);
            let [m, n] = *laid[2].layout.shape() else { panic!("a matrix") };
            let spec = Geam::new(m, n).lda(lda).ldb(ldb).ldc(ldc).beta(3.0);
            let spec = spec.trans_a(turned(order, order_a)).trans_b(turned(order, order_b));
            let spec = if order == Order::Row { spec.row_major() } else { spec };
            let (a, b) = (laid[0].buffer(device), laid[1].buffer(device));
            let c = laid[2].part_mut(device)?;
            let c = device.blas().geam(spec, laid[0].part(&a)?, laid[1].part(&b)?, c)?.into_output();
            device.to_vec(&c.widen())
        },
        loops: |all| each(&all[2].extents, |at| all[0].at(at) + 3.0 * all[1].at(at)),
        refused: &[("a b c: strided flipped broadcast", NO_LEADING)],
    },
];
