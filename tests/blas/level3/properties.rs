//! What must hold for any shape: within the error bounds of the oracle, whatever the sizes, flags, gaps and factors.

use super::extensions::{check_diagonal, check_sum};
use super::matrix::{Number, TRANSPOSES, TRIANGLES, each_type, scalar};
use super::rank::{HERMITIAN_TRANSPOSES, Parts, symmetric_transposes};
use super::{batched, rank, symmetric, triangular};
use crate::common::{Rng, devices};
use proptest::prelude::*;
use proptest::sample::select;
use windlass::blas::ComplexElement;
use windlass::{Complex, Device, Diag, Side, Transpose, Uplo};

/// Small ones more often, so that edges are met; some past every block.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0usize..20, 2 => 20usize..70, 1 => 70usize..150]
}

fn side() -> impl Strategy<Value = Side> {
    select(vec![Side::Left, Side::Right])
}

fn uplo() -> impl Strategy<Value = Uplo> {
    select(TRIANGLES.to_vec())
}

fn transpose() -> impl Strategy<Value = Transpose> {
    select(TRANSPOSES.to_vec())
}

fn scalars<T: Number>(rng: &mut Rng) -> (T, T) {
    (scalar(rng), scalar(rng))
}

fn gemm<T: Number>(device: &Device, rng: &mut Rng, sizes: [usize; 3], transposes: [Transpose; 2], gaps: [usize; 3]) {
    let scalars = scalars(rng);
    batched::Case::<T, T>::new(rng, sizes, transposes, gaps, scalars).check_alone(device);
}

fn symm<T: Number>(device: &Device, rng: &mut Rng, (side, uplo): (Side, Uplo), shape: (usize, usize)) {
    let scalars = scalars::<T>(rng);
    symmetric::Case::of(rng, side, uplo, shape, scalars).check_symmetric(device);
}

fn hemm<T: Number + ComplexElement>(device: &Device, rng: &mut Rng, flags: (Side, Uplo), shape: (usize, usize)) {
    let scalars = scalars::<T>(rng);
    symmetric::Case::of(rng, flags.0, flags.1, shape, scalars).check_hermitian(device);
}

fn updates<T: Parts>(device: &Device, rng: &mut Rng, uplo: Uplo, sizes: (usize, usize)) {
    let (scalars, transposes) = (scalars::<T>(rng), symmetric_transposes::<T>().collect::<Vec<_>>());
    let trans = rng.pick(&transposes);
    rank::Case::of(rng, uplo, trans, false, sizes, scalars).check_symmetric(device);
}

fn hermitian_updates<T: Parts + ComplexElement>(device: &Device, rng: &mut Rng, uplo: Uplo, sizes: (usize, usize)) {
    let (scalars, trans) = (scalars::<T>(rng), rng.pick(&HERMITIAN_TRANSPOSES));
    rank::Case::of(rng, uplo, trans, true, sizes, scalars).check_hermitian(device);
}

fn triangles<T: Number>(device: &Device, rng: &mut Rng, flags: triangular::Flags, shape: (usize, usize)) {
    let alpha = scalar(rng);
    let case = triangular::Case::<T>::new(rng, flags, shape, alpha);
    case.check_products(device);
    case.check_solution(device);
}

fn extensions<T: Number>(device: &Device, rng: &mut Rng, t: (Transpose, Transpose), side: Side, shape: (usize, usize)) {
    let (scalars, inc) = (scalars::<T>(rng), rng.pick(&[1, 3, -1, -4]));
    check_sum::<T>(device, rng, t, shape, scalars);
    check_diagonal::<T>(device, rng, side, shape, inc);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn products_are_those_of_the_oracle(
        sizes in [size(), size(), size()], transposes in [transpose(), transpose()], gaps in [0usize..9, 0usize..9, 0usize..9],
        seed in any::<u64>()
    ) {
        for device in devices() {
            let rng = &mut Rng::new(seed);
            each_type!(gemm(&device, rng, sizes, transposes, gaps));
        }
    }

    #[test]
    fn products_with_symmetric_and_hermitian_matrices_are_those_of_the_oracle(
        flags in (side(), uplo()), shape in (size(), size()), seed in any::<u64>()
    ) {
        for device in devices() {
            let rng = &mut Rng::new(seed);
            each_type!(symm(&device, rng, flags, shape));
            hemm::<Complex<f32>>(&device, rng, flags, shape);
            hemm::<Complex<f64>>(&device, rng, flags, shape);
        }
    }

    #[test]
    fn updates_of_triangles_are_those_of_the_oracle(uplo in uplo(), sizes in (size(), size()), seed in any::<u64>()) {
        for device in devices() {
            let rng = &mut Rng::new(seed);
            each_type!(updates(&device, rng, uplo, sizes));
            hermitian_updates::<Complex<f32>>(&device, rng, uplo, sizes);
            hermitian_updates::<Complex<f64>>(&device, rng, uplo, sizes);
        }
    }

    #[test]
    fn products_and_solutions_with_triangles_are_those_of_the_oracle(
        flags in (side(), uplo(), transpose(), select(vec![Diag::Unit, Diag::NonUnit])), shape in (size(), size()),
        seed in any::<u64>()
    ) {
        for device in devices() {
            let rng = &mut Rng::new(seed);
            each_type!(triangles(&device, rng, flags, shape));
        }
    }

    #[test]
    fn sums_and_diagonals_are_those_of_the_oracle(
        transposes in (transpose(), transpose()), side in side(), shape in (size(), size()), seed in any::<u64>()
    ) {
        for device in devices() {
            let rng = &mut Rng::new(seed);
            each_type!(extensions(&device, rng, transposes, side, shape));
        }
    }
}
