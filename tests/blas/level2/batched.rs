//! Batches of gemv.

use super::matrix::{Matrix, TRANSPOSES, near, number, places, product, scalar};
use crate::common::{Laid, Rng, Sample, assert_same_bits, devices, down, refused, seeds, up};
use windlass::blas::{BlasElement, Gemv};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Error, Tensor, TensorRef, Transpose};

fn lengths<T>(a: &Matrix<T>, of: Transpose) -> (usize, usize) {
    if of == Transpose::No { (a.m, a.n) } else { (a.n, a.m) }
}

fn spec<'a, T: BlasElement>(of: Transpose) -> Gemv<'a, T> {
    if of == Transpose::Conjugate { Gemv::new().conjugate_a() } else { Gemv::new() }
}

/// A layout, `count` times, with a new first axis.
fn repeated(layout: &Layout, count: usize, stride: usize) -> Layout {
    let strides = [&[stride as isize], layout.strides()].concat();
    Layout::new([&[count], layout.shape()].concat(), strides, layout.offset()).unwrap()
}

fn strided<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, (m, n): (usize, usize), count: usize) {
    for (of, (incx, incy)) in TRANSPOSES.into_iter().zip([(1, 1), (2, -1), (-2, 2)]) {
        let (alpha, beta) = (scalar::<T>(rng), scalar::<T>(rng));
        let lda = m.max(1) + rng.below(2);
        let all: Vec<Matrix<T>> = (0..count).map(|_| Matrix::general(rng, m, n, lda)).collect();
        let model = Matrix::<T>::general(rng, m, n, lda);
        let (rows, cols) = lengths(&model, of);
        let xs: Vec<Laid<T>> = (0..count).map(|_| Laid::new(&rng.samples::<T>(cols), incx)).collect();
        let ys: Vec<Laid<T>> = (0..count).map(|_| Laid::new(&rng.samples::<T>(rows), incy)).collect();
        // One behind the other; each with its own room behind it.
        let da = up(device, all.iter().flat_map(|a| a.data.clone()).collect::<Vec<_>>());
        let dx = up(device, xs.iter().flat_map(|x| x.data.clone()).collect::<Vec<_>>());
        let dy = up(device, ys.iter().flat_map(|y| y.data.clone()).collect::<Vec<_>>());
        let vector = |n: usize, inc: isize| Laid::new(&vec![T::NAN; n], inc);
        let (of_x, of_y) = (vector(cols, incx), vector(rows, incy));
        let a = da.view(repeated(&model.layout, count, model.data.len())).unwrap();
        let a = if of == Transpose::No { a } else { a.swap_axes(1, 2).unwrap() };
        let x = dx.view(repeated(&of_x.layout(), count, of_x.data.len())).unwrap();
        let y = dy.with_layout(repeated(&of_y.layout(), count, of_y.data.len())).unwrap();
        let ([alpha_at, beta_at], mut keep_alpha, mut keep_beta) = (places(rng), None, None);
        let spec = spec(of).alpha(number(device, alpha, alpha_at, &mut keep_alpha));
        let spec = spec.beta(number(device, beta, beta_at, &mut keep_beta));
        let what = format!("{spec:?}, {a:?}, {x:?}, {y:?}");
        let got = device.blas().gemv(spec, a, x, y).expect(&what).await_result().expect(&what);
        assert_eq!(got.shape(), [count, rows]);
        let (got, sy) = (down(device, got.buffer()), of_y.data.len());
        for (i, a) in all.iter().enumerate() {
            let (x, y) = (xs[i].elements(&xs[i].data), ys[i].elements(&ys[i].data));
            let (mut want, bounds) = product(a, of, alpha, &x, beta, &y);
            if m == 0 || n == 0 {
                want = y;
            }
            near(&ys[i], &got[i * sy..(i + 1) * sy], &want, &bounds, &format!("{i} of {what}"));
        }
    }
}

fn lists<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, (m, n): (usize, usize), count: usize) {
    for (of, (incx, incy)) in TRANSPOSES.into_iter().zip([(1, 1), (2, -1), (-2, 2)]) {
        let (alpha, beta) = (scalar::<T>(rng), scalar::<T>(rng));
        let all: Vec<Matrix<T>> = (0..count).map(|_| Matrix::general(rng, m, n, m.max(1) + 1)).collect();
        let (rows, cols) = lengths(&Matrix::<T>::general(rng, m, n, m.max(1)), of);
        let xs: Vec<Laid<T>> = (0..count).map(|_| Laid::new(&rng.samples::<T>(cols), incx)).collect();
        let ys: Vec<Laid<T>> = (0..count).map(|_| Laid::new(&rng.samples::<T>(rows), incy)).collect();
        let da: Vec<_> = all.iter().map(|a| up(device, &a.data[..])).collect();
        let dx: Vec<_> = xs.iter().map(|x| x.up(device)).collect();
        let matrices = all.iter().zip(&da).map(|(a, da)| a.turned(da, of));
        let vectors = xs.iter().zip(&dx).map(|(x, dx)| x.tensor(dx));
        let outputs = ys.iter().map(|y| y.tensor_mut(device));
        let ([alpha_at, beta_at], mut keep_alpha, mut keep_beta) = (places(rng), None, None);
        let spec = spec(of).alpha(number(device, alpha, alpha_at, &mut keep_alpha));
        let spec = spec.beta(number(device, beta, beta_at, &mut keep_beta));
        let what = format!("{spec:?} of {m} x {n}, {of:?}");
        let got = device.blas().gemv_batched(spec, matrices, vectors, outputs).expect(&what);
        let got = got.await_result().expect(&what);
        assert_eq!(got.len(), count);
        for (i, a) in all.iter().enumerate() {
            let (x, y) = (xs[i].elements(&xs[i].data), ys[i].elements(&ys[i].data));
            let (mut want, bounds) = product(a, of, alpha, &x, beta, &y);
            if m == 0 || n == 0 {
                want = y;
            }
            near(&ys[i], &down(device, got[i].buffer()), &want, &bounds, &format!("{i} of {what} on {device:?}"));
        }
    }
}

#[test]
fn batches_agree_with_the_oracle_one_by_one() {
    fn all<T: Sample + BlasElement>(device: &Device, rng: &mut Rng) {
        for (shape, count) in
            [((5, 3), 0), ((5, 3), 1), ((3, 9), 4), ((0, 2), 3), ((2, 0), 3), ((1, 1), 5), ((33, 40), 70)]
        {
            strided::<T>(device, rng, shape, count);
            lists::<T>(device, rng, shape, count);
        }
    }
    for device in devices() {
        seeds(2, |rng, _| {
            all::<f32>(&device, rng);
            all::<f64>(&device, rng);
            all::<Complex<f32>>(&device, rng);
            all::<Complex<f64>>(&device, rng);
        });
    }
}

#[test]
fn a_matrix_or_a_vector_may_be_shared_by_a_batch() {
    for device in devices() {
        let (blas, x) = (device.blas(), up(&device, [1.0f64, 10.0, 100.0]));
        let a = device.tensor([2, 2], [1.0f64, 2.0, 3.0, 4.0]).unwrap();
        let y = |shape: &[usize]| device.uninit::<f64>(shape).unwrap();
        let row = a.slice((..1, ..)).unwrap();
        // Vectors that overlap, and one matrix without a batch axis, or with one of extent 1.
        let windows = x.view(Layout::new([2, 2], [1, 1], 0).unwrap()).unwrap();
        for row in [row.view(), row.unsqueeze(0).unwrap()] {
            let got = blas.gemv(Gemv::new(), &row, &windows, y(&[2, 1])).unwrap();
            assert_eq!(down(&device, &got), [21.0, 210.0]);
        }
        // One vector for three batches of two matrices, whose axes are one run.
        let each = a.reshape([2, 1, 2]).unwrap();
        let two = x.slice(..2).unwrap();
        let got = blas.gemv(Gemv::new(), &each, two, y(&[2, 1])).unwrap();
        assert_eq!(down(&device, &got), [21.0, 43.0]);
        let got = blas.gemv(Gemv::new(), &a, two, y(&[3, 2, 2])).unwrap();
        assert_eq!(down(&device, &got), [21.0, 43.0].repeat(6));
        // The matrices go on after those of a larger batch, vectors after those of a smaller one: not at even distances.
        let error = blas.gemv(Gemv::new(), &each, two, y(&[3, 2, 1])).unwrap_err().error;
        assert!(refused(&error).0 == "a" && error.to_string().contains("`contiguous`"), "{error}");
    }
}

#[test]
fn batches_that_do_not_fit_are_refused_and_come_back() {
    for device in devices() {
        let (blas, four) = (device.blas(), up(&device, [1.0f64; 4]));
        let eight = up(&device, [1.0f64; 8]);
        let of = |extents: &[usize], strides: &[isize], offset| Layout::new(extents, strides, offset).unwrap();
        let a = of(&[2, 2, 1], &[2, 1, 2], 0);
        let (x, y) = (of(&[2, 1], &[1, 1], 0), of(&[2, 2], &[2, 1], 0));
        for (case, name, text) in [
            ([of(&[3, 2, 1], &[2, 1, 2], 0), x.clone(), y.clone()], "a", "[3, 2, 1]"),
            ([a.clone(), of(&[3, 1], &[1, 1], 0), y.clone()], "x", "[3, 1]"),
            ([a.clone(), of(&[2, 2], &[2, 1], 0), y.clone()], "x", "shape [2, 2]"),
            ([a.clone(), x.clone(), of(&[2, 3], &[3, 1], 0)], "y", "shape [2, 3]"),
            ([a.clone(), x.clone(), of(&[2], &[1], 0)], "a", "[2, 2, 1]"),
            ([of(&[2, 2], &[4, 2], 0), of(&[2, 2], &[2, 1], 0), y.clone()], "a", "`contiguous`"),
            ([a.clone(), of(&[2, 1], &[-1, 1], 1), y.clone()], "x", "`contiguous`"),
            ([a.clone(), x.clone(), of(&[2, 2], &[0, 1], 0)], "y", "`contiguous`"),
            ([a.clone(), x.clone(), of(&[2, 2], &[1, 2], 0)], "y", "`contiguous`"),
            ([of(&[2, 2], &[1, 2], 0), of(&[2, 2], &[2, 0], 0), y.clone()], "x", "increment of 0"),
        ] {
            let moved = up(&device, [7.0f64; 8]).with_layout(&case[2]).unwrap();
            let (a, x) = (eight.view(&case[0]).unwrap(), eight.view(&case[1]).unwrap());
            let rejected = blas.gemv(Gemv::new(), a, x, moved).unwrap_err();
            let (argument, reason) = refused(&rejected.error);
            assert!(argument == name && reason.contains(text), "{case:?}: {rejected}");
            assert_same_bits(&down(&device, rejected.back.unwrap().0.buffer()), &[7.0; 8], "y comes back");
        }
        let banded = blas.gemv(
            Gemv::banded(0, 0),
            four.view(of(&[2, 1, 1], &[1, 1, 1], 0)).unwrap(),
            four.view(of(&[2, 1], &[1, 1], 0)).unwrap(),
            device.zeros([2, 1]).unwrap(),
        );
        let banded = banded.unwrap_err();
        assert!(matches!(banded.error, Error::Unsupported { .. }) && banded.back.is_some(), "{banded}");
    }
}

#[test]
fn lists_that_do_not_fit_are_refused_and_come_back() {
    for device in devices() {
        let (blas, four) = (device.blas(), up(&device, [1.0f64; 4]));
        let (column, row) = (four.view(Layout::columns(2, 1)).unwrap(), four.view(Layout::columns(1, 2)).unwrap());
        let (one, two): (TensorRef<'_, f64>, TensorRef<'_, f64>) =
            (four.slice(..1).unwrap().into(), four.slice(..2).unwrap().into());
        let wide = four.view(Layout::columns(2, 1).batch(1, 2)).unwrap();
        let y = |n: usize, inc: isize| -> Tensor<f64> {
            let offset = if inc < 0 { n - 1 } else { 0 };
            up(&device, [7.0f64; 4]).with_layout(Layout::new([n], [inc], offset).unwrap()).unwrap()
        };
        let view = || column.view();
        let square = four.view(Layout::columns(2, 2)).unwrap();
        for (a, x, y, name) in [
            (vec![view(), view()], vec![one.view(), one.view()], vec![y(2, 1)], "a"),
            (vec![view(), view()], vec![one.view()], vec![y(2, 1), y(2, 1)], "x"),
            (vec![view(), view()], vec![one.view(), one.view()], vec![y(2, 1), y(3, 1)], "y[1]"),
            (vec![view(), view()], vec![one.view(), two.view()], vec![y(2, 1), y(2, 1)], "x[1]"),
            (vec![view(), view()], vec![one.view(), one.view()], vec![y(2, 1), y(2, -1)], "y[1]"),
            (vec![view(), square.view()], vec![one.view(), two.view()], vec![y(2, 1), y(2, 1)], "a[1]"),
            (vec![view(), row.view()], vec![one.view(), two.view()], vec![y(2, 1), y(1, 1)], "a[1]"),
            (vec![wide.view(), view()], vec![one.view(), one.view()], vec![y(2, 1), y(2, 1)], "a[0]"),
        ] {
            let lens = y.len();
            let rejected = blas.gemv_batched(Gemv::new(), a, x, y).unwrap_err();
            assert_eq!(refused(&rejected.error).0, name, "{rejected}");
            let (back,) = rejected.back.unwrap();
            assert_eq!(back.len(), lens, "all outputs come back");
            assert!(back.iter().all(|y| down(&device, y.buffer()) == [7.0; 4]), "as they were");
        }
        let tensors = |n: usize| vec![up(&device, vec![7.0f64; n]), up(&device, vec![7.0f64; n])];
        let band = four.view(Layout::columns(1, 1)).unwrap();
        let rejected = blas.gemv_batched(Gemv::banded(0, 0), [&band; 2], [&one; 2], tensors(1)).unwrap_err();
        assert!(matches!(rejected.error, Error::Unsupported { .. }), "{rejected}");
        assert!(rejected.back.is_some_and(|(all,)| all.len() == 2), "all outputs come back");
    }
}

/// What has no elements lies nowhere.
#[test]
fn batches_without_elements_leave_their_outputs() {
    for device in devices() {
        let (blas, none) = (device.blas(), device.zeros::<f64>([3, 0, 2]).unwrap());
        let nans = device.full([3, 2], f64::NAN).unwrap();
        let beta = || Gemv::new().beta(5.0);
        // Without rows: each x has two elements all the same.
        let y = blas.gemv(beta(), &none, &nans, device.zeros([3, 0]).unwrap()).unwrap();
        assert!(y.await_result().unwrap().is_empty());
        // Without columns, each y has.
        let x = device.zeros::<f64>([3, 0]).unwrap();
        let y = blas.gemv(beta(), none.swap_axes(1, 2).unwrap(), &x, device.full([3, 2], 7.0).unwrap()).unwrap();
        assert_eq!(down(&device, &y), [7.0; 6]);
        // However far apart they are said to be.
        let far = none.buffer().view(Layout::columns(0, 2).batch(3, 7)).unwrap();
        let y = blas.gemv(beta(), far, &nans, device.zeros([3, 0]).unwrap()).unwrap();
        assert!(y.await_result().unwrap().is_empty());
        // An operand with elements must go with the batch all the same.
        let four = device.zeros::<f64>([4, 0, 2]).unwrap();
        let rejected = blas.gemv(beta(), &four, &nans, device.zeros([4, 0]).unwrap()).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "x");
    }
}

/// With a zero `alpha` by value neither matrices nor vectors are read; with a zero `beta` the outputs are not either.
fn unread<T: Sample + BlasElement>(device: &Device) {
    let (blas, zero, count) = (device.blas(), T::real(0.0), 3);
    let nans = up(device, vec![T::NAN; 40]);
    for (of, incy) in TRANSPOSES.into_iter().flat_map(|of| [1isize, 2, -2].map(|inc| (of, inc))) {
        let (m, n) = (4, 2);
        let rows = if of == Transpose::No { m } else { n };
        for (beta, beta_at) in [0.0, 1.0, -2.0].into_iter().flat_map(|beta| [(beta, false), (beta, true)]) {
            let old = if beta == 0.0 { T::NAN } else { T::real(3.0) };
            let want = vec![T::real(if beta == 0.0 { 0.0 } else { 3.0 * beta }); rows];
            let y = Laid::new(&vec![old; rows], incy);
            let check = |got: &[T], what: &str| {
                let got = y.changed(got, what);
                assert_eq!(got, want, "{what}: beta {beta}, {beta_at}, {of:?}, {incy}, {} on {device:?}", T::DTYPE);
            };
            let (mut one, mut other) = (None, None);
            let spec = |keep| spec::<T>(of).alpha(zero).beta(number(device, T::real(beta), beta_at, keep));
            let turned = |batch: Layout| if of == Transpose::No { batch } else { batch.swap_axes(-1, -2).unwrap() };
            let all = up(device, std::iter::repeat_n(&y.data, count).flatten().copied().collect::<Vec<T>>());
            let all = all.with_layout(repeated(&y.layout(), count, y.data.len())).unwrap();
            let a = nans.view(turned(Layout::columns(m, n).batch(count, m * n).try_into().unwrap())).unwrap();
            let x = nans.as_in().slice(0..m + n - rows).unwrap();
            let got = blas.gemv(spec(&mut one), a, x, all).unwrap().await_result().unwrap();
            down(device, got.buffer()).chunks(y.data.len()).for_each(|got| check(got, "strided"));
            let a = nans.view(turned(Layout::columns(m, n).try_into().unwrap())).unwrap();
            let outputs = (0..count).map(|_| y.tensor_mut(device));
            let got = blas.gemv_batched(spec(&mut other), [&a; 3], [x; 3], outputs).unwrap().await_result().unwrap();
            got.iter().for_each(|got| check(&down(device, got.buffer()), "in lists"));
        }
    }
}

#[test]
fn a_zero_alpha_reads_nothing_of_a_batch() {
    for device in devices() {
        unread::<f32>(&device);
        unread::<f64>(&device);
        unread::<Complex<f32>>(&device);
        unread::<Complex<f64>>(&device);
    }
}
