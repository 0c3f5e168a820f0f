//! The handles of a library, made ahead of time.

/// `warm(device)`, which has the handle of each of its slots made as `$make` says, under the name of this library.
macro_rules! warm {
    ($library:literal, |$queue:ident| $make:expr) => {
        /// Does nothing but have the slot's handle made.
        struct Warm;

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

        /// Makes the handle of every slot of `device`.
        pub(crate) fn warm(device: &$crate::Device) -> $crate::Result<()> {
            let epoch = device.epoch();
            let Some(engine) = epoch.engine.as_cuda() else { return Ok(()) };
            for index in 0..engine.core.slots.len() {
                engine.core.submit_on(index, device, &epoch, Warm)?;
            }
            Ok(())
        }
    };
}
pub(super) use warm;
