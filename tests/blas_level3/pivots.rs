//! What the library would do in place or follow blindly: matrices that share elements, pivots that are no rows.

use crate::common::{Rng, devices, down, seeds, up};
use crate::matrix::{Number, each_type, real};
use windlass::blas::Lu;
use windlass::Device;

/// The largest element of `A * X - 1`, of one column-major matrix.
fn residual<T: Number>(n: usize, a: &[T], ld: usize, x: &[T]) -> f64 {
    let mut worst = 0.0f64;
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
        let terms = (0..n).map(|k| (a[i + k * ld].parts(), x[k + j * n].parts()));
        let one = if i == j { 1.0 } else { 0.0 };
        let [re, im] = terms.fold([-one, 0.0], |[re, im], ([a, b], [c, d])| [re + a * c - b * d, im + a * d + b * c]);
        let size = re.abs() + im.abs();
        worst = if size <= worst { worst } else { size };
    }
    worst
}

fn shared<T: Number>(device: &Device, rng: &mut Rng) {
    for n in [3, 32, 33, 70] {
        // One for all; rows of one large matrix between each other's.
        for (ld, stride) in [(n, 0), (n + 3, 0), (3 * n, n)] {
            let mut a = vec![T::default(); 2 * stride + ld * (n - 1) + n];
            for at in 0..a.len() {
                let (row, column) = (at % ld, at / ld);
                let on_diagonal = if stride == 0 { row == column } else { row % n == column };
                a[at] = if on_diagonal { real::<T>(2.0 * n as f64) } else { T::sample(rng) };
            }
            let (on_device, spec) = (up(device, &a[..]), Lu::new(n, 3).lda(ld).stride_a(stride));
            let (c, info) = (device.uninit(3 * n * n).unwrap(), device.uninit(3).unwrap());
            let (c, info) = device.blas().matinv_batched(spec, &on_device, c, info).unwrap().await_result().unwrap();
            assert_eq!(down(device, &info), [0; 3]);
            for (i, c) in down(device, &c).chunks(n * n).enumerate() {
                let error = residual(n, &a[i * stride..], ld, c);
                // The diagonal is as large as the rest of its row, at most twice, so the inverse is small.
                let bound = 64.0 * n as f64 * T::UNIT;
                assert!(error <= bound, "matrix {i} of {n}, {ld} and {stride} apart: {error} on {device:?}");
            }
            assert_eq!(down(device, &on_device), a, "what is read stays");
        }
    }
}

#[test]
fn matrices_that_share_memory_are_inverted_each() {
    for device in devices() {
        seeds(2, |rng, _| {
            each_type!(shared(&device, rng));
        });
    }
}
