//! Programs on the CUDA engine: what a replay calls, and what it does when calls fail.

mod captured;
mod captures;
mod graphs;

use crate::common;
use crate::standin;

use common::{down, up};
use standin::{Mode, Session, device};
use std::time::Duration;
use windlass::{Device, DeviceBuffer, Error, Program, program::Later};

const N: usize = 64;

/// With too little memory for a workspace, whose 32 MiB on every stream would take most of the time.
fn session() -> Session {
    let driver = standin::session();
    driver.set_total_memory(8 << 20);
    driver
}

/// `y = y + 2 x` by way of a temporary, and the norm of what it adds.
fn program(device: &Device) -> (Program, Later<f32>) {
    let recorded = device.record(|r| {
        let (x, y) = (r.input::<f32>(N)?, r.operand::<f32>(N)?);
        let t = r.copy(&x, r.uninit(N)?)?.into_output();
        let t = r.blas().scal(2.0, t)?.into_buffer();
        let norm = r.later(r.blas().nrm2(&t)?)?;
        r.blas().axpy(1.0, &t, y)?.into_buffer();
        Ok(norm)
    });
    let (program, norm) = recorded.unwrap();
    program.capture_graphs();
    (program, norm)
}

fn is_done(device: &Device) {
    device.synchronize(Duration::from_secs(60)).unwrap();
}

#[test]
fn a_replay_is_one_dispatch_with_one_record_and_brings_its_answers() {
    let driver = session();
    let device = device(2);
    let (program, norm) = program(&device);
    let x = up(&device, vec![3.0f32; N]);
    let mut y = up(&device, vec![1.0f32; N]);
    for round in 1..4 {
        is_done(&device);
        let dispatches = device.stats().dispatches;
        let (pending, calls) = driver.calls_in(|| program.replay((&x,), (y,)).unwrap());
        assert_eq!(calls.iter().filter(|call| *call == "cuEventRecord").count(), 1, "{calls:?}");
        assert_eq!(device.stats().dispatches, dispatches + 1);
        let done = pending.await_result().unwrap();
        assert_eq!(done.get(&norm).unwrap(), 6.0 * (N as f32).sqrt());
        y = done.operands.0.into_buffer();
        assert_eq!(down(&device, &y), [1.0 + 6.0 * round as f32; N]);
    }
    drop((x, y, program, device));
    driver.assert_finished();
}

/// The driver reports accesses that nothing orders: those of replays on several streams to the one arena, for one.
#[test]
fn replays_of_many_threads_use_the_arena_one_after_the_other() {
    for mode in [Mode::Auto, Mode::Background] {
        let driver = session();
        driver.mode(mode);
        let device = device(4);
        let (program, norm) = program(&device);
        std::thread::scope(|scope| {
            for thread in 1..7u8 {
                let (device, program, norm) = (&device, &program, &norm);
                scope.spawn(move || {
                    let x = up(device, vec![f32::from(thread); N]);
                    let mut y = up(device, vec![0.0f32; N]);
                    for _ in 0..10 {
                        let done = program.replay((&x,), (y,)).unwrap().await_result().unwrap();
                        assert_eq!(done.get(norm).unwrap(), 2.0 * f32::from(thread) * (N as f32).sqrt());
                        y = done.operands.0.into_buffer();
                    }
                    assert_eq!(down(device, &y), [20.0 * f32::from(thread); N]);
                });
            }
        });
        drop((program, device));
        driver.assert_finished();
    }
}

#[test]
fn a_replay_behind_work_in_flight_waits_for_it_on_the_device() {
    let driver = session();
    let device = device(4);
    let (program, _) = program(&device);
    let (x, y) = (up(&device, vec![1.0f32; N]), up(&device, vec![0.0f32; N]));
    is_done(&device);
    driver.mode(Mode::Manual);
    let x = device.blas().scal(3.0, x).unwrap().into_buffer();
    let y = device.fill(y, 5.0).unwrap().into_output();
    let (y,) = program.replay((&x,), (y,)).unwrap().into_operands().unwrap();
    let y = device.blas().scal(2.0, y).unwrap().into_buffer();
    driver.mode(Mode::Eager);
    assert_eq!(down(&device, &y), [22.0; N]);
    drop((x, y, program, device));
    driver.assert_finished();
}

#[test]
fn a_call_that_fails_in_the_middle_is_told_with_its_operation_and_the_next_replay_works() {
    let driver = session();
    let device = device(1);
    let (program, norm) = program(&device);
    let x = up(&device, vec![1.0f32; N]);
    let y = up(&device, vec![0.0f32; N]);
    drop(program.replay((&x,), (up(&device, vec![0.0f32; N]),)).unwrap().await_result().unwrap());
    is_done(&device);
    driver.fail("cublasAxpyEx_64", 0, 14);
    let error = program.replay((&x,), (y,)).unwrap_err();
    driver.clear();
    assert_eq!(error.error.site().and_then(windlass::error::Site::op), Some("axpy"), "{}", error.error);
    let y: DeviceBuffer<f32> = error.back.unwrap().0.into_buffer();
    let read = device.download(&y).unwrap_err();
    assert!(matches!(read, Error::Upstream { .. }), "{read}");
    let y = device.fill(y, 0.0).unwrap().into_output();
    let done = program.replay((&x,), (y,)).unwrap().await_result().unwrap();
    assert_eq!((down(&device, &done.operands.0), done.get(&norm).unwrap()), (vec![2.0; N], 2.0 * (N as f32).sqrt()));
    drop((x, done, program, device));
    driver.assert_finished();
}

#[test]
fn a_program_may_go_while_it_is_replayed() {
    let driver = session();
    let device = device(2);
    let (program, _) = program(&device);
    let (x, y) = (up(&device, vec![1.0f32; N]), up(&device, vec![1.0f32; N]));
    is_done(&device);
    driver.mode(Mode::Manual);
    let (y,) = program.replay((&x,), (y,)).unwrap().into_operands().unwrap();
    drop((program, x));
    driver.mode(Mode::Eager);
    assert_eq!(down(&device, &y), [3.0; N]);
    drop((y, device));
    driver.assert_finished();
}
