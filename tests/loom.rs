//! The concurrent core under a model checker: every interleaving, and every value that the memory model lets a load see.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --test loom --no-default-features --features host
//! ```
//!
//! The modules of the core are included by path, not copied: they name `crate::sync` only, which is loom's here (and those
//! of a worker a segment of shared memory, which is a model's). A
//! model says what it would find when the code were wrong (`Breaks:`); each of those was tried.
//! Without `--cfg loom` this file is empty.
#![cfg(loom)]

#[path = "loom/sync.rs"]
mod sync;

#[path = "loom/clock.rs"]
mod clock;

#[path = "loom/subject.rs"]
mod subject;

/// What the modules under test name of a folder, and of which only a part is here.
mod dispatch {
    pub(crate) use crate::subject::settle::{Settle, Waiter};
}

#[path = "loom/binding.rs"]
mod binding;
#[path = "loom/flow.rs"]
mod flow;
#[path = "loom/graph.rs"]
mod graph;
#[path = "loom/handles.rs"]
mod handles;
#[path = "loom/lanes.rs"]
mod lanes;
#[path = "loom/life.rs"]
mod life;
#[path = "loom/parker.rs"]
mod parker;
#[path = "loom/runners.rs"]
mod runners;
#[path = "loom/settle.rs"]
mod settle;
#[path = "loom/slots.rs"]
mod slots;
#[path = "loom/turns.rs"]
mod turns;
#[cfg(target_os = "linux")]
#[path = "loom/worker.rs"]
mod worker;

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
