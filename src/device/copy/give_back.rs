//! Memory goes back to the system, in its turn.

use crate::core::buffer::DeviceBuffer;
use crate::core::error::Result;
use crate::core::op::{Spans, Wire};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};

/// Takes its turn behind all that uses the end of a buffer that grows. On the CPU it gives the pages back; on a GPU it only marks
/// the moment from which the engine may unmap them.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct GiveBack {
    /// It follows what is in flight behind the bytes as well, so that their last page may go too.
    pub(crate) is_last: bool,
}

impl Op for GiveBack {
    const NAME: &'static str = "give_back";
    const LIBRARY: &'static str = "memory";
    type Reads = ();
    type Output = DeviceBuffer<u8>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(u8,)>) -> Result<()> {
        Ok(())
    }

    /// What it leaves is nobody's; the failure of what wrote it before does not matter.
    fn overwrites(&self, _: &Spans<(u8,)>) -> bool {
        true
    }

    fn host(&self, (): Slices<'_, Self>, (target,): SlicesMut<'_, Self>) -> Result<()> {
        // SAFETY: only a buffer that grows is shrunk, so this is a part of its reserve that has memory; the operation has it alone. If
        // it is the last one, what lies behind it was given back before, this follows its uses, and who gets it again follows this.
        unsafe { crate::system::memory::discard(target.as_mut_ptr(), target.len(), self.is_last) };
        Ok(())
    }

    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Ok(())
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}
