//! Checks a dispatch without submitting it.

use crate::core::buffer::{Elems, View, Views, Visit};
use crate::core::error::Result;
use crate::device::Device;
use crate::engines::op::SpansOf;
use crate::engines::op::{Ins, Op, Operation, Outs, WritesOf};

/// Operations of your own, on trial.
impl Device {
    /// Runs steps 1 and 2 of a dispatch of this op and these operands, and no more. Returns where the operands lie.
    pub(crate) fn try_out<O: Op>(&self, op: &O, reads: &Ins<'_, O>, writes: &Outs<O>) -> Result<SpansOf<O>> {
        let mut views = Views::new();
        let reads = O::Reads::read(reads, &mut Visit(&mut views));
        let read_count = views.len();
        let writes = WritesOf::<O>::write(writes, &mut Visit(&mut views));
        let spans = (reads, writes);
        self.try_views(Operation::of(op, &spans), &mut views, read_count)
            .map_err(|error| error.in_op(O::NAME, O::LIBRARY))?;
        Ok(spans)
    }

    fn try_views(&self, operation: Operation<'_>, views: &mut [View<'_>], read_count: usize) -> Result<()> {
        for (index, view) in views.iter_mut().skip(read_count).enumerate() {
            let overwrites = operation.overwrites(index);
            view.overwritten = overwrites.all;
            view.whole |= overwrites.begins_anew;
        }
        let current = self.epoch();
        let epoch = views.get(read_count).or(views.first()).map_or(&current, |view| &view.region.epoch);
        self.admit(epoch, (views, read_count), &|index| operation.operand_name(index, read_count))?;
        operation.check()
    }
}
