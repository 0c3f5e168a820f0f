//! One file of the cache on disk.
//!
//! ```text
//! magic  "WINDLASSKERNEL\r\n"  16 bytes; the line end is spoilt by what mistakes it for text
//! format u32
//! pieces, each with its length as u64 before it:
//!   material   all that the image depends on (key.rs), compared byte for byte
//!   bytes      the image
//!   log
//!   names      a count, then expression and name, each a piece
//! blake3 of all that, 32 bytes
//! ```
//! All numbers are little-endian. A file that does not have exactly this form is not an entry.

/// Incremented when the form or the meaning of an entry changes.
pub(super) const FORMAT: u32 = 1;

const MAGIC: &[u8; 16] = b"WINDLASSKERNEL\r\n";
const HASH: usize = 32;

/// The contents of an entry: the result of a compilation or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::libraries) struct Answer {
    pub(in crate::libraries) bytes: Vec<u8>,
    pub(in crate::libraries) log: String,
    pub(in crate::libraries) names: Vec<(String, String)>,
}

/// Why a file does not contain the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Damaged, truncated, in another format, or not an entry at all.
    Damaged,
    /// An undamaged entry for other material with the same hash.
    Foreign,
}

/// The contents of the file.
pub(super) fn write(material: &[u8], answer: &Answer) -> Vec<u8> {
    let mut all = Vec::with_capacity(material.len() + answer.bytes.len() + answer.log.len() + 256);
    all.extend_from_slice(MAGIC);
    all.extend_from_slice(&FORMAT.to_le_bytes());
    let mut piece = |bytes: &[u8]| {
        all.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        all.extend_from_slice(bytes);
    };
    piece(material);
    piece(&answer.bytes);
    piece(answer.log.as_bytes());
    piece(&(answer.names.len() as u64).to_le_bytes());
    for (expression, name) in &answer.names {
        piece(expression.as_bytes());
        piece(name.as_bytes());
    }
    let hash = blake3::hash(&all);
    all.extend_from_slice(hash.as_bytes());
    all
}

/// The answer in the contents of a file, if it is for `material`.
pub(super) fn read(file: &[u8], material: &[u8]) -> Result<Answer, Refused> {
    let (found, answer) = parse(file).ok_or(Refused::Damaged)?;
    if found == material { Ok(answer) } else { Err(Refused::Foreign) }
}

fn parse(file: &[u8]) -> Option<(&[u8], Answer)> {
    let (all, hash) = file.split_at_checked(file.len().checked_sub(HASH)?)?;
    let rest = all.strip_prefix(MAGIC)?;
    let mut rest = rest.strip_prefix(&FORMAT.to_le_bytes())?;
    if blake3::hash(all).as_bytes() != hash {
        return None;
    }
    let material = piece(&mut rest)?;
    let bytes = piece(&mut rest)?.to_vec();
    let log = text(&mut rest)?;
    let count = u64::from_le_bytes(piece(&mut rest)?.try_into().ok()?);
    let mut names = Vec::new();
    for _ in 0..count {
        names.push((text(&mut rest)?, text(&mut rest)?));
    }
    rest.is_empty().then_some((material, Answer { bytes, log, names }))
}

fn piece<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<8>()?;
    let (piece, after) = after.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *rest = after;
    Some(piece)
}

fn text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(piece(rest)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        Answer {
            bytes: (0..=255).collect(),
            log: "a warning".into(),
            names: vec![("f<int>".into(), "_Z1fIiE".into()), ("g".into(), "_Z1gv".into())],
        }
    }

    /// A file with a correct hash of arbitrary contents.
    fn sealed(mut all: Vec<u8>) -> Vec<u8> {
        let hash = blake3::hash(&all);
        all.extend_from_slice(hash.as_bytes());
        all
    }

    #[test]
    fn an_entry_reads_back_as_it_was_written() {
        let file = write(b"material", &answer());
        assert_eq!(read(&file, b"material"), Ok(answer()));
    }

    #[test]
    fn an_entry_for_something_else_is_foreign() {
        let file = write(b"material", &answer());
        assert_eq!(read(&file, b"other"), Err(Refused::Foreign));
        assert_eq!(read(&file, b""), Err(Refused::Foreign));
    }

    #[test]
    fn every_single_damaged_byte_is_seen() {
        let file = write(b"material", &answer());
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0x20;
            assert_eq!(read(&damaged, b"material"), Err(Refused::Damaged), "byte {at}");
        }
    }

    #[test]
    fn every_length_but_the_whole_is_damaged() {
        let file = write(b"material", &answer());
        for length in 0..file.len() {
            assert_eq!(read(&file[..length], b"material"), Err(Refused::Damaged), "{length} bytes");
        }
        let mut longer = file.clone();
        longer.push(0);
        assert_eq!(read(&longer, b"material"), Err(Refused::Damaged));
    }

    #[test]
    fn another_format_is_no_entry_though_its_hash_is_right() {
        let file = write(b"material", &answer());
        let mut older = file[..file.len() - HASH].to_vec();
        older[16..20].copy_from_slice(&(FORMAT - 1).to_le_bytes());
        assert_eq!(read(&sealed(older), b"material"), Err(Refused::Damaged));
    }

    #[test]
    fn lengths_that_lie_are_refused_though_the_hash_is_right() {
        let file = write(b"material", &answer());
        for lie in [u64::MAX, u64::MAX / 2, 1 << 40, 9] {
            let mut lying = file[..file.len() - HASH].to_vec();
            lying[20..28].copy_from_slice(&lie.to_le_bytes());
            assert_eq!(read(&sealed(lying), b"material"), Err(Refused::Damaged), "{lie}");
        }
        let trailing = sealed([&file[..file.len() - HASH], &[0; 8]].concat());
        assert_eq!(read(&trailing, b"material"), Err(Refused::Damaged));
    }
}
