//! Where the time goes: what a program's threads and its devices did, in a form that Perfetto shows.
//!
//! Pass a [`Timeline`] to devices with [`DeviceBuilder::timeline`](crate::DeviceBuilder::timeline). It writes Chrome's
//! trace format, which <https://ui.perfetto.dev> and `chrome://tracing` open. The file shows these processes:
//!
//! - The program, with a thread for each thread that submitted. It shows every call, from its beginning to its return;
//!   in it, the part that held the lease of a slot; and when the completion was observed.
//! - Each device, or the worker process that it lives in, with a thread for each slot, or lanes if the device has no
//!   slots. It shows when the device executed each operation; losses and rebuilds; bytes in use, and those of each
//!   label ([`Device::labelled`](crate::Device::labelled)), dispatches in flight, and plan misses. Bytes are read at each
//!   labelled allocation and at each completion.
//!
//! An arrow leads from each call to its execution. A device without a recorder has no overhead.
//!
//! On a GPU the device measures the times: two events around each dispatch, and one event each second whose time on the
//! host is known. So a recorder costs some microseconds for each dispatch. The position of a dispatch relative to
//! others is accurate to some microseconds, its duration to one. A worker reports how long its device took for an
//! operation, but not when it began: the operation is shown as early as possible. A replay of a
//! [`Program`](crate::Program) is one operation.
//!
//! ```
//! # #[cfg(feature = "host")] fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use windlass::{Device, timeline::Timeline};
//!
//! let recorder = Timeline::new();
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
//! A recorder keeps the last [`KEPT`] events, unless it is made by [`Timeline::to_file`], which writes events as they
//! occur.
//!
//! `event.rs`: the events that are kept; `json.rs`: their format; `track.rs`: the trace hooks of a device; `calls.rs`:
//! matches calls with executions; `lanes.rs`: the thread of the file that shows an execution; `recorder.rs`: the
//! recorder; `shared.rs`: its events; `names.rs`: names in the file; `stream.rs`: writes files.

mod calls;
mod event;
mod json;
mod lanes;
mod names;
mod recorder;
mod shared;
mod stream;
mod track;

pub use recorder::{KEPT, Timeline};
