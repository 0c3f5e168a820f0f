//! What images are kept under.

use super::Arch;

/// Everything that an image depends on, hashed: the program with its options, or the link with its inputs; the
/// architecture; and the files it may read. The tools are one for the life of a process; on disk their version and build
/// count as well.
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

/// Writes pieces so that no two lists of pieces give the same bytes: each has its length before it.
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
