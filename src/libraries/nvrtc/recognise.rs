//! Detects the format of bytes (PTX, CUBIN, fatbin or LTO-IR), and the architecture.

use super::{Arch, ImageKind};

/// The magic number of a fatbin, little-endian.
const FATBIN: [u8; 4] = [0x50, 0xed, 0x55, 0xba];
/// The magic number of LTO-IR, little-endian.
const LTO_IR: [u8; 4] = [0xed, 0x43, 0x4e, 0x7f];
/// The magic number of ELF.
pub(super) const ELF: [u8; 4] = [0x7f, b'E', b'L', b'F'];
/// The machine number of CUDA in ELF.
const EM_CUDA: u16 = 190;

/// The format, and the architecture if the bytes contain it.
pub(super) fn recognise(bytes: &[u8]) -> Option<(ImageKind, Option<Arch>)> {
    match bytes.first_chunk::<4>() {
        Some(&FATBIN) => return Some((ImageKind::Fatbin, None)),
        Some(&LTO_IR) => return Some((ImageKind::LtoIr, None)),
        Some(&ELF) => {
            let machine = bytes.get(18..20)?;
            return (machine == EM_CUDA.to_le_bytes()).then_some((ImageKind::Cubin, of_elf(bytes)));
        }
        _ => {}
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let text = after_comments(text.trim_end_matches('\0'));
    text.starts_with(".version").then(|| (ImageKind::Ptx, target(text)))
}

/// The architecture of a CUBIN, from the flags of its ELF header. They do not tell whether it is specific (`sm_90a`).
fn of_elf(bytes: &[u8]) -> Option<Arch> {
    let flags = u32::from_le_bytes(*bytes.get(48..)?.first_chunk()?);
    // The version of the ABI: up to 7 the number is in the lowest byte, from 8 on in the next byte.
    let number = match bytes.get(8)? {
        0..=7 => flags & 0xff,
        _ => flags >> 8 & 0xff,
    };
    (number >= 50).then(|| Arch::of_capability(number / 10, number % 10))
}

/// The text after the blanks and comments at its beginning.
fn after_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        if let Some(rest) = text.strip_prefix("//") {
            text = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(rest) = text.strip_prefix("/*") {
            text = rest.split_once("*/").map_or("", |(_, rest)| rest);
        } else {
            return text;
        }
    }
}

/// The architecture that `.target` names. PTX is for a virtual architecture, but uses the name of the real one.
fn target(text: &str) -> Option<Arch> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(".target"))?;
    let name = line.trim_start().split(|c: char| c == ',' || c.is_whitespace()).next()?;
    name.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_is_known_by_its_first_directive_behind_comments() {
        let text = "// made by hand\n/* two\nlines */ .version 8.0\n.target sm_90a, debug\n.address_size 64\n";
        assert_eq!(recognise(text.as_bytes()), Some((ImageKind::Ptx, Some(Arch::SM_90A))));
        assert_eq!(recognise(format!("{text}\0").as_bytes()), Some((ImageKind::Ptx, Some(Arch::SM_90A))));
    }

    #[test]
    fn what_is_none_of_the_kinds_is_not_recognised() {
        let mut x86 = vec![0u8; 64];
        x86[..4].copy_from_slice(&ELF);
        x86[18] = 62;
        for bytes in [&b""[..], b"hello", b"// .version", b"/* .version", &x86, &x86[..10], &[0xff; 40]] {
            assert_eq!(recognise(bytes), None, "{bytes:?}");
        }
    }
}
