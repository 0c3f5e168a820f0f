//! What a progress hook receives.

/// How far a pipeline has come, for a progress bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Items submitted so far.
    pub submitted: usize,
    /// Items whose answers are there: given out, or about to be.
    pub done: usize,
    /// Items in all, where the iterator knows.
    pub total: Option<usize>,
}
