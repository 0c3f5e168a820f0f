//! What libraries need, made ahead of time: handles for each slot, and our own kernels, loaded.

use super::Placement;
use super::contract::Listed;
use crate::core::dispatch::Options;
use crate::core::epoch::Epoch;
use crate::core::error::Result;
use crate::core::sync::Arc;
use crate::engines::dispatch::Call;
use crate::engines::op::{Enqueue, Op, StackOp};
use std::marker::PhantomData;

pub(crate) fn on_each_slot<L: Listed>(options: &Options, epoch: &Arc<Epoch>) -> Result<()> {
    let Some(engine) = epoch.engine.as_cuda() else { return Ok(()) };
    engine.core.code.preload(epoch, L::kernels());
    if L::HANDLES == Placement::None {
        crate::engines::worker::shared::first_use::begin();
        L::load()?;
        return Ok(());
    }
    let all = match L::HANDLES {
        Placement::Pool(_) => engine.core.streams.pool_numbers(L::NAME, epoch)?,
        _ => 0..engine.core.streams.len(),
    };
    for index in all {
        let mut op = StackOp::new(Warm::<L>(PhantomData));
        op.set(((), ()));
        engine.core.submit_on(index, options, epoch, &mut Call::new(op.memory()))?;
    }
    Ok(())
}

/// An operation that only makes the slot create its handle.
struct Warm<L>(PhantomData<L>);

impl<L: Listed> Op for Warm<L> {
    const NAME: &'static str = "warm";
    const LIBRARY: &'static str = L::NAME;
    type Reads = ();
    type Output = ();
    type Raw = ();
    fn check(&self, (): &(), (): &()) -> Result<()> {
        Ok(())
    }
    fn host(&self, (): (), (): ()) -> Result<()> {
        Ok(())
    }
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        queue.consult::<L>()?;
        queue.slot_workspace();
        Ok(())
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}
