//! A walk along a stream.

/// Returns the words of consecutive visits.
pub(super) trait Cursor: Send {
    /// Writes the next visits: word `j` of visit `i` goes to `words[j][i]`. All slices have one length, and there is
    /// one for each word of a visit. Cursors of MT19937 and MTGP32 make visits of any width; others make those that
    /// they were made for.
    fn next(&mut self, words: &mut [&mut [u32]]);

    /// Whether it can make more visits than it was made for.
    fn goes_on(&self) -> bool {
        true
    }
}
