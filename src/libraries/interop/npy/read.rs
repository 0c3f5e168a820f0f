//! One array, read.

use super::header::Header;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::tensor::AnyTensor;
use crate::libraries::interop::elements::{Stored, failed};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// Files of NumPy.
impl Device {
    /// Reads an array in NumPy's format, and uploads it; what follows it is not read. Reads the header byte by byte: give a
    /// buffered reader. See [`npy`](crate::npy) for types and orders.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) of `file` when it is not such a file, is damaged, or ends too
    /// early; [`Error::Unsupported`](crate::Error::Unsupported) for elements that no tensor has;
    /// [`Error::LibraryError`](crate::Error::LibraryError) when reading fails; else as [`upload`](Self::upload).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{DType, Device};
    /// let (device, mut file) = (Device::host()?, Vec::new());
    /// let x = device.tensor([2, 2], [1.5f32, 2.5, 3.5, 4.5])?;
    /// device.write_npy(&mut file, &x.transpose())?;
    /// let y = device.read_npy(&file[..])?;
    /// assert_eq!((y.dtype(), y.layout().strides()), (DType::F32, &[1, 2][..])); // in the order that it had
    /// assert_eq!(device.show_any(&y)?.to_string(), "[[1.5 3.5]\n [2.5 4.5]]");
    /// # Ok(()) }
    /// ```
    pub fn read_npy(&self, mut reader: impl Read) -> Result<AnyTensor> {
        array(self, &mut reader, None, 0)
    }

    /// As [`read_npy`](Self::read_npy), for a type that the caller knows: that of the file, or what its raw bytes (`V1`, `V2`) are.
    ///
    /// # Errors
    /// As there, and [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the file has other elements.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{DType, Device, F8E4M3};
    /// let (device, mut file) = (Device::host()?, Vec::new());
    /// device.write_npy(&mut file, &device.tensor([2], [F8E4M3::from_f32(0.5), F8E4M3::from_f32(2.0)])?)?;
    /// assert!(device.read_npy(&file[..]).is_err()); // for NumPy, one byte of no type
    /// let x = device.read_npy_as(DType::F8E4M3, &file[..])?;
    /// assert_eq!(device.show_any(&x)?.to_string(), "[0.5 2. ]");
    /// # Ok(()) }
    /// ```
    pub fn read_npy_as(&self, dtype: DType, mut reader: impl Read) -> Result<AnyTensor> {
        array(self, &mut reader, Some(dtype), 0)
    }

    /// Reads a file: see [`read_npy`](Self::read_npy).
    ///
    /// # Errors
    /// As there.
    pub fn load_npy(&self, path: impl AsRef<Path>) -> Result<AnyTensor> {
        let path = path.as_ref();
        let open = || {
            let file = File::open(path).map_err(|e| failed("opening", &e))?;
            let there = file.metadata().map_or(0, |file| file.len());
            array(self, &mut BufReader::new(file), None, there)
        };
        open().map_err(|error| error.in_file(path))
    }
}

/// Reads an array from its first byte on; at least `there` bytes are known to come.
pub(super) fn array(device: &Device, from: &mut dyn Read, wanted: Option<DType>, there: u64) -> Result<AnyTensor> {
    let Header { descr, layout } = Header::read(from)?;
    Stored { dtype: descr.dtype(wanted)?, layout, swapped: descr.swapped, there }.read(device, from)
}
