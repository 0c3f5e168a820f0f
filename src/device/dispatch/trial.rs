//! Checks a dispatch without submitting it.

use crate::core::buffer::{Elems, Views, Visit};
use crate::core::error::Result;
use crate::device::Device;
use crate::engines::op::SpansOf;
use crate::engines::op::operand_name;
use crate::engines::op::{Ins, Op, Outs, WritesOf};

impl Device {
    /// Runs steps 1 and 2 of a dispatch of this op and these operands, and no more. Returns where the operands lie.
    pub(crate) fn try_out<O: Op>(&self, op: &O, reads: &Ins<'_, O>, writes: &Outs<O>) -> Result<SpansOf<O>> {
        let mut views = Views::new();
        let reads = O::Reads::read(reads, &mut Visit(&mut views));
        let read_count = views.len();
        let writes = WritesOf::<O>::write(writes, &mut Visit(&mut views));
        for (index, view) in views.iter_mut().skip(read_count).enumerate() {
            view.overwritten = op.overwrites_each(&writes, index);
            view.whole |= op.begins_anew();
        }
        let current = self.epoch();
        let epoch = views.get(read_count).or(views.first()).map_or(&current, |view| &view.region.epoch);
        let spans = (reads, writes);
        let name = |index| operand_name(op, &spans, index, read_count);
        let outcome = self.admit(epoch, (&views, read_count), &name);
        outcome.and_then(|()| op.check(&spans.0, &spans.1)).map_err(|error| error.in_op(O::NAME, O::LIBRARY))?;
        Ok(spans)
    }
}
