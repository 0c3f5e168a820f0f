//! Recorded operations: the part of a recording that depends on the type of the operation.

pub(crate) mod step;

pub(crate) use step::{Answering, Recorded, Step, conclude, not_recordable};
