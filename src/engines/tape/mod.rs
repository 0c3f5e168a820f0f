//! Recorded operations, as steps of a program.

mod fuse;
pub(crate) mod step;

pub(crate) use fuse::Fuse;
pub(crate) use fuse::{Fused, Link};
pub(crate) use step::{Answering, Step, not_recordable};
