//! A file, read tensor by tensor.

use super::types;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensor, Layout};
use crate::libraries::interop::elements::{Stored, failed, fill, list, wrong};
use ::safetensors::tensor::{Metadata, TensorInfo};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The longest header that is read, as crate `safetensors` has it.
const LONGEST: u64 = 100_000_000;
/// The length of the header's length.
const LEN: u64 = 8;

/// Reads a header, or says what is wrong with it.
pub(super) fn header(text: &[u8]) -> std::result::Result<Metadata, String> {
    match text.len() as u64 {
        len if len > LONGEST => Err(format!("{len} bytes, but {LONGEST} are the most that is read")),
        _ => serde_json::from_slice(text).map_err(|e| e.to_string()),
    }
}

/// What a file is read from.
trait Source: Read + Seek {}
impl<R: Read + Seek> Source for R {}

/// A file whose header has been read, and whose tensors are read when they are asked for.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use std::io::Cursor;
/// use windlass::{DType, Device, bf16, safetensors::{Safetensors, SafetensorsWriter}};
/// let (device, mut bytes) = (Device::host()?, Vec::new());
/// let bias = device.tensor([2], [bf16::from_f32(0.5), bf16::from_f32(-1.0)])?;
/// let weights = device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0])?;
/// SafetensorsWriter::new().add("bias", &bias).add("weights", &weights).about("step", "7").write(&device, &mut bytes)?;
///
/// let mut file = Safetensors::new(Cursor::new(bytes))?;
/// assert_eq!((file.names(), file.about("step")), (vec!["weights", "bias"], Some("7")));
/// assert_eq!(file.shape("bias"), Some((Some(DType::Bf16), &[2][..])));
/// let bias = file.read(&device, "bias")?;
/// assert_eq!(device.show_any(&bias)?.to_string(), "[ 0.5 -1. ]");
/// # Ok(()) }
/// ```
pub struct Safetensors<'r> {
    reader: Box<dyn Source + Send + 'r>,
    header: Metadata,
    names: Vec<String>,
    /// Where the elements begin.
    start: u64,
    /// The file, where it was opened by its path.
    path: Option<PathBuf>,
}

impl<'r> Safetensors<'r> {
    /// Reads the header of a file that begins where the reader stands, and ends where it ends.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] of `file` when it is not in the format, or longer or shorter than its header says;
    /// [`Error::LibraryError`] when reading fails.
    pub fn new(reader: impl Read + Seek + Send + 'r) -> Result<Self> {
        Self::over(Box::new(reader))
    }

    fn over(mut reader: Box<dyn Source + Send + 'r>) -> Result<Self> {
        let io = |e: std::io::Error| failed("reading", &e);
        let begin = reader.stream_position().map_err(io)?;
        let end = reader.seek(SeekFrom::End(0)).map_err(io)?;
        reader.seek(SeekFrom::Start(begin)).map_err(io)?;
        let mut len = [0; LEN as usize];
        if fill(&mut reader, &mut len)? < len.len() {
            return Err(wrong("it is too short for a file of tensors"));
        }
        let (len, rest) = (u64::from_le_bytes(len), end.saturating_sub(begin).saturating_sub(LEN));
        if len > rest || len > LONGEST {
            let what = format!("a header of {len} bytes, but {rest} follow (and {LONGEST} are the most that is read)");
            return Err(wrong(what));
        }
        // As many bytes are there.
        let mut text = vec![0; len as usize];
        if fill(&mut reader, &mut text)? < text.len() {
            return Err(wrong("it ends inside its header"));
        }
        let header = header(&text).map_err(|what| wrong(format!("its header: {what}")))?;
        let (said, there) = (header.data_len() as u64, rest - len);
        if said != there {
            let what = format!("its header describes {said} bytes of elements, but {there} follow it");
            return Err(wrong(what));
        }
        // No overflow: the end lies behind it.
        Ok(Safetensors { names: header.offset_keys(), reader, header, start: begin + LEN + len, path: None })
    }

    /// The names of its tensors, in the order in which their elements lie in the file.
    pub fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// The element type and the extents of a tensor; `None` if there is none of that name, and no type where tensors of
    /// this crate have none like it.
    pub fn shape(&self, name: &str) -> Option<(Option<DType>, &[usize])> {
        let info = self.header.info(name)?;
        Some((types::of_file(info.dtype), &info.shape))
    }

    /// The text that the writer of the file has put under this key.
    pub fn about(&self, key: &str) -> Option<&str> {
        self.header.metadata().as_ref()?.get(key).map(String::as_str)
    }

    /// Reads a tensor, and uploads it. Nothing else of the file is read.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such tensor, or the file has become shorter; [`Error::Unsupported`] for
    /// elements that no tensor has; [`Error::LibraryError`] when reading fails; else as [`upload`](Device::upload).
    pub fn read(&mut self, device: &Device, name: &str) -> Result<AnyTensor> {
        let tensor = self.tensor(device, name);
        tensor.map_err(|error| match &self.path {
            Some(path) => error.in_file(path),
            None => error,
        })
    }

    fn tensor(&mut self, device: &Device, name: &str) -> Result<AnyTensor> {
        let Some(TensorInfo { dtype, shape, data_offsets: (from, to) }) = self.header.info(name) else {
            return Err(Error::invalid(
                "name",
                format!("no tensor `{name}` in the file; it has {}", list(&self.names())),
            ));
        };
        let known = types::of_file(*dtype).ok_or_else(|| {
            Error::unsupported(format!("tensor `{name}` in the file: {dtype:?} is no element type of a tensor"))
        });
        let refused = |e: Error| wrong(format!("tensor `{name}`: {e}"));
        let stored = Stored {
            dtype: known?,
            layout: Layout::row_major(shape).map_err(refused)?,
            swapped: cfg!(target_endian = "big"),
            there: to.saturating_sub(*from) as u64,
        };
        // No overflow: inside the file.
        let place = SeekFrom::Start(self.start + *from as u64);
        self.reader.seek(place).map_err(|e| failed("reading", &e))?;
        stored.read(device, &mut self.reader)
    }
}

impl Safetensors<'static> {
    /// Opens a file: see [`new`](Self::new).
    ///
    /// # Errors
    /// As there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let opened = File::open(path).map_err(|e| failed("opening", &e));
        let file = opened.and_then(|file| Self::new(BufReader::new(file))).map_err(|error| error.in_file(path))?;
        Ok(Safetensors { path: Some(path.to_owned()), ..file })
    }
}
