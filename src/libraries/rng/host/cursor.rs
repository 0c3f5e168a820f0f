//! A walk along a stream.

/// Hands out the words of consecutive visits.
pub(super) trait Cursor: Send {
    /// The next visits: word `j` of visit `i` goes to `words[j][i]`. All of the slices have one length, and there are as
    /// many as a visit of this cursor has words.
    fn next(&mut self, words: &mut [&mut [u32]]);

    /// It may be asked for more visits than it was made for.
    fn goes_on(&self) -> bool {
        true
    }
}
