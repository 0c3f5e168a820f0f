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
            let (a, b) = blas.swap(x.tensor_mut(&device), y.tensor_mut(&device)).unwrap().into_output();
            let (a, b) = blas.swap(a, b).unwrap().into_output();
            assert_same_bits(&down(&device, a.buffer()), &x.data, "x");
            assert_same_bits(&down(&device, b.buffer()), &y.data, "y");

            let (c, s) = (0.6, C::new(0.48, 0.64));
            let (a, b) = blas.rot(c, s, a, b).unwrap().into_output();
            let (a, b) = blas.rot(c, -s, a, b).unwrap().into_output();
            let (a, b) = (x.changed(&down(&device, a.buffer()), "x"), y.changed(&down(&device, b.buffer()), "y"));
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
            let (xx, xy, yx) = (dot(x.tensor(&dx), x.tensor(&dx)), dot(x.tensor(&dx), y.tensor(&dy)), dot(y.tensor(&dy), x.tensor(&dx)));
            let scale = 1e-13 * (1.0 + n as f64 * 32.0);
            prop_assert!((xy - yx.conj()).norm() <= scale, "{xy} and {yx}");
            let norm = blas.nrm2(x.tensor(&dx)).unwrap().await_result().unwrap();
            prop_assert!((norm * norm - xx.re).abs() <= scale && xx.im.abs() <= scale, "{norm} and {xx}");
            let two = blas.axpy(C::new(0.0, 2.0), x.tensor(&dx), y.tensor_mut(&device)).unwrap().into_output();
            let sum = dot(x.tensor(&dx), two.view());
            prop_assert!((sum - (xy + C::new(0.0, 2.0) * xx)).norm() <= 8.0 * scale, "{sum}");
        }
    }
}
