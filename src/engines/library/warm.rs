//! What libraries need, made ahead of time: handles for each slot, and our own kernels, loaded.

#[cfg(feature = "cuda")]
use super::contract::{Listed, Placement};
#[cfg(feature = "cuda")]
use crate::core::epoch::Epoch;
#[cfg(feature = "cuda")]
use crate::core::error::Error;
use crate::core::error::Result;
#[cfg(feature = "cuda")]
use crate::core::op::Op;
#[cfg(feature = "cuda")]
use crate::core::sync::Arc;
use crate::device::Device;
#[cfg(feature = "cuda")]
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::engines::dispatch::Typed;
#[cfg(feature = "cuda")]
use std::marker::PhantomData;

/// Creates the handles of the library `name` for every slot of `device`; if the library has no handles, only loads it.
/// A worker creates its own handles; a host device has none.
pub(crate) fn warm(device: &Device, name: &str) -> Result<()> {
    let _ = (device, name);
    #[cfg(feature = "cuda")]
    {
        let epoch = device.asked();
        #[cfg(target_os = "linux")]
        if let Some(worker) = epoch.engine.as_worker().filter(|worker| worker.is_gpu()) {
            return worker.ask(&epoch, crate::engines::worker::Question::Warm { library: name.into() });
        }
        if let Some(engine) = epoch.engine.as_cuda() {
            let entry = engine.core.libraries.iter().find(|entry| entry.name == name);
            let native = entry.and_then(|entry| entry.native.as_ref());
            let native = native.ok_or_else(|| Error::unsupported(format!("this build has no library `{name}`")))?;
            return (native.warm)(device, &epoch);
        }
    }
    Ok(())
}

#[cfg(feature = "cuda")]
pub(crate) fn on_each_slot<L: Listed>(device: &Device, epoch: &Arc<Epoch>) -> Result<()> {
    let Some(engine) = epoch.engine.as_cuda() else { return Ok(()) };
    engine.core.preload(epoch, L::kernels());
    if L::HANDLES == Placement::None {
        crate::engines::worker::first_use();
        L::load()?;
        return Ok(());
    }
    let all = match L::HANDLES {
        Placement::Pool(_) => engine.core.pool_numbers(L::NAME, epoch)?,
        _ => 0..engine.core.slots.len(),
    };
    for index in all {
        let (mut op, mut spans) = (Some(Warm::<L>(PhantomData)), Some(((), ())));
        engine.core.submit_on(index, device.options(), epoch, &mut Typed::new(&mut op, &mut spans))?;
    }
    Ok(())
}

/// An operation that only makes the slot create its handle.
#[cfg(feature = "cuda")]
struct Warm<L>(PhantomData<L>);

#[cfg(feature = "cuda")]
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
