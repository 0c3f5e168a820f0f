//! Formulas over tensors: how fast elements pass, beside the driver's copy, and what a call costs the caller.
//!
//! Rates are in GB/s of the bytes that must move: each element read once, each result written once; of a copy twice its size.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::raw::{Memory, NO_TIMING, ok};
use windlass::expressions::{Formula, Symbol, constant};
use windlass::{Device, Element, PendingDispatch, Tensor, bf16};

/// Calls between two waits.
const BATCH: usize = 8;
const COLUMNS: usize = 1024;
/// Calls of a batch whose submission alone is timed: few enough that no queue of the driver fills.
const CALLS: usize = 64;

fn last<T: Element>(count: usize, mut call: impl FnMut() -> windlass::Result<PendingDispatch<Tensor<T>>>) {
    let mut last = None;
    for _ in 0..count {
        last = Some(call().unwrap());
    }
    drop(last.unwrap().await_result().unwrap_or_else(|_| panic!("a result")));
}

/// Six operations at once.
fn chain((x, y): (Symbol<f32>, Symbol<f32>)) -> Symbol<f32> {
    ((x * y + 1.0) * x - y).max(0.5) * 0.25
}

/// The same, each with a pass of its own.
fn chain_apart(device: &Device, x: &Tensor<f32>, y: &Tensor<f32>) -> windlass::Result<PendingDispatch<Tensor<f32>>> {
    let a = device.map((x, y), |(x, y)| x * y)?.into_output();
    let a = device.map(&a, |a| a + 1.0)?.into_output();
    let a = device.map((&a, x), |(a, x)| a * x)?.into_output();
    let a = device.map((&a, y), |(a, y)| a - y)?.into_output();
    let a = device.map(&a, |a| a.max(0.5))?.into_output();
    device.map(&a, |a| a * 0.25)
}

/// A function, by its name.
type Named = (&'static str, fn(Symbol<f32>) -> Symbol<f32>);

/// Functions of one number, in `f32` and of halves.
const FUNCTIONS: [Named; 7] = [
    ("tanh", |x| x.tanh()),
    ("gelu", |x| x.gelu()),
    ("gelu_tanh", |x| x.gelu_tanh()),
    ("sigmoid", |x| x.sigmoid()),
    ("silu", |x| x.silu()),
    ("log", |x| x.log()),
    ("sin", |x| x.sin()),
];

pub(crate) fn run(bench: &mut Bench) {
    let device = bench.device.clone();
    let sizes: &[(&str, usize)] =
        if bench.tiny { &[("4 KiB", 1)] } else { &[("16 MiB", 4 << 10), ("1 GiB", 256 << 10)] };
    for (text, rows) in sizes {
        let row: Vec<f32> = (0..COLUMNS).map(|k| k as f32 / 999.0 + 0.1).collect();
        let row = device.tensor([COLUMNS], &row).unwrap();
        let whole = || device.contiguous(row.broadcast([*rows, COLUMNS]).unwrap()).unwrap().await_result().unwrap();
        let (x, y) = (whole(), whole());
        let array = 4 * rows * COLUMNS;
        let near = || Goal::TimesAtLeast(0.85);
        rate(bench, &format!("x + y, {text}"), 3 * array, near(), || device.map((&x, &y), |(x, y)| x + y));
        rate(bench, &format!("exp, {text}"), 2 * array, near(), || device.map(&x, |x| x.exp()));
        let half = device.map(&x, |x| x.cast::<bf16>()).unwrap().await_result().unwrap();
        for (function, f) in FUNCTIONS {
            rate(bench, &format!("{function}, {text}"), 2 * array, Goal::None, || device.map(&x, f));
            rate(bench, &format!("{function} of bf16, {text}"), array, Goal::None, || {
                device.map(&half, |x| f(x.cast::<f32>()).cast::<bf16>())
            });
        }
        rate(bench, &format!("f32 to f16, {text}"), array + array / 2, near(), || {
            device.map(&x, |x| x.cast::<windlass::f16>())
        });
        rate(bench, &format!("column plus row, {text}"), 2 * array, near(), || {
            device.map((&x, &row), |(x, row)| x + row)
        });
        rate(bench, &format!("transpose made contiguous, {text}"), 2 * array, Goal::TimesAtLeast(0.8), || {
            device.contiguous(x.transpose())
        });
        rate(bench, &format!("six operations in one, {text}"), 3 * array, near(), || device.map((&x, &y), chain));
        let name = format!("six operations, rate of one pass to six, {text}");
        if bench.wants(&name) {
            let speed = |nanoseconds: f64| 3.0 * array as f64 / nanoseconds;
            let one = || speed(timed(BATCH, || last(BATCH, || device.map((&x, &y), chain))));
            let six = || speed(timed(BATCH, || last(BATCH, || chain_apart(&device, &x, &y))));
            bench.pair(&name, Unit::GBs, Goal::TimesAtLeast(3.0), 10, one, six);
        }
    }
    submissions(bench, &device);
    first_uses(bench, &device);
}

/// A row beside a copy that moves as many bytes.
fn rate<T: Element>(
    bench: &mut Bench,
    name: &str,
    bytes: usize,
    goal: Goal,
    mut call: impl FnMut() -> windlass::Result<PendingDispatch<Tensor<T>>>,
) {
    if !bench.wants(name) {
        return;
    }
    let raw = bench.raw;
    let stream = raw.stream();
    let (from, to) = (Memory::new(&raw, bytes / 2, stream), Memory::new(&raw, bytes / 2, stream));
    raw.settle();
    let Some(copy) = raw.driver.memcpy_dtod_async else { return bench.skip(name, "no cuMemcpyDtoDAsync here") };
    let speed = |nanoseconds: f64| bytes as f64 / nanoseconds;
    let run = || speed(timed(BATCH, || last(BATCH, &mut call)));
    bench.pair(name, Unit::GBs, goal, 20, run, || {
        speed(timed(BATCH, || {
            for _ in 0..BATCH {
                // SAFETY: both are as long as the copy, and alive until it is over.
                ok(unsafe { copy(to.address, from.address, from.bytes, stream) });
            }
            raw.settle();
        }))
    });
}

/// Everything until the dispatch returns, of 256 elements, beside a raw launch and its event.
fn submissions(bench: &mut Bench, device: &Device) {
    let raw = bench.raw;
    let stream = raw.stream();
    let events: Vec<_> = (0..CALLS).map(|_| raw.event(NO_TIMING)).collect();
    let x = device.full([256], 1.5f32).unwrap();
    let kept = Formula::new(|x: Symbol<f32>| x * 2.0 + 1.0).unwrap();
    let launches = || {
        let sample = timed(CALLS, || {
            for event in &events {
                raw.launch_empty(stream);
                raw.record(*event, stream);
            }
        });
        raw.settle();
        sample
    };
    let timed_calls = |call: &dyn Fn(Tensor<f32>) -> Tensor<f32>| {
        let out = device.zeros::<f32>([256]).unwrap();
        device.synchronize(std::time::Duration::from_secs(60)).unwrap();
        let mut out = Some(out);
        timed(CALLS, || out = (0..CALLS).fold(out.take(), |out, _| out.map(call)))
    };
    let goal = Goal::Over(500.0);
    let into = |out: Tensor<f32>| device.apply_into(&kept, &x, out).unwrap_or_else(|_| panic!("taken")).into_output();
    bench.pair("submit a kept formula", Unit::Ns, goal, 300, || timed_calls(&into), launches);
    let closure = |out: Tensor<f32>| {
        device.map_into(&x, out, |x| x * 2.0 + 1.0).unwrap_or_else(|_| panic!("taken")).into_output()
    };
    bench.pair("submit a closure", Unit::Ns, Goal::None, 300, || timed_calls(&closure), launches);
}

/// From the call to the result, of a formula that no kernel was made for.
fn first_uses(bench: &mut Bench, device: &Device) {
    if !bench.wants("first use of a formula") {
        return;
    }
    let x = device.full([256], 1.5f32).unwrap();
    let mut next = 0u32;
    let mut samples: Vec<f64> = (0..12)
        .map(|_| {
            next += 1;
            let own = f32::from_bits(0x3f80_0000 + next);
            timed(1, || drop(device.map(&x, |x| (x * constant(own)).exp()).unwrap().await_result().unwrap()))
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    bench.floor_value("first use of a formula, median", Unit::Ns, samples[6]);
    bench.floor_value("first use of a formula, worst of 12", Unit::Ns, samples[11]);
}
