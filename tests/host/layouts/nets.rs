//! Norms and attention.

use super::case::{Case, small};
use super::laid::each;
use windlass::dnn::{Affine, Attention, NormKind};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "norm of rows",
        operands: "x:mn w:n",
        element: small,
        call: |device, laid| {
            let [x, w] = [0, 1].map(|at| laid[at].tensor(device));
            let norm = device.dnn().norm(&x, NormKind::Layer(1), 1e-5, &Affine::weight(&w))?;
            device.to_vec(&norm.into_output().0)
        },
        loops: |all| {
            let n = all[0].extents[1] as f64;
            each(&all[0].extents, |at| {
                let row = || (0..all[0].extents[1]).map(|j| all[0].at(&[at[0], j]));
                let mean = row().sum::<f64>() / n;
                let spread = row().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
                (all[0].at(at) - mean) / (spread + 1e-5).sqrt() * all[1].at(&at[1..])
            })
        },
        refused: &[],
    },
    Case {
        name: "attend",
        operands: "q:bbmk k:bbnk v:bbnk",
        element: |at| small(at) / 4.0,
        call: |device, laid| {
            let [q, k, v] = [0, 1, 2].map(|at| laid[at].tensor(device));
            device.to_vec(&device.dnn().attend(&Attention::new(), &q, &k, &v)?.into_output())
        },
        loops: |all| {
            let (n, width) = (all[1].extents[2], all[0].extents[3]);
            each(&all[0].extents, |at| {
                let [batch, head, i, w] = *at else { panic!("four axes") };
                let score = |j: usize| {
                    let products =
                        (0..width).map(|l| all[0].at(&[batch, head, i, l]) * all[1].at(&[batch, head, j, l]));
                    (products.sum::<f64>() / (width as f64).sqrt()).exp()
                };
                let sum: f64 = (0..n).map(score).sum();
                if n == 0 { 0.0 } else { (0..n).map(|j| score(j) / sum * all[2].at(&[batch, head, j, w])).sum() }
            })
        },
        refused: &[],
    },
];
