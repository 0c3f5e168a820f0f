use std::fmt::Debug;

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::super::gemm::HostGemm;
use super::super::reference::{self, Value, gemm_error_bound};
use super::super::widen::{Narrow, Widen, gemm_widened};
use super::super::{GemmSpec, Trans};
use super::{Rng, Sample, assert_near, with_seeds};

/// A random product: mostly small, sometimes with a dimension that exceeds a block or a slice of the fast path.
fn spec<S>(rng: &mut Rng, scalar: impl Fn(&mut Rng) -> S) -> GemmSpec<S> {
    let mut edges = [(); 3].map(|()| match rng.below(8) {
        0 => rng.below(3),
        1 => 64 + rng.below(7),
        _ => rng.below(40),
    });
    if rng.below(12) == 0 {
        // One long dimension and two short ones: more than one slice of k, more than one block of C, several threads.
        edges = [(); 3].map(|()| 1 + rng.below(5));
        edges[rng.below(3)] = rng.pick(&[513, 1024, 1025, 2051]);
    }
    let [m, n, k] = edges;
    let mut op = || rng.pick(&[Trans::No, Trans::Yes, Trans::Conj]);
    let (op_a, op_b) = (op(), op());
    let a_rows = if op_a == Trans::No { m } else { k };
    let b_rows = if op_b == Trans::No { k } else { n };
    let mut ld = |rows: usize| rows.max(1) + rng.pick(&[0, 0, 1, 3, 8]);
    let (lda, ldb, ldc) = (ld(a_rows), ld(b_rows), ld(m));
    GemmSpec { m, n, k, op_a, lda, op_b, ldb, ldc, alpha: scalar(rng), beta: scalar(rng) }
}

/// A column-major matrix of random values, with `padding` in the rows below it and `slack` elements behind it.
fn matrix<T: Copy>(
    rng: &mut Rng,
    rows: usize,
    cols: usize,
    ld: usize,
    padding: T,
    sample: fn(&mut Rng) -> T,
) -> Vec<T> {
    let slack = rng.below(2) * ld;
    let mut x = vec![padding; if rows == 0 || cols == 0 { 0 } else { (cols - 1) * ld + rows } + slack];
    x.chunks_mut(ld).take(cols).for_each(|column| column.iter_mut().take(rows).for_each(|x| *x = sample(rng)));
    x
}

fn matrices<I: Copy, O: Copy, S>(
    rng: &mut Rng,
    spec: &GemmSpec<S>,
    pad: I,
    pad_out: O,
    sample: fn(&mut Rng) -> I,
    sample_out: fn(&mut Rng) -> O,
) -> (Vec<I>, Vec<I>, Vec<O>) {
    let ((ar, ac), (br, bc)) = (spec.a_shape(), spec.b_shape());
    let a = matrix(rng, ar, ac, spec.lda, pad, sample);
    let b = matrix(rng, br, bc, spec.ldb, pad, sample);
    (a, b, matrix(rng, spec.m, spec.n, spec.ldc, pad_out, sample_out))
}

/// Calls `f` with every index in C that belongs to padding.
fn each_outside<S>(spec: &GemmSpec<S>, len: usize, f: impl FnMut(usize)) {
    (0..len).filter(|at| at % spec.ldc >= spec.m || at / spec.ldc >= spec.n).for_each(f);
}

/// Compares `gemm` with the oracle on one random product of `I` by `I` into `O`, scaled by `S`.
fn agrees<I: Sample, S: Sample, O: Sample>(rng: &mut Rng, gemm: impl Fn(&GemmSpec<S>, &[I], &[I], &mut [O])) {
    let scalar = |rng: &mut Rng| match rng.below(3) {
        0 => S::from_real(0.0),
        1 => S::from_real(1.0),
        _ => S::sample(rng),
    };
    let spec = spec(rng, scalar);
    let (a, b, mut c) = matrices(rng, &spec, I::NAN, O::NAN, I::sample, O::sample);
    if spec.beta.parts() == [0.0; 2] {
        c.fill(O::NAN);
    }
    let before = c.clone();
    let mut want = c.clone();
    reference::gemm(&spec, &a, &b, &mut want);
    let bounds = gemm_error_bound(&spec, &a, &b, &c, S::UNIT);
    gemm(&spec, &a, &b, &mut c);

    for (place, bound) in bounds.into_iter().enumerate() {
        let at = place % spec.m + place / spec.m * spec.ldc;
        assert_near(c[at], want[at], bound, &(place, spec));
    }
    each_outside(&spec, c.len(), |at| {
        let bits = [c[at], before[at]].map(|x| bytemuck::bytes_of(&x).to_vec());
        assert_eq!(bits[0], bits[1], "padding {at}: {spec:?}");
    });
}

#[test]
fn products_agree_with_the_oracle_and_leave_padding_alone() {
    with_seeds(120, |rng| {
        agrees::<f32, f32, f32>(rng, HostGemm::gemm);
        agrees::<f64, f64, f64>(rng, HostGemm::gemm);
        agrees::<Complex32, Complex32, Complex32>(rng, HostGemm::gemm);
        agrees::<Complex64, Complex64, Complex64>(rng, HostGemm::gemm);
        agrees::<f16, f32, f16>(rng, HostGemm::gemm);
        agrees::<bf16, f32, bf16>(rng, HostGemm::gemm);
        agrees::<f16, f32, f32>(rng, gemm_widened);
        agrees::<bf16, f32, f32>(rng, gemm_widened);
    });
}

#[test]
fn integer_products_are_exact_modulo_2_to_32() {
    with_seeds(150, |rng| {
        let scalar = |rng: &mut Rng| match rng.below(3) {
            0 => 0,
            1 => 1,
            _ => rng.next() as i32,
        };
        let spec = spec(rng, scalar);
        // The extremes occur often, so that sums reach the bound up to which the f32 kernels are exact.
        let sample = |rng: &mut Rng| rng.pick(&[-128, -128, 127, rng.0 as i8]);
        let (a, b, mut c) = matrices(rng, &spec, 99, 77, sample, |rng| rng.next() as i32);
        let mut want = c.clone();
        reference::gemm_i8(&spec, &a, &b, &mut want);
        i8::gemm(&spec, &a, &b, &mut c);
        // The padding is compared too: the oracle does not change it.
        assert!(c == want, "{spec:?}");
    });
}

#[test]
fn integer_sums_at_the_bound_of_f32_stay_exact() {
    for k in [1023, 1024, 1025, 4099] {
        let spec = GemmSpec { lda: k, ldb: k, ..plain(3, 2, k, 1, 0) };
        let spec = GemmSpec { op_a: Trans::Yes, ..spec };
        let (mut a, mut b, mut c) = (vec![-128i8; 3 * k], vec![-128i8; 2 * k], vec![0; 6]);
        // One odd term: above 2^24 an f32 could not hold the sum.
        (a[k - 1], b[k - 1]) = (-127, -127);
        i8::gemm(&spec, &a, &b, &mut c);
        let full = 16384 * k as i32;
        assert_eq!(c, [full - 255, full - 128, full - 128, full - 128, full, full]);
    }
}

fn plain<S>(m: usize, n: usize, k: usize, alpha: S, beta: S) -> GemmSpec<S> {
    GemmSpec { m, n, k, op_a: Trans::No, lda: m, op_b: Trans::No, ldb: k, ldc: m, alpha, beta }
}

/// Large enough for threads, packing and several blocks; too large for the oracle, so a few entries are compared.
fn large_products_agree<T, S>(m: usize, n: usize, k: usize)
where
    S: Sample,
    T: Sample + HostGemm<Scalar = S, Out = T>,
{
    with_seeds(1, |rng| {
        for (op_a, op_b) in [(Trans::No, Trans::Conj), (Trans::Conj, Trans::No)] {
            let spec = GemmSpec { op_a, op_b, ..plain(m, n, k, S::sample(rng), S::sample(rng)) };
            let spec = GemmSpec { lda: spec.a_shape().0 + 1, ldb: spec.b_shape().0 + 2, ldc: m + 1, ..spec };
            let (a, b, mut c) = matrices(rng, &spec, T::NAN, T::NAN, T::sample, T::sample);
            let before = c.clone();
            T::gemm(&spec, &a, &b, &mut c);
            for _ in 0..40 {
                let edge = |rng: &mut Rng, n: usize| rng.pick(&[0, n / 2, n - 1, rng.0 as usize % n]);
                let (i, j) = (edge(rng, m), edge(rng, n));
                // The product of one row and one column, as a 1 x 1 product of its own.
                let a = &a[i * if op_a == Trans::No { 1 } else { spec.lda }..];
                let b = &b[j * if op_b == Trans::No { spec.ldb } else { 1 }..];
                let one = GemmSpec { m: 1, n: 1, ..spec };
                let mut want = [before[i + j * spec.ldc]];
                let bound = gemm_error_bound(&one, a, b, &want, S::UNIT);
                reference::gemm(&one, a, b, &mut want);
                assert_near(c[i + j * spec.ldc], want[0], bound[0], &(i, j, spec));
            }
            each_outside(&spec, c.len(), |at| {
                assert_eq!(bytemuck::bytes_of(&c[at]), bytemuck::bytes_of(&before[at]), "padding {at}: {spec:?}");
            });
        }
    });
}

#[test]
fn large_products_agree_with_the_oracle() {
    large_products_agree::<f32, f32>(301, 203, 517);
    large_products_agree::<f64, f64>(203, 301, 517);
    large_products_agree::<Complex32, Complex32>(201, 103, 317);
    large_products_agree::<Complex64, Complex64>(103, 201, 317);
    large_products_agree::<f16, f32>(2100, 130, 1100);
    large_products_agree::<bf16, f32>(130, 2100, 1100);
}

#[test]
fn thin_products_agree_with_the_oracle() {
    large_products_agree::<f32, f32>(1500, 1, 700);
    large_products_agree::<f64, f64>(1, 1500, 700);
    large_products_agree::<Complex32, Complex32>(700, 600, 1);
    large_products_agree::<Complex64, Complex64>(600, 1, 700);
    large_products_agree::<f32, f32>(700, 600, 2);
    large_products_agree::<bf16, f32>(1, 1500, 700);
}

/// An f16 product is the f32 product rounded once, not a sum of rounded slices.
#[test]
fn halves_are_rounded_once() {
    // 2048 + 4096 * 0.5: an f16 sum would stop at 2048, where its steps are 2.
    let k = 4097;
    let mut a = vec![f16::from_f32(0.5); k];
    a[0] = f16::from_f32(2048.0);
    let b = vec![f16::ONE; k];
    let mut c = [f16::NAN];
    f16::gemm(&plain(1, 1, k, 1.0, 0.0), &a, &b, &mut c);
    assert_eq!(c[0], f16::from_f32(4096.0));
}

#[test]
fn zero_alpha_reads_neither_factor_and_empty_sums_scale_c() {
    fn check<T, S>()
    where
        S: Sample,
        T: Sample + HostGemm<Scalar = S, Out = T>,
    {
        let s = S::from_real;
        let nan = [T::NAN; 4];
        for (spec, a) in [(plain(2, 2, 2, s(0.0), s(3.0)), &nan[..]), (plain(2, 2, 0, s(2.0), s(3.0)), &[])] {
            let mut c = [T::from_real(2.0); 4];
            T::gemm(&spec, a, a, &mut c);
            assert_eq!(c.map(Value::parts), [[6.0, 0.0]; 4]);
            let mut c = nan;
            T::gemm(&GemmSpec { beta: s(0.0), ..spec }, a, a, &mut c);
            assert_eq!(c.map(Value::parts), [[0.0, 0.0]; 4]);
        }
    }
    check::<f32, f32>();
    check::<f64, f64>();
    check::<Complex32, Complex32>();
    check::<Complex64, Complex64>();
    check::<f16, f32>();
    check::<bf16, f32>();
}

#[test]
fn nan_and_infinity_pass_through() {
    fn check<T, S>()
    where
        S: Sample,
        T: Sample + HostGemm<Scalar = S, Out = T>,
    {
        for n in [2, 40] {
            let mut a = vec![T::from_real(0.0); n * n];
            a[0] = T::NAN;
            let b = vec![T::from_real(0.0); n * n];
            let mut c = b.clone();
            T::gemm(&plain(n, n, n, S::from_real(1.0), S::from_real(1.0)), &a, &b, &mut c);
            for (i, x) in c.iter().enumerate() {
                assert_eq!(x.parts()[0].is_nan(), i % n == 0, "a zero times NaN is NaN: {i} {x:?}");
            }
            // Zero times C is not skipped either, unless the zero is beta.
            let mut c = vec![T::from_real(f64::INFINITY); n * n];
            T::gemm(&plain(n, n, n, S::from_real(1.0), S::from_real(1.0)), &b, &b, &mut c);
            assert!(c.iter().all(|x| x.parts()[0] == f64::INFINITY || T::COMPLEX));
        }
    }
    check::<f32, f32>();
    check::<f64, f64>();
    check::<Complex32, Complex32>();
    check::<f16, f32>();
    check::<bf16, f32>();
}

/// Shapes that do not fit cause neither a panic nor a write.
#[test]
fn shapes_that_do_not_fit_their_slices_do_nothing() {
    fn check<T: HostGemm + Default + PartialEq + Debug>(one: T::Scalar)
    where
        T::Out: Default + PartialEq + Debug,
    {
        let huge = usize::MAX;
        let good = plain(4, 4, 4, one, one);
        let bad = [
            GemmSpec { m: 5, ..good },
            GemmSpec { n: 5, ..good },
            GemmSpec { k: 5, ..good },
            GemmSpec { lda: 3, ..good },
            GemmSpec { ldb: 5, ..good },
            GemmSpec { ldc: 3, ..good },
            GemmSpec { m: huge, lda: huge, ldc: huge, ..good },
            GemmSpec { n: huge, ..good },
            GemmSpec { k: huge, ldb: huge, ..good },
            GemmSpec { m: huge, n: huge, k: huge, lda: huge, ldb: huge, ldc: huge, ..good },
            GemmSpec { m: 0, n: huge, ..good },
            GemmSpec { m: huge, n: 0, ldc: 0, ..good },
        ];
        for spec in bad {
            for op in [Trans::No, Trans::Yes] {
                let spec = GemmSpec { op_a: op, op_b: op, ..spec };
                let spec = match spec {
                    // Transposed, the leading dimension of a 4 x k matrix must be at least k.
                    GemmSpec { k: 5, .. } => GemmSpec { lda: 5, ..spec },
                    spec => spec,
                };
                let (a, mut c) = ([T::default(); 16], [T::Out::default(); 16]);
                T::gemm(&spec, &a, &a, &mut c);
                assert_eq!(c, [T::Out::default(); 16]);
            }
        }
    }
    check::<f32>(1.0);
    check::<Complex64>(1.0.into());
    check::<bf16>(1.0);
    check::<i8>(1);
}

/// The stride of a single column is not used, so any leading dimension is accepted.
#[test]
fn a_single_column_may_name_any_leading_dimension() {
    let huge = usize::MAX / 2;
    for (m, k) in [(3, 1), (40, 1), (300, 1)] {
        let spec = GemmSpec { lda: huge, ldb: huge, ldc: huge, ..plain(m, 1, k, 1.0, 0.0) };
        let mut c = vec![f32::NAN; m];
        f32::gemm(&spec, &vec![2.0; m], &[3.0], &mut c);
        assert_eq!(c, vec![6.0; m]);
        let mut c = vec![f16::NAN; m];
        f16::gemm(&spec, &vec![f16::from_f32(2.0); m], &[f16::from_f32(3.0)], &mut c);
        assert_eq!(c, vec![f16::from_f32(6.0); m]);
    }
}

/// Every f32 that bf16 rounds in an interesting way: all top halves, with bottom halves at and around a tie.
#[test]
fn bf16_is_rounded_as_crate_half_does() {
    let tops = (0..=u16::MAX).map(|top| u32::from(top) << 16);
    let all: Vec<f32> =
        tops.flat_map(|top| [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff].map(|low| f32::from_bits(top | low))).collect();
    let mut rounded = vec![bf16::ZERO; all.len()];
    Narrow::narrow(&all, &mut rounded);
    for (x, y) in all.iter().zip(&rounded) {
        assert_eq!(y.to_bits(), bf16::from_f32(*x).to_bits(), "{x:e}");
    }
    let mut back = vec![0.0; rounded.len()];
    Widen::widen(&rounded, &mut back);
    for (x, y) in rounded.iter().zip(back) {
        assert_eq!(y.to_bits(), u32::from(x.to_bits()) << 16);
    }
}
