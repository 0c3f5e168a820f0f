//! The words of a parameter that get their places as the text is written.

use super::{Class, Reg, Writer};

/// Which words a kernel reads, in their order. `A` says what a word is; a launch gives each its value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words<A>(Vec<A>);

impl<A: Copy + PartialEq> Words<A> {
    pub(crate) const fn new() -> Self {
        Words(Vec::new())
    }

    /// Reads a word; the first time it gets a place.
    pub(crate) fn read(&mut self, writer: &mut Writer, word: A, class: Class) -> Reg {
        let at = self.0.iter().position(|known| *known == word).unwrap_or(self.0.len());
        if at == self.0.len() {
            self.0.push(word);
        }
        writer.word(at, class)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The words of a launch.
    pub(crate) fn values(&self, value: impl FnMut(&A) -> u64) -> Vec<u64> {
        self.0.iter().map(value).collect()
    }
}
