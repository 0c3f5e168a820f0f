//! Options of a call.

use super::Wait;

/// Options that a handle applies to its calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) wait: Option<Wait>,
    pub(crate) timed: bool,
    /// With a fixed place, so that one word identifies it.
    pub(crate) label: Option<&'static &'static str>,
    /// Its calls are later pieces of a transfer that the bound on work in flight has already admitted as a whole.
    pub(crate) goes_on: bool,
    /// For a program: which of a GPU's streams for programs its calls use.
    pub(crate) seat: Option<u8>,
}
