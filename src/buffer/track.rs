//! What a region's next user has to follow.
//!
//! A reader follows the last writers; a writer follows the last writers and every reader since. That is all the order
//! there is: it makes an op see the effect of every earlier op on its buffers, and lets work on other buffers overlap.

use crate::engine::Completion;
use smallvec::SmallVec;

/// Completions of the last writers and of the readers since.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    /// More than one only after parts were joined.
    pub(crate) writers: SmallVec<[Completion; 1]>,
    /// At most one a slot on CUDA: the latest wins.
    pub(crate) readers: SmallVec<[Completion; 2]>,
}

impl Track {
    /// A reader was submitted.
    pub(crate) fn publish_read(&mut self, completion: &Completion) {
        if self.readers.iter_mut().any(|c| c.renew(completion)) {
            return;
        }
        if self.readers.len() >= 2 {
            self.readers.retain(|c| !c.is_past());
        }
        self.readers.push(completion.clone());
    }

    /// A writer was submitted that follows everything here.
    pub(crate) fn publish_write(&mut self, completion: &Completion) {
        self.readers.clear();
        self.writers.truncate(1);
        if !self.writers.iter_mut().any(|c| c.renew(completion)) {
            self.writers.clear();
            self.writers.push(completion.clone());
        }
    }

    /// Takes over what another region of the same allocation has in flight.
    pub(crate) fn absorb(&mut self, other: Track) {
        // A writer that failed is followed too: the whole has failed where a part has.
        self.writers.extend(other.writers.into_iter().filter(|c| !c.is_spent()));
        for reader in other.readers {
            if !reader.is_past() {
                self.readers.push(reader);
            }
        }
    }

    /// Everything in flight here, writers first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Completion> {
        self.writers.iter().chain(&self.readers)
    }
}
