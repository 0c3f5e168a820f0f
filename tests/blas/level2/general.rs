//! gemv and gbmv.

use super::matrix::{Matrix, SIZES, TRANSPOSES, increments, near, pairs, product};
use crate::common::{Laid, Rng, Sample, devices, down, left_out, seeds, up};
use windlass::blas::{BlasElement, Gemv};
use windlass::{Complex, Device, Transpose};

/// One product, with `beta == 0` over an output of NaN and `alpha == 0` over operands of NaN.
fn check<T: Sample + BlasElement>(
    device: &Device,
    rng: &mut Rng,
    a: &Matrix<T>,
    spec: Gemv<T>,
    of: Transpose,
    (incx, incy): (isize, isize),
    (alpha, beta): (T, T),
) {
    let at = rng.below(4) == 0;
    let (rows, cols) = if of == Transpose::No { (a.m, a.n) } else { (a.n, a.m) };
    let zero = T::real(0.0);
    let unread = |data: Vec<T>, unread: bool| if unread { vec![T::NAN; data.len()] } else { data };
    let x = Laid::new(&unread(rng.samples::<T>(cols), alpha == zero && !at), incx);
    let y = Laid::new(&unread(rng.samples::<T>(rows), beta == zero), incy);
    let da = up(device, unread(a.data.clone(), alpha == zero && !at));
    let dx = x.up(device);
    let (xs, ys) = (x.elements(&x.data), y.elements(&y.data));
    let (mut want, bounds) = product(a, of, alpha, &xs, beta, &ys);
    if a.m == 0 || a.n == 0 {
        want = ys; // nothing happens
    }
    let blas = device.blas();
    let y_mut = y.view_mut(device);
    let pending = if at {
        let (alpha, beta) = (up(device, [alpha]), up(device, [beta]));
        blas.gemv(spec.trans(of).scalars_at(&alpha, &beta), &da, x.view(&dx), y_mut)
    } else {
        blas.gemv(spec.trans(of).alpha(alpha).beta(beta), &da, x.view(&dx), y_mut)
    };
    let what = format!("{spec:?}, {of:?}, {alpha:?}, {beta:?}, {incx}, {incy}, on the device: {at}, on {device:?}");
    near(&y, &down(device, &pending.unwrap().await_result().unwrap()), &want, &bounds, &what);
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
                        check::<T>(device, rng, &a, Gemv::new(m, n).lda(m.max(1) + gap), of, inc, scalars);
                    }
                    let band = (rng.below(4), rng.below(4));
                    let lda = band.0 + band.1 + 1 + gap;
                    let a = Matrix::band(rng, m, n, band, lda);
                    let spec = Gemv::banded(m, n, band.0, band.1).lda(lda);
                    for scalars in pairs(rng, n) {
                        if left_out(5) {
                            continue;
                        }
                        check::<T>(device, rng, &a, spec, of, inc, scalars);
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
                check::<T>(device, rng, &a, Gemv::new(m, n).lda(m + 1), of, inc, scalars);
            }
        }
        for of in TRANSPOSES {
            let a = Matrix::band(rng, 300, 300, (120, 130), 251);
            let scalars = (T::sample(rng), T::sample(rng));
            check::<T>(device, rng, &a, Gemv::banded(300, 300, 120, 130), of, (1, 1), scalars);
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
        let (a, x) = (up(&device, [2.0f64]), up(&device, [3.0]));
        let y = device.blas().gemv(Gemv::new(1, 1), &a, &x, device.uninit(1).unwrap()).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &y), [6.0]);
        // ... but not where there is nothing to multiply.
        let none = up(&device, Vec::<f64>::new());
        let rejected = device.blas().gemv(Gemv::new(1, 0), &none, &none, device.uninit(1).unwrap()).unwrap_err();
        assert!(rejected.error.to_string().contains("never written"), "{rejected}");
    }
}
