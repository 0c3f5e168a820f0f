//! Matrices of so many rows that a GPU shares each step among many blocks. All numbers are whole and small, so that every
//! answer is exact, whatever the order of its sums.

use super::matrices::poisson;
use super::model::Model;
use crate::common::{Rng, Sample, devices, down, up};
use crate::each_sparse;
use std::collections::BTreeMap;
use windlass::sparse::{SparseElement, Spmm, Spmv};
use windlass::tensor::Layout;
use windlass::{Diag, Transpose, Uplo};

/// Three entries a row, but for some that have many.
fn uneven(rng: &mut Rng, n: usize) -> Model<f64> {
    let mut model = Model::new(n, n);
    for i in 0..n {
        for j in i.saturating_sub(1)..(i + 2).min(n) {
            model.entries.insert((i, j), (rng.below(9) as f64) - 4.0);
        }
        for _ in 0..if i % 997 == 5 { 700 } else { 0 } {
            model.entries.insert((i, rng.below(n)), 1.0);
        }
    }
    model
}

/// By rows.
fn rows(model: &Model<f64>) -> Vec<Vec<(usize, f64)>> {
    let mut rows = vec![Vec::new(); model.rows];
    model.entries.iter().for_each(|((i, j), x)| rows[*i].push((*j, *x)));
    rows
}

#[test]
fn products_and_sums_of_many_rows_are_exact() {
    const N: usize = 20_000;
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(71), device.sparse());
        let (a, b) = (uneven(&mut rng, N), uneven(&mut rng, N));
        let (up_a, up_b) = (a.up_csr::<i32>(&device), b.up_csr::<i32>(&device));

        let of_b = rows(&b);
        let mut product = BTreeMap::new();
        for ((i, k), x) in &a.entries {
            of_b[*k].iter().for_each(|(j, y)| *product.entry((*i, *j)).or_insert(0.0) += 2.0 * x * y);
        }
        let got = sparse.spgemm(2.0, &up_a, &up_b).unwrap();
        assert!(Model::down(&device, &got, true).entries == product, "another product");

        let mut sum: BTreeMap<_, f64> = a.entries.iter().map(|(at, x)| (*at, 2.0 * x)).collect();
        b.entries.iter().for_each(|(at, y)| *sum.entry(*at).or_insert(0.0) += 3.0 * y);
        let got = sparse.add(2.0, &up_a, 3.0, &up_b).unwrap();
        assert!(Model::down(&device, &got, true).entries == sum, "another sum");
        let five = a.entries.iter().map(|(at, x)| (*at, 5.0 * x)).collect();
        let got = sparse.add(2.0, &up_a, 3.0, &up_a).unwrap();
        assert!(Model::down(&device, &got, true).entries == five, "another sum of one structure");
    }
}

#[test]
fn products_of_short_rows_with_a_vector_are_exact() {
    const N: usize = 3000;
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(85), device.sparse());
        let mut a = Model::new(N, N);
        for i in (0..N).filter(|i| i / 300 != 4) {
            // Three entries, or 58 and those.
            let far = (i % 7..if i % 97 == 5 { N } else { 0 }).step_by(52);
            for j in (i.saturating_sub(1)..(i + 2).min(N)).chain(far) {
                a.entries.insert((i, j), (rng.below(9) as f64) - 4.0);
            }
        }
        let x: Vec<f64> = (0..N).map(|_| rng.below(9) as f64 - 4.0).collect();
        let up_x = up(&device, &x[..]);
        let (rows, columns) = (a.up_csr::<i32>(&device), a.transposed().up_csr::<i64>(&device).transposed());
        for beta in [0.0, 3.0] {
            let mut wanted = vec![beta * 5.0; N];
            a.entries.iter().for_each(|((i, j), value)| wanted[*i] += 2.0 * value * x[*j]);
            let spec = Spmv::new().alpha(2.0).beta(beta);
            let y = sparse.spmv(spec.clone(), &rows, &up_x, up(&device, vec![5.0; N])).unwrap();
            assert!(down(&device, &y.into_output()) == wanted, "beta {beta}");
            let y = sparse.spmv(spec, &columns, &up_x, up(&device, vec![5.0; N])).unwrap();
            assert!(down(&device, &y.into_output()) == wanted, "beta {beta}, columns");
            let scalars = (up(&device, [2.0]), up(&device, [beta]));
            let spec = Spmv::new().alpha(&scalars.0).beta(&scalars.1);
            let y = sparse.spmv(spec, &rows, &up_x, up(&device, vec![5.0; N])).unwrap();
            assert!(down(&device, &y.into_output()) == wanted, "beta {beta} in device memory");
        }
        // The transpose of its transpose, by columns, is the same rows.
        let mut wanted = vec![0.0; N];
        a.entries.iter().for_each(|((i, j), value)| wanted[*i] += value * x[*j]);
        let spec = Spmv::new().trans(Transpose::Yes);
        let y = sparse.spmv(spec, &rows.transposed(), &up_x, device.uninit(N).unwrap()).unwrap();
        assert!(down(&device, &y.into_output()) == wanted, "the transpose of columns");
    }
}

/// An even number of columns at odd distances: no pair of numbers may be read at once.
fn odd_distances<T: Sample + SparseElement<Scalar: Sample>>() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(91), device.sparse());
        let a = uneven(&mut rng, 1500);
        let mut typed = Model::<T>::new(a.rows, a.cols);
        typed.entries = a.entries.iter().map(|(at, x)| (*at, T::real(*x))).collect();
        let csr = typed.up_csr::<i32>(&device);
        for (n, ldb, ldc) in [(2, 3, 2), (2, 2, 3), (4, 7, 5), (16, 17, 19), (30, 31, 30), (64, 64, 65), (64, 67, 64)] {
            for trans in [Transpose::No, Transpose::Yes] {
                // Small enough for sums that halves hold.
                let b: Vec<f64> = (0..a.rows * ldb).map(|_| if rng.below(64) == 0 { 1.0 } else { 0.0 }).collect();
                let mut wanted = vec![7.0; a.rows * ldc];
                wanted.chunks_mut(ldc).for_each(|row| row[..n].fill(0.0));
                for ((i, j), x) in &a.entries {
                    (0..n).for_each(|k| wanted[i * ldc + k] += x * b[j * ldb + k]);
                }
                let of = |x: &[f64]| x.iter().map(|x| T::real(*x)).collect::<Vec<T>>();
                let on_b = up(&device, of(&b));
                let on_b = match trans {
                    Transpose::No => on_b.view(Layout::rows(a.rows, n).ld(ldb)).unwrap(),
                    _ => on_b.view(Layout::columns(n, a.rows).ld(ldb)).unwrap().transpose(),
                };
                let old = up(&device, vec![T::real(7.0); a.rows * ldc]);
                let old = old.with_layout(Layout::rows(a.rows, n).ld(ldc)).unwrap();
                let c = sparse.spmm(Spmm::new(), &csr, &on_b, old).unwrap();
                assert!(down(&device, &c.into_buffer()) == of(&wanted), "{} {n} {ldb} {ldc} {trans:?}", T::DTYPE);
            }
        }
    }
}

#[test]
fn rows_of_even_length_at_odd_distances_are_read_number_by_number() {
    each_sparse!(odd_distances);
}

#[test]
fn products_with_many_columns_by_rows_are_exact() {
    const N: usize = 3000;
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(79), device.sparse());
        let all = [uneven(&mut rng, N), poisson(&[50, 60])].map(|a| (a.up_csr::<i32>(&device), a));
        let sizes = [(32, 32, 32), (70, 73, 72), (130, 130, 131)];
        for ((csr, a), (n, ldb, ldc)) in all.iter().flat_map(|one| sizes.map(|sizes| (one, sizes))) {
            let mut whole = |count: usize| (0..count).map(|_| rng.below(9) as f64 - 4.0).collect::<Vec<_>>();
            let (b, old) = (whole(N * ldb), whole(N * ldc));
            for beta in [0.0, 3.0] {
                let mut wanted: Vec<f64> = old.clone();
                wanted.chunks_mut(ldc).for_each(|row| row[..n].iter_mut().for_each(|x| *x *= beta));
                for ((i, j), x) in &a.entries {
                    (0..n).for_each(|k| wanted[i * ldc + k] += 2.0 * x * b[j * ldb + k]);
                }
                let (on_b, on_c) = (up(&device, &b[..]), up(&device, &old[..]));
                let on_b = on_b.view(Layout::rows(N, n).ld(ldb)).unwrap();
                let on_c = on_c.with_layout(Layout::rows(N, n).ld(ldc)).unwrap();
                let c = sparse.spmm(Spmm::new().alpha(2.0).beta(beta), csr, on_b, on_c).unwrap();
                assert!(down(&device, &c.into_buffer()) == wanted, "{n} columns, beta {beta}");
            }
        }
    }
}

#[test]
fn triangles_of_many_levels_and_rows_are_exact() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(73), device.sparse());
        let flat = [("a plane", poisson::<f64>(&[150, 150])), ("a cube", poisson(&[30, 30, 30]))];
        for (name, mut model) in flat.into_iter().chain([("a chain", poisson(&[3000]))]) {
            let (n, sides) = (model.rows, 5);
            model.entries.iter_mut().for_each(|((i, j), x)| *x = if i == j { 1.0 } else { -1.0 });
            let csr = model.up_csr::<i32>(&device);
            for uplo in [Uplo::Lower, Uplo::Upper] {
                let wanted: Vec<f64> = (0..n * sides).map(|_| rng.below(9) as f64 - 4.0).collect();
                let mut right = wanted.clone();
                for (i, j) in model.entries.keys() {
                    if (uplo == Uplo::Lower && j < i) || (uplo == Uplo::Upper && j > i) {
                        (0..sides).for_each(|side| right[i * sides + side] -= wanted[j * sides + side]);
                    }
                }
                let triangle = sparse.triangular(&csr, uplo, Diag::NonUnit, Transpose::No).unwrap();
                let b = up(&device, &right[..]);
                let b = b.view(Layout::rows(n, sides)).unwrap();
                let x = sparse.spsm(&triangle, 1.0, &b, device.uninit([n, sides]).unwrap()).unwrap();
                assert!(down(&device, &x.into_output()) == wanted, "{name}, {uplo:?}");
                // The vectors may lie apart.
                let one = |all: &[f64]| all.iter().step_by(sides).copied().collect::<Vec<_>>();
                let x = sparse.spsv(&triangle, 1.0, b.index(1, 0).unwrap(), device.uninit(n).unwrap()).unwrap();
                assert!(down(&device, &x.into_output()) == one(&wanted), "{name}, {uplo:?}, one side");
            }
        }
    }
}
