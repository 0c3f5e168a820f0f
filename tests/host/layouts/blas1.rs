//! Level 1 of BLAS: buffers with an increment. What runs backwards is empty for the calls of one vector.

use super::NO_INCREMENT;
use super::case::{Case, small};
use super::laid::each;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "dot",
        operands: "x:n y:n",
        element: small,
        call: |device, laid| {
            let (x, y) = (laid[0].buffer(device), laid[1].buffer(device));
            Ok(vec![device.blas().dot(laid[0].vector(&x)?, laid[1].vector(&y)?)?.await_result()?])
        },
        loops: |all| vec![all[0].elements.iter().zip(&all[1].elements).map(|(x, y)| x * y).sum()],
        refused: &[("x y: broadcast", NO_INCREMENT)],
    },
    Case {
        name: "axpy",
        operands: "x:n -> y:n",
        element: small,
        call: |device, laid| {
            let x = laid[0].buffer(device);
            let y = device.blas().axpy(2.0, laid[0].vector(&x)?, laid[1].vector_mut(device)?)?.into_output();
            device.to_vec(&y.widen())
        },
        loops: |all| each(&all[0].extents, |at| 2.0 * all[0].at(at) + all[1].at(at)),
        refused: &[("x: broadcast", NO_INCREMENT)],
    },
    Case {
        name: "copy",
        operands: "x:n -> y:n",
        element: small,
        call: |device, laid| {
            let x = laid[0].buffer(device);
            let y = device.blas().copy(laid[0].vector(&x)?, laid[1].vector_mut(device)?)?.into_output();
            device.to_vec(&y.widen())
        },
        loops: |all| all[0].elements.clone(),
        refused: &[("x: broadcast", NO_INCREMENT)],
    },
    Case {
        name: "scal",
        operands: "-> x:n",
        element: small,
        call: |device, laid| {
            laid[0].forwards()?;
            let x = device.blas().scal(3.0, laid[0].vector_mut(device)?)?.into_output();
            device.to_vec(&x.widen())
        },
        loops: |all| all[0].elements.iter().map(|x| 3.0 * x).collect(),
        refused: &[("x: flipped", NO_INCREMENT)],
    },
    Case {
        name: "nrm2",
        operands: "x:n",
        element: small,
        call: |device, laid| {
            laid[0].forwards()?;
            let x = laid[0].buffer(device);
            Ok(vec![device.blas().nrm2(laid[0].vector(&x)?)?.await_result()?])
        },
        loops: |all| vec![all[0].elements.iter().map(|x| x * x).sum::<f64>().sqrt()],
        refused: &[("x: flipped broadcast", NO_INCREMENT)],
    },
    Case {
        name: "asum",
        operands: "x:n",
        element: small,
        call: |device, laid| {
            laid[0].forwards()?;
            let x = laid[0].buffer(device);
            Ok(vec![device.blas().asum(laid[0].vector(&x)?)?.await_result()?])
        },
        loops: |all| vec![all[0].elements.iter().map(|x| x.abs()).sum()],
        refused: &[("x: flipped broadcast", NO_INCREMENT)],
    },
    Case {
        name: "iamax",
        operands: "x:n",
        element: small,
        call: |device, laid| {
            laid[0].forwards()?;
            let x = laid[0].buffer(device);
            let found = device.blas().iamax(laid[0].vector(&x)?)?.await_result()?;
            Ok(vec![found.map_or(-1.0, |at| at as f64)])
        },
        loops: |all| {
            let mut best = None;
            for (at, x) in all[0].elements.iter().enumerate() {
                if best.is_none_or(|(_, most)| x.abs() > most) {
                    best = Some((at, x.abs()));
                }
            }
            vec![best.map_or(-1.0, |(at, _)| at as f64)]
        },
        refused: &[("x: flipped broadcast", NO_INCREMENT)],
    },
];
