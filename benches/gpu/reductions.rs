//! Reductions along axes, softmax and slices by number, beside the driver's copy: all are bound by memory.
//!
//! Both sides are in GB/s of the bytes that must move: each element read once, each result written once; of a copy twice its size.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::random::Random;
use crate::raw::{Memory, ok};
use windlass::reductions::{All, Axes};
use windlass::{Device, Tensor};

/// Calls between two waits.
const BATCH: usize = 8;
const COLUMNS: usize = 1024;

/// The last of a batch of calls is waited for.
macro_rules! batch {
    ($call:expr) => {{
        let mut last = None;
        for _ in 0..BATCH {
            last = Some($call.unwrap());
        }
        drop(last.unwrap().await_result().unwrap());
    }};
}

pub(crate) fn run(bench: &mut Bench) {
    let device = bench.device.clone();
    let sizes: &[(&str, usize)] =
        if bench.tiny { &[("4 KiB", 1)] } else { &[("16 MiB", 4 << 10), ("1 GiB", 256 << 10)] };
    for (text, rows) in sizes {
        let mut random = Random(7);
        // A row of random numbers for each of the rows: what the values are does not matter for the time.
        let some: Vec<f32> = (0..COLUMNS).map(|_| random.bits() as u32 as f32 / 4e9).collect();
        let row = device.tensor([COLUMNS], &some).unwrap();
        let x = device.contiguous(row.broadcast([*rows, COLUMNS]).unwrap()).unwrap().await_result().unwrap();
        for (axis, extra) in [("all", 1), ("inner axis", *rows), ("outer axis", COLUMNS)] {
            match axis {
                "all" => kinds(bench, &device, &x, All, &format!("{axis}, {text}"), extra),
                "inner axis" => kinds(bench, &device, &x, -1, &format!("{axis}, {text}"), extra),
                _ => kinds(bench, &device, &x, 0, &format!("{axis}, {text}"), extra),
            }
        }
        let bytes = 2 * 4 * rows * COLUMNS;
        row_of(bench, &format!("softmax of rows, {text}"), bytes, Goal::TimesAtLeast(0.6), || {
            batch!(device.softmax(&x, -1))
        });
        let numbers: Vec<i32> = (0..*rows).map(|_| (random.bits() % *rows as u64) as i32).collect();
        let numbers = device.tensor([*rows], &numbers).unwrap();
        let goal = Goal::TimesAtLeast(0.85);
        row_of(bench, &format!("take of rows, {text}"), bytes + 4 * rows, goal, || {
            batch!(device.take(&x, &numbers, 0))
        });
    }
}

/// The kinds along these axes, of which `results` come.
fn kinds(bench: &mut Bench, device: &Device, x: &Tensor<f32>, axes: impl Axes + Copy, text: &str, results: usize) {
    let bytes = 4 * (x.len() + results);
    let goal = || Goal::TimesAtLeast(0.85);
    row_of(bench, &format!("sum, {text}"), bytes, goal(), || batch!(device.sum(x, axes)));
    row_of(bench, &format!("max, {text}"), bytes, goal(), || batch!(device.max(x, axes)));
    row_of(bench, &format!("argmax, {text}"), bytes, goal(), || batch!(device.argmax(x, axes)));
    row_of(bench, &format!("var, {text}"), bytes, goal(), || batch!(device.var(x, axes, 0)));
    row_of(bench, &format!("logsumexp, {text}"), bytes, goal(), || batch!(device.logsumexp(x, axes)));
}

/// A row beside a copy of half as many bytes, which moves as many.
fn row_of(bench: &mut Bench, name: &str, bytes: usize, goal: Goal, mut ours: impl FnMut()) {
    if !bench.wants(name) {
        return;
    }
    let raw = bench.raw;
    let stream = raw.stream();
    let (from, to) = (Memory::new(&raw, bytes / 2, stream), Memory::new(&raw, bytes / 2, stream));
    raw.settle();
    let Some(copy) = raw.driver.memcpy_dtod_async else { return bench.skip(name, "no cuMemcpyDtoDAsync here") };
    let speed = |nanoseconds: f64| bytes as f64 / nanoseconds;
    let run = || speed(timed(BATCH, &mut ours));
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
