//! Items through a device with a bounded window of work in flight.
//!
//! A caller who waits for each item before it submits the next leaves the device idle in between. One who submits all of
//! them holds all of their memory. A pipeline does neither: it keeps up to `window` items in flight, and takes the oldest
//! (or whichever is ready) when the window is full.
//!
//! `sequential.rs`: over an iterator, on the caller's thread. `parallel.rs`: over a rayon iterator, a window for each piece
//! that rayon gives to a worker. `progress.rs`: what a progress hook receives. Nothing here knows an engine: a pipeline is
//! made of [`PendingDispatch`](crate::PendingDispatch) alone.

mod parallel;
mod progress;
mod sequential;

pub use parallel::ParPipeline;
pub use progress::Progress;
pub use sequential::{Completed, Pipeline};

use crate::op::Output;
use crate::{Device, PendingDispatch, Result};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

impl Device {
    /// Submits `items` one after the other by `submit`, with at most `window` of them in flight, and gives their outputs in
    /// order. A window of 0 counts as 1.
    ///
    /// `submit` may dispatch several operations that follow each other; the pending of the last one is the item's.
    /// [`Pipeline::as_completed`] gives outputs as they come instead, with their index.
    ///
    /// # Errors
    /// Each output is a [`Result`]. After the first error no further item is submitted: the iterator waits for what is in
    /// flight, gives the error, and ends.
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
    pub fn pipeline<I, S, O>(&self, items: I, window: usize, submit: S) -> Pipeline<I::IntoIter, S, O>
    where
        I: IntoIterator,
        S: FnMut(&Device, I::Item) -> Result<PendingDispatch<O>>,
        O: Output,
    {
        Pipeline::new(self.clone(), items.into_iter(), window, submit)
    }

    /// As [`pipeline`](Self::pipeline), over a rayon iterator: each piece that rayon gives to a worker has a window of its
    /// own, so at most `window` times the number of workers are in flight. Windows fill and drain once a piece: give
    /// rayon a least length of some windows (`with_min_len`).
    ///
    /// The result is a parallel iterator of `Result`s, in the order of the items where it is collected.
    ///
    /// # Errors
    /// After the first error no further item is submitted; what is in flight is waited for.
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
    pub fn par_pipeline<I, S, O>(&self, items: I, window: usize, submit: S) -> ParPipeline<I::Iter, S>
    where
        I: IntoParallelIterator,
        I::Iter: ParallelIterator,
        S: Fn(&Device, I::Item) -> Result<PendingDispatch<O>> + Sync + Send,
        O: Output,
    {
        ParPipeline::new(self.clone(), items.into_par_iter(), window, submit)
    }
}
