//! The events of a timeline.

use crate::core::trace::OpInfo;
use std::borrow::Cow;

/// A process and a thread, by their numbers in the file.
pub(super) type PidTid = (u32, u32);

/// One event. Times are nanoseconds since the recorder was made.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// Something with a duration.
    Slice { place: PidTid, name: &'static str, at: u64, took: u64, info: Option<OpInfo> },
    /// One end of an arrow: it starts at the enclosing slice, or ends there.
    Arrow { place: PidTid, at: u64, number: u64, leaves: bool },
    /// A point in time of a thread.
    Moment { place: PidTid, name: &'static str, at: u64, number: Option<u64> },
    /// A point in time of a process, with a text.
    Incident { process: u32, name: &'static str, at: u64, text: Cow<'static, str> },
    /// A value that holds from this time on.
    Level { process: u32, name: &'static str, at: u64, value: u64 },
    /// Parts of a whole, by their names, that hold from this time on.
    Shares { process: u32, name: &'static str, at: u64, parts: Vec<(&'static str, u64)> },
}

/// The thread, in each process, for everything that is not an operation.
pub(super) const STATE: u32 = 0;

/// The process of the program itself.
pub(super) const PROGRAM: u32 = 1;
