//! What must hold for any layout.

use crate::common::{Laid, Rng, assert_same_bits, devices, down};
use proptest::prelude::*;
use windlass::Complex;

type C = Complex<f64>;

fn layout() -> impl Strategy<Value = (usize, isize, isize, u64)> {
    let inc = prop_oneof![-5isize..=-1, 1isize..=5];
    (0usize..200, inc.clone(), inc, any::<u64>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_exchanges_are_none_and_a_turn_back_undoes_a_turn((n, incx, incy, seed) in layout()) {
        for device in devices() {
            let (blas, rng) = (device.blas(), &mut Rng::new(seed));
            let (x, y) = (Laid::new(&rng.samples::<C>(n), incx), Laid::new(&rng.samples::<C>(n), incy));
            let (a, b) = blas.swap(x.view_mut(&device), y.view_mut(&device)).unwrap().into_output();
            let (a, b) = blas.swap(a.into_strided(n, incx), b.into_strided(n, incy)).unwrap().into_output();
            assert_same_bits(&down(&device, &a), &x.data, "x");
            assert_same_bits(&down(&device, &b), &y.data, "y");

            let (c, s) = (0.6, C::new(0.48, 0.64));
            let (a, b) = blas.rot(c, s, a.into_strided(n, incx), b.into_strided(n, incy)).unwrap().into_output();
            let (a, b) = blas.rot(c, -s, a.into_strided(n, incx), b.into_strided(n, incy)).unwrap().into_output();
            let (a, b) = (x.changed(&down(&device, &a), "x"), y.changed(&down(&device, &b), "y"));
            for (got, was) in a.iter().zip(x.elements(&x.data)).chain(b.iter().zip(y.elements(&y.data))) {
                prop_assert!((got - was).norm() <= 1e-14, "{got} was {was}");
            }
        }
    }

    #[test]
    fn a_sum_is_linear_and_a_norm_is_the_root_of_a_product((n, incx, incy, seed) in layout()) {
        for device in devices() {
            let (blas, rng) = (device.blas(), &mut Rng::new(seed));
            let (x, y) = (Laid::new(&rng.samples::<C>(n), incx), Laid::new(&rng.samples::<C>(n), incy));
            let (dx, dy) = (x.up(&device), y.up(&device));
            let dot = |a, b| blas.dotc(a, b).unwrap().await_result().unwrap();
            let (xx, xy, yx) = (dot(x.view(&dx), x.view(&dx)), dot(x.view(&dx), y.view(&dy)), dot(y.view(&dy), x.view(&dx)));
            let scale = 1e-13 * (1.0 + n as f64 * 32.0);
            prop_assert!((xy - yx.conj()).norm() <= scale, "{xy} and {yx}");
            if incx > 0 {
                let norm = blas.nrm2(x.view(&dx)).unwrap().await_result().unwrap();
                prop_assert!((norm * norm - xx.re).abs() <= scale && xx.im.abs() <= scale, "{norm} and {xx}");
            }
            let two = blas.axpy(C::new(0.0, 2.0), x.view(&dx), y.view_mut(&device)).unwrap().into_output();
            let sum = dot(x.view(&dx), y.view(&two));
            prop_assert!((sum - (xy + C::new(0.0, 2.0) * xx)).norm() <= 8.0 * scale, "{sum}");
        }
    }
}
