//! Batches of gemv.

use super::matrix::{Matrix, TRANSPOSES, near, product, scalar};
use crate::common::{Laid, Rng, Sample, assert_same_bits, devices, down, refused, seeds, up};
use windlass::blas::{BlasElement, Gemv};
use windlass::{Complex, Device, Transpose, Vector};

fn lengths<T>(a: &Matrix<T>, of: Transpose) -> (usize, usize) {
    if of == Transpose::No { (a.m, a.n) } else { (a.n, a.m) }
}

fn strided<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, (m, n): (usize, usize), count: usize) {
    for (of, (incx, incy)) in TRANSPOSES.into_iter().zip([(1, 1), (2, -1), (-2, 2)]) {
        let (alpha, beta) = (scalar::<T>(rng), scalar::<T>(rng));
        let lda = m.max(1) + rng.below(2);
        let all: Vec<Matrix<T>> = (0..count).map(|_| Matrix::general(rng, m, n, lda)).collect();
        let (rows, cols) = lengths(&Matrix::<T>::general(rng, m, n, lda), of);
        let xs: Vec<Laid<T>> = (0..count).map(|_| Laid::new(&rng.samples::<T>(cols), incx)).collect();
        let ys: Vec<Laid<T>> = (0..count).map(|_| Laid::new(&rng.samples::<T>(rows), incy)).collect();
        // One behind the other; each with its own room behind it.
        let stride = |lens: Vec<usize>| lens.first().copied().unwrap_or(1);
        let (sa, sx, sy) = (
            stride(all.iter().map(|a| a.data.len()).collect()),
            stride(xs.iter().map(|x| x.data.len()).collect()),
            stride(ys.iter().map(|y| y.data.len()).collect()),
        );
        let da = up(device, all.iter().flat_map(|a| a.data.clone()).collect::<Vec<_>>());
        let dx = up(device, xs.iter().flat_map(|x| x.data.clone()).collect::<Vec<_>>());
        let dy = up(device, ys.iter().flat_map(|y| y.data.clone()).collect::<Vec<_>>());
        let spec = Gemv::new(m, n).trans(of).lda(lda).alpha(alpha).beta(beta).batch(count);
        let spec = spec.incx(incx).incy(incy).stride_a(sa).stride_x(sx).stride_y(sy);
        let (at_alpha, at_beta) = (up(device, [alpha]), up(device, [beta]));
        let blas = device.blas();
        let pending = if rng.below(3) == 0 {
            blas.gemv_strided_batched(spec.scalars_at(&at_alpha, &at_beta), &da, &dx, dy)
        } else {
            blas.gemv_strided_batched(spec, &da, &dx, dy)
        };
        let got = down(device, &pending.unwrap().await_result().unwrap());
        for (i, a) in all.iter().enumerate() {
            let (x, y) = (xs[i].elements(&xs[i].data), ys[i].elements(&ys[i].data));
            let (mut want, bounds) = product(a, of, alpha, &x, beta, &y);
            if m == 0 || n == 0 {
                want = y;
            }
            let what = format!("{i} of {spec:?} on {device:?}");
            near(&ys[i], &got[i * sy..(i + 1) * sy], &want, &bounds, &what);
        }
    }
}

fn buffers<T: Sample + BlasElement>(device: &Device, rng: &mut Rng, (m, n): (usize, usize), count: usize) {
    for (of, (incx, incy)) in TRANSPOSES.into_iter().zip([(1, 1), (2, -1), (-2, 2)]) {
        let (alpha, beta) = (scalar::<T>(rng), scalar::<T>(rng));
        let all: Vec<Matrix<T>> = (0..count).map(|_| Matrix::general(rng, m, n, m.max(1))).collect();
        let (rows, cols) = lengths(&Matrix::<T>::general(rng, m, n, m.max(1)), of);
        let xs: Vec<Laid<T>> = (0..count).map(|_| Laid::new(&rng.samples::<T>(cols), incx)).collect();
        let ys: Vec<Laid<T>> = (0..count).map(|_| Laid::new(&rng.samples::<T>(rows), incy)).collect();
        let da: Vec<_> = all.iter().map(|a| up(device, &a.data[..])).collect();
        let dx: Vec<_> = xs.iter().map(|x| x.up(device)).collect();
        let spec = Gemv::new(m, n).trans(of).alpha(alpha).beta(beta);
        let matrices: Vec<_> = da.iter().map(|a| a.as_in()).collect();
        let vectors: Vec<Vector<'_, T>> = xs.iter().zip(&dx).map(|(x, dx)| x.view(dx)).collect();
        let outputs = ys.iter().map(|y| y.view_mut(device)).collect();
        let got = device.blas().gemv_batched(spec, &matrices, &vectors, outputs).unwrap().await_result().unwrap();
        for (i, a) in all.iter().enumerate() {
            let (x, y) = (xs[i].elements(&xs[i].data), ys[i].elements(&ys[i].data));
            let (mut want, bounds) = product(a, of, alpha, &x, beta, &y);
            if m == 0 || n == 0 {
                want = y;
            }
            near(&ys[i], &down(device, &got[i]), &want, &bounds, &format!("{i} of {spec:?} on {device:?}"));
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
            buffers::<T>(device, rng, shape, count);
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
        let (a, x) = (up(&device, [1.0f64, 2.0]), up(&device, [1.0, 10.0, 100.0]));
        let spec = Gemv::new(1, 2).batch(2).stride_a(0).stride_x(1);
        let y = device.blas().gemv_strided_batched(spec, &a, &x, device.uninit(2).unwrap()).unwrap();
        assert_eq!(down(&device, &y.await_result().unwrap()), [21.0, 210.0]);
        // The defaults put one behind the other.
        let a = up(&device, [1.0f64, 2.0, 3.0, 4.0]);
        let y =
            device.blas().gemv_strided_batched(Gemv::new(1, 2).batch(2), &a, &a, device.uninit(2).unwrap()).unwrap();
        assert_eq!(down(&device, &y.await_result().unwrap()), [5.0, 25.0]);
    }
}

#[test]
fn batches_that_do_not_fit_are_refused_and_come_back() {
    for device in devices() {
        let (blas, four) = (device.blas(), up(&device, [1.0f64; 4]));
        let y = || up(&device, [7.0f64; 4]);
        let spec = Gemv::<f64>::new(2, 1);
        for (batch, name) in [
            (spec.batch(3), "a"),
            (spec.batch(2).stride_a(3), "a"),
            (spec.batch(2).stride_x(4), "x"),
            (spec.batch(2).stride_y(1), "stride_y"),
            (spec.batch(2).incy(2), "y"),
            (spec.batch(2).incx(0), "x"),
            (spec.batch(usize::MAX), "count"),
            (spec.batch(2).stride_a(usize::MAX), "a"),
        ] {
            let rejected = blas.gemv_strided_batched(batch, &four, &four, y()).unwrap_err();
            assert_eq!(refused(&rejected.error).0, name, "{batch:?}: {rejected}");
            assert_same_bits(&down(&device, &rejected.back.unwrap().0), &[7.0; 4], "y comes back");
        }
        let (a, x) = ([four.as_in(); 2], [Vector::from(four.as_in().slice(0..1).unwrap()); 2]);
        let outputs = |lens: &[usize]| lens.iter().map(|n| y().into_strided(*n, 1)).collect();
        let rejected = blas.gemv_batched(spec, &a, &x, outputs(&[2])).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "a");
        let rejected = blas.gemv_batched(spec, &a, &x[..1], outputs(&[2, 2])).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "x");
        let rejected = blas.gemv_batched(spec, &a, &x, outputs(&[2, 3])).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "y");
        assert!(rejected.back.is_some_and(|(all,)| all.len() == 2), "all outputs come back");
        let mixed = vec![y().into_strided(2, 1), y().into_strided(2, -1)];
        let rejected = blas.gemv_batched(spec, &a, &x, mixed).unwrap_err();
        assert!(refused(&rejected.error).1.contains("increments"), "{rejected}");
        let banded = blas.gemv_strided_batched(Gemv::banded(1, 1, 0, 0).batch(1), &four, &four, y()).unwrap_err();
        assert!(matches!(banded.error, windlass::Error::Unsupported { .. }));
        let rejected = blas.gemv_batched(Gemv::banded(1, 1, 0, 0), &a, &x, outputs(&[1, 1])).unwrap_err();
        assert!(matches!(rejected.error, windlass::Error::Unsupported { .. }), "{rejected}");
        assert!(rejected.back.is_some_and(|(all,)| all.len() == 2), "all outputs come back");
    }
}

/// What has no elements lies nowhere, however far apart its matrices and vectors are said to be.
#[test]
fn batches_without_elements_may_be_said_to_lie_apart() {
    for device in devices() {
        let (blas, none) = (device.blas(), up(&device, Vec::<f64>::new()));
        let six = up(&device, [f64::NAN; 6]);
        for of in TRANSPOSES {
            // Without rows as stored; each x, or each y, has two elements all the same.
            let spec = Gemv::new(0, 2).trans(of).beta(5.0);
            for batch in [spec.batch(3), spec.batch(3).stride_a(7)] {
                let what = format!("{batch:?} on {device:?}");
                if of == Transpose::No {
                    let y = blas.gemv_strided_batched(batch.stride_y(9), &none, &six, up(&device, [])).expect(&what);
                    assert!(y.await_result().unwrap().is_empty());
                } else {
                    let y = blas.gemv_strided_batched(batch.stride_x(9), &none, &none, up(&device, [7.0; 6]));
                    assert_eq!(down(&device, &y.expect(&what).await_result().unwrap()), [7.0; 6], "{what}");
                }
            }
        }
        // An operand with elements must hold the batch all the same.
        let rejected = blas.gemv_strided_batched(Gemv::new(0, 2).batch(4), &none, &six, up(&device, [])).unwrap_err();
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
        for beta in [0.0, 1.0, -2.0] {
            let old = if beta == 0.0 { T::NAN } else { T::real(3.0) };
            let want = vec![T::real(if beta == 0.0 { 0.0 } else { 3.0 * beta }); rows];
            let y = Laid::new(&vec![old; rows], incy);
            let check = |got: &[T], what: &str| {
                let got = y.changed(got, what);
                assert_eq!(got, want, "{what}: beta {beta}, {of:?}, {incy}, {} on {device:?}", T::DTYPE);
            };
            let spec = Gemv::new(m, n).trans(of).alpha(zero).beta(T::real(beta));
            let batch = spec.batch(count).incy(incy).stride_y(y.data.len());
            let all = up(device, std::iter::repeat_n(&y.data, count).flatten().copied().collect::<Vec<T>>());
            let got =
                down(device, &blas.gemv_strided_batched(batch, &nans, &nans, all).unwrap().await_result().unwrap());
            got.chunks(y.data.len()).for_each(|got| check(got, "strided"));
            let (matrices, x) = ([nans.as_in(); 3], nans.as_in().slice(0..m + n - rows).unwrap());
            let outputs = (0..count).map(|_| y.view_mut(device)).collect();
            let got =
                blas.gemv_batched(spec, &matrices, &[Vector::from(x); 3], outputs).unwrap().await_result().unwrap();
            got.iter().for_each(|got| check(&down(device, got), "in buffers"));
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
