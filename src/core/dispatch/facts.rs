//! What the path of a dispatch needs to know of an op besides its operands.

use crate::core::op::OpKind;

/// The constants of an op: `engines/op/constants.rs` fills them in.
pub(crate) struct Facts {
    pub(crate) name: &'static str,
    pub(crate) library: &'static str,
    pub(crate) kind: OpKind,
    pub(crate) prepared: bool,
    pub(crate) pooled: bool,
    /// See [`Op::ACROSS_DEVICES`](crate::Op::ACROSS_DEVICES).
    pub(crate) across: bool,
    pub(crate) gated: bool,
    pub(crate) preserves_on_failure: bool,
    /// See [`Op::LEAVES_UNDEFINED`](crate::Op::LEAVES_UNDEFINED).
    pub(crate) leaves_undefined: &'static [usize],
    /// The op may have any number of operands.
    pub(crate) listed: bool,
    /// Bytes of the slot for the raw result.
    pub(crate) raw_bytes: usize,
    pub(crate) bulk: bool,
}
