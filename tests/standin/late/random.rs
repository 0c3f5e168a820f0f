//! Random programs that mix all kinds, against a sequential model.

use super::ops::{AddOne, BLOCKING, ENQUEUE, Log, Plan, Trouble, prepared};
use crate::common::child::this_test;
use crate::common::{LONG, Rng, buffer, seeds, up};
use crate::standin::{Driver, Mode, device, in_turns, session};
use std::sync::Arc;
use windlass::{Device, DeviceBuffer, Error};

const LEN: usize = 8;

/// A buffer, and what it must hold. Nothing is said after a failure: one that was refused left it as it was, one that came
/// late did not.
struct Cell {
    buffer: Option<DeviceBuffer<f32>>,
    model: Option<f32>,
}

/// Submits; gives the buffer for what follows, whether it was refused or not.
fn step(device: &Device, rng: &mut Rng, cells: &mut [Cell], log: &Arc<Log>) {
    let (at, from) = (rng.below(cells.len()), rng.below(cells.len()));
    let mut cell = std::mem::replace(&mut cells[at], Cell { buffer: None, model: None });
    let x = cell.buffer.take().unwrap();
    let fails = rng.below(12) == 0;
    let trouble = fails.then_some(if rng.below(2) == 0 { Trouble::Fails } else { Trouble::Panics });
    let (before, after) = if rng.below(2) == 0 { (trouble, None) } else { (None, trouble) };
    let plus_one = |model: Option<f32>| model.map(|m| m + 1.0).filter(|_| !fails);
    let submitted = match rng.below(6) {
        0 => {
            cell.model = plus_one(cell.model);
            device.dispatch(AddOne::<BLOCKING> { before, after, ..AddOne::default() }, (), (x,))
        }
        1 => {
            cell.model = plus_one(cell.model);
            device.dispatch(AddOne { before, after, ..prepared(Plan::new(rng.below(40) as u32, log)) }, (), (x,))
        }
        2 => {
            cell.model = cell.model.map(|m| m + 1.0);
            device.dispatch(AddOne::<ENQUEUE>::default(), (), (x,))
        }
        3 => {
            let value = rng.below(100) as f32;
            cell.model = Some(value);
            crate::common::buffer(device.fill(x, value))
        }
        4 if from != at => {
            let other = cells[from].buffer.as_ref().unwrap();
            cell.model = cells[from].model;
            crate::common::buffer(device.copy(other, x))
        }
        _ if from != at => {
            let other = cells[from].buffer.as_ref().unwrap();
            cell.model = cell.model.zip(cells[from].model).map(|(y, x)| 0.5 * x + y);
            buffer(device.blas().axpy(0.5, other, x))
        }
        _ => {
            cell.model = cell.model.map(|m| m * 0.5);
            buffer(device.blas().scal(0.5, x))
        }
    };
    cell.buffer = Some(match submitted {
        Ok(pending) if rng.below(4) == 0 => match pending.await_result() {
            Ok(x) => x,
            Err(rejected) => rejected.back.expect("no device fault").0,
        },
        Ok(pending) => pending.into_output(),
        Err(rejected) => {
            let (Error::Upstream { .. } | Error::Unsupported { .. } | Error::Panicked { .. }) = rejected.error else {
                panic!("{rejected:?}");
            };
            cell.model = None;
            rejected.back.expect("nothing was enqueued").0
        }
    });
    cells[at] = cell;
}

fn run(driver: &Driver, rng: &mut Rng, seed: u64, mode: Mode, slots: usize) {
    driver.reset();
    driver.seed(seed);
    driver.mode(mode);
    let log = Arc::new(Log::default());
    let device = device(slots);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (device, log, mut rng) = (&device, &log, Rng::new(rng.next()));
            scope.spawn(move || {
                let new = |i| Cell { buffer: Some(up(device, [i as f32; LEN])), model: Some(i as f32) };
                let mut cells: Vec<_> = (0..4).map(new).collect();
                for _ in 0..40 {
                    step(device, &mut rng, &mut cells, log);
                }
                for Cell { buffer, model } in cells {
                    match (device.download(&buffer.unwrap()), model) {
                        (Ok(data), Some(model)) => assert_eq!(data.await_result().unwrap(), [model; LEN]),
                        (Ok(data), None) => drop(data.await_result()),
                        (Err(error), None) => assert!(matches!(error, Error::Upstream { .. }), "{error}"),
                        (Err(error), Some(_)) => panic!("{error}"),
                    }
                }
            });
        }
    });
    drop(device);
    driver.assert_finished();
}

#[test]
fn random_programs_of_all_kinds_agree_with_a_sequential_model() {
    let driver = session();
    seeds(6, |rng, seed| {
        for (mode, slots) in [(Mode::Auto, 1), (Mode::Auto, 4), (Mode::Background, 3), (Mode::Eager, 2)] {
            run(&driver, rng, seed, mode, slots);
        }
    });
}

fn beside_rebuilds(driver: &Driver, rng: &mut Rng, seed: u64, mode: Mode) {
    driver.reset();
    driver.seed(seed);
    driver.mode(mode);
    let log = Arc::new(Log::default());
    let device = device(3);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (device, log, mut rng) = (&device, &log, Rng::new(rng.next()));
            scope.spawn(move || {
                for _ in 0..30 {
                    let Ok(x) = device.upload(vec![1.0f32; LEN]) else { continue };
                    let first = match rng.below(2) {
                        0 => device.dispatch(AddOne::<BLOCKING>::default(), (), (x.into_output(),)),
                        _ => device.dispatch(prepared(Plan::new(rng.below(4) as u32, log)), (), (x.into_output(),)),
                    };
                    let Ok(first) = first else { continue };
                    let Ok(second) = device.blas().scal(2.0, first.into_output()) else { continue };
                    let Ok(x) = second.await_result() else { continue };
                    let Ok(data) = device.download(&x) else { continue };
                    if let Ok(data) = data.await_result() {
                        assert_eq!(data, [4.0; LEN]);
                    }
                }
            });
        }
        for _ in 0..3 {
            device.rebuild(LONG).unwrap();
        }
    });
    drop(device);
    driver.assert_finished();
}

/// Rebuilds in between: what was submitted before is finished, what is old is stale.
#[test]
fn random_programs_beside_rebuilds_lose_nothing_silently() {
    let driver = session();
    seeds(4, |rng, seed| beside_rebuilds(&driver, rng, seed, Mode::Background));
}

/// With all threads, those of the program, the helpers that plan and enqueue, the housekeeping and rebuilds: one seed, one
/// history.
#[test]
fn random_programs_in_turns_agree_with_a_sequential_model() {
    let test = this_test!();
    crate::random::seeds(60, |seed| {
        in_turns(&test, seed, |driver, seed| {
            let (mut rng, slots) = (Rng::new(seed), 1 + (seed % 4) as usize);
            match seed % 3 {
                0 => beside_rebuilds(driver, &mut rng, seed, Mode::Auto),
                _ => run(driver, &mut rng, seed, Mode::Auto, slots),
            }
        });
    });
}
