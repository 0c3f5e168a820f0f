//! An operation, and a plan, whose drop panics: whoever happens to drop it last goes on.

use super::ops::{AddOne, BLOCKING, ENQUEUE};
use crate::common::{LONG, down, eventually, up};
use crate::standin::{Mode, device, session};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use windlass::{
    Device, DeviceBuffer, Result,
    op::{Built, Enqueue, Op, OpKind, PlanBuilder, PlanKey, Prepare, Slices, SlicesMut, Spans},
};

/// Counts its drops, each of which panics.
#[derive(Clone, Debug)]
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("dropped");
    }
}

fn count(dropped: &AtomicUsize) -> usize {
    dropped.load(Ordering::SeqCst)
}

/// Touches nothing.
struct Holds<const KIND: u8>(#[allow(dead_code, reason = "for its drop")] Bomb);

impl<const KIND: u8> Op for Holds<KIND> {
    const NAME: &'static str = "holds";
    const KIND: OpKind = if KIND == BLOCKING { OpKind::Blocking } else { OpKind::Enqueue };
    type Reads = ();
    type Output = DeviceBuffer<f32>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(f32,)>) -> Result<()> {
        Ok(())
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

fn still_works(device: &Device) {
    let x = device.dispatch(AddOne::<ENQUEUE>::default(), (), (up(device, vec![1.0f32; 4]),)).unwrap();
    assert_eq!(down(device, &x.await_result().unwrap()), [2.0; 4]);
}

/// Given up, so that the ring holds the last of it; then another dispatch, or the housekeeping thread, drops it.
fn each_way<const KIND: u8>() {
    let driver = session();
    let dropped = Arc::new(AtomicUsize::new(0));
    let device = device(1);
    for _ in 0..40 {
        let x = up(&device, vec![1.0f32; 4]);
        drop(device.dispatch(Holds::<KIND>(Bomb(dropped.clone())), (), (x,)).unwrap());
        still_works(&device);
    }
    device.synchronize(LONG).unwrap();
    assert!(eventually(60, || count(&dropped) == 40), "{}", count(&dropped));
    // Waited for, and dropped by who has waited.
    let x = device.zeros::<f32>(4).unwrap();
    let x =
        device.dispatch(Holds::<KIND>(Bomb(dropped.clone())), (), (x.into_buffer(),)).unwrap().await_result().unwrap();
    drop(x);
    assert!(eventually(60, || count(&dropped) == 41));
    still_works(&device);
    drop(device);
    driver.assert_finished();
}

#[test]
fn an_operation_that_is_enqueued_at_once() {
    each_way::<ENQUEUE>();
}

#[test]
fn an_operation_that_blocks() {
    each_way::<BLOCKING>();
}

/// The end of the device drops what is still in the ring.
#[test]
fn what_the_end_of_the_device_drops() {
    let driver = session();
    driver.mode(Mode::Manual);
    let dropped = Arc::new(AtomicUsize::new(0));
    let device = device(2);
    for _ in 0..3 {
        let x = device.zeros::<f32>(4).unwrap();
        drop(device.dispatch(Holds::<ENQUEUE>(Bomb(dropped.clone())), (), (x.into_buffer(),)).unwrap());
    }
    drop(device);
    driver.mode(Mode::Eager);
    driver.step(1000);
    driver.assert_finished();
    assert!(eventually(60, || count(&dropped) == 3), "{}", count(&dropped));
}

/// A plan by its number.
#[derive(Clone, Debug)]
struct Key(u64, Arc<AtomicUsize>);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for Key {}
impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PlanKey for Key {
    type Plan = Bomb;
    fn build(&self, _: &mut PlanBuilder<'_>) -> Result<Built<Bomb>> {
        Ok(Built { plan: Bomb(self.1.clone()), bytes: 1 << 29 })
    }
}

struct Planned(Key);

impl Op for Planned {
    const NAME: &'static str = "planned";
    const PREPARED: bool = true;
    type Reads = ();
    type Output = DeviceBuffer<f32>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(f32,)>) -> Result<()> {
        Ok(())
    }
    fn prepare(&self, (): &Spans<()>, _: &Spans<(f32,)>, plans: &mut Prepare<'_>) {
        plans.plan(&self.0);
    }
    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Ok(())
    }
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        queue.plan::<Key>(0).map(drop)
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Two fit; the third pushes the first out, and the end of the device drops the rest.
#[test]
fn plans_that_are_pushed_out_and_those_that_last() {
    let driver = session();
    let dropped = Arc::new(AtomicUsize::new(0));
    let device = device(2);
    for number in 0..3 {
        let x = up(&device, vec![1.0f32; 4]);
        let done = device.dispatch(Planned(Key(number, dropped.clone())), (), (x,)).unwrap();
        drop(done.await_result().unwrap());
        still_works(&device);
    }
    assert!(eventually(60, || count(&dropped) == 1), "{}", count(&dropped));
    drop(device);
    driver.assert_finished();
    assert!(eventually(60, || count(&dropped) == 3), "{}", count(&dropped));
}
