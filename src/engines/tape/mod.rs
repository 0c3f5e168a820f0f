//! Recorded operations: the part of a recording that depends on the type of the operation.

mod fuse;
pub(crate) mod step;

pub(crate) use fuse::Fuse;
pub(crate) use fuse::{Fused, Link};
pub(crate) use step::{Answering, Recorded, Step, conclude, not_recordable};
