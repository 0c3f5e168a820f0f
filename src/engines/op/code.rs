//! The number that names an operation in an order to a worker: see `worker/child/handler.rs`.

use super::OpRef;
use crate::core::error::{Error, Result};
use crate::engines::worker::shared::distance;

/// How operations are named in orders to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpCode {
    Offset,
    Name,
}

impl OpCode {
    /// The number that names an operation.
    pub(crate) fn code(self, op: OpRef<'_>) -> Result<u64> {
        let facts = op.facts();
        match self {
            OpCode::Offset => distance::distance(facts).map_err(|_| lies_elsewhere(facts.name)),
            OpCode::Name => Ok(hash(op.type_name())),
        }
    }
}

#[cold]
fn lies_elsewhere(name: &str) -> Error {
    Error::unsupported(format!(
        "`{name}` and windlass are in different shared objects, so the address of `{name}` in a worker process is \
         unknown: link both into the program, or use the program `windlass-worker`"
    ))
}

/// FNV-1a: the same in every build.
pub(crate) fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
