//! The floor of what a dispatch is. Time, errors, element types, buffers and the order of their uses, operations and what
//! they leave, epochs, traces. It may use `system`, and nothing of the floors above.

#[cfg(target_os = "linux")]
pub(crate) mod arena;
pub(crate) mod buffer;
pub(crate) mod cache;
pub mod clock;
pub(crate) mod device_info;
pub(crate) mod dispatch;
pub(crate) mod element;
pub(crate) mod epoch;
pub mod error;
pub(crate) mod fp8;
#[cfg_attr(
    not(all(feature = "host", feature = "libraries")),
    allow(dead_code, reason = "what has memory to spoil may be left out")
)]
pub(crate) mod harsh;
pub mod health;
pub(crate) mod inside;
pub(crate) mod intern;
pub(crate) mod launch;
pub(crate) mod machine;
pub(crate) mod op;
pub(crate) mod order;
pub(crate) mod parallel;
pub(crate) mod process;
#[cfg_attr(not(feature = "host"), expect(dead_code, reason = "host halves use most of it"))]
pub(crate) mod room;
pub(crate) mod rows;
#[cfg(target_os = "linux")]
pub(crate) mod segment;
pub(crate) mod settings;
pub(crate) mod sync;
pub mod trace;
pub(crate) mod truth;
