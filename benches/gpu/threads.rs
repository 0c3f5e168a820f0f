//! Small products from many threads at once. Each thread has buffers of its own and submits batches of dependent
//! products, then waits once; the raw side is as many threads with a stream, a handle and a workspace each.

use crate::harness::{Bench, Goal, Lap, Unit, lap, span};
use crate::random::Random;
use crate::raw::{Blas, Memory, NO_TIMING};
use cudarc::driver::sys::{CUevent, CUstream};
use windlass::{Gemm, Tensor};

/// Products between two waits.
const BATCH: usize = 64;
/// Batches of a lap.
const BATCHES: usize = 8;

struct State {
    n: usize,
    ours: (Tensor<f32>, Tensor<f32>, Option<Tensor<f32>>),
    blas: Blas,
    raw: [Memory; 3],
    stream: CUstream,
    event: CUevent,
    data: (Vec<f32>, Vec<f32>),
}

pub(crate) fn run(bench: &mut Bench) {
    let (sizes, crews): (&[usize], &[usize]) = if bench.tiny { (&[16], &[1, 4]) } else { (&[64, 128], &[1, 4, 16]) };
    for &n in sizes {
        for &threads in crews {
            products(bench, n, threads);
        }
    }
}

fn products(bench: &mut Bench, n: usize, threads: usize) {
    let name = format!("gemm {n}^3 f32, {threads} threads, batches of {BATCH}, in all");
    if !bench.wants(&name) {
        return;
    }
    let (device, raw) = (bench.device.clone(), bench.raw);
    let setup = |thread: usize| {
        let mut random = Random(thread as u64);
        let (a, b) = (random.floats(n * n), random.floats(n * n));
        let upload = |data: &[f32]| device.tensor([n, n], data).unwrap();
        let (stream, event) = (raw.stream(), raw.event(NO_TIMING));
        State {
            n,
            ours: (upload(&a), upload(&b), Some(device.zeros::<f32>([n, n]).unwrap())),
            blas: Blas::new(&raw, stream),
            raw: [raw.upload(&a, stream), raw.upload(&b, stream), Memory::new(&raw, n * n * 4, stream)],
            stream,
            event,
            data: (a, b),
        }
    };
    let ours = |state: &mut State| -> Lap {
        raw.leave();
        let blas = device.blas();
        let (a, b, c) = &mut state.ours;
        let lap = lap(|| {
            for _ in 0..BATCHES {
                let next = |c| blas.gemm(Gemm::new(), &*a, &*b, c).unwrap();
                let last = (1..BATCH).fold(c.take().unwrap(), |c, _| next(c).into_output());
                *c = Some(next(last).await_result().unwrap());
            }
        });
        raw.enter();
        lap
    };
    let floor = |state: &mut State| -> Lap {
        let [a, b, c] = &state.raw;
        lap(|| {
            for _ in 0..BATCHES {
                for _ in 0..BATCH {
                    state.blas.gemm(state.n, (0, 68), &1f32, &0f32, [a, b, c]);
                }
                raw.record(state.event, state.stream);
                raw.synchronize(state.event);
            }
        })
    };
    // One round of a last side proves that both computed the product.
    let check = |state: &mut State| -> Lap {
        let c: Vec<f32> = device.download(state.ours.2.as_ref().unwrap()).unwrap().await_result().unwrap();
        assert!(c == raw.download::<f32>(&state.raw[2]), "ours and the raw call differ");
        let (a, b) = &state.data;
        let (n, at) = (state.n, state.n + 3);
        let exact: f64 = (0..n).map(|l| f64::from(a[at % n + l * n]) * f64::from(b[l + at / n * n])).sum();
        assert!((f64::from(c[at]) - exact).abs() < 1e-4, "entry {at} is {}, not {exact}", c[at]);
        lap(|| ())
    };
    let rounds = 24;
    let laps = bench.crew(threads, rounds, setup, &[&ours, &floor]);
    let speed = |laps: &[Vec<Lap>]| -> Vec<f64> {
        laps.iter().map(|round| (threads * BATCHES * BATCH) as f64 / span(round).as_secs_f64()).collect()
    };
    bench.compare(&name, Unit::OpsPerSecond, Goal::TimesAtLeast(0.95), &speed(&laps[0]), &speed(&laps[1]));
    bench.crew(threads, 1, setup, &[&ours, &floor, &check]);
}
