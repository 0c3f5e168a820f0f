//! Frames: a length of four bytes, then so many bytes.

use std::io::{self, Read, Write};

/// The most bytes of a frame.
pub(in crate::libraries::collective) const MOST: usize = 1 << 20;
/// What every first frame begins with: the protocol, and its version.
pub(super) const MAGIC: [u8; 8] = *b"wndlss\x00\x01";

/// What the job's token becomes: the key of all proofs.
#[derive(Clone, Copy)]
pub(in crate::libraries::collective) struct Key([u8; 32]);

impl Key {
    pub(in crate::libraries::collective) fn new(token: &str) -> Self {
        Key(*blake3::hash(token.as_bytes()).as_bytes())
    }
}

/// The proof that its maker knows the key: comparing two of them takes the same time wherever they differ.
pub(in crate::libraries::collective) fn answer(key: Key, challenge: &[u8], what: &[u8]) -> blake3::Hash {
    let mut hash = blake3::Hasher::new_keyed(&key.0);
    hash.update(&(challenge.len() as u64).to_le_bytes()).update(challenge).update(what);
    hash.finalize()
}

/// Bytes that nobody foresees.
pub(in crate::libraries::collective) fn nonce() -> [u8; 32] {
    use std::hash::{BuildHasher, RandomState};
    let mut nonce = [0; 32];
    for piece in nonce.chunks_mut(8) {
        let random = RandomState::new().hash_one(crate::core::clock::Clock::SYSTEM.now()).to_le_bytes();
        piece.copy_from_slice(random.get(..piece.len()).unwrap_or_default());
    }
    nonce
}

/// Writes a frame.
pub(in crate::libraries::collective) fn write(to: &mut impl Write, data: &[u8]) -> io::Result<()> {
    let len = u32::try_from(data.len()).ok().filter(|len| *len as usize <= MOST);
    let len = len.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a frame that is too long"))?;
    let mut all = Vec::with_capacity(data.len() + 4);
    all.extend_from_slice(&len.to_le_bytes());
    all.extend_from_slice(data);
    to.write_all(&all)
}

/// Reads a frame of at most `most` bytes.
pub(in crate::libraries::collective) fn read(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut len = [0; 4];
    from.read_exact(&mut len)?;
    let len = u32::from_le_bytes(len) as usize;
    if len > most.min(MOST) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame that is too long"));
    }
    let mut data = vec![0; len];
    from.read_exact(&mut data)?;
    Ok(data)
}
