//! Reductions, scans, sorts, moves, formulas and contractions: they read any layout, and write any.

use super::case::{Case, small};
use super::laid::{Array, each};
use windlass::arrays::{Distance, SearchSide};
use windlass::moves::Pad;
use windlass::reductions::{All, Max};
use windlass::{Device, Result, Tensor};

fn out(device: &Device, y: &Tensor<f64>) -> Result<Vec<f64>> {
    device.to_vec(y)
}

/// What `f` makes of each row.
fn rows(x: &Array, f: impl FnMut(&[f64]) -> Vec<f64>) -> Vec<f64> {
    match x.extents[..] {
        [_, 0] | [0, _] => vec![],
        [_, n] => x.elements.chunks(n).flat_map(f).collect(),
        _ => panic!("a matrix"),
    }
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "to_vec",
        operands: "x:bmn",
        element: small,
        call: |device, laid| device.to_vec(&laid[0].tensor(device)),
        loops: |all| all[0].elements.clone(),
        refused: &[],
    },
    Case {
        name: "contiguous",
        operands: "x:bmn",
        element: small,
        call: |device, laid| out(device, &device.contiguous(&laid[0].tensor(device))?.into_output()),
        loops: |all| all[0].elements.clone(),
        refused: &[],
    },
    Case {
        name: "contiguous_columns",
        operands: "x:mn",
        element: small,
        call: |device, laid| {
            let y = device.contiguous_columns(&laid[0].tensor(device))?.into_output();
            assert!(y.layout().is_column_major());
            out(device, &y)
        },
        loops: |all| all[0].elements.clone(),
        refused: &[],
    },
    Case {
        name: "sum",
        operands: "x:bmn",
        element: small,
        call: |device, laid| out(device, &device.sum(&laid[0].tensor(device), 1)?.into_output()),
        loops: |all| {
            let [b, m, n] = all[0].extents[..] else { panic!("three axes") };
            each(&[b, n], |at| (0..m).map(|i| all[0].at(&[at[0], i, at[1]])).sum())
        },
        refused: &[],
    },
    Case {
        name: "reduce of two",
        operands: "x:mn y:mn",
        element: small,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            out(device, &device.reduce((&x, &y), All, |(x, y)| x - y, Max)?.into_output())
        },
        loops: |all| {
            let gaps = all[0].elements.iter().zip(&all[1].elements).map(|(x, y)| x - y);
            vec![gaps.fold(f64::NEG_INFINITY, f64::max)]
        },
        refused: &[("empty m", "no element"), ("empty n", "no element")],
    },
    Case {
        name: "norm2",
        operands: "x:mn",
        element: small,
        call: |device, laid| out(device, &device.norm2(&laid[0].tensor(device), All)?.into_output()),
        loops: |all| vec![all[0].elements.iter().map(|x| x * x).sum::<f64>().sqrt()],
        refused: &[],
    },
    Case {
        name: "argmax",
        operands: "x:mn",
        element: small,
        call: |device, laid| {
            let places = device.argmax(&laid[0].tensor(device), 1)?.into_output();
            Ok(device.to_vec(&places)?.into_iter().map(|at| at as f64).collect())
        },
        loops: |all| {
            rows(&all[0], |row| {
                let better = |best: usize, at: usize| if row[at] > row[best] { at } else { best };
                vec![(0..row.len()).fold(0, better) as f64]
            })
        },
        refused: &[("empty n", "no element")],
    },
    Case {
        name: "softmax",
        operands: "x:mn",
        element: small,
        call: |device, laid| out(device, &device.softmax(&laid[0].tensor(device), 1)?.into_output()),
        loops: |all| {
            rows(&all[0], |row| {
                let sum: f64 = row.iter().map(|x| x.exp()).sum();
                row.iter().map(|x| x.exp() / sum).collect()
            })
        },
        refused: &[],
    },
    Case {
        name: "cumsum",
        operands: "x:mn",
        element: small,
        call: |device, laid| out(device, &device.cumsum(&laid[0].tensor(device), 0)?.into_output()),
        loops: |all| each(&all[0].extents, |at| (0..=at[0]).map(|i| all[0].at(&[i, at[1]])).sum()),
        refused: &[],
    },
    Case {
        name: "sort",
        operands: "x:mn",
        element: small,
        call: |device, laid| out(device, &device.sort(&laid[0].tensor(device), 1)?.into_output()),
        loops: |all| {
            rows(&all[0], |row| {
                let mut row = row.to_vec();
                row.sort_by(f64::total_cmp);
                row
            })
        },
        refused: &[],
    },
    Case {
        name: "take",
        operands: "x:mn",
        element: small,
        call: |device, laid| {
            let x = laid[0].tensor(device);
            let last = x.shape()[1] as i64 - 1;
            out(device, &device.take(&x, &device.tensor([2], [last, 0])?, 1)?.await_result()?)
        },
        loops: |all| rows(&all[0], |row| vec![row[row.len() - 1], row[0]]),
        refused: &[("empty n", "there is no slice")],
    },
    Case {
        name: "concat",
        operands: "x:mn y:kn",
        element: small,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            out(device, &device.concat([&x, &y], 0)?.into_output())
        },
        loops: |all| [&all[0].elements[..], &all[1].elements].concat(),
        refused: &[],
    },
    Case {
        name: "pad",
        operands: "x:mn",
        element: small,
        call: |device, laid| {
            let x = laid[0].tensor(device);
            out(device, &device.pad(&x, &[(1, 0), (0, 2)], Pad::Constant(9.0))?.into_output())
        },
        loops: |all| {
            let [m, n] = all[0].extents[..] else { panic!("a matrix") };
            each(&[m + 1, n + 2], |at| if at[0] > 0 && at[1] < n { all[0].at(&[at[0] - 1, at[1]]) } else { 9.0 })
        },
        refused: &[],
    },
    Case {
        name: "roll",
        operands: "x:mn",
        element: small,
        call: |device, laid| out(device, &device.roll(&laid[0].tensor(device), 1, 1)?.into_output()),
        loops: |all| {
            let n = all[0].extents[1];
            each(&all[0].extents, |at| all[0].at(&[at[0], (at[1] + n - 1) % n]))
        },
        refused: &[],
    },
    Case {
        name: "assign",
        operands: "x:bmn -> y:bmn",
        element: small,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            out(device, &Tensor::from(device.assign(y, &x)?.into_buffer()))
        },
        loops: |all| all[0].elements.clone(),
        refused: &[],
    },
    Case {
        name: "fill_part",
        operands: "-> y:bmn",
        element: small,
        call: |device, laid| device.to_vec(device.fill(laid[0].tensor(device), 5.0)?.into_output().buffer()),
        loops: |all| vec![5.0; all[0].elements.len()],
        refused: &[],
    },
    Case {
        name: "map",
        operands: "x:mn y:mn",
        element: small,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            out(device, &device.map((&x, &y), |(x, y)| x * y + 1.0)?.into_output())
        },
        loops: |all| each(&all[0].extents, |at| all[0].at(at) * all[1].at(at) + 1.0),
        refused: &[],
    },
    Case {
        name: "operators",
        operands: "x:mn y:mn",
        element: small,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            out(device, &(&x * 2.0 - &y).eval(device)?.into_output())
        },
        loops: |all| each(&all[0].extents, |at| 2.0 * all[0].at(at) - all[1].at(at)),
        refused: &[],
    },
    Case {
        name: "map_into",
        operands: "x:mn -> y:mn",
        element: small,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            device.to_vec(device.map_into(&x, y, |x| x * x)?.into_output().buffer())
        },
        loops: |all| each(&all[0].extents, |at| all[0].at(at).powi(2)),
        refused: &[],
    },
    Case {
        name: "update",
        operands: "x:mn -> y:mn",
        element: small,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            device.to_vec(device.update(y, &x, |y, x| y * 3.0 - x)?.into_output().buffer())
        },
        loops: |all| each(&all[0].extents, |at| 3.0 * all[1].at(at) - all[0].at(at)),
        refused: &[],
    },
    Case {
        name: "matmul of contractions",
        operands: "a:mk b:kn",
        element: small,
        call: |device, laid| {
            let [a, b] = [0, 1].map(|at| laid[at].tensor(device));
            out(device, &device.tensor_ops().matmul(&a, &b)?.into_output())
        },
        loops: |all| {
            let [m, k, n] = [all[0].extents[0], all[0].extents[1], all[1].extents[1]];
            each(&[m, n], |at| (0..k).map(|l| all[0].at(&[at[0], l]) * all[1].at(&[l, at[1]])).sum())
        },
        refused: &[],
    },
    Case {
        name: "einsum of three",
        operands: "a:mk b:kn c:n",
        element: small,
        call: |device, laid| {
            let [a, b, c] = [0, 1, 2].map(|at| laid[at].tensor(device));
            out(device, &device.tensor_ops().einsum("mk,kn,n->m", (&a, &b, &c))?.into_output())
        },
        loops: |all| {
            let [m, k, n] = [all[0].extents[0], all[0].extents[1], all[1].extents[1]];
            let term = |i: usize, l: usize, j: usize| all[0].at(&[i, l]) * all[1].at(&[l, j]) * all[2].at(&[j]);
            each(&[m], |at| (0..k).flat_map(|l| (0..n).map(move |j| (l, j))).map(|(l, j)| term(at[0], l, j)).sum())
        },
        refused: &[],
    },
    Case {
        name: "nansum",
        operands: "x:bmn",
        element: small,
        call: |device, laid| out(device, &device.nansum(&laid[0].tensor(device), 1)?.into_output()),
        loops: |all| {
            let [b, m, n] = all[0].extents[..] else { panic!("three axes") };
            each(&[b, n], |at| (0..m).map(|i| all[0].at(&[at[0], i, at[1]])).sum())
        },
        refused: &[],
    },
    Case {
        name: "cdist",
        operands: "x:mk y:nk",
        element: small,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            out(device, &device.cdist(&x, &y, Distance::Euclidean)?.into_output())
        },
        loops: |all| {
            let [m, k, n] = [all[0].extents[0], all[0].extents[1], all[1].extents[0]];
            let square = |at: &[usize], l| (all[0].at(&[at[0], l]) - all[1].at(&[at[1], l])).powi(2);
            each(&[m, n], |at| (0..k).map(|l| square(at, l)).sum::<f64>().sqrt())
        },
        refused: &[],
    },
    Case {
        name: "diff",
        operands: "x:mn",
        element: small,
        call: |device, laid| out(device, &device.diff(&laid[0].tensor(device), 1, 1)?.into_output()),
        loops: |all| rows(&all[0], |row| row.windows(2).map(|pair| pair[1] - pair[0]).collect()),
        refused: &[],
    },
    Case {
        name: "trapezoid",
        operands: "y:mn x:n",
        element: small,
        call: |device, laid| {
            let [y, x] = [0, 1].map(|at| laid[at].tensor(device));
            out(device, &device.trapezoid(&y, &x, -1)?.into_output())
        },
        loops: |all| {
            let [m, n] = all[0].extents[..] else { panic!("a matrix") };
            let width = |j: usize| (all[1].at(&[j + 1]) - all[1].at(&[j])) / 2.0;
            let area = |i: usize, j: usize| width(j) * (all[0].at(&[i, j]) + all[0].at(&[i, j + 1]));
            each(&[m], |at| (0..n.saturating_sub(1)).map(|j| area(at[0], j)).sum())
        },
        refused: &[],
    },
    Case {
        name: "searchsorted of rows",
        operands: "x:mk y:mn",
        // They rise along the rows.
        element: |at| 2.0 * at[at.len() - 1] as f64,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            let places = device.searchsorted(&x, &y, SearchSide::Right)?;
            out(device, &device.map(&places, |place| place.cast::<f64>())?.into_output())
        },
        loops: |all| {
            let k = all[0].extents[1];
            let count = |at: &[usize]| (0..k).filter(|l| all[0].at(&[at[0], *l]) <= all[1].at(at)).count();
            each(&all[1].extents, |at| count(at) as f64)
        },
        refused: &[],
    },
    Case {
        name: "masked_assign",
        operands: "x:mn -> y:mn",
        element: small,
        call: |device, laid| {
            let [x, y] = [0, 1].map(|at| laid[at].tensor(device));
            let mask = device.map(&x, |x| x.gt(0.0))?.into_output();
            device.to_vec(device.masked_assign(y, &mask, &x)?.into_output().buffer())
        },
        loops: |all| each(&all[0].extents, |at| if all[0].at(at) > 0.0 { all[0].at(at) } else { all[1].at(at) }),
        refused: &[],
    },
];
