//! What a progress hook receives.

/// The progress of a pipeline, for a progress bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Items submitted so far.
    pub submitted: usize,
    /// Items whose output has arrived: already returned, or about to be.
    pub done: usize,
    /// The number of all items, if the iterator knows it.
    pub total: Option<usize>,
}
