//! The concurrent core under a model checker: every interleaving, and every value that the memory model lets a load see.
//!
//! ```text
//! cargo test --release --manifest-path tests/loom/Cargo.toml
//! ```
//!
//! The modules of the core are included by path, not copied: they name `crate::core::sync` only, which is loom's here (and those
//! of a worker a segment of shared memory, which is a model's). A model says what it would find when the code were wrong
//! (`Breaks:`); each of those was tried. A package of its own, so that only these modules are compiled; its build script
//! sets `cfg(loom)`.
#![cfg(test)]

mod across;
mod clock;
mod flow;
mod graph;
mod handles;
mod lanes;
mod late;
mod life;
mod parker;
mod quiet;
mod runners;
mod settle;
mod slots;
mod subject;
mod sync;
mod turns;
#[cfg(target_os = "linux")]
mod worker;

/// What the modules under test name of the lowest floor.
mod core {
    pub(crate) use crate::{clock, sync};
    pub(crate) mod error {
        pub(crate) use crate::{Error, Result};
    }
    pub(crate) mod order {
        pub(crate) use crate::subject::keep_alive::KeepAlive;
        pub(crate) use crate::subject::sequence;
        pub(crate) use crate::subject::settle;
    }
    #[cfg(target_os = "linux")]
    pub(crate) mod segment {
        pub(crate) use crate::worker::segment::Segment;
    }
}

/// The library's error, as far as the modules under test make one.
#[derive(Debug)]
pub(crate) struct Error(#[expect(dead_code, reason = "shown by a model that fails")] String);

impl Error {
    pub(crate) fn library(message: impl Into<String>) -> Self {
        Error(message.into())
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// A model with too many interleavings to see them all: those with at most so many preemptions. Two find nearly all
/// known bugs (Musuvathi and Qadeer, "Iterative context bounding", PLDI 2007). The others are checked in full.
/// `LOOM_MAX_PREEMPTIONS` overrules it.
fn bounded(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(model);
}
