//! A random program of one thread, and what it must compute.

use std::sync::Arc;

use windlass::{Device, DeviceBuffer, Gemm, GpuRef, In, PendingDispatch, Verdict};

use crate::common::{Rng, columns, down, into_columns};

/// Elements of a buffer: a square matrix.
const LEN: usize = EDGE * EDGE;
const EDGE: usize = 4;
/// Values are whole and stay below this, so every sum is exact in any order.
const LARGE: f64 = 1e12;

/// A buffer with what it must hold.
pub(crate) struct Cell {
    buffer: Option<DeviceBuffer<f64>>,
    model: Vec<f64>,
}

/// The same, to be read by every thread.
#[derive(Clone)]
pub(crate) struct Shared {
    buffer: GpuRef<f64>,
    model: Arc<Vec<f64>>,
}

/// A download in flight, with what it must bring.
type Snapshot = (PendingDispatch<Vec<f64>, Verdict>, Vec<f64>);

impl Cell {
    pub(crate) fn random(device: &Device, rng: &mut Rng) -> Self {
        let model: Vec<f64> = (0..LEN).map(|_| rng.below(9) as f64 - 4.0).collect();
        Cell { buffer: Some(device.upload(&model).unwrap().into_output()), model }
    }

    pub(crate) fn share(self) -> Shared {
        Shared { buffer: self.buffer.unwrap().share(), model: Arc::new(self.model) }
    }

    pub(crate) fn check(self, device: &Device) {
        assert_eq!(down(device, self.buffer.as_ref().unwrap()), self.model);
    }

    fn is_large(&self) -> bool {
        self.model.iter().any(|value| value.abs() >= LARGE)
    }

    /// Replaces the buffer by what comes of it.
    fn update(&mut self, f: impl FnOnce(DeviceBuffer<f64>) -> DeviceBuffer<f64>) {
        let buffer = self.buffer.take().unwrap();
        self.buffer = Some(f(buffer));
    }
}

impl Shared {
    pub(crate) fn unshare(self) -> Cell {
        let model = self.model.to_vec();
        let buffer = self.buffer.try_unique().expect("the last handle");
        Cell { buffer: Some(buffer), model }
    }
}

/// Something to read that is not cell `not`: another cell of this thread, or a shared buffer.
fn source<'a>(rng: &mut Rng, own: &'a [Cell], not: usize, shared: &'a [Shared]) -> (In<'a, f64>, &'a [f64]) {
    let index = rng.below(own.len() + shared.len());
    match own.get(index) {
        Some(cell) if index != not => (cell.buffer.as_ref().unwrap().as_in(), &cell.model),
        _ => {
            let shared = &shared[index % shared.len()];
            (shared.buffer.as_in(), &shared.model)
        }
    }
}

/// Performs `steps` random operations on a thread's own buffers; `shared` are read.
pub(crate) fn phase(device: &Device, rng: &mut Rng, own: &mut [Cell], shared: &[Shared], steps: usize) {
    let mut snapshots: Vec<Snapshot> = Vec::new();
    for _ in 0..steps {
        let index = rng.below(own.len());
        let mut cell = std::mem::replace(&mut own[index], Cell { buffer: None, model: Vec::new() });
        if cell.is_large() {
            fill(device, &mut cell, 1.0);
        }
        let (input, values) = source(rng, own, index, shared);
        match rng.below(9) {
            0 => fill(device, &mut cell, rng.below(5) as f64),
            1 | 2 => add(device, &mut cell, input, values, rng.below(5) as f64 - 2.0),
            3 => {
                cell.update(|target| device.copy(input, target).unwrap().into_buffer());
                cell.model.copy_from_slice(values);
            }
            4 => {
                let (other, theirs) = source(rng, own, index, shared);
                multiply(device, &mut cell, (input, values), (other, theirs));
            }
            5 => add_through_a_temporary(device, &mut cell, input, values),
            6 => add_to_parts(device, rng, &mut cell, input, values),
            7 => {
                let sum: f64 = values.iter().zip(&cell.model).map(|(x, y)| x * y).sum();
                let dot = device.blas().dot(input, cell.buffer.as_ref().unwrap()).unwrap();
                match rng.below(3) {
                    0 => drop(dot),
                    _ if sum.abs() < 1e15 => assert_eq!(dot.await_result().unwrap(), sum),
                    _ => drop(dot.await_result().unwrap()),
                }
            }
            _ => {
                let pending = device.download(cell.buffer.as_ref().unwrap()).unwrap();
                snapshots.push((pending, cell.model.clone()));
            }
        }
        own[index] = cell;
        if snapshots.len() > 4 {
            let (pending, model) = snapshots.swap_remove(rng.below(4));
            if rng.below(4) > 0 {
                assert_eq!(pending.await_result().unwrap(), model);
            }
        }
    }
    for (pending, model) in snapshots {
        assert_eq!(pending.await_result().unwrap(), model);
    }
}

fn fill(device: &Device, cell: &mut Cell, value: f64) {
    cell.update(|target| device.fill(target, value).unwrap().into_buffer());
    cell.model.fill(value);
}

fn add(device: &Device, cell: &mut Cell, input: In<'_, f64>, values: &[f64], alpha: f64) {
    cell.update(|y| device.blas().axpy(alpha, input, y).unwrap().into_buffer());
    cell.model.iter_mut().zip(values).for_each(|(y, x)| *y += alpha * x);
}

/// `C = A B`, unless that gets too large.
fn multiply(device: &Device, cell: &mut Cell, (a, left): (In<'_, f64>, &[f64]), (b, right): (In<'_, f64>, &[f64])) {
    let product = |i: usize, j: usize| -> f64 { (0..EDGE).map(|k| left[i + k * EDGE] * right[k + j * EDGE]).sum() };
    let model: Vec<f64> = (0..LEN).map(|at| product(at % EDGE, at / EDGE)).collect();
    if model.iter().any(|value| value.abs() >= LARGE) || left.iter().chain(right).any(|v| v.abs() >= LARGE) {
        return;
    }
    let (a, b) = (columns(a, EDGE, EDGE), columns(b, EDGE, EDGE));
    cell.update(|c| {
        let c = into_columns(c, EDGE, EDGE);
        device.blas().gemm(Gemm::new(), a, b, c).unwrap().into_buffer()
    });
    cell.model = model;
}

/// `y += 2 x` by a copy of x that is dropped while all of it is in flight.
fn add_through_a_temporary(device: &Device, cell: &mut Cell, input: In<'_, f64>, values: &[f64]) {
    let copy = device.duplicate(input).unwrap().into_output();
    let copy = device.blas().scal(2.0, copy).unwrap().into_buffer();
    add(device, cell, copy.as_in(), &values.iter().map(|x| 2.0 * x).collect::<Vec<_>>(), 1.0);
    // Parts in flight, dropped one after the other: each part's work counts for the memory of both.
    let (left, right) = copy.split_at(LEN / 2).unwrap();
    let other = device.fill(device.uninit(LEN / 2).unwrap(), 7.0).unwrap().into_output();
    let left = device.copy(&other, left).unwrap();
    drop((device.blas().axpy(1.0, input.slice(0..LEN / 2).unwrap(), right).unwrap(), left));
}

/// Different work on two parts, which are then one again.
fn add_to_parts(device: &Device, rng: &mut Rng, cell: &mut Cell, input: In<'_, f64>, values: &[f64]) {
    let middle = rng.below(LEN + 1);
    let ahead = input.slice(0..middle).unwrap();
    let threes = rng.below(2) == 0;
    cell.update(|whole| {
        let (left, right) = whole.split_at(middle).unwrap();
        let left = device.blas().axpy(1.0, ahead, left).unwrap().into_buffer();
        let right = if threes { device.fill(right, 3.0).unwrap().into_buffer() } else { right };
        left.join(right).unwrap()
    });
    cell.model.iter_mut().zip(values).take(middle).for_each(|(y, x)| *y += x);
    if threes {
        cell.model.iter_mut().skip(middle).for_each(|y| *y = 3.0);
    }
}
