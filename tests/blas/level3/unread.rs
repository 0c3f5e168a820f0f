//! What is multiplied by zero, by value, is not read: in sums, in many systems, in batches and groups of products.

use super::matrix::{Number, TRANSPOSES, each_type, real};
use super::special::answer;
use crate::common::{columns, devices, down, into_columns, op, up};
use windlass::blas::{Geam, GemmElement, Triangular};
use windlass::tensor::Layout;
use windlass::{Device, Gemm, Side, Tensor, Transpose, Uplo};

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
            let (of_a, of_b) = (op(&a, trans_a, (2, 3), 4), op(&b, trans_b, (2, 3), if stored.0 == 1 { 2 } else { 3 }));
            let spec = |a, b| {
                let spec = if a == Transpose::Conjugate { Geam::new().conjugate_a() } else { Geam::new() };
                if b == Transpose::Conjugate { spec.conjugate_b() } else { spec }
            };
            let c = || into_columns(device.uninit(6).unwrap().into_buffer(), 2, 3);
            let same = |got: Vec<T>, what: &str| {
                let equal = |(got, want): (&T, &T)| got == want || got.parts()[0].is_nan() && want.parts()[0].is_nan();
                assert!(got.iter().zip(&want).all(equal), "{got:?} for {want:?}: {what}");
            };
            let first = spec(trans_a, trans_b).alpha(zero).beta(one);
            same(answer(device, blas.geam(first, &of_a, &of_b, c())), &format!("A: {what}"));
            let second = spec(trans_b, trans_a);
            same(answer(device, blas.geam(second, &of_b, &of_a, c())), &format!("B: {what}"));
            let c = up(device, [T::INFINITY; 8]).with_layout(Layout::columns(2, 3).ld(3)).unwrap();
            let c = answer(device, blas.geam(spec(trans_a, trans_a).alpha(zero), &of_a, &of_a, c));
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
        let spec = || Triangular::new(side, Uplo::Lower).alpha(zero);
        let (order, gap) = (if side == Side::Left { 3 } else { 2 }, T::INFINITY);
        let old = [T::NAN, T::INFINITY, T::NAN, gap, T::NAN, T::NAN, real(3.0)];
        let want = [zero, zero, zero, gap, zero, zero, zero];
        let (of_a, of_b) = (columns(&a, order, order), Layout::columns(3, 2).ld(4));
        let b = up(device, [&old[..], &[gap], &old[..]].concat()).with_layout(of_b.batch(2, 8)).unwrap();
        let got = answer(device, blas.trsm(spec(), &of_a, b));
        assert_eq!(got, [&want[..], &[gap], &want[..]].concat(), "{side:?} on {device:?}");
        let b = [old, old].map(|b| up(device, b).with_layout(of_b).unwrap());
        let got = blas.trsm_batched(spec(), [&of_a, &of_a], b).unwrap().await_result().unwrap();
        got.iter().for_each(|b| assert_eq!(down(device, b.buffer()), want, "{side:?} on {device:?}"));
    }
}

/// Of a group of products whose factor is zero nothing is read, whatever the others are.
fn ungrouped<T: Number + GemmElement<Scalar = T, Out = T>>(device: &Device) {
    let (blas, r) = (device.blas(), |x: f64| real::<T>(x));
    let (nan, two) = (up(device, [T::NAN; 4]), up(device, [r(2.0); 4]));
    let zero = || Gemm::new().alpha(r(0.0));
    let groups = || [(Gemm::new(), 1), (zero().beta(r(3.0)), 2), (zero(), 1), (Gemm::new().beta(r(1.0)), 1)];
    let inputs = [&two, &nan, &nan, &nan, &two].map(|x| columns(x, 2, 2));
    let old = [T::NAN, r(1.0), r(-1.0), T::NAN, r(1.0)];
    let c = || old.iter().map(|x| device.full([2, 2], *x).unwrap());
    let check = |got: Vec<Tensor<T>>, what: &str| {
        for (got, want) in got.iter().zip([8.0, 3.0, -3.0, 0.0, 9.0]) {
            assert_eq!(down(device, got), [r(want); 4], "{what} of {} on {device:?}", T::DTYPE);
        }
    };
    check(blas.gemm_grouped(groups(), &inputs, &inputs, c()).unwrap().await_result().unwrap(), "groups");
    // In device memory one of the others', which is read, or both.
    let one = up(device, [r(1.0)]);
    for spec in [Gemm::new().alpha(&one).beta(&one), Gemm::new().alpha(&one).beta(r(1.0)), Gemm::new().beta(&one)] {
        let mut placed = groups();
        placed[3] = (spec, 1);
        check(blas.gemm_grouped(placed, &inputs, &inputs, c()).unwrap().await_result().unwrap(), "groups, one placed");
    }
    // A beta in device memory beside an alpha that is zero.
    let three = up(device, [r(3.0)]);
    for spec in [zero().beta(r(3.0)), zero().beta(&three)] {
        let (nans, out) = ([&inputs[1], &inputs[2]], || [1.0, 1.0].map(|x| device.full([2, 2], r(x)).unwrap()));
        let got = blas.gemm_batched(spec.clone(), nans, nans, out()).unwrap().await_result().unwrap();
        got.iter().for_each(|c| assert_eq!(down(device, c), [r(3.0); 4], "a batch on {device:?}"));
        let (many, c) = (device.full([2, 2, 2], T::NAN).unwrap(), device.full([2, 2, 2], r(1.0)).unwrap());
        let got = blas.gemm(spec, &many, &many, c).unwrap().await_result().unwrap();
        assert_eq!(down(device, &got), [r(3.0); 8], "a strided batch on {device:?}");
    }
}

#[test]
fn a_zero_alpha_reads_nothing_of_a_batch() {
    for device in devices() {
        each_type!(unsolved(&device));
        each_type!(ungrouped(&device));
    }
}
