//! Memory for what other ranks send.

use crate::core::error::Result;
use crate::core::room;

/// So many bytes of each rank, aligned for all types. The ranks are those of the other processes, in their order.
#[derive(Default)]
pub(in crate::libraries::collective) struct Received {
    memory: Vec<u64>,
    /// Words of each rank.
    words: usize,
}

impl Received {
    pub(super) fn new(ranks: usize, bytes: usize) -> Result<Self> {
        let words = bytes.div_ceil(size_of::<u64>());
        Ok(Received { memory: room::zeroed(ranks.saturating_mul(words))?, words })
    }

    /// Whether it has as much memory for each rank.
    pub(super) fn has(&self, bytes: usize) -> bool {
        self.words * size_of::<u64>() >= bytes && !self.memory.is_empty()
    }

    /// Memory for so many bytes of each rank, no more than there are.
    pub(super) fn rooms(&mut self, bytes: usize) -> impl Iterator<Item = &mut [u8]> {
        let each = self.memory.chunks_exact_mut(self.words.max(1));
        each.map(move |words| bytemuck::cast_slice_mut(words).get_mut(..bytes).unwrap_or_default())
    }

    /// The bytes of a rank.
    pub(super) fn of(&self, rank: usize) -> &[u8] {
        bytemuck::cast_slice(self.memory.get(rank * self.words..(rank + 1) * self.words).unwrap_or_default())
    }
}
