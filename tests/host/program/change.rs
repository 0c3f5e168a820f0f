//! Other scalars, other buffers, and the step that fails.

use super::recorders;
use crate::common::{columns, down, host, refused, up};
use windlass::blas::Gemv;
use windlass::{Device, DeviceBuffer, Error, Program};

/// `x = 3 x`, then `x = 2 x`, under labels.
fn twice(device: &Device) -> (Program, DeviceBuffer<f64>) {
    let recorded = device.record(|r| {
        let x = r.operand::<f64>(2)?;
        let x = r.labelled("three").blas().scal(3.0, x)?.into_buffer();
        Ok(r.labelled("two").blas().scal(2.0, x)?.into_buffer())
    });
    recorded.unwrap()
}

fn replay(device: &Device, program: &Program) -> Vec<f64> {
    let (x,) = program.replay((), (up(device, vec![1.0, -1.0]),)).unwrap().into_operands().unwrap();
    down(device, &x)
}

#[test]
fn a_step_gets_another_scalar_and_replays_before_that_have_the_old_one() {
    for device in recorders() {
        let (mut program, mut x) = twice(&device);
        assert_eq!((program.step("three"), program.step("two"), program.step("four")), (Some(0), Some(1), None));
        let before = program.replay((), (up(&device, vec![1.0, 1.0]),)).unwrap();
        for factor in [0.5, 7.0, 1.0] {
            x = program.set(1, |r| Ok(r.blas().scal(factor, x)?.into_buffer())).unwrap();
            for _ in 0..3 {
                assert_eq!(replay(&device, &program), [3.0 * factor, -3.0 * factor]);
            }
        }
        assert_eq!(down(&device, &before.await_result().unwrap().operands.0), [6.0, 6.0]);
    }
}

#[test]
fn what_is_no_other_scalar_is_refused_and_the_program_is_as_it_was() {
    for device in recorders() {
        let (mut program, x) = twice(&device);
        let other = up(&device, vec![1.0; 2]);
        let (x, why) = {
            let mut kept = Some(x);
            let mut refusals = Vec::new();
            let mut attempt =
                |step: usize, body: &dyn Fn(&windlass::Recorder, DeviceBuffer<f64>) -> DeviceBuffer<f64>| {
                    // An alias, because a refusal takes what it was given.
                    // SAFETY: a buffer of a recording, which nothing reads or writes.
                    let x = unsafe { kept.as_ref().unwrap().alias() };
                    let error = program.set(step, |r| Ok(body(r, x))).unwrap_err();
                    refusals.push(refused(&error));
                };
            attempt(2, &|r, x| r.blas().scal(1.0, x).unwrap().into_buffer());
            attempt(0, &|r, x| r.fill(x, 1.0).unwrap().into_buffer());
            attempt(0, &|r, x| r.blas().scal(1.0, x.narrow(0..1).unwrap()).unwrap().into_buffer());
            attempt(0, &|r, x| {
                let x = r.blas().scal(1.0, x).unwrap().into_buffer();
                r.blas().scal(1.0, x).unwrap().into_buffer()
            });
            attempt(0, &|_, x| x);
            attempt(0, &|r, x| r.copy(&other, x).unwrap().into_buffer());
            (kept.take(), refusals)
        };
        let named: Vec<&str> = why.iter().map(|(argument, _)| argument.as_str()).collect();
        assert_eq!(named, ["step", "body", "body", "body", "body", "body"], "{why:?}");
        let named = program.set(0, |r| r.uninit::<f64>(2)).unwrap_err();
        assert_eq!(refused(&named).0, "memory");
        let panicked = program.set(0, |_| -> windlass::Result<()> { panic!("in the body") }).unwrap_err();
        assert!(matches!(panicked, Error::Panicked { .. }));
        let ended = device.blas().scal(1.0, x.unwrap()).unwrap_err();
        assert!(refused(&ended.error).1.contains("has ended"), "{}", ended.error);
        assert_eq!(replay(&device, &program), [6.0, -6.0]);
    }
}

#[test]
fn another_buffer_is_bound_in_the_place_of_one_that_was_captured() {
    for device in recorders() {
        let (one, other) = (up(&device, vec![1.0, 2.0]), up(&device, vec![0.0, 10.0, 20.0]));
        let (mut program, ()) =
            device.record(|r| r.copy(&one, r.output::<f64>(2)?).map(drop).map_err(Into::into)).unwrap();
        let run = |program: &Program| {
            let y = device.uninit::<f64>(2).unwrap();
            let (y,) = program.replay((), (y,)).unwrap().into_operands().unwrap();
            down(&device, &y)
        };
        assert_eq!(run(&program), [1.0, 2.0]);
        program.bind(0, other.as_in().slice(1..3).unwrap()).unwrap();
        drop((one, other));
        assert_eq!(run(&program), [10.0, 20.0], "the program keeps it");
        let short = up(&device, vec![1.0]);
        assert_eq!(refused(&program.bind(0, &short).unwrap_err()).0, "buffer");
        assert_eq!(refused(&program.bind(1, &short).unwrap_err()).0, "captured");
    }
}

/// A window that an operation reads is captured by itself: a slice, and another slice of the same buffer.
#[test]
fn captured_windows_have_the_same_numbers_everywhere() {
    for device in recorders() {
        let buffer = up(&device, vec![1.0, 2.0, 3.0, 4.0]);
        let (low, high) = (buffer.as_in().slice(0..2).unwrap(), buffer.as_in().slice(1..4).unwrap());
        let (mut program, ()) = device
            .record(|r| {
                r.copy(high, r.output::<f64>(3)?).map(drop)?;
                r.copy(low, r.output::<f64>(2)?).map(drop)?;
                r.copy(high, r.output::<f64>(3)?).map(drop)?;
                Ok(())
            })
            .unwrap();
        let dot = program.to_dot();
        assert!(dot.contains("reads captured 0 [0..24]") && dot.contains("reads captured 1 [0..16]"), "{dot}");
        assert!(!dot.contains("captured 2"), "{dot}");
        let run = |program: &Program| {
            let (x, y, z) = (device.uninit::<f64>(3).unwrap(), device.uninit(2).unwrap(), device.uninit(3).unwrap());
            let (x, y, z) = program.replay((), (x, y, z)).unwrap().into_operands().unwrap();
            [down(&device, &x), down(&device, &y), down(&device, &z)].concat()
        };
        assert_eq!(run(&program), [2.0, 3.0, 4.0, 1.0, 2.0, 2.0, 3.0, 4.0]);
        let other = up(&device, vec![0.0, 7.0, 8.0, 0.0]);
        let (argument, reason) = refused(&program.bind(2, &other).unwrap_err());
        assert!(argument == "captured" && reason == "there is no captured window 2; the program has 2", "{reason}");
        assert!(refused(&program.bind(1, &other).unwrap_err()).1.contains("the captured window has 16 bytes"));
        program.bind(1, other.as_in().slice(1..3).unwrap()).unwrap();
        assert_eq!(run(&program), [2.0, 3.0, 4.0, 7.0, 8.0, 2.0, 3.0, 4.0]);
    }
}

/// Adds up, and leaves the sum times a scalar: of which the scalar is known only to `finish`.
struct Scaled<R, const KEY: u8>(f64, std::marker::PhantomData<fn() -> R>);

impl<R, const KEY: u8> Scaled<R, KEY> {
    fn by(factor: f64) -> Self {
        Scaled(factor, std::marker::PhantomData)
    }
}

macro_rules! scaled { ($($number:ty: $finish:expr;)*) => { $(
    impl<const KEY: u8> windlass::op::Op for Scaled<$number, KEY> {
        const NAME: &'static str = "scaled";
        type Reads = (f64,);
        type Output = $number;
        type Raw = $number;
        fn check(&self, _: &windlass::op::Spans<(f64,)>, (): &windlass::op::Spans<()>) -> windlass::Result<()> {
            Ok(())
        }
        fn host(
            &self,
            (x,): windlass::op::Slices<'_, Self>,
            (): windlass::op::SlicesMut<'_, Self>,
        ) -> windlass::Result<$number> {
            Ok(x.iter().sum::<f64>() as $number)
        }
        fn finish(&self, sum: $number) -> windlass::Result<$number> {
            Ok($finish(sum, self.0))
        }
    }
)* } }
scaled! {
    f64: |sum: f64, factor: f64| sum * factor;
    u64: |sum: u64, factor: f64| sum * factor as u64;
}

/// Of a step that is replaced, each replay gives what its own operation makes of it.
#[test]
fn a_result_is_that_of_the_operation_that_the_replay_ran() {
    let device = host(2).open().unwrap();
    let (mut program, (x, recorded)) = device
        .record(|r| {
            let x = r.input::<f64>(2)?;
            let recorded = r.later(r.dispatch(Scaled::<f64, 0>::by(2.0), (x.buffer(),), ())?)?;
            Ok((x, recorded))
        })
        .unwrap();
    let given = up(&device, vec![1.0, 2.0]);
    let replay = |program: &Program| program.replay((&given,), ()).unwrap();
    let done = |pending: windlass::PendingDispatch<windlass::program::Replayed<()>, _>| pending.await_result().unwrap();
    let before = done(replay(&program));
    let submitted = replay(&program);
    let changed = program.set(0, |r| r.later(r.dispatch(Scaled::<f64, 0>::by(10.0), (x.buffer(),), ())?)).unwrap();
    let after = done(replay(&program));
    for later in [&recorded, &changed] {
        assert_eq!(before.get(later).unwrap(), 6.0);
        assert_eq!(after.get(later).unwrap(), 30.0);
    }
    let submitted = done(submitted);
    assert_eq!(submitted.get(&recorded).unwrap(), 6.0, "submitted before");
    let again = program.set(0, |r| r.later(r.dispatch(Scaled::<f64, 0>::by(-1.0), (x.buffer(),), ())?)).unwrap();
    for later in [&recorded, &changed, &again] {
        assert_eq!(done(replay(&program)).get(later).unwrap(), -3.0);
        assert_eq!(after.get(later).unwrap(), 30.0);
    }
    let bisected = program.bisect((&given,), ()).unwrap();
    assert_eq!((bisected.get(&recorded).unwrap(), bisected.get(&again).unwrap()), (-3.0, -3.0));
}

/// Names are no types: of two operations with the same name, neither takes the other's place, nor reads its result.
#[test]
fn an_operation_of_another_type_is_refused_whatever_its_name_is() {
    let device = host(2).open().unwrap();
    let (mut program, (x, later)) = device
        .record(|r| {
            let x = r.input::<f64>(2)?;
            let later = r.later(r.dispatch(Scaled::<u64, 0>::by(2.0), (x.buffer(),), ())?)?;
            Ok((x, later))
        })
        .unwrap();
    let mut leaked = None;
    let error = program
        .set(0, |r| {
            leaked = Some(r.later(r.dispatch(Scaled::<f64, 0>::by(2.0), (x.buffer(),), ())?)?);
            Ok(())
        })
        .unwrap_err();
    let (argument, reason) = refused(&error);
    assert!(argument == "body" && reason.contains("of another type") && reason.contains("`scaled`"), "{reason}");
    let same_result = program.set(0, |r| r.dispatch(Scaled::<u64, 1>::by(2.0), (x.buffer(),), ()).map(drop));
    assert_eq!(refused(&same_result.unwrap_err()).0, "body");
    let done = program.replay((&up(&device, vec![1.0, 2.0]),), ()).unwrap().await_result().unwrap();
    assert_eq!(done.get(&later).unwrap(), 6);
    assert_eq!(refused(&done.get(&leaked.unwrap()).unwrap_err()).0, "later", "a u64's bits are no f64");
}

/// The step has no result, so what `body` records for it leaves none that could be read.
#[test]
fn a_result_in_the_place_of_a_step_without_one_is_refused() {
    for device in recorders() {
        let (mut program, x) = twice(&device);
        let mut leaked = None;
        let error = program
            .set(0, |r| {
                let norm = r.blas().nrm2(&x)?;
                assert!(matches!(r.blas().nrm2(&x)?.await_result(), Err(Error::Unsupported { .. })));
                leaked = Some(r.later(norm)?);
                Ok(())
            })
            .unwrap_err();
        assert_eq!(refused(&error).0, "body");
        let done = program.replay((), (up(&device, vec![1.0, -1.0]),)).unwrap().await_result().unwrap();
        assert!(done.get(&leaked.unwrap()).is_err());
    }
}

#[test]
fn step_by_step_it_is_what_a_replay_is() {
    for device in recorders() {
        let (mut program, norm) = device
            .record(|r| {
                let (a, x, y) = (r.input::<f64>(4)?, r.input::<f64>(2)?, r.output::<f64>(2)?);
                let t = r.blas().gemv(Gemv::new(), columns(a.buffer(), 2, 2), &x, r.uninit(2)?)?.into_buffer();
                let norm = r.later(r.blas().nrm2(&t)?)?;
                r.copy(&t, y)?.into_output();
                Ok(norm)
            })
            .unwrap();
        let (a, x) = (up(&device, vec![3.0, 0.0, 0.0, 4.0]), up(&device, vec![1.0, 1.0]));
        let done = program.bisect((&a, &x), (device.uninit::<f64>(2).unwrap(),)).unwrap();
        assert_eq!((done.get(&norm).unwrap(), down(&device, &done.operands.0)), (5.0, vec![3.0, 4.0]));
        let done = program.replay((&a, &x), done.operands).unwrap().await_result().unwrap();
        assert_eq!((done.get(&norm).unwrap(), down(&device, &done.operands.0)), (5.0, vec![3.0, 4.0]));
    }
}

#[test]
fn the_step_that_fails_is_found() {
    let device = host(2).open().unwrap();
    let (mut program, ()) = device
        .record(|r| {
            let x = r.fill(r.output::<f64>(2)?, 1.0)?.into_output();
            let x = r.blas().scal(2.0, x)?.into_buffer();
            let broken = crate::common::Map::new(|_: &mut [f64]| Err(Error::invalid("x", "broken on purpose")));
            let x = r.labelled("the culprit").dispatch(broken, (), (x,))?.into_output();
            r.blas().scal(2.0, x).map(drop).map_err(Into::into)
        })
        .unwrap();
    let failure = program.bisect((), (device.uninit::<f64>(2).unwrap(),)).unwrap_err();
    assert_eq!((failure.step, failure.op, failure.label), (2, "map", Some("the culprit")));
    assert_eq!(refused(&failure.error).1, "broken on purpose");
    assert!(failure.to_string().starts_with("step 2 (`map` of user, \"the culprit\"): "), "{failure}");
}
