//! The middle layer: dispatches. It has operations and their operands, buffers and the order of their uses, pendings,
//! devices and their supervision, traces, copies, and errors. It knows the engines through one enum ([`engine`]), and
//! no library.

pub(crate) mod buffer;
pub(crate) mod cache;
pub mod clock;
pub(crate) mod copy;
pub(crate) mod device;
pub(crate) mod dispatch;
pub(crate) mod element;
pub(crate) mod engine;
pub(crate) mod error;
pub(crate) mod fp8;
pub(crate) mod intern;
pub(crate) mod op;
pub(crate) mod pipeline;
pub(crate) mod program;
#[cfg_attr(not(feature = "host"), expect(dead_code, reason = "host halves use most of it"))]
pub(crate) mod room;
pub(crate) mod supervisor;
pub(crate) mod sync;
pub mod tensor;
pub mod timeline;
pub(crate) mod trace;
pub(crate) mod truth;
