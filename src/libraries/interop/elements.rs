//! The elements of tensors, out of files and into files, piece by piece: memory is taken as the bytes arrive, whatever a
//! header promises.

use crate::core::buffer::AnyBuffer;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, Layout, by_size};
use num_complex::Complex;
use std::io::{ErrorKind, Read, Write};

/// Bytes of a piece.
const PIECE: usize = 8 << 20;

/// An error of the file: what is wrong in it.
pub(super) fn wrong(what: impl Into<String>) -> Error {
    Error::invalid("file", what)
}

/// An error of the system while a file is read or written.
pub(super) fn failed(doing: &str, error: &std::io::Error) -> Error {
    Error::library(format!("{doing} the file: {error}"))
}

/// Some names, for a message.
pub(super) fn list(names: &[&str]) -> String {
    const MOST: usize = 12;
    match (names.len(), names.get(..MOST)) {
        (0, _) => "none".to_owned(),
        (n, Some(first)) if n > MOST => format!("`{}` and {} more", first.join("`, `"), n - MOST),
        _ => format!("`{}`", names.join("`, `")),
    }
}

/// Reads until `target` is full. Returns how many bytes there were.
pub(super) fn fill(from: &mut dyn Read, mut target: &mut [u8]) -> Result<usize> {
    let all = target.len();
    while !target.is_empty() {
        match from.read(target) {
            Ok(0) => break,
            Ok(n) => target = target.get_mut(n..).unwrap_or_default(),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            // What a decompressor says of bytes that are not its format.
            Err(e) if matches!(e.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput) => {
                return Err(wrong(format!("its contents are damaged: {e}")));
            }
            Err(e) if e.kind() == ErrorKind::Unsupported => return Err(Error::unsupported(format!("the file: {e}"))),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => break,
            Err(e) => return Err(failed("reading", &e)),
        }
    }
    Ok(all - target.len())
}

/// What is known of elements in a file.
pub(super) struct Stored {
    pub(super) dtype: DType,
    /// Without gaps.
    pub(super) layout: Layout,
    /// In the other order of bytes than this machine's.
    pub(super) swapped: bool,
    /// The file is known to have this many bytes from here on, so memory for them may be taken at once.
    pub(super) there: u64,
}

impl Stored {
    /// Reads them, and uploads them.
    pub(super) fn read(self, device: &Device, from: &mut dyn Read) -> Result<AnyTensor> {
        let Stored { dtype, layout, .. } = &self;
        let buffer = by_size!(dtype, |T| AnyBuffer::from(device.upload(self.elements::<T>(from)?)?.into_output()));
        Ok(AnyTensor::from_buffer(buffer.named(*dtype), layout.clone())?)
    }

    fn elements<T: Element>(&self, from: &mut dyn Read) -> Result<Vec<T>> {
        let (size, len) = (size_of::<T>(), self.layout.len());
        let bytes = len.checked_mul(size).filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes = bytes.ok_or_else(|| wrong(format!("the size of {len} elements of {} overflows", self.dtype)))?;
        let known = usize::try_from(self.there).unwrap_or(usize::MAX) / size;
        let mut all: Vec<T> = Vec::new();
        while all.len() < len {
            let have = all.len();
            let more = (len - have).min(known.max(PIECE / size).max(have));
            let short = |_| Error::library(format!("no memory for {more} more of {len} elements of {}", self.dtype));
            all.try_reserve_exact(more).map_err(short)?;
            all.resize(have + more, T::zeroed());
            let piece = bytemuck::cast_slice_mut(all.get_mut(have..).unwrap_or_default());
            let read = fill(from, piece)?;
            if read < piece.len() {
                let read = have * size + read;
                return Err(wrong(format!("it ends after {read} of the {bytes} bytes of the elements")));
            }
            if self.swapped {
                swap(self.dtype, piece);
            }
        }
        Ok(all)
    }
}

/// Reverses the bytes of each number.
fn swap(dtype: DType, bytes: &mut [u8]) {
    let size = if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
    bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
}

/// Writes the elements of a view without gaps in the order in which they lie. Pieces are downloaded while others are written.
pub(super) fn write(device: &Device, x: &AnyTensorRef<'_>, to: &mut dyn Write) -> Result<()> {
    let (part, _) = x.operand()?;
    by_size!(x.dtype(), |T| {
        let all =
            part.reinterpreted::<T>().ok_or_else(|| Error::library("internal error: elements of another size"))?;
        let piece = |at: usize| -> Result<_> {
            let end = at.saturating_add(PIECE / size_of::<T>()).min(all.len());
            (at < end).then(|| Ok((end, device.download(all.slice(at..end)?)?))).transpose()
        };
        let mut next = piece(0)?;
        while let Some((end, pending)) = next {
            next = piece(end)?;
            let elements = pending.await_result()?;
            to.write_all(bytemuck::cast_slice(&elements)).map_err(|e| failed("writing", &e))?;
        }
        Ok(())
    })
}
