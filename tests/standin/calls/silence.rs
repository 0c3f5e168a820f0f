//! What costs no call at all.

use super::device;
use crate::common::{self, up};
use crate::standin::{Mode, session};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use windlass::{
    Device, DeviceBuffer, Result,
    op::{Cost, Enqueue, Op, Slices, SlicesMut, Spans},
    trace::Trace,
};

#[test]
fn what_is_known_to_be_complete_is_awaited_without_a_call() {
    let driver = session();
    let device = device(2);
    let (x, y) = (up(&device, vec![1.0f32; 8]), up(&device, vec![1.0f32; 8]));
    let sum = device.blas().axpy(1.0, &x, y).unwrap();
    let norm = device.blas().dot(&x, &x).unwrap();
    let data = device.download(&x).unwrap();
    assert!(common::eventually(5, || sum.is_ready() && norm.is_ready() && data.is_ready()));
    driver.silently("asking again", || assert!(sum.is_ready() && norm.is_ready() && data.is_ready()));
    let sum = driver.silently("taking a buffer", || sum.await_result().unwrap());
    driver.silently("taking a scalar", || assert_eq!(norm.await_result().unwrap(), 8.0));
    driver.silently("taking data", || assert_eq!(data.await_result().unwrap(), [1.0; 8]));
    drop((x, sum, device));
    driver.assert_finished();
}

#[test]
fn what_is_refused_has_called_nothing() {
    let driver = session();
    let device = device(2);
    let (x, y) = (up(&device, vec![1.0f32; 8]), up(&device, vec![1.0f32; 9]));
    let (other, fresh) = (Device::host().unwrap(), device.uninit::<f32>(8).unwrap());
    let theirs = up(&other, vec![1.0f32; 8]);
    let y = driver.silently("two lengths", || device.blas().axpy(1.0, &x, y).unwrap_err().back.unwrap().0);
    let fresh = driver.silently("no contents", || device.blas().axpy(1.0, &x, fresh).unwrap_err().back.unwrap().0);
    driver.silently("a foreign buffer", || device.blas().dot(&theirs, &x).map(drop).unwrap_err());
    driver.silently("past the end", || drop(x.as_in().slice(4..9).map(|_| ()).unwrap_err()));
    driver.silently("an impossible length", || device.zeros::<f64>(usize::MAX).map(drop).unwrap_err());
    drop((x, y, fresh, device));
    driver.assert_finished();
}

#[test]
fn a_drop_calls_nothing() {
    let driver = session();
    let device = device(4);
    driver.mode(Mode::Manual);
    let (x, y) = (device.fill(device.uninit(8).unwrap(), 1.0f32).unwrap(), device.zeros::<f32>(8).unwrap());
    let x = x.into_output();
    let sum = device.blas().axpy(1.0, &x, y).unwrap();
    let (norm, data) = (device.blas().nrm2(&x).unwrap(), device.download(&x).unwrap());
    let (idle, shared) = (device.uninit::<f64>(8).unwrap(), device.zeros::<f64>(8).unwrap().share());
    let read = device.blas().axpy(1.0, &shared, device.zeros(8).unwrap()).unwrap();
    driver.silently("dropping a pending with its buffers", || drop(sum));
    driver.silently("dropping a scalar in flight", || drop(norm));
    driver.silently("dropping a download in flight", || drop(data));
    driver.silently("dropping a buffer in flight", || drop(x));
    driver.silently("dropping an idle buffer", || drop(idle));
    driver.silently("dropping shared handles", || drop((shared.clone(), shared)));
    driver.silently("forgetting a pending", || common::forget(read));
    driver.silently("dropping a device", || drop(device));
    driver.assert_finished();
}

/// Does nothing, and counts how often it is asked for its cost.
struct Asked(Arc<AtomicU32>);

impl Op for Asked {
    const NAME: &'static str = "asked";
    type Reads = ();
    type Output = DeviceBuffer<f64>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(f64,)>) -> Result<()> {
        Ok(())
    }
    fn cost(&self) -> Cost {
        self.0.fetch_add(1, Relaxed);
        Cost { flops: 1, bytes: 8 }
    }
    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Ok(())
    }
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Ok(())
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

struct Listener;

impl Trace for Listener {}

#[test]
fn an_operation_is_not_asked_for_its_cost_where_nobody_is_told() {
    let driver = session();
    for listens in [false, true] {
        let builder = Device::builder().cuda(0).slots(1);
        let builder = if listens { builder.trace(Arc::new(Listener)) } else { builder };
        let (device, asked) = (builder.open().unwrap(), Arc::new(AtomicU32::new(0)));
        let x = up(&device, [1.0f64]);
        let x = device.dispatch(Asked(asked.clone()), (), (x,)).unwrap().await_result().unwrap();
        device.synchronize(common::LONG).unwrap();
        assert_eq!(asked.load(Relaxed) > 0, listens);
        drop((x, device));
        driver.assert_finished();
    }
}
