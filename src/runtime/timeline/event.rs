//! What a timeline consists of.

use crate::trace::OpInfo;
use std::borrow::Cow;

/// A process and a thread of it, by the numbers that the file has for them.
pub(super) type PidTid = (u32, u32);

/// One event. Times are nanoseconds since the recorder was made.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// Something that takes time.
    Slice { place: PidTid, name: &'static str, at: u64, took: u64, info: Option<OpInfo> },
    /// One end of an arrow: it leaves the slice around it, or comes to it.
    Arrow { place: PidTid, at: u64, number: u64, leaves: bool },
    /// A moment of a thread.
    Moment { place: PidTid, name: &'static str, at: u64, number: Option<u64> },
    /// A moment of a process, with what there is to say.
    Incident { process: u32, name: &'static str, at: u64, text: Cow<'static, str> },
    /// A number from now on.
    Level { process: u32, name: &'static str, at: u64, value: u64 },
}

/// The thread of a process for what is no operation.
pub(super) const STATE: u32 = 0;

/// The process that all of this is seen from.
pub(super) const PROGRAM: u32 = 1;
