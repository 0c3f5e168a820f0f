//! Runs items through a device with a bounded window of work in flight.
//!
//! A caller that waits for each item before it submits the next leaves the device idle in between. A caller that
//! submits all items at once holds the memory of all of them. A pipeline does neither: it keeps up to `window` items in
//! flight. When the window is full, it takes the output of the oldest item, or of any that is ready.
//!
//! `sequential.rs`: over an iterator, on the caller's thread. `parallel.rs`: over a rayon iterator, with a window for
//! each piece that rayon gives to a thread. `progress.rs`: what a progress hook receives. Nothing here depends on an
//! engine: a pipeline uses only [`PendingDispatch`](crate::PendingDispatch).

mod parallel;
mod progress;
mod sequential;

pub use parallel::ParPipeline;
pub use progress::Progress;
pub use sequential::{Completed, Pipeline};

use crate::core::dispatch::PendingDispatch;
use crate::core::error::Result;
use crate::core::op::Output;
use crate::device::Device;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Pipelines.
impl Device {
    /// Submits `items` one after another through `submit`, with at most `window` of them in flight, and returns their
    /// outputs in order. A window of 0 counts as 1.
    ///
    /// `submit` may dispatch several operations that follow each other, and returns the pending of the last one.
    /// [`Pipeline::as_completed`] returns outputs as they complete instead, with their index.
    ///
    /// # Errors
    /// Each output is a [`Result`], and the n-th result is always that of the n-th item, so `zip` with the items is right.
    /// After the first error no further item is submitted: the error stands at the place of its item, the results of the
    /// items that were in flight then follow in order, and the iterator ends.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let norms = device.pipeline(1..=100, 4, |device, n| {
    ///     let x = device.upload(vec![1.0f32; n * n])?.into_output();
    ///     device.blas().nrm2(&x)
    /// });
    /// for (n, norm) in (1..=100).zip(norms) {
    ///     assert_eq!(norm?, n as f32);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn pipeline<I, S, O, V>(&self, items: I, window: usize, submit: S) -> Pipeline<I::IntoIter, S, O, V>
    where
        I: IntoIterator,
        S: FnMut(&Device, I::Item) -> Result<PendingDispatch<O, V>>,
        O: Output,
    {
        Pipeline::new(self.clone(), items.into_iter(), window, submit)
    }

    /// As [`pipeline`](Self::pipeline), over a rayon iterator. Each piece that rayon gives to a thread has its own
    /// window, so at most `window` times the number of threads are in flight. Each window fills and drains once for
    /// each piece, so give rayon a minimum piece length of several windows (`with_min_len`).
    ///
    /// The result is a parallel iterator of `Result`s; collecting it keeps the order of the items.
    ///
    /// # Errors
    /// After the first error no further item is submitted; the items in flight are waited for, and their results follow
    /// in order. Other pieces end where they are, so the results after an error need not belong to consecutive items:
    /// collect into a `Result`, or let each output carry its item.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use rayon::prelude::*;
    /// let device = windlass::Device::host()?;
    /// let items = (1..101usize).into_par_iter().with_min_len(25);
    /// let norms: Vec<f32> = device
    ///     .par_pipeline(items, 4, |device, n| {
    ///         let x = device.upload(vec![1.0f32; n * n])?.into_output();
    ///         device.blas().nrm2(&x)
    ///     })
    ///     .collect::<Result<_, _>>()?;
    /// assert_eq!(norms[9], 10.0);
    /// # Ok(()) }
    /// ```
    pub fn par_pipeline<I, S, O, V>(&self, items: I, window: usize, submit: S) -> ParPipeline<I::Iter, S>
    where
        I: IntoParallelIterator,
        I::Iter: ParallelIterator,
        S: Fn(&Device, I::Item) -> Result<PendingDispatch<O, V>> + Sync + Send,
        O: Output,
    {
        ParPipeline::new(self.clone(), items.into_par_iter(), window, submit)
    }
}
