//! Which of several devices takes a piece of work, and which of them reach each other's memory directly.
//!
//! `placement.rs`: a device for each piece of work. `peers.rs`: direct paths between devices, and the groups that they make.
//!
//! ```
//! # fn main() -> windlass::Result<()> {
//! use windlass::{Device, placement::Placement};
//! let devices = [Device::host()?, Device::host()?];
//! let place = Placement::new(&devices)?;
//! let sums: Vec<f32> = (0..4)
//!     .map(|i| {
//!         let device = place.least_loaded()?;
//!         let x = device.buffer([i as f32, 1.0])?;
//!         Ok(device.to_vec(&x)?.iter().sum())
//!     })
//!     .collect::<windlass::Result<_>>()?;
//! assert_eq!(sums, [1.0, 2.0, 3.0, 4.0]);
//! # Ok(()) }
//! ```

mod peers;
#[expect(clippy::module_inception, reason = "the placement of the folder about placement")]
mod placement;

pub use crate::core::device_info::Link;
pub use peers::islands;
pub use placement::Placement;
