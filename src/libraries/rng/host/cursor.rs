//! A walk along a stream.

/// Returns the words of consecutive visits.
pub(super) trait Cursor: Send {
    /// Writes the next visits: word `j` of visit `i` goes to `words[j][i]`. All slices have one length, and there is
    /// one for each word of a visit of this cursor.
    fn next(&mut self, words: &mut [&mut [u32]]);

    /// Whether it can make more visits than it was made for.
    fn goes_on(&self) -> bool {
        true
    }
}
