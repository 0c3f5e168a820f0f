//! What is multiplied by zero, by value, is not read: in sums, in many systems, in batches and groups of products.

use super::matrix::{Number, TRANSPOSES, each_type, real};
use super::special::answer;
use crate::common::{devices, down, up};
use windlass::blas::{Geam, GemmElement, Scaled, Triangular};
use windlass::{Device, DeviceBuffer, Gemm, Side, Transpose, Uplo};

/// A matrix whose factor is zero by value is not read: neither its NaN nor its infinities are seen.
fn unread<T: Number>(device: &Device) {
    let (blas, zero, one) = (device.blas(), T::default(), real::<T>(1.0));
    // One times an infinity of a complex type has no imaginary part that is a number.
    let large = if T::COMPLEX { real(6.0) } else { T::INFINITY };
    let data = [real::<T>(1.0), real(2.0), real(-3.0), T::NAN, real(5.0), large];
    let b = up(device, data); // 2 x 3, or 3 x 2
    for nothing in [T::NAN, T::INFINITY] {
        let a = up(device, vec![nothing; 20]);
        for (trans_a, trans_b) in TRANSPOSES.into_iter().flat_map(|a| TRANSPOSES.map(|b| (a, b))) {
            let what = format!("{nothing:?}, {trans_a:?}, {trans_b:?} of {} on {device:?}", T::DTYPE);
            let stored = if trans_b == Transpose::No { (1, 2) } else { (3, 1) };
            let want: Vec<T> = (0..6).map(|at| data[at % 2 * stored.0 + at / 2 * stored.1]).collect();
            let spec = Geam::new(2, 3).trans_a(trans_a).trans_b(trans_b).lda(4).alpha(zero).beta(one);
            let same = |got: Vec<T>, what: &str| {
                let equal = |(got, want): (&T, &T)| got == want || got.parts()[0].is_nan() && want.parts()[0].is_nan();
                assert!(got.iter().zip(&want).all(equal), "{got:?} for {want:?}: {what}");
            };
            same(answer(device, blas.geam(spec, &a, &b, device.uninit(6).unwrap())), &format!("A: {what}"));
            let spec = Geam::new(2, 3).trans_b(trans_a).trans_a(trans_b).ldb(4);
            same(answer(device, blas.geam(spec, &b, &a, device.uninit(6).unwrap())), &format!("B: {what}"));
            let spec = spec.alpha(zero).ldc(3);
            let c = answer(device, blas.geam(spec, &a, &a, up(device, [T::INFINITY; 8])));
            let gap = T::INFINITY;
            assert_eq!(c, [zero, zero, gap, zero, zero, gap, zero, zero], "both: {what}");
        }
    }
}

#[test]
fn geam_does_not_read_what_it_multiplies_by_zero() {
    for device in devices() {
        each_type!(unread(&device));
    }
}

/// The same for many systems.
fn unsolved<T: Number>(device: &Device) {
    let (blas, zero) = (device.blas(), T::default());
    let a = up(device, vec![T::NAN; 60]);
    for side in [Side::Left, Side::Right] {
        let spec = Triangular::new(side, Uplo::Lower, 3, 2).alpha(zero).ldb(4);
        let (order, gap) = (if side == Side::Left { 3 } else { 2 }, T::INFINITY);
        let old = [T::NAN, T::INFINITY, T::NAN, gap, T::NAN, T::NAN, real(3.0)];
        let want = [zero, zero, zero, gap, zero, zero, zero];
        let b = up(device, [&old[..], &[gap], &old[..]].concat());
        let got = answer(device, blas.trsm_strided_batched(spec.batch(2).stride_b(8), &a, b));
        assert_eq!(got, [&want[..], &[gap], &want[..]].concat(), "{side:?} on {device:?}");
        let (a, b) = (a.as_in().slice(0..order * order).unwrap(), vec![up(device, old), up(device, old)]);
        let got = blas.trsm_batched(spec, &[a, a], b).unwrap().await_result().unwrap();
        got.iter().for_each(|b| assert_eq!(down(device, b), want, "{side:?} on {device:?}"));
    }
}

/// Of a group of products whose factor is zero nothing is read, whatever the others are.
fn ungrouped<T: Number + GemmElement<Scalar = T, Out = T>>(device: &Device) {
    let (blas, r) = (device.blas(), |x: f64| real::<T>(x));
    let (nan, two) = (up(device, [T::NAN; 4]), up(device, [r(2.0); 4]));
    let zero = Gemm::new(2, 2, 2).alpha(r(0.0));
    let groups = [(Gemm::new(2, 2, 2), 1), (zero.beta(r(3.0)), 2), (zero, 1), (Gemm::new(2, 2, 2).beta(r(1.0)), 1)];
    let inputs = [&two, &nan, &nan, &nan, &two].map(|x| x.as_in());
    let old = [T::NAN, r(1.0), r(-1.0), T::NAN, r(1.0)];
    let c = || old.iter().map(|x| up(device, [*x; 4])).collect();
    let check = |got: Vec<DeviceBuffer<T>>, what: &str| {
        for (got, want) in got.iter().zip([8.0, 3.0, -3.0, 0.0, 9.0]) {
            assert_eq!(down(device, got), [r(want); 4], "{what} of {} on {device:?}", T::DTYPE);
        }
    };
    check(blas.gemm_grouped(&groups, &inputs, &inputs, c()).unwrap().await_result().unwrap(), "groups");
    // In device memory one of the others', which is read.
    let one = up(device, [r(1.0)]);
    let mut placed = groups.map(|(spec, count)| (Scaled::from(spec), count));
    placed[3] = (Gemm::new(2, 2, 2).scalars_at(&one, &one), 1);
    check(blas.gemm_grouped(&placed, &inputs, &inputs, c()).unwrap().await_result().unwrap(), "groups, one placed");
    let nans = [nan.as_in(), nan.as_in()];
    let out = || vec![up(device, [r(1.0); 4]), up(device, [r(1.0); 4])];
    let got = blas.gemm_batched(zero.beta(r(3.0)), &nans, &nans, out()).unwrap().await_result().unwrap();
    got.iter().for_each(|c| assert_eq!(down(device, c), [r(3.0); 4], "a batch on {device:?}"));
    let (many, c) = (up(device, [T::NAN; 8]), up(device, [r(1.0); 8]));
    let got = answer(device, blas.gemm_strided_batched(zero.beta(r(3.0)).batch(2), &many, &many, c));
    assert_eq!(got, [r(3.0); 8], "a strided batch on {device:?}");
}

#[test]
fn a_zero_alpha_reads_nothing_of_a_batch() {
    for device in devices() {
        each_type!(unsolved(&device));
        each_type!(ungrouped(&device));
    }
}
