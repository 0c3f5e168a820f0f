//! Cache keys of images.

use super::Arch;

/// A hash of everything that an image depends on: the program with its options, or the link with its inputs; the
/// architecture; and the files it can read. A process has only one compiler and one linker; on disk their version and
/// build are part of the key as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    what: [u8; 32],
    arch: Arch,
    files: [u8; 32],
}

impl Key {
    pub(super) fn new(what: [u8; 32], arch: Arch, files: [u8; 32]) -> Self {
        Key { what, arch, files }
    }

    #[cfg(test)]
    pub(super) fn test(number: u8) -> Self {
        Key { what: [number; 32], arch: Arch::SM_80, files: [0; 32] }
    }
}

/// Writes the length before each piece, so that different lists of pieces never give the same bytes.
pub(super) struct Writer<F: FnMut(&[u8])>(pub(super) F);

impl<F: FnMut(&[u8])> Writer<F> {
    pub(super) fn piece(&mut self, bytes: &[u8]) {
        (self.0)(&(bytes.len() as u64).to_le_bytes());
        (self.0)(bytes);
    }

    pub(super) fn number(&mut self, number: u64) {
        (self.0)(&number.to_le_bytes());
    }

    pub(super) fn list(&mut self, list: &[String]) {
        self.number(list.len() as u64);
        list.iter().for_each(|text| self.piece(text.as_bytes()));
    }
}

/// The hash of what `write` writes.
pub(super) fn hash(write: impl FnOnce(&mut Writer<&mut dyn FnMut(&[u8])>)) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut update = |bytes: &[u8]| {
        hasher.update(bytes);
    };
    write(&mut Writer(&mut update));
    *hasher.finalize().as_bytes()
}
