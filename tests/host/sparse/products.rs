//! Products against sums in double-double.

use super::model::{Exact, Model, Place, lines, shapes};
use crate::common::{Rng, Sample, assert_same_bits, devices, down, is_host, seeds, up};
use crate::each_sparse;
use std::collections::BTreeMap;
use windlass::reference::Value;
use windlass::sparse::{Sddmm, SparseElement, SparseMatrix, Spmm, Spmv};
use windlass::tensor::Lines;
use windlass::{Complex, Device, Transpose, sparse::Order};

const ALL: [Transpose; 3] = [Transpose::No, Transpose::Yes, Transpose::Conjugate];

fn parts<T: Value>(x: T) -> [f64; 2] {
    x.parts()
}

/// Whether a GPU's library takes it: transposed blocks it does not.
fn takes(device: &Device, blocks: bool, trans: Transpose) -> bool {
    is_host(device) || !blocks || trans == Transpose::No
}

/// Whether a GPU's library adds to the result from many rows, or columns, at once: where the matrix does not lie by the rows
/// of what it is transposed to.
fn scatters(device: &Device, by_columns: bool, trans: Transpose) -> bool {
    !is_host(device) && by_columns == (trans == Transpose::No)
}

#[expect(clippy::too_many_arguments, reason = "what is computed, and its name")]
fn check_spmv<T: Sample + SparseElement<Scalar: Sample>, I: Place>(
    device: &Device,
    a: &impl SparseMatrix<T, I>,
    model: &Model<T>,
    trans: Transpose,
    x: &[T],
    y: &[T],
    (alpha, beta): (T::Scalar, T::Scalar),
    by_columns: bool,
    what: &str,
) -> Vec<T> {
    let spec = Spmv::new().trans(trans).alpha(alpha).beta(beta);
    let zero = beta == T::Scalar::default();
    // What is not read may be no number.
    let old = if zero { vec![T::NAN; y.len()] } else { y.to_vec() };
    let pending = device.sparse().spmv(spec, a, &up(device, x), up(device, old)).unwrap();
    let got = down(device, &pending.await_result().unwrap());
    let mut sums = vec![Exact::default(); y.len()];
    for ((i, j), value) in model.op(trans) {
        sums[i].add(value, parts(x[j]));
    }
    for (i, sum) in sums.iter().enumerate() {
        let mut want = sum.times(parts(alpha));
        if !zero {
            want = want.plus(Exact::of(parts(y[i])).times(parts(beta)));
        }
        let what = format!("{what}, element {i}, {trans:?}");
        match scatters(device, by_columns, trans) {
            true => want.assert_near_scattered::<T, T::Scalar>(got[i], &what),
            false => want.assert_near::<T, T::Scalar>(got[i], &what),
        }
    }
    got
}

fn spmv_of<T: Sample + SparseElement<Scalar: Sample>>() {
    for device in devices() {
        let mut rng = Rng::new(7);
        for (name, model) in shapes::<T>(&mut rng) {
            let what = format!("{name} of {}", T::DTYPE);
            let (csr, csc, coo) =
                (model.up_csr::<i32>(&device), model.up_csc::<i64>(&device), model.up_coo::<i32>(&device));
            for trans in ALL {
                let (rows, cols) =
                    if trans == Transpose::No { (model.rows, model.cols) } else { (model.cols, model.rows) };
                let (x, y): (Vec<T>, Vec<T>) = (rng.samples(cols), rng.samples(rows));
                let zero = T::Scalar::default();
                let factors = rng.pick(&[(T::Scalar::real(1.0), zero), (T::Scalar::real(-2.5), T::Scalar::real(0.5))]);
                check_spmv(&device, &csr, &model, trans, &x, &y, factors, false, &format!("csr, {what}"));
                check_spmv(&device, &csc, &model, trans, &x, &y, factors, true, &format!("csc, {what}"));
                check_spmv(&device, &coo, &model, trans, &x, &y, factors, false, &format!("coo, {what}"));
            }
        }
    }
}

#[test]
fn a_matrix_in_every_format_times_a_vector_is_within_the_bound_of_its_rows() {
    each_sparse!(spmv_of);
}

#[test]
fn blocks_of_every_size_times_a_vector_are_what_their_rows_are() {
    for device in devices() {
        let mut rng = Rng::new(3);
        for (size, order) in [(1, Order::Row), (2, Order::Row), (3, Order::Column), (4, Order::Row), (5, Order::Column)]
        {
            let model = Model::<f64>::filled(&mut rng, 4 * size, 6 * size, |i, j, rng| {
                (i / size + j / size) % 3 == 0 && rng.below(4) > 0
            });
            let csr = model.up_csr::<i32>(&device);
            let bsr = device.sparse().to_bsr(&csr, size, order).unwrap();
            for trans in ALL.into_iter().filter(|trans| takes(&device, true, *trans)) {
                let (rows, cols) =
                    if trans == Transpose::No { (model.rows, model.cols) } else { (model.cols, model.rows) };
                let (x, y): (Vec<f64>, Vec<f64>) = (rng.samples(cols), rng.samples(rows));
                check_spmv(&device, &bsr, &model, trans, &x, &y, (1.5, 0.5), false, &format!("blocks of {size}"));
            }
        }
    }
}

#[test]
fn scalars_are_read_from_device_memory() {
    for device in devices() {
        let a = Model::<f32>::random(&mut Rng::new(5), 9, 9, 40).up_csr::<i32>(&device);
        let (x, y) = (up(&device, vec![1.0f32; 9]), || up(&device, vec![3.0f32; 9]));
        let (alpha, beta) = (up(&device, [2.0f32]), up(&device, [-1.0f32]));
        let sparse = device.sparse();
        let by_value = sparse.spmv(Spmv::new().alpha(2.0).beta(-1.0), &a, &x, y()).unwrap().into_output();
        let specs = [
            Spmv::new().alpha(&alpha).beta(&beta),
            Spmv::new().alpha(2.0).beta(&beta),
            Spmv::new().alpha(&alpha).beta(-1.0),
        ];
        for (i, spec) in specs.into_iter().enumerate() {
            for trans in [Transpose::No, Transpose::Yes] {
                let by_value = match trans {
                    Transpose::No => down(&device, &by_value),
                    _ => {
                        down(&device, sparse.spmv(Spmv::new().trans(trans).alpha(2.0).beta(-1.0), &a, &x, y()).unwrap())
                    }
                };
                let at = down(&device, sparse.spmv(spec.clone().trans(trans), &a, &x, y()).unwrap());
                // A GPU sums a transposed product in any order.
                let apart = at.iter().zip(&by_value).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(apart <= if trans == Transpose::No { 0.0 } else { 1e-4 }, "{i}, {trans:?}: {apart:e}");
            }
        }
    }
}

#[test]
fn the_same_product_gives_the_same_bits_twenty_times() {
    for device in devices() {
        let mut rng = Rng::new(11);
        let model = Model::<f32>::random(&mut rng, 800, 600, 5);
        let (a, x) = (model.up_csc::<i32>(&device), up(&device, rng.samples::<f32>(800)));
        let spec = Spmv::new().trans(Transpose::Yes);
        let product = || {
            down(
                &device,
                &device.sparse().spmv(spec.clone(), &a, &x, device.uninit(600).unwrap()).unwrap().into_output(),
            )
        };
        let first = product();
        (0..20).for_each(|_| assert_same_bits(&product(), &first, "again"));
    }
}

/// Whole numbers, so that any order of additions is exact. The rows of a band, in either direction, so that the parts into which the CPU
/// cuts so many entries begin at other columns; no row has the last columns.
#[test]
fn bands_that_are_summed_in_parts_are_exact() {
    const ROWS: usize = 6000;
    const BAND: usize = 23;
    const WIDTH: usize = ROWS + 300;
    for (device, turned) in devices().into_iter().flat_map(|device| [(device.clone(), false), (device, true)]) {
        let first = |row: usize| if turned { ROWS - 1 - row } else { row };
        let value = |row: usize, k: usize| ((row * 7 + k * 3) % 11) as f64 - 5.0;
        let offsets: Vec<i32> = (0..=ROWS).map(|row| (row * BAND) as i32).collect();
        let places = || (0..ROWS).flat_map(|row| (0..BAND).map(move |k| (row, k)));
        let columns: Vec<i32> = places().map(|(row, k)| (first(row) + k) as i32).collect();
        let values: Vec<f64> = places().map(|(row, k)| value(row, k)).collect();
        let a = device.sparse().upload_csr(ROWS, WIDTH, &offsets, &columns, &values).unwrap();
        let x: Vec<f64> = (0..ROWS).map(|row| (row % 5) as f64 - 2.0).collect();
        let mut expected = vec![0.0; WIDTH];
        places().for_each(|(row, k)| expected[first(row) + k] += value(row, k) * x[row]);
        let spec = Spmv::new().trans(Transpose::Yes);
        let (x, y) = (up(&device, x), device.uninit(WIDTH).unwrap());
        let y = device.sparse().spmv(spec, &a, &x, y).unwrap().into_output();
        assert_eq!(down(&device, &y), expected, "{turned}");
        for n in [1, 7, 8, 9, 31, 32, 33, 47] {
            let b: Vec<f64> = (0..WIDTH * n).map(|i| (i % 13) as f64 - 6.0).collect();
            let mut expected = vec![0.0; ROWS * n];
            for (row, k) in places() {
                let b = &b[(first(row) + k) * n..][..n];
                expected[row * n..][..n].iter_mut().zip(b).for_each(|(sum, b)| *sum += value(row, k) * b);
            }
            let (b, c) = (device.tensor([WIDTH, n], b).unwrap(), device.uninit([ROWS, n]).unwrap());
            let c = device.sparse().spmm(Spmm::new(), &a, &b, c).unwrap().into_output();
            assert_eq!(down(&device, &c), expected, "{turned} {n}");
        }
    }
}

fn spmm_of<T: Sample + SparseElement<Scalar: Sample>>() {
    for device in devices() {
        seeds(6, |rng, seed| {
            let choices = shapes::<T>(rng);
            let (name, model) = &choices[rng.below(choices.len() - 1)];
            let (n, trans_a) = (rng.pick(&[1, 3, 8, 13, 37]), rng.pick(&ALL));
            let (turned, conjugate) = (rng.below(2) == 0, rng.below(3) == 0);
            let (order_b, order_c) = (rng.pick(&[Order::Row, Order::Column]), rng.pick(&[Order::Row, Order::Column]));
            let stored =
                |trans: Transpose, rows, cols| if trans == Transpose::No { (rows, cols) } else { (cols, rows) };
            let (rows, inner) = stored(trans_a, model.rows, model.cols);
            let (b_rows, b_cols) = if turned { (n, inner) } else { (inner, n) };
            let line = |order, rows: usize, cols: usize| if order == Order::Row { (cols, rows) } else { (rows, cols) };
            let ((b_line, b_lines), (c_line, c_lines)) = (line(order_b, b_rows, b_cols), line(order_c, rows, n));
            let (ldb, ldc) = (b_line.max(1) + rng.below(3), c_line.max(1) + rng.below(3));
            let (b, c): (Vec<T>, Vec<T>) = (rng.samples(ldb * b_lines), rng.samples(ldc * c_lines));
            let beta = rng.pick(&[T::Scalar::default(), T::Scalar::real(0.5)]);
            let alpha = T::Scalar::real(-1.5);
            let spec = Spmm::new().trans_a(trans_a).alpha(alpha).beta(beta);
            let spec = if conjugate { spec.conj_b() } else { spec };
            let how = format!("{order_b:?} {ldb} {turned} {order_c:?} {ldc}");
            let what = format!("{name}, {spec:?}, {n} columns, {how}, seed {seed}");
            let place =
                |order, ld: usize, i: usize, j: usize| if order == Order::Row { i * ld + j } else { i + j * ld };
            let old = |i: usize, j: usize| c[place(order_c, ldc, i, j)];
            let b_at = |i: usize, j: usize| {
                let (i, j) = if turned { (j, i) } else { (i, j) };
                let [re, im] = parts(b[place(order_b, ldb, i, j)]);
                [re, if conjugate { -im } else { im }]
            };
            let mut sums = BTreeMap::<(usize, usize), Exact>::new();
            for ((i, p), value) in model.op(trans_a) {
                (0..n).for_each(|j| sums.entry((i, j)).or_default().add(value, b_at(p, j)));
            }
            let (sparse, b_up) = (device.sparse(), up(&device, &b[..]));
            let on_b = b_up.view(lines(order_b, b_rows, b_cols, ldb)).unwrap();
            let on_b = if turned { on_b.transpose() } else { on_b };
            let on_c = up(&device, &c[..]).with_layout(lines(order_c, rows, n, ldc)).unwrap();
            let format = rng.below(3);
            let pending = match format {
                0 => sparse.spmm(spec, &model.up_csr::<i64>(&device), on_b, on_c),
                1 => sparse.spmm(spec, &model.up_csc::<i32>(&device), on_b, on_c),
                _ => sparse.spmm(spec, &model.up_coo::<i32>(&device), on_b, on_c),
            };
            let scattered = scatters(&device, format == 1, trans_a);
            let got = down(&device, &pending.unwrap().await_result().unwrap().into_buffer());
            let mut rest = got.clone();
            for i in 0..rows {
                for j in 0..n {
                    let mut want = sums.get(&(i, j)).copied().unwrap_or_default().times(parts(alpha));
                    if beta != T::Scalar::default() {
                        want = want.plus(Exact::of(parts(old(i, j))).times(parts(beta)));
                    }
                    let at = place(order_c, ldc, i, j);
                    let what = format!("({i}, {j}) of {what}");
                    match scattered {
                        true => want.assert_near_scattered::<T, T::Scalar>(got[at], &what),
                        false => want.assert_near::<T, T::Scalar>(got[at], &what),
                    }
                    rest[at] = c[at];
                }
            }
            assert_same_bits(&rest, &c, &format!("between the elements: {what}"));
        });
    }
}

#[test]
fn a_matrix_times_a_dense_one_is_within_the_bound_in_every_order() {
    each_sparse!(spmm_of);
}

/// A matrix without gaps.
fn dense(order: Order, rows: usize, cols: usize) -> Lines {
    lines(order, rows, cols, if order == Order::Row { cols } else { rows }.max(1))
}

fn sddmm_of<T: Sample + SparseElement<Scalar: Sample>>() {
    for device in devices() {
        let mut rng = Rng::new(13);
        for (name, model) in shapes::<T>(&mut rng).into_iter().take(13) {
            let k = rng.pick(&[0, 1, 7]);
            let order = [rng.pick(&[Order::Row, Order::Column]), rng.pick(&[Order::Row, Order::Column])];
            let (a, b): (Vec<T>, Vec<T>) = (rng.samples(model.rows * k), rng.samples(k * model.cols));
            let pattern = model.up_csr::<i32>(&device);
            let old: Vec<T> = rng.samples(pattern.nnz());
            let (alpha, beta) = (T::Scalar::real(2.0), T::Scalar::real(-0.5));
            let spec = Sddmm::new().alpha(alpha).beta(beta);
            let (on_a, on_b) = (up(&device, &a[..]), up(&device, &b[..]));
            let on_a = on_a.view(dense(order[0], model.rows, k)).unwrap();
            let on_b = on_b.view(dense(order[1], k, model.cols)).unwrap();
            let pending = device.sparse().sddmm(spec, &pattern, on_a, on_b, up(&device, &old[..]));
            let got = match pending.map_err(|e| e.error).and_then(|p| p.await_result().map_err(|e| e.error)) {
                // cuSPARSE has it for some types alone; a worker process says so at the await.
                Err(windlass::Error::Unsupported { .. }) if !is_host(&device) => continue,
                answer => down(&device, &answer.unwrap()),
            };
            let at = |x: &[T], which: usize, rows: usize, cols: usize, i: usize, j: usize| {
                parts(x[if order[which] == Order::Row { i * cols + j } else { i + j * rows }])
            };
            for (place, (i, j)) in model.entries.keys().enumerate() {
                let mut sum = Exact::default();
                (0..k).for_each(|p| sum.add(at(&a, 0, model.rows, k, *i, p), at(&b, 1, k, model.cols, p, *j)));
                let want = sum.times(parts(alpha)).plus(Exact::of(parts(old[place])).times(parts(beta)));
                want.assert_near::<T, T::Scalar>(got[place], &format!("({i}, {j}) of {name}"));
            }
        }
    }
}

#[test]
fn dense_products_at_given_places_are_within_the_bound() {
    each_sparse!(sddmm_of);
}

/// All places where a product is added, with their sums.
fn product<T: Sample + SparseElement>(a: &Model<T>, b: &Model<T>) -> BTreeMap<(usize, usize), Exact> {
    let mut rows: BTreeMap<usize, Vec<(usize, [f64; 2])>> = BTreeMap::new();
    b.entries.iter().for_each(|((i, j), x)| rows.entry(*i).or_default().push((*j, parts(*x))));
    let mut sums = BTreeMap::<(usize, usize), Exact>::new();
    for ((i, p), x) in &a.entries {
        for (j, y) in rows.get(p).into_iter().flatten() {
            sums.entry((*i, *j)).or_default().add(parts(*x), *y);
        }
    }
    sums
}

fn spgemm_of<T: Sample + SparseElement<Scalar: Sample>>() {
    for device in devices() {
        let mut rng = Rng::new(17);
        for (name, a) in shapes::<T>(&mut rng) {
            let (cols, percent) = (rng.pick(&[1, 5, 40]), rng.pick(&[5, 30]));
            // Once few products over many columns, which a GPU merges; the others lie close.
            let (cols, percent) = if name == "random" { (4000, 1) } else { (cols, percent) };
            let b = Model::random(&mut rng, a.cols, cols, percent);
            let sums = product(&a, &b);
            let alpha = T::Scalar::real(0.5);
            let (left, right) = (a.up_csr::<i32>(&device), b.up_csr::<i32>(&device));
            let by_rows = Model::down(&device, &device.sparse().spgemm(alpha, &left, &right).unwrap(), true);
            let (left_columns, right_columns) = (a.up_csc::<i64>(&device), b.up_csc::<i64>(&device));
            let by_columns = device.sparse().spgemm(alpha, &left_columns, &right_columns).unwrap();
            let by_columns = Model::down(&device, &by_columns, false);
            for got in [&by_rows, &by_columns] {
                assert_eq!((got.rows, got.cols), (a.rows, cols));
                assert!(got.entries.keys().eq(sums.keys()), "other entries: {name} times {} x {cols}", a.cols);
                for (at, sum) in &sums {
                    sum.times(parts(alpha)).assert_near::<T, T::Scalar>(got.entries[at], &format!("{at:?} of {name}"));
                }
            }
            // At the entries of another pattern alone.
            let mask = Model::<f32>::random(&mut rng, a.rows, cols, 30);
            let pattern = mask.up_csr::<i32>(&device);
            let values = device.uninit(pattern.nnz()).unwrap();
            let pending = device.sparse().spgemm_masked(alpha, &left, &right, &pattern, values).unwrap();
            let got = down(&device, &pending.await_result().unwrap());
            for (at, got) in mask.entries.keys().zip(got) {
                let want = sums.get(at).copied().unwrap_or_default().times(parts(alpha));
                want.assert_near::<T, T::Scalar>(got, &format!("{at:?} of {name}, masked"));
            }
        }
    }
}

#[test]
fn products_of_sparse_matrices_have_the_right_entries_within_the_bound() {
    each_sparse!(spgemm_of);
}

#[test]
fn a_product_of_more_entries_than_the_index_counts_is_refused() {
    for device in devices() {
        // Dense columns times dense rows: 50000 squared is more than 2^31.
        let n = 50_000usize;
        let ones = vec![1.0f32; n];
        let offsets: Vec<i32> = (0..=n as i32).collect();
        let tall = device.sparse().upload_csr(n, 1, &offsets, &vec![0; n], &ones).unwrap();
        let wide = tall.transposed();
        let wide = device.sparse().to_csr(&wide).unwrap();
        let error = device.sparse().spgemm(1.0, &tall, &wide).unwrap_err();
        assert!(error.to_string().contains("2500000000 entries"), "{error}");
    }
}

#[test]
fn a_matrix_times_its_adjoint_is_hermitian() {
    for device in devices() {
        let model = Model::<Complex<f64>>::random(&mut Rng::new(23), 12, 9, 40);
        let c = device.sparse().gram(&model.up_csr::<i32>(&device)).unwrap();
        let got = Model::down(&device, &c, true);
        for ((i, j), x) in &got.entries {
            let mirrored = got.entries[&(*j, *i)];
            assert!((x - mirrored.conj()).norm() <= 1e-13, "({i}, {j})");
        }
    }
}
