//! A replay in the order of everything else, and of other replays.

use super::recorders;
use crate::common::{Gate, assert_back_at, concurrent_devices, down, holdings, host, is_host, map, up};
use std::time::Duration;
use windlass::{Device, DeviceBuffer, Program, Result};

/// `y = 2 y + a`, by way of a temporary.
fn step(device: &Device, n: usize) -> Program {
    let (program, ()) = device
        .record(|r| {
            let (a, y) = (r.input::<f64>(n)?, r.operand::<f64>(n)?);
            let t = r.copy(&y, r.uninit(n)?)?.into_output();
            let t = r.blas().axpy(1.0, &a, t)?.into_buffer();
            r.blas().axpy(1.0, &t, y)?.into_buffer();
            Ok(())
        })
        .unwrap();
    program
}

fn replay(program: &Program, a: &DeviceBuffer<f64>, y: DeviceBuffer<f64>) -> DeviceBuffer<f64> {
    let (y,) = program.replay((a,), (y,)).unwrap().into_operands().unwrap();
    y.into_buffer()
}

#[test]
fn a_replay_follows_what_was_before_it_and_is_followed() {
    for device in recorders() {
        let (n, program) = (100, step(&device, 100));
        let a = up(&device, vec![1.0; n]);
        let mut y = up(&device, vec![0.0; n]);
        let before = device.stats().dispatches;
        for _ in 0..10 {
            y = replay(&program, &a, y);
            y = device.blas().scal(0.5, y).unwrap().into_buffer();
        }
        assert_eq!(device.stats().dispatches - before, 20, "a replay is one dispatch");
        // y -> (2 y + 1) / 2
        assert_eq!(down(&device, &y), vec![5.0; n]);
    }
}

#[test]
fn threads_replay_one_program() {
    for device in concurrent_devices().into_iter().filter(|device| !device.is_isolated()) {
        let (n, program) = (1000, step(&device, 1000));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (device, program) = (&device, &program);
                scope.spawn(move || {
                    let a = up(device, vec![f64::from(thread); n]);
                    let mut y = up(device, vec![0.0; n]);
                    for _ in 0..20 {
                        y = replay(program, &a, y);
                    }
                    // The sum of 2^i for i below 20, times a.
                    assert_eq!(down(device, &y), vec![f64::from(thread) * 1_048_575.0; n]);
                });
            }
        });
    }
}

#[test]
fn a_program_may_go_while_it_is_replayed() {
    for device in recorders().into_iter().filter(is_host) {
        let base = holdings(&device);
        let gate = Gate::default();
        let program = step(&device, 10);
        let a = up(&device, vec![1.0; 10]);
        let y = if device.info().processors > 1 {
            gate.hold(&device, up(&device, vec![0.0; 10])).into_output()
        } else {
            up(&device, vec![0.0; 10])
        };
        let y = replay(&program, &a, y);
        drop((program, a));
        gate.open();
        assert_eq!(down(&device, &y), [1.0; 10]);
        drop(y);
        assert_back_at(&device, base);
    }
}

#[test]
fn a_step_that_fails_is_named_and_the_next_replay_is_as_good_as_the_first() {
    let device = host(2).open().unwrap();
    let fail = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let failing = fail.clone();
    let (program, ()) = device
        .record(|r| {
            let x = r.output::<f64>(4)?;
            let x = r.fill(x, 1.0)?.into_output();
            let body = move |x: &mut [f64]| {
                assert!(!failing.load(std::sync::atomic::Ordering::SeqCst), "as was asked for");
                x[0] = 5.0;
            };
            map(r, x.into_buffer(), body).into_output();
            Ok(())
        })
        .unwrap();
    let x = device.uninit::<f64>(4).unwrap();
    let rejected = program.replay((), (x,)).unwrap().await_result().unwrap_err();
    assert!(matches!(rejected.error, windlass::Error::Panicked { .. }), "{}", rejected.error);
    assert_eq!(rejected.error.site().and_then(windlass::error::Site::op), Some("map"));
    let x = rejected.back.unwrap().0;
    let read = device.download(&x).unwrap().await_result().unwrap_err();
    assert!(matches!(read, windlass::Error::Upstream { .. }), "{}", read);
    fail.store(false, std::sync::atomic::Ordering::SeqCst);
    let (x,) = program.replay((), (x,)).unwrap().await_result().unwrap().operands;
    assert_eq!(down(&device, &x), [5.0, 1.0, 1.0, 1.0]);
}

#[test]
fn after_a_rebuild_a_program_is_stale_and_is_recorded_again() -> Result<()> {
    // In a worker it lives on.
    for device in recorders().into_iter().filter(|device| !device.is_isolated()) {
        let program = step(&device, 4);
        device.rebuild(Duration::from_secs(60))?;
        let (a, y) = (up(&device, vec![1.0; 4]), up(&device, vec![1.0; 4]));
        let rejected = program.replay((&a,), (y,)).unwrap_err();
        assert!(matches!(rejected.error, windlass::Error::GpuRefStale { .. }), "{}", rejected.error);
        let y = rejected.back.unwrap().0;
        assert_eq!(down(&device, &replay(&step(&device, 4), &a, y.into_buffer())), [3.0; 4]);
    }
    Ok(())
}
