//! Fronts that take views of arrays: by rows, by columns, transposed or with gaps, the answer is that of their elements.

use crate::common::{Rng, devices, is_host, refused, seeds};
use windlass::ndarray::{Array1, Array2, Array3, ArrayD, ArrayView2, ArrayView3, Axis, IxDyn, ShapeBuilder, s};
use windlass::solver::{Structure, Vectors};
use windlass::sparse::Csr;
use windlass::{Complex, Device, Tensor};

/// A matrix that lies in one of five ways, in an array that is large enough for it.
fn lain(rng: &mut Rng, matrix: &Array2<f64>) -> (Array2<f64>, usize) {
    let (m, n) = matrix.dim();
    let how = rng.below(5);
    let mut whole = match how {
        0 => Array2::zeros((m, n)),
        1 => Array2::zeros((m, n).f()),
        2 => Array2::zeros((n, m)),
        3 => Array2::zeros((2 * m + 1, n + 3)),
        _ => Array2::zeros((m, n)),
    };
    viewed_mut(&mut whole, how, (m, n)).assign(matrix);
    (whole, how)
}

fn viewed_mut(
    whole: &mut Array2<f64>,
    how: usize,
    (m, n): (usize, usize),
) -> windlass::ndarray::ArrayViewMut2<'_, f64> {
    match how {
        2 => whole.view_mut().reversed_axes(),
        3 => whole.slice_mut(s![1..2 * m + 1;2, 2..n + 2]),
        4 => whole.slice_mut(s![..;-1, ..]),
        _ => whole.view_mut(),
    }
}

fn viewed(whole: &Array2<f64>, how: usize, (m, n): (usize, usize)) -> ArrayView2<'_, f64> {
    match how {
        2 => whole.view().reversed_axes(),
        3 => whole.slice(s![1..2 * m + 1;2, 2..n + 2]),
        4 => whole.slice(s![..;-1, ..]),
        _ => whole.view(),
    }
}

fn whole_numbers(rng: &mut Rng, shape: (usize, usize)) -> Array2<f64> {
    Array2::from_shape_fn(shape, |_| rng.below(9) as f64 - 4.0)
}

/// Calls with views of both matrices, which lie in some way each.
fn with_views(rng: &mut Rng, [a, b]: [&Array2<f64>; 2], call: impl Fn(ArrayView2<'_, f64>, ArrayView2<'_, f64>, &str)) {
    let ((lain_a, how_a), (lain_b, how_b)) = (lain(rng, a), lain(rng, b));
    let (view_a, view_b) = (viewed(&lain_a, how_a, a.dim()), viewed(&lain_b, how_b, b.dim()));
    assert_eq!((view_a, view_b), (a.view(), b.view()));
    let what = format!("{:?} in way {how_a}, {:?} in way {how_b}", a.dim(), b.dim());
    call(view_a, view_b, &what);
}

#[test]
fn products_take_views_in_any_order() {
    for device in devices() {
        seeds(30, |rng, _| {
            let [m, n, k] = [(); 3].map(|()| rng.pick(&[0, 1, 2, 3, 7]));
            let (a, b) = (whole_numbers(rng, (m, k)), whole_numbers(rng, (k, n)));
            with_views(rng, [&a, &b], |view_a, view_b, what| {
                let c = device.blas().gemm_array(&view_a, &view_b).unwrap().await_result().unwrap();
                assert_eq!(c, a.dot(&b), "{what}");
                let d = device.blas_lt().matmul_array::<_, _, f64>(&view_a, &view_b).unwrap().await_result().unwrap();
                assert_eq!(d, a.dot(&b), "{what}");
                // A column of a matrix is a vector with gaps.
                if n > 0 {
                    let y = device.blas().gemv_array(&view_a, &view_b.column(0)).unwrap().await_result().unwrap();
                    assert_eq!(y, a.dot(&b.column(0)), "{what}");
                }
            });
        });
        let bytes = Array2::from_shape_fn((3, 5), |(i, j)| (i + j) as i8);
        let d = device.blas_lt().matmul_array::<_, _, i32>(&bytes, &bytes.t()).unwrap().await_result().unwrap();
        assert_eq!(d, bytes.mapv(i32::from).dot(&bytes.t().mapv(i32::from)));
    }
}

type View = fn(&Array3<f64>) -> ArrayView3<'_, f64>;

/// A batch of matrices in one of five ways: by rows, by columns, the batch innermost, with gaps, backwards.
fn lain_batch(rng: &mut Rng, batch: &Array3<f64>) -> (Array3<f64>, View) {
    let (count, m, n) = batch.dim();
    let (shape, view): (_, View) = match rng.below(5) {
        0 => ((count, m, n), |whole| whole.view()),
        1 => ((count, n, m), |whole| whole.view().permuted_axes([0, 2, 1])),
        2 => ((m, n, count), |whole| whole.view().permuted_axes([2, 0, 1])),
        3 => ((2 * count, m, n + 1), |whole| whole.slice(s![..;2, ..;-1, 1..])),
        _ => ((count, m, n), |whole| whole.slice(s![..;-1, .., ..])),
    };
    let mut whole = Array3::<f64>::zeros(shape);
    let at = |whole: &Array3<f64>, index| std::ptr::from_ref(&view(whole)[index]).addr();
    let base = whole.as_ptr().addr();
    for (index, x) in batch.indexed_iter() {
        let place = (at(&whole, index) - base) / size_of::<f64>();
        whole.as_slice_mut().unwrap()[place] = *x;
    }
    (whole, view)
}

#[test]
fn batches_take_views_in_any_order() {
    for device in devices() {
        let blas = device.blas();
        seeds(40, |rng, _| {
            let [count, m, n, k] = [(); 4].map(|()| rng.pick(&[0, 1, 2, 3, 5]));
            let mut numbers = |shape| Array3::from_shape_fn(shape, |_| rng.below(9) as f64 - 4.0);
            let (a, b) = (numbers((count, m, k)), numbers((count, k, n)));
            let ((lain_a, view_a), (lain_b, view_b)) = (lain_batch(rng, &a), lain_batch(rng, &b));
            let (view_a, view_b) = (view_a(&lain_a), view_b(&lain_b));
            assert_eq!((view_a, view_b), (a.view(), b.view()));
            let what = format!("{:?} by {:?}, {:?} by {:?}", a.dim(), view_a.strides(), b.dim(), view_b.strides());
            let c = blas.gemm_array(&view_a, &view_b).unwrap().await_result().unwrap();
            assert_eq!(c.dim(), (count, m, n), "{what}");
            for ((a, b), c) in a.outer_iter().zip(b.outer_iter()).zip(c.outer_iter()) {
                assert_eq!(c, a.dot(&b), "{what}");
            }
            if n > 0 {
                let x = b.index_axis(Axis(2), 0);
                let y = blas.gemv_array(&view_a, &x).unwrap().await_result().unwrap();
                assert_eq!(y.dim(), (count, m), "{what}");
                for ((a, x), y) in a.outer_iter().zip(x.outer_iter()).zip(y.outer_iter()) {
                    assert_eq!(y, a.dot(&x), "{what}");
                }
            }
        });
        // Of any dimension.
        let a = ArrayD::from_shape_fn(IxDyn(&[2, 3, 2, 2]), |at| (at[0] + at[1] * at[2] + at[3]) as f32);
        let c = blas.gemm_array(&a, &a).unwrap().await_result().unwrap();
        let last: ArrayView2<'_, f32> = a.slice(s![1, 2, .., ..]);
        assert_eq!((c.shape(), c.slice(s![1, 2, .., ..])), (a.shape(), last.dot(&last).view()));
    }
}

#[test]
fn batches_that_do_not_go_together_are_refused_with_both_shapes() {
    let blas = Device::host().unwrap().blas();
    let zeros = |shape: &[usize]| ArrayD::<f64>::zeros(IxDyn(shape));
    let product = |a: &[usize], b: &[usize]| refused(&blas.gemm_array(&zeros(a), &zeros(b)).map(drop).unwrap_err());
    assert_eq!(product(&[2, 3, 4], &[3, 4, 5]), ("b".into(), "a batch shape of [3], but that of a is [2]".into()));
    assert_eq!(product(&[2, 3, 4], &[2, 3, 5]).1, "it is 3 x 5, but a is 3 x 4: it needs 4 rows");
    assert_eq!(product(&[4], &[4, 5]), ("a".into(), "a shape of [4] has no rows and columns".into()));
    let vector = refused(&blas.gemv_array(&zeros(&[2, 3, 4]), &zeros(&[3, 4])).map(drop).unwrap_err());
    assert_eq!(vector, ("x".into(), "a shape of [3, 4], but that of a is [2, 3, 4]".into()));
}

fn assert_near(got: &Array2<f64>, want: &Array2<f64>, what: &str) {
    assert_eq!(got.dim(), want.dim(), "{what}");
    let off = (got - want).iter().fold(0.0f64, |most, x| most.max(x.abs()));
    assert!(off < 1e-9, "{off:e} off: {what}");
}

/// One whose inverse is not large.
fn regular(rng: &mut Rng, n: usize) -> Array2<f64> {
    whole_numbers(rng, (n, n)) + Array2::from_diag(&Array1::from_elem(n, 40.0))
}

/// cuSOLVER is not everywhere where the front is.
fn solves(device: &Device) -> bool {
    is_host(device) || device.solver().warm().is_ok()
}

#[test]
fn factorizations_take_views_in_any_order() {
    for device in devices().into_iter().filter(solves) {
        let solver = device.solver();
        let back =
            |x: &Tensor<f64>| -> Array2<f64> { device.download_tensor_array(x).unwrap().await_result().unwrap() };
        seeds(12, |rng, _| {
            let (n, sides) = (rng.pick(&[1, 2, 5, 9]), rng.pick(&[1, 3]));
            let (a, x) = (regular(rng, n), whole_numbers(rng, (n, sides)));
            with_views(rng, [&a, &a.dot(&x)], |view_a, view_b, what| {
                let [view_a, view_b] = [view_a, view_b].map(|view| device.tensor_of_array(&view).unwrap());
                let solved = solver.solve(Structure::General, &view_a, &view_b).unwrap().await_result().unwrap();
                assert_near(&back(&solved.x), &x, what);
                let inverse = solver.inverse(&view_a).unwrap().await_result().unwrap();
                assert_near(&back(&inverse.matrix).dot(&a), &Array2::eye(n), what);
                let svd = solver.svd(Vectors::Thin, view_a).unwrap().await_result().unwrap();
                let values = Array1::from(device.to_vec(&svd.values).unwrap());
                assert_near(&(back(&svd.u.unwrap()) * &values).dot(&back(&svd.vh.unwrap())), &a, what);
            });
            // More equations than unknowns, that agree; and fewer, whose least solution is that of the rows.
            let tall = windlass::ndarray::concatenate![windlass::ndarray::Axis(0), a, a];
            let half = windlass::ndarray::concatenate![windlass::ndarray::Axis(0), x, x] / 2.0;
            for (a, b, x) in [(&tall, tall.dot(&x), &x), (&tall.t().to_owned(), a.t().dot(&x), &half)] {
                with_views(rng, [a, &b], |view_a, view_b, what| {
                    let [view_a, view_b] = [view_a, view_b].map(|view| device.tensor_of_array(&view).unwrap());
                    let solved = solver.solve(Structure::General, &view_a, view_b).unwrap().await_result().unwrap();
                    assert_near(&back(&solved.x), x, what);
                });
            }
        });
    }
}

#[test]
fn sparse_matrices_take_views_in_any_order() {
    for device in devices() {
        let sparse = device.sparse();
        if !is_host(&device) && sparse.warm().is_err() {
            continue;
        }
        seeds(20, |rng, _| {
            let [m, n, k] = [(); 3].map(|()| rng.pick(&[1, 2, 3, 7]));
            let a = Array2::from_shape_fn((m, k), |_| if rng.below(3) == 0 { rng.below(9) as f64 - 4.0 } else { 0.0 });
            let b = whole_numbers(rng, (k, n));
            with_views(rng, [&a, &b], |view_a, view_b, what| {
                let csr: Csr<f64> = sparse.from_array(&view_a, 0.0).unwrap();
                assert_eq!(csr.nnz(), a.iter().filter(|x| **x != 0.0).count(), "{what}");
                assert_eq!(sparse.to_array(&csr).unwrap().await_result().unwrap(), a, "{what}");
                assert_eq!(sparse.spmm_array(&csr, &view_b).unwrap().await_result().unwrap(), a.dot(&b), "{what}");
                let y = sparse.spmv_array(&csr, &view_b.column(0)).unwrap().await_result().unwrap();
                assert_eq!(y, a.dot(&b.column(0)), "{what}");
            });
        });
    }
}

#[test]
fn arrays_that_do_not_meet_are_refused_with_their_shapes() {
    let says = |error: windlass::Error, argument: &str, values: [&str; 2]| {
        let (name, reason) = refused(&error);
        assert_eq!(name, argument, "{error}");
        assert!(values.iter().all(|value| reason.contains(value)), "{reason}");
    };
    for device in devices() {
        let (a, b) = (Array2::<f64>::zeros((2, 3)), Array2::<f64>::zeros((2, 4)));
        says(device.blas().gemm_array(&a, &b).unwrap_err(), "b", ["2 x 4", "2 x 3"]);
        says(device.blas_lt().matmul_array::<_, _, f64>(&a, &b).unwrap_err(), "b", ["2 x 4", "2 x 3"]);
        says(device.blas().gemv_array(&a, &b.row(0)).unwrap_err(), "x", ["4 elements", "2 x 3"]);
        if is_host(&device) {
            let csr: Csr<f64> = device.sparse().from_array(&a, 0.0).unwrap();
            says(device.sparse().spmm_array(&csr, &b).unwrap_err(), "b", ["2 x 4", "2 x 3"]);
        }
    }
}

/// Conjugation is of the mathematics, not of the order in memory.
#[test]
fn views_of_complex_numbers_are_not_conjugated() {
    for device in devices() {
        let i = Complex::new(0.0f64, 1.0);
        let a = Array2::from_shape_fn((3, 2), |(row, column)| i * (row as f64) + column as f64);
        let b = Array2::from_shape_fn((3, 4), |(row, column)| i * (column as f64) - row as f64);
        let c = device.blas().gemm_array(&a.t(), &b).unwrap().await_result().unwrap();
        assert_eq!(c, a.t().dot(&b));
        let d = device.blas_lt().matmul_array::<_, _, Complex<f64>>(&a.t(), &b).unwrap().await_result().unwrap();
        assert_eq!(d, a.t().dot(&b));
    }
}
