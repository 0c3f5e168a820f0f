//! Neighbouring steps that replays run as one: the same bits, whatever is joined, and the recorded steps for everything else.

use super::recorders;
use crate::common::{Rng, assert_same_bits, down, up};
use windlass::reductions::All;
use windlass::{Complex, Device, DeviceBuffer, Program, Result, Tensor, TensorRef, bf16, f16};

const ROWS: usize = 5;
const COLUMNS: usize = 7;
const N: usize = ROWS * COLUMNS;

/// Runs `program` on these buffers.
fn replay<T: windlass::Element>(program: &Program, device: &Device, x: &[T], y: &[T]) -> Vec<T> {
    let x = up(device, x.to_vec());
    let (y,) = program.replay((&x,), (up(device, y.to_vec()),)).unwrap().await_result().unwrap().operands;
    down(device, &y)
}

/// How many steps a replay runs.
fn steps_run(program: &Program) -> usize {
    let text = program.explain();
    text.rsplit_once(", ").unwrap().1.strip_suffix(" run").unwrap().parse().unwrap()
}

/// A random program of maps, updates, reductions and views of one type. `choices` are its random numbers.
macro_rules! steps {
    ($name:ident, $t:ty, $word:ty) => {
        fn $name(d: &Device, x: &TensorRef<'_, $t>, y: DeviceBuffer<$t>, seed: u64) -> Result<()> {
            let mut rng = Rng::new(seed);
            let x = TensorRef::from(x.clone()).reshape([ROWS, COLUMNS])?;
            let mut y = Tensor::from_buffer(y, [ROWS, COLUMNS])?;
            let mut pool: Vec<Tensor<$t>> = vec![d.map(&x, |x| x * 2.0)?.into_output()];
            for _ in 0..2 + rng.below(10) {
                let (a, b) = (rng.below(pool.len()), rng.below(pool.len()));
                let (a, b) = (&pool[a], &pool[b]);
                let made = match rng.below(10) {
                    0 => d.map(a, |a| a * 1.7 + 0.3)?.into_output(),
                    1 => d.map((a, b), |(a, b)| a / b)?.into_output(),
                    2 => d.map((a, &x), |(a, x)| x.isnan().select(a, x))?.into_output(),
                    3 => d.map((a, b), |(a, b)| a.gt(b).select(a, b - a))?.into_output(),
                    4 => {
                        let half = d.map((a, b), |(a, b)| (a - b).cast::<f16>())?.into_output();
                        d.map((&half, b), |(half, b)| half.cast::<$t>() * b)?.into_output()
                    }
                    5 => {
                        let (bits, sign) = d.map(a, |a| (a.sqrt().bits::<$word>(), a.lt(0.0)))?.into_output();
                        d.map((&bits, &sign, b), |(bits, sign, b)| sign.select(bits.bits::<$t>(), b))?.into_output()
                    }
                    6 => {
                        let flat = d.map(a.reshape([N])?, |a| a.abs() + 0.5)?.into_output();
                        Tensor::from_buffer(flat.into_buffer(), [ROWS, COLUMNS])?
                    }
                    7 => {
                        let turned = d.map(a.transpose(), |a| -a)?.into_output();
                        d.map((turned.transpose(), b), |(a, b)| a + b)?.into_output()
                    }
                    8 => {
                        let row = d.sum(a, 0)?.into_output();
                        d.map((a, &row), |(a, row)| a - row)?.into_output()
                    }
                    _ => {
                        y = d.update(y, a, |y, a| y + a)?.into_output();
                        d.map((&y, a), |(y, a)| y * a)?.into_output()
                    }
                };
                pool.push(made);
            }
            if let (Some(last), true) = (pool.last(), rng.below(3) > 0) {
                let sum = d.sum(last, windlass::reductions::Keep(1))?.into_output();
                y = d.update(y, &sum, |y, sum| y - sum)?.into_output();
            }
            d.map_into((&pool[0], pool.last().unwrap()), y, |(a, b)| a + b).map(drop)?;
            Ok(())
        }
    };
}

steps!(of_f32, f32, u32);
steps!(of_f64, f64, u64);
steps!(of_f16, f16, u16);
steps!(of_bf16, bf16, u16);

fn alike<T: windlass::Element>(
    device: &Device,
    body: impl Fn(&Device, &TensorRef<'_, T>, DeviceBuffer<T>, u64) -> Result<()>,
    rng: &mut Rng,
    seed: u64,
) -> (usize, usize) {
    // Any bits, so NaN of any pattern too.
    let [(x, y), (x2, y2)] = [0; 2].map(|_| (rng.bits::<T>(N), rng.bits::<T>(N)));
    let (mut program, ()) = device
        .record(|r| {
            let (x, y) = (r.input::<T>(N)?, r.operand::<T>(N)?);
            body(r, &x, y.into_buffer(), seed)
        })
        .unwrap();
    let run = steps_run(&program);
    let fused = [replay(&program, device, &x, &y), replay(&program, device, &x2, &y2)];
    // Step by step, between two replays, in the same memory.
    let input = up(device, x.clone());
    let (stepped,) = program.bisect((&input,), (up(device, y.clone()),)).unwrap().operands;
    let again = replay(&program, device, &x, &y);
    program.fuse(false).unwrap();
    let plain = [replay(&program, device, &x, &y), replay(&program, device, &x2, &y2)];
    let what = format!("{} seed {seed} on {device:?}: {}", std::any::type_name::<T>(), program.explain());
    assert_same_bits(&fused[0], &plain[0], &what);
    assert_same_bits(&fused[1], &plain[1], &what);
    assert_same_bits(&down(device, &stepped), &plain[0], &what);
    assert_same_bits(&again, &plain[0], &what);
    assert_eq!(steps_run(&program), program.stats().steps);
    (program.stats().steps, run)
}

#[test]
fn random_programs_give_the_same_bits() {
    for device in recorders() {
        let mut counted = (0, 0);
        for seed in 0..40 {
            let mut rng = Rng::new(seed + 1000);
            for (steps, run) in [
                alike(&device, of_f32, &mut rng, seed),
                alike(&device, of_f64, &mut rng, seed),
                alike(&device, of_f16, &mut rng, seed),
                alike(&device, of_bf16, &mut rng, seed),
            ] {
                counted = (counted.0 + steps, counted.1 + run);
            }
        }
        // Many become part of others.
        assert!(counted.1 * 20 < counted.0 * 17, "{counted:?}");
    }
}

#[test]
fn complex_values_and_several_outputs_pass_between() {
    for device in recorders() {
        let (mut program, ()) = device
            .record(|r| {
                let (x, y) = (r.input::<Complex<f32>>(N)?, r.operand::<Complex<f32>>(N)?);
                let (x, y) = (TensorRef::from(&x), Tensor::from_buffer(y.into_buffer(), [N])?);
                let (a, size) = r.map(&x, |x| (x * x, x.abs()))?.into_output();
                let z = r.map((&a, &size, &x), |(a, size, x)| size.gt(1.0).select(a, x))?.into_output();
                r.map_into(&z, y, |z| z / z.conj()).map(drop)?;
                Ok(())
            })
            .unwrap();
        assert_eq!((program.stats().steps, steps_run(&program)), (3, 1), "{}", program.explain());
        let mut rng = Rng::new(7);
        let (x, y) = (rng.bits::<Complex<f32>>(N), rng.bits::<Complex<f32>>(N));
        let fused = replay(&program, &device, &x, &y);
        program.fuse(false).unwrap();
        assert_same_bits(&fused, &replay(&program, &device, &x, &y), &format!("{device:?}"));
    }
}

/// What a program of these steps runs.
fn run_of(
    device: &Device,
    body: impl Fn(&Device, &TensorRef<'_, f32>, DeviceBuffer<f32>) -> Result<()>,
) -> (usize, usize) {
    let (program, ()) = device
        .record(|r| {
            let (x, y) = (r.input::<f32>(N)?, r.operand::<f32>(N)?);
            body(r, &x, y.into_buffer())
        })
        .unwrap();
    (program.stats().steps, steps_run(&program))
}

#[test]
fn what_others_need_stays() {
    for device in recorders() {
        let tensor = |y| Tensor::from_buffer(y, [N]);
        let twice = run_of(&device, |d, x, y| {
            let a = d.map(TensorRef::from(x), |x| x + 1.0)?.into_output();
            let b = d.map(&a, |a| a * 2.0)?.into_output();
            d.map_into((&a, &b), tensor(y)?, |(a, b)| a - b).map(drop)?;
            Ok(())
        });
        // `b` joins the last one; `a` then has one reader, which it joins.
        assert_eq!(twice, (3, 1));
        let two_readers = run_of(&device, |d, x, y| {
            let a = d.map(TensorRef::from(x), |x| x + 1.0)?.into_output();
            let y = d.update(tensor(y)?, &a, |y, a| y + a)?.into_output();
            d.update(y, &a, |y, a| y * a).map(drop)?;
            Ok(())
        });
        assert_eq!(two_readers, (3, 3), "two readers that do not join");
        let overtaken = run_of(&device, |d, _, y| {
            let y = tensor(y)?;
            let a = d.map(&y, |y| y + 1.0)?.into_output();
            let y = d.update(y, (), |y, ()| y * 0.5)?.into_output();
            d.update(y, &a, |y, a| y + a).map(drop)?;
            Ok(())
        });
        assert_eq!(overtaken, (3, 3), "what the first step reads is written before the last one");
        let written = run_of(&device, |d, x, y| {
            let a = d.map_into(TensorRef::from(x), tensor(y)?, |x| x + 1.0)?.into_output();
            let b = d.map(&a, |a| a * 2.0)?.into_output();
            d.map_into(&b, a, |b| b + 1.0).map(drop)?;
            Ok(())
        });
        assert_eq!(written, (3, 3), "no temporary, and what the second step reads is what the third one writes");
        let turned = run_of(&device, |d, x, y| {
            let a = d.map(TensorRef::from(x).reshape([ROWS, COLUMNS])?, |x| x + 1.0)?.into_output();
            d.map_into(a.transpose(), Tensor::from_buffer(y, [COLUMNS, ROWS])?, |a| a * 2.0).map(drop)?;
            Ok(())
        });
        assert_eq!(turned, (2, 2), "another order of the elements");
        let reduced = run_of(&device, |d, x, y| {
            let a = d.map(TensorRef::from(x).reshape([ROWS, COLUMNS])?, |x| x * x)?.into_output();
            let sum = d.sum(&a, All)?.into_output();
            d.update(tensor(y)?, &sum, |y, sum| y + sum).map(drop)?;
            Ok(())
        });
        assert_eq!(reduced, (3, 2), "the reduction takes in the map");
        let many = run_of(&device, |d, x, y| {
            let x = TensorRef::from(x);
            let parts: Vec<Tensor<f32>> =
                (0..9).map(|k| Ok(d.map(&x, |x| x + k as f32)?.into_output())).collect::<Result<_>>()?;
            let [a, b, c, e, f, g, h, i, j] = &parts[..] else { panic!("nine parts") };
            let left = d.map((a, b, c, e, f), |(a, b, c, e, f)| a + b + c + e + f)?.into_output();
            let right = d.map((g, h, i, j), |(g, h, i, j)| g * h * i * j)?.into_output();
            d.map_into((&left, &right), tensor(y)?, |(l, r)| l - r).map(drop)?;
            Ok(())
        });
        assert_eq!(many, (12, 1), "one input, however often it is read");
    }
}

#[test]
fn a_step_is_set_where_it_was_recorded() {
    for device in recorders() {
        let (mut program, (step, x, t)) = device
            .record(|r| {
                let (x, y) = (r.input::<f32>(N)?, r.operand::<f32>(N)?);
                let step = r.position();
                let t = r.map(TensorRef::from(&x), |x| x * 3.0)?.into_output();
                r.update(Tensor::from_buffer(y.into_buffer(), [N])?, &t, |y, t| y + t).map(drop)?;
                Ok((step, x, t))
            })
            .unwrap();
        assert_eq!(steps_run(&program), 1);
        let (x_data, y) = (vec![2.0f32; N], vec![1.0f32; N]);
        assert_eq!(replay(&program, &device, &x_data, &y), [7.0; N]);
        let t = program.set(step, |r| Ok(r.map_into(TensorRef::from(&x), t, |x| x * 5.0)?.into_output())).unwrap();
        assert_eq!(replay(&program, &device, &x_data, &y), [11.0; N]);
        drop(t);
        assert_eq!(program.explain(), "step 0 (map) is part of step 1 (map)\n2 steps were recorded, 1 run");
    }
}
