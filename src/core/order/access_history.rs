//! The completions that the next user of a region has to follow.
//!
//! A reader follows the last writers; a writer follows the last writers and every reader since. There is no other
//! ordering. So an op sees the effect of every earlier op on its buffers, and work on other buffers overlaps.

use crate::core::order::Completion;
use smallvec::SmallVec;

/// Completions of the last writers and of the readers since.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessHistory {
    /// More than one only after parts were split or joined, or after submissions through an alias.
    pub(crate) writers: SmallVec<[Completion; 1]>,
    /// On CUDA at most one mark for each stream slot: a later one replaces the earlier.
    pub(crate) readers: SmallVec<[Completion; 2]>,
}

impl AccessHistory {
    /// A history that begins with a write.
    #[cfg(feature = "cuda")]
    pub(crate) fn after(write: Completion) -> Self {
        let mut track = AccessHistory::default();
        track.writers.push(write);
        track
    }

    /// Records a reader that was submitted.
    #[inline]
    pub(crate) fn publish_read(&mut self, completion: &Completion) {
        // `renew` never succeeds for nodes of the host, and any number of them may follow one slow writer.
        if matches!(completion, Completion::Host(_)) || !self.readers.iter_mut().any(|c| c.renew(completion)) {
            self.add_read(completion);
        }
    }

    fn add_read(&mut self, completion: &Completion) {
        // Drops the completed ones each time their number has doubled.
        if self.readers.len() >= 2 && self.readers.len().is_power_of_two() {
            self.readers.retain(|c| !c.is_past());
        }
        self.readers.push(completion.clone());
    }

    /// Records a writer that follows everything recorded here.
    pub(crate) fn publish_write(&mut self, completion: &Completion) {
        self.readers.clear();
        self.writers.truncate(1);
        if !self.writers.iter_mut().any(|c| c.renew(completion)) {
            self.writers.clear();
            self.writers.push(completion.clone());
        }
    }

    /// Records a writer that follows every completion for which `follows` is true. Each of these is passed to `edge`,
    /// with true if it was a writer. The others, which were submitted meanwhile through an alias, stay beside the new
    /// writer.
    pub(crate) fn take_over(
        &mut self,
        completion: &Completion,
        follows: impl Fn(&Completion) -> bool,
        mut edge: impl FnMut(Completion, bool),
    ) {
        let (writers, readers) = (std::mem::take(&mut self.writers), std::mem::take(&mut self.readers));
        let all = writers.into_iter().map(|c| (c, true)).chain(readers.into_iter().map(|c| (c, false)));
        for (one, wrote) in all {
            if follows(&one) {
                edge(one, wrote);
            } else {
                add(&mut self.writers, one);
            }
        }
        add(&mut self.writers, completion.clone());
    }

    /// Records a writer that follows every completion for which `follows` is true. The others, which were submitted
    /// meanwhile through an alias, stay: later users follow them as well.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    #[inline]
    pub(crate) fn publish_write_beside(&mut self, completion: &Completion, follows: impl Fn(&Completion) -> bool) {
        // Fast path: a chain of writes on one in-order queue.
        if let ([only], true) = (&mut self.writers[..], self.readers.is_empty())
            && follows(only)
            && only.renew(completion)
        {
            return;
        }
        self.replace_followed(completion, follows);
    }

    #[cfg(any(feature = "cuda", target_os = "linux"))]
    fn replace_followed(&mut self, completion: &Completion, follows: impl Fn(&Completion) -> bool) {
        let mut stands = false;
        self.writers.retain(|c| {
            if !follows(c) {
                return true;
            }
            let becomes = !stands && c.renew(completion);
            stands |= becomes;
            becomes
        });
        self.readers.retain(|c| !follows(c));
        if !self.readers.is_empty() {
            self.harden();
        }
        if !stands {
            self.writers.push(completion.clone());
        }
    }

    /// Records the readers as writers: the next user follows them as well, even if it only reads.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    pub(crate) fn harden(&mut self) {
        for reader in std::mem::take(&mut self.readers) {
            add(&mut self.writers, reader);
        }
    }

    /// Records one more writer beside those that are recorded.
    pub(crate) fn add_writer(&mut self, writer: Completion) {
        add(&mut self.writers, writer);
    }

    /// Adds what another region of the same allocation has in flight.
    pub(crate) fn absorb(&mut self, other: AccessHistory) {
        // A writer that failed stays: if a part has failed, the whole has failed.
        other.writers.into_iter().filter(|c| !c.is_spent()).for_each(|c| add(&mut self.writers, c));
        other.readers.into_iter().filter(|c| !c.is_past()).for_each(|c| add(&mut self.readers, c));
    }

    /// All recorded completions, writers first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Completion> {
        self.writers.iter().chain(&self.readers)
    }
}

/// Adds `one`, unless it is there already. (Parts that are joined have most completions in common. Without this check,
/// the history of a buffer that is split and joined repeatedly while work is in flight would double each time.)
fn add<const N: usize>(all: &mut SmallVec<[Completion; N]>, one: Completion)
where
    [Completion; N]: smallvec::Array<Item = Completion>,
{
    if !all.iter_mut().any(|c| c.unite(&one)) {
        all.push(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::order::{Runnable, Settle};
    use crate::core::sync::Arc;

    /// Work that never completes.
    struct Endless(Settle);

    impl Runnable for Endless {
        fn core(&self) -> &Settle {
            &self.0
        }
        fn place(&self) -> u64 {
            0
        }
        fn run(self: Arc<Self>) {}
        fn dep_done(self: Arc<Self>) {}
    }

    fn endless() -> Completion {
        Completion::Host(Arc::new(Endless(Settle::new())))
    }

    #[test]
    fn parting_and_joining_over_and_over_remembers_each_work_once() {
        let mut track = AccessHistory::default();
        track.publish_write(&endless());
        track.publish_read(&endless());
        track.publish_read(&endless());
        for _ in 0..20 {
            let part = track.clone();
            track.absorb(part);
        }
        assert_eq!((track.writers.len(), track.readers.len()), (1, 2));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_writer_beside_what_it_does_not_follow_hides_nothing_of_it() {
        let (one, two, both) = (endless(), endless(), endless());
        let is = |a: &Completion, b: &Completion| a.clone().unite(b);
        let mut track = AccessHistory::default();
        track.publish_write_beside(&one, |_| true);
        // Through an alias: submitted before `one` was visible.
        track.publish_write_beside(&two, |_| false);
        track.publish_read(&endless());
        assert!(track.writers.iter().any(|c| is(c, &one)) && track.writers.iter().any(|c| is(c, &two)));
        track.publish_write_beside(&both, |_| true);
        assert!(track.writers.len() == 1 && track.readers.is_empty() && is(&track.writers[0], &both));
        // A reader through an alias.
        let (reader, last) = (endless(), endless());
        track.publish_read(&reader);
        track.publish_write_beside(&last, |c| is(c, &both));
        assert!(track.writers.len() == 2 && track.readers.is_empty());
        assert!(track.writers.iter().any(|c| is(c, &reader)) && track.writers.iter().any(|c| is(c, &last)));
    }
}
