//! Level 1 of BLAS: vectors of any distance.

use super::case::{Case, small};
use super::laid::each;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "dot",
        operands: "x:n y:n",
        element: small,
        call: |device, laid| {
            let (x, y) = (laid[0].tensor(device), laid[1].tensor(device));
            Ok(vec![device.blas().dot(&x, &y)?.await_result()?])
        },
        loops: |all| vec![all[0].elements.iter().zip(&all[1].elements).map(|(x, y)| x * y).sum()],
        refused: &[("x y: broadcast", "increment of 0")],
    },
    Case {
        name: "axpy",
        operands: "x:n -> y:n",
        element: small,
        call: |device, laid| {
            let x = laid[0].tensor(device);
            let y = device.blas().axpy(2.0, &x, laid[1].tensor(device))?.into_output();
            device.to_vec(y.buffer())
        },
        loops: |all| each(&all[0].extents, |at| 2.0 * all[0].at(at) + all[1].at(at)),
        refused: &[("x: broadcast", "increment of 0")],
    },
    Case {
        name: "copy",
        operands: "x:n -> y:n",
        element: small,
        call: |device, laid| {
            let x = laid[0].tensor(device);
            let y = device.blas().copy(&x, laid[1].tensor(device))?.into_output();
            device.to_vec(y.buffer())
        },
        loops: |all| all[0].elements.clone(),
        refused: &[("x: broadcast", "increment of 0")],
    },
    Case {
        name: "scal",
        operands: "-> x:n",
        element: small,
        call: |device, laid| {
            let x = device.blas().scal(3.0, laid[0].tensor(device))?.into_output();
            device.to_vec(x.buffer())
        },
        loops: |all| all[0].elements.iter().map(|x| 3.0 * x).collect(),
        refused: &[],
    },
    Case {
        name: "nrm2",
        operands: "x:n",
        element: small,
        call: |device, laid| {
            let x = laid[0].tensor(device);
            Ok(vec![device.blas().nrm2(&x)?.await_result()?])
        },
        loops: |all| vec![all[0].elements.iter().map(|x| x * x).sum::<f64>().sqrt()],
        refused: &[("x: broadcast", "increment of 0")],
    },
    Case {
        name: "asum",
        operands: "x:n",
        element: small,
        call: |device, laid| {
            let x = laid[0].tensor(device);
            Ok(vec![device.blas().asum(&x)?.await_result()?])
        },
        loops: |all| vec![all[0].elements.iter().map(|x| x.abs()).sum()],
        refused: &[("x: broadcast", "increment of 0")],
    },
    Case {
        name: "iamax",
        operands: "x:n",
        element: small,
        call: |device, laid| {
            let x = laid[0].tensor(device);
            let found = device.blas().iamax(&x)?.await_result()?;
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
        refused: &[("x: broadcast", "increment of 0")],
    },
];
