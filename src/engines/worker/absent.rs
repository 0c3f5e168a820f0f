//! Systems without worker processes: what the rest names of them.

/// What an engine does for a worker.
pub(crate) mod shared {
    use crate::core::error::Result;

    /// Worker processes exist on Linux only.
    pub(crate) enum Relay {}

    impl Relay {
        #[cfg(feature = "host")]
        pub(crate) fn begin(&self) -> Result<()> {
            match *self {}
        }

        #[cfg(feature = "cuda")]
        pub(crate) fn inject_fault(&self) -> Result<()> {
            match *self {}
        }
    }

    /// What is slow the first time: no watchdog counts it.
    #[cfg(feature = "cuda")]
    pub(crate) mod first_use {
        pub(crate) fn begin() {}
    }
}
