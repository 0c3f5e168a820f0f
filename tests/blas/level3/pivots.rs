//! What the library would do in place or follow blindly: matrices that share elements, pivots that are no rows.

use super::matrix::{Number, each_type, real};
use crate::common::{Rng, devices, down, seeds, up};
use windlass::tensor::Layout;
use windlass::{Device, Transpose};

/// A matrix with a large diagonal, to be solved with as if it were factors.
fn regular<T: Number>(rng: &mut Rng, n: usize) -> Vec<T> {
    let large = |at: usize, x: T| if at.is_multiple_of(n + 1) { real::<T>(n as f64 + 4.0) } else { x };
    (0..n * n).map(|at| large(at, T::sample(rng))).collect()
}

/// Reading where such a pivot points would be a device fault on a GPU, or wrong numbers.
fn strangers<T: Number>(device: &Device, rng: &mut Rng) {
    for n in [1, 2, 5, 32, 33, 70] {
        let (blas, count) = (device.blas(), 3);
        let a = up(device, (0..count).flat_map(|_| regular::<T>(rng, n)).collect::<Vec<_>>());
        let b: Vec<T> = rng.samples(n * 2 * count);
        let bad = [i32::MIN, -1, 0, n as i32 + 1, 1 << 30, i32::MAX];
        let rows: Vec<i32> = (0..n * count).map(|at| (at % n + 1) as i32).collect();
        let mut given = rows.clone();
        let mut meant = rows;
        for at in 0..n * count {
            match rng.below(3) {
                0 => given[at] = rng.pick(&bad), // which is no swap
                1 => {
                    let row = at % n + rng.below(n - at % n) + 1;
                    (given[at], meant[at]) = (row as i32, row as i32);
                }
                _ => {}
            }
        }
        let squares = Layout::columns(n, n).batch(count, n * n);
        let a = a.with_layout(squares).unwrap();
        let up_pivots =
            |pivots: &[i32]| up(device, pivots).with_layout(Layout::row_major([count, n]).unwrap()).unwrap();
        let solve = |pivots: &[i32], trans| {
            let b = up(device, &b[..]).with_layout(Layout::columns(n, 2).batch(count, 2 * n)).unwrap();
            let on_device = up_pivots(pivots);
            let x = blas.getrs(trans, &a, &on_device, b).unwrap().await_result().unwrap();
            assert_eq!(down(device, &on_device), pivots, "what is read stays");
            down(device, &x)
        };
        for trans in [Transpose::No, Transpose::Yes, Transpose::Conjugate] {
            assert_eq!(solve(&given, trans), solve(&meant, trans), "{n} rows, {trans:?}, on {device:?}: {given:?}");
        }
        let invert = |pivots: &[i32]| {
            let c = device.uninit(n * n * count).unwrap().with_layout(squares).unwrap();
            let pending = blas.getri(&a, &up_pivots(pivots), c, device.uninit([count]).unwrap()).unwrap();
            down(device, &pending.await_result().unwrap().0)
        };
        assert_eq!(invert(&given), invert(&meant), "{n} rows on {device:?}: {given:?}");
    }
}

#[test]
fn a_pivot_that_is_no_row_is_no_swap() {
    for device in devices() {
        seeds(2, |rng, _| {
            each_type!(strangers(&device, rng));
        });
    }
}

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
            for (at, element) in a.iter_mut().enumerate() {
                let (row, column) = (at % ld, at / ld);
                let on_diagonal = if stride == 0 { row == column } else { row % n == column };
                *element = if on_diagonal { real::<T>(2.0 * n as f64) } else { T::sample(rng) };
            }
            let (on_device, of_a) = (up(device, &a[..]), Layout::columns(n, n).ld(ld).batch(3, stride));
            let c = device.uninit(3 * n * n).unwrap().with_layout(Layout::columns(n, n).batch(3, n * n)).unwrap();
            let info = device.uninit([3]).unwrap();
            let (c, info) =
                device.blas().matinv(on_device.view(of_a).unwrap(), c, info).unwrap().await_result().unwrap();
            assert_eq!(down(device, &info), [0; 3]);
            for (i, c) in down(device, c.buffer()).chunks(n * n).enumerate() {
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
