//! The names of element types in a header.

use crate::core::element::DType;
use crate::core::error::{Error, Result};

/// An element type as a file says it.
pub(super) struct Descr {
    /// `None` for raw bytes that are not known to be a type.
    dtype: Option<DType>,
    size: usize,
    /// The text, for messages.
    text: String,
    pub(super) swapped: bool,
}

impl Descr {
    /// Reads a text such as `<f4`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let unknown =
            || Error::unsupported(format!("elements of type `{text}` in the file: no element type of a tensor"));
        let mut letters = text.chars();
        let order = letters.next().filter(|order| "<>=|".contains(*order)).ok_or_else(unknown)?;
        let kind = letters.next().ok_or_else(unknown)?;
        let size: usize = letters.as_str().parse().map_err(|_| unknown())?;
        let dtype = match (kind, size) {
            // What NumPy writes of `ml_dtypes.float8_e5m2`, and cannot read.
            ('f', 1) => DType::F8E5M2,
            ('f', 2) => DType::F16,
            ('f', 4) => DType::F32,
            ('f', 8) => DType::F64,
            ('c', 8) => DType::C32,
            ('c', 16) => DType::C64,
            ('i', 1) => DType::I8,
            ('i', 2) => DType::I16,
            ('i', 4) => DType::I32,
            ('i', 8) => DType::I64,
            ('u', 1) => DType::U8,
            ('u', 2) => DType::U16,
            ('u', 4) => DType::U32,
            ('u', 8) => DType::U64,
            ('b', 1) => DType::Bool,
            ('V', 1) => return Ok(Descr { dtype: None, size, text: text.into(), swapped: false }),
            ('V', 2) => DType::Bf16,
            _ => return Err(unknown()),
        };
        let foreign = if cfg!(target_endian = "big") { '<' } else { '>' };
        Ok(Descr { dtype: Some(dtype), size, text: text.into(), swapped: order == foreign && size > 1 && kind != 'V' })
    }

    /// The type of the elements. `wanted` is what the caller says it is: the type of the file, or what its raw bytes are.
    pub(super) fn dtype(&self, wanted: Option<DType>) -> Result<DType> {
        let is_raw = self.text.contains('V');
        match (wanted, self.dtype) {
            (None, Some(dtype)) => Ok(dtype),
            (None, None) => Err(Error::unsupported(format!(
                "raw bytes (type `{}`) in the file: say which elements they are (`read_npy_as`)",
                self.text
            ))),
            (Some(wanted), Some(dtype)) if wanted == dtype => Ok(wanted),
            (Some(wanted), _) if is_raw && wanted.size() == self.size => Ok(wanted),
            (Some(wanted), _) => {
                let what =
                    format!("it has elements of type `{}`, not {wanted}: read it without a type, and cast", self.text);
                Err(Error::invalid("file", what))
            }
        }
    }
}

/// The text for a type. Types that NumPy does not have are raw bytes to it.
pub(super) fn text(dtype: DType) -> String {
    let (kind, size) = match dtype {
        DType::F16 | DType::F32 | DType::F64 => ('f', dtype.size()),
        DType::C32 | DType::C64 => ('c', dtype.size()),
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => ('i', dtype.size()),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => ('u', dtype.size()),
        DType::Bool => ('b', 1),
        DType::Bf16 | DType::F8E4M3 | DType::F8E5M2 => ('V', dtype.size()),
    };
    let native = if cfg!(target_endian = "big") { '>' } else { '<' };
    let order = if size == 1 || kind == 'V' { '|' } else { native };
    format!("{order}{kind}{size}")
}
