//! What the host engine costs: `cargo bench --bench host`.
//!
//! Targets: a round trip of a trivial operation at most 5 us; large products through a dispatch as fast as crate `gemm`
//! called directly, which is what the engine multiplies with, and 0.9 of OpenBLAS where it can be loaded (the rows are left
//! out, aloud, where not), small products in a batch 1.5 of a loop over it; vector and matrix-vector operations at 0.8 of
//! the bandwidth of plain loops.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

#[path = "gpu/random.rs"]
#[expect(dead_code, reason = "the GPU's benchmarks use more of it")]
mod random;

#[path = "host/bandwidth.rs"]
mod bandwidth;
#[path = "host/level3.rs"]
mod level3;
#[path = "host/openblas.rs"]
#[expect(dead_code, reason = "the comparison uses more of it")]
mod openblas;
#[path = "host/rng.rs"]
mod rng;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use random::Random;
use std::hint::black_box;
use std::time::Duration;
use windlass::blas::GemmElement;
use windlass::tensor::Layout;
use windlass::{
    Device, DeviceBuffer, Gemm, Result, await_all,
    op::{Op, Slices, SlicesMut, Spans},
};

/// Adds 1 to the first element.
struct AddOne;

impl Op for AddOne {
    const NAME: &'static str = "add_one";
    type Reads = ();
    type Output = DeviceBuffer<f32>;
    type Raw = ();

    fn check(&self, _: &Spans<()>, _: &Spans<(f32,)>) -> Result<()> {
        Ok(())
    }
    fn host(&self, (): Slices<'_, Self>, (x,): SlicesMut<'_, Self>) -> Result<()> {
        x.iter_mut().take(1).for_each(|x| *x += 1.0);
        Ok(())
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

fn trivial(criterion: &mut Criterion) {
    let device = Device::host().unwrap();
    let mut group = criterion.benchmark_group("trivial op");
    let mut buffer = Some(device.zeros::<f32>(1).unwrap().into_buffer());
    group.bench_function("round trip", |bencher| {
        bencher.iter(|| {
            let x = buffer.take().unwrap();
            buffer = Some(device.dispatch(AddOne, (), (x,)).unwrap().await_result().unwrap());
        });
    });
    const CHAIN: usize = 1000;
    group.throughput(Throughput::Elements(CHAIN as u64));
    group.bench_function("chain of 1000, then one wait", |bencher| {
        bencher.iter_batched(
            || device.upload(vec![0f32]).unwrap().into_output(),
            |x| {
                let next = |x| device.dispatch(AddOne, (), (x,)).unwrap();
                let x = next((1..CHAIN).fold(x, |x, _| next(x).into_output())).await_result().unwrap();
                assert_eq!(device.download(&x).unwrap().await_result().unwrap(), [CHAIN as f32]);
            },
            BatchSize::SmallInput,
        );
    });
    let mut buffers: Vec<_> = (0..CHAIN).map(|_| device.zeros::<f32>(1).unwrap().into_buffer()).collect();
    group.bench_function("1000 unrelated, then a wait for each", |bencher| {
        bencher.iter(|| {
            let pendings: Vec<_> = buffers.drain(..).map(|x| device.dispatch(AddOne, (), (x,)).unwrap()).collect();
            buffers.extend(await_all(pendings).into_iter().map(|answer| answer.unwrap()));
        });
    });
    group.finish();
    let mut group = criterion.benchmark_group("memory");
    group.bench_function("alloc + free of 4 KiB", |bencher| {
        bencher.iter(|| drop(black_box(device.uninit::<u8>(4096).unwrap())));
    });
    group.finish();
}

fn products(criterion: &mut Criterion) {
    product::<f32>(criterion, "f32", 64, |v| v as f32, 1.0);
    product::<f32>(criterion, "f32", 2048, |v| v as f32, 1.0);
    product::<f64>(criterion, "f64", 2048, |v| v, 1.0);
}

fn product<T>(criterion: &mut Criterion, text: &str, n: usize, of: fn(f64) -> T, one: T)
where
    T: GemmElement<Out = T> + Default + PartialEq + Into<f64>,
{
    let device = Device::host().unwrap();
    let mut random = Random(1);
    let mut matrix = || -> Vec<T> { (0..n * n).map(|_| of(random.unit())).collect() };
    let (a, b) = (matrix(), matrix());
    let mut direct = vec![T::default(); n * n];
    let threads = if n < 128 { gemm::Parallelism::None } else { gemm::Parallelism::Rayon(0) };
    let square = Layout::columns(n, n);
    let upload = |data: &[T]| device.buffer(data).unwrap().with_layout(square).unwrap();
    let (ours_a, ours_b) = (upload(&a), upload(&b));
    let mut ours = Some(device.zeros::<T>(n * n).unwrap().with_layout(square).unwrap());

    let mut group = criterion.benchmark_group(format!("gemm {n}^3 {text}"));
    group.throughput(Throughput::Elements(2 * (n as u64).pow(3)));
    if n >= 1024 {
        group.sample_size(10).measurement_time(Duration::from_secs(3));
    }
    group.bench_function("dispatch", |bencher| {
        bencher.iter(|| {
            let c = ours.take().unwrap();
            ours = Some(device.blas().gemm(Gemm::new(), &ours_a, &ours_b, c).unwrap().await_result().unwrap());
        });
    });
    group.bench_function("crate gemm", |bencher| {
        bencher.iter(|| {
            let (c, a, b) = (direct.as_mut_ptr(), a.as_ptr(), b.as_ptr());
            let (ld, zero) = (n as isize, T::default());
            // SAFETY: three column-major matrices of n x n elements; C is not read.
            unsafe {
                gemm::gemm(n, n, n, c, ld, 1, false, a, ld, 1, b, ld, 1, zero, one, false, false, false, threads)
            };
        });
    });
    group.finish();
    // Either may have been left out by the command line.
    if direct.iter().any(|c| *c != T::default()) {
        let blas = device.blas();
        let c = blas.gemm(Gemm::new(), &ours_a, &ours_b, ours.unwrap()).unwrap().await_result().unwrap();
        let c = device.to_vec(c.buffer()).unwrap();
        // The same kernels, cut up over the threads in another way.
        let close = |(a, b): (&T, &T)| ((*a).into() - (*b).into()).abs() < 1e-3;
        assert!(c.iter().zip(&direct).take(n).all(close), "the dispatch and crate gemm differ");
    }
}

criterion_group!(benches, trivial, products, level3::level3, bandwidth::bandwidth, rng::numbers);
criterion_main!(benches);
