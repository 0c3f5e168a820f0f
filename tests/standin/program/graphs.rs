//! Replays as CUDA graphs: when one is captured, launched, updated, and what stands in its way.

use super::{N, is_done, program, session};
use crate::common;
use crate::standin;

use common::{down, up};
use standin::{Mode, device};
use windlass::{Device, DeviceBuffer, Program, program::ProgramStats};

/// Replays on the same buffers: what was called in the last one, and what is in `y` then.
fn replays(device: &Device, program: &Program, count: usize) -> (Vec<String>, Vec<f32>) {
    let driver = standin::driver();
    let x = up(device, vec![1.0f32; N]);
    let mut y = up(device, vec![0.0f32; N]);
    let mut calls = Vec::new();
    for _ in 0..count {
        let (pending, called) = driver.calls_in(|| program.replay((&x,), (y,)).unwrap());
        calls = called;
        y = pending.await_result().unwrap().operands.0.into_buffer();
    }
    (calls, down(device, &y))
}

fn graphs(program: &Program) -> (u64, u64, u64, u64) {
    let ProgramStats { replays, graph_launches, instantiations, updates, .. } = program.stats();
    (replays, graph_launches, instantiations, updates)
}

#[test]
fn the_second_replay_on_the_same_buffers_is_a_graph_and_the_third_launches_it() {
    let driver = session();
    let device = device(2);
    let (program, _) = program(&device);
    let (_, y) = replays(&device, &program, 2);
    assert_eq!((y, graphs(&program)), (vec![4.0; N], (2, 1, 1, 0)));
    let (x, mut y) = (up(&device, vec![1.0f32; N]), up(&device, vec![0.0f32; N]));
    for round in 0..5 {
        is_done(&device);
        let before = graphs(&program);
        let (pending, calls) = driver.calls_in(|| program.replay((&x,), (y,)).unwrap());
        y = pending.await_result().unwrap().operands.0.into_buffer();
        if graphs(&program).2 == before.2 && graphs(&program).1 > before.1 {
            let work: Vec<_> =
                calls.iter().filter(|call| call.starts_with("cublas") || call.contains("Launch")).collect();
            assert_eq!(work, ["cuGraphLaunch"], "round {round}: {calls:?}");
        }
    }
    assert_eq!(down(&device, &y), [10.0; N]);
    assert!(graphs(&program).1 >= 4, "{:?}", program.stats());
    assert!(driver.live("graphs") <= 2);
    drop((x, y, program, device));
    driver.assert_finished();
}

#[test]
fn buffers_that_change_are_captured_when_they_come_again_and_update_what_there_is() {
    let driver = session();
    let device = device(2);
    let (program, norm) = program(&device);
    let x: Vec<_> = (0..8).map(|i| up(&device, vec![i as f32; N])).collect();
    let mut y: Vec<_> = (0..8).map(|_| up(&device, vec![0.0f32; N])).collect();
    for round in 1..=6 {
        for (i, x) in x.iter().enumerate() {
            let one = y.remove(0);
            let done = program.replay((x,), (one,)).unwrap().await_result().unwrap();
            assert_eq!(done.get(&norm).unwrap(), 2.0 * i as f32 * (N as f32).sqrt());
            assert_eq!(down(&device, &done.operands.0), [2.0 * i as f32 * round as f32; N]);
            y.push(done.operands.0.into_buffer());
        }
    }
    let (replays, launches, instantiations, updates) = graphs(&program);
    assert_eq!((replays, instantiations), (48, 4), "{:?}", program.stats());
    assert_eq!((launches, updates), (40, 36), "all but the first time of each");
    drop((x, y, program, device));
    driver.assert_finished();
}

#[test]
fn buffers_that_never_come_again_are_never_captured() {
    let driver = session();
    let device = device(2);
    let (program, _) = program(&device);
    driver.mode(Mode::Manual); // nothing goes back, so no address comes again
    let mut held = Vec::new();
    for _ in 0..6 {
        let (x, y) = (up(&device, vec![1.0f32; N]), up(&device, vec![0.0f32; N]));
        let (y,) = program.replay((&x,), (y,)).unwrap().into_operands().unwrap();
        held.push((x, y));
    }
    driver.mode(Mode::Eager);
    assert_eq!(graphs(&program), (6, 0, 0, 0));
    assert!(held.iter().all(|(_, y)| down(&device, y) == [2.0; N]));
    drop((held, program, device));
    driver.assert_finished();
}

/// The driver fails each call of four replays in turn, those of the capture among them.
#[test]
fn whatever_call_fails_a_replay_answers_and_the_next_ones_are_right() {
    let driver = session();
    let device = device(1);
    let mut failed = 0;
    for nth in 0.. {
        let (program, _) = program(&device);
        let (x, mut y) = (up(&device, vec![1.0f32; N]), Some(up(&device, vec![0.0f32; N])));
        is_done(&device);
        let before = driver.failed();
        driver.fail_any(nth, 801);
        for _ in 0..4 {
            let answer = match program.replay((&x,), (y.take().unwrap(),)) {
                Ok(pending) => pending.await_result(),
                Err(rejected) => Err(rejected),
            };
            let back: DeviceBuffer<f32> = match answer {
                Ok(done) => done.operands.0.into_buffer(),
                Err(rejected) => {
                    assert!(!rejected.error.to_string().is_empty());
                    rejected.back.unwrap().0.into_buffer()
                }
            };
            y = Some(back);
        }
        driver.clear();
        if driver.failed() == before {
            break;
        }
        failed += 1;
        let y = device.fill(y.take().unwrap(), 0.0).unwrap().await_result().unwrap();
        let done = program.replay((&x,), (y,)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &done.operands.0), [2.0; N], "call {nth}");
    }
    assert!(failed > 20, "{failed} calls");
    driver.await_rest(); // who failed to free may be about to count it
    let leaked = device.stats().leaked;
    drop(device);
    driver.mode(Mode::Eager);
    let left = || driver.left().iter().map(|(_, count)| *count as u64).sum::<u64>();
    assert!(common::eventually(5, || left() <= leaked), "{leaked} counted as leaked, {:?} left", driver.left());
    driver.assert_clean();
}

#[test]
fn a_step_that_is_replaced_updates_the_graph_that_there_is() {
    let driver = session();
    let device = device(1);
    let (mut program, (step, mut x)) = device
        .record(|r| {
            let x = r.operand::<f32>(N)?;
            let x = r.blas().scal(3.0, x)?.into_buffer();
            let step = r.position();
            Ok((step, r.blas().scal(2.0, x)?.into_buffer()))
        })
        .unwrap();
    program.capture_graphs();
    let mut y = up(&device, vec![1.0f32; N]);
    for factor in [2.0f32, 0.5, 4.0] {
        x = program.set(step, |r| Ok(r.blas().scal(factor, x)?.into_buffer())).unwrap();
        for _ in 0..3 {
            let before = down(&device, &y)[0];
            y = program.replay((), (y,)).unwrap().await_result().unwrap().operands.0.into_buffer();
            assert_eq!(down(&device, &y), [before * 3.0 * factor; N]);
        }
    }
    assert_eq!(graphs(&program), (9, 6, 1, 2));
    drop((x, y, program, device));
    driver.assert_finished();
}

/// What a graph cannot have is enqueued as ever: here scratch.
#[test]
fn a_program_that_cannot_be_captured_is_enqueued_step_by_step() {
    struct Scratch;
    impl windlass::op::Op for Scratch {
        const NAME: &'static str = "scratch";
        type Reads = ();
        type Output = DeviceBuffer<f32>;
        type Raw = ();
        fn check(&self, (): &windlass::op::Spans<()>, _: &windlass::op::Spans<(f32,)>) -> windlass::Result<()> {
            Ok(())
        }
        fn host(
            &self,
            (): windlass::op::Slices<'_, Self>,
            _: windlass::op::SlicesMut<'_, Self>,
        ) -> windlass::Result<()> {
            Ok(())
        }
        fn cuda(&self, queue: &mut windlass::op::Enqueue<'_, Self>) -> windlass::Result<()> {
            queue.scratch(100).map(drop)
        }
        fn finish(&self, (): ()) -> windlass::Result<()> {
            Ok(())
        }
    }
    let driver = session();
    let device = device(1);
    let (program, ()) = device
        .record(|r| {
            let x = r.blas().scal(2.0, r.operand::<f32>(N)?)?.into_buffer();
            r.dispatch(Scratch, (), (x,)).map(drop).map_err(Into::into)
        })
        .unwrap();
    program.capture_graphs();
    let mut y = up(&device, vec![1.0f32; N]);
    for round in 1..6 {
        y = program.replay((), (y,)).unwrap().await_result().unwrap().operands.0.into_buffer();
        assert_eq!(down(&device, &y), [2f32.powi(round); N]);
    }
    assert_eq!(graphs(&program), (5, 0, 0, 0));
    drop((y, program, device));
    driver.assert_finished();
}

#[test]
fn nothing_is_captured_unless_it_is_asked_for() {
    let driver = session();
    let device = device(1);
    let (program, _) = device.record(|r| Ok(r.blas().scal(2.0, r.operand::<f32>(N)?)?.into_buffer())).unwrap();
    let mut x = up(&device, vec![1.0f32; N]);
    for _ in 0..4 {
        x = program.replay((), (x,)).unwrap().await_result().unwrap().operands.0.into_buffer();
    }
    assert_eq!((graphs(&program), driver.calls_of("cuStreamBeginCapture_v2")), ((4, 0, 0, 0), 0));
    assert_eq!(down(&device, &x), [16.0; N]);
    drop((x, program, device));
    driver.assert_finished();
}
