//! Random numbers on the CPU, in numbers a second: to be set beside NumPy's `Generator(Philox)`, which has one thread.

use criterion::{Criterion, Throughput};
use std::time::Duration;
use windlass::rng::{Between, Bits, Distribution, Exponential, Normal, Poisson, Random, Uniform};
use windlass::{Device, bf16, f16};

/// Numbers of a draw.
const N: usize = 1 << 24;

pub(crate) fn numbers(criterion: &mut Criterion) {
    let device = Device::host().unwrap();
    row::<u32>(criterion, &device, "bits u32", Bits);
    row::<u64>(criterion, &device, "bits u64", Bits);
    row::<f32>(criterion, &device, "uniform f32", Uniform::below_one());
    row::<f64>(criterion, &device, "uniform f64", Uniform::below_one());
    row::<f16>(criterion, &device, "uniform f16", Uniform::below_one());
    row::<bf16>(criterion, &device, "uniform bf16", Uniform::below_one());
    row::<f32>(criterion, &device, "normal f32", Normal::standard());
    row::<f64>(criterion, &device, "normal f64", Normal::standard());
    row::<f32>(criterion, &device, "exponential f32", Exponential::new(1.0));
    row::<u32>(criterion, &device, "integers below 1000", Between::new(0u32..1000));
    row::<u32>(criterion, &device, "Poisson of mean 3", Poisson::new(3.0));
    row::<u32>(criterion, &device, "Poisson of mean 1000", Poisson::new(1000.0));
}

fn row<T: Random>(criterion: &mut Criterion, device: &Device, name: &str, of: impl Distribution<T>) {
    let mut group = criterion.benchmark_group("random numbers");
    group.throughput(Throughput::Elements(N as u64));
    group.sample_size(10).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    let mut rng = device.rng(42);
    let mut buffer = Some(device.zeros::<T>([N]).unwrap());
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            let x = buffer.take().unwrap();
            buffer = Some(rng.fill(of, x).unwrap().await_result().unwrap());
        });
    });
    group.finish();
}
