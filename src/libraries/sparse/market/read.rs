//! Matrix Market files, read line by line (Boisvert, Pozo and Remington 1996).

use super::super::element::{SparseElement, SparseIndex};
use super::CooBuilder;
use crate::core::error::{Error, Result};
use std::io::{BufRead, Read};
use std::str::SplitWhitespace;

/// How much of a file has been read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MarketProgress {
    /// Entries done so far.
    pub done: usize,
    /// Entries in total.
    pub total: usize,
}

/// Number of entries between two calls of the progress function.
pub(super) const EVERY: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Real,
    Integer,
    Complex,
    Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

impl Symmetry {
    /// The number of entries that an array file stores; `None` if it cannot be counted.
    fn stored(self, rows: usize, cols: usize) -> Option<usize> {
        let triangle = |n: usize| n.checked_mul(n.checked_add(1)?).map(|twice| twice / 2);
        match self {
            Symmetry::General => rows.checked_mul(cols),
            Symmetry::Symmetric | Symmetry::Hermitian => triangle(rows),
            Symmetry::Skew => triangle(rows.saturating_sub(1)),
        }
    }
}

/// The longest line that is read: a file without line ends cannot take more memory than this.
const LINE: u64 = 1 << 20;

/// Entries for which memory is taken ahead, whatever the header says.
const AHEAD: usize = 1 << 16;

/// The lines of the file, numbered, without comments; lines that are comments can be skipped.
struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    /// The next line that is not empty; `None` at the end. Comments, in any encoding, may be skipped.
    fn next(&mut self, comments: bool) -> Result<Option<&str>> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = Read::take(&mut self.reader, LINE).read_until(b'\n', &mut self.line);
            let read = read.map_err(|e| Error::library(format!("reading line {}: {e}", self.number)))?;
            let line = self.line.trim_ascii();
            match read {
                0 => return Ok(None),
                _ if line.is_empty() || (comments && line.starts_with(b"%")) => {
                    // What is left of a long comment is no line of its own.
                    while !self.line.ends_with(b"\n") && !self.line.is_empty() {
                        self.line.clear();
                        let more = Read::take(&mut self.reader, LINE).read_until(b'\n', &mut self.line);
                        more.map_err(|e| Error::library(format!("reading line {}: {e}", self.number)))?;
                    }
                }
                _ if read as u64 == LINE => return Err(self.wrong(format!("longer than {LINE} bytes"))),
                _ => break,
            }
        }
        // What follows a `%` is a comment. The banner begins with such signs itself.
        let banner = if comments { 0 } else { self.line.len() - self.line.trim_ascii_start().len() + 2 };
        let comment = self.line.iter().skip(banner).position(|byte| *byte == b'%');
        self.line.truncate(comment.map_or(self.line.len(), |at| at + banner));
        let line = self.line.trim_ascii();
        match std::str::from_utf8(line) {
            Ok(line) => Ok(Some(line)),
            Err(error) => {
                let byte = line.get(error.valid_up_to()).copied().unwrap_or_default();
                let what = format!("byte {byte:#04x} is not part of a number: only comments may hold other text");
                Err(self.wrong(what))
            }
        }
    }

    fn wrong(&self, what: impl std::fmt::Display) -> Error {
        Error::invalid("file", format!("line {}: {what}", self.number))
    }

    /// Reads a line of `N` whole numbers.
    fn sizes<const N: usize>(&mut self, what: &str) -> Result<[usize; N]> {
        let text = self.next(true)?.map(str::to_owned);
        let text = text.ok_or_else(|| self.wrong(format!("the file ends before the numbers of {what}")))?;
        let mut words = text.split_whitespace();
        let numbers = [(); N].map(|()| words.next().and_then(|word| word.parse().ok()));
        match (numbers.iter().all(Option::is_some), words.next()) {
            (true, None) => Ok(numbers.map(Option::unwrap_or_default)),
            _ => Err(self.wrong(format!("{:?} instead of the numbers of {what}", start(&text)))),
        }
    }
}

/// The beginning of a line, for a message.
fn start(text: &str) -> &str {
    text.char_indices().nth(80).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// The value of an entry: one or two numbers.
fn value(words: &mut SplitWhitespace<'_>, field: Field) -> Option<(f64, f64)> {
    let mut number = || words.next()?.parse::<f64>().ok();
    match field {
        Field::Pattern => Some((1.0, 0.0)),
        Field::Real | Field::Integer => Some((number()?, 0.0)),
        Field::Complex => Some((number()?, number()?)),
    }
}

/// What a file says about its entries.
struct Header {
    field: Field,
    symmetry: Symmetry,
    /// All entries of each column one after the other, without their places.
    array: bool,
    rows: usize,
    cols: usize,
    /// The number of entries in the file.
    total: usize,
}

impl Header {
    fn read<T: SparseElement>(lines: &mut Lines<impl BufRead>) -> Result<Self> {
        let head = lines.next(false)?.unwrap_or_default().to_lowercase();
        let mut words = head.split_whitespace();
        let [banner, object, format, field, symmetry] = [(); 5].map(|()| words.next().unwrap_or_default());
        // Some programs write the banner with one sign, and SciPy reads it.
        let banner = banner.strip_prefix("%%").or_else(|| banner.strip_prefix('%'));
        if (banner, object, words.next()) != (Some("matrixmarket"), "matrix", None) {
            return Err(lines.wrong("the header is not `%%MatrixMarket matrix FORMAT FIELD SYMMETRY`"));
        }
        let field = match field {
            "real" | "double" => Field::Real,
            "integer" | "unsigned-integer" => Field::Integer,
            "complex" if T::DTYPE.is_complex() => Field::Complex,
            "complex" => return Err(lines.wrong(format!("the entries are complex, but {} is real", T::DTYPE))),
            "pattern" => Field::Pattern,
            other => return Err(lines.wrong(format!("the field {other:?} is not supported"))),
        };
        let symmetry = match symmetry {
            "general" => Symmetry::General,
            "symmetric" => Symmetry::Symmetric,
            "skew-symmetric" => Symmetry::Skew,
            "hermitian" => Symmetry::Hermitian,
            other => return Err(lines.wrong(format!("the symmetry {other:?} is not supported"))),
        };
        let array = match format {
            "coordinate" => false,
            "array" if field != Field::Pattern => true,
            other => return Err(lines.wrong(format!("the format {other:?} with the field {field:?} is not supported"))),
        };
        let [rows, cols, total] = if array {
            let [rows, cols] = lines.sizes("rows and columns")?;
            let total = symmetry.stored(rows, cols).ok_or_else(|| lines.wrong("more entries than can be counted"))?;
            [rows, cols, total]
        } else {
            lines.sizes("rows, columns and entries")?
        };
        if symmetry != Symmetry::General && rows != cols {
            return Err(lines.wrong(format!("{rows} x {cols} is not square, but a {symmetry:?} matrix must be")));
        }
        Ok(Header { field, symmetry, array, rows, cols, total })
    }

    /// The first row that an array file stores in this column.
    fn first_row(&self, column: usize) -> usize {
        match self.symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric | Symmetry::Hermitian => column,
            Symmetry::Skew => column + 1,
        }
    }

    /// The place of an entry of an array file; `next` then is the one below it.
    fn next_place(&self, next: &mut (usize, usize)) -> (usize, usize) {
        while next.0 >= self.rows {
            next.1 += 1;
            next.0 = self.first_row(next.1);
        }
        let place = *next;
        next.0 += 1;
        place
    }

    /// The place with which an entry begins.
    fn place(&self, words: &mut SplitWhitespace<'_>, text: &str) -> Result<(usize, usize), String> {
        let mut number = || words.next()?.parse::<usize>().ok();
        let (Some(i), Some(j)) = (number(), number()) else {
            return Err(format!("{:?} is not an entry", start(text)));
        };
        let (Some(row), Some(column)) = (i.checked_sub(1), j.checked_sub(1)) else {
            return Err(format!("index 0 in ({i}, {j}): indices begin at 1"));
        };
        if row >= self.rows || column >= self.cols {
            return Err(format!("({i}, {j}) does not lie inside {} x {}", self.rows, self.cols));
        }
        Ok((row, column))
    }

    /// Fails if an entry does not fit the symmetry.
    fn check(&self, (row, column): (usize, usize), number: (f64, f64)) -> Result<(), String> {
        let (symmetry, place) = (self.symmetry, || format!("({}, {})", row + 1, column + 1));
        if symmetry != Symmetry::General && column > row {
            let place = place();
            return Err(format!("{place} lies above the diagonal of a {symmetry:?} matrix: store the lower triangle"));
        }
        if symmetry == Symmetry::Skew && column == row && number != (0.0, 0.0) {
            return Err(format!("{} is not zero, but the diagonal of a skew-symmetric matrix is", place()));
        }
        Ok(())
    }

    /// Adds an entry, and its mirror image.
    fn push<T: SparseElement, I: SparseIndex>(
        &self,
        builder: &mut CooBuilder<T, I>,
        (row, column): (usize, usize),
        (re, im): (f64, f64),
    ) -> Result<()> {
        builder.push(row, column, T::from_parts(re, im))?;
        let mirrored = match self.symmetry {
            _ if row == column => return Ok(()),
            Symmetry::General => return Ok(()),
            Symmetry::Symmetric => (re, im),
            Symmetry::Skew => (-re, -im),
            Symmetry::Hermitian => (re, -im),
        };
        builder.push(column, row, T::from_parts(mirrored.0, mirrored.1))
    }
}

/// Reads a matrix in the Matrix Market format, `coordinate` or `array`, with any field and symmetry. The triangle that
/// a symmetric file omits is filled in. `progress` is called every 65536 entries and at the end.
///
/// # Errors
/// [`Error::InvalidArgument`], which names the line, if the file violates the format, holds complex entries for a real
/// type, or has a size that the index type cannot represent; [`Error::OutOfMemory`]; [`Error::LibraryError`] if reading
/// fails.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// let text = "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n2 2 2\n1 1 4.0\n2 1 -1.5\n";
/// let matrix = windlass::sparse::read_market::<f64, i32>(text.as_bytes(), |_| {})?;
/// assert_eq!((matrix.rows(), matrix.len()), (2, 3));
/// # Ok(()) }
/// ```
pub fn read_market<T: SparseElement, I: SparseIndex>(
    reader: impl BufRead,
    mut progress: impl FnMut(MarketProgress),
) -> Result<CooBuilder<T, I>> {
    let mut lines = Lines { reader, line: Vec::new(), number: 0 };
    let header = Header::read::<T>(&mut lines)?;
    let Header { rows, cols, total, .. } = header;
    let mut builder = CooBuilder::new(rows, cols)?;
    builder.reserve(total.min(AHEAD));
    // The place of the next entry of an array file.
    let mut next = (header.first_row(0), 0);
    for done in 0..total {
        let text = lines.next(true)?.map(str::to_owned);
        let text = text.ok_or_else(|| lines.wrong(format!("the file ends after {done} of {total} entries")))?;
        let mut words = text.split_whitespace();
        let place = match header.array {
            true => header.next_place(&mut next),
            false => header.place(&mut words, &text).map_err(|what| lines.wrong(what))?,
        };
        let Some(number) = value(&mut words, header.field) else {
            return Err(lines.wrong(format!("{:?} is not an entry", start(&text))));
        };
        if words.next().is_some() {
            return Err(lines.wrong(format!("{:?} has more than one entry", start(&text))));
        }
        header.check(place, number).map_err(|what| lines.wrong(what))?;
        header.push(&mut builder, place, number)?;
        if (done + 1).is_multiple_of(EVERY) {
            progress(MarketProgress { done: done + 1, total });
        }
    }
    if let Some(text) = lines.next(true)?.map(str::to_owned) {
        return Err(lines.wrong(format!("{:?} after all {total} entries", start(&text))));
    }
    progress(MarketProgress { done: total, total });
    Ok(builder)
}
