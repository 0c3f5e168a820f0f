//! Items of a rayon iterator through the device, with a bounded window of work in flight.
//! Each is a matrix, uploaded, multiplied and downloaded: three dispatches in a row, and no wait in the closure.

use rayon::prelude::*;
use std::time::Instant;
use windlass::{Device, Gemm, Result};

/// Rows and columns of the matrices.
const SIZE: usize = 96;
const ITEMS: usize = 2_000;

fn main() -> Result<()> {
    windlass::worker::init(); // for WINDLASS_DEVICE=cuda:isolated
    let device = Device::from_env()?;
    let twice_moved = (0..SIZE * SIZE).map(|at| if at % SIZE == (at / SIZE + 1) % SIZE { 2.0 } else { 0.0 });
    let twice_moved = device.tensor([SIZE, SIZE], twice_moved.collect::<Vec<f32>>())?.share();
    let begun = Instant::now();
    let products = device
        .par_pipeline((0..ITEMS).into_par_iter().with_min_len(100), 16, |device, item| {
            let a = device.tensor([SIZE, SIZE], matrix(item))?;
            let c = device.uninit([SIZE, SIZE])?;
            let c = device.blas().gemm(Gemm::new(), &twice_moved, &a, c)?;
            device.download(&c) // `a` and `c` are dropped here: their memory goes back when the device is done
        })
        .on_progress(|progress| {
            if progress.done % (ITEMS / 100) == 0 {
                eprint!("\r{} of {ITEMS} done", progress.done);
            }
        })
        .collect::<Result<Vec<_>>>()?;
    println!("\n{:.0} products a second on {}", ITEMS as f64 / begun.elapsed().as_secs_f64(), device.name());
    for (item, product) in products.iter().enumerate() {
        let mut expected: Vec<f32> = matrix(item).iter().map(|x| 2.0 * x).collect();
        expected.rotate_left(SIZE); // row i of the product is twice row i + 1 of the item
        assert!(*product == expected, "the product of item {item} is wrong");
    }
    Ok(())
}

/// Small integers, so that products are exact on every engine.
fn matrix(item: usize) -> Vec<f32> {
    (0..SIZE * SIZE).map(|at| ((item * 7 + at * 13) % 251) as f32).collect()
}
