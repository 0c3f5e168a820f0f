//! Files of tensors: those of NumPy and of `safetensors`, as others write them, as we do, and as nobody should.

mod hostile;
mod made;
mod refusals;
mod written;

use windlass::DType;

pub(super) const TYPES: [DType; 17] = [
    DType::F32,
    DType::F64,
    DType::F16,
    DType::Bf16,
    DType::C32,
    DType::C64,
    DType::I8,
    DType::U8,
    DType::I16,
    DType::U16,
    DType::I32,
    DType::U32,
    DType::I64,
    DType::U64,
    DType::F8E4M3,
    DType::F8E5M2,
    DType::Bool,
];

/// The header of a file of NumPy's with this dictionary.
pub(super) fn npy(version: u8, dictionary: &str, elements: &[u8]) -> Vec<u8> {
    let len = dictionary.len() as u32;
    let len = &len.to_le_bytes()[..if version == 1 { 2 } else { 4 }];
    [&b"\x93NUMPY"[..], &[version, 0], len, dictionary.as_bytes(), elements].concat()
}

/// A file of safetensors with this header.
pub(super) fn safetensors(header: &str, elements: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), elements].concat()
}
