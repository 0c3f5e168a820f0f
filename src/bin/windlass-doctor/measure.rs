//! A test with a known answer, and times as a program sees them: from the call to the end of the wait.

use std::error::Error;
use std::time::{Duration, Instant};
use windlass::tensor::Layout;
use windlass::{Device, Gemm, Result};

/// Rows and columns of the self-test's matrices.
const SIZE: usize = 64;

/// Up, a product of small integers (exact in every precision a GPU may choose), and down.
pub(crate) fn self_test(device: &Device) -> Result<(), Box<dyn Error>> {
    let value = |row: usize, column: usize| ((row * 3 + column * 5) % 7) as f32;
    let matrix: Vec<f32> = (0..SIZE * SIZE).map(|at| value(at % SIZE, at / SIZE)).collect();
    let product = square(device, &matrix)?;
    let right = |at: usize| (0..SIZE).map(|k| value(at % SIZE, k) * value(k, at / SIZE)).sum::<f32>();
    match product.iter().enumerate().find(|&(at, &c)| c != right(at)) {
        None if product.len() == SIZE * SIZE => Ok(()),
        None => Err(format!("{} of {} elements came back", product.len(), SIZE * SIZE).into()),
        Some((at, c)) => Err(format!("element ({}, {}) is {c} instead of {}", at % SIZE, at / SIZE, right(at)).into()),
    }
}

fn square(device: &Device, matrix: &[f32]) -> Result<Vec<f32>> {
    let square = Layout::columns(SIZE, SIZE);
    let (a, c) = (device.buffer(matrix)?.with_layout(square)?, device.uninit(SIZE * SIZE)?.with_layout(square)?);
    let c = device.blas().gemm(Gemm::new(), &a, &a, c)?.into_buffer();
    device.to_vec(&c)
}

/// The median of small dispatches, each awaited.
pub(crate) fn round_trip(device: &Device) -> Result<Duration> {
    let mut buffer = Some(device.zeros::<u32>(1)?);
    median(201, || {
        if let Some(one) = buffer.take() {
            buffer = Some(device.fill(one, 7)?.await_result()?);
        }
        Ok(())
    })
}

/// GB/s (10^9 bytes a second) to the device and back.
pub(crate) struct Rates {
    pub(crate) up: f64,
    pub(crate) down: f64,
}

/// From and to ordinary memory of the program, so with what staging costs.
pub(crate) fn copy_rates(device: &Device, bytes: usize, times: usize) -> Result<Rates> {
    let source = vec![0x5au8; bytes];
    let mut target = vec![0u8; bytes];
    let mut buffer = Some(device.zeros::<u8>(bytes)?.into_buffer());
    let up = median(times, || {
        if let Some(to) = buffer.take() {
            buffer = Some(device.upload_into(&source, to)?.await_result()?);
        }
        Ok(())
    })?;
    let down = median(times, || {
        if let Some(from) = &buffer {
            device.download(from)?.await_result_into(&mut target)?;
        }
        Ok(())
    })?;
    if target != source {
        return Err(windlass::Error::library(format!(
            "a copy of {bytes} bytes to the device and back changed the data"
        )));
    }
    let rate = |time: Duration| bytes as f64 * 1e-9 / time.as_secs_f64().max(1e-9);
    Ok(Rates { up: rate(up), down: rate(down) })
}

/// The median time of `act`, after one that is not counted.
fn median(times: usize, mut act: impl FnMut() -> Result<()>) -> Result<Duration> {
    act()?;
    let mut taken = Vec::with_capacity(times);
    for _ in 0..times.max(1) {
        let start = Instant::now();
        act()?;
        taken.push(start.elapsed());
    }
    taken.sort_unstable();
    Ok(taken.get(taken.len() / 2).copied().unwrap_or_default())
}
