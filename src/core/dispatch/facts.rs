//! What the path of a dispatch needs to know of an op besides its operands.

use crate::core::buffer::Elems;
use crate::core::op::{Op, OpKind, Raw, WritesOf};

/// The constants of an op.
pub(crate) struct Facts {
    pub(crate) name: &'static str,
    pub(crate) library: &'static str,
    pub(crate) kind: OpKind,
    pub(crate) prepared: bool,
    pub(crate) pooled: bool,
    /// See [`Op::ACROSS_DEVICES`].
    pub(crate) across: bool,
    pub(crate) gated: bool,
    pub(crate) preserves_on_failure: bool,
    /// See [`Op::LEAVES_UNDEFINED`].
    pub(crate) leaves_undefined: &'static [usize],
    /// The op may have any number of operands.
    pub(crate) listed: bool,
    /// Bytes of the slot for the raw result.
    pub(crate) raw_bytes: usize,
    pub(crate) bulk: bool,
}

impl Facts {
    pub(crate) const fn of<O: Op>() -> &'static Facts {
        const {
            &Facts {
                name: O::NAME,
                library: O::LIBRARY,
                kind: O::KIND,
                prepared: O::PREPARED,
                pooled: O::POOLED.is_yes(),
                across: O::ACROSS_DEVICES,
                gated: O::GATED.is_yes(),
                preserves_on_failure: O::PRESERVES_ON_FAILURE.is_yes(),
                leaves_undefined: O::LEAVES_UNDEFINED,
                listed: <O::Reads as Elems>::LISTED || <WritesOf<O> as Elems>::LISTED,
                raw_bytes: O::Raw::BYTES,
                bulk: O::Raw::BULK,
            }
        }
    }
}
