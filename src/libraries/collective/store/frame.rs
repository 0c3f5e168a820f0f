//! Frames: a length of four bytes, then so many bytes. Those after a hello end with a tag (`seal.rs`).

use super::seal::{Forged, Nonce, Seal, TAG};
use crate::core::error::Error;
use crate::core::room;
use postcard::ser_flavors::Flavor;
use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, Read, Write};

/// The most bytes of a frame.
pub(super) const MOST: usize = 1 << 20;
/// The most bytes of the first frames, before anything is proven.
pub(super) const FIRST: usize = 256;
/// What every first frame begins with: the protocol, and its version.
pub(super) const MAGIC: [u8; 8] = *b"wndlss\x00\x02";

/// The version in the beginning of a first frame. `None`: it is of something else.
pub(super) fn version(frame: &[u8]) -> Option<u8> {
    let (name, own) = (frame.get(..MAGIC.len() - 1)?, MAGIC.get(..MAGIC.len() - 1)?);
    if name == own { frame.get(MAGIC.len() - 1).copied() } else { None }
}

/// What is told a peer of another version.
pub(super) fn another(version: Option<u8>) -> String {
    let [.., own] = MAGIC;
    match version {
        Some(theirs) => format!(
            "it speaks version {theirs} of the protocol, this process version {own}; use one version of \
                                 windlass in all processes"
        ),
        None => "it speaks another protocol".into(),
    }
}

/// Writes a frame.
pub(in crate::libraries::collective) fn write(to: &mut impl Write, pieces: &[&[u8]]) -> io::Result<()> {
    let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
    let len = u32::try_from(bytes).ok().filter(|len| *len as usize <= MOST);
    let len = len.ok_or_else(too_long)?;
    let mut all = room::with_capacity(bytes + 4).map_err(refused)?;
    all.extend_from_slice(&len.to_le_bytes());
    pieces.iter().for_each(|piece| all.extend_from_slice(piece));
    to.write_all(&all)
}

/// Reads a frame of at most `most` bytes.
pub(super) fn read(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut len = [0; 4];
    from.read_exact(&mut len)?;
    let len = u32::from_le_bytes(len) as usize;
    if len > most.min(MOST) {
        return Err(too_long());
    }
    let mut data = room::zeroed(len).map_err(refused)?;
    from.read_exact(&mut data)?;
    Ok(data)
}

/// Writes a value in a frame with a tag. If memory is refused, nothing was written, and the tag of the next is the same.
pub(super) fn send(to: &mut impl Write, seal: &mut Seal, value: &impl Serialize) -> io::Result<()> {
    let failed = |error| match error {
        postcard::Error::SerializeBufferFull => io::ErrorKind::OutOfMemory.into(),
        other => io::Error::new(io::ErrorKind::InvalidInput, other),
    };
    let mut bytes = postcard::serialize_with_flavor(value, Room(Vec::new())).map_err(failed)?;
    room::reserve(&mut bytes, 4 + TAG).map_err(refused)?;
    let len = u32::try_from(bytes.len() + TAG).ok().filter(|len| *len as usize <= MOST).ok_or_else(too_long)?;
    let tag = seal.tag(&bytes);
    bytes.extend_from_slice(&tag);
    bytes.splice(..0, len.to_le_bytes()); // moves them; the space is there
    to.write_all(&bytes)
}

/// Reads a value from a frame whose tag fits.
pub(super) fn receive<T: DeserializeOwned>(from: &mut impl Read, seal: &mut Seal) -> io::Result<T> {
    let frame = read(from, MOST)?;
    let (bytes, tag) = frame.len().checked_sub(TAG).and_then(|at| frame.split_at_checked(at)).ok_or_else(forged)?;
    seal.add(bytes);
    seal.check(tag).map_err(|Forged| forged())?;
    // Lists of cards are twice as large in memory, and are made by doubling.
    room::probe(4 * bytes.len()).map_err(refused)?;
    postcard::from_bytes(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Memory was refused.
fn refused(_: Error) -> io::Error {
    io::ErrorKind::OutOfMemory.into()
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a frame that is too long")
}

fn forged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Forged)
}

/// Whether a frame was refused because of its tag.
pub(super) fn is_forged(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Forged>())
}

/// The error of a connection to the store.
pub(super) fn lost(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::OutOfMemory => room::out_of_memory(MOST),
        _ if is_forged(&error) => Error::untrusted("the store", error.to_string()),
        _ => Error::library(format!("the connection to the store broke: {error}")),
    }
}

/// Bytes that are encoded, in memory that may be refused.
struct Room(Vec<u8>);

impl Flavor for Room {
    type Output = Vec<u8>;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        room::push(&mut self.0, byte).map_err(|_| postcard::Error::SerializeBufferFull)
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.try_reserve(bytes.len()).map_err(|_| postcard::Error::SerializeBufferFull)?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Vec<u8>> {
        Ok(self.0)
    }
}

/// The nonce and the rest of a first frame.
pub(super) fn parts(frame: &[u8]) -> Option<(&Nonce, &[u8])> {
    frame.get(MAGIC.len()..)?.split_first_chunk()
}
