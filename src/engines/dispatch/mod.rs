//! A dispatch as engines receive it: `submission.rs`, compiled once for all operations, and `call.rs`, the few functions that are
//! compiled for each of them.

mod call;
mod submission;

pub(crate) use call::{Call, Typed};
pub(crate) use submission::{SpansOf, Submission};
