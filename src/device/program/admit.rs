//! What admits memory and steps to a program. A recording and a file are admitted by the same functions.
//!
//! Most of it the types of the API guarantee for a recording: nobody can pass a buffer twice if it is written. For a file
//! nothing guarantees it, and the code that runs the steps relies on all of it.

use super::covered::Covered;
use super::entry::{ALIGN, Entry, FIRST, Operand, Part, Piece, Source, Use};
use crate::core::buffer::AnyBuffer;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use smallvec::SmallVec;

/// The result of a recording.
#[derive(Default)]
pub(super) struct Written {
    pub(super) pieces: Vec<Piece>,
    pub(super) entries: Vec<Entry>,
    /// Buffers of the device that its operations read.
    pub(super) captured: Vec<AnyBuffer>,
    pub(super) inputs: Vec<Operand>,
    pub(super) operands: Vec<Operand>,
    pub(super) layouts: Layouts,
    pub(super) answers: usize,
    /// Where the next piece begins, counted from [`FIRST`].
    pub(super) room: u64,
    /// What the steps so far have written.
    pub(super) covered: Covered,
}

/// How the inputs and the operands lie in their memory.
#[derive(Default)]
pub(super) struct Layouts {
    pub(super) inputs: Vec<Layout>,
    pub(super) operands: Vec<Layout>,
}

#[cold]
fn refused(index: usize, reason: impl Into<String>) -> Error {
    Error::invalid(format!("operand {index}"), reason.into())
}

impl Written {
    /// Names memory for a temporary.
    pub(super) fn temporary(&mut self, bytes: u64) -> Result<Piece> {
        self.piece(bytes, Part::Temporary, false)
    }

    /// Names a tensor that each replay is given, to read or to write: its memory, and how it lies there.
    pub(super) fn given(&mut self, operand: Operand, layout: Layout, is_input: bool) -> Result<Piece> {
        let Operand { dtype, len, fresh } = operand;
        let bytes = len.checked_mul(dtype.size()).and_then(|bytes| u64::try_from(bytes).ok());
        let bytes =
            bytes.ok_or_else(|| Error::invalid("len", format!("the byte size of {len} {dtype} elements overflows")))?;
        let part = match is_input {
            true => Part::Input(self.inputs.len()),
            false => Part::Operand(self.operands.len()),
        };
        let piece = self.piece(bytes, part, !fresh)?;
        let (operands, layouts) = match is_input {
            true => (&mut self.inputs, &mut self.layouts.inputs),
            false => (&mut self.operands, &mut self.layouts.operands),
        };
        operands.push(operand);
        layouts.push(layout);
        Ok(piece)
    }

    fn piece(&mut self, bytes: u64, part: Part, is_written: bool) -> Result<Piece> {
        let is_size = usize::try_from(bytes).is_ok_and(|bytes| isize::try_from(bytes).is_ok());
        let end = bytes.max(1).checked_next_multiple_of(ALIGN).and_then(|room| self.room.checked_add(room));
        let end = end
            .filter(|end| is_size && *end < FIRST)
            .ok_or_else(|| Error::invalid("len", "the size exceeds the address space of a recording"))?;
        let piece = Piece { base: FIRST + std::mem::replace(&mut self.room, end), bytes, part };
        self.covered.add(bytes, is_written);
        self.pieces.push(piece);
        Ok(piece)
    }

    /// Fails if the operand numbered `index` is not inside of its memory. A captured buffer is read as a whole.
    pub(super) fn inside(&self, index: usize, (source, offset, bytes): (Source, u64, u64)) -> Result<()> {
        let good = match source {
            Source::Piece(piece) => match (self.pieces.get(piece), offset.checked_add(bytes)) {
                (Some(piece), Some(end)) => end <= piece.bytes,
                _ => false,
            },
            Source::Captured(captured) => match self.captured.get(captured) {
                Some(buffer) => offset == 0 && bytes == buffer.as_in().place().2 as u64,
                None => false,
            },
        };
        if good { Ok(()) } else { Err(refused(index, "it is outside of its memory")) }
    }

    /// Fails if the memory cannot be used as elements of `size` bytes.
    fn has_elements(&self, index: usize, one: &Use, size: usize) -> Result<()> {
        let given = |given: &[Operand], index: usize| given.get(index).map(|given| given.dtype.size());
        // Memory of the program itself is aligned for all types; a buffer that comes from outside only for its own.
        let of_memory = match one.source {
            Source::Captured(captured) => self.captured.get(captured).map(|buffer| buffer.dtype().size()),
            Source::Piece(piece) => match self.pieces.get(piece).map(|piece| piece.part) {
                Some(Part::Input(input)) => given(&self.inputs, input),
                Some(Part::Operand(operand)) => given(&self.operands, operand),
                Some(Part::Temporary) => Some(ALIGN as usize),
                None => None,
            },
        };
        let size_bytes = size as u64;
        let good = match of_memory {
            _ if size == 0 => false,
            Some(of_memory) => {
                let is_aligned = one.offset.is_multiple_of(size_bytes) && one.bytes.is_multiple_of(size_bytes);
                is_aligned && of_memory.is_multiple_of(size)
            }
            None => false,
        };
        if good || one.bytes == 0 {
            return Ok(());
        }
        Err(refused(index, format!("its memory does not hold aligned elements of {size} bytes")))
    }

    /// Admits a step: each operand lies inside of memory that holds such elements, is written only where that is
    /// allowed, and was written before it is read; and no other operand of the step overlaps one that it writes.
    /// `sizes`: for each operand, the size of an element in bytes.
    pub(super) fn admit(&mut self, entry: Entry, sizes: &[usize]) -> Result<()> {
        if entry.uses.len() != sizes.len() {
            return Err(Error::library("internal error: a step has another number of operands than its operation"));
        }
        for (index, (one, &size)) in entry.uses.iter().zip(sizes).enumerate() {
            self.inside(index, (one.source, one.offset, one.bytes))?;
            self.has_elements(index, one, size)?;
            let Source::Piece(piece) = one.source else {
                match one.writes {
                    true => return Err(refused(index, "it is a captured buffer, which a program can only read")),
                    false => continue,
                }
            };
            let is_input = self.pieces.get(piece).is_some_and(|piece| matches!(piece.part, Part::Input(_)));
            if one.writes && is_input {
                return Err(refused(index, "it is an input, which a program can only read"));
            }
            if !one.overwrites && !self.covered.holds(piece, one.offset, one.end()) {
                return Err(refused(index, "a part of it was never written, or was used as workspace"));
            }
        }
        are_apart(&entry.uses)?;
        let writes = || entry.uses.iter().filter(|one| one.writes);
        for one in writes() {
            self.covered.note(one);
        }
        for &output in entry.facts.leaves_undefined {
            if let Some(one) = writes().nth(output) {
                self.covered.forget(one);
            }
        }
        self.entries.push(entry);
        Ok(())
    }
}

/// Fails if an operand that a step writes overlaps another operand of the step.
fn are_apart(uses: &[Use]) -> Result<()> {
    let mut all: SmallVec<[(usize, &Use); 4]> = uses.iter().enumerate().filter(|(_, one)| one.bytes > 0).collect();
    all.sort_unstable_by_key(|(_, one)| (one.source, one.offset));
    // The source, and where what was seen of it ends: all of it, and what is written.
    let mut seen: Option<(Source, u64, u64)> = None;
    for (index, one) in all {
        let (end, written) = match seen {
            Some((source, end, written)) if source == one.source => (end, written),
            _ => (0, 0),
        };
        if one.offset < if one.writes { end } else { written } {
            return Err(refused(index, "it overlaps another operand of the operation, and one of the two is written"));
        }
        let written = if one.writes { written.max(one.end()) } else { written };
        seen = Some((one.source, end.max(one.end()), written));
    }
    Ok(())
}

/// Fails if the recording does not overwrite all of an output ([`Recorder::output`](super::Recorder::output)).
pub(super) fn check_outputs(pieces: &[Piece], entries: &[Entry], operands: &[Operand]) -> Result<()> {
    for (index, piece) in pieces.iter().enumerate() {
        let Part::Operand(operand) = piece.part else { continue };
        if !operands.get(operand).is_some_and(|operand| operand.fresh) {
            continue;
        }
        let uses = entries.iter().flat_map(|entry| &entry.uses);
        let writes = uses.filter(|one| one.source == Source::Piece(index) && one.overwrites);
        let mut written: Vec<(u64, u64)> = writes.map(|one| (one.offset, one.end())).collect();
        written.sort_unstable();
        let whole = written.iter().fold(0, |end, &(from, to)| if from <= end { end.max(to) } else { end });
        if whole < piece.bytes {
            return Err(Error::invalid(
                format!("operand {operand}"),
                format!(
                    "the recording writes only {whole} of the {} bytes of this output; for a buffer that it does not \
                     overwrite completely, use `Recorder::operand`",
                    piece.bytes
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_overlaps_no_other_operand() {
        let one = |piece: usize, from: u64, to: u64, writes: bool| {
            Use::of_piece(piece, from, (to - from) as usize, (writes, false))
        };
        let (read, write) = (|from, to| one(0, from, to, false), |from, to| one(0, from, to, true));
        let good = [
            vec![read(0, 8), read(4, 12), read(0, 12)],
            vec![read(0, 8), write(8, 16), read(16, 17)],
            vec![write(8, 16), write(0, 8)],
            vec![read(0, 8), one(1, 0, 8, true)],
            vec![write(0, 8), read(4, 4), write(4, 4)],
        ];
        for uses in &good {
            assert!(are_apart(uses).is_ok(), "{uses:?}");
        }
        let bad = [
            vec![read(0, 8), write(7, 16)],
            vec![write(7, 16), read(0, 8)],
            vec![write(0, 100), read(10, 11), read(50, 51)],
            vec![read(0, 100), read(10, 11), write(50, 51)],
            vec![write(0, 8), write(0, 8)],
            vec![one(1, 0, 8, true), read(0, 8), one(1, 7, 8, false)],
        ];
        for uses in &bad {
            assert!(are_apart(uses).is_err(), "{uses:?}");
        }
    }
}
