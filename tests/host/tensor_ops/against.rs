//! Random expressions against the loops, on every device under test.
//!
//! `WINDLASS_TEST_EINSUM=10000` sets how many; a failure prints its seed, with which `WINDLASS_TEST_SEED` begins.

use super::cases::{Case, Random, run};
use crate::common::devices;
use windlass::tensor_ops::Backend;
use windlass::{Complex, Device, Error, bf16, f16};

#[test]
fn random_expressions_equal_the_loops() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (devices, first) = (devices(), number("WINDLASS_TEST_SEED").unwrap_or(0));
    for seed in first..first + number("WINDLASS_TEST_EINSUM").unwrap_or(500) {
        run(&devices, seed);
    }
}

/// The library is there, or the device is no GPU.
fn has(device: &Device, backend: Backend) -> bool {
    let x = device.zeros::<f32>([1]).unwrap();
    let asked = device.tensor_ops().backend(backend).explain("i,i->", (&x, &x));
    !matches!(asked, Err(Error::LibraryMissing { .. }))
}

#[test]
fn every_backend_equals_the_loops() {
    for device in devices() {
        for backend in [Backend::OnePass, Backend::Products, Backend::CuTensor] {
            if !has(&device, backend) {
                continue;
            }
            let devices = [device.clone()];
            for seed in 0..150 {
                let random = &mut Random(seed ^ 0xbacc);
                let case = Case::random(random);
                match seed % 6 {
                    0 => case.run_by::<f64>(backend, &devices, random, seed),
                    1 => case.run_by::<f32>(backend, &devices, random, seed),
                    2 => case.run_by::<Complex<f64>>(backend, &devices, random, seed),
                    3 => case.run_by::<Complex<f32>>(backend, &devices, random, seed),
                    4 => case.run_by::<f16>(backend, &devices, random, seed),
                    _ => case.run_by::<bf16>(backend, &devices, random, seed),
                }
            }
        }
    }
}
