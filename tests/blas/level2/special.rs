//! NaN, infinities and zeros go where BLAS says.

use crate::common::{Sample, assert_same_bits, devices, down, up};
use windlass::blas::{BlasElement, ComplexElement, Gemv, Ger, Her, Symv, Syr2, Trmv};
use windlass::{Complex, Device, Uplo};

/// A NaN in A reaches the elements of y that it is a factor of, and no others; a zero in x does not stop it.
fn nan<T: Sample + BlasElement>(device: &Device) {
    let (blas, n) = (device.blas(), 5);
    let nan = |x: &T| x.parts()[0].is_nan();
    let mut a = vec![T::real(1.0); n * n];
    a[3 + 2 * n] = T::NAN; // row 3, column 2
    let (da, x) = (up(device, &a[..]), up(device, vec![T::real(0.0); n]));
    let y = || up(device, vec![T::real(1.0); n]);
    let got = down(device, &blas.gemv(Gemv::new(n, n), &da, &x, y()).unwrap().await_result().unwrap());
    assert_eq!((0..n).filter(|i| nan(&got[*i])).collect::<Vec<_>>(), [3], "gemv on {device:?}");
    let got = down(device, &blas.symv(Symv::new(n, Uplo::Lower), &da, &x, y()).unwrap().await_result().unwrap());
    assert_eq!((0..n).filter(|i| nan(&got[*i])).collect::<Vec<_>>(), [2, 3], "symv on {device:?}");
    // The other triangle is not looked at.
    let got = down(device, &blas.symv(Symv::new(n, Uplo::Upper), &da, &x, y()).unwrap().await_result().unwrap());
    assert!(!got.iter().any(nan), "symv on {device:?}");
    let got = down(device, &blas.trmv(Trmv::new(n, Uplo::Lower), &da, y()).unwrap().await_result().unwrap());
    assert_eq!((0..n).filter(|i| nan(&got[*i])).collect::<Vec<_>>(), [3], "trmv on {device:?}");

    let mut ys = vec![T::real(1.0); n];
    ys[2] = T::NAN;
    let (dy, ones) = (up(device, ys), up(device, vec![T::real(1.0); n]));
    let got =
        blas.ger(Ger::new(n, n), &ones, &dy, up(device, vec![T::real(0.0); n * n])).unwrap().await_result().unwrap();
    let got = down(device, &got);
    assert!((0..n * n).all(|at| nan(&got[at]) == (at / n == 2)), "ger spreads a NaN to its column alone: {got:?}");
}

#[test]
fn a_nan_goes_where_arithmetic_says() {
    for device in devices() {
        nan::<f32>(&device);
        nan::<f64>(&device);
        nan::<Complex<f32>>(&device);
        nan::<Complex<f64>>(&device);
    }
}

/// A zero `alpha` leaves what is updated bit for bit; a zero `alpha` with `beta` scales alone.
fn zeros<T: Sample + BlasElement>(device: &Device) {
    let (blas, zero) = (device.blas(), T::real(0.0));
    let nans = up(device, [T::NAN; 4]);
    let two = nans.as_in().slice(0..2).unwrap();
    let what = [T::NAN, T::INFINITY, T::real(-0.0), T::real(3.0)];
    let got = blas.ger(Ger::new(2, 2).alpha(zero), two, two, up(device, what)).unwrap().await_result().unwrap();
    assert_same_bits(&down(device, &got), &what, "ger by zero");
    let got =
        blas.syr2(Syr2::new(2, Uplo::Upper).alpha(zero), two, two, up(device, what)).unwrap().await_result().unwrap();
    assert_same_bits(&down(device, &got), &what, "syr2 by zero");
    for inc in [1isize, 2, -2] {
        let y = [T::real(3.0), T::real(5.0), T::real(7.0)];
        let at = if inc.abs() == 1 { 1 } else { 2 };
        for beta in [0.0, 1.0, 2.0] {
            let spec = Gemv::new(2, 2).alpha(zero).beta(T::real(beta));
            let got = blas.gemv(spec, &nans, two, up(device, y).into_strided(2, inc)).unwrap().await_result().unwrap();
            let mut want = y;
            want[0] = T::real(3.0 * beta);
            want[at] = T::real(y[at].parts()[0] * beta);
            assert_eq!(down(device, &got), want, "y = {beta} y, {inc}, on {device:?}");
        }
        let mut y = [T::NAN; 3];
        y[1] = if inc.abs() == 1 { T::NAN } else { T::real(5.0) };
        let spec = Symv::new(2, Uplo::Lower).alpha(zero).beta(zero);
        let got = blas.symv(spec, &nans, two, up(device, y).into_strided(2, inc)).unwrap().await_result().unwrap();
        let got = down(device, &got);
        assert_same_bits(&[got[0], got[at]], &[zero; 2], "a zero beta discards NaN");
        let rest = if at == 1 { 2 } else { 1 };
        assert_same_bits(&[got[rest]], &[y[rest]], "the rest stays");
    }
}

#[test]
fn zero_factors_discard_what_they_multiply() {
    for device in devices() {
        zeros::<f32>(&device);
        zeros::<f64>(&device);
        zeros::<Complex<f32>>(&device);
        zeros::<Complex<f64>>(&device);
    }
}

/// A Hermitian diagonal is real afterwards, also where x is zero, and its imaginary parts were never read.
fn diagonals<T: Sample + ComplexElement>(device: &Device, of: fn(f64, f64) -> T) {
    let blas = device.blas();
    let junk = [of(1.0, 9.0), of(5.0, 6.0), of(5.0, 6.0), of(2.0, 9.0)];
    let x = up(device, [of(0.0, 0.0), of(1.0, 1.0)]);
    let got = blas.her(Her::new(2, Uplo::Upper), &x, up(device, junk)).unwrap().await_result().unwrap();
    assert_eq!(down(device, &got), [of(1.0, 0.0), of(5.0, 6.0), of(5.0, 6.0), of(4.0, 0.0)], "her on {device:?}");
    let got = blas.her2(Syr2::new(2, Uplo::Lower), &x, &x, up(device, junk)).unwrap().await_result().unwrap();
    assert_eq!(down(device, &got), [of(1.0, 0.0), of(5.0, 6.0), of(5.0, 6.0), of(6.0, 0.0)], "her2 on {device:?}");
    let ones = up(device, [of(1.0, 0.0), of(1.0, 0.0)]);
    let a = up(device, junk);
    let got =
        blas.hemv(Symv::new(2, Uplo::Upper), &a, &ones, device.uninit(2).unwrap()).unwrap().await_result().unwrap();
    assert_eq!(down(device, &got), [of(6.0, 6.0), of(7.0, -6.0)], "hemv on {device:?}");
}

#[test]
fn the_imaginary_part_of_a_hermitian_diagonal_is_zero() {
    for device in devices() {
        diagonals::<Complex<f32>>(&device, |re, im| Complex::new(re as f32, im as f32));
        diagonals::<Complex<f64>>(&device, Complex::new);
    }
}

/// A zero on the diagonal of a system divides: no error, infinities and NaN.
#[test]
fn a_singular_triangle_divides_by_zero() {
    for device in devices() {
        let a = up(&device, [2.0f64, 1.0, 0.0, 0.0]); // rows (2, 0) and (1, 0)
        let x =
            device.blas().trsv(Trmv::new(2, Uplo::Lower), &a, up(&device, [2.0, 5.0])).unwrap().await_result().unwrap();
        let x = down(&device, &x);
        assert_eq!(x[0], 1.0, "what does not depend on it is right");
        assert!(!x[1].is_finite(), "{x:?} on {device:?}");
    }
}

/// One element has no stride, whatever the caller names.
#[test]
fn the_increment_of_one_element_may_be_any_number() {
    for device in devices() {
        let (blas, far) = (device.blas(), [isize::MIN, isize::MIN + 1, isize::MAX]);
        let of = |x: f64| up(&device, [x]);
        let (a, three) = (of(5.0), of(3.0));
        for (incx, incy) in far.into_iter().flat_map(|x| far.map(|y| (x, y))) {
            let what = format!("{incx}, {incy} on {device:?}");
            let (x, y) = (|| three.strided(1, incx), || of(2.0).into_strided(1, incy));
            let lower = Uplo::Lower;
            let check = |submitted: windlass::Submitted<windlass::DeviceBuffer<f64>>, want: f64| {
                assert_eq!(down(&device, &submitted.unwrap().await_result().unwrap()), [want], "{what}");
            };
            check(blas.gemv(Gemv::new(1, 1).beta(1.0), &a, x(), y()), 17.0);
            check(blas.gemv(Gemv::banded(1, 1, 0, 0).beta(1.0), &a, x(), y()), 17.0);
            check(blas.gemv(Gemv::new(1, 1).alpha(0.0).beta(4.0), &a, x(), y()), 8.0);
            check(blas.symv(Symv::new(1, lower).beta(1.0), &a, x(), y()), 17.0);
            check(blas.trmv(Trmv::new(1, lower), &a, y()), 10.0);
            check(blas.trsv(Trmv::new(1, lower), &a, y()), 0.4);
            check(blas.ger(Ger::new(1, 1), x(), three.strided(1, incy), of(1.0)), 10.0);
            check(blas.syr2(Syr2::new(1, lower), x(), three.strided(1, incy), of(1.0)), 19.0);
            let batch = Gemv::new(1, 1).beta(1.0).batch(1).incx(incx).incy(incy);
            check(blas.gemv_strided_batched(batch, &a, &three, of(2.0)), 17.0);
        }
    }
}
