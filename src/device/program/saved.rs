//! The contents of a program file. It holds what was recorded, not the plan made from it: the program is planned again
//! when it is loaded, and everything that a recording would have refused is refused then.
//!
//! ```text
//!   "windlass program" │ version, u32 │ length, u64 │ BLAKE3 of what follows │ postcard: Saved
//! ```

use super::entry::{Part, Source};
use crate::core::buffer::AnyIn;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use serde::{Deserialize, Serialize};

const MAGIC: &[u8; 16] = b"windlass program";
/// The version of the format; it increases when older files can no longer be read.
const VERSION: u32 = 3;
/// Magic, version, length, checksum.
const HEAD: usize = 16 + 4 + 8 + 32;

/// The whole contents.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Saved {
    /// The hash of the executable that [`SavedStep::distance`] refers to.
    pub(super) executable: [u8; 32],
    /// Whether [`Program::capture_graphs`](super::Program::capture_graphs) was called.
    pub(super) graphs: bool,
    /// The recording's memory, in the order in which it was named.
    pub(super) pieces: Vec<SavedPiece>,
    /// The buffers of the device that the program reads.
    pub(super) captured: Vec<Elements>,
    pub(super) steps: Vec<SavedStep>,
}

/// The length of a buffer and the size of its elements, both in bytes: all that is known of a captured buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Elements {
    pub(super) bytes: u64,
    pub(super) size: u64,
}

impl Elements {
    pub(super) fn from_buffer(buffer: &AnyIn<'_>) -> Self {
        let bytes = buffer.place().2 as u64;
        // A recording knows the size of elements only by their number.
        Elements { bytes, size: if bytes == 0 { 1 } else { buffer.dtype().size() as u64 } }
    }
}

impl std::fmt::Display for Elements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes ({}-byte elements)", self.bytes, self.size)
    }
}

/// A piece of memory of a recording.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct SavedPiece {
    pub(super) part: Part,
    pub(super) bytes: u64,
    /// For a buffer that each replay is given: the code of its type; and in `fresh`, whether the program overwrites all
    /// of it.
    pub(super) dtype: u32,
    pub(super) fresh: bool,
    /// For a tensor that each replay is given: how it lies in this memory.
    pub(super) layout: Option<Layout>,
}

/// A recorded operation.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct SavedStep {
    /// The operation's name, for error messages if it cannot be loaded.
    pub(super) op: String,
    /// The code that finds the operation in the executable that saved it; `name` is the code that finds it in a program
    /// that knows all operations by their names.
    pub(super) distance: u64,
    pub(super) name: u64,
    pub(super) packed: Vec<u8>,
    pub(super) shape: Vec<u32>,
    pub(super) label: Option<String>,
    pub(super) operands: Vec<SavedUse>,
}

/// An operand: the memory that holds it, its offset there, and its length, both in bytes.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct SavedUse {
    pub(super) source: Source,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

#[cold]
pub(super) fn unreadable(reason: impl std::fmt::Display) -> Error {
    Error::invalid("path", format!("the file holds no readable program: {reason}"))
}

impl Saved {
    /// The bytes of the whole file.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        let body = postcard::to_stdvec(self).map_err(crate::core::op::garbled)?;
        let mut all = Vec::with_capacity(HEAD + body.len());
        all.extend_from_slice(MAGIC);
        all.extend_from_slice(&VERSION.to_le_bytes());
        all.extend_from_slice(&(body.len() as u64).to_le_bytes());
        all.extend_from_slice(blake3::hash(&body).as_bytes());
        all.extend_from_slice(&body);
        Ok(all)
    }

    /// Decodes the bytes of a whole file.
    pub(super) fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(unreadable("it does not begin like a file that `Program::save` wrote"));
        };
        let cut = || unreadable(format!("it is cut off at {} bytes", bytes.len()));
        let (version, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            return Err(unreadable(format!(
                "it has the format version {version}, but this release reads version {VERSION}"
            )));
        }
        let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
        let (sum, body) = rest.split_first_chunk::<32>().ok_or_else(cut)?;
        let length = u64::from_le_bytes(*length);
        if length != body.len() as u64 {
            return Err(unreadable(format!("{length} bytes were saved, but the file holds {}", body.len())));
        }
        if blake3::hash(body) != *sum {
            return Err(unreadable("it is damaged: its checksum does not match"));
        }
        postcard::from_bytes(body).map_err(unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_damaged_file_is_read() {
        let step = SavedStep {
            op: "scal".into(),
            distance: 1,
            name: 2,
            packed: vec![3; 40],
            shape: vec![4],
            label: Some("first".into()),
            operands: vec![SavedUse { source: Source::Captured(0), offset: 0, bytes: 8 }],
        };
        let saved = Saved {
            executable: [7; 32],
            graphs: true,
            pieces: Vec::new(),
            captured: vec![Elements { bytes: 8, size: 8 }],
            steps: vec![step],
        };
        let good = saved.to_bytes().unwrap();
        assert_eq!(Saved::of_bytes(&good).unwrap().to_bytes().unwrap(), good);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(Saved::of_bytes(&bad).is_err(), "bit {} of byte {at}", at % 8);
            assert!(Saved::of_bytes(&good[..at]).is_err(), "the first {at} bytes");
        }
        let longer = [&good[..], &[0]].concat();
        assert!(Saved::of_bytes(&longer).is_err());
    }
}
