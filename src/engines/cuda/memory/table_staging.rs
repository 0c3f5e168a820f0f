//! Pinned memory for tables of addresses that are too long for kernel parameters.
//!
//! It is reserved before a slot is leased, because making it may wait for everything that the GPU does. At that time it
//! is not known whether the slot already keeps the table. What is not used is returned at once. Only ops with lists of
//! operands ask for it, and only if the list is long.

use super::pinned::{Block, LARGEST};
use super::staging::Patience;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::engines::cuda::dispatch::Queue;
use crate::engines::cuda::{Core, Native};

/// The largest number of operands whose addresses need no staging: they are parameters of a kernel.
pub(crate) const MOST_WITHOUT: usize = super::tables::MORE;

/// The pinned memory that a dispatch may write its addresses to.
#[derive(Default)]
pub(crate) struct TableStaging {
    blocks: Vec<Block>,
    /// The unused rest of a block that the dispatch already keeps.
    open: Option<(Native<*mut u8>, usize)>,
    /// The error, if there is not enough.
    refused: Option<Error>,
}

impl Core {
    /// Returns staging for `words` addresses, as much as is available: a table that is already kept needs none. The
    /// caller must hold no lease.
    pub(crate) fn table_staging(&self, epoch: &Arc<Epoch>, words: usize, patience: Patience) -> Result<TableStaging> {
        let (mut staging, mut left) = (TableStaging::default(), words.saturating_mul(size_of::<u64>()));
        while left > 0 {
            let bytes = left.min(LARGEST);
            let block = match self.memory.pinned.free_block(bytes) {
                Some(block) => Ok(block),
                None if patience == Patience::Some => self.block(epoch, bytes, 0),
                None => self.try_block(epoch, bytes, patience)?.map_err(|why| self.no_block(epoch, why, left)),
            };
            match block {
                Ok(block) => staging.blocks.push(block),
                Err(refused) => {
                    staging.refused = Some(refused);
                    break;
                }
            }
            left -= bytes;
        }
        Ok(staging)
    }
}

impl Queue<'_> {
    /// Writes the words to scratch, by way of the staging. `words` is no longer needed when this returns.
    pub(crate) fn write_staged(&mut self, words: &[u64]) -> Result<u64> {
        let data: &[u8] = bytemuck::cast_slice(words);
        let to = self.scratch(data.len())?;
        let mut done = 0;
        while let Some(left) = data.get(done..).filter(|left| !left.is_empty()) {
            let (at, len) = self.piece(left.len())?;
            let stream = self.stream();
            // SAFETY: the piece is `len` bytes of a pinned block that no other thread has and that the task keeps. At
            // least `len` bytes are left of the words, and of the scratch, which was allocated for all of them.
            let code = unsafe {
                at.0.copy_from_nonoverlapping(left.as_ptr(), len);
                self.core.context.api.memcpy_htod_async(to + done as u64, at.0.cast(), len, stream)
            };
            self.check("cuMemcpyHtoDAsync", code)?;
            done += len;
        }
        Ok(to)
    }

    /// Takes up to `most` bytes of the staging.
    fn piece(&mut self, most: usize) -> Result<(Native<*mut u8>, usize)> {
        let staging = self.state.tables.staging();
        let (at, left) = match staging.open.take().filter(|(_, left)| *left > 0) {
            Some(open) => open,
            None => {
                let Some(block) = staging.blocks.pop() else {
                    return Err(staging.refused.take().unwrap_or_else(|| {
                        Error::library("internal error: the operation wrote more addresses than it has operands")
                    }));
                };
                let all = (block.at, block.bytes());
                self.left.keep_block(block);
                all
            }
        };
        let len = left.min(most);
        // SAFETY: `len` is at most what is left of the block.
        staging.open = Some((Native(unsafe { at.0.add(len) }), left - len));
        Ok((at, len))
    }
}
