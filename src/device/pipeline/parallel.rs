//! A pipeline over a rayon iterator.
//!
//! It is implemented with rayon's plumbing: a consumer that makes folders, one for each piece of the items. A folder
//! holds the window of its piece, passes outputs on in the order of the items, and drains the window when its piece
//! ends.

use super::Progress;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Result};
use crate::core::op::Output;
use crate::core::sync::{Arc, AtomicBool, AtomicUsize, Ordering};
use crate::device::Device;
use rayon::iter::ParallelIterator;
use rayon::iter::plumbing::{Consumer, Folder, UnindexedConsumer};
use std::collections::VecDeque;
use std::marker::PhantomData;

type Hook = Arc<dyn Fn(Progress) + Send + Sync>;

/// Items that run through a device, submitted by several threads; made by [`Device::par_pipeline`].
#[must_use = "a pipeline submits nothing until it is driven"]
pub struct ParPipeline<I, S> {
    items: I,
    shared: Shared<S>,
}

/// The state that all pieces share.
struct Shared<S> {
    device: Device,
    window: usize,
    submit: S,
    submitted: AtomicUsize,
    done: AtomicUsize,
    total: Option<usize>,
    hook: Option<Hook>,
    /// An item failed: no thread submits any more.
    failed: AtomicBool,
}

impl<S> Shared<S> {
    fn tell(&self) {
        if let Some(hook) = &self.hook {
            let (done, submitted) = (self.done.load(Ordering::Relaxed), self.submitted.load(Ordering::Relaxed));
            hook(Progress { submitted, done, total: self.total });
        }
    }
}

impl<I: ParallelIterator, S> ParPipeline<I, S> {
    pub(super) fn new(device: Device, items: I, window: usize, submit: S) -> Self {
        let shared = Shared {
            device,
            window: window.max(1),
            submit,
            submitted: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            total: items.opt_len(),
            hook: None,
            failed: AtomicBool::new(false),
        };
        ParPipeline { items, shared }
    }

    /// Sets a hook that is called whenever an item was submitted or its output arrived, on the thread where that
    /// happens. Several threads may call it at once.
    pub fn on_progress(mut self, hook: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.shared.hook = Some(Arc::new(hook));
        self
    }
}

impl<I, S, O, V> ParallelIterator for ParPipeline<I, S>
where
    I: ParallelIterator,
    S: Fn(&Device, I::Item) -> Result<PendingDispatch<O, V>> + Sync + Send,
    O: Output + Send,
    PendingDispatch<O, V>: Send,
{
    type Item = Result<O>;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.items.drive_unindexed(Windows { base: consumer, shared: &self.shared, output: PhantomData })
    }
}

/// Makes a folder for each piece.
struct Windows<'s, C, S, O: Output, V> {
    base: C,
    shared: &'s Shared<S>,
    output: PhantomData<fn() -> PendingDispatch<O, V>>,
}

impl<'s, C, S, T, O, V> Consumer<T> for Windows<'s, C, S, O, V>
where
    C: Consumer<Result<O>>,
    S: Fn(&Device, T) -> Result<PendingDispatch<O, V>> + Sync,
    O: Output,
{
    type Folder = Window<'s, C::Folder, S, O, V>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, Self::Reducer) {
        let (left, right, reducer) = self.base.split_at(index);
        let with = |base| Windows { base, shared: self.shared, output: PhantomData };
        (with(left), with(right), reducer)
    }

    fn into_folder(self) -> Self::Folder {
        Window { base: self.base.into_folder(), shared: self.shared, pending: VecDeque::new() }
    }

    fn full(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed) || self.base.full()
    }
}

impl<C, S, T, O, V> UnindexedConsumer<T> for Windows<'_, C, S, O, V>
where
    C: UnindexedConsumer<Result<O>>,
    S: Fn(&Device, T) -> Result<PendingDispatch<O, V>> + Sync,
    O: Output,
{
    fn split_off_left(&self) -> Self {
        Windows { base: self.base.split_off_left(), shared: self.shared, output: PhantomData }
    }

    fn to_reducer(&self) -> Self::Reducer {
        self.base.to_reducer()
    }
}

/// The work in flight for one piece, oldest first.
struct Window<'s, F, S, O: Output, V> {
    base: F,
    shared: &'s Shared<S>,
    pending: VecDeque<PendingDispatch<O, V>>,
}

impl<F: Folder<Result<O>>, S, O: Output, V> Window<'_, F, S, O, V> {
    /// Waits for the oldest pending and passes its output on; then tells the hook, which may panic.
    fn take_oldest(mut self) -> Self {
        let Some(oldest) = self.pending.pop_front() else { return self };
        let answer = oldest.await_result();
        self.shared.done.fetch_add(1, Ordering::Relaxed);
        let window = match answer {
            Ok(output) => Window { base: self.base.consume(Ok(output)), ..self },
            Err(rejected) => self.fail(rejected.into()),
        };
        window.shared.tell();
        window
    }

    /// Passes on everything in flight.
    fn drain(mut self) -> Self {
        while !self.pending.is_empty() {
            self = self.take_oldest();
        }
        self
    }

    fn fail(self, error: Error) -> Self {
        self.shared.failed.store(true, Ordering::Relaxed);
        Window { base: self.base.consume(Err(error)), ..self }
    }
}

impl<T, F, S, O, V> Folder<T> for Window<'_, F, S, O, V>
where
    F: Folder<Result<O>>,
    S: Fn(&Device, T) -> Result<PendingDispatch<O, V>> + Sync,
    O: Output,
{
    type Result = F::Result;

    fn consume(mut self, item: T) -> Self {
        match (self.shared.submit)(&self.shared.device, item) {
            Ok(pending) => {
                self.pending.push_back(pending);
                self.shared.submitted.fetch_add(1, Ordering::Relaxed);
                self.shared.tell();
                if self.pending.len() < self.shared.window { self } else { self.take_oldest() }
            }
            // The error's place is behind the items that were submitted before.
            Err(error) => {
                self.shared.failed.store(true, Ordering::Relaxed);
                self.drain().fail(error)
            }
        }
    }

    /// Drains the window, also after an error: everything in flight settles, and no output is lost.
    fn complete(self) -> Self::Result {
        self.drain().base.complete()
    }

    fn full(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed) || self.base.full()
    }
}
