//! PTX on the CPU, with every access checked.
//!
//! A text becomes a [`PtxModule`], whose kernels are launched on areas of memory. A warp is 32 lanes with a register file: an
//! instruction works on all lanes at once, those at the lowest instruction first, so that they meet again after a branch. Blocks run
//! side by side on the pool. Nothing outside the areas of a launch is reachable. See the guide [`checking`](crate::guide::checking).
//!
//! The machine knows no engine and no device: it takes a text, areas of memory and the bytes of the parameters, and counts what it
//! needs itself in the meter of whom it works for.

// - text: `token.rs`, `parse.rs`, `variables.rs`, `operands.rs`, `text.rs`, `types.rs`
// - decoding: `decode.rs`, `body.rs`, `scope.rs`, `ops.rs`, `ops_jump.rs`, `ops_memory.rs`, `ops_together.rs`, `code.rs`
// - arithmetic: `lanes.rs`, `integers.rs`, `floats.rs`, `halves.rs`, `rounding.rs`, `exact.rs`, `convert.rs`
// - running: `module.rs`, `launch.rs`, `grid.rs`, `block.rs`, `warp.rs`, `execute.rs`, `access.rs`, `transfer.rs`, `meet.rs`, `print.rs`
// - memory: `memory.rs`, `units.rs`, `ledger.rs`
// - checks: `cells.rs`, `shadow.rs`, `notes.rs`, `finding.rs`

mod access;
mod block;
mod body;
mod cells;
mod code;
mod convert;
mod decode;
mod exact;
mod execute;
mod finding;
mod floats;
mod grid;
mod halves;
mod integers;
mod lanes;
mod launch;
mod ledger;
mod meet;
mod memory;
mod module;
mod notes;
mod operands;
mod ops;
mod ops_jump;
mod ops_memory;
mod ops_together;
mod parse;
mod print;
mod rounding;
mod scope;
mod shadow;
mod text;
mod token;
mod transfer;
mod types;
mod units;
mod variables;
mod warp;

use crate::core::error::{Error, Finding};
pub use launch::{Checks, Shape};
pub use memory::Area;
pub use module::PtxModule;
use token::Place;

/// Why a kernel does not run, or what a check found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The text is no PTX, at this line and column.
    Text {
        /// The line, from 1.
        line: u32,
        /// The column, from 1.
        column: u32,
        /// What is wrong.
        reason: String,
    },
    /// The text uses what the machine does not model.
    Unsupported {
        /// The line, from 1.
        line: u32,
        /// The column, from 1.
        column: u32,
        /// The instruction, by name.
        what: String,
    },
    /// The module has no such kernel.
    Missing(String),
    /// A check found something.
    Found(Box<Finding>),
    /// There is no memory for what the machine needs itself.
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes free when it failed.
        free: u64,
        /// The size of the memory in bytes.
        total: u64,
        /// The most that may be used.
        limit: u64,
        /// What the memory is for, and which check does not need it.
        purpose: &'static str,
    },
}

/// A result of the machine.
pub type Faulty<T> = Result<T, Fault>;

impl Fault {
    fn text(Place { line, column }: Place, reason: String) -> Fault {
        Fault::Text { line, column, reason }
    }

    fn unsupported(Place { line, column }: Place, what: String) -> Fault {
        Fault::Unsupported { line, column, what }
    }

    /// A lack of memory, as [`room`](crate::core::room) and meters tell it.
    fn no_memory(error: &Error, purpose: &'static str) -> Fault {
        match *error {
            Error::OutOfMemory { requested, free, total, limit, .. } => {
                Fault::OutOfMemory { requested, free, total, limit, purpose }
            }
            _ => Fault::OutOfMemory { requested: 0, free: 0, total: 0, limit: 0, purpose },
        }
    }

    /// The error of a device, if it is a lack of memory.
    pub(crate) fn lack(&self) -> Option<Error> {
        let Fault::OutOfMemory { requested, free, total, limit, purpose } = *self else { return None };
        let error = Error::out_of_memory(requested, [free, total, limit]);
        Some(error.locate(|site| {
            site.set_purpose(purpose);
        }))
    }

    fn missing(name: &str) -> Fault {
        Fault::Missing(name.to_owned())
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Text { line, column, reason } => write!(f, "PTX, line {line}, column {column}: {reason}"),
            Fault::Unsupported { line, column, what } => {
                write!(f, "PTX, line {line}, column {column}: {what} is not modelled on the CPU")
            }
            Fault::Missing(name) => write!(f, "the PTX has no kernel `{name}`"),
            Fault::Found(finding) => finding.fmt(f),
            Fault::OutOfMemory { requested, free, limit, purpose, .. } => {
                write!(f, "out of memory {purpose}: {requested} bytes requested, {free} free of {limit}")
            }
        }
    }
}

impl std::error::Error for Fault {}
