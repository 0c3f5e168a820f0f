//! What must hold for any shape.

use super::matrix::{Matrix, Store};
use super::triangular::{operand, spec, triangle};
use crate::common::{Laid, Rng, devices, down, up};
use proptest::prelude::*;
use windlass::blas::{Gemv, Ger};
use windlass::{Complex, Diag, Transpose, Uplo};

type C = Complex<f64>;

fn inc() -> impl Strategy<Value = isize> {
    prop_oneof![-4isize..=-1, 1isize..=4]
}

fn flags() -> impl Strategy<Value = (Uplo, Diag, Transpose, Store)> {
    (
        prop_oneof![Just(Uplo::Upper), Just(Uplo::Lower)],
        prop_oneof![Just(Diag::NonUnit), Just(Diag::Unit)],
        prop_oneof![Just(Transpose::No), Just(Transpose::Yes), Just(Transpose::Conjugate)],
        prop_oneof![
            (0usize..4).prop_map(Store::Full),
            (0usize..6, 0usize..3).prop_map(|(k, gap)| Store::Band(k, gap)),
            Just(Store::Packed)
        ],
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_system_solved_and_multiplied_again_is_what_it_was(
        n in 0usize..90, inc in inc(), (uplo, diag, trans, store) in flags(), seed in any::<u64>()
    ) {
        for device in devices() {
            let rng = &mut Rng::new(seed);
            let a = triangle::<C>(rng, n, uplo, store, diag);
            let x = Laid::new(&rng.samples::<C>(n), inc);
            let (spec, da, blas) = (spec(uplo, store, trans).diag(diag), up(&device, &a.data[..]), device.blas());
            let solved = blas.trsv(spec, operand(&a, &da, store, trans), x.tensor_mut(&device)).unwrap();
            let again = blas.trmv(spec, operand(&a, &da, store, trans), solved).unwrap();
            let again = x.changed(&down(&device, again.buffer()), "between the elements");
            for (got, was) in again.iter().zip(x.elements(&x.data)) {
                prop_assert!((got - was).norm() <= 1e-12, "{got} was {was} by {spec:?}");
            }
        }
    }

    /// `(A + x y^H) z = A z + x (y^H z)`.
    #[test]
    fn an_update_shows_in_a_product(
        m in 1usize..60, n in 1usize..60, incx in inc(), incy in inc(), incz in inc(), gap in 0usize..4, seed in any::<u64>()
    ) {
        for device in devices() {
            let (rng, lda) = (&mut Rng::new(seed), m + gap);
            let a = Matrix::<C>::general(rng, m, n, lda);
            let x = Laid::new(&rng.samples::<C>(m), incx);
            let (y, z) = (Laid::new(&rng.samples::<C>(n), incy), Laid::new(&rng.samples::<C>(n), incz));
            let (dx, dy, dz, blas) = (x.up(&device), y.up(&device), z.up(&device), device.blas());
            let da = a.tensor_mut(&device);
            let az = blas.gemv(Gemv::new(), &da, z.tensor(&dz), device.uninit(m).unwrap()).unwrap();
            let yz = blas.dotc_into(y.tensor(&dy), z.tensor(&dz), device.uninit(1).unwrap()).unwrap();
            let want = down(&device, blas.axpy(&yz, x.tensor(&dx), az).unwrap());
            let da = blas.gerc(Ger::new(), x.tensor(&dx), y.tensor(&dy), da).unwrap();
            let got = down(&device, blas.gemv(Gemv::new(), &da, z.tensor(&dz), device.uninit(m).unwrap()).unwrap());
            for (got, want) in got.iter().zip(want) {
                prop_assert!((got - want).norm() <= 1e-11 * (1.0 + n as f64), "{got} for {want}");
            }
        }
    }
}
