use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::super::level1::HostLevel1;
use super::super::reference::{self, Value, dot_error_bound, nrm2_error_bound};
use super::{Rng, Sample, assert_near, with_seeds};

/// Maximum number of roundings of a term: a lane takes 128 terms (512 if the elements are complex), and lanes and
/// leaves are added in f64.
const TERMS: usize = 520 + 8;
/// The same for f64, where those additions count: 32 lanes, and a tree of at most 20 levels.
const TERMS_F64: usize = TERMS + 32 + 20;

fn terms(unit: f64, n: usize) -> usize {
    let most = if unit < f32::UNIT { TERMS_F64 } else { TERMS };
    most.min(2 * n + 8)
}

/// A vector of `n` elements with increment `inc` in a slice of NaN, and the elements in their order.
fn strided<T: Sample>(rng: &mut Rng, n: usize, inc: isize) -> (Vec<T>, Vec<T>) {
    let step = inc.unsigned_abs();
    let mut x = vec![T::NAN; if n == 0 { 0 } else { (n - 1) * step + 1 + rng.below(3) }];
    (0..n).for_each(|i| x[i * step] = T::sample(rng));
    let order = |i: usize| if inc < 0 { n - 1 - i } else { i };
    let dense = (0..n).map(|i| x[order(i) * step]).collect();
    (x, dense)
}

fn increments(rng: &mut Rng) -> [isize; 2] {
    [(); 2].map(|()| rng.pick(&[1, 1, 1, -1, 2, -2, 3, -7, 0]))
}

fn lengths(rng: &mut Rng) -> usize {
    match rng.below(4) {
        0 => rng.below(4),
        1 => rng.pick(&[255, 256, 257, 4095, 4096, 4097, 9001]),
        _ => rng.below(300),
    }
}

/// The unit of rounding of the arithmetic.
fn unit<T: Value>() -> f64 {
    T::UNIT.min(f32::UNIT)
}

fn agrees_with_the_oracle<T, S, N>(rng: &mut Rng)
where
    S: Sample,
    N: Sample,
    T: Sample + HostLevel1<Scalar = S, Norm = N>,
{
    let (n, [incx, incy]) = (lengths(rng), increments(rng));
    let what = (std::any::type_name::<T>(), n, incx, incy);
    let (x, x_dense) = strided::<T>(rng, n, incx);
    let (y, y_dense) = strided::<T>(rng, n, incy);
    let unit = unit::<T>();

    let bound = dot_error_bound(&x_dense, &y_dense, terms(unit, n), unit);
    assert_near(T::dot(n, &x, incx, &y, incy), reference::dot(n, &x, incx, &y, incy), bound, &what);
    assert_near(T::dotc(n, &x, incx, &y, incy), reference::dotc(n, &x, incx, &y, incy), bound, &what);

    let want: N = reference::nrm2(n, &x, incx);
    let bound = nrm2_error_bound::<N>(terms(unit, n), unit) * want.parts()[0];
    assert_near(T::nrm2(n, &x, incx), want, bound, &what);

    let alpha = if rng.below(6) == 0 { S::from_real(0.0) } else { S::sample(rng) };
    let (mut got, mut want) = (y.clone(), y.clone());
    T::axpy(n, alpha, &x, incx, &mut got, incy);
    reference::axpy(n, alpha, &x, incx, &mut want, incy);
    // Two products and two sums, each of at most this size; a repeated element accumulates n of them.
    let most = if incy == 0 { n as f64 } else { 1.0 };
    let sizes = |x: &[T]| x.iter().flat_map(|x| x.parts()).fold(0.0, |most: f64, x| most.max(x.abs()));
    let size = 2.0 * most * (sizes(&x_dense) * alpha.parts().iter().map(|x| x.abs()).sum::<f64>()) + sizes(&y_dense);
    near_or_same(&got, &want, 2.0 * most * (4.0 * unit + T::UNIT) * size, &what);

    let (mut got, mut want) = (x.clone(), x.clone());
    T::scal(n, alpha, &mut got, incx);
    reference::scal(n, alpha, &mut want, incx);
    near_or_same(&got, &want, (4.0 * unit + T::UNIT) * size, &what);
}

/// Asserts that elements agree within `bound` and everything else (the NaN between them) bit for bit.
#[track_caller]
fn near_or_same<T: Sample>(got: &[T], want: &[T], bound: f64, what: &dyn std::fmt::Debug) {
    for (got, want) in got.iter().zip(want) {
        if want.parts()[0].is_nan() {
            assert_eq!(bytemuck::bytes_of(got), bytemuck::bytes_of(want), "{what:?}");
        } else {
            assert_near(*got, *want, bound, what);
        }
    }
}

#[test]
fn vector_operations_agree_with_the_oracle_at_all_increments() {
    with_seeds(300, |rng| {
        agrees_with_the_oracle::<f32, f32, f32>(rng);
        agrees_with_the_oracle::<f64, f64, f64>(rng);
        agrees_with_the_oracle::<Complex32, Complex32, f32>(rng);
        agrees_with_the_oracle::<Complex64, Complex64, f64>(rng);
        agrees_with_the_oracle::<f16, f32, f16>(rng);
        agrees_with_the_oracle::<bf16, f32, bf16>(rng);
    });
}

#[test]
fn a_million_elements_stay_within_the_bound_of_one_block() {
    fn check<T, N>()
    where
        N: Sample,
        T: Sample + HostLevel1<Norm = N>,
    {
        with_seeds(1, |rng| {
            let n = 1_000_003;
            let x: Vec<T> = (0..n).map(|_| T::sample(rng)).collect();
            let y: Vec<T> = (0..n).map(|_| T::sample(rng)).collect();
            let unit = unit::<T>();
            // The bound of a sum in one loop would need `n` roundings; that of a sum in blocks needs a constant number.
            let bound = dot_error_bound(&x, &y, terms(unit, n), unit);
            assert_near(T::dotc(n, &x, 1, &y, 1), reference::dotc(n, &x, 1, &y, 1), bound, &n);
            let want: N = reference::nrm2(n, &x, 1);
            let got = T::nrm2(n, &x, 1);
            assert_near(got, want, nrm2_error_bound::<N>(terms(unit, n), unit) * want.parts()[0], &n);
        });
    }
    check::<f32, f32>();
    check::<f64, f64>();
    check::<Complex32, f32>();
    check::<Complex64, f64>();
    check::<bf16, bf16>();
}

/// Enough elements for several threads, with an increment, so that each chunk must begin at the right element.
#[test]
fn large_updates_touch_each_element_once() {
    let n = 300_001;
    for (incx, incy) in [(1, 1), (1, 2), (-2, 1), (2, -1), (-1, -2)] {
        let at = |inc: isize, i: usize| (if inc < 0 { n - 1 - i } else { i }) * inc.unsigned_abs();
        let mut x = vec![f64::NAN; 2 * n];
        (0..n).for_each(|i| x[at(incx, i)] = i as f64);
        let mut y = vec![0.5; 2 * n];
        f64::axpy(n, 2.0, &x, incx, &mut y, incy);
        for (i, y) in (0..n).map(|i| (i, y[at(incy, i)])) {
            assert_eq!(y, 2.0 * i as f64 + 0.5, "{incx} {incy}");
        }
        let touched = y.iter().filter(|y| **y != 0.5).count();
        assert_eq!(touched, n - 1, "all but element 0, whose x is zero");
        f64::scal(n, 3.0, &mut y, incy.abs());
        assert_eq!(y[at(incy, n - 1)], 3.0 * (2.0 * (n - 1) as f64 + 0.5));
    }
}

#[test]
fn sums_are_the_same_bits_for_any_number_of_threads_and_any_increment() {
    with_seeds(1, |rng| {
        let n = 400_003;
        let (x, dense) = strided::<f32>(rng, n, 3);
        let (z, z_dense) = strided::<Complex32>(rng, n, -2);
        let sums = || {
            let strided = (f32::dot(n, &x, 3, &x, 3), f32::nrm2(n, &x, 3), Complex32::dotc(n, &z, -2, &z, -2));
            let contiguous = (f32::dot(n, &dense, 1, &dense, 1), f32::nrm2(n, &dense, 1));
            assert_eq!((strided.0, strided.1), contiguous);
            (strided, Complex32::dot(n, &z_dense, 1, &z_dense, 1))
        };
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let [first, others @ ..] = [1, 2, 3, 8].map(|threads| pool(threads).install(sums));
        for other in others {
            assert_eq!(first, other);
        }
    });
}

#[test]
fn norms_neither_overflow_nor_underflow_on_the_way() {
    for n in [1, 5, 70, 5000] {
        let root = (n as f64).sqrt();
        let relative = nrm2_error_bound::<f64>(terms(f64::UNIT, n), f64::UNIT);
        for x in [1e300, 1e-300, f64::MAX / 100.0, f64::MIN_POSITIVE, 5e-324, 1e-160, 1e150] {
            let complex = vec![Complex64::new(0.0, -x); n];
            for got in [f64::nrm2(n, &vec![x; n], 1), Complex64::nrm2(n, &complex, 1)] {
                assert!((got - x * root).abs() <= relative * x * root + f64::TINY, "{n} {x:e} {got:e}");
            }
        }
        for x in [1e38, 1e-45, 1e-30] {
            let x = x as f32;
            let want = (f64::from(x) * root) as f32;
            assert_eq!(f32::nrm2(n, &vec![x; n], 1), want);
            assert_eq!(
                bf16::nrm2(n, &vec![bf16::from_f32(1e30); n], 1),
                bf16::from_f64(bf16::from_f32(1e30).to_f64() * root)
            );
        }
    }
    assert_eq!(f64::nrm2(2, &[1e300, 1e-300], 1), 1e300);
    assert_eq!(f64::nrm2(3, &[0.0, -0.0, 0.0], 1), 0.0);
}

#[test]
fn norms_of_nan_and_infinity_are_theirs() {
    for n in [2, 300, 5000] {
        let mut x = vec![1e200; n];
        x[n - 1] = f64::NEG_INFINITY;
        assert_eq!(f64::nrm2(n, &x, 1), f64::INFINITY);
        x[0] = f64::NAN;
        assert!(f64::nrm2(n, &x, 1).is_nan());
        let mut x = vec![f16::ONE; n];
        x[n / 2] = f16::INFINITY;
        assert_eq!(f16::nrm2(n, &x, 1), f16::INFINITY);
    }
}

#[test]
fn special_scalars_and_values_do_what_blas_says() {
    let nan = f32::NAN;
    let mut y = [1.0, nan];
    f32::axpy(2, 0.0, &[nan, f32::INFINITY], 1, &mut y, 1);
    assert_eq!(y[0], 1.0, "zero alpha leaves y alone");
    let mut x = [nan, f32::INFINITY, 2.0];
    f32::scal(3, 0.0, &mut x, 1);
    assert!(x[0].is_nan() && x[1].is_nan() && x[2] == 0.0, "zero alpha multiplies all the same");
    assert!(f32::dot(2, &[0.0, 1.0], 1, &[f32::INFINITY, 1.0], 1).is_nan());
    assert_eq!(f32::dot(2, &[1.0, 1.0], 1, &[f32::INFINITY, 1.0], 1), f32::INFINITY);
    let mut x = [1.0f64, 2.0];
    f64::scal(2, 3.0, &mut x, 0);
    assert_eq!(x, [1.0, 2.0], "scal takes a vector without an increment as empty");
    f64::scal(2, 3.0, &mut x, -1);
    assert_eq!(x, [3.0, 6.0], "backwards it has its elements");
    assert_eq!((f64::nrm2(2, &x, 0), f64::nrm2(2, &x, -1)), (0.0, 45f64.sqrt()));
    let mut y = [1.0f64];
    f64::axpy(3, 2.0, &[1.0, 10.0, 100.0], 1, &mut y, 0);
    assert_eq!(y, [223.0], "one element takes every addition");
    let i = Complex32::new(0.0, 1.0);
    assert_eq!(
        (Complex32::dot(1, &[i], 1, &[i], 1), Complex32::dotc(1, &[i], 1, &[i], 1)),
        ((-1.0).into(), 1.0.into())
    );
}

#[test]
fn vectors_that_do_not_fit_do_nothing() {
    let x = [1.0f64; 8];
    for (n, inc) in
        [(9, 1), (5, 2), (5, -2), (usize::MAX, 1), (2, isize::MIN), (2, isize::MAX), (usize::MAX, isize::MAX)]
    {
        let mut y = x;
        f64::axpy(n, 1.0, &x, inc, &mut y, 1);
        f64::axpy(n, 1.0, &x, 1, &mut y, inc);
        f64::scal(n, 2.0, &mut y, inc);
        assert_eq!(y, x);
        assert_eq!((f64::dot(n, &x, inc, &x, 1), f64::dot(n, &x, 1, &x, inc), f64::nrm2(n, &x, inc)), (0.0, 0.0, 0.0));
    }
    assert_eq!(f64::dot(0, &[], 1, &[], 1), 0.0);
    assert_eq!(f64::dot(1, &x, isize::MIN, &x, isize::MAX), 1.0, "one element has no stride");
}
