//! Level 3: large matrices against the raw call, small ones by what their enqueue costs.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::random::Random;
use crate::raw::{Blas, Memory, NO_TIMING};
use cudarc::driver::sys::CUstream;
use std::ffi::c_void;
use windlass::blas::{Batch, Symm, Syrk, Triangular};
use windlass::{DeviceBuffer, Gemm, PendingDispatch, Side, Uplo, Wait};

/// Dispatches of a batch.
const BATCH: usize = 64;
/// Small products of a batch.
const COUNT: usize = 4096;

/// A routine: ours, and the raw call on A, B and C; `None` where the library has no such function.
struct Row<'a> {
    name: &'a str,
    /// What the raw calls run on.
    stream: CUstream,
    ours: &'a dyn Fn(DeviceBuffer<f32>) -> PendingDispatch<DeviceBuffer<f32>>,
    raw: &'a dyn Fn([*mut c_void; 3]) -> Option<i32>,
}

pub(crate) fn run(bench: &mut Bench) {
    for n in if bench.tiny { [16, 8] } else { [4096, 128] } {
        squares(bench, n);
    }
    batches(bench, if bench.tiny { 4 } else { 32 });
}

/// A matrix with a large diagonal, so that solving with it again and again neither grows nor vanishes.
fn matrix(n: usize, rows: usize) -> Vec<f32> {
    let mut random = Random(4);
    let of = |at: usize, x: f64| if at.is_multiple_of(rows + 1) { 1.0 } else { (x / (8 * n) as f64) as f32 };
    (0..n * rows).map(|at| of(at, random.unit())).collect()
}

fn squares(bench: &mut Bench, n: usize) {
    let (device, raw) = (bench.device.waiting(Wait::Spin), bench.raw);
    let stream = raw.stream();
    let (blas, front, data) = (Blas::new(&raw, stream), device.blas(), matrix(n, n));
    let up = || device.upload(&data[..]).unwrap().await_result().unwrap();
    let (a, b, size) = (up(), up(), n as i64);
    let (one, zero) = (1f32, 0f32);
    let (one, zero) = ((&raw const one).cast::<c_void>(), (&raw const zero).cast::<c_void>());
    let (left, lower) = (Side::Left, Uplo::Lower);
    let triangular = Triangular::new(left, lower, n, n);
    let (api, handle) = (&blas.api, blas.handle);
    // SAFETY (of the raw calls): three matrices of n x n elements; the scalars are read before the call returns.
    let rows = [
        Row {
            name: "symm",
            stream,
            ours: &|c| front.symm(Symm::new(left, lower, n, n), &a, &b, c).unwrap(),
            raw: &|[a, b, c]| {
                // SAFETY: as above.
                Some(unsafe { (api.ssymm?)(handle, 0, 0, size, size, one, a, size, b, size, zero, c, size) })
            },
        },
        Row {
            name: "syrk",
            stream,
            ours: &|c| front.syrk(Syrk::new(lower, n, n), &a, c).unwrap(),
            raw: &|[a, _, c]| {
                // SAFETY: as above.
                Some(unsafe { (api.ssyrk?)(handle, 0, 0, size, size, one, a, size, zero, c, size) })
            },
        },
        Row {
            name: "trmm",
            stream,
            ours: &|c| front.trmm_into(triangular, &a, &b, c, n).unwrap(),
            raw: &|[a, b, c]| {
                // SAFETY: as above.
                Some(unsafe { (api.strmm?)(handle, 0, 0, 0, 0, size, size, one, a, size, b, size, c, size) })
            },
        },
        Row {
            name: "trsm",
            stream,
            ours: &|c| front.trsm(triangular, &a, c).unwrap(),
            raw: &|[a, _, c]| {
                // SAFETY: as above.
                Some(unsafe { (api.strsm?)(handle, 0, 0, 0, 0, size, size, one, a, size, c, size) })
            },
        },
    ];
    rows.into_iter().for_each(|row| measure(bench, &format!("{} {n} f32", row.name), n < 1000, &data, &row));
}

fn batches(bench: &mut Bench, n: usize) {
    let count = if bench.tiny { 3 } else { COUNT };
    let (device, raw) = (bench.device.waiting(Wait::Spin), bench.raw);
    let stream = raw.stream();
    let (blas, front, data) = (Blas::new(&raw, stream), device.blas(), matrix(n * count, n));
    let up = || device.upload(&data[..]).unwrap().await_result().unwrap();
    let (a, b, size, stride) = (up(), up(), n as i64, (n * n) as i64);
    let (one, zero) = (1f32, 0f32);
    let (one, zero) = ((&raw const one).cast::<c_void>(), (&raw const zero).cast::<c_void>());
    let (api, handle, all) = (&blas.api, blas.handle, count as i64);
    let row = Row {
        name: "gemm_strided_batched",
        stream,
        ours: &|c| front.gemm_strided_batched(Gemm::new(n, n, n), Batch::new(count), &a, &b, c).unwrap(),
        raw: &|[a, b, c]| {
            // SAFETY: `count` matrices of n x n elements each; the scalars are read before the call returns.
            Some(unsafe {
                (api.gemm_strided?)(
                    handle, 0, 0, size, size, size, one, a, 0, size, stride, b, 0, size, stride, zero, c, 0, size,
                    stride, all, 68, -1,
                )
            })
        },
    };
    measure(bench, &format!("{} {n}^3 x {count} f32", row.name), false, &data, &row);
}

/// One row: the time of a call and its wait, or for small matrices of the enqueue alone.
fn measure(bench: &mut Bench, name: &str, enqueue: bool, data: &[f32], row: &Row<'_>) {
    if !bench.wants(name) {
        return;
    }
    let (device, raw) = (bench.device.waiting(Wait::Spin), bench.raw);
    let (stream, event) = (row.stream, raw.event(NO_TIMING));
    let memory = [(); 3].map(|()| raw.upload(bytemuck::cast_slice::<f32, u8>(data), stream));
    let addresses = || memory.each_ref().map(|memory: &Memory| memory.address as *mut c_void);
    raw.record(event, stream);
    raw.synchronize(event);
    match (row.raw)(addresses()) {
        Some(status) => assert_eq!(status, 0, "{name}: the raw call failed"),
        None => return, // an older library, or the stand-in
    }
    let mut c = Some(device.upload(data).unwrap().await_result().unwrap());
    let batch = if enqueue { BATCH } else { 1 };
    let mut ours = || {
        let mut last = None;
        let sample = timed(batch, || {
            let out = (1..batch).fold(c.take().unwrap(), |c, _| (row.ours)(c).into_output());
            let pending = (row.ours)(out);
            if enqueue { last = Some(pending) } else { c = Some(pending.await_result().unwrap()) }
        });
        if let Some(pending) = last {
            c = Some(pending.await_result().unwrap());
        }
        if enqueue { sample } else { sample / 1e3 }
    };
    let mut floor = || {
        let sample = timed(batch, || {
            for _ in 0..batch {
                let _ = (row.raw)(addresses());
                raw.record(event, stream);
            }
            if !enqueue {
                raw.synchronize(event);
            }
        });
        raw.settle();
        if enqueue { sample } else { sample / 1e3 }
    };
    if enqueue {
        let goal = Goal::Over(1000.0);
        bench.pair(&format!("{name}, enqueue, chained"), Unit::Ns, goal, 100, &mut ours, &mut floor);
    } else {
        let goal = Goal::TimesAtMost(1.01);
        bench.pair(&format!("{name}, one, spinning wait"), Unit::Us, goal, 40, &mut ours, &mut floor);
    }
}
