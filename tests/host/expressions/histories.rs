//! Random histories of formulas, views, copies and library calls: one after the other, as a recorded program, and with faults in
//! the middle, they give what a sequential model gives.

use super::super::tensors::places;
use crate::common::{LONG, Rng, devices, host, seeds, up};
use windlass::expressions::{Symbol, position};
use windlass::tensor::{AxisSlice, Layout};
use windlass::{Device, DeviceBuffer, Error, FaultPlan, RestartPolicy, Result, Tensor, TensorRef};

const N: usize = 5;
const COUNT: usize = 4;

/// Small integers stay small, so that every product is exact.
fn small(x: Symbol<f64>) -> Symbol<f64> {
    x.modulo(9.0) - 4.0
}

fn small_of(x: f64) -> f64 {
    x.rem_euclid(9.0) - 4.0
}

/// A tensor and what it shall hold.
struct Pair {
    x: Tensor<f64>,
    model: Vec<f64>,
}

/// A square view of a square: turned, flipped, or both.
fn square<'a>(rng: &mut Rng, x: &'a Tensor<f64>) -> TensorRef<'a, f64> {
    let x = if rng.below(2) == 0 { x.transpose() } else { x.view() };
    if rng.below(3) == 0 { x.flip(rng.below(2) as isize).unwrap() } else { x }
}

fn at(x: &TensorRef<'_, f64>, model: &[f64]) -> Vec<f64> {
    places(x).into_iter().map(|place| model[place]).collect()
}

/// A part of a square of two to five rows and columns, which may be turned around.
fn part_of(rng: &mut Rng) -> impl Fn(&Layout) -> Result<Layout> + Copy + use<> {
    let (rows, cols, turned) = (2 + rng.below(4), 2 + rng.below(4), rng.below(2) == 0);
    let (down, right) = (rng.below(N + 1 - rows), rng.below(N + 1 - cols));
    let step = [1, -1][rng.below(2)];
    move |all: &Layout| {
        let part = all.slice((AxisSlice::from(down..down + rows).step(step), right..right + cols))?;
        Ok(if turned { part.transpose() } else { part })
    }
}

/// One call, on the device and on the model.
fn step(d: &Device, pool: &mut Vec<Pair>, rng: &mut Rng) -> Result<()> {
    let mut target = pool.swap_remove(rng.below(pool.len()));
    let other = &pool[rng.below(pool.len())];
    let third = &pool[rng.below(pool.len())];
    let (a, b) = (square(rng, &other.x), square(rng, &third.x));
    let (of_a, of_b) = (at(&a, &other.model), at(&b, &third.model));
    let part = part_of(rng);
    let layout = part(target.x.layout())?;
    let inside = places(&TensorRef::from_buffer(target.x.buffer(), layout.clone())?);
    let corner = |x: &TensorRef<'_, f64>| x.layout().slice((..layout.shape()[0], ..layout.shape()[1]));
    let of_corner = |x: &TensorRef<'_, f64>, model: &[f64]| -> Result<Vec<f64>> {
        Ok(at(&TensorRef::from_buffer(x.buffer(), corner(x)?)?, model))
    };
    match rng.below(9) {
        0 => {
            target.x = d.map((&a, &b), |(a, b)| small(a * 2.0 - b))?.into_output();
            target.model = of_a.iter().zip(&of_b).map(|(a, b)| small_of(a * 2.0 - b)).collect();
        }
        1 => {
            let view = TensorRef::from_buffer(a.buffer(), corner(&a)?)?;
            let values = of_corner(&a, &other.model)?;
            target.x = d.update(target.x.part(part)?, &view, |x, y| small(x + y * 3.0))?.into_output();
            inside.iter().zip(values).for_each(|(k, y)| target.model[*k] = small_of(target.model[*k] + y * 3.0));
        }
        2 => {
            let view = TensorRef::from_buffer(b.buffer(), corner(&b)?)?;
            let values = of_corner(&b, &third.model)?;
            let (to, cut) = (target.x.part(part)?, rng.below(9) as f64 - 4.0);
            target.x = d.map_into(&view, to, |y| y.gt(cut).select(y, -y))?.into_output();
            inside.iter().zip(values).for_each(|(k, y)| target.model[*k] = if y > cut { y } else { -y });
        }
        3 => {
            let view = TensorRef::from_buffer(a.buffer(), corner(&a)?)?;
            let values = of_corner(&a, &other.model)?;
            target.x = d.assign(target.x.part(part)?, &view)?.into_output();
            inside.iter().zip(values).for_each(|(k, y)| target.model[*k] = y);
        }
        4 => {
            target.x = d.contiguous(&a)?.into_output();
            target.model = of_a;
        }
        5 => {
            // Of what is not flipped: no front takes that.
            let (a, b) = (other.x.transpose(), third.x.view());
            let product = d.matmul(&a, &b)?.into_output();
            target.x = d.map(&product, small)?.into_output();
            let (a, b) = (at(&a, &other.model), at(&b, &third.model));
            let sum = |k: usize| (0..N).map(|l| a[k / N * N + l] * b[l * N + k % N]).sum::<f64>();
            target.model = (0..N * N).map(|k| small_of(sum(k))).collect();
        }
        6 => {
            target.x = ((&a - &b) * 0.5).floor().eval(d)?.into_output();
            target.model = of_a.iter().zip(&of_b).map(|(a, b)| ((a - b) * 0.5).floor()).collect();
        }
        7 => {
            let lower = || position(0).ge(position(1));
            target.x = d.update(target.x, &a, |x, a| lower().select(x, a))?.into_output();
            (0..N * N).filter(|k| k / N < k % N).for_each(|k| target.model[k] = of_a[k]);
        }
        _ => {
            let value = rng.below(9) as f64 - 4.0;
            target.x = d.fill(target.x.part(part)?, value)?.into_output();
            inside.iter().for_each(|k| target.model[*k] = value);
        }
    }
    pool.push(target);
    Ok(())
}

fn data(rng: &mut Rng) -> Vec<Vec<f64>> {
    (0..COUNT).map(|_| (0..N * N).map(|_| rng.below(9) as f64 - 4.0).collect()).collect()
}

/// A whole history, from copies of these buffers on.
fn history(
    d: &Device,
    operands: &[DeviceBuffer<f64>],
    start: &[Vec<f64>],
    calls: usize,
    seed: u64,
) -> Result<Vec<Pair>> {
    let mut rng = Rng::new(seed);
    let mut pool = vec![];
    for (x, model) in operands.iter().zip(start) {
        let x = Tensor::from_buffer(d.duplicate(x)?.into_buffer(), [N, N])?;
        pool.push(Pair { x, model: model.clone() });
    }
    for _ in 0..calls {
        step(d, &mut pool, &mut rng)?;
    }
    Ok(pool)
}

#[test]
fn random_histories_are_what_a_sequential_model_gives() {
    for device in devices() {
        seeds(60, |rng, seed| {
            let (start, calls) = (data(rng), rng.below(60));
            let operands: Vec<_> = start.iter().map(|data| up(&device, data.clone())).collect();
            for (k, pair) in history(&device, &operands, &start, calls, seed).unwrap().iter().enumerate() {
                let got = device.download(&pair.x).unwrap().await_result().unwrap();
                assert_eq!(got, pair.model, "tensor {k} after {calls} calls on {device:?}");
            }
        });
    }
}

#[test]
fn a_recorded_history_is_what_a_sequential_model_gives() {
    for device in devices() {
        seeds(10, |rng, seed| {
            let (start, calls) = (data(rng), rng.below(40));
            let mut models = vec![];
            let (program, ()) = device
                .record(|r| {
                    let operands: Vec<DeviceBuffer<f64>> =
                        (0..COUNT).map(|_| Ok(r.operand(N * N)?.into_buffer())).collect::<Result<_>>()?;
                    let made = history(r, &operands, &start, calls, seed)?;
                    models = made.iter().map(|pair| pair.model.clone()).collect();
                    for (pair, out) in made.iter().zip(operands) {
                        drop(r.assign(Tensor::from_buffer(out, [N, N])?, &pair.x)?.into_output());
                    }
                    Ok(())
                })
                .unwrap();
            for _ in 0..2 {
                let writes: windlass::op::AnyBuffers =
                    start.iter().map(|data| up(&device, data.clone()).into()).collect();
                let done = program.replay((), writes).unwrap().await_result().unwrap();
                for (k, (got, model)) in done.operands.into_iter().zip(&models).enumerate() {
                    let got = got.downcast::<f64>().unwrap();
                    let got = device.download(&got).unwrap().await_result().unwrap();
                    assert_eq!(&got, model, "tensor {k} after {calls} calls on {device:?}");
                }
            }
        });
    }
}

/// A history that a fault interrupts fails with an error of it, and is repeated; what is read is right or an error.
#[test]
fn a_fault_in_the_middle_makes_errors_and_no_wrong_numbers() {
    let mut faults = 0;
    for seed in 1..=40 {
        let mut rng = Rng::new(seed);
        let (start, calls) = (data(&mut rng), 10 + rng.below(30));
        let plan = FaultPlan::new().poison(rng.below(60) as u64).poison(60 + rng.below(200) as u64);
        let device = host(2).fault_plan(plan).restart_policy(RestartPolicy::unlimited()).open().unwrap();
        let attempt = || -> Result<()> {
            let operands: Vec<_> =
                start.iter().map(|data| Ok(device.upload(data.clone())?.into_output())).collect::<Result<_>>()?;
            for pair in history(&device, &operands, &start, calls, seed)? {
                let got = device.download(&pair.x)?.await_result()?;
                assert_eq!(got, pair.model, "seed {seed}, {calls} calls");
            }
            Ok(())
        };
        let mut attempts = 0;
        while let Err(error) = attempt() {
            let of_the_fault = error.is_poisoning()
                || matches!(error, Error::GpuRefStale { .. } | Error::Upstream { .. })
                || error.is_retryable();
            assert!(of_the_fault, "seed {seed}: {error}");
            device.wait_healthy(LONG).unwrap();
            (faults, attempts) = (faults + 1, attempts + 1);
            assert!(attempts < 5, "seed {seed}: {error}");
        }
    }
    assert!(faults >= 20, "{faults}");
}
