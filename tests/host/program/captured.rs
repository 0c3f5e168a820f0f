//! Memory that a program reads while its owner still has it.

use super::recorders;
use crate::common::{
    Gate, captures, concurrent_devices, devices, down, halves_that_are_overwritten_beside_replays, host, map, refused,
    up,
};
use windlass::{Device, DeviceBuffer, Error, Program};

/// `y += x`, where `x` is captured.
fn adds(device: &Device, x: &DeviceBuffer<f64>) -> Program {
    let recorded = device.record(|r| r.blas().axpy(1.0, x, r.operand::<f64>(x.len())?).map(drop).map_err(Error::from));
    recorded.unwrap().0
}

fn replayed(device: &Device, program: &Program, len: usize) -> Vec<f64> {
    let (y,) = program.replay((), (up(device, vec![0.0; len]),)).unwrap().into_operands().unwrap();
    down(device, &y)
}

#[test]
fn a_replay_that_would_write_what_its_program_reads_is_refused_with_the_buffers_back() {
    for device in devices() {
        let x = up(&device, vec![1.0, 2.0, 3.0, 4.0]);
        let program = adds(&device, &x);
        let rejected = program.replay((), (x,)).unwrap_err();
        let (argument, reason) = refused(&rejected.error);
        assert!(argument == "operand 0" && reason.contains("captured 0"), "{}", rejected.error);
        let x = rejected.back.unwrap().0.into_buffer();
        assert_eq!(down(&device, &x), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(replayed(&device, &program, 4), [1.0, 2.0, 3.0, 4.0]);
    }
}

#[test]
fn a_part_of_what_is_read_is_refused_by_bind_and_by_two_independent_steps_as_well() {
    for device in devices() {
        let x = up(&device, vec![1.0; 8]);
        let (mut program, ()) = device
            .record(|r| {
                let (y, z) = (r.operand::<f64>(4)?, r.operand::<f64>(4)?);
                r.blas().axpy(1.0, x.slice(..4)?, y)?.into_buffer();
                r.blas().scal(2.0, z)?.into_buffer();
                Ok(())
            })
            .unwrap();
        let y = || up(&device, vec![0.0; 4]);
        let rejected = program.replay((), (y(), x.narrow(3..7).unwrap())).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "operand 1");
        let (_, z) = rejected.back.unwrap();
        // Beside what is read.
        let (_, z) =
            program.replay((), (y(), z.into_buffer().widen().narrow(4..8).unwrap())).unwrap().into_operands().unwrap();
        program.bind(0, z.buffer()).unwrap();
        let rejected = program.replay((), (z, y())).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "operand 0");
        let (z, _) = rejected.back.unwrap();
        assert_eq!(down(&device, &z.into_buffer().widen()), [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_from_a_file_is_refused_what_it_reads_as_well() {
    let device = host(2).open().unwrap();
    let x = up(&device, vec![1.0; 4]);
    let path = std::env::temp_dir().join(format!("windlass-captured-{}", std::process::id()));
    adds(&device, &x).save(&path).unwrap();
    let program = Program::load(&device, &path, (&x,)).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(refused(&program.replay((), (x,)).unwrap_err().error).0, "operand 0");
}

#[test]
fn what_is_written_through_parts_and_through_the_joined_whole_is_read_in_its_turn() {
    for device in devices() {
        let x = up(&device, vec![1.0, 2.0]);
        let program = adds(&device, &x);
        let (left, right) = x.split_at(1).unwrap();
        let left = device.fill(left, 20.0).unwrap().into_output();
        assert_eq!(replayed(&device, &program, 2), [20.0, 2.0]);
        let x = left.into_buffer().join(right).unwrap();
        let x = device.fill(x, 200.0).unwrap().into_output();
        assert_eq!(replayed(&device, &program, 2), [200.0, 200.0]);
        drop(x);
        assert_eq!(replayed(&device, &program, 2), [200.0, 200.0]);
    }
}

#[test]
fn a_replay_waits_for_a_writer_of_a_part_and_a_writer_for_the_replay() {
    let device = host(4).open().unwrap();
    let x = up(&device, vec![1.0, 2.0, 3.0]);
    let (early, late) = (Gate::default(), Gate::default());
    let (program, ()) = device
        .record(|r| {
            let y = r.operand::<f64>(3)?;
            // It holds the replay up after the replay has begun.
            let y = late.hold(r, y.into_buffer()).into_output();
            r.blas().axpy(1.0, &x, y)?.into_buffer();
            Ok(())
        })
        .unwrap();
    let (left, right) = x.split_at(1).unwrap();
    let left = early.hold(&device, left).into_output();
    let left = map(&device, left, |x| x[0] = 10.0).into_output();
    let replay = program.replay((), (up(&device, vec![0.0; 3]),)).unwrap();
    let right = map(&device, right, |x| x.fill(0.0));
    assert!(!replay.is_ready());
    early.open();
    late.await_arrivals(1);
    assert!(!right.is_ready(), "written while a replay reads it");
    late.open();
    let (y,) = replay.await_result().unwrap().operands;
    assert_eq!(down(&device, &y), [10.0, 2.0, 3.0]);
    let x = left.join(right.into_output()).unwrap();
    assert_eq!(down(&device, &x), [10.0, 0.0, 0.0]);
}

#[test]
fn a_writer_of_a_part_that_failed_fails_the_replay_until_all_is_overwritten() {
    let device = host(2).open().unwrap();
    let x = up(&device, vec![1.0, 2.0]);
    let program = adds(&device, &x);
    let (left, right) = x.split_at(1).unwrap();
    let left = map(&device, left, |_| panic!("as was asked for")).await_result().unwrap_err().back;
    let right = map(&device, right, |x| x[0] = 5.0).into_output();
    assert_eq!(down(&device, &right), [5.0], "a part is not hurt by the other");
    let rejected = program.replay((), (up(&device, vec![0.0; 2]),)).unwrap().await_result().unwrap_err();
    assert!(matches!(rejected.error, Error::Upstream { .. }), "{}", rejected.error);
    let x = left.unwrap().0.join(right).unwrap();
    let x = device.fill(x, 3.0).unwrap().into_output();
    assert_eq!(replayed(&device, &program, 2), [3.0, 3.0]);
    drop(x);
}

/// `WINDLASS_TEST_SEEDS=20000` runs as many histories.
#[test]
fn random_histories_of_captured_memory_equal_the_sequential_model() {
    let seeds = std::env::var("WINDLASS_TEST_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    for device in devices() {
        let compared: usize = (1..=seeds)
            .map(|seed| {
                println!("seed {seed}");
                captures(&device, seed, 60)
            })
            .sum();
        assert!(compared as u64 > 5 * seeds, "{compared} comparisons");
    }
}

#[test]
fn halves_are_overwritten_beside_replays_on_another_thread() {
    for device in concurrent_devices() {
        halves_that_are_overwritten_beside_replays(&device, 1000, 3000);
    }
}

/// An index out of range is told by each replay that meets it: there is no way to take the output without the verdict.
#[test]
fn the_verdict_of_a_step_comes_with_each_replay() {
    for device in recorders() {
        let (program, verdict) = device
            .record(|r| {
                let (x, places) = (r.input::<f32>(3)?, r.input::<i64>(2)?);
                let ((taken,), verdict) = r.take(x, places, 0)?.into_parts();
                r.update(r.operand::<f32>(2)?, &taken, |y, taken| y + taken).map(drop)?;
                r.later(verdict)
            })
            .unwrap();
        let x = up(&device, vec![1.0f32, 2.0, 3.0]);
        let replay = |places: [i64; 2]| {
            let (places, y) = (up(&device, places.to_vec()), up(&device, vec![10.0f32; 2]));
            program.replay((&x, &places), (y,)).unwrap().await_result().unwrap()
        };
        let good = replay([2, -3]);
        good.get(&verdict).unwrap();
        assert_eq!(down(&device, &good.operands.0), [13.0, 11.0]);
        let told = replay([0, 7]).get(&verdict).unwrap_err();
        assert!(told.to_string().contains("number 1 of them is out of range"), "{told}");
    }
}
