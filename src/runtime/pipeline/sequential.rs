//! A pipeline over an iterator, on the caller's thread.

use super::Progress;
use crate::op::Output;
use crate::{Device, Error, PendingDispatch, Result, await_any};
use std::collections::VecDeque;

type Hook = Box<dyn FnMut(Progress) + Send>;

/// Items that run through a device; made by [`Device::pipeline`].
///
/// An iterator over the outputs, in the order of the items. Dropping it drops the pendings in flight: their work
/// continues, and the outputs are freed after it.
#[must_use = "a pipeline submits nothing until it is iterated"]
pub struct Pipeline<I, S, O: Output> {
    source: Source<I, S>,
    pending: VecDeque<PendingDispatch<O>>,
}

/// The same, but returns outputs as they complete; made by [`Pipeline::as_completed`].
#[must_use = "a pipeline submits nothing until it is iterated"]
pub struct Completed<I, S, O: Output> {
    source: Source<I, S>,
    pending: Vec<PendingDispatch<O>>,
    /// For each place of `pending`, the index of its item.
    index: Vec<usize>,
}

/// Where the work comes from.
struct Source<I, S> {
    device: Device,
    items: I,
    submit: S,
    window: usize,
    progress: Progress,
    hook: Option<Hook>,
    /// Nothing more is submitted: there are no items left, or one failed.
    is_over: bool,
    /// Returned once everything in flight is done.
    error: Option<Error>,
}

impl<I: Iterator, S> Source<I, S> {
    /// Submits the next item. `None` if there is none, or if its submission failed.
    fn next<O: Output>(&mut self) -> Option<PendingDispatch<O>>
    where
        S: FnMut(&Device, I::Item) -> Result<PendingDispatch<O>>,
    {
        if self.is_over {
            return None;
        }
        let Some(item) = self.items.next() else {
            self.is_over = true;
            return None;
        };
        match (self.submit)(&self.device, item) {
            Ok(pending) => {
                self.progress.submitted += 1;
                self.tell();
                Some(pending)
            }
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    fn tell(&mut self) {
        if let Some(hook) = &mut self.hook {
            hook(self.progress);
        }
    }

    fn done(&mut self) {
        self.progress.done += 1;
        self.tell();
    }

    fn fail(&mut self, error: Error) {
        self.is_over = true;
        self.error.get_or_insert(error);
    }
}

impl<I: Iterator, S, O> Pipeline<I, S, O>
where
    S: FnMut(&Device, I::Item) -> Result<PendingDispatch<O>>,
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
            source: Source { device, items, submit, window, progress, hook: None, is_over: false, error: None },
            pending: VecDeque::new(),
        }
    }

    /// Sets a hook that is called on the caller's thread whenever an item was submitted or its output arrived.
    pub fn on_progress(mut self, hook: impl FnMut(Progress) + Send + 'static) -> Self {
        self.source.hook = Some(Box::new(hook));
        self
    }

    /// Returns outputs as they complete, each with the index of its item, instead of in order.
    pub fn as_completed(self) -> Completed<I, S, O> {
        let done = self.source.progress.done;
        let index = (done..done + self.pending.len()).collect();
        Completed { source: self.source, pending: self.pending.into(), index }
    }
}

impl<I: Iterator, S, O> Iterator for Pipeline<I, S, O>
where
    S: FnMut(&Device, I::Item) -> Result<PendingDispatch<O>>,
    O: Output,
{
    type Item = Result<O>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.pending.len() < self.source.window {
            let Some(pending) = self.source.next() else { break };
            self.pending.push_back(pending);
        }
        while let Some(oldest) = self.pending.pop_front() {
            let answer = oldest.await_result();
            self.source.done();
            match answer {
                Ok(output) => return Some(Ok(output)),
                // Items submitted later are waited for: when the error is returned, nothing of this pipeline is in
                // flight.
                Err(rejected) => self.source.fail(rejected.into()),
            }
        }
        self.source.error.take().map(Err)
    }
}

impl<I: Iterator, S, O> Iterator for Completed<I, S, O>
where
    S: FnMut(&Device, I::Item) -> Result<PendingDispatch<O>>,
    O: Output,
{
    type Item = Result<(usize, O)>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.pending.len() < self.source.window {
            let index = self.source.progress.submitted;
            let Some(pending) = self.source.next() else { break };
            self.pending.push(pending);
            self.index.push(index);
        }
        while let Some((place, answer)) = await_any(&mut self.pending) {
            let index = self.index.swap_remove(place); // `await_any` removed the pending in the same way
            self.source.done();
            match answer {
                Ok(output) => return Some(Ok((index, output))),
                Err(rejected) => self.source.fail(rejected.into()),
            }
        }
        self.source.error.take().map(Err)
    }
}
