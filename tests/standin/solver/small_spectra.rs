//! Spectra of small matrices: one launch of a kernel of our own for a batch of any length, with the bits of the host engine. The kernel
//! runs by its text.

use super::bench;
use crate::common::{Rng, Sample, down};
use crate::standin::Mode;
use windlass::solver::{EighSpec, SolverElement, Vectors};
use windlass::{Device, Error, Tensor, Uplo};

trait Real: SolverElement<Real = Self> + Sample {
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

/// Everything that is made of matrices, as bits, and the infos.
fn answers<T: Real>(device: &Device, a: &[T], [count, m, n]: [usize; 3]) -> (Vec<Vec<u64>>, Vec<i32>) {
    let (solver, given) = (device.solver(), device.tensor([count, m, n], a).unwrap());
    let (mut all, mut infos) = (Vec::new(), Vec::new());
    for vectors in [Vectors::None, Vectors::Thin, Vectors::Full] {
        let ((_, s, u, vh, info), verdict) = solver.svd(vectors, &given).unwrap().into_parts();
        drop(verdict.await_result());
        all.push(bits(device, &s));
        all.extend(u.iter().chain(&vh).map(|x| bits(device, x)));
        infos.extend(down(device, &info));
    }
    if m == n {
        for spec in [EighSpec::new(Uplo::Lower), EighSpec::new(Uplo::Upper)] {
            let ((v, w, info), verdict) = solver.eigh(spec, &given).unwrap().into_parts();
            drop(verdict.await_result());
            all.extend([bits(device, &w), bits(device, &v)]);
            infos.extend(down(device, &info));
            let ((_, w, _), verdict) = solver.eigh(spec.values_only(), &given).unwrap().into_parts();
            drop(verdict.await_result());
            all.push(bits(device, &w));
        }
    }
    (all, infos)
}

#[test]
fn the_bits_are_those_of_the_host_engine_and_the_library_is_not_called() {
    fn case<T: Real>(device: &Device, host: &Device, sizes: [usize; 3]) {
        let ([count, m, n], mut rng) = (sizes, Rng::new(7));
        let mut a: Vec<T> = (0..count * m * n).map(|_| T::sample(&mut rng)).collect();
        // The last of several has a NaN.
        if count > 1 {
            a[count * m * n - 1] = T::NAN;
        }
        let (there, here) = (answers(device, &a, sizes), answers(host, &a, sizes));
        assert_eq!(there, here, "{sizes:?} of {}", std::any::type_name::<T>());
    }
    let (driver, device) = bench(1);
    let host = Device::host().unwrap();
    driver.log(true);
    for sizes in [[1, 1, 1], [3, 4, 4], [5, 3, 2], [2, 2, 5], [3, 9, 9], [2, 17, 9], [1, 16, 16]] {
        case::<f32>(&device, &host, sizes);
        case::<f64>(&device, &host, sizes);
    }
    driver.log(false);
    assert_eq!(super::calls(&driver), Vec::<String>::new());
    drop((device, host));
    driver.assert_finished();
}

/// Nothing has run when the call returns, also of a single matrix.
#[test]
fn small_spectra_are_enqueued_and_wait_for_nothing() {
    let (driver, device) = bench(1);
    let solver = device.solver();
    for count in [1, 3] {
        let mut a = vec![1.0f64; count * 4];
        a[count * 4 - 1] = f64::NAN;
        let given = device.tensor([count, 2, 2], a).unwrap();
        drop(solver.svd(Vectors::Thin, &given).unwrap().await_result());
        driver.mode(Mode::Manual);
        let svd = solver.svd(Vectors::Thin, &given).unwrap();
        let eigh = solver.eigh(EighSpec::new(Uplo::Lower), &given).unwrap();
        assert!(!svd.is_ready() && !eigh.is_ready() && driver.pending() > 0);
        driver.mode(Mode::Eager);
        driver.release();
        assert!(matches!(svd.await_result().unwrap_err().error, Error::NotConverged { count: 2, .. }));
        let rejected = eigh.await_result().unwrap_err();
        assert!(matches!(rejected.error, Error::NotConverged { count: 2, .. }));
        let (_, values, infos) = rejected.back.unwrap();
        let (values, infos) = (down(&device, &values), down(&device, &infos));
        assert_eq!((infos.len(), infos[count - 1]), (count, 2));
        assert!(values[..2 * count - 2].iter().all(|x| x.is_finite()) && values[2 * count - 1].is_nan());
        driver.mode(Mode::Auto);
    }
    drop((solver, device));
    driver.assert_finished();
}
