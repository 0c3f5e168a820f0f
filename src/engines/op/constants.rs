//! What the path of a dispatch and the traces know of an op besides its operands.

use super::{Op, WritesOf};
use crate::core::buffer::Elems;
use crate::core::dispatch::Facts;
use crate::core::op::{Cost, Raw, guarded};
use crate::core::trace::OpInfo;

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

impl OpInfo {
    pub(crate) fn new<O: Op>(op: &O, label: Option<&'static str>, stream: Option<usize>) -> Self {
        let (Cost { flops, bytes }, (reads, writes)) = (cost_of(op), op.dtypes());
        OpInfo {
            number: 0,
            op: O::NAME,
            library: O::LIBRARY,
            kernel: op.subject().copied(),
            reads,
            writes,
            stream,
            label,
            flops,
            bytes,
            ran: None,
        }
    }
}

/// The op's own [`Cost`]; the default if [`Op::cost`] panics.
pub(crate) fn cost_of<O: Op>(op: &O) -> Cost {
    let mut cost = Cost::default();
    let _ = guarded(&mut || {
        cost = op.cost();
        Ok(())
    });
    cost
}
