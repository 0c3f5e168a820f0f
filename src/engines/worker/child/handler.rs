//! Finds the code that carries out an order.
//!
//! Each kind of operation is a monomorphised function, and both processes must mean the same one. **In the same
//! executable** it is named by its distance from a constant of the library: nothing needs to be registered, not even
//! the user's own operations. (Addresses differ from process to process; distances within a loaded file do not. The
//! handshake has compared the files, and an operation that lies in another loaded file is refused: see `distance.rs`.)
//! **In another executable** it is named by a hash of its type's name, and looked up among the library's own
//! operations.

use crate::core::error::{Error, Result};
use crate::engines::dispatch::{Call, Typed};
use crate::engines::op::Op;
use crate::engines::worker::shared::distance;
use std::collections::HashMap;
use std::marker::PhantomData;

/// How operations are named in orders to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpCode {
    Offset,
    Name,
}

/// The code that carries out one kind of operation.
#[repr(C)]
pub(crate) struct Handler {
    mark: [u64; 2],
    pub(crate) run: fn(With<'_>) -> Result<()>,
}

/// Marks a handler, so that a distance that leads to something else is detected.
const MARK: [u64; 2] = [0x7769_6e64_6c61_7373, 0x5e1f_9c3a_d27b_8846];

/// What to do with an operation that is not decoded yet.
pub(crate) type With<'w> = &'w mut dyn FnMut(&mut dyn Call) -> Result<()>;

struct Of<O>(PhantomData<O>);

impl<O: Op> Of<O> {
    const HANDLER: Handler = Handler { mark: MARK, run: run::<O> };
}

/// The handler of an operation.
pub(crate) fn handler<O: Op>() -> &'static Handler {
    &Of::<O>::HANDLER
}

impl OpCode {
    /// The number that names an operation.
    pub(crate) fn code<O: Op>(self) -> Result<u64> {
        match self {
            OpCode::Offset => distance::distance(handler::<O>()).map_err(|_| lies_elsewhere(O::NAME)),
            OpCode::Name => Ok(hash(std::any::type_name::<O>())),
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
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The operations that a worker can carry out.
pub(crate) enum Handlers {
    /// All operations in this executable: the parent runs the same file.
    Same,
    /// The library's own operations.
    Registered(HashMap<u64, &'static Handler>),
}

impl Handlers {
    pub(crate) fn find(&self, code: u64) -> Result<&'static Handler> {
        let unknown = || {
            Error::unsupported(
                "the worker program does not know this operation: for your own operations, call \
                 `windlass::worker::init()` first in `main`, and do not name another worker program",
            )
        };
        match self {
            Handlers::Registered(handlers) => handlers.get(&code).copied().ok_or_else(unknown),
            Handlers::Same => {
                let at = distance::place::<Handler>(code).ok_or_else(|| {
                    Error::library("the operation's code was not found in the worker: its address is invalid")
                })?;
                // SAFETY: `place` has found an aligned address in a readable segment of this file, with space for a
                // handler. The bytes there are valid as numbers, whatever they are.
                let mark = unsafe { std::ptr::read_volatile(at.cast::<[u64; 2]>()) };
                if mark != MARK {
                    return Err(Error::library(
                        "the operation's code was not found in the worker: its address holds something else",
                    ));
                }
                // SAFETY: the mark shows that a handler lies here. Nothing else in this file has it: the code contains
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
pub(crate) struct Registry(HashMap<u64, &'static Handler>);

impl Registry {
    /// Adds the operation `O`.
    #[cfg(feature = "every-operation")]
    pub(crate) fn add<O: Op>(&mut self) {
        #[cfg(feature = "worker-program")]
        self.0.insert(hash(std::any::type_name::<O>()), handler::<O>());
        // To name the host half is enough to have it compiled here. Up to opt-level 1, as in builds with debug assertions,
        // other crates use what was compiled here; beyond that they compile their own.
        #[cfg(all(feature = "precompiled", feature = "host", debug_assertions, not(test)))]
        std::hint::black_box(crate::engines::host::host_half::<O> as *const ());
    }

    pub(crate) fn handlers(self) -> Handlers {
        Handlers::Registered(self.0)
    }
}

/// Calls `with` on the operation that `code` names, if this same executable has written it.
pub(crate) fn with_handler(code: u64, with: With<'_>) -> Result<()> {
    (Handlers::Same.find(code)?.run)(with)
}

/// The handler of one type of operation, which it keeps on its stack.
fn run<O: Op>(with: With<'_>) -> Result<()> {
    let (mut op, mut spans) = (None, None);
    with(&mut Typed::<O>::new(&mut op, &mut spans))
}
