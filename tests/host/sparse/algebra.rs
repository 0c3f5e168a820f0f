//! Sums, parts, stacks, scaling, diagonals.

use super::model::{Exact, Model, shapes};
use crate::common::{Rng, Sample, assert_same_bits, devices, down, left_out, refused, up};
use crate::each_sparse;
use windlass::reference::Value;
use windlass::sparse::SparseElement;

fn add_of<T: Sample + SparseElement<Scalar: Sample>>() {
    for device in devices() {
        let mut rng = Rng::new(31);
        for (name, a) in shapes::<T>(&mut rng) {
            if left_out(3) {
                continue;
            }
            let b = Model::random(&mut rng, a.rows, a.cols, 25);
            let (alpha, beta) = (T::Scalar::real(2.0), T::Scalar::real(-0.5));
            let c = device.sparse().add(alpha, &a.up_csr::<i32>(&device), beta, &b.up_csr(&device)).unwrap();
            let columns = device.sparse().add(alpha, &a.up_csc::<i64>(&device), beta, &b.up_csc(&device)).unwrap();
            for got in [Model::down(&device, &c, true), Model::down(&device, &columns, false)] {
                let mut places: Vec<_> = a.entries.keys().chain(b.entries.keys()).copied().collect();
                places.sort_unstable();
                places.dedup();
                assert!(got.entries.keys().eq(places.iter()), "other entries: {name}");
                for at in places {
                    let term = |x: &Model<T>, factor: T::Scalar| {
                        x.entries
                            .get(&at)
                            .map_or(Exact::default(), |x| Exact::of(Value::parts(*x)).times(factor.parts()))
                    };
                    let want = term(&a, alpha).plus(term(&b, beta));
                    want.assert_near::<T, T::Scalar>(got.entries[&at], &format!("{at:?} of {name}"));
                }
            }
        }
    }
}

#[test]
fn a_sum_has_the_entries_of_both() {
    each_sparse!(add_of);
}

#[test]
fn parts_of_a_matrix_are_what_they_say() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(33), device.sparse());
        for (name, model) in shapes::<f64>(&mut rng) {
            let (csr, csc) = (model.up_csr::<i32>(&device), model.up_csc::<i32>(&device));
            for k in [-3i64, 0, 2] {
                let part = |lower: bool| {
                    let mut part = model.clone();
                    part.entries.retain(|(i, j), _| {
                        let d = *j as i64 - *i as i64;
                        if lower { d <= k } else { d >= k }
                    });
                    part
                };
                part(true).assert_same(&Model::down(&device, &sparse.lower(&csr, k).unwrap(), true), name);
                part(true).assert_same(&Model::down(&device, &sparse.lower(&csc, k).unwrap(), false), name);
                part(false).assert_same(&Model::down(&device, &sparse.upper(&csr, k).unwrap(), true), name);
                part(false).assert_same(&Model::down(&device, &sparse.upper(&csc, k).unwrap(), false), name);
            }
            let mut large = model.clone();
            large.entries.retain(|_, x| x.abs() > 1.0);
            large.assert_same(&Model::down(&device, &sparse.drop_small(&csr, 1.0).unwrap(), true), name);
            let cut = |n: usize| n / 3..n - n / 4;
            let (rows, cols) = (cut(model.rows), cut(model.cols));
            let mut some = Model::new(rows.len(), model.cols);
            let mut others = Model::new(model.rows, cols.len());
            for ((i, j), x) in &model.entries {
                if rows.contains(i) {
                    some.entries.insert((i - rows.start, *j), *x);
                }
                if cols.contains(j) {
                    others.entries.insert((*i, j - cols.start), *x);
                }
            }
            some.assert_same(&Model::down(&device, &sparse.slice_rows(&csr, rows.clone()).unwrap(), true), name);
            some.assert_same(&Model::down(&device, &sparse.slice_rows(&csc, rows).unwrap(), false), name);
            others.assert_same(&Model::down(&device, &sparse.slice_cols(&csr, cols.clone()).unwrap(), true), name);
            others.assert_same(&Model::down(&device, &sparse.slice_cols(&csc, cols).unwrap(), false), name);
        }
        let a = Model::<f32>::random(&mut rng, 4, 5, 50).up_csr::<i32>(&device);
        assert_eq!(refused(&sparse.slice_rows(&a, 2..5).unwrap_err()).0, "rows");
        #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
        let error = sparse.slice_cols(&a, 3..2).unwrap_err();
        assert_eq!(refused(&error).0, "cols");
        assert_eq!(refused(&sparse.drop_small(&a, f64::NAN).unwrap_err()).0, "threshold");
        assert_eq!(refused(&sparse.diagonal(&a, 6).unwrap_err()).0, "number");
        assert_eq!(refused(&sparse.diagonal(&a, i64::MIN).unwrap_err()).0, "number");
    }
}

#[test]
fn stacked_matrices_stand_below_and_beside_each_other() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(35), device.sparse());
        let parts: Vec<_> = [3, 0, 5, 40].into_iter().map(|rows| Model::<f32>::random(&mut rng, rows, 7, 30)).collect();
        let mut below = Model::new(0, 7);
        for part in &parts {
            below.entries.extend(part.entries.iter().map(|((i, j), x)| ((i + below.rows, *j), *x)));
            below.rows += part.rows;
        }
        let csr: Vec<_> = parts.iter().map(|part| part.up_csr::<i32>(&device)).collect();
        let csc: Vec<_> = parts.iter().map(|part| part.up_csc::<i64>(&device)).collect();
        below
            .assert_same(&Model::down(&device, &sparse.vstack(&csr.iter().collect::<Vec<_>>()).unwrap(), true), "rows");
        below.assert_same(
            &Model::down(&device, &sparse.vstack(&csc.iter().collect::<Vec<_>>()).unwrap(), false),
            "columns",
        );
        let turned: Vec<_> = parts.iter().map(|part| part.transposed().up_csr::<i32>(&device)).collect();
        let beside = sparse.hstack(&turned.iter().collect::<Vec<_>>()).unwrap();
        below.transposed().assert_same(&Model::down(&device, &beside, true), "beside");
        assert_eq!(refused(&sparse.hstack(&csr.iter().collect::<Vec<_>>()).unwrap_err()).0, "parts");
        assert_eq!(refused(&sparse.vstack::<f32, i32, windlass::sparse::ByRows>(&[]).unwrap_err()).0, "parts");
    }
}

fn scale_of<T: Sample + SparseElement<Scalar: Sample>>() {
    for device in devices() {
        let (mut rng, sparse) = (Rng::new(37), device.sparse());
        for (name, model) in shapes::<T>(&mut rng) {
            let (rows, cols): (Vec<T>, Vec<T>) = (rng.samples(model.rows), rng.samples(model.cols));
            let (rows_up, cols_up) = (up(&device, &rows[..]), up(&device, &cols[..]));
            let (csr, csc) = (model.up_csr::<i32>(&device), model.up_csc::<i32>(&device));
            let by_rows = sparse.scale(&csr, Some((&rows_up).into()), None).unwrap();
            let by_cols = sparse.scale(&csc, None, Some((&cols_up).into())).unwrap();
            let (by_rows, by_cols) = (Model::down(&device, &by_rows, true), Model::down(&device, &by_cols, false));
            let mut sums = [vec![Exact::default(); model.rows], vec![Exact::default(); model.cols]];
            for ((i, j), x) in &model.entries {
                let times = |factor: T| Exact::of(Value::parts(*x)).times(Value::parts(factor));
                times(rows[*i]).assert_near::<T, T::Scalar>(by_rows.entries[&(*i, *j)], name);
                times(cols[*j]).assert_near::<T, T::Scalar>(by_cols.entries[&(*i, *j)], name);
                sums[0][*i].add(Value::parts(*x), [1.0, 0.0]);
                sums[1][*j].add(Value::parts(*x), [1.0, 0.0]);
            }
            for (sums, got) in [
                (&sums[0], sparse.row_sums(&csr).unwrap()),
                (&sums[0], sparse.row_sums(&csc).unwrap()),
                (&sums[1], sparse.column_sums(&csr).unwrap()),
                (&sums[1], sparse.column_sums(&csc).unwrap()),
            ] {
                let got = down(&device, &got);
                assert_eq!(got.len(), sums.len());
                sums.iter().zip(got).for_each(|(sum, got)| sum.assert_near::<T, T::Scalar>(got, name));
            }
            for k in [-2i64, 0, 1] {
                let away = k.unsigned_abs() as usize;
                if (k < 0 && away > model.rows) || (k > 0 && away > model.cols) {
                    continue;
                }
                let (row, column) = if k < 0 { (away, 0) } else { (0, away) };
                let len = (model.rows - row).min(model.cols - column);
                let want: Vec<T> =
                    (0..len).map(|d| model.entries.get(&(row + d, column + d)).copied().unwrap_or_default()).collect();
                assert_same_bits(&down(&device, &sparse.diagonal(&csr, k).unwrap()), &want, name);
                assert_same_bits(&down(&device, &sparse.diagonal(&csc, k).unwrap()), &want, name);
            }
        }
    }
}

#[test]
fn rows_and_columns_are_scaled_and_summed() {
    each_sparse!(scale_of);
}
