//! Items from a rayon iterator through the device, with a bounded window of work in flight and a progress bar.
//!
//! ```text
//! cargo run --release --example rayon_pipeline
//! ```
//!
//! Each item is a small matrix that is uploaded, multiplied and downloaded: three dispatches that follow each other on the
//! device. Nothing waits in `submit`; the pipeline takes the oldest item when its window is full.

use indicatif::ProgressBar;
use rayon::prelude::*;
use std::time::Instant;
use windlass::{Device, Error, Gemm, Result};

/// Rows and columns of the matrices.
const SIZE: usize = 96;
const ITEMS: usize = 2_000;

fn main() -> Result<()> {
    windlass::worker::init(); // for WINDLASS_DEVICE=cuda:isolated
    let device = Device::from_env()?;
    println!("{ITEMS} products of {SIZE} x {SIZE} on {} ({})", device.name(), device.info().name);
    let rotation = device.upload(rotation())?.into_output().share();
    for window in [16, 1, 4, 16] {
        let (start, bar) = (Instant::now(), ProgressBar::new(ITEMS as u64));
        let shown = bar.clone();
        let right = device
            .par_pipeline((0..ITEMS).into_par_iter().with_min_len(100), window, |device, item| {
                let a = device.upload(matrix(item))?.into_output();
                let c = device.uninit(SIZE * SIZE)?;
                let c = device.blas().gemm(Gemm::new(SIZE, SIZE, SIZE), &a, &rotation, c)?.into_output();
                device.download(&c) // `a` and `c` are dropped here: their memory goes back when the device is done
            })
            .on_progress(move |progress| shown.set_position(progress.done as u64))
            .collect::<Result<Vec<_>>>()?;
        bar.finish_and_clear();
        check(&right)?;
        println!("window {window:2}: {:>8.0} items/s, all right", ITEMS as f64 / start.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Item `item`, column-major; small integers, so that products are exact on every engine.
fn matrix(item: usize) -> Vec<f32> {
    (0..SIZE * SIZE).map(|at| ((item * 7 + at * 13) % 251) as f32).collect()
}

/// Twice the matrix that moves each column one place to the left.
fn rotation() -> Vec<f32> {
    (0..SIZE * SIZE).map(|at| if at % SIZE == (at / SIZE + 1) % SIZE { 2.0 } else { 0.0 }).collect()
}

/// Column `j` of each product is twice column `j + 1` of its item.
fn check(products: &[Vec<f32>]) -> Result<()> {
    for (item, product) in products.iter().enumerate() {
        let mut source = matrix(item);
        source.rotate_left(SIZE);
        if product.len() != source.len() || product.iter().zip(source).any(|(&p, s)| p != 2.0 * s) {
            return Err(Error::library(format!("item {item} came back wrong")));
        }
    }
    if products.len() == ITEMS { Ok(()) } else { Err(Error::library(format!("{} items came back", products.len()))) }
}
