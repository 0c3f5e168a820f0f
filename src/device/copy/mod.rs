//! Moving data: upload, download, fill, copies on the device and between devices.
//!
//! Asynchronous work never borrows host memory after the call returns: an upload owns its data or copies it into
//! staging before it returns, and a download first goes to memory that the library owns. `parallel.rs` copies on the
//! CPU with several threads. `source.rs` defines what can be uploaded. `loan.rs` lets work read a slice in place until
//! the upload call returns. `blocking.rs`: an upload and a download that wait.
//! `give_back.rs`: the end of what a buffer that grows has shrunk by. `peer_copy.rs`: from one device to another; `peer_path.rs`: what has to be done once before.

mod blocking;
mod device_copy;
mod download;
mod fill;
mod give_back;
mod loan;
mod peer_copy;
#[cfg(feature = "cuda")]
mod peer_path;
mod source;
mod upload;

#[cfg(feature = "ndarray")]
pub(crate) use download::Form;
pub(crate) use give_back::GiveBack;
pub use source::{HostData, Uploadable};

/// Refuses a target whose length is not the number of elements that are copied into it; `moved` names what is done to
/// them in the message.
fn check_target(has: usize, gets: usize, moved: &str) -> crate::core::error::Result<()> {
    if has == gets {
        return Ok(());
    }
    Err(crate::core::error::Error::invalid(
        "target",
        format!("the target has {has} elements, but {gets} elements are {moved}"),
    ))
}

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    fn each<T: crate::core::element::Element>(registry: &mut crate::engines::worker::Registry) {
        registry.add::<device_copy::DeviceCopy<T>>();
        registry.add::<download::Download<T, download::Flat>>();
        registry.add::<fill::Fill<T>>();
        registry.add::<upload::Upload<T>>();
    }
    registry.add::<GiveBack>();
    crate::core::element::each_element!(each(registry));
}
