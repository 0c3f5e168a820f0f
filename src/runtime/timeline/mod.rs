//! Where the time goes: what a program's threads and its devices did, for Perfetto to show.
//!
//! A [`Recorder`] is given to devices by [`DeviceBuilder::timeline`](crate::DeviceBuilder::timeline), and writes Chrome's trace
//! format, which <https://ui.perfetto.dev> and `chrome://tracing` open:
//!
//! | process | thread | what lies there |
//! |---|---|---|
//! | the program | each thread that submitted | every call, from its beginning to its return, and in it the part under the lease of a slot; when its completion was seen |
//! | each device, or the worker it lives in | each slot; lanes where a device has none | every operation while the device was at it; losses and rebuilds; bytes in use, dispatches in flight, plans that had to be made |
//!
//! An arrow leads from each call to its execution. A device without a recorder does nothing for one.
//!
//! On a GPU the times are the device's own: two events around each dispatch, and one in each second whose time on the host is
//! known. So a recorder costs some microseconds for each dispatch, and where it lies between others is right to some
//! microseconds; how long it took is right to one. A worker tells how long its device was at an operation, and not when: that is
//! put as early as it can have been. A replay of a [`Program`](crate::Program) is one operation.
//!
//! ```
//! # #[cfg(feature = "host")] fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use windlass::{Device, timeline::Recorder};
//!
//! let recorder = Recorder::new();
//! let device = Device::builder().host().timeline(&recorder).open()?;
//! let x = device.upload(vec![3.0f32, 4.0])?.into_output();
//! assert_eq!(device.labelled("length").blas().nrm2(&x)?.await_result()?, 5.0);
//! let mut json = Vec::new();
//! recorder.write(&mut json)?; // or `save("trace.json")`
//! assert!(String::from_utf8(json)?.contains("length"));
//! # Ok(()) }
//! # #[cfg(not(feature = "host"))] fn main() {}
//! ```
//!
//! It keeps the last [`KEPT`] events, unless it is made by [`Recorder::to_file`], which writes them as they come.
//!
//! `event.rs`: what is kept; `json.rs`: how it is written; `track.rs`: a device's hooks, `calls.rs`: which call is which
//! execution; `lanes.rs`: where that lies; `recorder.rs`: what is kept of it; `stream.rs`: files.

mod calls;
mod event;
mod json;
mod lanes;
mod recorder;
mod stream;
mod track;

pub use recorder::{KEPT, Recorder};
