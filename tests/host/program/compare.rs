//! A program on two devices, step by step.

use super::recorders;
use crate::common::{Map, columns, down, refused, up};
use std::sync::atomic::{AtomicU64, Ordering};
use windlass::blas::Gemv;
use windlass::{
    Device, DeviceBuffer, Error, Result,
    op::{Op, Slices, SlicesMut, Spans, Wire},
};

/// Adds a half every second time it runs.
#[derive(serde::Serialize, serde::Deserialize)]
struct Unsteady;

impl Op for Unsteady {
    const NAME: &'static str = "unsteady";
    type Reads = ();
    type Output = DeviceBuffer<f64>;
    type Raw = ();
    fn check(&self, (): &Spans<()>, _: &Spans<(f64,)>) -> Result<()> {
        Ok(())
    }
    fn host(&self, (): Slices<'_, Self>, (x,): SlicesMut<'_, Self>) -> Result<()> {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let extra = if RUNS.fetch_add(1, Ordering::SeqCst) % 2 == 1 { 0.5 } else { 0.0 };
        x.iter_mut().skip(1).for_each(|x| *x += extra);
        Ok(())
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }
}

#[test]
fn the_same_program_on_two_devices_is_the_same_after_each_step() {
    for device in recorders() {
        let captured = up(&device, vec![1.0, 2.0]);
        let (mut program, _) = device
            .record(|r| {
                let (a, x) = (r.input::<f64>(4)?, r.operand::<f64>(2)?);
                let t = r.blas().gemv(Gemv::new(), columns(a.buffer(), 2, 2), &captured, r.uninit(2)?)?.into_buffer();
                let x = r.blas().axpy(1.0, &t, x)?.into_buffer();
                let norm = r.later(r.blas().nrm2(&x)?)?;
                r.copy(&t, r.output::<f64>(2)?)?.into_output();
                Ok(norm)
            })
            .unwrap();
        let other = Device::host().unwrap();
        let (a, x) = (up(&device, vec![2.0, 0.0, 0.0, 3.0]), up(&device, vec![1.0, 1.0]));
        let found = program.compare(&other, (&a,), (x, device.uninit::<f64>(2).unwrap())).unwrap();
        let steps: Vec<_> = found.differences.iter().map(|one| (one.step, one.op, one.largest)).collect();
        assert_eq!(steps, [(0, "gemv", 0.0), (1, "axpy", 0.0), (3, "copy", 0.0)], "{found}");
        assert!(found.first_beyond(0.0).is_none());
        let x = up(&device, vec![0.0, 0.0]);
        let done = program.replay((&a,), (x, device.uninit::<f64>(2).unwrap())).unwrap().await_result().unwrap();
        assert_eq!((down(&device, &done.operands.0), down(&device, &captured)), (vec![2.0, 6.0], vec![1.0, 2.0]));
    }
}

#[test]
fn the_first_step_that_differs_is_named_with_how_far_and_where() {
    let device = Device::host().unwrap();
    let (mut program, ()) = device
        .record(|r| {
            let x = r.blas().scal(2.0, r.operand::<f64>(3)?)?.into_buffer();
            let x = r.labelled("the culprit").dispatch(Unsteady, (), (x,))?.into_output();
            r.blas().scal(2.0, x).map(drop).map_err(Into::into)
        })
        .unwrap();
    let x = up(&device, vec![4.0, 1.0, 1.0]);
    let found = program.compare(&Device::host().unwrap(), (), (x,)).unwrap();
    let first = found.first_beyond(1e-9).unwrap();
    assert_eq!((first.step, first.op, first.label), (1, "unsteady", Some("the culprit")));
    assert_eq!((first.largest, first.relative, first.at, first.output), (0.5, 0.5 / 8.0, 1, 0));
    assert_eq!(found.worst().unwrap().relative, 0.5 / 8.0, "{found}");
    assert_eq!(found.differences[2].largest, 1.0, "it is seen in what follows");
}

#[test]
fn a_step_that_cannot_cross_is_told_with_its_reason() {
    let device = Device::host().unwrap();
    let (mut program, ()) = device
        .record(|r| {
            let x = r.operand::<f64>(2)?;
            r.dispatch(Map::new(|_: &mut [f64]| Ok(())), (), (x.into_buffer(),)).map(drop).map_err(Into::into)
        })
        .unwrap();
    let failure = program.compare(&Device::host().unwrap(), (), (up(&device, vec![1.0, 2.0]),)).unwrap_err();
    assert!(matches!(failure.error, Error::Unsupported { .. }), "{failure}");
    assert!(failure.to_string().contains("Op::wire"), "{failure}");
    let failure = program.compare(&Device::host().unwrap(), (), ()).unwrap_err();
    assert!(matches!(failure.error, Error::Unsupported { .. }) || refused(&failure.error).0 == "writes", "{failure}");
}
