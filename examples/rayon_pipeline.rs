//! Items from a rayon iterator through the device, with a bounded window of work in flight.
//!
//! ```text
//! cargo run --release --example rayon_pipeline
//! ```
//!
//! Each item is a small matrix that is uploaded, multiplied and downloaded. A worker that waited for each item before
//! it began the next would leave the device idle in between; one that submitted all of them would hold all of their
//! memory. So each keeps a window of a few in flight, and takes the oldest when the window is full.

use rayon::prelude::*;
use std::collections::VecDeque;
use std::error::Error;
use std::time::Instant;
use windlass::{Device, Gemm, GpuRef, PendingDispatch, Result};

/// Rows and columns of the matrices.
const SIZE: usize = 96;
const ITEMS: usize = 2_000;
/// The least that rayon gives to one worker in one piece: windows fill and drain once a piece.
const PIECE: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::from_env()?;
    println!("device    {} ({})", device.name(), device.info().name);
    println!("items     {ITEMS} products of {SIZE} x {SIZE} from {} workers", rayon::current_num_threads());
    let rotation = device.upload(rotation())?.into_output().share();
    run(&device, &rotation, 16)?; // warm: threads, library handles, memory
    for window in [1, 4, 16] {
        let start = Instant::now();
        let items = run(&device, &rotation, window)?;
        let seconds = start.elapsed().as_secs_f64();
        let gflops = (2 * items * SIZE * SIZE * SIZE) as f64 * 1e-9 / seconds;
        println!("window {window:2} {:>8.0} items/s {gflops:>8.1} GFLOP/s, all right", items as f64 / seconds);
    }
    Ok(())
}

/// All items through one window size; how many came out right, which is all or an error.
fn run(device: &Device, rotation: &GpuRef<f32>, window: usize) -> Result<usize, Box<dyn Error>> {
    let checked = (0..ITEMS)
        .into_par_iter()
        .with_min_len(PIECE)
        .try_fold(
            || Window::new(window),
            |mut in_flight, item| -> Result<_> {
                let pending = submit(device, rotation, item)?;
                if let Some((item, oldest)) = in_flight.push(item, pending) {
                    in_flight.right += check(item, &oldest.await_result()?)?;
                }
                Ok(in_flight)
            },
        )
        .map(|in_flight| in_flight?.finish())
        .try_reduce(|| 0, |a, b| Ok(a + b))?;
    if checked == ITEMS { Ok(checked) } else { Err(format!("{checked} of {ITEMS} items came back").into()) }
}

/// Upload, product, download: three dispatches that follow each other on the device. Nothing waits here.
fn submit(device: &Device, rotation: &GpuRef<f32>, item: usize) -> Result<PendingDispatch<Vec<f32>>> {
    let a = device.upload(matrix(item))?.into_output();
    let c = device.uninit(SIZE * SIZE)?;
    let c = device.blas().gemm(Gemm::new(SIZE, SIZE, SIZE), &a, rotation, c)?.into_output();
    device.download(&c) // `a` and `c` are dropped here: their memory goes back when the device is done with it
}

/// One worker's work in flight, oldest first.
struct Window {
    limit: usize,
    pending: VecDeque<(usize, PendingDispatch<Vec<f32>>)>,
    right: usize,
}

impl Window {
    fn new(limit: usize) -> Self {
        Window { limit, pending: VecDeque::with_capacity(limit), right: 0 }
    }

    /// Adds one; gives the oldest when there are more than `limit - 1` left to wait for.
    fn push(&mut self, item: usize, work: PendingDispatch<Vec<f32>>) -> Option<(usize, PendingDispatch<Vec<f32>>)> {
        self.pending.push_back((item, work));
        if self.pending.len() < self.limit { None } else { self.pending.pop_front() }
    }

    /// Waits for the rest.
    fn finish(self) -> Result<usize> {
        self.pending
            .into_iter()
            .try_fold(self.right, |right, (item, work)| Ok(right + check(item, &work.await_result()?)?))
    }
}

/// Item `item`, column-major; small integers, so that products are exact on every engine.
fn matrix(item: usize) -> Vec<f32> {
    (0..SIZE * SIZE).map(|at| element(item, at)).collect()
}

fn element(item: usize, at: usize) -> f32 {
    ((item * 7 + at * 13) % 251) as f32
}

/// Twice the matrix that moves each column one place to the left.
fn rotation() -> Vec<f32> {
    let one = |at: usize| (at % SIZE == (at / SIZE + 1) % SIZE).then_some(2.0);
    (0..SIZE * SIZE).map(|at| one(at).unwrap_or(0.0)).collect()
}

/// 1 when `product` is right: column `j` is twice column `j + 1` of the item.
fn check(item: usize, product: &[f32]) -> Result<usize> {
    let source = |at: usize| (at + SIZE) % (SIZE * SIZE);
    let wrong = product.iter().enumerate().find(|&(at, &value)| value != 2.0 * element(item, source(at)));
    match wrong {
        None if product.len() == SIZE * SIZE => Ok(1),
        None => Err(windlass::Error::library(format!("item {item} has {} elements", product.len()))),
        Some((at, value)) => Err(windlass::Error::library(format!("item {item} has {value} at {at}"))),
    }
}
