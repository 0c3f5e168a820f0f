//! What cannot be recorded or replayed, and says so.

use super::recorders;
use crate::common::{columns, down, holdings, refused, up};
use windlass::blas::Gemv;
use windlass::tensor::Layout;
use windlass::{Device, DeviceBuffer, Error, Program, Uplo};

fn reason(error: &Error) -> &str {
    match error {
        Error::Unsupported { reason, .. } => reason,
        other => panic!("expected Unsupported, got {other:?}"),
    }
}

/// `y = A x`.
fn product(device: &Device) -> Program {
    let recorded = device.record(|r| {
        let (a, x, y) = (r.input::<f64>(4)?, r.input::<f64>(2)?, r.output::<f64>(2)?);
        r.blas().gemv(Gemv::new(), columns(a.buffer(), 2, 2), &x, y)?.into_output();
        Ok(())
    });
    recorded.unwrap().0
}

#[test]
fn other_buffers_than_were_recorded_come_back() {
    for device in recorders() {
        let program = product(&device);
        let (a, x) = (up(&device, vec![1.0f64; 4]), up(&device, vec![1.0f64; 2]));
        let y = || up(&device, vec![0.0f64; 2]);
        let error = program.replay((&a, &a), (y(),)).unwrap_err();
        assert_eq!(refused(&error.error).0, "input 1");
        assert_eq!(error.back.unwrap().0.len(), 2);
        assert_eq!(refused(&program.replay((&a,), (y(),)).unwrap_err().error).0, "reads");
        assert_eq!(refused(&program.replay((&a, &x), ()).unwrap_err()).0, "writes");
        let float = up(&device, vec![1.0f32; 2]);
        assert_eq!(refused(&program.replay((&a, &float), (y(),)).unwrap_err().error).0, "input 1");
        let error = program.replay((&a, &x), (up(&device, vec![0.0f32; 2]),)).unwrap_err();
        assert_eq!(refused(&error.error).0, "operand 0");
        let empty = device.uninit::<f64>(2).unwrap();
        assert_eq!(refused(&program.replay((&a, &empty), (y(),)).unwrap_err().error).0, "input 1");
        let (y,) = program.replay((&a, &x), (y(),)).unwrap().await_result().unwrap().operands;
        assert_eq!(down(&device, &y), [2.0, 2.0]);
    }
}

#[test]
fn what_moves_data_or_waits_cannot_be_recorded() {
    for device in recorders() {
        let held = holdings(&device);
        let upload = device.record(|r| r.upload(vec![1.0f32; 4]).map(drop)).unwrap_err();
        assert!(reason(&upload).contains("`upload` cannot be recorded"), "{upload}");
        let download = device.record(|r| r.download(&r.input::<f32>(4)?).map(drop)).unwrap_err();
        assert!(reason(&download).contains("`download` cannot be recorded"), "{download}");
        let solver = device.record(|r| {
            let a = r.operand::<f64>(4)?.with_layout(Layout::columns(2, 2))?;
            r.solver().cholesky(Uplo::Lower, a).map(drop).map_err(Error::from)
        });
        assert!(reason(&solver.unwrap_err()).contains("cannot be recorded"));
        let nested = device.record(|r| r.record(|_| Ok(())).map(drop)).unwrap_err();
        assert!(reason(&nested).contains("inside another recording"), "{nested}");
        let answer = device.record(|r| r.blas().nrm2(&r.input::<f64>(4)?)?.await_result()).unwrap_err();
        assert!(reason(&answer).contains("Recorder::later"), "{answer}");
        let nothing = device.record(|r| r.later(r.blas().scal(1.0, r.operand::<f64>(4)?)?.into_parts().1)).unwrap_err();
        assert_eq!(refused(&nothing).0, "pending");
        assert_eq!(holdings(&device), held);
    }
}

#[test]
fn an_operation_that_refuses_its_arguments_refuses_them_when_it_is_recorded() {
    for device in recorders() {
        let short = device.record(|r| {
            let (a, x, y) = (r.input::<f64>(4)?, r.input::<f64>(3)?, r.output::<f64>(2)?);
            Ok(r.blas().gemv(Gemv::new(), columns(a.buffer(), 2, 2), &x, y)?.into_output())
        });
        assert_eq!(refused(&short.unwrap_err()).0, "x");
        let unwritten = device.record(|r| {
            let y = r.blas().axpy(1.0, &r.uninit::<f64>(2)?, r.operand::<f64>(2)?)?;
            Ok(y.into_output())
        });
        assert!(refused(&unwritten.unwrap_err()).1.contains("never written"));
        let half = device.record(|r| {
            let (head, _tail) = r.output::<f64>(4)?.into_buffer().split_at(2)?;
            Ok(r.fill(head, 1.0)?.into_output())
        });
        let (argument, reason) = refused(&half.unwrap_err());
        assert!(argument == "operand 0" && reason.contains("only 16 of the 32 bytes"), "{reason}");
    }
}

#[test]
fn buffers_of_a_recording_and_of_the_device_do_not_mix_by_mistake() {
    for device in recorders() {
        let mine = up(&device, vec![1.0f64; 2]);
        let (_, (theirs, written)) = device
            .record(|r| {
                let (x, y) = (r.input::<f64>(2)?, r.operand::<f64>(2)?);
                // The device itself records what it is given of a recording.
                let y = device.blas().axpy(1.0, &x, y)?.into_buffer();
                let back = r.blas().axpy(1.0, &x, up(&device, vec![0.0; 2])).unwrap_err();
                assert!(refused(&back.error).1.contains("Recorder::operand"));
                assert_eq!(down(&device, &back.back.unwrap().0), [0.0; 2]);
                let other = device.blas().axpy(1.0, &x, up(&device, vec![0.0; 2])).unwrap_err();
                assert!(refused(&other.error).1.contains("belongs to a recording"));
                Ok((x, y))
            })
            .unwrap();
        let ended = device.blas().axpy(1.0, &theirs, written).unwrap_err();
        assert!(refused(&ended.error).1.contains("has ended"), "{}", ended.error);
        let mixed = device.blas().axpy(1.0, &theirs, mine).unwrap_err();
        assert!(refused(&mixed.error).1.contains("belongs to a recording"));
        assert!(device.download(&theirs).is_err());
    }
}

/// `x = x + 1`; asked about itself, it panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Panics {
    Capturable,
    Wire,
}

impl windlass::op::Op for Panics {
    const NAME: &'static str = "panics";
    type Reads = ();
    type Output = DeviceBuffer<f64>;
    type Raw = ();
    fn check(&self, (): &windlass::op::Spans<()>, _: &windlass::op::Spans<(f64,)>) -> windlass::Result<()> {
        Ok(())
    }
    fn host(
        &self,
        (): windlass::op::Slices<'_, Self>,
        (x,): windlass::op::SlicesMut<'_, Self>,
    ) -> windlass::Result<()> {
        x.iter_mut().for_each(|x| *x += 1.0);
        Ok(())
    }
    fn finish(&self, (): ()) -> windlass::Result<()> {
        Ok(())
    }
    fn capturable(&self) -> Result<(), &'static str> {
        assert!(*self != Panics::Capturable, "in `capturable`");
        Ok(())
    }
    fn wire() -> Option<windlass::op::Wire<Self>> {
        panic!("in `wire`")
    }
}

#[test]
fn an_operation_that_panics_when_it_is_asked_about_itself_is_refused_with_its_buffers() {
    for device in recorders() {
        let (program, ()) = device
            .record(|r| {
                let x = r.operand::<f64>(2)?;
                let refused = r.dispatch(Panics::Capturable, (), (x.into_buffer(),)).unwrap_err();
                let text = refused.error.to_string();
                let told = if device.is_isolated() { "in `wire`" } else { "in `capturable`" };
                assert!(matches!(&refused.error, Error::Panicked { .. }) && text.contains(told), "{text}");
                let (x,) = refused.back.unwrap();
                r.blas().scal(2.0, x).map(drop).map_err(Error::from)
            })
            .unwrap();
        let done = program.replay((), (up(&device, vec![1.0f64; 2]),)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &done.operands.0), [2.0; 2], "the recording went on");
    }
    let device = crate::common::host(2).open().unwrap();
    let recorded = device
        .record(|r| r.dispatch(Panics::Wire, (), (r.operand::<f64>(2)?.into_buffer(),)).map(drop).map_err(Error::from));
    #[cfg(target_os = "linux")]
    {
        let path = std::env::temp_dir().join(format!("windlass-test-panics-{}", std::process::id()));
        let error = recorded.as_ref().unwrap().0.save(&path).unwrap_err();
        assert!(matches!(error, Error::Panicked { .. }) && !path.exists(), "{error}");
    }
    drop(recorded.unwrap());
}

/// Two handles of one window are `unsafe` to make; one operation must not get both, and a recording says so.
#[test]
fn an_operation_that_writes_what_it_reads_through_an_alias_is_refused() {
    for device in recorders() {
        let recorded = device.record(|r| {
            let x = r.operand::<f64>(4)?;
            // SAFETY: the recording refuses what would break the promise.
            let (low, high) = unsafe { (x.buffer().alias().narrow(0..3)?, x.buffer().alias().narrow(2..4)?) };
            let back = r.copy(low.as_in().slice(0..2)?, high).map_err(Error::from)?;
            r.copy(low.as_in().slice(1..3)?, back.into_output()).map(drop).map_err(Error::from)
        });
        let (argument, reason) = refused(&recorded.unwrap_err());
        assert!(argument == "operand 1" && reason.contains("overlaps"), "{argument}: {reason}");
    }
}

#[test]
fn an_answer_is_of_its_own_program() {
    for device in recorders() {
        let record = || {
            let (program, norm) = device.record(|r| r.later(r.blas().nrm2(&r.input::<f64>(1)?)?)).unwrap();
            (program, norm)
        };
        let ((one, _), (_, other)) = (record(), record());
        let done = one.replay((&up(&device, vec![3.0f64]),), ()).unwrap().await_result().unwrap();
        assert_eq!(refused(&done.get(&other).unwrap_err()).0, "later");
    }
}

#[test]
fn a_program_of_nothing_does_nothing() {
    for device in recorders() {
        let (program, ()) = device.record(|_| Ok(())).unwrap();
        program.replay((), ()).unwrap().await_result().unwrap();
        let (program, ()) = device.record(|r| r.operand::<f32>(3).map(drop)).unwrap();
        let (x,) = program.replay((), (up(&device, [1.0f32; 3]),)).unwrap().await_result().unwrap().operands;
        assert_eq!(down(&device, &x), [1.0; 3]);
    }
}
