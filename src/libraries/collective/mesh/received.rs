//! Memory for what other ranks send.

/// So many bytes of each rank, aligned for all types. The ranks are those of the other processes, in their order.
pub(super) struct Received {
    memory: Vec<u64>,
    /// Words of each rank.
    words: usize,
}

impl Received {
    pub(super) fn new(ranks: usize, bytes: usize) -> Self {
        let words = bytes.div_ceil(size_of::<u64>());
        Received { memory: vec![0; ranks * words], words }
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
