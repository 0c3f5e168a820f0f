//! What is compiled.

use std::sync::Arc;

/// A program of CUDA C++: its source text.
///
/// Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    source: Arc<str>,
}

impl Program {
    /// A program of this source text.
    pub fn new(source: impl Into<Arc<str>>) -> Self {
        Program { source: source.into() }
    }

    /// The source text.
    pub fn source(&self) -> &str {
        &self.source
    }
}
