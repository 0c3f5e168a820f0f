//! Numbers at even distances, statistics without NaN, and calculus: what is degenerate, and what is refused. The values are NumPy's.

use super::read;
use crate::common::{devices, refused};
use windlass::arrays::Distance;
use windlass::reductions::{All, Keep};
use windlass::{Bool, Complex, bf16, f16};

macro_rules! made {
    ($device:ident, $call:expr) => {
        read(&$device, &$call.unwrap().await_result().unwrap())
    };
}

macro_rules! names {
    ($call:expr) => {
        refused(&$call.unwrap_err()).0
    };
}

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[track_caller]
fn same(got: &[f64], want: &[f64]) {
    let is_same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
    assert!(got.len() == want.len() && got.iter().zip(want).all(is_same), "{got:?}, but should be {want:?}");
}

#[test]
fn numbers_at_even_distances_have_their_ends() {
    for device in devices() {
        assert!(made!(device, device.linspace::<f64>(1.0, 2.0, 0)).is_empty());
        assert_eq!(made!(device, device.linspace::<f64>(1.0, 2.0, 1)), [1.0]);
        assert_eq!(
            made!(device, device.linspace::<f64>(0.0, 0.1, 4)),
            [0.0, 0.03333333333333333, 0.06666666666666667, 0.1]
        );
        assert_eq!(made!(device, device.linspace::<i32>(-1.0, 1.0, 4)), [-1, -1, 0, 1]);
        assert_eq!(made!(device, device.linspace::<f64>(0.0, 5e-324, 3)), [0.0, 0.0, 5e-324]);
        same(&made!(device, device.linspace::<f64>(0.0, INF, 3)), &[NAN, INF, INF]);
        assert_eq!(made!(device, device.logspace::<f64>(0.0, 3.0, 4, 2.0)), [1.0, 2.0, 4.0, 8.0]);
        assert_eq!(made!(device, device.logspace::<i64>(0.0, 3.0, 4, 10.0)), [1, 10, 100, 1000]);
        assert_eq!(made!(device, device.logspace::<f32>(0.0, 1.0, 1, 10.0)), [1.0]);
    }
}

#[test]
fn a_range_ends_before_its_end() {
    for device in devices() {
        assert_eq!(made!(device, device.arange(0u8, 255, 100)), [0, 100, 200]);
        assert_eq!(made!(device, device.arange(-128i8, 127, 1)).len(), 255);
        assert_eq!(made!(device, device.arange(-128i8, 127, 1))[254], 126);
        assert_eq!(made!(device, device.arange(i64::MAX, i64::MIN, i64::MIN)), [i64::MAX, -1]);
        assert_eq!(made!(device, device.arange(u64::MAX - 2, u64::MAX, 1)), [u64::MAX - 2, u64::MAX - 1]);
        assert!(made!(device, device.arange(3, 3, 1)).is_empty());
        assert!(made!(device, device.arange(3, 9, -1)).is_empty());
        assert_eq!(made!(device, device.arange(1.0f64, 1.3, 0.1)), [1.0, 1.1, 1.2000000000000002, 1.3000000000000003]);
        assert_eq!(names!(device.arange(0.0f64, INF, INF)), "stop");
        let halves = made!(device, device.arange(f16::from_f32(2046.0), f16::from_f32(2052.0), f16::ONE));
        assert_eq!(halves.len(), 6);
        assert_eq!(names!(device.arange(0, 1, 0)), "step");
        assert_eq!(names!(device.arange(0.0, 1.0, 0.0)), "step");
        assert_eq!(names!(device.arange(0.0, NAN, 1.0)), "stop");
        assert_eq!(names!(device.arange(0.0, INF, 1.0)), "stop");
        assert_eq!(names!(device.arange(0.0, 1e300, 1e-300)), "stop");
    }
}

#[test]
fn a_diagonal_is_put_into_zeros() {
    for device in devices() {
        let x = device.tensor([2], [3.0f32, f32::NAN]).unwrap();
        let turned = device.diag(x.flip(0).unwrap(), 1).unwrap().await_result().unwrap();
        assert_eq!(device.show(&turned).unwrap().to_string(), "[[ 0. nan  0.]\n [ 0.  0.  3.]\n [ 0.  0.  0.]]");
        let none = device.zeros::<f32>([0]).unwrap();
        assert_eq!(device.diag(&none, 0).unwrap().shape(), [0, 0]);
        assert_eq!(made!(device, device.diag(&none, -2)), [0.0; 4]);
        let batch = device.tensor([2, 2], [1, 2, 3, 4]).unwrap();
        assert_eq!(made!(device, device.diag(&batch, 0)), [1, 0, 0, 2, 3, 0, 0, 4]);
        assert_eq!(names!(device.diag(&device.full([0usize; 0], 1).unwrap(), 0)), "x");
        assert!(device.diag(&x, isize::MAX).is_err());
    }
}

#[test]
fn statistics_leave_nan_out() {
    for device in devices() {
        let x = device.tensor([3, 2], [1.0f64, NAN, NAN, NAN, 5.0, INF]).unwrap();
        same(&made!(device, device.nansum(&x, 1)), &[1.0, 0.0, INF]);
        same(&made!(device, device.nanmean(&x, 1)), &[1.0, NAN, INF]);
        same(&made!(device, device.nanmean(&x, Keep(0))), &[3.0, INF]);
        same(&made!(device, device.nanvar(&x, 0, 0)), &[4.0, NAN]);
        same(&made!(device, device.nanvar(&x, 1, 1)), &[NAN, NAN, NAN]);
        same(&made!(device, device.nanvar(&x, [0, 1], 0)), &[NAN]);
        same(&made!(device, device.nanmax(&x, 1)), &[1.0, NAN, INF]);
        same(&made!(device, device.nanmin(&x, All)), &[1.0]);
        same(&made!(device, device.nanmax(device.full([1], -INF).unwrap().view(), 0)), &[-INF]);
        // No element: a sum is 0, a mean none, an extreme refused.
        let none = device.zeros::<f64>([2, 0]).unwrap();
        same(&made!(device, device.nansum(&none, 1)), &[0.0, 0.0]);
        same(&made!(device, device.nanmean(&none, 1)), &[NAN, NAN]);
        same(&made!(device, device.nanvar(&none, 1, 0)), &[NAN, NAN]);
        assert!(device.nanmax(&none, 1).is_err());
        // Views of any kind.
        let turned = x.transpose().flip(1).unwrap();
        same(&made!(device, device.nansum(&turned, 0)), &[INF, 0.0, 1.0]);
        same(&made!(device, device.nanmean(x.broadcast([4, 3, 2]).unwrap(), [0, 2])), &[1.0, NAN, INF]);
        // Integers have none; the sums of halves do not overflow before they are divided.
        let bytes = device.tensor([2], [127i8, 127]).unwrap();
        assert_eq!(made!(device, device.nansum(&bytes, 0)), [254]);
        assert_eq!(made!(device, device.nanmean(&bytes, 0)), [127.0]);
        assert_eq!(made!(device, device.nanvar(&bytes, 0, 0)), [0.0]);
        assert_eq!(made!(device, device.nanmin(&bytes, 0)), [127]);
        let halves = device.tensor([3], [f16::MAX, f16::NAN, f16::MAX]).unwrap();
        assert_eq!(made!(device, device.nanmean(&halves, 0)), [f16::MAX]);
        assert_eq!(made!(device, device.nanvar(&halves, 0, 0)), [f16::ZERO]);
        assert_eq!(made!(device, device.nanmax(&halves, 0)), [f16::MAX]);
        let complex = device.tensor([2], [Complex::new(1.0f64, 2.0), Complex::new(NAN, 0.0)]).unwrap();
        assert_eq!(made!(device, device.nansum(&complex, 0)), [Complex::new(1.0, 2.0)]);
        assert_eq!(made!(device, device.nanmean(&complex, 0)), [Complex::new(1.0, 2.0)]);
    }
}

#[test]
fn what_is_no_number_becomes_one() {
    for device in devices() {
        let x = device.tensor([4], [NAN, INF, -INF, -0.0]).unwrap();
        assert_eq!(made!(device, device.nan_to_num(&x, 0.0, None)), [0.0, f64::MAX, f64::MIN, 0.0]);
        assert_eq!(made!(device, device.nan_to_num(x.flip(0).unwrap(), 1.0, Some([2.0, 3.0]))), [0.0, 3.0, 2.0, 1.0]);
        let complex = device.tensor([1], [Complex::new(f32::NAN, f32::NEG_INFINITY)]).unwrap();
        assert_eq!(made!(device, device.nan_to_num(&complex, 5.0, None)), [Complex::new(5.0, f32::MIN)]);
        let halves = device.tensor([1], [bf16::INFINITY]).unwrap();
        assert_eq!(made!(device, device.nan_to_num(&halves, bf16::ZERO, None)), [bf16::MAX]);
        let words = device.tensor([1], [i64::MIN]).unwrap();
        assert_eq!(made!(device, device.nan_to_num(&words, 0, None)), [i64::MIN]);
    }
}

#[test]
fn averages_take_weights_of_the_shape_or_of_the_axes() {
    for device in devices() {
        let x = device.tensor([2, 3], [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let weights = device.tensor([3], [1.0f64, 0.0, 3.0]).unwrap();
        assert_eq!(made!(device, device.average(&x, &weights, -1)), [2.5, 5.5]);
        assert_eq!(device.average(&x, &weights, Keep(1)).unwrap().await_result().unwrap().shape(), [2, 1]);
        assert_eq!(made!(device, device.average(&x, weights.broadcast([2, 3]).unwrap(), All)), [4.0]);
        assert_eq!(made!(device, device.average(&x, weights.slice(0..2).unwrap(), 0)), [1.0, 2.0, 3.0]);
        assert_eq!(made!(device, device.average(x.transpose(), &weights, 0)), [2.5, 5.5]);
        let error = device.average(&x, &weights, 0).unwrap_err();
        assert_eq!(refused(&error).0, "weights");
        let zero = device.tensor([3], [1.0f64, 0.0, -1.0]).unwrap();
        let error = device.average(&x, &zero, 1).unwrap().await_result().unwrap_err().error;
        assert_eq!(refused(&error).0, "weights");
        let none = device.zeros::<f64>([2, 0]).unwrap();
        assert!(device.average(&none, &none, 1).unwrap().await_result().is_err());
        assert!(made!(device, device.average(&none, &none, 0)).is_empty());
        let bytes = device.tensor([2], [200u8, 100]).unwrap();
        assert_eq!(made!(device, device.average(&bytes, &device.full([2], 1.0).unwrap(), 0)), [150.0]);
        assert_eq!(made!(device, device.ptp(&bytes, 0)), [100]);
        assert_eq!(made!(device, device.ptp(&device.tensor([2], [i8::MIN, i8::MAX]).unwrap(), 0)), [-1]);
        same(&made!(device, device.ptp(&device.tensor([2], [1.0, NAN]).unwrap(), All)), &[NAN]);
        assert!(device.ptp(&none, 1).is_err());
    }
}

#[test]
fn covariances_of_what_does_not_vary_are_none() {
    for device in devices() {
        let x = device.tensor([2, 3], [1i32, 2, 3, 5, 5, 5]).unwrap();
        same(&made!(device, device.cov(&x, 1)), &[1.0, 0.0, 0.0, 0.0]);
        same(&made!(device, device.corrcoef(&x)), &[1.0, NAN, NAN, NAN]);
        let one = device.tensor([2, 1], [1.0f64, 2.0]).unwrap();
        same(&made!(device, device.cov(&one, 1)), &[NAN; 4]);
        same(&made!(device, device.cov(&one, 0)), &[0.0; 4]);
        let batch = x.unsqueeze(0).unwrap().broadcast([2, 2, 3]).unwrap();
        let made = device.cov(&batch, 1).unwrap().await_result().unwrap();
        assert_eq!((made.shape(), read(&device, &made)[4]), (&[2, 2, 2][..], 1.0));
        assert_eq!(names!(device.cov(x.index(0, 0).unwrap(), 1)), "x");
        let complex =
            device.tensor([2, 2], [[1.0, 1.0], [3.0, -1.0], [0.0, 2.0], [0.0, 0.0]].map(|[a, b]| Complex::new(a, b)));
        let made = made!(device, device.cov(&complex.unwrap(), 1));
        // numpy.cov([[1+1j, 3-1j], [2j, 0]])
        let c = |re: f64, im: f64| Complex::new(re, im);
        assert_eq!(made, [c(4.0, 0.0), c(2.0, 2.0), c(2.0, -2.0), c(2.0, 0.0)]);
    }
}

#[test]
fn distances_are_none_of_vectors_that_point_nowhere() {
    for device in devices() {
        let x = device.tensor([3, 2], [0.0f64, 0.0, 3.0, 4.0, INF, 0.0]).unwrap();
        let y = device.tensor([1, 2], [6.0f64, 8.0]).unwrap();
        same(&made!(device, device.cdist(&x, &y, Distance::Euclidean)), &[10.0, 5.0, INF]);
        same(&made!(device, device.cdist(&x, &y, Distance::Squared)), &[100.0, 25.0, INF]);
        same(&made!(device, device.cdist(&x, &y, Distance::Cosine)), &[NAN, 0.0, NAN]);
        let turned = x.flip(0).unwrap();
        same(&made!(device, device.cdist(&turned, &y, Distance::Euclidean)), &[INF, 5.0, 10.0]);
        let batch = y.unsqueeze(0).unwrap().broadcast([2, 1, 2]).unwrap();
        assert_eq!(device.cdist(&x, &batch, Distance::Squared).unwrap().shape(), [2, 3, 1]);
        let none = device.zeros::<f64>([0, 2]).unwrap();
        assert_eq!(device.cdist(&x, &none, Distance::Squared).unwrap().shape(), [3, 0]);
        let flat = device.zeros::<f64>([2, 0]).unwrap();
        same(&made!(device, device.cdist(&flat, &flat, Distance::Euclidean)), &[0.0; 4]);
        // A product, of equal vectors.
        let long = device.full([2, 100], 0.1f32).unwrap();
        assert!(made!(device, device.cdist(&long, &long, Distance::Euclidean)).iter().all(|x| *x < 1e-2));
        let halves = device.full([1, 100], f16::from_f32(60.0)).unwrap();
        let zero = device.zeros::<f16>([1, 100]).unwrap();
        assert_eq!(made!(device, device.cdist(&halves, &zero, Distance::Euclidean)), [f16::from_f32(600.0)]);
        let bytes = device.tensor([1, 1], [200u8]).unwrap();
        let other = device.tensor([1, 1], [100u8]).unwrap();
        assert_eq!(made!(device, device.cdist(&other, &bytes, Distance::Squared)), [10000.0]);
        assert_eq!(names!(device.cdist(&x, &device.zeros::<f64>([1, 1]).unwrap(), Distance::Squared)), "y");
        assert_eq!(names!(device.cdist(x.index(0, 0).unwrap(), &y, Distance::Squared)), "x");
    }
}

#[test]
fn differences_go_down_to_nothing() {
    for device in devices() {
        let x = device.tensor([2, 4], [1u8, 3, 2, 255, 0, 0, 0, 1]).unwrap();
        assert_eq!(made!(device, device.diff(&x, 1, -1)), [2, 255, 253, 0, 0, 1]);
        assert_eq!(made!(device, device.diff(&x, 0, 0)), read(&device, &x));
        assert_eq!(device.diff(&x, 4, 1).unwrap().shape(), [2, 0]);
        assert_eq!(device.diff(&x, usize::MAX, 0).unwrap().shape(), [0, 4]);
        assert_eq!(made!(device, device.diff(x.flip(0).unwrap(), 1, 0)), [1, 3, 2, 254]);
        let flags = device.tensor([3], [Bool(1), Bool(0), Bool(2)]).unwrap();
        assert_eq!(made!(device, device.diff(&flags, 1, 0)), [Bool(1), Bool(1)]);
        // More orders than one formula takes.
        let powers = device.map(device.arange(0i64, 20, 1).unwrap(), |x| x * x * x * x * x * x * x * x * x).unwrap();
        assert_eq!(made!(device, device.diff(&powers, 9, 0)), [362880; 11]);
        same(&made!(device, device.diff(&device.tensor([3], [INF, INF, 1.0]).unwrap(), 1, 0)), &[NAN, -INF]);
        assert_eq!(names!(device.diff(&x, 1, 2)), "axis");
    }
}

#[test]
fn slopes_are_between_two_points() {
    for device in devices() {
        let x = device.tensor([2, 2], [1i32, 4, 9, 16]).unwrap();
        assert_eq!(made!(device, device.gradient(&x, 2.0, 0)), [4.0, 6.0, 4.0, 6.0]);
        let at = device.tensor([2], [0.0, 0.5]).unwrap();
        assert_eq!(made!(device, device.gradient(x.transpose(), &at, 0)), [6.0, 14.0, 6.0, 14.0]);
        let each = device.tensor([2, 2], [0.0, 1.0, 1.0, 5.0]).unwrap();
        assert_eq!(made!(device, device.gradient(&x, &each, 0)), [8.0, 3.0, 8.0, 3.0]);
        let one = x.slice(0..1).unwrap();
        assert_eq!(names!(device.gradient(&one, 1.0, 0)), "x");
        assert_eq!(names!(device.gradient(&x, &device.full([3], 1.0).unwrap(), 0)), "spacing");
        let complex = device.tensor([2], [Complex::new(0.0f32, 0.0), Complex::new(1.0, 2.0)]).unwrap();
        assert_eq!(made!(device, device.gradient(&complex, 0.5, 0)), [Complex::new(2.0, 4.0); 2]);
        let none = device.zeros::<f64>([0, 3]).unwrap();
        assert_eq!(device.gradient(&none, 1.0, 1).unwrap().shape(), [0, 3]);
    }
}

#[test]
fn integrals_begin_at_a_point() {
    for device in devices() {
        let y = device.tensor([2, 3], [1i8, 127, 127, 0, 1, 2]).unwrap();
        assert_eq!(made!(device, device.trapezoid(&y, 1.0, 1)), [191.0, 2.0]);
        assert_eq!(made!(device, device.cumulative_trapezoid(y.flip(1).unwrap(), 2.0, 1)), [254.0, 382.0, 3.0, 4.0]);
        let at = device.tensor([3], [0.0, 1.0, 3.0]).unwrap();
        assert_eq!(made!(device, device.trapezoid(&y, &at, -1)), [318.0, 3.5]);
        let none = device.zeros::<f64>([2, 0]).unwrap();
        assert_eq!(made!(device, device.trapezoid(&none, 1.0, 1)), [0.0, 0.0]);
        assert_eq!(made!(device, device.trapezoid(y.slice((.., 0..1)).unwrap(), 1.0, 1)), [0.0, 0.0]);
        assert_eq!(names!(device.cumulative_trapezoid(&none, 1.0, 1)), "y");
        assert_eq!(device.cumulative_trapezoid(y.slice((.., 0..1)).unwrap(), 1.0, 1).unwrap().shape(), [2, 0]);
        let halves = device.tensor([2], [f16::MAX, f16::MAX]).unwrap();
        assert_eq!(made!(device, device.trapezoid(&halves, 1.0, 0)), [f16::MAX]);
        assert_eq!(names!(device.trapezoid(&y, &device.full([2], 1.0).unwrap(), 1)), "spacing");
    }
}

#[test]
fn values_between_points_are_on_lines() {
    for device in devices() {
        let points = |x: &[f64]| device.tensor([x.len()], x).unwrap();
        let (xp, fp) = (points(&[0.0, 1.0, 1.0, 2.0]), points(&[0.0, 1.0, 5.0, 7.0]));
        let x = points(&[-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, NAN, INF]);
        same(&made!(device, device.interp(&x, &xp, &fp)), &[0.0, 0.0, 0.5, 5.0, 6.0, 7.0, 7.0, NAN, 7.0]);
        let turned = made!(device, device.interp(x.flip(0).unwrap(), &xp, &fp));
        same(&turned, &[7.0, NAN, 7.0, 7.0, 6.0, 5.0, 0.5, 0.0, 0.0]);
        // Beside an infinite value, and between two equal ones.
        same(
            &made!(device, device.interp(&points(&[0.0, 0.5, 1.0]), &points(&[0.0, 1.0]), &points(&[INF, 1.0]))),
            &[INF, INF, 1.0],
        );
        same(&made!(device, device.interp(&points(&[0.5]), &points(&[0.0, 1.0]), &points(&[INF, INF]))), &[INF]);
        same(&made!(device, device.interp(&points(&[-1.0, 3.0]), &points(&[2.0]), &points(&[9.0]))), &[9.0, 9.0]);
        let words = device.tensor([2], [0i32, 10]).unwrap();
        same(
            &made!(device, device.interp(&device.tensor([1], [3]).unwrap(), &words, &points(&[0.0, 1.0]))),
            &[0.30000000000000004],
        );
        assert_eq!(names!(device.interp(&x, &points(&[]), &points(&[]))), "xp");
        assert_eq!(names!(device.interp(&x, &xp, &points(&[1.0]))), "fp");
        assert!(made!(device, device.interp(&points(&[]), &xp, &fp)).is_empty());
    }
}

#[test]
fn vectors_across_others_have_three_elements() {
    for device in devices() {
        let a = device.tensor([3, 2], [1, 4, 2, 5, 3, 6]).unwrap();
        let b = device.tensor([3, 1], [0, 1, 0]).unwrap();
        let made = device.cross(&a, &b, 0).unwrap().await_result().unwrap();
        assert_eq!((made.shape(), read(&device, &made)), (&[3, 2][..], vec![-3, -6, 0, 0, 1, 4]));
        assert_eq!(made!(device, device.cross(a.transpose(), b.transpose(), -1)), [-3, 0, 1, -6, 0, 4]);
        let error = device.cross(a.transpose(), &b, 1).unwrap_err();
        assert_eq!(
            refused(&error),
            ("b".to_owned(), "1 elements along axis 1, but a vector has 3: `pad` gives one of 2 a third".to_owned())
        );
        let none = device.zeros::<i32>([0, 3]).unwrap();
        assert_eq!(device.cross(&none, &device.zeros::<i32>([3]).unwrap(), -1).unwrap().shape(), [0, 3]);
        same(
            &made!(
                device,
                device.cross(
                    &device.tensor([3], [INF, 1.0, 0.0]).unwrap(),
                    &device.tensor([3], [0.0, 0.0, 1.0]).unwrap(),
                    0
                )
            ),
            &[1.0, -INF, NAN],
        );
    }
}

#[test]
fn angles_go_on_without_jumps() {
    for device in devices() {
        let x = device.tensor([4], [0i32, 100, 190, 10]).unwrap();
        assert_eq!(made!(device, device.unwrap(&x, 180.0, 0)), [0.0, -80.0, 10.0, 10.0]);
        // A jump of half of the period stays, upwards and downwards.
        let x = device.tensor([3], [0.0f64, 2.0, 0.0]).unwrap();
        assert_eq!(made!(device, device.unwrap(&x, 4.0, 0)), [0.0, 2.0, 0.0]);
        same(&made!(device, device.unwrap(&device.tensor([3], [0.0, NAN, 1.0]).unwrap(), 4.0, 0)), &[0.0, NAN, NAN]);
        let none = device.zeros::<f64>([2, 0]).unwrap();
        assert_eq!(device.unwrap(&none, 1.0, 1).unwrap().shape(), [2, 0]);
        let columns = device.tensor([2, 2], [0.0f32, 0.0, 3.0, 5.0]).unwrap();
        assert_eq!(made!(device, device.unwrap(columns.flip(1).unwrap(), 4.0, 0)), [0.0, 0.0, 1.0, -1.0]);
        assert_eq!(names!(device.unwrap(&columns, 4.0, 5)), "axis");
    }
}
