//! Level 2 of BLAS: buffers with an order, a leading dimension and increments.

use super::case::{Case, dominant, small};
use super::laid::each;
use super::{NO_INCREMENT, NO_LEADING};
use windlass::blas::{Gemv, Ger, Trmv};
use windlass::{Order, Transpose, Uplo};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "gemv",
        operands: "a:mn x:n -> y:m",
        element: small,
        call: |device, laid| {
            let (order, lda) = laid[0].matrix(Order::Row)?;
            let [m, n] = *laid[0].layout.shape() else { panic!("a matrix") };
            let spec = Gemv::new(m, n).lda(lda).beta(2.0);
            let spec = if order == Order::Row { spec.row_major() } else { spec };
            let (a, x) = (laid[0].buffer(device), laid[1].buffer(device));
            let y = laid[2].vector_mut(device)?;
            let y = device.blas().gemv(spec, laid[0].part(&a)?, laid[1].vector(&x)?, y)?.into_output();
            device.to_vec(&y.widen())
        },
        loops: |all| {
            let row = |i: usize| (0..all[1].elements.len()).map(|j| all[0].at(&[i, j]) * all[1].at(&[j])).sum::<f64>();
            // BLAS's rule: without columns or rows y stays, and is not scaled.
            let scale = if all[1].elements.is_empty() { 1.0 } else { 2.0 };
            each(&all[2].extents, |at| row(at[0]) + scale * all[2].at(at))
        },
        refused: &[("a: strided flipped broadcast", NO_LEADING), ("x: broadcast", NO_INCREMENT)],
    },
    Case {
        name: "gemv, transposed",
        operands: "a:mn x:m -> y:n",
        element: small,
        call: |device, laid| {
            let (order, lda) = laid[0].matrix(Order::Row)?;
            let [m, n] = *laid[0].layout.shape() else { panic!("a matrix") };
            let spec = Gemv::new(m, n).lda(lda).trans(Transpose::Yes);
            let spec = if order == Order::Row { spec.row_major() } else { spec };
            let (a, x) = (laid[0].buffer(device), laid[1].buffer(device));
            let y = laid[2].vector_mut(device)?;
            let y = device.blas().gemv(spec, laid[0].part(&a)?, laid[1].vector(&x)?, y)?.into_output();
            device.to_vec(&y.widen())
        },
        loops: |all| {
            let column = |j: usize| (0..all[1].elements.len()).map(|i| all[0].at(&[i, j]) * all[1].at(&[i])).sum();
            each(&all[2].extents, |at| if all[1].elements.is_empty() { all[2].at(at) } else { column(at[0]) })
        },
        refused: &[("a: strided flipped broadcast", NO_LEADING), ("x: broadcast", NO_INCREMENT)],
    },
    Case {
        name: "ger",
        operands: "x:m y:n -> a:mn",
        element: small,
        call: |device, laid| {
            let (order, lda) = laid[2].matrix(Order::Row)?;
            let [m, n] = *laid[2].layout.shape() else { panic!("a matrix") };
            let spec = Ger::new(m, n).lda(lda);
            let spec = if order == Order::Row { spec.row_major() } else { spec };
            let (x, y) = (laid[0].buffer(device), laid[1].buffer(device));
            let a = laid[2].part_mut(device)?;
            let a = device.blas().ger(spec, laid[0].vector(&x)?, laid[1].vector(&y)?, a)?.into_output();
            device.to_vec(&a.widen())
        },
        loops: |all| each(&all[2].extents, |at| all[0].at(&at[..1]) * all[1].at(&at[1..]) + all[2].at(at)),
        refused: &[("x y: broadcast", NO_INCREMENT), ("a: strided flipped", NO_LEADING)],
    },
    Case {
        name: "trsv of the lower triangle",
        operands: "a:nn -> x:n",
        element: dominant,
        call: |device, laid| {
            let (order, lda) = laid[0].matrix(Order::Row)?;
            let spec = Trmv::new(laid[0].layout.shape()[0], Uplo::Lower).lda(lda);
            let spec = if order == Order::Row { spec.row_major() } else { spec };
            let a = laid[0].buffer(device);
            let x = device.blas().trsv(spec, laid[0].part(&a)?, laid[1].vector_mut(device)?)?.into_output();
            device.to_vec(&x.widen())
        },
        loops: |all| {
            let mut x = all[1].elements.clone();
            for i in 0..x.len() {
                x[i] = (x[i] - (0..i).map(|j| all[0].at(&[i, j]) * x[j]).sum::<f64>()) / all[0].at(&[i, i]);
            }
            x
        },
        refused: &[("a: strided flipped broadcast", NO_LEADING)],
    },
];
