//! The oracle itself against results that are known without it.

use half::{bf16, f16};
use num_complex::{Complex, Complex32};

use super::super::reference::{self, Double, Value, gamma};
use super::super::{GemmSpec, Trans};
use super::with_seeds;

fn double(x: Double) -> Complex<Double> {
    Complex::new(x, Double::default())
}

#[test]
fn double_doubles_keep_what_f64_loses() {
    let sum = [1e16, 1.0, -1e16].into_iter().fold(Double::default(), |sum, x| sum + x.into());
    assert_eq!(sum.to_f64(), 1.0);
    let x = 1.0 + f64::EPSILON;
    let rest = Double::product(x, x) + (-(1.0 + 2.0 * f64::EPSILON)).into();
    assert_eq!(rest.to_f64(), f64::EPSILON * f64::EPSILON);
    let two = Double::from(2.0).sqrt();
    assert!((two * two + (-2.0).into()).to_f64().abs() < 1e-30);
    assert_eq!((Double::from(f64::INFINITY) + 1.0.into()).to_f64(), f64::INFINITY);
}

#[test]
fn values_are_rounded_once() {
    // Half way between two f32 (or f16, bf16), plus less than half an f64 ulp. This must round up. Rounding by way of
    // f64 or f32 would see a tie and round to even, which is down.
    let above = |half_ulp: f64| double(Double::from(1.0) + half_ulp.into() + (half_ulp * 1e-20).into());
    assert_eq!(f32::nearest(above(f32::UNIT)), 1.0 + f32::EPSILON);
    assert_eq!(f16::nearest(above(f16::UNIT)), f16::ONE + f16::EPSILON);
    assert_eq!(bf16::nearest(above(bf16::UNIT)), bf16::ONE + bf16::EPSILON);
    let below = |half_ulp: f64| double(Double::from(1.0) + (3.0 * half_ulp).into() + (half_ulp * -1e-20).into());
    assert_eq!(f32::nearest(below(f32::UNIT)), 1.0 + f32::EPSILON);
    assert_eq!(f16::nearest(below(f16::UNIT)), f16::ONE + f16::EPSILON);
    assert_eq!(bf16::nearest(below(bf16::UNIT)), bf16::ONE + bf16::EPSILON);
    let tie = |half_ulp: f64| double(Double::from(1.0) + half_ulp.into());
    assert_eq!((f32::nearest(tie(f32::UNIT)), f16::nearest(tie(f16::UNIT))), (1.0, f16::ONE));
    for x in [0.0, -0.0, 1.5, -2.0, f64::INFINITY, 1e300, -1e300, 1e-300] {
        assert_eq!(f32::nearest(double(x.into())), x as f32);
    }
    assert!(f16::nearest(double(f64::NAN.into())).is_nan());
}

#[test]
fn units_are_half_the_step_above_one() {
    assert_eq!(f64::UNIT, f64::EPSILON / 2.0);
    assert_eq!(f32::UNIT, f64::from(f32::EPSILON) / 2.0);
    assert_eq!(f16::UNIT, f16::EPSILON.to_f64() / 2.0);
    assert_eq!(bf16::UNIT, bf16::EPSILON.to_f64() / 2.0);
    assert_eq!(f32::TINY, f64::from(f32::from_bits(1)));
    assert_eq!(f16::TINY, f16::from_bits(1).to_f64());
    assert_eq!(bf16::TINY, bf16::from_bits(1).to_f64());
    assert!(gamma(10, 0.01) > 0.1 && gamma(100, 0.01).is_infinite());
}

#[test]
fn a_product_of_small_integers_is_the_one_worked_out_by_hand() {
    let i = Complex32::new(0.0, 1.0);
    let one = Complex32::from(1.0);
    // A = [1 i; 2 3], B = [i 1; 1 2], column by column.
    let (a, b) = ([one, 2.0 * one, i, 3.0 * one], [i, one, one, 2.0 * one]);
    let (op_a, op_b) = (Trans::No, Trans::No);
    let spec = GemmSpec { m: 2, n: 2, k: 2, op_a, lda: 2, op_b, ldb: 2, ldc: 2, alpha: one, beta: one };
    let mut c = [one; 4];
    reference::gemm(&spec, &a, &b, &mut c);
    assert_eq!(c, [one + 2.0 * i, 4.0 * one + 2.0 * i, 2.0 * one + 2.0 * i, 9.0 * one]);
    // A^H = [1 2; -i 3], B^T = [i 1; 1 2].
    let spec = GemmSpec { op_a: Trans::Conj, op_b: Trans::Yes, beta: 0.0.into(), alpha: i, ..spec };
    reference::gemm(&spec, &a, &b, &mut c);
    assert_eq!(c, [-one + 2.0 * i, 4.0 * i, 5.0 * i, one + 6.0 * i]);
}

#[test]
fn a_product_is_transposed_by_swapping_its_factors() {
    with_seeds(4, |rng| {
        let (m, n, k) = (1 + rng.below(9), 1 + rng.below(9), rng.below(9));
        let mut fill = |len: usize| (0..len).map(|_| rng.real()).collect::<Vec<_>>();
        let (a, b) = (fill(m * k), fill(k * n));
        let (mut c, mut d) = (vec![0.0; m * n], vec![0.0; m * n]);
        let (op_a, op_b) = (Trans::No, Trans::No);
        let spec = GemmSpec { m, n, k, op_a, lda: m, op_b, ldb: k.max(1), ldc: m, alpha: 1.0, beta: 0.0 };
        reference::gemm(&spec, &a, &b, &mut c);
        let (op_a, op_b) = (Trans::Yes, Trans::Yes);
        let swapped = GemmSpec { m: n, n: m, op_a, op_b, lda: k.max(1), ldb: m, ldc: n, ..spec };
        reference::gemm(&swapped, &b, &a, &mut d);
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            assert_eq!(c[i + j * m], d[j + i * n]);
        }
    });
}

#[test]
fn a_norm_is_the_root_of_a_dot_product() {
    let x = [3e-200, 4e-200];
    assert_eq!(reference::nrm2::<f64, f64>(2, &x, 1), 5e-200);
    assert_eq!(reference::nrm2::<f64, f64>(2, &[3e300, 4e300], 1), 5e300);
    assert_eq!(reference::nrm2::<Complex32, f32>(1, &[Complex::new(3.0, -4.0)], 1), 5.0);
    assert_eq!(reference::dotc(1, &[Complex32::new(3.0, -4.0)], 1, &[Complex32::new(3.0, -4.0)], 1).re, 25.0);
    assert_eq!(reference::dot(3, &[1.0, 2.0, 3.0], -1, &[1.0, 10.0, 100.0], 1), 123.0);
}
