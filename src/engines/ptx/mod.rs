//! PTX on the CPU, with every access checked.
//!
//! A text becomes a [`PtxModule`], whose kernels are launched on areas of memory. A warp is 32 lanes with a register file: an
//! instruction works on all lanes at once, those at the lowest instruction first, so that they meet again after a branch. Blocks run
//! side by side on the pool. Nothing outside the areas of a launch is reachable. See the guide [`checking`](crate::guide::checking).
//!
//! The machine knows no engine and no device: it takes a text, areas of memory and the bytes of the parameters.

// - text: `token.rs`, `parse.rs`, `variables.rs`, `operands.rs`, `text.rs`, `types.rs`
// - decoding: `decode.rs`, `body.rs`, `scope.rs`, `ops.rs`, `ops_jump.rs`, `ops_memory.rs`, `ops_together.rs`, `code.rs`
// - arithmetic: `lanes.rs`, `integers.rs`, `floats.rs`, `halves.rs`, `rounding.rs`, `exact.rs`, `convert.rs`
// - running: `module.rs`, `launch.rs`, `grid.rs`, `block.rs`, `warp.rs`, `execute.rs`, `access.rs`, `transfer.rs`, `meet.rs`, `print.rs`
// - checks: `memory.rs`, `shadow.rs`, `notes.rs`, `finding.rs`

mod access;
mod block;
mod body;
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
mod variables;
mod warp;

use crate::core::error::Finding;
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
        }
    }
}

impl std::error::Error for Fault {}
