//! Products of floating-point matrices against the oracle, within its error bound.

use super::shape::{SIZES, Shape, TRANSPOSES};
use crate::common::{Rng, Sample, assert_same_bits, columns, devices, down, into_columns, seeds, up};
use windlass::blas::GemmElement;
use windlass::reference::{self, Value, gemm_error_bound};
use windlass::{Complex, Device, Gemm, bf16, f16};

/// What goes into one product.
struct Case<T, S> {
    shape: Shape,
    alpha: S,
    beta: S,
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
}

impl<T, S> Case<T, S>
where
    S: Sample,
    T: Sample + GemmElement<Scalar = S, Out = T>,
{
    /// Samples, NaN in all padding; NaN in what must not be read: C when `beta` is zero, A and B when `alpha` is.
    fn new(shape: Shape, alpha: S, beta: S, rng: &mut Rng) -> Self {
        let zero = |x: S| x.parts() == [0.0; 2];
        let mut matrix = |which, unread| shape.matrix(which, T::NAN, || if unread { T::NAN } else { T::sample(rng) });
        let (a, b) = (matrix(0, zero(alpha)), matrix(1, zero(alpha)));
        let c = matrix(2, zero(beta));
        Case { shape, alpha, beta, a, b, c }
    }

    fn check(&self, device: &Device) {
        self.check_with(device, [false; 2]);
    }

    /// With each of the scalars by value, or as the element of a buffer with more of them.
    fn check_with(&self, device: &Device, [alpha_at, beta_at]: [bool; 2]) {
        let what = format!("{:?} alpha {:?} beta {:?} on {device:?}", self.shape, self.alpha, self.beta);
        let spec = self.shape.spec(self.alpha, self.beta);
        let mut want = self.c.clone();
        reference::gemm(&spec, &self.a, &self.b, &mut want);
        // Twice the unit of f32 for halves: their hardware sums are truncated, not rounded.
        let unit = if T::UNIT > S::UNIT { 2.0 * S::UNIT } else { S::UNIT };
        let bounds = gemm_error_bound(&spec, &self.a, &self.b, &self.c, unit);

        let (a, b, c) = (up(device, &self.a[..]), up(device, &self.b[..]), up(device, &self.c[..]));
        let scalars = up(device, vec![S::real(9.0), self.alpha, self.beta]);
        let at = |i: usize| scalars.as_in().slice(i..i + 1).unwrap();
        let call = self.shape.call::<T>(self.alpha, self.beta);
        let call = if alpha_at { call.alpha(at(1)) } else { call };
        let call = if beta_at { call.beta(at(2)) } else { call };
        let ([of_a, of_b], c) = (self.shape.factors(&a, &b), self.shape.c(c));
        let c = device.blas().gemm(call, of_a, of_b, c).expect(&what).await_result().expect(&what);
        let got = down(device, c.buffer());

        assert_eq!(got.len(), want.len());
        for (at, (got, want)) in got.iter().zip(&want).enumerate() {
            if self.shape.outside(at) {
                assert_same_bits(&[*got], &[self.c[at]], &format!("padding {at}, {what}"));
                continue;
            }
            let bound = bounds[at % spec.ldc + at / spec.ldc * spec.m];
            let near = got.parts().iter().zip(want.parts()).all(|(got, want)| (got - want).abs() <= bound);
            assert!(near, "{got:?} at {at} is not within {bound:e} of {want:?}: {what}");
        }
    }
}

/// Runs `$check::<T, S>(args)` for every floating-point type.
macro_rules! each_type { ($check:ident($($arg:expr),*)) => {
    $check::<f32, f32>($($arg),*);
    $check::<f64, f64>($($arg),*);
    $check::<Complex<f32>, Complex<f32>>($($arg),*);
    $check::<Complex<f64>, Complex<f64>>($($arg),*);
    $check::<f16, f32>($($arg),*);
    $check::<bf16, f32>($($arg),*);
} }

fn scalar<S: Sample>(rng: &mut Rng) -> S {
    match rng.below(4) {
        0 => S::real(0.0),
        1 => S::real(1.0),
        _ => S::sample(rng),
    }
}

fn random<T, S: Sample>(device: &Device, rng: &mut Rng)
where
    T: Sample + GemmElement<Scalar = S, Out = T>,
{
    let (alpha, beta) = (scalar(rng), scalar(rng));
    Case::<T, S>::new(Shape::random(rng), alpha, beta, rng).check(device);
}

#[test]
fn random_products_agree_with_the_oracle_and_leave_padding_alone() {
    for device in devices() {
        seeds(40, |rng, _| {
            each_type!(random(&device, rng));
        });
    }
}

fn all_transposes<T, S: Sample>(device: &Device, rng: &mut Rng)
where
    T: Sample + GemmElement<Scalar = S, Out = T>,
{
    for trans in TRANSPOSES.into_iter().flat_map(|a| TRANSPOSES.map(|b| [a, b])) {
        for gaps in [[0, 0, 0], [1, 2, 3]] {
            let shape = Shape { m: 7, n: 5, k: 9, trans, gaps };
            Case::<T, S>::new(shape, S::sample(rng), S::sample(rng), rng).check(device);
        }
    }
}

#[test]
fn every_pair_of_transposes_agrees_with_the_oracle() {
    for device in devices() {
        seeds(1, |rng, _| {
            each_type!(all_transposes(&device, rng));
        });
    }
}

fn all_edges<T, S: Sample>(device: &Device, rng: &mut Rng)
where
    T: Sample + GemmElement<Scalar = S, Out = T>,
{
    // Each edge takes every size while the others stay small; one product has all of the largest.
    for size in SIZES {
        for (m, n, k) in [(size, 3, 2), (2, size, 3), (3, 2, size)] {
            let shape = Shape { m, n, k, trans: [rng.pick(&TRANSPOSES), rng.pick(&TRANSPOSES)], gaps: [0, 1, 2] };
            Case::<T, S>::new(shape, S::sample(rng), S::sample(rng), rng).check(device);
        }
    }
    let shape = Shape { m: 100, n: 64, k: 100, trans: [TRANSPOSES[2], TRANSPOSES[0]], gaps: [0; 3] };
    Case::<T, S>::new(shape, S::sample(rng), S::sample(rng), rng).check(device);
}

#[test]
fn every_edge_takes_every_size() {
    for device in devices() {
        seeds(1, |rng, _| {
            each_type!(all_edges(&device, rng));
        });
    }
}

fn zeros_read_nothing<T, S: Sample>(device: &Device, rng: &mut Rng)
where
    T: Sample + GemmElement<Scalar = S, Out = T>,
{
    let (zero, some) = (S::real(0.0), S::real(-1.5));
    for (k, alpha, beta) in [(5, zero, some), (5, some, zero), (5, zero, zero), (0, some, some), (0, some, zero)] {
        let shape = Shape { m: 6, n: 4, k, trans: [TRANSPOSES[1], TRANSPOSES[0]], gaps: [2, 1, 3] };
        let case = Case::<T, S>::new(shape, alpha, beta, rng);
        case.check(device);
        if beta == zero && (alpha == zero || k == 0) {
            let c = up(device, &case.c[..]);
            let (a, b) = (up(device, &case.a[..]), up(device, &case.b[..]));
            let ([of_a, of_b], c) = (shape.factors(&a, &b), shape.c(c));
            let c = device.blas().gemm(shape.call::<T>(alpha, beta), of_a, of_b, c).unwrap().await_result().unwrap();
            let got = down(device, c.buffer());
            let all_zero = (0..got.len()).filter(|at| !shape.outside(*at)).all(|at| got[at].parts() == [0.0; 2]);
            assert!(all_zero, "NaN in C survived beta = 0: {got:?}");
        }
    }
}

#[test]
fn a_zero_factor_means_that_its_operand_is_not_read_even_if_it_is_nan() {
    for device in devices() {
        seeds(1, |rng, _| {
            each_type!(zeros_read_nothing(&device, rng));
        });
    }
}

fn nan_and_infinity<T, S: Sample>(device: &Device)
where
    T: Sample + GemmElement<Scalar = S, Out = T>,
{
    let (one, zero) = (T::real(1.0), T::real(0.0));
    // The first row of A is (1, NaN), the second (1, 0); B is all ones.
    let a = up(device, [one, one, T::NAN, zero]);
    let b = up(device, [one; 4]);
    let (a, b, c) = (columns(&a, 2, 2), columns(&b, 2, 2), into_columns(device.uninit(4).unwrap().into_buffer(), 2, 2));
    let c = device.blas().gemm(Gemm::new(), a, b, c).unwrap().await_result().unwrap();
    let got = down(device, c.buffer());
    for (at, value) in got.iter().enumerate() {
        assert_eq!(value.parts()[0].is_nan(), at % 2 == 0, "{got:?} on {device:?}, {}", T::DTYPE);
    }
}

#[test]
fn a_nan_reaches_its_row_and_nothing_else() {
    for device in devices() {
        each_type!(nan_and_infinity(&device));
    }
}

fn scalars_on_the_device<T, S: Sample>(device: &Device, rng: &mut Rng)
where
    T: Sample + GemmElement<Scalar = S, Out = T>,
{
    let shape = Shape { m: 5, n: 3, k: 9, trans: [TRANSPOSES[1], TRANSPOSES[0]], gaps: [1, 2, 3] };
    for (alpha, beta) in [(S::sample(rng), S::sample(rng)), (S::real(1.0), S::real(0.0))] {
        for at in [[true, true], [true, false], [false, true]] {
            Case::<T, S>::new(shape, alpha, beta, rng).check_with(device, at);
        }
    }
}

#[test]
fn scalars_in_device_memory_are_those_of_the_product() {
    for device in devices() {
        seeds(1, |rng, _| {
            each_type!(scalars_on_the_device(&device, rng));
        });
    }
}

#[test]
fn an_output_with_beta_in_device_memory_counts_as_read() {
    for device in devices() {
        let one = device.tensor([1, 1], [1.0f64]).unwrap();
        let c = || device.uninit([1, 1]).unwrap();
        for call in [Gemm::new().alpha(&one).beta(&one), Gemm::new().beta(&one)] {
            let rejected = device.blas().gemm(call, &one, &one, c()).unwrap_err();
            assert!(rejected.back.is_some() && rejected.error.to_string().contains("never written"), "{rejected}");
        }
        let c = device.blas().gemm(Gemm::new().alpha(&one), &one, &one, c()).unwrap().await_result().unwrap();
        let none = up(&device, [0.0f64; 0]);
        let rejected = device.blas().gemm(Gemm::new().alpha(&one).beta(&none), &one, &one, c).unwrap_err();
        assert_eq!(crate::common::refused(&rejected.error).0, "beta");
    }
}

/// The error of TF32 is that of inputs rounded to 11 bits; every other mode keeps the bound of the type. A mode does not
/// stay behind for the next product.
#[test]
fn math_modes_are_those_of_the_call_alone() {
    use windlass::blas::Math;
    for device in devices() {
        seeds(1, |rng, _| {
            let shape = Shape { m: 64, n: 64, k: 64, trans: [TRANSPOSES[0]; 2], gaps: [0; 3] };
            let case = Case::<f32, f32>::new(shape, 1.0, 0.0, rng);
            let (a, b) = (up(&device, &case.a[..]), up(&device, &case.b[..]));
            let spec = shape.spec(1.0, 0.0);
            let mut want = case.c.clone();
            reference::gemm(&spec, &case.a, &case.b, &mut want);
            for (math, unit) in [
                (Math::Tf32, 2.0f64.powi(-10)),
                (Math::Default, f32::UNIT),
                (Math::Pedantic, f32::UNIT),
                (Math::EmulatedBf16x9, 2.0 * f32::UNIT),
                (Math::Default, f32::UNIT),
            ] {
                let blas = device.blas().math(math).deterministic(true).reduced_precision_reduction(false);
                let ([a, b], c) = (shape.factors(&a, &b), shape.c(up(&device, &case.c[..])));
                let c = match blas.gemm(shape.call::<f32>(1.0, 0.0), a, b, c) {
                    Err(rejected) => {
                        let missing = matches!(rejected.error, windlass::Error::Unsupported { .. });
                        assert!(missing && math == Math::EmulatedBf16x9, "{math:?}: {rejected}");
                        continue;
                    }
                    Ok(pending) => down(&device, pending.await_result().unwrap().buffer()),
                };
                // On a GPU it is TF32 and not f32 after all: somewhere its error is more than f32 allows.
                let single = gemm_error_bound(&spec, &case.a, &case.b, &case.c, f32::UNIT);
                let off = c.iter().zip(&want).map(|(c, want)| (f64::from(*c) - f64::from(*want)).abs());
                let coarse = off.zip(single).any(|(off, bound)| off > bound);
                let rounds = math == Math::Tf32 && !crate::common::is_host(&device);
                assert!(coarse == rounds || math == Math::EmulatedBf16x9, "{math:?} on {device:?}: coarse {coarse}");
                let bounds = gemm_error_bound(&spec, &case.a, &case.b, &case.c, unit);
                for ((c, want), bound) in c.iter().zip(&want).zip(bounds) {
                    assert!((f64::from(*c) - f64::from(*want)).abs() <= bound, "{math:?}: {c} for {want}");
                }
            }
        });
    }
}
