//! Finds the operation that an order names.
//!
//! Each kind of operation has a table of its functions, and both processes must mean the same one. **In the same
//! executable** it is named by its distance from a constant of the library: nothing needs to be registered, not even
//! the user's own operations. (Addresses differ from process to process; distances within a loaded file do not. The
//! handshake has compared the files, and an operation that lies in another loaded file is refused: see `distance.rs`.)
//! **In another executable** it is named by a hash of its type's name, and looked up among the library's own
//! operations.

use crate::core::error::{Error, Result};
use crate::engines::dispatch::Call;
#[cfg(feature = "every-operation")]
use crate::engines::op::Op;
use crate::engines::op::{Facts, MARK, Payload, taken};
use crate::engines::worker::shared::distance;
use std::collections::HashMap;

/// What to do with an operation that is not decoded yet.
pub(crate) type With<'w> = &'w mut dyn FnMut(&mut Call<'_>) -> Result<()>;

/// The operations that a worker can carry out.
pub(crate) enum Handlers {
    /// All operations in this executable: the parent runs the same file.
    Same,
    /// The library's own operations.
    Registered(HashMap<u64, &'static Facts>),
}

impl Handlers {
    pub(crate) fn find(&self, code: u64) -> Result<&'static Facts> {
        let unknown = || {
            Error::unsupported(
                "the worker program does not know this operation: for your own operations, call \
                 `windlass::worker::init()` first in `main`, and do not name another worker program",
            )
        };
        match self {
            Handlers::Registered(handlers) => handlers.get(&code).copied().ok_or_else(unknown),
            Handlers::Same => {
                let at = distance::place::<Facts>(code).ok_or_else(|| {
                    Error::library("the operation's code was not found in the worker: its address is invalid")
                })?;
                // SAFETY: `place` has found an aligned address in a readable segment of this file, with space for a
                // table. The bytes there are valid as numbers, whatever they are.
                let mark = unsafe { std::ptr::read_volatile(at.cast::<[u64; 2]>()) };
                if mark != MARK {
                    return Err(Error::library(
                        "the operation's code was not found in the worker: its address holds something else",
                    ));
                }
                // SAFETY: the mark shows that a table lies here. Nothing else in this file has it: the code contains
                // only its two halves, apart.
                Ok(unsafe { &*at })
            }
        }
    }
}

/// The library's own operations, for a worker program that is another executable. Each of them is compiled into that
/// program whether it is used or not, which costs more than all the rest: so it is a cargo feature of its own. The feature
/// `precompiled` walks the same list to compile the host half of each operation with the library.
#[derive(Default)]
pub(crate) struct Registry(HashMap<u64, &'static Facts>);

impl Registry {
    /// Adds the operation `O`.
    #[cfg(feature = "every-operation")]
    pub(crate) fn add<O: Op>(&mut self) {
        #[cfg(feature = "worker-program")]
        self.0.insert(crate::engines::op::code::hash(std::any::type_name::<O>()), Facts::of::<O>());
        // To name the host half is enough to have it compiled here. Up to opt-level 1, as in builds with debug assertions,
        // other crates use what was compiled here; beyond that they compile their own.
        #[cfg(all(feature = "precompiled", feature = "host", debug_assertions, not(test)))]
        std::hint::black_box(crate::engines::op::host_half::<O> as *const ());
    }

    pub(crate) fn handlers(self) -> Handlers {
        Handlers::Registered(self.0)
    }
}

/// Calls `with` on the operation that `code` names, if this same executable has written it.
pub(crate) fn with_handler(code: u64, with: With<'_>) -> Result<()> {
    run(Handlers::Same.find(code)?, with)
}

/// Calls `with` on a new operation of this kind, which is not decoded yet and lies on the stack.
pub(crate) fn run(facts: &'static Facts, with: With<'_>) -> Result<()> {
    let mut op = Payload::<32>::empty(facts);
    match op.memory() {
        Some(memory) => with(&mut Call::new(memory)),
        None => Err(taken()),
    }
}
