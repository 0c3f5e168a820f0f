//! Computes the size of a binary from its headers.
//!
//! A driver gets the address of a binary without its length, and relies on the headers. It would read past the end of a
//! binary that is shorter than its headers say, so such a binary does not become an [`Image`](super::Image).

use super::ImageKind;
use super::recognise::ELF;

/// The minimum size of a binary according to its headers; `None` if the headers themselves are cut off, or have an
/// unknown form. Text and LTO-IR need no such check: text ends with a zero byte, and the linker gets the length.
pub(super) fn extent(kind: ImageKind, bytes: &[u8]) -> Option<u64> {
    match kind {
        ImageKind::Cubin => of_elf(bytes),
        ImageKind::Fatbin => of_fatbin(bytes),
        ImageKind::Ptx | ImageKind::LtoIr => Some(0),
    }
}

fn number<const N: usize>(bytes: &[u8], at: u64) -> Option<u64> {
    let field: [u8; N] = *bytes.get(usize::try_from(at).ok()?..)?.first_chunk()?;
    let mut wide = [0; 8];
    wide.iter_mut().zip(field).for_each(|(to, from)| *to = from);
    Some(u64::from_le_bytes(wide))
}

/// 64-bit little-endian ELF: the tables of sections and segments, and the ranges that their entries give.
fn of_elf(bytes: &[u8]) -> Option<u64> {
    const CLASS_64_LITTLE_ENDIAN: [u8; 2] = [2, 1];
    const HEADER: u64 = 64;
    /// Minimum sizes of the entries of both tables.
    const SEGMENT: u64 = 56;
    const SECTION: u64 = 64;
    /// Kinds of sections without bytes in the file: ELF's own, and in relocatable CUDA code the global, local, shared
    /// and reserved shared memory.
    const NO_BYTES: [u64; 6] = [0, 8, 0x7000_0007, 0x7000_0009, 0x7000_000a, 0x7000_0015];
    if bytes.get(4..6)? != CLASS_64_LITTLE_ENDIAN {
        return None;
    }
    let (segments_at, sections_at) = (number::<8>(bytes, 32)?, number::<8>(bytes, 40)?);
    let (segment, segments) = (number::<2>(bytes, 54)?, number::<2>(bytes, 56)?);
    let (section, mut sections) = (number::<2>(bytes, 58)?, number::<2>(bytes, 60)?);
    // There are more sections than the field can hold: then the first section, which is unused, gives their number.
    if sections == 0 && sections_at != 0 {
        sections = number::<8>(bytes, sections_at.checked_add(32)?)?;
    }
    if (segments > 0 && segment < SEGMENT) || (sections > 0 && section < SECTION) {
        return None;
    }
    let mut end = HEADER;
    let mut reach = |at: u64, size: u64| at.checked_add(size).map(|to| end = end.max(to));
    let sections_end = sections.checked_mul(section)?;
    reach(segments_at, segments * segment)?;
    reach(sections_at, sections_end)?;
    for i in 0..segments {
        let at = segments_at.checked_add(i * segment)?;
        // Past the end: the table is longer than the file, and the extent says so.
        let (Some(from), Some(size)) =
            (number::<8>(bytes, at.checked_add(8)?), number::<8>(bytes, at.checked_add(32)?))
        else {
            break;
        };
        reach(from, size)?;
    }
    for i in 0..sections {
        let at = sections_at.checked_add(i.checked_mul(section)?)?;
        let field = |offset: u64| number::<8>(bytes, at.checked_add(offset)?);
        let (Some(kind), Some(from), Some(size)) = (number::<4>(bytes, at.checked_add(4)?), field(24), field(32))
        else {
            break;
        };
        if !NO_BYTES.contains(&kind) {
            reach(from, size)?;
        }
    }
    Some(end)
}

/// A header with the length of the data behind it: entries, each with a header and its bytes.
fn of_fatbin(bytes: &[u8]) -> Option<u64> {
    /// Minimum sizes of the header and of an entry's header: a driver reads each as a whole.
    const HEADER: u64 = 16;
    const ENTRY: u64 = 64;
    let (header, size) = (number::<2>(bytes, 6)?, number::<8>(bytes, 8)?);
    if header < HEADER {
        return None;
    }
    let end = header.checked_add(size)?;
    let (mut at, mut reached) = (header, end);
    while at < end {
        let (Some(header), Some(size)) =
            (number::<4>(bytes, at.checked_add(4)?), number::<8>(bytes, at.checked_add(8)?))
        else {
            // Past the end of the file, or of the length that the header gives.
            reached = reached.max(at.checked_add(ENTRY)?);
            break;
        };
        if header < ENTRY {
            return None;
        }
        let payload = at.checked_add(header)?;
        let next = payload.checked_add(size)?;
        if next > end {
            return None;
        }
        // An uncompressed payload is a binary whose headers are checked in turn.
        if let Some(inner) = bytes.get(usize::try_from(payload).ok()?..)
            && inner.starts_with(&ELF)
            && of_elf(inner)? > size
        {
            return None;
        }
        at = next;
    }
    Some(reached)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF of a header, `payload` as its only section, one section that has no bytes, and the table of both.
    fn elf(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0u8; 64];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        bytes[58..60].copy_from_slice(&64u16.to_le_bytes());
        bytes[60..62].copy_from_slice(&3u16.to_le_bytes());
        bytes.extend_from_slice(payload);
        let table = bytes.len() as u64;
        bytes[40..48].copy_from_slice(&table.to_le_bytes());
        for (kind, from, size) in [(0u32, 0, u64::MAX), (1, 64, payload.len() as u64), (8, 64, 1 << 40)] {
            let mut section = [0u8; 64];
            section[4..8].copy_from_slice(&kind.to_le_bytes());
            section[24..32].copy_from_slice(&u64::to_le_bytes(from));
            section[32..40].copy_from_slice(&size.to_le_bytes());
            bytes.extend_from_slice(&section);
        }
        bytes
    }

    fn set<const N: usize>(bytes: &[u8], at: usize, value: [u8; N]) -> Vec<u8> {
        let mut changed = bytes.to_vec();
        changed[at..at + N].copy_from_slice(&value);
        changed
    }

    fn fatbin(entries: &[&[u8]]) -> Vec<u8> {
        let mut body = Vec::new();
        for entry in entries {
            let mut header = [0u8; 64];
            header[0] = 2;
            header[4] = 64;
            header[8..16].copy_from_slice(&(entry.len() as u64).to_le_bytes());
            body.extend_from_slice(&header);
            body.extend_from_slice(entry);
        }
        let mut bytes = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Whether all bytes that the headers describe are there.
    fn is_whole(kind: ImageKind, bytes: &[u8]) -> bool {
        extent(kind, bytes).is_some_and(|extent| extent <= bytes.len() as u64)
    }

    #[test]
    fn a_binary_reaches_as_far_as_its_headers_say() {
        let whole = elf(&[7; 100]);
        assert_eq!(extent(ImageKind::Cubin, &whole), Some(whole.len() as u64));
        let fat = fatbin(&[&whole, b"text"]);
        assert_eq!(extent(ImageKind::Fatbin, &fat), Some(fat.len() as u64));
        // Extra bytes behind the binary are ignored.
        assert!(is_whole(ImageKind::Cubin, &[&whole[..], &[0; 9]].concat()));
        assert!(is_whole(ImageKind::Fatbin, &[&fat[..], &[0; 9]].concat()));
    }

    #[test]
    fn every_binary_that_is_cut_off_is_known() {
        let whole = elf(&[7; 100]);
        (0..whole.len()).for_each(|n| assert!(!is_whole(ImageKind::Cubin, &whole[..n]), "{n} bytes"));
        let fat = fatbin(&[&whole, b"text"]);
        (0..fat.len()).for_each(|n| assert!(!is_whole(ImageKind::Fatbin, &fat[..n]), "{n} bytes"));
        // The outer binary is complete, the inner one is cut off.
        (4..whole.len()).for_each(|n| assert!(!is_whole(ImageKind::Fatbin, &fatbin(&[&whole[..n]])), "{n} bytes"));
    }

    #[test]
    fn lengths_that_overflow_or_contradict_each_other_are_refused() {
        let whole = elf(&[7; 100]);
        let table = whole.len() - 3 * 64;
        for changed in [
            set(&whole, 40, u64::MAX.to_le_bytes()),        // the table of sections
            set(&whole, 40, (u64::MAX - 63).to_le_bytes()), // one that ends past all numbers
            set(&whole, 56, 1u16.to_le_bytes()),            // a segment of no size
            set(&set(&whole, 54, 56u16.to_le_bytes()), 56, u16::MAX.to_le_bytes()),
            set(&whole, 58, 8u16.to_le_bytes()), // sections of 8 bytes
            set(&whole, 60, 4u16.to_le_bytes()), // one section more
            set(&whole, 4, [1u8, 1]),            // 32 bits
            set(&whole, 4, [2u8, 2]),            // big-endian
            set(&whole, table + 64 + 24, u64::MAX.to_le_bytes()), // where a section begins
            set(&whole, table + 64 + 32, u64::MAX.to_le_bytes()), // how long it is
            set(&whole, table + 64 + 32, (table as u64 + 3 * 64 - 63).to_le_bytes()),
        ] {
            assert!(!is_whole(ImageKind::Cubin, &changed), "{:?}", extent(ImageKind::Cubin, &changed));
        }
        let fat = fatbin(&[b"text"]);
        for changed in [
            set(&fat, 6, 0u16.to_le_bytes()),
            set(&fat, 6, 17u16.to_le_bytes()),
            set(&fat, 8, u64::MAX.to_le_bytes()),
            set(&fat, 8, (fat.len() as u64 - 15).to_le_bytes()),
            set(&fat, 16 + 4, 0u32.to_le_bytes()),
            set(&fat, 16 + 4, u32::MAX.to_le_bytes()),
            set(&fat, 16 + 8, 5u64.to_le_bytes()),
            set(&fat, 16 + 8, u64::MAX.to_le_bytes()),
        ] {
            assert!(!is_whole(ImageKind::Fatbin, &changed), "{:?}", extent(ImageKind::Fatbin, &changed));
        }
    }

    /// The header of an entry is read as a whole, even if its own length field says less.
    #[test]
    fn a_last_entry_without_room_for_its_header_is_cut_off() {
        for header in [16u32, 63] {
            let mut fat = fatbin(&[b""]);
            fat.truncate(16 + header as usize);
            let fat = set(&set(&fat, 8, u64::from(header).to_le_bytes()), 16 + 4, header.to_le_bytes());
            assert!(!is_whole(ImageKind::Fatbin, &fat), "{header} bytes of a header");
        }
    }

    #[test]
    fn a_fatbin_of_a_few_bytes_is_never_whole() {
        let fat = fatbin(&[&[0; 64]]);
        for n in 4..64 {
            let bytes = fat[..n].to_vec();
            let refused = super::super::Image::from_bytes(bytes).unwrap_err();
            assert!(matches!(refused, crate::core::error::Error::InvalidArgument { .. }), "{n} bytes: {refused}");
        }
        assert!(super::super::Image::from_bytes(fat).is_ok());
    }

    #[test]
    fn more_sections_than_the_header_counts_are_counted_in_the_first() {
        let whole = elf(&[7; 100]);
        let table = whole.len() - 3 * 64;
        let counted = |n: u64| set(&set(&whole, 60, 0u16.to_le_bytes()), table + 32, n.to_le_bytes());
        assert_eq!(extent(ImageKind::Cubin, &counted(3)), Some(whole.len() as u64));
        assert!(!is_whole(ImageKind::Cubin, &counted(4)));
        assert!(!is_whole(ImageKind::Cubin, &counted(u64::MAX / 2)));
    }
}
