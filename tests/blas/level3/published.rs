//! Every case of the published BLAS test programs: all sizes of 0, 1, 2, 3, 5 and 9 with all flags, and with each the
//! factors 0, 1, 0.7 and, where there are any, a complex one.

use super::batched;
use super::extensions::{check_diagonal, check_sum};
use super::matrix::{Number, TRANSPOSES, TRIANGLES, each_type, real};
use super::rank::{self, HERMITIAN_TRANSPOSES, Parts, symmetric_transposes};
use super::{symmetric, triangular};
use crate::common::{INCREMENTS, Rng, devices, left_out};
use windlass::blas::ComplexElement;
use windlass::reference::Pair;
use windlass::{Complex, Device, Side};

const SIZES: [usize; 6] = [0, 1, 2, 3, 5, 9];
const SIDES: [Side; 2] = [Side::Left, Side::Right];

fn shapes() -> impl Iterator<Item = (usize, usize)> {
    SIZES.into_iter().flat_map(|m| SIZES.map(|n| (m, n)))
}

fn factors<T: Number>() -> Vec<T> {
    let complex = T::nearest(Pair::new(0.7.into(), f64::into(-0.9)));
    let all = [T::default(), real(1.0), real(0.7), complex];
    all[..if T::COMPLEX { 4 } else { 3 }].to_vec()
}

fn pairs<T: Number>() -> Vec<(T, T)> {
    factors::<T>().into_iter().flat_map(|alpha| factors::<T>().into_iter().map(move |beta| (alpha, beta))).collect()
}

fn gemm<T: Number>(device: &Device, rng: &mut Rng) {
    let transposes: Vec<_> = TRANSPOSES.into_iter().flat_map(|a| TRANSPOSES.map(|b| [a, b])).collect();
    for ((m, n), k) in shapes().flat_map(|shape| SIZES.map(|k| (shape, k))) {
        for transposes in &transposes {
            for scalars in pairs::<T>() {
                if left_out(5) {
                    continue;
                }
                let gaps = [(); 3].map(|()| rng.pick(&[0, 1]));
                batched::Case::<T, T>::new(rng, [m, n, k], *transposes, gaps, scalars).check_alone(device);
            }
        }
    }
}

#[test]
fn gemm_in_all_published_cases() {
    // The first alone, the GPU where there is one: so small products are the same on every host device.
    for device in devices().into_iter().take(1) {
        let rng = &mut Rng::new(1);
        each_type!(gemm(&device, rng));
    }
}

fn symm<T: Number>(device: &Device, rng: &mut Rng, check: fn(&symmetric::Case<T>, &Device)) {
    for (side, uplo) in SIDES.into_iter().flat_map(|side| TRIANGLES.map(|uplo| (side, uplo))) {
        for (shape, scalars) in shapes().flat_map(|shape| pairs::<T>().into_iter().map(move |scalars| (shape, scalars)))
        {
            if left_out(5) {
                continue;
            }
            check(&symmetric::Case::of(rng, side, uplo, shape, scalars), device);
        }
    }
}

fn all_symm<T: Number>(device: &Device, rng: &mut Rng) {
    symm::<T>(device, rng, symmetric::Case::check_symmetric);
}

fn all_hemm<T: Number + ComplexElement>(device: &Device, rng: &mut Rng) {
    symm::<T>(device, rng, symmetric::Case::check_hermitian);
}

#[test]
fn symm_and_hemm_in_all_published_cases() {
    for device in devices() {
        let rng = &mut Rng::new(2);
        each_type!(all_symm(&device, rng));
        all_hemm::<Complex<f32>>(&device, rng);
        all_hemm::<Complex<f64>>(&device, rng);
    }
}

fn rank_symmetric<T: Parts>(device: &Device, rng: &mut Rng) {
    for (uplo, trans) in TRIANGLES.into_iter().flat_map(|uplo| symmetric_transposes::<T>().map(move |t| (uplo, t))) {
        for (shape, scalars) in shapes().flat_map(|shape| pairs::<T>().into_iter().map(move |scalars| (shape, scalars)))
        {
            if left_out(5) {
                continue;
            }
            rank::Case::of(rng, uplo, trans, false, shape, scalars).check_symmetric(device);
        }
    }
}

fn rank_hermitian<T: Parts + ComplexElement>(device: &Device, rng: &mut Rng) {
    for (uplo, trans) in TRIANGLES.into_iter().flat_map(|uplo| HERMITIAN_TRANSPOSES.map(|trans| (uplo, trans))) {
        for (shape, scalars) in shapes().flat_map(|shape| pairs::<T>().into_iter().map(move |scalars| (shape, scalars)))
        {
            if left_out(5) {
                continue;
            }
            rank::Case::of(rng, uplo, trans, true, shape, scalars).check_hermitian(device);
        }
    }
}

#[test]
fn updates_of_triangles_in_all_published_cases() {
    for device in devices() {
        let rng = &mut Rng::new(3);
        each_type!(rank_symmetric(&device, rng));
        rank_hermitian::<Complex<f32>>(&device, rng);
        rank_hermitian::<Complex<f64>>(&device, rng);
    }
}

fn triangles<T: Number>(device: &Device, rng: &mut Rng) {
    for flags in triangular::flags() {
        for (shape, alpha) in shapes().flat_map(|shape| factors::<T>().into_iter().map(move |alpha| (shape, alpha))) {
            if left_out(5) {
                continue;
            }
            let case = triangular::Case::<T>::new(rng, flags, shape, alpha);
            case.check_products(device);
            case.check_solution(device);
        }
    }
}

#[test]
fn trmm_and_trsm_in_all_published_cases() {
    for device in devices() {
        let rng = &mut Rng::new(4);
        each_type!(triangles(&device, rng));
    }
}

fn extensions<T: Number>(device: &Device, rng: &mut Rng) {
    for shape in shapes() {
        for transposes in TRANSPOSES.into_iter().flat_map(|a| TRANSPOSES.map(|b| (a, b))) {
            pairs::<T>()
                .into_iter()
                .filter(|_| !left_out(5))
                .for_each(|scalars| check_sum(device, rng, transposes, shape, scalars));
        }
        for (side, inc) in SIDES.into_iter().flat_map(|side| INCREMENTS.map(|inc| (side, inc))) {
            check_diagonal::<T>(device, rng, side, shape, inc);
        }
    }
}

#[test]
fn geam_and_dgmm_at_the_published_sizes_and_increments() {
    for device in devices() {
        let rng = &mut Rng::new(5);
        each_type!(extensions(&device, rng));
    }
}
