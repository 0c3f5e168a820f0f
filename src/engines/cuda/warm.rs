//! What libraries need for each slot, made ahead of time.

#[cfg(feature = "blas")]
use super::blas;
#[cfg(feature = "blaslt")]
use super::blaslt;
use crate::op::Op;
use crate::{Device, Error, Result};

/// Makes the handle of every slot of `device` for a library: `blas` or `blaslt`. A worker makes its own.
pub(crate) fn warm(device: &Device, library: &str) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        let epoch = device.epoch();
        if let Some(worker) = epoch.engine.as_worker().filter(|worker| worker.is_gpu()) {
            return worker.ask(&epoch, crate::worker::Question::Warm { library: library.into() });
        }
    }
    match library {
        #[cfg(feature = "blas")]
        "blas" => on_each_slot(device, || blas::Warm),
        #[cfg(feature = "blaslt")]
        "blaslt" => on_each_slot(device, || blaslt::Warm),
        other => Err(Error::unsupported(format!("there is nothing to make ahead for `{other}`"))),
    }
}

fn on_each_slot<O: Op<Reads = (), Output = ()>>(device: &Device, op: impl Fn() -> O) -> Result<()> {
    let epoch = device.epoch();
    let Some(engine) = epoch.engine.as_cuda() else { return Ok(()) };
    for index in 0..engine.core.slots.len() {
        engine.core.submit_on(index, device, &epoch, op())?;
    }
    Ok(())
}

/// `Warm`, an op that does nothing but have the slot's handle made as `$make` says, under the name of this library.
macro_rules! op {
    ($library:literal, |$queue:ident| $make:expr) => {
        /// Does nothing but have the slot's handle made.
        pub(super) struct Warm;

        impl $crate::op::Op for Warm {
            const NAME: &'static str = "warm";
            const LIBRARY: &'static str = $library;
            type Reads = ();
            type Output = ();
            type Raw = ();
            fn check(&self, (): &(), (): &()) -> $crate::Result<()> {
                Ok(())
            }
            fn host(&self, (): (), (): ()) -> $crate::Result<()> {
                Ok(())
            }
            fn cuda(&self, $queue: &mut $crate::Enqueue<'_, Self>) -> $crate::Result<()> {
                $make
            }
            fn finish(&self, (): ()) -> $crate::Result<()> {
                Ok(())
            }
        }
    };
}
pub(super) use op;
