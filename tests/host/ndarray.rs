//! Arrays of crate `ndarray` in and out of every device: whatever their dimension and however they lie in memory.

use crate::common::{Rng, devices, down, is_host, refused, seeds};
use windlass::ndarray::{
    Array, Array1, Array2, ArrayD, ArrayRef, ArrayView2, Axis, Dimension, Ix1, Ix3, IxDyn, ShapeBuilder, Slice, array,
    s,
};
use windlass::solver::{Structure, Vectors};
use windlass::sparse::{Csr, Spmm};
use windlass::{Complex, Device, Element, Tensor};

/// The elements by their indices alone: the last axis counts fastest.
fn listed<T: Copy, D: Dimension>(array: &ArrayRef<T, D>) -> Vec<T> {
    let array = array.view().into_dyn();
    let shape = array.shape().to_vec();
    (0..shape.iter().product())
        .map(|mut count: usize| {
            let mut index = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                index[axis] = count % shape[axis];
                count /= shape[axis];
            }
            array[IxDyn(&index)]
        })
        .collect()
}

/// An array of up to four dimensions that lies in some way: axes exchanged, every second element, backwards, a broadcast.
fn odd(rng: &mut Rng) -> (ArrayD<i32>, String) {
    let dimensions = rng.below(5);
    let shape: Vec<usize> = (0..dimensions).map(|_| rng.pick(&[0, 1, 2, 3, 5])).collect();
    let numbers = (0..).take(shape.iter().product()).collect();
    let mut array = ArrayD::from_shape_vec(IxDyn(&shape).set_f(rng.below(2) == 0), numbers).unwrap();
    let mut what = format!("{shape:?} of strides {:?}", array.strides());
    for axis in (0..dimensions).map(Axis) {
        match rng.below(5) {
            0 => array.invert_axis(axis),
            1 => array.slice_axis_inplace(axis, Slice::new(0, None, 2)),
            2 => array.swap_axes(axis.0, rng.below(dimensions)),
            _ => continue,
        }
        what = format!("{what}, then {:?}", array.strides());
    }
    (array, what)
}

#[test]
fn a_tensor_of_an_array_has_its_elements_and_comes_back_from_any_view() {
    for device in devices() {
        seeds(120, |rng, _| {
            let (array, what) = odd(rng);
            let x = device.tensor_of(&array).unwrap();
            assert_eq!(x.shape(), array.shape(), "{what}");
            assert_eq!(device.to_vec(&x).unwrap(), listed(&array), "{what}");
            let back: ArrayD<i32> = device.to_array(&x).unwrap();
            assert_eq!(back, array, "{what}");
            let turned: ArrayD<i32> = device.to_array(x.transpose()).unwrap();
            assert_eq!(turned, array.t(), "{what}");
            if x.rank() > 0 {
                let flipped: ArrayD<i32> = device.to_array(x.flip(0).unwrap()).unwrap();
                assert_eq!(flipped, array.slice_axis(Axis(0), Slice::new(0, None, -1)), "{what}");
            }
        });
        let x = device.zeros::<f32>([2, 3]).unwrap();
        assert_eq!(refused(&device.to_array::<f32, Ix1>(&x).unwrap_err()).0, "x");
    }
}

#[test]
fn broadcasts_and_views_are_uploaded_as_what_they_show() {
    for device in devices() {
        let line = array![1.0f32, 2.0, 3.0];
        let wide = device.tensor_of(line.broadcast((2, 3)).unwrap()).unwrap();
        assert_eq!(device.to_vec(&wide).unwrap(), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
        let whole = Array::from_shape_fn((4, 5), |(i, j)| (10 * i + j) as f64);
        let corner = device.tensor_of(whole.slice(s![1..3, ..;-2])).unwrap();
        assert_eq!(device.to_vec(&corner).unwrap(), [14.0, 12.0, 10.0, 24.0, 22.0, 20.0]);
        // What lies without gaps stays in its order.
        assert!(device.tensor_of(whole.t()).unwrap().layout().is_column_major());
        let number = device.tensor_of(&ArrayD::from_elem(IxDyn(&[]), 7u8)).unwrap();
        assert_eq!((number.rank(), device.item(&number).unwrap()), (0, 7));
    }
}

#[test]
fn a_download_fills_an_array_however_that_lies_and_nothing_beside_it() {
    for device in devices() {
        seeds(60, |rng, _| {
            let (mut target, what) = odd(rng);
            let numbers: Vec<i32> = rng.bits(target.len());
            let x = device.tensor(target.shape(), &numbers).unwrap();
            device.download_array(&x).unwrap().await_result_into(&mut target).unwrap();
            assert_eq!(listed(&target), numbers, "{what}");
            let turned = device.contiguous(x.transpose()).unwrap().into_output();
            device.download_array(turned.transpose()).unwrap().await_result_into(&mut target).unwrap();
            assert_eq!(listed(&target), numbers, "by columns, {what}");
        });
        let x = device.tensor_of([[1, 3, 5], [2, 4, 6]]).unwrap();
        let mut whole = Array2::zeros((3, 4));
        let mut inner = whole.slice_mut(s![..2, 1..]);
        device.download_array(&x).unwrap().await_result_into(&mut inner).unwrap();
        assert_eq!(whole, array![[0, 1, 3, 5], [0, 2, 4, 6], [0, 0, 0, 0]]);
        let pending = device.download_array(x.transpose()).unwrap();
        let (name, reason) = refused(&pending.await_result_into(&mut whole).unwrap_err());
        assert!(name == "target" && reason.contains("[3, 4]") && reason.contains("[3, 2]"), "{reason}");
        assert_eq!(whole[(0, 1)], 1, "nothing was written");
    }
}

/// A pending of an array is a pending like any other.
#[test]
fn an_array_is_waited_for_by_every_form_of_wait() {
    fn check<T: Element + PartialEq>(device: &Device, x: T) {
        let tensor = device.full([3, 2], x).unwrap();
        let pending = || device.download_array(&tensor).unwrap();
        let want = Array2::from_elem((3, 2), x);
        let limit = std::time::Duration::from_secs(60);
        assert_eq!(pending().await_timeout(limit).unwrap().unwrap(), want);
        assert_eq!(pending().await_timed().unwrap().output, want);
        for answer in windlass::await_all([pending(), pending()]) {
            assert_eq!(answer.unwrap(), want);
        }
    }
    for device in devices() {
        check(&device, 5u8);
        check(&device, Complex::new(1.0f64, 2.0));
    }
}

/// Whatever the view, it is what the transform of the listed elements is; and back.
#[test]
fn arrays_are_transformed_whatever_their_dimension_and_however_they_lie() {
    for device in devices() {
        let fft = device.fft();
        let x = Array::from_shape_fn((4, 3, 6), |(i, j, k)| ((i * 7 + j * 5 + k * 3) % 11) as f64);
        let view = x.slice(s![..;2, .., ..5]);
        let view = view.t();
        let half = fft.rfft(&device.tensor_of(&view).unwrap(), &[]).unwrap();
        assert_eq!((view.shape(), half.shape()), (&[5, 3, 2][..], &[5, 3, 2][..]));
        let listed = device.tensor(view.shape(), listed(&view)).unwrap();
        let same = fft.rfft(&listed, &[]).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &half), down(&device, &same));
        let back: Array<f64, Ix3> = device.to_array(&fft.irfft(&half, 2, &[]).unwrap()).unwrap();
        assert!(back.iter().zip(view.iter()).all(|(a, b)| (a - b).abs() < 1e-13));
        let complex = view.mapv(|x| Complex::new(x, 1.0));
        let there = fft.fft(&device.tensor_of(&complex).unwrap(), &[]).unwrap();
        let back: Array<Complex<f64>, Ix3> = device.to_array(&fft.ifft(&there, &[]).unwrap()).unwrap();
        assert!(back.iter().zip(&complex).all(|(a, b)| (a - b).norm() < 1e-13));
    }
}

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
                let [on_a, on_b] = [view_a, view_b].map(|view| device.tensor_of(view).unwrap());
                let c: Array2<f64> = device.to_array(&device.matmul(&on_a, &on_b).unwrap()).unwrap();
                assert_eq!(c, a.dot(&b), "{what}");
                // A column of a matrix is a vector with gaps.
                if n > 0 {
                    let y = device.matmul(&on_a, on_b.index(1, 0).unwrap()).unwrap();
                    assert_eq!(device.to_array::<f64, Ix1>(&y).unwrap(), a.dot(&b.column(0)), "{what}");
                }
            });
        });
    }
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
        let back = |x: &Tensor<f64>| -> Array2<f64> { device.to_array(x).unwrap() };
        seeds(12, |rng, _| {
            let (n, sides) = (rng.pick(&[1, 2, 5, 9]), rng.pick(&[1, 3]));
            let (a, x) = (regular(rng, n), whole_numbers(rng, (n, sides)));
            with_views(rng, [&a, &a.dot(&x)], |view_a, view_b, what| {
                let [view_a, view_b] = [view_a, view_b].map(|view| device.tensor_of(view).unwrap());
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
                    let [view_a, view_b] = [view_a, view_b].map(|view| device.tensor_of(view).unwrap());
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
                let [on_a, on_b] = [view_a, view_b].map(|view| device.tensor_of(view).unwrap());
                let csr: Csr<f64> = sparse.from_dense(&on_a, 0.0).unwrap();
                assert_eq!(csr.nnz(), a.iter().filter(|x| **x != 0.0).count(), "{what}");
                let dense = sparse.to_dense(&csr, device.uninit([m, k]).unwrap()).unwrap();
                assert_eq!(device.to_array::<f64, _>(&dense).unwrap(), a, "{what}");
                let product = sparse.spmm(Spmm::new(), &csr, &on_b, device.uninit([m, n]).unwrap());
                // In sparse products B is read by lines, like any other matrix.
                if let Ok(product) = product {
                    assert_eq!(device.to_array::<f64, _>(&product).unwrap(), a.dot(&b), "{what}");
                }
            });
        });
    }
}

/// Conjugation is of the mathematics, not of the order in memory.
#[test]
fn views_of_complex_numbers_are_not_conjugated() {
    for device in devices() {
        let i = Complex::new(0.0f64, 1.0);
        let a = Array2::from_shape_fn((3, 2), |(row, column)| i * (row as f64) + column as f64);
        let b = Array2::from_shape_fn((3, 4), |(row, column)| i * (column as f64) - row as f64);
        let c = device.matmul(&device.tensor_of(a.t()).unwrap(), &device.tensor_of(&b).unwrap()).unwrap();
        assert_eq!(device.to_array::<Complex<f64>, _>(&c).unwrap(), a.t().dot(&b));
    }
}
