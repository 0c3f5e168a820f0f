//! gemv and gbmv.

use super::matrix::{Matrix, SIZES, TRANSPOSES, increments, near, number, pairs, places, product};
use crate::common::{Laid, Rng, Sample, devices, down, left_out, seeds, up};
use windlass::blas::{BlasElement, Gemv};
use windlass::{Complex, Device, Error, Transpose};

/// One product, with `beta == 0` over an output of NaN and `alpha == 0` over operands of NaN.
fn check<T: Sample + BlasElement>(
    device: &Device,
    rng: &mut Rng,
    a: &Matrix<T>,
    band: Option<(usize, usize)>,
    of: Transpose,
    (incx, incy): (isize, isize),
    (alpha, beta): (T, T),
) {
    let [alpha_at, beta_at] = places(rng);
    let (rows, cols) = if of == Transpose::No { (a.m, a.n) } else { (a.n, a.m) };
    let zero = T::real(0.0);
    let unread = |data: Vec<T>, unread: bool| if unread { vec![T::NAN; data.len()] } else { data };
    let x = Laid::new(&unread(rng.samples::<T>(cols), alpha == zero && !alpha_at), incx);
    let y = Laid::new(&unread(rng.samples::<T>(rows), beta == zero), incy);
    let da = up(device, unread(a.data.clone(), alpha == zero && !alpha_at));
    let dx = x.up(device);
    let (xs, ys) = (x.elements(&x.data), y.elements(&y.data));
    let (mut want, bounds) = product(a, of, alpha, &xs, beta, &ys);
    if a.m == 0 || a.n == 0 {
        want = ys; // nothing happens
    }
    let (spec, view) = match band {
        Some((kl, ku)) => (Gemv::banded(kl, ku).trans(of), a.view(&da)),
        None if of == Transpose::Conjugate => (Gemv::new().conjugate_a(), a.turned(&da, of)),
        None => (Gemv::new(), a.turned(&da, of)),
    };
    let (mut keep_alpha, mut keep_beta) = (None, None);
    let spec = spec.alpha(number(device, alpha, alpha_at, &mut keep_alpha));
    let spec = spec.beta(number(device, beta, beta_at, &mut keep_beta));
    let what = format!("{spec:?}, {view:?}, {of:?}, {alpha:?}, {beta:?}, {incx}, {incy}");
    let got = device.blas().gemv(spec, view, x.tensor(&dx), y.tensor_mut(device)).expect(&what);
    near(&y, &down(device, got.await_result().expect(&what).buffer()), &want, &bounds, &what);
}

fn sizes<T: Sample + BlasElement>(device: &Device, rng: &mut Rng) {
    for n in SIZES {
        for m in [n, rng.pick(&SIZES[..7])] {
            for of in TRANSPOSES {
                for inc in increments(rng, n) {
                    let gap = rng.pick(&[0, 1, 3]);
                    let a = Matrix::general(rng, m, n, m.max(1) + gap);
                    for scalars in pairs(rng, n) {
                        if left_out(5) {
                            continue;
                        }
                        check::<T>(device, rng, &a, None, of, inc, scalars);
                    }
                    let band = (rng.below(4), rng.below(4));
                    let a = Matrix::band(rng, m, n, band, band.0 + band.1 + 1 + gap);
                    for scalars in pairs(rng, n) {
                        if left_out(5) {
                            continue;
                        }
                        check::<T>(device, rng, &a, Some(band), of, inc, scalars);
                    }
                }
            }
        }
    }
}

#[test]
fn products_take_every_size_transpose_and_increment() {
    for device in devices() {
        seeds(1, |rng, _| {
            sizes::<f32>(&device, rng);
            sizes::<f64>(&device, rng);
            sizes::<Complex<f32>>(&device, rng);
            sizes::<Complex<f64>>(&device, rng);
        });
    }
}

/// Enough elements for threads, in every way that they are shared.
#[test]
fn large_products_are_cut_up_right() {
    fn shapes<T: Sample + BlasElement>(device: &Device, rng: &mut Rng) {
        for (m, n) in [(400, 401), (40, 2000), (2000, 40), (1, 70_000), (70_000, 1)] {
            for of in TRANSPOSES {
                let (a, inc) = (Matrix::general(rng, m, n, m + 1), rng.pick(&[(1, 1), (2, -1)]));
                let scalars = (T::sample(rng), T::sample(rng));
                check::<T>(device, rng, &a, None, of, inc, scalars);
            }
        }
        for of in TRANSPOSES {
            let a = Matrix::band(rng, 300, 300, (120, 130), 251);
            let scalars = (T::sample(rng), T::sample(rng));
            check::<T>(device, rng, &a, Some((120, 130)), of, (1, 1), scalars);
        }
    }
    for device in devices() {
        seeds(1, |rng, _| {
            shapes::<f32>(&device, rng);
            shapes::<f64>(&device, rng);
            shapes::<Complex<f32>>(&device, rng);
            shapes::<Complex<f64>>(&device, rng);
        });
    }
}

/// What was never written is written by a product that does not read it.
#[test]
fn a_zero_beta_overwrites() {
    for device in devices() {
        let (a, x) = (device.tensor([1, 1], [2.0f64]).unwrap(), up(&device, [3.0]));
        let y = device.blas().gemv(Gemv::new(), &a, &x, device.uninit(1).unwrap()).unwrap();
        assert_eq!(down(&device, &y), [6.0]);
        // ... but not where there is nothing to multiply.
        let (a, none) = (device.zeros::<f64>([1, 0]).unwrap(), up(&device, Vec::<f64>::new()));
        let rejected = device.blas().gemv(Gemv::new(), &a, &none, device.uninit(1).unwrap()).unwrap_err();
        assert!(rejected.error.to_string().contains("never written"), "{rejected}");
    }
}

/// BLAS conjugates what it transposes: of a full matrix, rows; of a band, what `trans` transposes. A single row or column is both.
#[test]
fn a_conjugate_is_served_where_the_library_transposes() {
    type C = Complex<f64>;
    for device in devices() {
        let blas = device.blas();
        let all = [(1.0, 2.0), (3.0, -1.0), (0.0, 1.0), (2.0, 2.0)].map(|(re, im)| C::new(re, im));
        let a = device.tensor([2, 2], all).unwrap();
        let x = device.tensor([2], [C::new(1.0, 1.0), C::new(0.0, 2.0)]).unwrap();
        let y = || device.uninit([2]).unwrap();
        let conjugate = a.conj().eval(&device).unwrap();
        let spec = || Gemv::new().conjugate_a();
        let got = blas.gemv(spec(), &a, &x, y()).unwrap();
        let want = blas.gemv(Gemv::new(), &conjugate, &x, y()).unwrap();
        assert_eq!(down(&device, &got), down(&device, &want));
        for refused in [spec(), Gemv::banded(0, 1).conjugate_a()] {
            let error = blas.gemv(refused, a.transpose(), &x, y()).unwrap_err().error;
            assert!(
                matches!(&error, Error::Unsupported { reason, .. } if reason.contains("`conj().eval()`")),
                "{error}"
            );
        }
        let line = a.slice((..1,)).unwrap();
        for line in [line.view(), line.transpose()] {
            let x = x.slice((..line.shape()[1],)).unwrap();
            let y = || device.uninit([line.shape()[0]]).unwrap();
            let got = blas.gemv(spec(), &line, &x, y()).unwrap();
            let conjugate = line.conj().eval(&device).unwrap();
            let want = blas.gemv(Gemv::new(), &conjugate, &x, y()).unwrap();
            assert_eq!(down(&device, &got), down(&device, &want), "{line:?}");
        }
        // Twice is not at all; and a real number is its own conjugate.
        let band = device.tensor([1, 2], [C::new(1.0, 5.0), C::new(2.0, 5.0)]).unwrap();
        let twice = Gemv::banded(0, 0).trans(Transpose::Conjugate).conjugate_a();
        let got = blas.gemv(twice, &band, &x, y()).unwrap();
        let want = blas.gemv(Gemv::banded(0, 0), &band, &x, y()).unwrap();
        assert_eq!(down(&device, &got), down(&device, &want));
        let real = device.contiguous_columns(a.as_real().unwrap().index(2, 0).unwrap()).unwrap();
        let got =
            blas.gemv(Gemv::new().conjugate_a(), &real, up(&device, [1.0, 1.0]).share(), device.uninit(2).unwrap());
        assert_eq!(down(&device, got.unwrap()), [4.0, 2.0]);
    }
}
