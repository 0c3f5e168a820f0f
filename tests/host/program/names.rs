//! A program computes the same wherever its steps come from: recorded, read from a file, or sent to a worker; and whatever memory
//! its operands had in an earlier replay. What a step reads is known by its place in the program and by no address.

use super::file::File;
use crate::common::{Rng, assert_same_bits, down, seeds, up};
use windlass::reductions::{All, Sum};
use windlass::{Device, DeviceBuffer, Program, Result, Tensor, TensorRef};

const N: usize = 35;

/// The devices between which programs go: one of this process, and one in a worker.
fn both() -> [Device; 2] {
    [Device::host().unwrap(), Device::builder().host().isolated().open().unwrap()]
}

/// What a replay with these inputs makes of `y`.
fn replay(program: &Program, device: &Device, [x, z]: [&DeviceBuffer<f32>; 2], y: &[f32]) -> Vec<f32> {
    let (y,) = program.replay((x, z), (up(device, y.to_vec()),)).unwrap().await_result().unwrap().operands;
    down(device, &y)
}

/// Random maps, reductions and updates of two inputs, two captured tensors, and what they make. Most of what a map makes is read
/// once, by what it then becomes one with.
fn steps(d: &Device, reads: &[TensorRef<'_, f32>; 4], mut y: Tensor<f32>, seed: u64) -> Result<Tensor<f32>> {
    let mut rng = Rng::new(seed);
    // The captured tensors in this order.
    let mut pool = vec![d.map((&reads[2], &reads[3]), |(c, e)| c - e)?.into_output()];
    for _ in 0..2 + rng.below(6) {
        let mut operand = || match rng.below(reads.len() + pool.len()) {
            k if k < reads.len() => reads[k].clone(),
            k => pool[k - reads.len()].view(),
        };
        let (a, b, c) = (operand(), operand(), operand());
        let made = match rng.below(7) {
            0 => d.map((&a, &b), |(a, b)| a * 3.0 - b)?.into_output(),
            1 => {
                let twice = d.map(&a, |a| a * 2.0)?.into_output();
                d.map((&b, &twice), |(b, twice)| b - twice)?.into_output()
            }
            2 => {
                let between = d.map((&a, &b), |(a, b)| a - b * 0.5)?.into_output();
                d.map((&c, &b, &between), |(c, b, between)| c * 4.0 - b + between)?.into_output()
            }
            3 => {
                let twice = d.map((&a, &c), |(a, c)| a * 2.0 + c)?.into_output();
                let sum = d.reduce((&b, &twice), All, |(b, twice)| b - twice, Sum)?.into_output();
                d.map((&c, sum.broadcast([N])?), |(c, sum)| c - sum)?.into_output()
            }
            4 => {
                let (sum, other) = d.map((&a, &b), |(a, b)| (a + b, a - b * 2.0))?.into_output();
                d.map((&c, &other, &sum), |(c, other, sum)| c - other * sum)?.into_output()
            }
            5 => {
                let twice = d.map(&a, |a| a * 2.0)?.into_output();
                y = d.update(y, (&b, &twice), |y, (b, twice)| y * 0.5 + b - twice)?.into_output();
                continue;
            }
            _ => d.contiguous(&a)?.into_output(),
        };
        pool.push(made);
    }
    Ok(d.update(y, (&reads[2], &pool[pool.len() - 1]), |y, (c, last)| y + c - last)?.into_output())
}

#[test]
fn random_programs_compute_the_same_recorded_loaded_and_sent() {
    let devices = both();
    seeds(20, |rng, seed| {
        let mut data = || rng.samples::<f32>(N);
        let ([x, z, c, e], y) = ([0; 4].map(|_| data()), data());
        // Call by call.
        let expected = [[&x, &z], [&x, &x]].map(|[x, z]| {
            let [x, z, c, e] = [x, z, &c, &e].map(|data| Tensor::from(up(&devices[0], data.clone())));
            let reads = [x.view(), z.view(), c.view(), e.view()];
            down(&devices[0], steps(&devices[0], &reads, up(&devices[0], y.clone()).into(), seed).unwrap().buffer())
        });
        let check = |program: &mut Program, device: &Device, what: &str| {
            let [x, z] = [&x, &z].map(|data| up(device, data.clone()));
            let what = format!("{what}, seed {seed}, {device:?}: {}", program.explain());
            assert_same_bits(&replay(program, device, [&x, &z], &y), &expected[0], &what);
            assert_same_bits(&replay(program, device, [&x, &x], &y), &expected[1], &what);
            program.fuse(false).unwrap();
            // The steps are placed where both inputs are one buffer, and then made one again.
            assert_same_bits(&replay(program, device, [&x, &x], &y), &expected[1], &what);
            program.fuse(true).unwrap();
            assert_same_bits(&replay(program, device, [&x, &z], &y), &expected[0], &what);
        };
        for device in &devices {
            let [c, e] = [&c, &e].map(|data| Tensor::from(up(device, data.clone())));
            let (mut program, ()) = device
                .record(|r| {
                    let (x, z) = (r.input::<f32>(N)?, r.input::<f32>(N)?);
                    let (c, e) = (c.view(), e.view());
                    steps(r, &[x, z, c, e], r.operand::<f32>(N)?, seed).map(drop)
                })
                .unwrap();
            check(&mut program, device, "recorded");
            let file = File::new();
            program.save(file.path()).unwrap();
            for other in &devices {
                let [c, e] = [&c, &e].map(|tensor| up(other, down(device, tensor.buffer())));
                let mut loaded = Program::load(other, file.path(), (&c, &e)).unwrap();
                check(&mut loaded, other, &format!("recorded on {device:?} and loaded"));
            }
        }
    });
}

/// `y = c - 2 x` with `c` captured, by two steps that become one.
fn difference(device: &Device, c: &Tensor<f32>) -> Program {
    let (program, ()) = device
        .record(|r| {
            let (x, y) = (r.input::<f32>(N)?, r.output::<f32>(N)?);
            let twice = r.map(x, |x| x * 2.0)?.into_output();
            r.map_into((c, &twice), y, |(c, twice)| c - twice).map(drop)?;
            Ok(())
        })
        .unwrap();
    program
}

#[test]
fn what_a_step_reads_is_not_what_lies_at_the_same_address_of_another_step() {
    let ([here, there], file) = (both(), File::new());
    let of = |device: &Device, n: f32| up(device, vec![n; N]);
    let run = |program: &Program, device: &Device| {
        let done = program.replay((&of(device, 3.0),), (of(device, 0.0),)).unwrap().await_result().unwrap();
        down(device, &done.operands.0)
    };
    let recorded = difference(&here, &of(&here, 10.0).into());
    assert_eq!(run(&recorded, &here), [4.0; N]);
    recorded.save(file.path()).unwrap();
    for device in [&here, &there] {
        let loaded = Program::load(device, file.path(), (&of(device, 10.0),)).unwrap();
        assert_eq!(loaded.explain(), "step 0 (map) is part of step 1 (map)\n2 steps were recorded, 1 run");
        assert_eq!(run(&loaded, device), [4.0; N], "{device:?}");
    }
}

#[test]
fn two_inputs_that_were_one_buffer_in_a_replay_stay_two() {
    for device in both() {
        let (mut program, ()) = device
            .record(|r| {
                let (x, z) = (r.input::<f32>(N)?, r.input::<f32>(N)?);
                let twice = r.map(x, |x| x * 2.0)?.into_output();
                let y = r.output::<f32>(N)?;
                r.map_into((z, &twice), y, |(z, twice)| z - twice).map(drop)?;
                Ok(())
            })
            .unwrap();
        let [one, three, y] = [1.0f32, 3.0, 0.0].map(|n| up(&device, vec![n; N]));
        program.fuse(false).unwrap();
        let (y,) = program.replay((&three, &three), (y,)).unwrap().await_result().unwrap().operands;
        assert_eq!(down(&device, &y), [-3.0; N]);
        program.fuse(true).unwrap();
        let (y,) = program.replay((&three, &one), (y,)).unwrap().await_result().unwrap().operands;
        assert_eq!(down(&device, &y), [-5.0; N]);
    }
}
