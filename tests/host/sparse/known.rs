//! What SciPy says of matrices of every kind (`known.txt`, made by `known.py`), beside what the device says. All numbers are
//! small multiples of powers of two, so both are exact.
#![allow(unreachable_pub, reason = "the stand-in's tests use it as well")]

use super::model::{Model, Place};
use crate::common::{devices, down, up};
use std::collections::BTreeMap;
use windlass::sparse::{Compressed, Csc, Csr, Major, Sddmm, SparseMatrix, Spmm, Spmv};
use windlass::tensor::Layout;
use windlass::{Device, Transpose};

/// Entries that are not zero, and their sums weighed by place and by order.
type Answer = (usize, f64, f64);

fn mixed(i: usize, j: usize, seed: usize) -> usize {
    let mut h = (i * 2_654_435_761 + j * 40_503 + seed * 97) & 0xffff_ffff;
    h ^= h >> 15;
    h = (h * 2_246_822_519) & 0xffff_ffff;
    h ^ h >> 13
}

fn made(rows: usize, cols: usize, seed: usize, here: impl Fn(usize, usize) -> bool) -> Model<f64> {
    let mut model = Model::new(rows, cols);
    for i in 0..rows {
        for j in (0..cols).filter(|j| here(i, *j)) {
            let value = (mixed(i, j, seed + 1) % 19) as f64 - 9.0;
            model.entries.insert((i, j), if value == 0.0 { 0.125 } else { value / 4.0 });
        }
    }
    model
}

fn percent(p: usize, seed: usize) -> impl Fn(usize, usize) -> bool {
    move |i, j| mixed(i, j, seed) % 100 < p
}

fn all() -> Vec<(&'static str, Model<f64>)> {
    vec![
        ("random", made(37, 41, 1, percent(20, 1))),
        ("banded", made(40, 40, 1, |i, j| i.abs_diff(j) < 3)),
        ("power", made(60, 50, 1, |i, j| (i + 1) * (j + 1) < 60)),
        ("empty", made(30, 26, 1, |i, j| i % 3 == 1 && j % 4 == 2)),
        ("dense_row", made(20, 60, 1, |i, j| i == 7 || mixed(i, j, 1) % 100 < 1)),
        ("wide", made(3, 120, 1, percent(30, 1))),
        ("tall", made(120, 3, 1, percent(30, 1))),
        ("none", made(5, 6, 1, |_, _| false)),
        ("no_rows", made(0, 7, 1, |_, _| true)),
        ("no_columns", made(7, 0, 1, |_, _| true)),
        ("nothing", made(0, 0, 1, |_, _| true)),
    ]
}

fn answer(entries: impl IntoIterator<Item = ((usize, usize), f64)>) -> Answer {
    let sorted: BTreeMap<_, _> = entries.into_iter().filter(|(_, x)| *x != 0.0).collect();
    let by_place = sorted.iter().map(|((i, j), x)| (1 + (7 * i + 13 * j) % 17) as f64 * x).sum();
    let by_order = sorted.values().enumerate().map(|(p, x)| (1 + p % 7) as f64 * x).sum();
    (sorted.len(), by_place, by_order)
}

/// Of a dense matrix, by rows.
fn dense(columns: usize, x: Vec<f64>) -> Answer {
    answer(x.into_iter().enumerate().map(|(p, x)| ((p / columns, p % columns), x)))
}

/// What works on compressed rows and columns alike.
fn compressed<I: Place, M: Major>(
    device: &Device,
    a: &Compressed<f64, I, M>,
    b: &Compressed<f64, I, M>,
    mask: &Compressed<f64, I, M>,
    (x, y): (&[f64], &[f64]),
) -> Vec<(&'static str, Answer)>
where
    Compressed<f64, I, M>: SparseMatrix<f64, I>,
{
    let (sparse, (rows, cols)) = (device.sparse(), (a.rows(), a.cols()));
    let down = |a: &Compressed<f64, I, M>| answer(Model::down(device, a, M::ROWS).entries);
    let (x_up, y_up) = (up(device, x), up(device, y));
    let turned = sparse.transpose(a).unwrap();
    let mut all = vec![
        ("itself", down(a)),
        ("gram", down(&sparse.gram(a).unwrap())),
        ("spgemm", down(&sparse.spgemm(0.5, &turned, b).unwrap())),
        ("add", down(&sparse.add(2.0, a, -3.0, b).unwrap())),
        ("transposed", down(&turned)),
        ("lower", down(&sparse.lower(a, 1).unwrap())),
        ("upper", down(&sparse.upper(a, -1).unwrap())),
        ("below", down(&sparse.vstack(&[a, b, a]).unwrap())),
        ("beside", down(&sparse.hstack(&[a, b, a]).unwrap())),
        ("rows", down(&sparse.slice_rows(a, rows / 3..if rows > 0 { rows / 2 + 1 } else { 0 }).unwrap())),
        ("columns", down(&sparse.slice_cols(a, cols / 3..if cols > 0 { cols / 2 + 1 } else { 0 }).unwrap())),
        ("large", down(&sparse.drop_small(a, 1.0).unwrap())),
        ("row_sums", dense(1, crate::common::down(device, &sparse.row_sums(a).unwrap()))),
        ("column_sums", dense(1, crate::common::down(device, &sparse.column_sums(a).unwrap()))),
        ("scaled", down(&sparse.scale(a, Some((&y_up).into()), Some((&x_up).into())).unwrap())),
    ];
    let values = sparse.spgemm_masked(1.0, a, &turned, mask, device.uninit(mask.nnz()).unwrap()).unwrap();
    let masked = mask.with_values(values.await_result().unwrap().into_buffer()).unwrap();
    all.push(("masked", down(&masked)));
    if rows > 0 && cols > 0 {
        all.push(("diagonal", dense(1, crate::common::down(device, &sparse.diagonal(a, 0).unwrap()))));
        let below = sparse.diagonal(a, -1).unwrap();
        all.push(("diagonal_below", dense(1, crate::common::down(device, &below))));
    }
    all
}

/// Products with dense vectors and matrices, in any format.
fn products<I: Place>(
    device: &Device,
    a: &impl SparseMatrix<f64, I>,
    (x, y): (&[f64], &[f64]),
) -> Vec<(&'static str, Answer)> {
    let sparse = device.sparse();
    let (x_up, y_up) = (up(device, x), up(device, y));
    let wide: Vec<f64> = x.iter().flat_map(|x| [*x, 2.0 * x, x - 1.0]).collect();
    let room = |len: usize| device.uninit(len).unwrap();
    let spmv = sparse.spmv(Spmv::new().alpha(3.0), a, &x_up, room(y.len())).unwrap().into_output();
    let spec = Spmv::new().trans(Transpose::Yes);
    let turned = sparse.spmv(spec, a, &y_up, room(x.len())).unwrap().into_output();
    let matrix = |data: Vec<f64>, cols| {
        let b = device.tensor([x.len(), cols], data).unwrap();
        sparse.spmm(Spmm::new(), a, &b, device.uninit([y.len(), cols]).unwrap()).unwrap().into_output()
    };
    let spmm = matrix(wide, 3);
    let many: Vec<f64> = x.iter().flat_map(|x| (1..=20).map(move |k| x * f64::from(k))).collect();
    let spmm_20 = matrix(many, 20);
    vec![
        ("spmm_20", dense(20, down(device, &spmm_20))),
        ("spmv", dense(1, down(device, &spmv))),
        ("spmv_transposed", dense(1, down(device, &turned))),
        ("spmm", dense(3, down(device, &spmm))),
    ]
}

#[test]
fn answers_are_those_of_scipy_to_the_bit() {
    check(devices());
}

/// Each of these devices answers as SciPy does.
pub fn check(devices: impl IntoIterator<Item = Device>) {
    let mut known = BTreeMap::new();
    for line in include_str!("known.txt").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = (words[2].parse().unwrap(), words[3].parse().unwrap(), words[4].parse().unwrap());
        known.insert((words[0], words[1]), answer);
    }
    for device in devices {
        let sparse = device.sparse();
        let mut seen = std::collections::BTreeSet::new();
        let mut check = |name: &'static str, how: &str, all: Vec<(&'static str, Answer)>| {
            for (op, got) in all {
                let want: Answer = known[&(name, op)];
                assert_eq!(got, want, "{op} of {name}, {how}");
                seen.insert((name, op));
            }
        };
        for (name, a) in all() {
            let (b, mask) = (made(a.rows, a.cols, 5, percent(15, 5)), made(a.rows, a.rows, 1, percent(25, 9)));
            let x: Vec<f64> = (0..a.cols).map(|k| ((k % 7) as f64 - 3.0) / 2.0).collect();
            let y: Vec<f64> = (0..a.rows).map(|k| ((k % 5) as f64 - 2.0) / 4.0).collect();
            let csr: [Csr<f64, i32>; 3] = [&a, &b, &mask].map(|model| model.up_csr(&device));
            let csc: [Csc<f64, i64>; 3] = [&a, &b, &mask].map(|model| model.up_csc(&device));
            check(name, "rows", compressed(&device, &csr[0], &csr[1], &csr[2], (&x, &y)));
            check(name, "columns", compressed(&device, &csc[0], &csc[1], &csc[2], (&x, &y)));
            check(name, "rows", products(&device, &csr[0], (&x, &y)));
            check(name, "columns", products(&device, &csc[0], (&x, &y)));
            check(name, "coordinates", products(&device, &a.up_coo::<i32>(&device), (&x, &y)));

            let [x_up, y_up] = [&x, &y].map(|x| up(&device, &x[..]));
            let values = up(&device, b.entries.values().copied().collect::<Vec<_>>());
            let (column, row) = (Layout::columns(a.rows, 1), Layout::rows(1, a.cols));
            let (column, row) = (y_up.view(column).unwrap(), x_up.view(row).unwrap());
            let spec = Sddmm::new().beta(2.0);
            let sampled = sparse.sddmm(spec, &csr[1], column, row, values).unwrap().await_result().unwrap();
            let sampled = answer(b.entries.keys().copied().zip(down(&device, &sampled)));

            let (rows, columns, entries) = a.triplets::<i32>();
            let twice = |x: &[i32]| up(&device, x.iter().chain(x.iter().rev()).copied().collect::<Vec<_>>());
            let entries: Vec<f64> = entries.iter().copied().chain(entries.iter().rev().map(|x| x / 2.0)).collect();
            let (rows, columns) = (twice(&rows), twice(&columns));
            let sums = sparse.sum_duplicates(a.rows, a.cols, &rows, &columns, &up(&device, entries)).unwrap();
            let places = down(&device, sums.row_indices()).into_iter().zip(down(&device, sums.column_indices()));
            let places = places.map(|(i, j)| (i as usize, j as usize));
            let sums = answer(places.zip(down(&device, sums.values())));
            check(name, "rows", vec![("sampled", sampled), ("duplicates", sums)]);
        }
        assert!(known.keys().all(|key| seen.contains(key)), "{:?}", known.keys().find(|key| !seen.contains(*key)));
    }
}
