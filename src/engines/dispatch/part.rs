//! One device of a dispatch over several.

use crate::core::buffer::Views;
use crate::core::dispatch::Options;
use crate::core::epoch::Epoch;
use crate::core::sync::Arc;

/// One device of a dispatch over several, with the operands that are there.
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "the host engine has no streams"))]
pub(crate) struct Part<'a, 'x> {
    pub(crate) epoch: &'a Arc<Epoch>,
    pub(crate) options: &'a Options,
    /// Reads first.
    pub(crate) views: Views<'x>,
    pub(crate) read_count: usize,
}
