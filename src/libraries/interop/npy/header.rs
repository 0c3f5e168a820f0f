//! The header of an array: a magic text, a version, a length, and a Python dictionary with three entries.

use super::descr::{self, Descr};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use crate::libraries::interop::elements::{fill, wrong};
use std::io::Read;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The longest dictionary that is read. NumPy itself refuses more than 10000 bytes, unless it is told to trust the file.
const LONGEST: usize = 1 << 16;
/// The elements begin at a multiple of this.
const ALIGN: usize = 64;

/// What the header says.
pub(super) struct Header {
    pub(super) descr: Descr,
    pub(super) layout: Layout,
}

impl Header {
    /// Reads it; the elements come next.
    pub(super) fn read(from: &mut dyn Read) -> Result<Self> {
        let mut start = [0; 8];
        let read = fill(from, &mut start)?;
        let [magic @ .., major, _] = start;
        if read < start.len() || magic != *MAGIC {
            let is_archive = start.starts_with(b"PK");
            return Err(wrong(match is_archive {
                true => "it is an archive, as of several arrays: `Npz::open` reads it",
                false => "it does not begin as NumPy's files of arrays do",
            }));
        }
        let mut len = [0; 4];
        let digits = match major {
            1 => 2,
            2 | 3 => 4,
            _ => return Err(wrong(format!("version {major} of the format is not known"))),
        };
        if fill(from, len.get_mut(..digits).unwrap_or_default())? < digits {
            return Err(wrong("it ends inside its header"));
        }
        let len = u32::from_le_bytes(len) as usize;
        if len > LONGEST {
            return Err(wrong(format!("a header of {len} bytes; the longest that is read has {LONGEST}")));
        }
        let mut text = vec![0; len];
        if fill(from, &mut text)? < len {
            return Err(wrong("it ends inside its header"));
        }
        Dictionary { rest: &text }.read()
    }

    /// The bytes of a header for dense elements.
    pub(super) fn bytes(dtype: DType, extents: &[usize], by_columns: bool) -> Vec<u8> {
        let sizes: String = extents.iter().map(|n| format!("{n}, ")).collect();
        let sizes = if extents.len() == 1 { sizes.trim_end() } else { sizes.trim_end_matches(", ") };
        let order = if by_columns { "True" } else { "False" };
        let mut text = format!("{{'descr': '{}', 'fortran_order': {order}, 'shape': ({sizes}), }}", descr::text(dtype));
        // Magic, version and length before it, the line's end after it.
        let all = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(ALIGN);
        text.extend(std::iter::repeat_n(' ', all - MAGIC.len() - 4 - text.len() - 1));
        text.push('\n');
        // At most 64 extents: far below what the two bytes can say.
        let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
        [&MAGIC[..], &[1, 0], &len.to_le_bytes(), text.as_bytes()].concat()
    }
}

/// Reads a dictionary.
struct Dictionary<'t> {
    rest: &'t [u8],
}

impl<'t> Dictionary<'t> {
    fn read(mut self) -> Result<Header> {
        let (mut descr, mut by_columns, mut extents) = (None, None, None);
        self.expect(b'{')?;
        while !self.accept(b'}') {
            let key = self.text()?;
            self.expect(b':')?;
            let is_second = match key {
                "descr" => descr.replace(self.descr()?).is_some(),
                "fortran_order" => by_columns.replace(self.truth()?).is_some(),
                "shape" => extents.replace(self.sizes()?).is_some(),
                _ => return Err(wrong(format!("its header has an entry `{}`", key.escape_debug()))),
            };
            if is_second {
                return Err(wrong(format!("its header has two entries `{key}`")));
            }
            if !self.accept(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        if !self.rest.trim_ascii().is_empty() {
            return Err(wrong("its header goes on after the dictionary"));
        }
        let missing = |name: &str| wrong(format!("its header has no entry `{name}`"));
        let descr = descr.ok_or_else(|| missing("descr"))?;
        let extents = extents.ok_or_else(|| missing("shape"))?;
        let layout = match by_columns.ok_or_else(|| missing("fortran_order"))? {
            true => Layout::column_major(extents),
            false => Layout::row_major(extents),
        };
        let refused = |e: Error| match e {
            Error::InvalidArgument { reason, .. } => wrong(format!("its shape: {reason}")),
            other => other,
        };
        Ok(Header { descr, layout: layout.map_err(refused)? })
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn accept(&mut self, letter: u8) -> bool {
        self.skip_blanks();
        match self.rest.split_first() {
            Some((first, rest)) if *first == letter => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, letter: u8) -> Result<()> {
        if self.accept(letter) { Ok(()) } else { Err(self.unexpected(&format!("`{}`", letter as char))) }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let here = self.rest.get(..self.rest.len().min(20)).unwrap_or_default();
        match here {
            [] => wrong(format!("its header ends where {wanted} should be")),
            _ => wrong(format!("its header has `{}` where {wanted} should be", here.escape_ascii())),
        }
    }

    fn text(&mut self) -> Result<&'t str> {
        self.skip_blanks();
        let text = match self.rest.split_first() {
            Some((quote @ (b'\'' | b'"'), rest)) => {
                rest.iter().position(|b| b == quote).and_then(|end| Some((rest.get(..end)?, rest.get(end + 1..)?)))
            }
            _ => None,
        };
        let text = text.and_then(|(text, rest)| Some((std::str::from_utf8(text).ok()?, rest)));
        let (text, rest) = text.ok_or_else(|| self.unexpected("a text"))?;
        self.rest = rest;
        Ok(text)
    }

    fn descr(&mut self) -> Result<Descr> {
        self.skip_blanks();
        if self.rest.first().is_some_and(|first| b"[(".contains(first)) {
            return Err(Error::unsupported("structured elements in the file: save each field as an array of its own"));
        }
        Descr::parse(self.text()?)
    }

    fn word(&mut self) -> &'t [u8] {
        self.skip_blanks();
        let end = self.rest.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        self.rest = rest;
        word
    }

    fn truth(&mut self) -> Result<bool> {
        let before = self.rest;
        match self.word() {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => Err(Dictionary { rest: before }.unexpected("`True` or `False`")),
        }
    }

    fn sizes(&mut self) -> Result<Vec<usize>> {
        self.expect(b'(')?;
        let mut all = Vec::new();
        while !self.accept(b')') {
            let before = self.rest;
            let word = self.word();
            // Python 2 wrote long integers so.
            let digits = word.strip_suffix(b"L").unwrap_or(word);
            let size = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
            let size = size.and_then(|digits| digits.parse().ok());
            all.push(size.ok_or_else(|| Dictionary { rest: before }.unexpected("a size below 2^64"))?);
            if all.len() > Layout::MAX_RANK {
                return Err(wrong(format!("its shape has more than {} axes", Layout::MAX_RANK)));
            }
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(all)
    }
}
