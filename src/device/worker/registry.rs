//! The library's own operations, for a worker program that is another executable than its parent.

use crate::core::error::{Error, Result};
use crate::engines::worker::With;
use crate::engines::worker::child::{Handlers, Registry, run};
use std::sync::OnceLock;

/// All operations of the core and of these libraries.
pub(crate) fn registry(libraries: &[crate::engines::library::Entry]) -> Registry {
    #[cfg_attr(not(feature = "every-operation"), expect(unused_mut, reason = "knows nothing"))]
    let mut registry = Registry::default();
    #[cfg(feature = "every-operation")]
    {
        crate::device::copy::register(&mut registry);
        crate::device::tensor::register(&mut registry);
        crate::device::program::register(&mut registry);
        registry.add::<crate::device::supervisor::SelfTest>();
        libraries.iter().for_each(|entry| (entry.register)(&mut registry));
    }
    let _ = libraries;
    registry
}

/// Calls `with` on the operation that `code` names, if another executable has written it and this one was built with all
/// operations. (For this same executable: `with_handler` of `engines/worker`.)
pub(crate) fn with_named(code: u64, with: With<'_>) -> Result<()> {
    static HANDLERS: OnceLock<Handlers> = OnceLock::new();
    if !cfg!(feature = "worker-program") {
        return Err(Error::unsupported(
            "another executable wrote it, and this one cannot find operations by their names: build both with the \
             cargo feature `worker-program`, or record the program here",
        ));
    }
    let handlers = HANDLERS.get_or_init(|| registry(crate::device::Device::builder().libraries()).handlers());
    run(handlers.find(code)?, with)
}
