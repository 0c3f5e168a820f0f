//! Memory and streams of other libraries: their memory as buffers of ours, our buffers lent to them.
//!
//! ```text
//! stream.rs     a stream of another library; synchronize.rs: the operation that makes it follow work of ours, or the other way round
//! adopt.rs      memory of others as a buffer
//! hand_out.rs   a buffer, for others to use for a while
//! ```
//!
//! What holds for a buffer made of other memory:
//!
//! - It is a buffer like any other: ordered, shared, parted. It counts against no limit, and belongs to one generation of the
//!   device: after a rebuild it is stale.
//! - Its owner is dropped once, on whatever thread, when the last handle is gone and all work that uses the memory is complete.
//!   After a fault of the device nothing proves that: then the owner leaks, and is counted (`Stats::leaked`).

mod adopt;
mod hand_out;
mod stream;
mod synchronize;

#[cfg(feature = "dlpack")]
pub(crate) use adopt::Place;
pub use hand_out::HandedOut;
pub use stream::{CudaStream, ForeignStream};
#[cfg(feature = "dlpack")]
pub(crate) use synchronize::First;
