//! Archives of arrays.

use super::{read, write};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef};
use crate::libraries::interop::elements::{failed, fill, list, wrong};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// What an archive is read from.
trait Source: Read + Seek {}
impl<R: Read + Seek> Source for R {}

/// What an archive is written to.
trait Target: Write + Seek {}
impl<W: Write + Seek> Target for W {}

/// What NumPy appends to the names.
const KIND: &str = ".npy";

/// An archive of arrays (`.npz`), read array by array.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use std::io::Cursor;
/// use windlass::{Device, npy::{Npz, NpzWriter}};
/// let (device, mut file) = (Device::host()?, Vec::new());
/// let mut archive = NpzWriter::new(Cursor::new(&mut file)).compressed();
/// archive.add(&device, "weights", &device.tensor([2], [1.0f64, 2.0])?)?;
/// archive.add(&device, "classes", &device.tensor([3], [1i32, 2, 3])?)?;
/// archive.finish()?;
///
/// let mut archive = Npz::new(Cursor::new(file))?;
/// assert_eq!(archive.names(), ["weights", "classes"]);
/// let classes = archive.read(&device, "classes")?;
/// assert_eq!(device.show_any(&classes)?.to_string(), "[1 2 3]");
/// # Ok(()) }
/// ```
pub struct Npz<'r> {
    archive: ZipArchive<Box<dyn Source + Send + 'r>>,
    /// The arrays among the entries, with their positions.
    arrays: Vec<(String, usize)>,
    /// The file, where it was opened by its path.
    path: Option<PathBuf>,
}

impl<'r> Npz<'r> {
    /// Reads the list of an archive.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] of `file` when it is no archive; [`Error::LibraryError`] when reading fails.
    pub fn new(reader: impl Read + Seek + Send + 'r) -> Result<Self> {
        let reader: Box<dyn Source + Send + 'r> = Box::new(reader);
        let archive = ZipArchive::new(reader).map_err(|e| refused("reading", e))?;
        let entries = archive.file_names().zip(0..);
        let arrays = entries.filter_map(|(name, at)| Some((name.ok()?.strip_suffix(KIND)?.to_owned(), at))).collect();
        Ok(Npz { archive, arrays, path: None })
    }

    /// The names of its arrays.
    pub fn names(&self) -> Vec<&str> {
        self.arrays.iter().map(|(name, _)| &name[..]).collect()
    }

    /// Reads an array: see [`read_npy`](Device::read_npy).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such array, or its checksum is another; else as there.
    pub fn read(&mut self, device: &Device, name: &str) -> Result<AnyTensor> {
        self.named_array(device, name, None)
    }

    /// Reads an array of a known type: see [`read_npy_as`](Device::read_npy_as).
    ///
    /// # Errors
    /// As [`read`](Self::read) and there.
    pub fn read_as(&mut self, device: &Device, name: &str, dtype: DType) -> Result<AnyTensor> {
        self.named_array(device, name, Some(dtype))
    }

    fn named_array(&mut self, device: &Device, name: &str, dtype: Option<DType>) -> Result<AnyTensor> {
        let array = self.array(device, name, dtype);
        array.map_err(|error| in_file(&self.path, error))
    }

    fn array(&mut self, device: &Device, name: &str, dtype: Option<DType>) -> Result<AnyTensor> {
        let Some((_, at)) = self.arrays.iter().find(|array| array.0 == name) else {
            return Err(Error::invalid(
                "name",
                format!("no array `{name}` in the file; it has {}", list(&self.names())),
            ));
        };
        let mut entry = self.archive.by_index(*at).map_err(|error| named(name, refused("reading", error)))?;
        let array = read::array(device, &mut entry, dtype, 0).map_err(|error| named(name, error))?;
        // To the end, where the checksum is compared.
        match fill(&mut entry, &mut [0]).map_err(|error| named(name, error))? {
            0 => Ok(array),
            _ => Err(named(name, wrong("it goes on after the elements"))),
        }
    }
}

impl Npz<'static> {
    /// Opens a file: see [`new`](Self::new).
    ///
    /// # Errors
    /// As there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let opened = File::open(path).map_err(|e| failed("opening", &e));
        let archive = opened.and_then(|file| Self::new(BufReader::new(file))).map_err(|error| error.in_file(path))?;
        Ok(Npz { path: Some(path.to_owned()), ..archive })
    }
}

fn in_file(path: &Option<PathBuf>, error: Error) -> Error {
    match path {
        Some(path) => error.in_file(path),
        None => error,
    }
}

/// Names the array in an error of its file.
fn named(name: &str, error: Error) -> Error {
    match error {
        Error::InvalidArgument { argument, reason, site } => {
            Error::InvalidArgument { argument, reason: format!("array `{name}`: {reason}"), site }
        }
        Error::Unsupported { reason, site } => Error::Unsupported { reason: format!("array `{name}`: {reason}"), site },
        other => other,
    }
}

fn refused(doing: &str, error: ZipError) -> Error {
    match error {
        ZipError::Io(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => wrong("it ends too early for an archive"),
        ZipError::Io(e) if e.kind() == std::io::ErrorKind::InvalidData => {
            wrong(format!("its contents are damaged: {e}"))
        }
        ZipError::Io(e) => failed(doing, &e),
        ZipError::UnsupportedArchive(what) => Error::unsupported(format!("the archive: {what}")),
        other => wrong(format!("it is no archive that can be read: {other}")),
    }
}

/// Writes an archive of arrays (`.npz`): see [`Npz`].
pub struct NpzWriter<'w> {
    archive: ZipWriter<Box<dyn Target + Send + 'w>>,
    method: CompressionMethod,
    path: Option<PathBuf>,
}

impl<'w> NpzWriter<'w> {
    /// A new archive, whose arrays are not compressed, as those of `np.savez`.
    pub fn new(writer: impl Write + Seek + Send + 'w) -> Self {
        let writer: Box<dyn Target + Send + 'w> = Box::new(writer);
        NpzWriter { archive: ZipWriter::new(writer), method: CompressionMethod::Stored, path: None }
    }

    /// Compresses the arrays that are added from now on, as `np.savez_compressed` does.
    pub fn compressed(mut self) -> Self {
        self.method = CompressionMethod::Deflated;
        self
    }

    /// Adds an array: see [`write_npy`](Device::write_npy).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is an array of this name; else as there.
    pub fn add<'a>(&mut self, device: &Device, name: &str, x: impl Into<AnyTensorRef<'a>>) -> Result<()> {
        let added = self.add_array(device, name, &x.into());
        added.map_err(|error| in_file(&self.path, error))
    }

    fn add_array(&mut self, device: &Device, name: &str, x: &AnyTensorRef<'_>) -> Result<()> {
        // Compressed data may be a little longer than the elements.
        let is_large = x.len().saturating_mul(x.dtype().size()) >= 3 << 30;
        let options = SimpleFileOptions::default().compression_method(self.method).large_file(is_large);
        self.archive.start_file(format!("{name}{KIND}"), options).map_err(|error| match error {
            ZipError::Io(e) => failed("writing", &e),
            other => Error::invalid("name", format!("`{name}` cannot be added: {other}")),
        })?;
        let written = write::array(device, &mut self.archive, x);
        if written.is_err() {
            // No half of an array in the archive.
            let _ = self.archive.abort_file();
        }
        written
    }

    /// Writes the list of the arrays.
    ///
    /// # Errors
    /// [`Error::LibraryError`] when writing fails.
    pub fn finish(self) -> Result<()> {
        let finished = self.archive.finish().map_err(|e| refused("writing", e));
        let flushed = finished.and_then(|mut writer| writer.flush().map_err(|e| failed("writing", &e)));
        flushed.map_err(|error| in_file(&self.path, error))
    }
}

impl NpzWriter<'static> {
    /// Creates a file, in the place of an existing one: see [`new`](Self::new).
    ///
    /// # Errors
    /// [`Error::LibraryError`] when the system refuses that.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::create(path).map_err(|e| failed("creating", &e).in_file(path))?;
        Ok(NpzWriter { path: Some(path.to_owned()), ..Self::new(BufWriter::new(file)) })
    }
}
