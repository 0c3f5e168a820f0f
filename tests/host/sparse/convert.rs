//! Formats into each other and back.

use super::model::{Model, Place, lines, shapes};
use crate::common::{Rng, Sample, assert_same_bits, devices, down, left_out, up};
use crate::each_sparse;
use windlass::sparse::{Csr, SparseElement, SparseMatrix};
use windlass::tensor::Layout;
use windlass::{Device, f16, sparse::Order};

fn dense<T: Sample + SparseElement>(model: &Model<T>, order: Order, ld: usize, fill: T) -> Vec<T> {
    let lines = if order == Order::Row { model.rows } else { model.cols };
    let line = if order == Order::Row { model.cols } else { model.rows };
    let mut data = vec![fill; ld * lines];
    for l in 0..lines {
        data[l * ld..l * ld + line].fill(T::default());
    }
    for ((i, j), x) in &model.entries {
        data[if order == Order::Row { i * ld + j } else { i + j * ld }] = *x;
    }
    data
}

fn check_dense<T: Sample + SparseElement, I: Place>(
    device: &Device,
    a: &impl SparseMatrix<T, I>,
    model: &Model<T>,
    what: &str,
) {
    for order in [Order::Row, Order::Column] {
        let line = if order == Order::Row { model.cols } else { model.rows };
        for ld in [line.max(1), line + 2] {
            let old = dense(&Model::new(model.rows, model.cols), order, ld, T::real(9.0));
            let old = up(device, old).with_layout(lines(order, model.rows, model.cols, ld)).unwrap();
            let got = down(device, &device.sparse().to_dense(a, old).unwrap().into_buffer());
            assert_same_bits(&got, &dense(model, order, ld, T::real(9.0)), what);
        }
    }
}

fn convert_of<T: Sample + SparseElement>() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(2), device.sparse());
        for (name, model) in shapes::<T>(&mut rng) {
            if left_out(3) {
                continue;
            }
            let (csr, csc, coo) =
                (model.up_csr::<i32>(&device), model.up_csc::<i32>(&device), model.up_coo::<i32>(&device));
            check_dense(&device, &csr, &model, name);
            check_dense(&device, &csc, &model, name);
            check_dense(&device, &coo, &model, name);
            model.assert_same(&Model::down(&device, &sparse.to_csc(&csr).unwrap(), false), name);
            model.assert_same(&Model::down(&device, &sparse.to_csr(&csc).unwrap(), true), name);
            model.assert_same(&Model::down(&device, &sparse.coo_to_csr(&coo).unwrap(), true), name);
            let back = sparse.to_coo(&csr).unwrap();
            let (rows, columns, values) = model.triplets::<i32>();
            assert_eq!(
                (down(&device, back.row_indices()), down(&device, back.column_indices())),
                (rows, columns),
                "{name}"
            );
            assert_same_bits(&down(&device, back.values()), &values, name);
            model.transposed().assert_same(&Model::down(&device, &sparse.transpose(&csr).unwrap(), true), name);
            model.transposed().assert_same(&Model::down(&device, &csr.transposed(), false), name);
            let twice = sparse.transpose(&sparse.transpose(&csc).unwrap()).unwrap();
            model.assert_same(&Model::down(&device, &twice, false), name);
        }
    }
}

#[test]
fn every_format_becomes_every_other_one_and_comes_back() {
    each_sparse!(convert_of);
}

#[test]
fn an_adjoint_is_conjugated() {
    for device in devices() {
        let model = Model::<windlass::Complex<f32>>::random(&mut Rng::new(4), 8, 11, 30);
        let narrow = Model::down(&device, &device.sparse().adjoint(&model.up_csr::<i32>(&device)).unwrap(), true);
        let wide = Model::down(&device, &device.sparse().adjoint(&model.up_csr::<i64>(&device)).unwrap(), true);
        let mut want = model.transposed();
        want.entries.values_mut().for_each(|x| *x = x.conj());
        want.assert_same(&narrow, "adjoint");
        want.assert_same(&wide, "adjoint of wide indices");
    }
}

#[test]
fn a_dense_matrix_becomes_the_entries_above_a_threshold() {
    for device in devices() {
        let mut rng = Rng::new(6);
        for (name, model) in shapes::<f64>(&mut rng) {
            for (order, threshold) in [(Order::Row, 0.0), (Order::Column, 0.0), (Order::Row, 0.5), (Order::Column, 2.0)]
            {
                let line = if order == Order::Row { model.cols } else { model.rows };
                let ld = line.max(1) + 1;
                let data = up(&device, dense(&model, order, ld, 7.0));
                let data = data.view(lines(order, model.rows, model.cols, ld)).unwrap();
                let a: Csr<f64, i64> = device.sparse().from_dense(data, threshold).unwrap();
                let mut want = model.clone();
                want.entries.retain(|_, x| x.abs() > threshold);
                want.assert_same(&Model::down(&device, &a, true), &format!("{name} above {threshold}, {order:?}"));
            }
        }
        // No number counts, a negative zero does not.
        let odd = up(&device, [0.0f32, -0.0, f32::NAN, f32::INFINITY]);
        let odd = odd.view(Layout::rows(1, 4)).unwrap();
        let a: Csr<f32> = device.sparse().from_dense(&odd, 1e30).unwrap();
        assert_eq!(down(&device, a.indices()), [2, 3]);
        let a: Csr<f32> = device.sparse().from_dense(&odd, 0.0).unwrap();
        assert_eq!(down(&device, a.indices()), [2, 3]);
        let halves = up(&device, [f16::from_f32(0.0), f16::from_f32(1.5)]);
        let a: Csr<f16> = device.sparse().from_dense(halves.view(Layout::columns(2, 1)).unwrap(), 0.0).unwrap();
        assert_eq!(down(&device, a.offsets()), [0, 0, 1]);
    }
}

#[test]
fn blocks_hold_the_entries_and_zeros_beside_them() {
    for device in devices() {
        let mut rng = Rng::new(8);
        for size in [1usize, 2, 3, 5] {
            let model = Model::<f32>::filled(&mut rng, 4 * size, 3 * size, |_, _, rng| rng.below(10) == 0);
            let csr = model.up_csr::<i32>(&device);
            for order in [Order::Row, Order::Column] {
                let bsr = device.sparse().to_bsr(&csr, size, order).unwrap();
                let blocks: std::collections::BTreeSet<_> =
                    model.entries.keys().map(|(i, j)| (i / size, j / size)).collect();
                assert_eq!(bsr.nnz(), blocks.len() * size * size);
                check_dense(&device, &bsr, &model, "blocks");
                let back = device.sparse().bsr_to_csr(&bsr).unwrap();
                assert_eq!(back.nnz(), bsr.nnz());
                let kept = device.sparse().drop_small(&back, 0.0).unwrap();
                model.assert_same(&Model::down(&device, &kept, true), "blocks and back");
            }
        }
    }
}

#[test]
fn coordinates_in_any_order_are_sorted_and_summed() {
    for device in devices() {
        let mut rng = Rng::new(10);
        // Small and large shapes for so many entries: both ways to sort.
        for (rows, cols, len) in [(6, 5, 200), (3000, 4000, 150), (1, 1, 9), (4, 4, 0), (300, 300, 30_000)] {
            let entries: Vec<_> =
                (0..len).map(|_| (rng.below(rows), rng.below(cols), rng.below(9) as f64 - 4.0)).collect();
            let mut want = Model::<f64>::new(rows, cols);
            entries.iter().for_each(|(i, j, x)| *want.entries.entry((*i, *j)).or_default() += x);
            let row_indices = up(&device, entries.iter().map(|e| e.0 as i32).collect::<Vec<_>>());
            let columns = up(&device, entries.iter().map(|e| e.1 as i32).collect::<Vec<_>>());
            let values = up(&device, entries.iter().map(|e| e.2).collect::<Vec<_>>());
            let a = device.sparse().sum_duplicates(rows, cols, &row_indices, &columns, &values).unwrap();
            let a = device.sparse().coo_to_csr(&a).unwrap();
            let got = Model::down(&device, &a, true);
            assert_eq!(got.entries, want.entries, "{rows} x {cols}");
        }
        let (rows, columns) = (up(&device, [0i32, 2]), up(&device, [0i32, 0]));
        let error = device.sparse().sum_duplicates(2, 2, &rows, &columns, &up(&device, [1.0f32; 2])).unwrap_err();
        assert!(error.to_string().contains("entry 1"), "{error}");
    }
}
