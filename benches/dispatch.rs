//! What a dispatch costs on its way to the driver, on the stand-in driver: no GPU is needed.
//!
//! ```text
//! cargo bench --bench dispatch                        all rows: nanoseconds a call, the stand-in's own share included
//! cargo bench --bench dispatch -- "16 arguments" 4096 one row, so many calls
//! cargo bench --bench dispatch -- "wait of"           how late waits end, and their processor time
//! ```
//!
//! The stand-in simulates a device, which costs more than the call of it, so nanoseconds tell little. Instructions do,
//! counted without those below a call of the driver: run the one-row form of the built benchmark under
//! `valgrind --tool=callgrind --toggle-collect='*measured*'`, and take from the total what the calls into
//! `libcuda.so.1` and `libcublasLt.so` cost.
#![allow(missing_docs, reason = "a benchmark")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a benchmark")]

#[allow(dead_code, reason = "the benchmark on a GPU needs more of them")]
#[path = "gpu/ops.rs"]
mod ops;
#[path = "../tests/standin/driver/mod.rs"]
mod standin;
#[path = "dispatch/tensors.rs"]
mod tensors;
#[path = "dispatch/waits.rs"]
mod waits;

use ops::{EmptyOn, EmptyOnThree};
use std::hint::black_box;
use std::time::{Duration, Instant};
use windlass::dnn::{Affine, Convolution, NormKind};
use windlass::expressions::{Formula, Symbol};
use windlass::nvrtc::{DevicePtr, LaunchConfig, Len, Plain, Read, Write};
use windlass::reductions::All;
use windlass::{Device, DeviceBuffer, Element, Matmul, PendingDispatch, Tensor, nvrtc::Image};

/// The operations between two waits: few enough that no queue fills.
const BATCH: usize = 64;
/// Of a wait that has one.
const LIMIT: Duration = Duration::from_secs(60);

/// The parameters of `sixteen`.
type Sixteen = (
    Read<f32>,
    Read<f64>,
    Read<i32>,
    Read<u8>,
    Read<u64>,
    Read<i16>,
    Write<f64>,
    Write<u32>,
    f32,
    f64,
    i8,
    u16,
    i64,
    Plain<[u32; 3]>,
    usize,
    DevicePtr,
);

/// Runs a row's batch. A frame of its own, by which a profiler finds it.
#[inline(never)]
fn measured<T>(batch: impl FnOnce() -> T) -> T {
    black_box(batch())
}

/// One row: how long a batch took, in nanoseconds, and what it left in flight waited for.
type Row<'d> = (&'static str, Box<dyn FnMut() -> u128 + 'd>);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let driver = standin::driver();
    driver.with_cudnn();
    driver.mode(standin::Mode::Eager);
    driver.set_total_memory(1 << 30); // the libraries' workspaces are a part of it
    let device = Device::builder().cuda(0).slots(1).open().unwrap();
    let (only, calls) = (arguments.first(), arguments.get(1).map_or(4096, |n| n.parse().unwrap()));
    let of_libraries = tensors::rows(&device, only.map(String::as_str));
    for (name, mut row) in rows(&device).into_iter().chain(of_libraries) {
        if only.is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let turns = (calls / BATCH).max(1);
        let mut samples: Vec<u128> = (0..turns).map(|_| row()).collect();
        samples.sort_unstable();
        println!("{name:52} {:6} ns", samples[samples.len() / 2] / BATCH as u128);
    }
    driver.mode(standin::Mode::Auto);
    waits::run(driver, only.map(String::as_str));
}

fn rows(device: &Device) -> Vec<Row<'_>> {
    let one = LaunchConfig::new(1, 1);
    let module = device.nvrtc().load(&Image::ptx(include_str!("../tests/nvrtc/launch/kernels.ptx")).unwrap()).unwrap();

    // SAFETY: the kernel's parameters; it stays below the length.
    let two = unsafe { module.kernel("add_one_f32").unwrap().typed::<(Write<f32>, Len)>() }.unwrap();
    let two = chained(zeros::<f32>(device), move |x| two.launch(one, (x, Len)).unwrap());

    // SAFETY: the kernel's parameters; it stays below the count.
    let sixteen = unsafe { module.kernel("sixteen").unwrap().typed::<Sixteen>() }.unwrap();
    let (a, b, c) = (zeros::<f32>(device), zeros::<f64>(device), zeros::<i32>(device));
    let (d, e, f) = (zeros::<u8>(device), zeros::<u64>(device), zeros::<i16>(device));
    let sixteen = chained((zeros::<f64>(device), zeros::<u32>(device)), move |(g, h)| {
        let values = ([0u32; 3], 1usize, DevicePtr(0));
        sixteen
            .launch(one, (&a, &b, &c, &d, &e, &f, g, h, 1f32, 2f64, 3i8, 4u16, 5i64, values.0, values.1, values.2))
            .unwrap()
    });

    let plain = chained(zeros::<f32>(device), |x| device.fill(x, 1.0).unwrap().into());
    let mut kept = Some(zeros::<f32>(device));
    let waited: Box<dyn FnMut() -> u128> = Box::new(move || {
        let mut x = kept.take();
        let start = Instant::now();
        let wait = |x| device.fill(x, 1.0).unwrap().await_timeout(LIMIT).ok().unwrap().unwrap();
        measured(|| x = Some((0..BATCH).fold(x.take().unwrap(), |x, _| wait(x).into_buffer())));
        kept = x;
        start.elapsed().as_nanos()
    });
    let on_one = chained(zeros::<f32>(device), |x| device.dispatch(EmptyOn, (), (x,)).unwrap());
    let (one_read, other_read) = (zeros::<f32>(device), zeros::<f32>(device));
    let on_three = chained(zeros::<f32>(device), move |x| {
        device.dispatch(EmptyOnThree, (one_read.as_in(), other_read.as_in()), (x,)).unwrap()
    });
    let (read, spare) = (zeros::<f32>(device), device);
    let copy = chained(zeros::<f32>(device), move |x| spare.copy(&read, x).unwrap().into());

    let [a, b, c] = [(); 3].map(|()| device.zeros::<f32>([1, 1]).unwrap());
    let matmul = chained(c, move |c| device.blas_lt().matmul(Matmul::new(), &a, &b, c).unwrap());

    let convolution = convolved(device);
    let formula = mapped(device);
    let (sum, norm) = (summed(device), normalised(device));
    let [few, many] = [2, 20].map(|steps| replayed(device, steps));
    let memory: Box<dyn FnMut() -> u128> = Box::new(move || {
        let start = Instant::now();
        measured(|| (0..BATCH).for_each(|_| drop(black_box(device.uninit::<u8>(4096).unwrap()))));
        start.elapsed().as_nanos()
    });
    vec![
        ("fill of one buffer, chained", plain),
        ("fill of one buffer, and a wait with a limit", waited),
        ("empty kernel on one buffer, chained", on_one),
        ("empty kernel, reads two buffers, writes one, chained", on_three),
        ("copy from a buffer to another, chained", copy),
        ("launch with 2 arguments, chained", two),
        ("launch with 16 arguments, chained", sixteen),
        ("matmul with a known way, chained", matmul),
        ("convolution with a known plan, chained", convolution),
        ("map by a kept formula, chained", formula),
        ("whole sum of a tensor, with its result's memory", sum),
        ("layer norm of rows, with its results' memory", norm),
        ("replay of 2 steps as a graph, chained", few),
        ("replay of 20 steps as a graph, chained", many),
        ("alloc + free of 4 KiB", memory),
    ]
}

fn zeros<T: Element>(device: &Device) -> DeviceBuffer<T> {
    device.zeros(1).unwrap().into_buffer()
}

/// A kept formula of one tensor, written into another one.
fn mapped(device: &Device) -> Box<dyn FnMut() -> u128> {
    let formula = Formula::new(|x: Symbol<f32>| x * 2.0 + 1.0).unwrap();
    let (x, device) = (device.zeros::<f32>([256]).unwrap(), device.clone());
    let mut kept = Some(device.zeros::<f32>([256]).unwrap());
    // The kernel is there: a call that had to wait for it would be late, and all that follow it.
    device.prepare(&formula, &x).unwrap().await_result().unwrap();
    device.synchronize(LIMIT).unwrap();
    Box::new(move || {
        let start = Instant::now();
        let next = |out: Tensor<f32>| device.apply_into(&formula, &x, out).unwrap().into_output();
        measured(|| kept = (0..BATCH).fold(kept.take(), |out, _| out.map(next)));
        start.elapsed().as_nanos()
    })
}

/// A convolution into a tensor, by a library that computes nothing.
fn convolved(device: &Device) -> Box<dyn FnMut() -> u128> {
    let (x, w) = (device.zeros::<f32>([1, 8, 8, 8]).unwrap(), device.zeros::<f32>([8, 8, 3, 3]).unwrap());
    let (conv, dnn) = (Convolution::new().padding(1), device.dnn());
    let mut kept = Some(dnn.convolve(&conv, &x, &w).unwrap().await_result().unwrap());
    Box::new(move || {
        let start = Instant::now();
        let next = |y: Tensor<f32>| dnn.convolve_into(&conv, &x, &w, y).unwrap().into_output();
        measured(|| kept = (0..BATCH).fold(kept.take(), |y, _| y.map(next)));
        start.elapsed().as_nanos()
    })
}

/// Sums of one tensor, each into memory of its own.
fn summed(device: &Device) -> Box<dyn FnMut() -> u128> {
    let (x, device) = (device.zeros::<f32>([16, 16]).unwrap(), device.clone());
    // The kernel is there: a call that had to wait for it would be late, and all that follow it.
    device.sum(&x, All).unwrap().await_result().unwrap();
    Box::new(move || {
        let start = Instant::now();
        measured(|| (0..BATCH).for_each(|_| drop(device.sum(&x, All).unwrap().into_output())));
        let time = start.elapsed().as_nanos();
        device.synchronize(LIMIT).unwrap();
        time
    })
}

/// Normalisations of one tensor, each into memory of its own.
fn normalised(device: &Device) -> Box<dyn FnMut() -> u128> {
    let (x, w) = (device.zeros::<f32>([16, 256]).unwrap(), device.zeros::<f32>([256]).unwrap());
    let (device, dnn) = (device.clone(), device.dnn());
    let norm = move || dnn.norm(&x, NormKind::Layer(1), 1e-5, &Affine::weight(&w)).unwrap();
    // The kernel is there: a call that had to wait for it would be late, and all that follow it.
    norm().await_result().unwrap();
    Box::new(move || {
        let start = Instant::now();
        measured(|| (0..BATCH).for_each(|_| drop(norm().into_output())));
        let time = start.elapsed().as_nanos();
        device.synchronize(LIMIT).unwrap();
        time
    })
}

/// Replays of a program of so many empty kernels on one buffer.
fn replayed(device: &Device, steps: usize) -> Box<dyn FnMut() -> u128> {
    let recorded = device.record(|r| {
        let x = r.operand::<f32>(1)?.into_buffer();
        (0..steps).try_fold(x, |x, _| Ok(r.dispatch(EmptyOn, (), (x,))?.into_output()))
    });
    let (program, _) = recorded.unwrap();
    program.capture_graphs();
    let mut kept = Some(zeros::<f32>(device));
    for _ in 0..3 {
        kept = kept.map(|x| program.replay((), (x,)).unwrap().into_operands().unwrap().0.into_buffer());
    }
    assert!(program.stats().graph_launches > 0, "no graph was made");
    Box::new(move || {
        let next = |x: DeviceBuffer<f32>| program.replay((), (x,)).unwrap().into_operands().unwrap().0;
        let mut x = kept.take();
        let start = Instant::now();
        measured(|| x = Some((0..BATCH).fold(x.take().unwrap(), |x, _| next(x).into_buffer())));
        let time = start.elapsed().as_nanos();
        kept = Some(program.replay((), (x.unwrap(),)).unwrap().await_result().unwrap().operands.0.into_buffer());
        time
    })
}

/// Each call follows the one before it on the same buffers.
fn chained<'d, T>(first: T, mut next: impl FnMut(T) -> PendingDispatch<T> + 'd) -> Box<dyn FnMut() -> u128 + 'd>
where
    T: windlass::op::Immediate + 'd,
{
    // What only the first calls do, such as loading a kernel, is not counted.
    let mut kept = Some((0..4).fold(first, |x, _| next(x).into_output()));
    Box::new(move || {
        let mut x = kept.take();
        let start = Instant::now();
        measured(|| x = Some((0..BATCH).fold(x.take().unwrap(), |x, _| next(x).into_output())));
        let time = start.elapsed().as_nanos();
        kept = Some(next(x.unwrap()).await_result().unwrap());
        time
    })
}
