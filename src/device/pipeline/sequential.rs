//! A pipeline over an iterator, on the caller's thread.

use super::Progress;
use crate::core::dispatch::{PendingDispatch, await_any};
use crate::core::error::{Error, Result};
use crate::core::op::{Failure, Output, Sure};
use crate::device::Device;
use std::collections::VecDeque;

type Hook = Box<dyn FnMut(Progress) + Send>;

/// Items that run through a device; made by [`Device::pipeline`].
///
/// An iterator over the outputs: the n-th result is that of the n-th item, also if it is an error. Dropping it drops the
/// pendings in flight: their work continues, and the outputs are freed after it.
#[must_use = "a pipeline submits nothing until it is iterated"]
pub struct Pipeline<I, S, O: Output, V = Sure> {
    source: Source<I, S>,
    pending: VecDeque<PendingDispatch<O, V>>,
    answered: Option<Answer<O>>,
}

/// The same, but returns outputs as they complete; made by [`Pipeline::as_completed`].
#[must_use = "a pipeline submits nothing until it is iterated"]
pub struct Completed<I, S, O: Output, V = Sure> {
    source: Source<I, S>,
    pending: Vec<PendingDispatch<O, V>>,
    /// For each place of `pending`, the index of its item.
    index: Vec<usize>,
    answered: Option<(usize, Answer<O>)>,
}

/// What a wait returned. It is stored while the progress hook runs: if the hook panics, the next call returns it.
type Answer<O> = std::result::Result<O, Failure<O>>;

/// Where the work comes from.
struct Source<I, S> {
    device: Device,
    items: I,
    submit: S,
    window: usize,
    progress: Progress,
    hook: Option<Hook>,
    /// Nothing more is submitted: there are no items left, one failed, or the caller's code panicked over one.
    is_over: bool,
    /// Why the last item taken was not submitted.
    refused: Option<Error>,
}

impl<I: Iterator, S> Source<I, S> {
    /// Submits the next item. `None` if there is none, or if its submission failed.
    fn next<O: Output, V>(&mut self) -> Option<PendingDispatch<O, V>>
    where
        S: FnMut(&Device, I::Item) -> Result<PendingDispatch<O, V>>,
    {
        if self.is_over {
            return None;
        }
        // Until the item is submitted: a panic of the caller's code ends the pipeline, so every result keeps its place.
        self.is_over = true;
        let item = self.items.next()?;
        match (self.submit)(&self.device, item) {
            Ok(pending) => {
                self.is_over = false;
                Some(pending)
            }
            Err(error) => {
                self.refused = Some(error);
                None
            }
        }
    }

    /// An item is in flight. Called after it was stored, as the hook may panic.
    fn submitted(&mut self) {
        self.progress.submitted += 1;
        self.tell();
    }

    /// The answer of an item arrived. Called after it was stored, as the hook may panic.
    fn done(&mut self, failed: bool) {
        self.is_over |= failed;
        self.progress.done += 1;
        self.tell();
    }

    fn tell(&mut self) {
        if let Some(hook) = &mut self.hook {
            hook(self.progress);
        }
    }
}

impl<I: Iterator, S, O, V> Pipeline<I, S, O, V>
where
    S: FnMut(&Device, I::Item) -> Result<PendingDispatch<O, V>>,
    O: Output,
{
    pub(super) fn new(device: Device, items: I, window: usize, submit: S) -> Self {
        let total = match items.size_hint() {
            (low, Some(high)) if low == high => Some(low),
            _ => None,
        };
        let window = window.max(1);
        let progress = Progress { submitted: 0, done: 0, total };
        Pipeline {
            source: Source { device, items, submit, window, progress, hook: None, is_over: false, refused: None },
            pending: VecDeque::new(),
            answered: None,
        }
    }

    /// Sets a hook that is called on the caller's thread whenever an item was submitted or its output arrived. If it
    /// panics, no output is lost: a caller that catches the panic may continue to iterate.
    pub fn on_progress(mut self, hook: impl FnMut(Progress) + Send + 'static) -> Self {
        self.source.hook = Some(Box::new(hook));
        self
    }

    /// Returns outputs as they complete, each with the index of its item, instead of in order.
    ///
    /// # Errors
    /// Each output is a [`Result`]. An error is returned as soon as its item has failed, without its index. After the
    /// first error no further item is submitted; the outputs of the items in flight follow, then the iterator ends.
    pub fn as_completed(self) -> Completed<I, S, O, V> {
        // Everything that was submitted is a run of items without a gap.
        let done = self.source.progress.done;
        let index = (done..done + self.pending.len()).collect();
        let answered = self.answered.map(|answer| (done.saturating_sub(1), answer));
        Completed { source: self.source, pending: self.pending.into(), index, answered }
    }
}

impl<I: Iterator, S, O, V> Iterator for Pipeline<I, S, O, V>
where
    S: FnMut(&Device, I::Item) -> Result<PendingDispatch<O, V>>,
    O: Output,
{
    type Item = Result<O>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.answered.is_none() {
            while self.pending.len() < self.source.window {
                let Some(pending) = self.source.next() else { break };
                self.pending.push_back(pending);
                self.source.submitted();
            }
            if let Some(oldest) = self.pending.pop_front() {
                let answer = oldest.await_result();
                let failed = answer.is_err();
                self.answered = Some(answer);
                self.source.done(failed);
            }
        }
        match self.answered.take() {
            Some(answer) => Some(answer.map_err(Into::into)),
            // The item that was refused came after all that were submitted.
            None => self.source.refused.take().map(Err),
        }
    }
}

impl<I: Iterator, S, O, V> Iterator for Completed<I, S, O, V>
where
    S: FnMut(&Device, I::Item) -> Result<PendingDispatch<O, V>>,
    O: Output,
{
    type Item = Result<(usize, O)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.answered.is_none() {
            while self.pending.len() < self.source.window {
                let index = self.source.progress.submitted;
                let Some(pending) = self.source.next() else { break };
                self.pending.push(pending);
                self.index.push(index);
                self.source.submitted();
            }
            if let Some(error) = self.source.refused.take() {
                return Some(Err(error));
            }
            if let Some((place, answer)) = await_any(&mut self.pending) {
                let failed = answer.is_err();
                // `await_any` removed the pending in the same way.
                self.answered = Some((self.index.swap_remove(place), answer));
                self.source.done(failed);
            }
        }
        let (index, answer) = self.answered.take()?;
        Some(answer.map(|output| (index, output)).map_err(Into::into))
    }
}
