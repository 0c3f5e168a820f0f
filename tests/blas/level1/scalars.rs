//! Scalars in device memory, and results left there.

use crate::common::{Rng, Sample, assert_near, assert_same_bits, devices, down, refused, seeds, unit, up};
use windlass::blas::{BlasElement, RealElement, VectorElement};
use windlass::{Complex, Device, bf16, f16};

const COUNT: usize = 37;

/// By value and from the device: the same arithmetic, to the last rounding or two.
#[track_caller]
fn same<T: Sample>(device: &Device, at: &windlass::Tensor<T>, by_value: &windlass::Tensor<T>, what: &str) {
    let (at, by_value) = (down(device, at), down(device, by_value));
    assert_eq!(at.len(), by_value.len());
    for (at, by_value) in at.into_iter().zip(by_value) {
        assert_near(at, by_value, 8.0 * (T::UNIT + unit::<T>()) * 16.0, what);
    }
}

fn updates<T: Sample + VectorElement<Scalar = S>, S: Sample>(device: &Device, rng: &mut Rng) {
    let (blas, x, y) = (device.blas(), rng.samples::<T>(COUNT), rng.samples::<T>(COUNT));
    let (dx, alpha) = (up(device, &x[..]), S::real(0.75));
    // Not the first element of its buffer.
    let scalars = up(device, vec![S::real(100.0), alpha]);
    let at = || scalars.as_in().slice(1..2).unwrap();
    let got = blas.axpy(at(), &dx, up(device, &y[..])).unwrap().await_result().unwrap();
    let want = blas.axpy(alpha, &dx, up(device, &y[..])).unwrap().await_result().unwrap();
    same(device, &got, &want, "axpy by a number on the device");
    let got = blas.scal(at(), up(device, &y[..])).unwrap().await_result().unwrap();
    let want = blas.scal(alpha, up(device, &y[..])).unwrap().await_result().unwrap();
    same(device, &got, &want, "scal by a number on the device");

    let nothing = up(device, Vec::<S>::new());
    let rejected = blas.axpy(&nothing, &dx, up(device, &y[..])).unwrap_err();
    assert_eq!(refused(&rejected.error).0, "alpha");
    assert!(rejected.back.is_some(), "y comes back");
}

fn results<T: Sample + VectorElement<Norm = N>, N: Sample>(device: &Device, rng: &mut Rng) {
    let (blas, x, y) = (device.blas(), up(device, rng.samples::<T>(COUNT)), up(device, rng.samples::<T>(COUNT)));
    let room = |n: usize| up(device, vec![T::real(7.0); n]);
    let dot = blas.dot(&x, &y).unwrap().await_result().unwrap();
    let got = down(device, &blas.dot_into(&x, &y, room(2)).unwrap().await_result().unwrap());
    assert_same_bits(&got, &[dot, T::real(7.0)], "dot_into leaves the first element alone");
    let dotc = blas.dotc(&x, &y).unwrap().await_result().unwrap();
    let got = down(device, &blas.dotc_into(&x, &y, device.uninit(1).unwrap()).unwrap().await_result().unwrap());
    assert_same_bits(&got, &[dotc], "dotc_into fills what was never written");
    let nrm2 = blas.nrm2(&x).unwrap().await_result().unwrap();
    let got = down(device, &blas.nrm2_into(&x, device.uninit(1).unwrap()).unwrap().await_result().unwrap());
    assert_same_bits(&got, &[nrm2], "nrm2_into");

    let empty = up(device, Vec::<T>::new());
    let got = down(device, &blas.dot_into(&empty, &empty, room(2)).unwrap().await_result().unwrap());
    assert_same_bits(&got, &[T::default(), T::real(7.0)], "an empty sum is zero");
    let rejected = blas.dot_into(&x, &y, up(device, Vec::<T>::new())).unwrap_err();
    assert_eq!(refused(&rejected.error).0, "result");
    assert!(rejected.back.is_some());
}

fn of_blas<T: Sample + BlasElement<Real = R>, R: Sample + BlasElement>(device: &Device, rng: &mut Rng) {
    let (blas, xs, ys) = (device.blas(), rng.samples::<T>(COUNT), rng.samples::<T>(COUNT));
    let x = up(device, &xs[..]);
    let asum = blas.asum(&x).unwrap().await_result().unwrap();
    let got = down(device, &blas.asum_into(&x, device.uninit(1).unwrap()).unwrap().await_result().unwrap());
    assert_same_bits(&got, &[asum], "asum_into");
    let places = |tensor: windlass::Tensor<i64>| down(device, &tensor);
    let max = blas.iamax(&x).unwrap().await_result().unwrap().unwrap() as i64;
    let min = blas.iamin(&x).unwrap().await_result().unwrap().unwrap() as i64;
    let got = places(blas.iamax_into(&x, up(device, [9i64, 9])).unwrap().await_result().unwrap());
    assert_eq!(got, [max + 1, 9], "on the device places count from 1");
    let got = places(blas.iamin_into(&x, device.uninit(1).unwrap()).unwrap().await_result().unwrap());
    assert_eq!(got, [min + 1]);
    let empty = up(device, Vec::<T>::new());
    assert_eq!(places(blas.iamax_into(&empty, up(device, [9i64])).unwrap().await_result().unwrap()), [0]);
    assert_eq!(blas.iamax(&empty).unwrap().await_result().unwrap(), None);

    let (c, s, real) = (R::real(0.6), T::real(0.8), R::real(0.8));
    let (dc, ds, dreal) = (up(device, [c]), up(device, [s]), up(device, [real]));
    let both = || (up(device, &xs[..]), up(device, &ys[..]));
    let ((x1, y1), (x2, y2)) = (both(), both());
    let got = blas.rot(&dc, &ds, x1, y1).unwrap().await_result().unwrap();
    let want = blas.rot(c, s, x2, y2).unwrap().await_result().unwrap();
    same(device, &got.0, &want.0, "rot by a number on the device");
    same(device, &got.1, &want.1, "rot by a number on the device");
    let ((x1, y1), (x2, y2)) = (both(), both());
    let got = blas.rot_real(&dc, &dreal, x1, y1).unwrap().await_result().unwrap();
    let want = blas.rot_real(c, real, x2, y2).unwrap().await_result().unwrap();
    same(device, &got.0, &want.0, "rot_real by a number on the device");
    same(device, &got.1, &want.1, "rot_real by a number on the device");
    let got = blas.scal_real(&dreal, up(device, &xs[..])).unwrap().await_result().unwrap();
    let want = blas.scal_real(real, up(device, &xs[..])).unwrap().await_result().unwrap();
    same(device, &got, &want, "scal_real by a number on the device");
}

fn of_reals<T: Sample + RealElement>(device: &Device, rng: &mut Rng) {
    let (blas, xs, ys) = (device.blas(), rng.samples::<T>(COUNT), rng.samples::<T>(COUNT));
    let both = || (up(device, &xs[..]), up(device, &ys[..]));
    let param = [-1.0, 1.0, 2.0, 3.0, 4.0].map(T::real);
    let ((x1, y1), (x2, y2)) = (both(), both());
    let got = blas.rotm(&up(device, param), x1, y1).unwrap().await_result().unwrap();
    let want = blas.rotm(param, x2, y2).unwrap().await_result().unwrap();
    same(device, &got.0, &want.0, "rotm by a number on the device");
    same(device, &got.1, &want.1, "rotm by a number on the device");
    let (x1, y1) = both();
    let rejected = blas.rotm(&up(device, &param[..4]), x1, y1).unwrap_err();
    assert_eq!(refused(&rejected.error).0, "param");
    assert!(rejected.back.is_some());
}

#[test]
fn scalars_in_device_memory_give_what_they_give_by_value() {
    for device in devices() {
        seeds(1, |rng, _| {
            updates::<f32, f32>(&device, rng);
            updates::<f64, f64>(&device, rng);
            updates::<Complex<f32>, Complex<f32>>(&device, rng);
            updates::<Complex<f64>, Complex<f64>>(&device, rng);
            updates::<f16, f32>(&device, rng);
            updates::<bf16, f32>(&device, rng);
            of_reals::<f32>(&device, rng);
            of_reals::<f64>(&device, rng);
        });
    }
}

#[test]
fn results_left_on_the_device_are_those_of_the_pending() {
    for device in devices() {
        seeds(1, |rng, _| {
            results::<f32, f32>(&device, rng);
            results::<f64, f64>(&device, rng);
            results::<Complex<f32>, f32>(&device, rng);
            results::<Complex<f64>, f64>(&device, rng);
            results::<f16, f16>(&device, rng);
            results::<bf16, bf16>(&device, rng);
            of_blas::<f32, f32>(&device, rng);
            of_blas::<f64, f64>(&device, rng);
            of_blas::<Complex<f32>, f32>(&device, rng);
            of_blas::<Complex<f64>, f64>(&device, rng);
        });
    }
}

/// A result on the device is the scalar of the next operation, with no wait between: `x / |x|`, without the division.
#[test]
fn a_chain_of_scalars_needs_no_wait() {
    for device in devices() {
        let (blas, x) = (device.blas(), up(&device, [3.0f64, 4.0]));
        let mut norm = blas.nrm2_into(&x, device.uninit(1).unwrap()).unwrap().into_output();
        for _ in 0..3 {
            norm = blas.scal(x.as_in().slice(0..1).unwrap(), norm).unwrap().into_output();
        }
        assert_eq!(down(&device, &norm), [5.0 * 27.0]);
    }
}
