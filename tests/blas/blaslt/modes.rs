//! Less precise ways to multiply, switched on.

use crate::common::{columns, devices, down, is_host, new_columns, rows, seeds, up};
use windlass::reference::{self, GemmSpec, Trans, Value, gemm_error_bound};
use windlass::{F8E4M3, Matmul};

/// The error is that of factors rounded to 11 bits, on a GPU more than f32 allows, and only where it was switched on.
#[test]
fn tf32_rounds_the_factors_where_it_is_allowed() {
    for device in devices() {
        seeds(1, |rng, _| {
            let n = 64;
            let (a, b) = (rng.samples::<f32>(n * n), rng.samples::<f32>(n * n));
            let no = Trans::No;
            let spec =
                GemmSpec { m: n, n, k: n, op_a: no, lda: n, op_b: no, ldb: n, ldc: n, alpha: 1.0f32, beta: 0.0f32 };
            let mut want = vec![0.0f32; n * n];
            reference::gemm(&spec, &a, &b, &mut want);
            let bounds = |unit| gemm_error_bound(&spec, &a, &b, &vec![0.0f32; n * n], unit);
            let (single, tf32) = (bounds(f32::UNIT), bounds(2.0f64.powi(-10)));
            let (on_a, on_b) = (up(&device, &a[..]), up(&device, &b[..]));
            for allowed in [true, false, true] {
                let d = new_columns(&device, n, n);
                let (a, b) = (columns(&on_a, n, n), columns(&on_b, n, n));
                let d = device.blas_lt().matmul(Matmul::new().tf32(allowed), a, b, d).unwrap();
                let d = down(&device, d.await_result().unwrap().buffer());
                let off: Vec<f64> = d.iter().zip(&want).map(|(x, y)| (f64::from(*x) - f64::from(*y)).abs()).collect();
                let coarse = off.iter().zip(&single).any(|(off, bound)| off > bound);
                assert_eq!(coarse, allowed && !is_host(&device), "tf32 {allowed} on {device:?}");
                assert!(off.iter().zip(&tf32).all(|(off, bound)| off <= bound), "tf32 {allowed} on {device:?}");
            }
        });
    }
}

/// Sums of small whole numbers fit in the fewest bits that a tensor core adds with.
#[test]
fn fast_accumulation_of_whole_numbers_is_exact() {
    for device in devices() {
        seeds(2, |rng, _| {
            let n = 64;
            let mut whole = || (0..n * n).map(|_| rng.below(5) as f32 - 2.0).collect::<Vec<_>>();
            let (a, b) = (whole(), whole());
            let [on_a, on_b] =
                [&a, &b].map(|x| up(&device, x.iter().map(|x| F8E4M3::from_f32(*x)).collect::<Vec<_>>()));
            // A is transposed: its columns are the rows of the product.
            let want: Vec<f32> =
                (0..n * n).map(|at| (0..n).map(|p| a[p + at % n * n] * b[p + at / n * n]).sum()).collect();
            for allowed in [true, false] {
                let (spec, d) = (Matmul::new().fast_accumulation(allowed), new_columns::<f32>(&device, n, n));
                let (a, b) = (rows(&on_a, n, n), columns(&on_b, n, n));
                let d = device.blas_lt().matmul(spec, a, b, d).unwrap().await_result().unwrap();
                assert_eq!(down(&device, d.buffer()), want, "fast {allowed} on {device:?}");
            }
        });
    }
}
