//! One array, written.

use super::header::Header;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::AnyTensorRef;
use crate::libraries::interop::elements::{self, failed};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Files of NumPy.
impl Device {
    /// Downloads a tensor piece by piece, and writes it in NumPy's format: in its own order if it is row-major or column-major,
    /// else row by row. Waits.
    ///
    /// # Errors
    /// [`Error::LibraryError`](crate::Error::LibraryError) when writing fails; else as [`download`](Self::download), and the
    /// failure of what makes the tensor.
    pub fn write_npy<'a>(&self, mut writer: impl Write, x: impl Into<AnyTensorRef<'a>>) -> Result<()> {
        array(self, &mut writer, &x.into())
    }

    /// Writes a file, in the place of an existing one: see [`write_npy`](Self::write_npy).
    ///
    /// # Errors
    /// As there.
    pub fn save_npy<'a>(&self, path: impl AsRef<Path>, x: impl Into<AnyTensorRef<'a>>) -> Result<()> {
        let path = path.as_ref();
        let created = File::create(path).map_err(|e| failed("creating", &e));
        created.and_then(|mut file| array(self, &mut file, &x.into())).map_err(|error| error.in_file(path))
    }
}

/// Writes header and elements.
pub(super) fn array(device: &Device, to: &mut dyn Write, x: &AnyTensorRef<'_>) -> Result<()> {
    let (by_rows, by_columns) = (x.layout().is_row_major(), x.layout().is_column_major());
    if !by_rows && !by_columns {
        let dense = device.contiguous_any(x)?;
        return array(device, to, &dense.view());
    }
    let header = Header::bytes(x.dtype(), x.shape(), by_columns && !by_rows);
    to.write_all(&header).map_err(|e| failed("writing", &e))?;
    elements::write(device, x, to)?;
    to.flush().map_err(|e| failed("writing", &e))
}
