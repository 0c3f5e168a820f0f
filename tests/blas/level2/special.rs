//! NaN, infinities and zeros go where BLAS says.

use crate::common::{Sample, assert_same_bits, columns, devices, down, up};
use windlass::blas::{BlasElement, ComplexElement, Gemv, Ger, Symv, Syr, Trmv};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Submitted, Tensor, Uplo};

/// A NaN in A reaches the elements of y that it is a factor of, and no others; a zero in x does not stop it.
fn nan<T: Sample + BlasElement>(device: &Device) {
    let (blas, n) = (device.blas(), 5);
    let square = || device.zeros::<T>([n, n]).unwrap();
    let nan = |x: &T| x.parts()[0].is_nan();
    let mut a = vec![T::real(1.0); n * n];
    a[3 + 2 * n] = T::NAN; // row 3, column 2
    let (da, x) = (up(device, &a[..]), up(device, vec![T::real(0.0); n]));
    let y = || up(device, vec![T::real(1.0); n]);
    let got = down(device, blas.gemv(Gemv::new(), columns(&da, n, n), &x, y()).unwrap());
    assert_eq!((0..n).filter(|i| nan(&got[*i])).collect::<Vec<_>>(), [3], "gemv on {device:?}");
    let got = down(device, blas.symv(Symv::new(Uplo::Lower), columns(&da, n, n), &x, y()).unwrap());
    assert_eq!((0..n).filter(|i| nan(&got[*i])).collect::<Vec<_>>(), [2, 3], "symv on {device:?}");
    // The other triangle is not looked at.
    let got = down(device, blas.symv(Symv::new(Uplo::Upper), columns(&da, n, n), &x, y()).unwrap());
    assert!(!got.iter().any(nan), "symv on {device:?}");
    let got = down(device, blas.trmv(Trmv::new(Uplo::Lower), columns(&da, n, n), y()).unwrap());
    assert_eq!((0..n).filter(|i| nan(&got[*i])).collect::<Vec<_>>(), [3], "trmv on {device:?}");

    let mut ys = vec![T::real(1.0); n];
    ys[2] = T::NAN;
    let (dy, ones) = (up(device, ys), up(device, vec![T::real(1.0); n]));
    // By rows and by columns.
    let got = down(device, blas.ger(Ger::new(), &ones, &dy, square()).unwrap().buffer());
    assert!((0..n * n).all(|at| nan(&got[at]) == (at % n == 2)), "ger spreads a NaN to its column alone: {got:?}");
    let turned = square().part(|all| Ok(all.transpose())).unwrap();
    let got = down(device, blas.ger(Ger::new(), &ones, &dy, turned).unwrap().buffer());
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
    let (a, two) = (columns(&nans, 2, 2), nans.as_in().slice(0..2).unwrap());
    let what = [T::NAN, T::INFINITY, T::real(-0.0), T::real(3.0)];
    let square = || device.tensor([2, 2], what).unwrap();
    let got = blas.ger(Ger::new().alpha(zero), two, two, square()).unwrap();
    assert_same_bits(&down(device, &got), &what, "ger by zero");
    let got = blas.syr2(Syr::new(Uplo::Upper).alpha(zero), two, two, square()).unwrap();
    assert_same_bits(&down(device, &got), &what, "syr2 by zero");
    for inc in [1isize, 2, -2] {
        let y = [T::real(3.0), T::real(5.0), T::real(7.0)];
        let at = if inc.abs() == 1 { 1 } else { 2 };
        let offset = if inc < 0 { 2 } else { 0 };
        let vector = |y: [T; 3]| up(device, y).with_layout(Layout::new([2], [inc], offset).unwrap()).unwrap();
        for beta in [0.0, 1.0, 2.0] {
            let spec = Gemv::new().alpha(zero).beta(T::real(beta));
            let got = blas.gemv(spec, &a, two, vector(y)).unwrap();
            let mut want = y;
            want[0] = T::real(3.0 * beta);
            want[at] = T::real(y[at].parts()[0] * beta);
            assert_eq!(down(device, got.buffer()), want, "y = {beta} y, {inc}, on {device:?}");
        }
        let mut y = [T::NAN; 3];
        y[1] = if inc.abs() == 1 { T::NAN } else { T::real(5.0) };
        let spec = Symv::new(Uplo::Lower).alpha(zero).beta(zero);
        let got = blas.symv(spec, &a, two, vector(y)).unwrap();
        let got = down(device, got.buffer());
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
    let junk = || up(device, junk).with_layout(Layout::columns(2, 2)).unwrap();
    let got = blas.her(Syr::new(Uplo::Upper), &x, junk()).unwrap();
    let want = [of(1.0, 0.0), of(5.0, 6.0), of(5.0, 6.0), of(4.0, 0.0)];
    assert_eq!(down(device, got.buffer()), want, "her on {device:?}");
    let got = blas.her2(Syr::new(Uplo::Lower), &x, &x, junk()).unwrap();
    let want = [of(1.0, 0.0), of(5.0, 6.0), of(5.0, 6.0), of(6.0, 0.0)];
    assert_eq!(down(device, got.buffer()), want, "her2 on {device:?}");
    let ones = up(device, [of(1.0, 0.0), of(1.0, 0.0)]);
    let got = blas.hemv(Symv::new(Uplo::Upper), &junk(), &ones, device.uninit(2).unwrap()).unwrap();
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
        let a = device.tensor([2, 2], [2.0f64, 0.0, 1.0, 0.0]).unwrap();
        let x = device.blas().trsv(Trmv::new(Uplo::Lower), &a, up(&device, [2.0, 5.0])).unwrap();
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
        let of = |x: f64| device.tensor([1, 1], [x]).unwrap();
        let layout = |inc: isize| Layout::new([1], [inc], 0).unwrap();
        let (a, three) = (of(5.0), up(&device, [3.0]));
        for (incx, incy) in far.into_iter().flat_map(|x| far.map(|y| (x, y))) {
            let what = format!("{incx}, {incy} on {device:?}");
            let x = |inc: isize| three.view(layout(inc)).unwrap();
            let y = || up(&device, [2.0]).with_layout(layout(incy)).unwrap();
            let lower = Uplo::Lower;
            let check = |submitted: Submitted<Tensor<f64>>, want: f64| {
                assert_eq!(down(&device, submitted.unwrap()), [want], "{what}");
            };
            check(blas.gemv(Gemv::new().beta(1.0), &a, x(incx), y()), 17.0);
            check(blas.gemv(Gemv::banded(0, 0).beta(1.0), &a, x(incx), y()), 17.0);
            check(blas.gemv(Gemv::new().alpha(0.0).beta(4.0), &a, x(incx), y()), 8.0);
            check(blas.symv(Symv::new(lower).beta(1.0), &a, x(incx), y()), 17.0);
            check(blas.trmv(Trmv::new(lower), &a, y()), 10.0);
            check(blas.trsv(Trmv::new(lower), &a, y()), 0.4);
            check(blas.ger(Ger::new(), x(incx), x(incy), of(1.0)), 10.0);
            check(blas.syr2(Syr::new(lower), x(incx), x(incy), of(1.0)), 19.0);
            // Neither has a batch of one, nor a matrix of one element.
            let batch = |inc: isize| Layout::new([1, 1], [inc, inc], 0).unwrap();
            let (x, y) = (three.view(batch(incx)).unwrap(), up(&device, [2.0]).with_layout(batch(incy)).unwrap());
            let far = a.buffer().view(Layout::new([1, 1, 1], [incx, incy, incx], 0).unwrap()).unwrap();
            check(blas.gemv(Gemv::new().beta(1.0), &far, x, y), 17.0);
        }
    }
}
