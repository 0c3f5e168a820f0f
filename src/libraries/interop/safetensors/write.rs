//! A file, written.

use super::{read, types};
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::AnyTensorRef;
use crate::libraries::interop::elements::{self, failed};
use ::safetensors::Dtype;
use ::safetensors::tensor::{Metadata, TensorInfo};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The elements begin at a multiple of this.
const ALIGN: usize = 8;
/// The key of what is said about the file.
const ABOUT: &str = "__metadata__";

/// The tensors of a new file, and what shall be said about it: see [`Safetensors`](super::Safetensors).
#[derive(Default)]
pub struct SafetensorsWriter<'a> {
    tensors: Vec<(&'a str, AnyTensorRef<'a>)>,
    about: Vec<(&'a str, &'a str)>,
}

impl<'a> SafetensorsWriter<'a> {
    /// Without tensors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tensor. It is downloaded only while it is written.
    pub fn add(mut self, name: &'a str, x: impl Into<AnyTensorRef<'a>>) -> Self {
        self.tensors.push((name, x.into()));
        self
    }

    /// Adds a text that a reader finds under this key.
    pub fn about(mut self, key: &'a str, text: &'a str) -> Self {
        self.about.push((key, text));
        self
    }

    /// Downloads the tensors piece by piece, and writes the file. Waits. Tensors of larger elements come first, so that all are
    /// aligned; those of one type in the order of their names.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when two tensors have one name, two texts one key, or a tensor the name that the format reserves;
    /// for a header that no reader takes: longer than 100 000 000 bytes, or of a tensor of more bits than a `usize` can count.
    /// [`Error::Unsupported`] for complex numbers of `f64`; [`Error::LibraryError`] when writing fails; else as
    /// [`download`](Device::download), and the failure of what makes a tensor.
    pub fn write(&self, device: &Device, mut writer: impl Write) -> Result<()> {
        self.write_to(device, &mut writer)
    }

    /// Writes a file, in the place of an existing one: see [`write`](Self::write).
    ///
    /// # Errors
    /// As there.
    pub fn save(&self, device: &Device, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let save = || {
            let tensors = self.sorted()?;
            let header = self.header(&tensors)?; // before the file is emptied
            let mut file = File::create(path).map_err(|e| failed("creating", &e))?;
            Self::write_sorted(device, &header, &tensors, &mut file)
        };
        save().map_err(|error| error.in_file(path))
    }

    fn write_to(&self, device: &Device, to: &mut dyn Write) -> Result<()> {
        let tensors = self.sorted()?;
        Self::write_sorted(device, &self.header(&tensors)?, &tensors, to)
    }

    fn write_sorted(device: &Device, header: &[u8], tensors: &[Tensor<'_, 'a>], to: &mut dyn Write) -> Result<()> {
        to.write_all(header).map_err(|e| failed("writing", &e))?;
        for (_, _, x) in tensors {
            if x.layout().is_row_major() {
                elements::write(device, x, to)?;
            } else {
                elements::write(device, &device.contiguous_any(*x)?.view(), to)?;
            }
        }
        to.flush().map_err(|e| failed("writing", &e))
    }

    fn sorted(&self) -> Result<Vec<Tensor<'_, 'a>>> {
        let mut all = Vec::with_capacity(self.tensors.len());
        for (name, x) in &self.tensors {
            let dtype = types::in_file(x.dtype()).ok_or_else(|| {
                Error::unsupported(format!("tensor `{name}`: the format has no elements of {}: cast it", x.dtype()))
            })?;
            all.push((dtype, *name, x));
        }
        all.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let mut names: Vec<&str> = all.iter().map(|tensor| tensor.1).collect();
        if let Some(name) = twice(&mut names) {
            return Err(Error::invalid("name", format!("two tensors `{name}`")));
        }
        if let Some(key) = twice(&mut self.about.iter().map(|about| about.0).collect::<Vec<_>>()) {
            return Err(Error::invalid("key", format!("two texts under `{key}`")));
        }
        if names.contains(&ABOUT) {
            return Err(Error::invalid("name", format!("the format reserves `{ABOUT}`")));
        }
        Ok(all)
    }

    /// Length and header.
    fn header(&self, tensors: &[Tensor<'_, 'a>]) -> Result<Vec<u8>> {
        let mut at = 0usize;
        let mut infos = Vec::with_capacity(tensors.len());
        for (dtype, name, x) in tensors {
            let bytes = x.len().checked_mul(x.dtype().size()).and_then(|bytes| at.checked_add(bytes));
            let end =
                bytes.ok_or_else(|| Error::invalid("x", format!("tensor `{name}`: the size of the file overflows")))?;
            infos.push((
                (*name).to_owned(),
                TensorInfo { dtype: *dtype, shape: x.shape().to_vec(), data_offsets: (at, end) },
            ));
            at = end;
        }
        let about = self.about.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
        let about = (!self.about.is_empty()).then_some(about);
        let header = Metadata::new(about, infos)
            .map_err(|e| Error::invalid("x", format!("extents that the format does not have: {e}")))?;
        let failed = |e| Error::library(format!("the header of the file: {e}"));
        let mut text = serde_json::to_vec(&header).map_err(failed)?;
        text.resize(text.len().next_multiple_of(ALIGN), b' ');
        // What this crate reads: a file that nobody can open is found now, not when it is needed.
        read::header(&text).map_err(|what| Error::invalid("name", format!("a header that no reader takes: {what}")))?;
        Ok([&(text.len() as u64).to_le_bytes()[..], &text].concat())
    }
}

/// Sorts names, and returns one that is there twice.
fn twice<'n>(names: &mut [&'n str]) -> Option<&'n str> {
    names.sort_unstable();
    names.iter().zip(names.iter().skip(1)).find(|(a, b)| a == b).map(|(name, _)| *name)
}

/// The type in the file, the name, and the tensor.
type Tensor<'s, 'a> = (Dtype, &'a str, &'s AnyTensorRef<'a>);
