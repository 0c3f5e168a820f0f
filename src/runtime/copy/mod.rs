//! Moving data: upload, download, fill, copies on the device and between devices.
//!
//! Nothing asynchronous ever borrows host memory: an upload owns its data or copies it into staging before it returns,
//! a download lands in memory of ours first. `parallel.rs` copies on the CPU with several threads; `source.rs` is what can
//! be uploaded, `loan.rs` how a slice is read in place while its upload has not returned.

mod device_copy;
mod download;
mod fill;
mod loan;
pub(crate) mod parallel;
mod peer_copy;
mod source;
mod upload;

#[cfg(feature = "ndarray")]
pub(crate) use download::Form;
pub use source::HostData;

/// Refuses a target that has not as many elements as are `moved` into it.
fn check_target(has: usize, gets: usize, moved: &str) -> crate::Result<()> {
    if has == gets {
        return Ok(());
    }
    Err(crate::Error::invalid("target", format!("{has} elements for {gets} {moved}")))
}

/// What another executable may be asked to do.
#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::worker::Registry) {
    fn each<T: crate::Element>(registry: &mut crate::worker::Registry) {
        registry.add::<device_copy::DeviceCopy<T>>();
        registry.add::<download::Download<T, download::Flat>>();
        registry.add::<fill::Fill<T>>();
        registry.add::<upload::Upload<T>>();
    }
    crate::element::each_element!(each(registry));
}
