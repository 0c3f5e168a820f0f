//! Programs of a device in a worker: they cross once, a replay is one order, and the next worker gets them by itself.

use crate::common::{LONG, captures, down, eventually, halves_that_are_overwritten_beside_replays, up, within};
use crate::{alone, isolated, kill, system};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use windlass::{Device, DeviceBuffer, Program, program::Later};

const N: usize = 100;

/// `y = y + 2 x + c`, by a temporary; the norm of what it adds, and its first element's place of the greatest.
fn record(device: &Device, c: &DeviceBuffer<f64>) -> (Program, (Later<f64>, Later<Option<usize>>)) {
    let recorded = device.record(|r| {
        let (x, y) = (r.input::<f64>(N)?, r.operand::<f64>(N)?);
        let t = r.copy(&x, r.uninit(N)?)?.into_output();
        let t = r.labelled("twice").blas().scal(2.0, t)?.into_buffer();
        let t = r.blas().axpy(1.0, c, t)?.into_buffer();
        let norm = r.later(r.blas().nrm2(&t)?)?;
        let greatest = r.later(r.blas().iamax(&t)?)?;
        r.blas().axpy(1.0, &t, y)?.into_buffer();
        Ok((norm, greatest))
    });
    recorded.unwrap()
}

/// The same, call by call.
fn eager(
    device: &Device,
    c: &DeviceBuffer<f64>,
    x: &DeviceBuffer<f64>,
    y: DeviceBuffer<f64>,
) -> (DeviceBuffer<f64>, f64) {
    let blas = device.blas();
    let t = device.copy(x, device.uninit(N).unwrap()).unwrap().into_output();
    let t = blas.axpy(1.0, c, blas.scal(2.0, t).unwrap().into_buffer()).unwrap().into_buffer();
    let norm = blas.nrm2(&t).unwrap().await_result().unwrap();
    (blas.axpy(1.0, &t, y).unwrap().into_buffer(), norm)
}

fn numbers(from: f64) -> Vec<f64> {
    (0..N).map(|i| from + (i as f64).sin()).collect()
}

/// A replay on new buffers is what it should be.
#[track_caller]
fn assert_right(device: &Device, program: &Program, later: &(Later<f64>, Later<Option<usize>>), c: &DeviceBuffer<f64>) {
    let x = up(device, numbers(0.5));
    let done = program.replay((&x,), (up(device, numbers(3.0)),)).unwrap().await_result().unwrap();
    let (want, norm) = eager(device, c, &x, up(device, numbers(3.0)));
    assert_eq!(down(device, &done.operands.0), down(device, &want), "bit for bit");
    assert_eq!(done.get(&later.0).unwrap().to_bits(), norm.to_bits());
    assert!(done.get(&later.1).unwrap().is_some());
}

#[test]
fn a_replay_in_a_worker_is_one_order_and_what_the_same_calls_are() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let c = up(&device, numbers(1.0));
    let (program, later) = record(&device, &c);
    assert_right(&device, &program, &later, &c);
    let (x, mut y) = (up(&device, numbers(0.0)), up(&device, numbers(0.0)));
    for _ in 0..5 {
        y = program.replay((&x,), (y,)).unwrap().into_operands().unwrap().0.into_buffer();
    }
    device.synchronize(LONG).unwrap();
    let before = device.stats();
    for _ in 0..50 {
        y = program.replay((&x,), (y,)).unwrap().into_operands().unwrap().0.into_buffer();
    }
    let after = device.stats();
    assert_eq!(after.dispatches - before.dispatches, 50);
    // Memory of the calls before may still be on its way back, an order each.
    let (orders, bytes) = (after.orders - before.orders, after.bytes_crossed - before.bytes_crossed);
    assert!((50..60).contains(&orders) && bytes < 50 * 400, "{orders} orders, {bytes} bytes");
    drop(down(&device, &y));
    let base = device.stats().bytes_used;
    drop(program);
    assert!(eventually(LONG.as_secs(), || device.stats().bytes_used < base), "the arena goes with the program");
}

#[test]
fn a_program_with_one_answer_brings_it_and_one_with_none_brings_none() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let (program, norm) = device.record(|r| r.later(r.blas().nrm2(&r.input::<f64>(2)?)?)).unwrap();
    let x = up(&device, [3.0, 4.0]);
    for _ in 0..3 {
        assert_eq!(program.replay((&x,), ()).unwrap().await_result().unwrap().get(&norm).unwrap(), 5.0);
    }
    let (program, ()) =
        device.record(|r| r.blas().scal(2.0, r.operand::<f64>(2)?).map(drop).map_err(Into::into)).unwrap();
    let (x,) = program.replay((), (x,)).unwrap().await_result().unwrap().operands;
    assert_eq!(down(&device, &x), [6.0, 8.0]);
}

#[test]
fn steps_are_replaced_buffers_bound_and_faults_found_in_a_worker_too() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let c = up(&device, [1.0, 1.0]);
    let (mut program, (step, mut x)) = device
        .record(|r| {
            let x = r.operand::<f64>(2)?;
            let x = r.blas().axpy(1.0, &c, x)?.into_buffer();
            Ok((r.position(), r.labelled("factor").blas().scal(2.0, x)?.into_buffer()))
        })
        .unwrap();
    let run = |program: &Program| {
        let (y,) = program.replay((), (up(&device, [1.0, 3.0]),)).unwrap().into_operands().unwrap();
        down(&device, &y)
    };
    assert_eq!(run(&program), [4.0, 8.0]);
    x = program.set(step, |r| Ok(r.blas().scal(5.0, x)?.into_buffer())).unwrap();
    assert_eq!(run(&program), [10.0, 20.0]);
    let other = up(&device, [7.0, 0.0, 1.0, 9.0]);
    program.bind(0, other.as_in().slice(1..3).unwrap()).unwrap();
    assert_eq!(run(&program), [5.0, 20.0]);
    drop(x);
    let done = program.bisect((), (up(&device, [1.0, 3.0]),)).unwrap();
    assert_eq!(down(&device, &done.operands.0), [5.0, 20.0]);
    assert!(program.to_dot().contains("factor"));
}

#[test]
fn the_next_worker_gets_the_program_by_itself() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let c = up(&device, numbers(1.0));
    let (mut program, later) = record(&device, &c);
    assert_right(&device, &program, &later, &c);
    for round in 1..4 {
        kill(&device);
        assert!(eventually(LONG.as_secs(), || device.generation() == round));
        device.wait_healthy(LONG).unwrap();
        let (x, y) = (up(&device, numbers(0.5)), up(&device, numbers(3.0)));
        let stale = program.replay((&x,), (y,)).unwrap_err();
        assert!(
            matches!(stale.error, windlass::Error::GpuRefStale { .. }),
            "what it captured is gone: {}",
            stale.error
        );
        let c = up(&device, numbers(1.0));
        program.bind(0, &c).unwrap();
        assert_right(&device, &program, &later, &c);
    }
}

/// What crosses is what a file gave; and what the host recorded, a worker replays.
#[test]
fn a_program_from_a_file_crosses_to_each_worker_as_one_that_was_recorded() {
    let _alone = alone();
    let (host, device) = (crate::common::host(2).open().unwrap(), isolated().open().unwrap());
    let path = std::env::temp_dir().join(format!("windlass-test-worker-{}", std::process::id()));
    let (program, _) = record(&host, &up(&host, numbers(1.0)));
    program.save(&path).unwrap();
    let c = up(&device, numbers(1.0));
    let mut loaded = Program::load(&device, &path, (&c,)).unwrap();
    std::fs::remove_file(&path).unwrap();
    let later = (loaded.later(3).unwrap(), loaded.later(4).unwrap());
    assert_right(&device, &loaded, &later, &c);
    kill(&device);
    assert!(eventually(LONG.as_secs(), || device.generation() == 1));
    device.wait_healthy(LONG).unwrap();
    let c = up(&device, numbers(1.0));
    loaded.bind(0, &c).unwrap();
    assert_right(&device, &loaded, &later, &c);
}

#[test]
fn a_worker_that_is_lost_during_a_replay_costs_an_error_and_buffers_and_not_the_program() {
    let _alone = alone();
    within(120, || {
        let device = isolated().open().unwrap();
        let (program, ()) =
            device.record(|r| r.blas().scal(2.0, r.operand::<f64>(N)?).map(drop).map_err(Into::into)).unwrap();
        for round in 1..4 {
            system::stop(device.worker_pid().unwrap());
            let pending: Vec<_> =
                (0..3).filter_map(|_| program.replay((), (device.zeros::<f64>(N).ok()?,)).ok()).collect();
            kill(&device);
            for one in pending {
                let error = one.await_result().unwrap_err().error;
                assert!(error.is_data_lost(), "{error}");
            }
            assert!(eventually(LONG.as_secs(), || device.generation() == round));
            device.wait_healthy(LONG).unwrap();
            let (x,) = program.replay((), (up(&device, vec![1.5; N]),)).unwrap().await_result().unwrap().operands;
            assert_eq!(down(&device, &x), vec![3.0; N]);
        }
    });
}

#[test]
fn a_worker_that_is_lost_while_a_program_is_recorded_is_no_reason_to_record_again() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let generation = device.generation();
    let (program, ()) = device
        .record(|r| {
            let x = r.operand::<f64>(2)?;
            kill(&device);
            assert!(eventually(LONG.as_secs(), || device.generation() > generation));
            device.wait_healthy(LONG)?;
            r.blas().scal(2.0, x).map(drop).map_err(Into::into)
        })
        .unwrap();
    let (x,) = program.replay((), (up(&device, [1.0, 2.0]),)).unwrap().await_result().unwrap().operands;
    assert_eq!(down(&device, &x), [2.0, 4.0]);
}

/// The worker stands still when the program is sent to it, and is ended then.
#[test]
fn a_worker_that_is_lost_while_a_program_crosses_is_no_reason_to_record_again() {
    let _alone = alone();
    within(120, || {
        let device = isolated().open().unwrap();
        let generation = device.generation();
        system::stop(device.worker_pid().unwrap());
        let asleep = crate::common::Asleep::default();
        let (program, ()) = std::thread::scope(|scope| {
            let (device, here) = (&device, asleep.clone());
            let recorded = scope.spawn(move || {
                here.here();
                device.record(|r| r.blas().scal(2.0, r.operand::<f64>(2)?).map(drop).map_err(Into::into))
            });
            asleep.wait();
            kill(device);
            recorded.join().unwrap().unwrap()
        });
        assert!(eventually(LONG.as_secs(), || device.generation() > generation));
        device.wait_healthy(LONG).unwrap();
        let (x,) = program.replay((), (up(&device, [1.0, 2.0]),)).unwrap().await_result().unwrap().operands;
        assert_eq!(down(&device, &x), [2.0, 4.0]);
    });
}

#[test]
fn threads_that_replay_one_program_take_turns_at_its_arena_through_losses() {
    let _alone = alone();
    within(180, || {
        let device = isolated().open().unwrap();
        let (program, norm) = device
            .record(|r| {
                let (x, y) = (r.input::<f64>(N)?, r.operand::<f64>(N)?);
                let t = r.copy(&x, r.uninit(N)?)?.into_output();
                let t = r.blas().scal(2.0, t)?.into_buffer();
                let norm = r.later(r.blas().nrm2(&t)?)?;
                r.blas().axpy(1.0, &t, y)?.into_buffer();
                Ok(norm)
            })
            .unwrap();
        let (program, over) = (Arc::new(program), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let threads: Vec<_> = (1..5u8)
                .map(|thread| {
                    let (device, program, norm, over) = (&device, &program, &norm, &over);
                    scope.spawn(move || {
                        let mut rounds = 0;
                        while !over.load(Ordering::Relaxed) || rounds < 10 {
                            let answer = device.retrying(|device| {
                                let x = device.upload(vec![f64::from(thread); N])?.into_output();
                                let y = device.zeros::<f64>(N)?;
                                let done = program.replay((&x,), (y,))?.await_result()?;
                                let norm = done.get(norm)?;
                                Ok((norm, device.download(&done.operands.0)?.await_result()?))
                            });
                            let (norm, y) = answer.unwrap();
                            assert_eq!(norm, 2.0 * f64::from(thread) * (N as f64).sqrt());
                            assert_eq!(y, vec![2.0 * f64::from(thread); N]);
                            rounds += 1;
                        }
                    })
                })
                .collect();
            for round in 1..4 {
                kill(&device);
                assert!(eventually(LONG.as_secs(), || device.generation() == round));
                device.wait_healthy(LONG).unwrap();
            }
            over.store(true, Ordering::Relaxed);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    });
}

#[test]
fn captured_memory_is_read_in_its_turn_in_a_worker_too() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    for seed in 1..=40 {
        println!("seed {seed}");
        assert!(captures(&device, seed, 60) > 0);
    }
    halves_that_are_overwritten_beside_replays(&device, 64, 200);
}

/// The sum of what it reads, times a scalar that only `finish` uses.
#[derive(serde::Serialize, serde::Deserialize)]
struct Times(f64);

impl windlass::op::Op for Times {
    const NAME: &'static str = "times";
    type Reads = (f64,);
    type Output = f64;
    type Raw = f64;
    fn check(&self, _: &windlass::op::Spans<(f64,)>, (): &windlass::op::Spans<()>) -> windlass::Result<()> {
        Ok(())
    }
    fn host(
        &self,
        (x,): windlass::op::Slices<'_, Self>,
        (): windlass::op::SlicesMut<'_, Self>,
    ) -> windlass::Result<f64> {
        Ok(x.iter().sum())
    }
    fn finish(&self, sum: f64) -> windlass::Result<f64> {
        Ok(sum * self.0)
    }
    fn wire() -> Option<windlass::op::Wire<Self>> {
        windlass::op::Wire::plain()
    }
}

#[test]
fn a_result_is_that_of_the_operation_that_the_replay_ran() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let times = |r: &Device, x: &windlass::TensorRef<'_, f64>, by: f64| r.dispatch(Times(by), (x.buffer(),), ());
    let (mut program, (x, recorded)) = device
        .record(|r| {
            let x = r.input::<f64>(3)?;
            let recorded = r.later(times(r, &x, 2.0)?)?;
            Ok((x, recorded))
        })
        .unwrap();
    let given = up(&device, vec![1.0, 2.0, 3.0]);
    let before = program.replay((&given,), ()).unwrap();
    let changed = program.set(0, |r| r.later(times(r, &x, 10.0)?)).unwrap();
    let after = program.replay((&given,), ()).unwrap().await_result().unwrap();
    let before = before.await_result().unwrap();
    for later in [&recorded, &changed] {
        assert_eq!((before.get(later).unwrap(), after.get(later).unwrap()), (12.0, 60.0));
    }
}
