//! Small matrices: one launch of a kernel of our own for a batch of any length, with the bits of the host engine.

use super::bench;
use crate::common::{Rng, Sample, down};
use windlass::solver::{Cholesky, Lu, SolverElement, Structure};
use windlass::{Device, Diag, Side, Tensor, Transpose, Uplo};

trait Real: SolverElement + Sample {
    fn bits(self) -> u64;
}

impl Real for f32 {
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl Real for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

fn bits<T: Real>(device: &Device, x: &Tensor<T>) -> Vec<u64> {
    down(device, x).into_iter().map(T::bits).collect()
}

/// Everything that is made of small matrices, as bits, and which of them is singular.
fn answers<T: Real>(device: &Device, (a, b): (&[T], &[T]), [count, m, n]: [usize; 3]) -> (Vec<Vec<u64>>, Vec<i32>) {
    let solver = device.solver();
    let a = device.tensor([count, m, n], a).unwrap();
    let b = device.tensor([count, m, 2], b).unwrap();
    let qr = solver.qr(&a).unwrap().await_result().unwrap();
    let mut all = vec![bits(device, qr.factors()), bits(device, qr.tau())];
    all.push(bits(device, &qr.q(&solver).unwrap().await_result().unwrap()));
    for trans in [Transpose::No, Transpose::Yes] {
        all.push(bits(device, &qr.apply(&solver, Side::Left, trans, &b).unwrap().await_result().unwrap()));
    }
    let ((factors, x, info), verdict) = solver.solve(Structure::General, &a, &b).unwrap().into_parts();
    drop(verdict.await_result());
    let infos = down(device, &info);
    all.extend([bits(device, &factors), bits(device, &x)]);
    if m == n {
        all.extend(square(device, &a, &b));
    }
    if m >= n {
        let (x, verdict) = qr.solve(&solver, &b).unwrap().into_parts();
        drop(verdict.await_result());
        all.push(bits(device, &x.0));
    }
    (all, infos)
}

/// What is made of square matrices alone, as bits: factors, pivots, solutions, inverses.
fn square<T: Real>(device: &Device, a: &Tensor<T>, b: &Tensor<T>) -> Vec<Vec<u64>> {
    let (solver, mut all) = (device.solver(), Vec::new());
    let ((factors, pivots, info), verdict) = solver.lu(a).unwrap().into_parts();
    drop(verdict.await_result());
    all.push(bits(device, &factors));
    all.push(down(device, &pivots).into_iter().map(|row| row as u64).collect());
    let lu = Lu::from_parts(factors, pivots, info);
    for trans in [Transpose::No, Transpose::Yes] {
        all.push(bits(device, &lu.solve(&solver, trans, b).unwrap().await_result().unwrap()));
    }
    for inverse in [solver.inverse(a), lu.inverse(&solver)] {
        let ((c, info), verdict) = inverse.unwrap().into_parts();
        drop(verdict.await_result());
        all.push(bits(device, &c));
        all.push(down(device, &info).into_iter().map(|info| info as u64).collect());
    }
    for uplo in [Uplo::Lower, Uplo::Upper] {
        let ((factor, info), verdict) = solver.cholesky(uplo, a).unwrap().into_parts();
        drop(verdict.await_result());
        all.push(bits(device, &factor));
        let l = Cholesky::from_parts(uplo, factor, info);
        all.push(bits(device, &l.solve(&solver, b).unwrap().await_result().unwrap()));
        let ((x, _, info), verdict) = solver.solve(Structure::PositiveDefinite(uplo), a, b).unwrap().into_parts();
        drop(verdict.await_result());
        all.push(bits(device, &x));
        all.push(down(device, &info).into_iter().map(|info| info as u64).collect());
        all.push(bits(device, &device.solve_triangular(uplo, a, b).unwrap().await_result().unwrap()));
        for diag in [Diag::Unit, Diag::NonUnit] {
            let ((c, _), verdict) = solver.trtri(uplo, diag, a).unwrap().into_parts();
            drop(verdict.await_result());
            all.push(bits(device, &c));
        }
        let ((c, _), verdict) = l.inverse(&solver).unwrap().into_parts();
        drop(verdict.await_result());
        all.push(bits(device, &c));
    }
    all
}

fn case<T: Real>(device: &Device, host: &Device, sizes: [usize; 3]) {
    let ([count, m, n], mut rng) = (sizes, Rng::new(7));
    let mut a: Vec<T> = (0..count * m * n).map(|_| T::sample(&mut rng)).collect();
    let b: Vec<T> = (0..count * m * 2).map(|_| T::sample(&mut rng)).collect();
    // The last of several has a NaN.
    if count > 1 {
        a[count * m * n - 1] = T::NAN;
    }
    let (there, here) = (answers(device, (&a, &b), sizes), answers(host, (&a, &b), sizes));
    assert_eq!(there, here, "{sizes:?} of {}", std::any::type_name::<T>());
    let want: Vec<i32> = (0..count).map(|k| i32::from(count > 1 && k + 1 == count)).collect();
    assert_eq!(there.1, want);
}

#[test]
fn the_bits_are_those_of_the_host_engine_and_the_library_is_not_called() {
    let (driver, device) = bench(1);
    let host = Device::host().unwrap();
    driver.log(true);
    for (count, m, n) in [(1, 1, 1), (3, 4, 4), (5, 3, 2), (2, 2, 5), (9, 8, 8), (4, 17, 9), (3, 9, 17), (2, 32, 32)] {
        case::<f32>(&device, &host, [count, m, n]);
        case::<f64>(&device, &host, [count, m, n]);
    }
    driver.log(false);
    assert_eq!(super::calls(&driver), Vec::<String>::new());
    drop((device, host));
    driver.assert_finished();
}
